//! `run_script`: a script of a selected skill, judged as a command, run in a cage, and only as it was judged.

use crate::skills::Shelf;
use crate::skills::load_tools::{check_reason, layer, loaded};
use crate::skills::problem::SkillProblem;
use mainpath_sandbox::Cage;
use mainpath_skills::{Script, Skill, copy_skill, script};
use mainpath_tools::{Fut, Problem, Scene, Tool, ToolContext, ToolDoc, Touches, run_program};
use mainpath_types::{CONTENT, Confinement, EffectClass, FileAccess, LoadedSkill, RUN_SCRIPT, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::Path;

pub(super) struct RunScript(pub Shelf);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptArgs {
    /// A selected skill.
    skill: String,
    /// The script, from the skill's folder, such as scripts/fill.py.
    path: String,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Seconds after which it is ended; 120 by default.
    timeout_s: Option<NonZeroU32>,
    /// Why.
    reason: String,
}

impl Tool for RunScript {
    type Args = ScriptArgs;
    const NAME: &'static str = RUN_SCRIPT;

    fn describe(&self) -> ToolDoc {
        let text = "Runs a script of a selected skill in the workspace and shows what it writes. It can do no more than its skill \
                    declares, and what it runs is a copy: what it changes in its own folder is gone afterwards.";
        ToolDoc::new(text, EffectClass::ProcessControl)
    }

    fn check(&self, args: &ScriptArgs) -> Result<(), Problem> {
        check_reason(&args.reason)
    }

    fn touches_in(&self, args: &ScriptArgs, scene: &Scene<'_>) -> Result<Touches, Problem> {
        let known = loaded(scene.skills, &args.skill)?;
        let found = self.look(args, known, scene.workspace.source())?;
        let Script { folder, hash, folder_hash, .. } = &found;
        let file = found.within(folder);
        Ok(Touches {
            commands: vec![command(&words(&found, folder, args))],
            contents: vec![
                format!("{CONTENT}{hash} {}", file.display()),
                format!("{CONTENT}{folder_hash} {} (the whole skill)", folder.display()),
            ],
            // What may reach beyond this machine is no mere command.
            effect: reaches_out(known.effect).then_some(EffectClass::SideEffecting),
            ..Touches::default()
        })
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: ScriptArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move { self.run_copy(ctx, args).await.unwrap_or_else(ToolOutput::from) })
    }
}

impl RunScript {
    fn skill(&self, known: &LoadedSkill, workspace: &Path) -> Result<Skill, SkillProblem> {
        let found = self.0.read(workspace);
        Ok(found.choose(&known.skill, layer(&known.source))?.clone())
    }

    fn look(&self, args: &ScriptArgs, known: &LoadedSkill, workspace: &Path) -> Result<Script, SkillProblem> {
        if args.args.iter().any(|word| word.contains('\0')) {
            return Err(SkillProblem::NulArgument);
        }
        Ok(script(&self.skill(known, workspace)?, &args.path)?)
    }

    /// Runs the script in a copy of its skill that holds what was judged.
    async fn run_copy(&self, ctx: &ToolContext, args: ScriptArgs) -> Result<ToolOutput, SkillProblem> {
        let known = loaded(ctx.skills.loaded(), &args.skill)?.clone();
        let cage = bounded(ctx, known.effect)?;
        let workspace = ctx.workspace.source();
        let found = self.look(&args, &known, workspace)?;
        let is_judged =
            |hash: &str| ctx.grant.places().iter().any(|place| place.starts_with(&format!("{CONTENT}{hash} ")));
        if !is_judged(&found.folder_hash) || !is_judged(&found.hash) {
            return Err(SkillProblem::Changed);
        }
        let skill = self.skill(&known, workspace)?;
        let copy = tempfile::Builder::new().prefix("mainpath-skill-").tempdir().map_err(SkillProblem::NoCopy)?;
        let place = copy.path().canonicalize().map_err(SkillProblem::NoCopy)?;
        let (hash, to) = (found.folder_hash.clone(), place.clone());
        let copied = tokio::task::spawn_blocking(move || copy_skill(&skill, &hash, &to)).await;
        copied.map_err(SkillProblem::CopyEnded)??;
        let mut ctx = ctx.clone();
        ctx.cage = cage.showing(&place);
        let shown = command(&words(&found, &found.folder, &args));
        let words: Vec<OsString> = words(&found, &place, &args);
        let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
        let output = run_program(&ctx, &words, &shown, args.timeout_s).await;
        Ok(ToolOutput { title: Some(format!("{}/{}", args.skill, found.path)), ..output })
    }
}

/// The program and its arguments, for the skill in this folder.
fn words(script: &Script, folder: &Path, args: &ScriptArgs) -> Vec<OsString> {
    let program = script.interpreter.map(OsString::from);
    let file = script.within(folder).into_os_string();
    program.into_iter().chain([file]).chain(args.args.iter().map(OsString::from)).collect()
}

/// The same as a shell would be told.
fn command(words: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.into_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Whether scripts of such a skill may act beyond this machine; what declares nothing may.
fn reaches_out(effect: EffectClass) -> bool {
    match effect {
        EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::LocalWrite | EffectClass::ProcessControl => {
            false
        }
        EffectClass::MessageSend
        | EffectClass::UiControl
        | EffectClass::AskPerson
        | EffectClass::StartChild
        | EffectClass::SideEffecting => true,
    }
}

/// The cage of a call, within what its skill declares. Errors: these bounds cannot be kept here.
fn bounded(ctx: &ToolContext, effect: EffectClass) -> Result<Cage, SkillProblem> {
    let Confinement { files, network } = ctx.grant.confinement();
    let within = Confinement {
        files: if effect == EffectClass::ReadOnly { FileAccess::ReadOnly } else { files },
        network: network && reaches_out(effect),
    };
    if reaches_out(effect) {
        return Ok(ctx.cage.clone());
    }
    if !ctx.cage.is_closed() {
        return Err(SkillProblem::Unconfined);
    }
    Ok(ctx.workspace.cage(within))
}
