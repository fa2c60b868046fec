//! `mainpath skills`: which there are, what they say, whether they are as the specification has them, and which of a project's are trusted.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::{count, in_one_line, number, one_line, short};
use clap::{Args, Subcommand, ValueEnum};
use mainpath::Home;
use mainpath::agent;
use mainpath::agent_skills::{
    Finding, Layer, LoadError, Severity, Skill, Skills, Standing, Strictness, TEMPLATE_BODY, TEMPLATE_DESCRIPTION,
    is_valid, list_files, load_body, validate, validate_text,
};
use mainpath::skills::Shelf;
use mainpath::store::read_regular_text;
use mainpath::text::is_invisible;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// `mainpath skills`
#[derive(Subcommand, Debug)]
pub enum SkillsCommand {
    /// List the skills: which can be used, which are not trusted, which are hidden by others
    List(SkillListArgs),
    /// Show a skill: where it is, what it declares, its files and its text
    Show(SkillShowArgs),
    /// Make a skill to fill in
    New(NewArgs),
    /// Check skills against the Agent Skills specification; exit code 1 if one is not valid
    Validate(ValidateArgs),
    /// Trust a skill of this project in its present form, so that agents can use it
    Trust(TrustArgs),
}

/// `mainpath skills list`
#[derive(Args, Debug)]
pub struct SkillListArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// The folder whose skills are meant.
#[derive(Args, Debug)]
pub struct PlaceArgs {
    /// The folder to work in [default: the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// `mainpath skills show`
#[derive(Args, Debug)]
pub struct SkillShowArgs {
    /// The skill
    pub name: String,
    /// Whose it is, where several have this name
    #[arg(long, value_enum)]
    pub source: Option<SourceArg>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `--source`
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum SourceArg {
    /// This project's
    Project,
    /// Your own
    User,
    /// Those that come with Mainpath
    Builtin,
}

impl From<SourceArg> for Layer {
    fn from(arg: SourceArg) -> Layer {
        match arg {
            SourceArg::Project => Layer::Project,
            SourceArg::User => Layer::User,
            SourceArg::Builtin => Layer::Builtin,
        }
    }
}

/// `mainpath skills new`
#[derive(Args, Debug)]
pub struct NewArgs {
    /// Its name: lower-case letters, digits and hyphens
    pub name: String,
    /// What it does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Make it in your home (~/.mainpath/skills), for all projects [default: .mainpath/skills of the folder]
    #[arg(long, conflicts_with = "workspace")]
    pub user: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `mainpath skills validate`
#[derive(Args, Debug)]
pub struct ValidateArgs {
    /// Folders of skills
    #[arg(required = true)]
    pub folders: Vec<PathBuf>,
    /// Allow nothing beyond the specification: other programs may refuse our extensions
    #[arg(long)]
    pub spec: bool,
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath skills trust`
#[derive(Args, Debug)]
pub struct TrustArgs {
    /// The skills of this project
    #[arg(required_unless_present = "all")]
    pub names: Vec<String>,
    /// All skills of this project
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Withdraw the trust
    #[arg(long)]
    pub revoke: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `mainpath skills …`
pub fn skills(command: SkillsCommand) -> Result<Exit, Failure> {
    match command {
        SkillsCommand::List(args) => list(&args),
        SkillsCommand::Show(args) => show(&args),
        SkillsCommand::New(args) => new(&args),
        SkillsCommand::Validate(args) => check(&args),
        SkillsCommand::Trust(args) => trust(&args),
    }
}

fn read(place: &PlaceArgs) -> Result<(Shelf, Skills), Failure> {
    let folder = agent::workspace(place.workspace.as_deref())?;
    let home = Home::find()?;
    let file = home.config_file.display().to_string();
    let off = || Failure::error(format!("skills are off; remove skills = false from {file}"));
    let shelf = home.shelf().ok_or_else(off)?;
    let found = shelf.read(&folder);
    Ok((shelf, found))
}

/// How it stands with a skill: a mark for the list, and a word.
fn standing(skill: &Skill) -> (char, &'static str) {
    match &skill.standing {
        Standing::Untrusted(_) => ('!', "untrusted"),
        Standing::Own | Standing::Trusted { .. } if skill.card.front.disable_model_invocation => ('/', "person only"),
        Standing::Own | Standing::Trusted { .. } => ('+', "usable"),
    }
}

fn place(skill: &Skill) -> String {
    skill.location.place().map_or_else(|| "comes with Mainpath".into(), |place| one_line(&place.display().to_string()))
}

/// `mainpath skills list`
fn list(args: &SkillListArgs) -> Result<Exit, Failure> {
    let (_, found) = read(&args.place)?;
    if args.json {
        let all = found.skills.iter().map(|skill| (skill, standing(skill).1));
        let all = all.chain(found.untrusted.iter().map(|skill| (skill, "untrusted")));
        let mut all = all.chain(found.shadowed.iter().map(|skill| (skill, "hidden")));
        all.try_for_each(|(skill, state)| out(&in_json(skill, state).to_string()))?;
        let mut skipped = found.skipped.iter();
        skipped.try_for_each(|one| {
            out(&json!({"state": "skipped", "place": one.path.display().to_string(), "why": one.why}).to_string())
        })?;
        return Ok(Exit::Ok);
    }
    for skill in found.skills.iter().chain(&found.untrusted) {
        let (mark, _) = standing(skill);
        let (name, source) = (one_line(&skill.card.name), skill.layer.name());
        out(&format!("{mark} {name:<28} {source:<8} {}", short(&skill.card.description, 70)))?;
        for other in &skill.shadows {
            let at = other.place.as_ref().map_or_else(|| "the built-in one".into(), |at| at.display().to_string());
            out(&format!("    hides {}", one_line(&at)))?;
        }
        if let Standing::Untrusted(why) = &skill.standing
            && !why.can_be_trusted()
        {
            out(&format!("    it cannot be trusted: {}", in_one_line(&why.to_string())))?;
        }
        let odd = |finding: &&Finding| finding.severity == Severity::Warning;
        let mut odd = skill.card.findings.iter().filter(odd);
        if let Some(first) = odd.next() {
            let more = odd.count();
            let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            out(&format!("    note: {}{more}", in_one_line(&first.to_string())))?;
        }
    }
    for skipped in &found.skipped {
        out(&format!("x {}: {}", one_line(&skipped.path.display().to_string()), one_line(&skipped.why)))?;
    }
    out("")?;
    out("+ usable   / only you can name it: /NAME   ! this project's, not trusted   x cannot be read")?;
    let can_be_trusted = |skill: &Skill| matches!(&skill.standing, Standing::Untrusted(why) if why.can_be_trusted());
    if found.untrusted.iter().any(can_be_trusted) {
        out("to trust a skill of this project, look at it, then: mainpath skills trust NAME")?;
    }
    Ok(Exit::Ok)
}

fn in_json(skill: &Skill, state: &str) -> Value {
    let card = &skill.card;
    json!({
        "name": card.name, "source": skill.layer.name(), "state": state, "description": card.description,
        "place": skill.location.place().map(|place| place.display().to_string()),
        "why": match &skill.standing {
            Standing::Untrusted(why) => Some(why.to_string()),
            Standing::Own | Standing::Trusted { .. } => None,
        },
        "effect": card.front.effect, "disable_model_invocation": card.front.disable_model_invocation,
        "allowed_tools": card.front.allowed_tools, "findings": card.findings,
        "hides": skill.shadows.iter().map(|other| json!({
            "source": other.layer.name(), "place": other.place.as_ref().map(|place| place.display().to_string()),
        })).collect::<Vec<_>>(),
    })
}

/// `mainpath skills show`
fn show(args: &SkillShowArgs) -> Result<Exit, Failure> {
    let (_, found) = read(&args.place)?;
    let source = args.source.map(Layer::from);
    // It can be looked at before it is trusted, whatever is used until then.
    let waits = |skill: &&Skill| skill.card.name == args.name && source.is_none_or(|source| source == Layer::Project);
    let waiting = found.untrusted.iter().find(waits);
    let used = found.choose(&args.name, source);
    let shown: Vec<&Skill> = match (waiting, used) {
        (None, Err(why)) => return Err(Failure::usage(format!("{why}; mainpath skills list shows all"))),
        (waiting, used) => waiting.into_iter().chain(used.ok()).collect(),
    };
    for (at, skill) in shown.iter().enumerate() {
        if at > 0 && !args.json {
            out("")?;
            out("until it is trusted, this one is used:")?;
            out("")?;
        }
        describe(skill, args.json)?;
    }
    Ok(Exit::Ok)
}

/// So many files of a skill are named.
const FILES: usize = 100;

/// All of a skill. What others wrote stands in one line, or behind a rail.
fn describe(skill: &Skill, as_json: bool) -> Result<(), Failure> {
    // For a person who looks at it, not for an agent.
    let looked = Skill { standing: Standing::Own, ..skill.clone() };
    let failed = |error: LoadError| Failure::error(error.to_string());
    let (files, body) = (list_files(&looked).map_err(failed)?, load_body(&looked, usize::MAX).map_err(failed)?);
    if as_json {
        let mut shown = in_json(skill, standing(skill).1);
        shown["files"] = json!(files.files);
        shown["body"] = json!(body.text);
        return out(&format!("{shown:#}"));
    }
    let card = &skill.card;
    let (mark, word) = standing(skill);
    out(&format!("{mark} {} ({word}, {})", in_one_line(&card.name), skill.layer.name()))?;
    out(&format!("about: {}", in_one_line(&card.description)))?;
    out(&format!("place: {}", place(skill)))?;
    if let Some(why) = skill.distrust() {
        out(&match why.can_be_trusted() {
            true => format!("not trusted: {why}; to trust it: mainpath skills trust {}", in_one_line(&card.name)),
            false => format!("it cannot be trusted: {}", in_one_line(&why.to_string())),
        })?;
    }
    let effect = json!(card.front.effect);
    out(&format!("its scripts may at most: {}", effect.as_str().unwrap_or_default()))?;
    for (name, text) in [("license", &card.front.license), ("compatibility", &card.front.compatibility)] {
        text.iter().try_for_each(|text| out(&format!("{name}: {}", in_one_line(text))))?;
    }
    if !files.files.is_empty() {
        let named = files.files.iter().take(FILES).cloned().collect::<Vec<_>>().join(", ");
        let more = match (files.files.len().saturating_sub(FILES), files.has_more) {
            (0, false) => String::new(),
            (0, true) => ", and more".into(),
            (others, false) => format!(", and {} more", number(others as u64)),
            (others, true) => format!(", and more than {} more", number(others as u64)),
        };
        out(&format!("files: {}{more}", in_one_line(&named)))?;
    }
    card.findings.iter().try_for_each(|finding| out(&format!("note: {}", in_one_line(&finding.to_string()))))?;
    out("")?;
    body.text.lines().try_for_each(|line| out(&format!("  │ {}", one_line(line))))?;
    Ok(())
}

/// `mainpath skills new`
fn new(args: &NewArgs) -> Result<Exit, Failure> {
    let description = args.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let description = description.unwrap_or(TEMPLATE_DESCRIPTION);
    let quoted = serde_json::to_string(description).map_err(|error| Failure::error(error.to_string()))?;
    let name = &args.name;
    let text = format!("---\nname: {name}\ndescription: {quoted}\n---\n# {name}\n\n{TEMPLATE_BODY}");
    let wrong = validate_text(&text, Some(name), Strictness::Spec);
    if let Some(finding) = wrong.iter().find(|finding| finding.severity == Severity::Error) {
        return Err(Failure::usage(one_line(&finding.text)));
    }
    let above = if args.user {
        person_only("make skills for all projects")?;
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
        PathBuf::from(home.ok_or_else(|| Failure::error("HOME is not set"))?)
    } else {
        agent::workspace(args.place.workspace.as_deref())?
    };
    let folder = above.join(".mainpath/skills").join(name);
    let file = folder.join("SKILL.md");
    if file.symlink_metadata().is_ok() {
        return Err(Failure::error(format!("{} is there already", one_line(&file.display().to_string()))));
    }
    std::fs::create_dir_all(&folder)?;
    std::fs::write(&file, text)?;
    let (_, found) = read(&args.place)?;
    let hides = |skill: &&Skill| skill.card.name == *name && skill.location.place().is_none_or(|at| at != folder);
    if let Some(other) = found.skills.iter().chain(&found.shadowed).find(hides) {
        let what = match other.location.place() {
            Some(_) => format!("one in {}", place(other)),
            None => "the built-in skill of this name".into(),
        };
        let once = if args.user { "" } else { "once it is trusted, " };
        eprintln!("! {once}it takes the place of {what}");
    }
    out(&format!("made {}", one_line(&file.display().to_string())))?;
    if !args.user {
        out(&format!(
            "when it is filled in: mainpath skills validate {} && mainpath skills trust {name}",
            one_line(&folder.display().to_string())
        ))?;
    }
    Ok(Exit::Ok)
}

/// `mainpath skills validate`
fn check(args: &ValidateArgs) -> Result<Exit, Failure> {
    let strictness = if args.spec { Strictness::Spec } else { Strictness::Ours };
    let mut invalid = 0;
    for folder in &args.folders {
        let findings = validate(&named(folder), strictness);
        let valid = is_valid(&findings);
        invalid += u64::from(!valid);
        let shown = one_line(&folder.display().to_string());
        if args.json {
            out(&json!({"folder": folder.display().to_string(), "valid": valid, "findings": findings}).to_string())?;
            continue;
        }
        out(&format!("{} {shown}", if valid { "ok  " } else { "FAIL" }))?;
        told(&findings).iter().try_for_each(|line| out(&format!("     {line}")))?;
        let hidden =
            read_regular_text(&named(folder).join("SKILL.md")).unwrap_or_default().chars().filter(hides).count();
        if hidden > 0 {
            let them = count(hidden as u64, "character");
            out(&format!("     warning: SKILL.md has {them} that nobody sees; mainpath skills show names them"))?;
        }
    }
    if invalid > 0 {
        let which = count(invalid, "skill");
        return Err(Failure::error(format!("{which} of {} not valid", args.folders.len())));
    }
    Ok(Exit::Ok)
}

/// Whether a letter is there and nobody sees it.
fn hides(letter: &char) -> bool {
    is_invisible(*letter)
}

/// The folder by its own name: `.` has none that could be compared.
fn named(folder: &Path) -> PathBuf {
    match folder.file_name() {
        Some(_) => folder.into(),
        None => folder.canonicalize().unwrap_or_else(|_| folder.into()),
    }
}

/// A line for each thing that is off; the same in many lines is told once.
fn told(findings: &[Finding]) -> Vec<String> {
    let is_first = |at: usize, one: &Finding| findings.iter().take(at).all(|before| before.text != one.text);
    let firsts = findings.iter().enumerate().filter(|(at, one)| is_first(*at, one));
    let line = |first: &Finding| {
        let kind = match first.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
            Severity::Extension => "extension: ",
        };
        let again = match findings.iter().filter(|one| one.text == first.text).count() {
            1 => String::new(),
            times => format!(" (and {} more)", number(times as u64 - 1)),
        };
        one_line(&format!("{kind}{first}{again}"))
    };
    firsts.map(|(_, first)| line(first)).collect()
}

/// A project's skills of a name, for trust or to take it back: of several those that are not trusted yet. Errors: there is none.
fn of_name<'s>(
    of_project: impl Iterator<Item = &'s Skill>,
    name: &str,
    revoke: bool,
) -> Result<Vec<&'s Skill>, Failure> {
    let all: Vec<&Skill> = of_project.filter(|skill| skill.card.name == name).collect();
    if all.is_empty() {
        return Err(Failure::usage(format!("this project has no skill {name:?}; mainpath skills list shows all")));
    }
    let waiting = |skill: &&Skill| !matches!(skill.standing, Standing::Trusted { .. });
    let open: Vec<&Skill> = all.iter().copied().filter(waiting).collect();
    Ok(if revoke || open.is_empty() { all } else { open })
}

/// `mainpath skills trust`
fn trust(args: &TrustArgs) -> Result<Exit, Failure> {
    person_only("trust skills")?;
    let (shelf, found) = read(&args.place)?;
    let of_project = || {
        found.skills.iter().chain(&found.shadowed).chain(&found.untrusted).filter(|skill| skill.layer == Layer::Project)
    };
    let wanted: Vec<&Skill> = match args.all {
        true if args.revoke => of_project().collect(),
        true => of_project().filter(|skill| !matches!(skill.standing, Standing::Trusted { .. })).collect(),
        false => {
            let all = args.names.iter().map(|name| of_name(of_project(), name, args.revoke));
            all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
        }
    };
    if wanted.is_empty() {
        if of_project().next().is_none() {
            return Err(Failure::error("this project has no skills"));
        }
        out("all skills of this project are trusted as they are now")?;
    }
    if args.revoke {
        for skill in wanted {
            let was = shelf.distrust(skill)?;
            let name = one_line(&skill.card.name);
            out(&format!("{name}: {}", if was { "no longer trusted" } else { "was not trusted" }))?;
        }
        return Ok(Exit::Ok);
    }
    let mut trusting = shelf.trusting()?;
    let mut refused = Vec::new();
    for skill in wanted {
        describe(skill, false)?;
        out("")?;
        let name = one_line(&skill.card.name);
        match trusting.trust(skill) {
            Ok(()) => {
                out(&format!("{name}: trusted as it is now ({}); any change in its folder ends that", place(skill)))?;
            }
            Err(why) => refused.push(why.message().to_string()),
        }
    }
    // One that cannot be trusted is in no other's way.
    trusting.save()?;
    match refused.split_last() {
        None => Ok(Exit::Ok),
        Some((last, others)) => {
            others.iter().for_each(|why| eprintln!("mainpath: {}", one_line(why)));
            Err(Failure::error(last.clone()))
        }
    }
}
