//! A call of a tool: run, its result looked after; or asked whether an earlier process has made it.

use crate::effects::context::EffectContext;
use crate::effects::hooks::{HookPoint, TraceHooks, late};
use crate::effects::snapshots::{look_after, look_before, may_change_any_file};
use crate::effects::tool_context::{check_found, check_redirect, patch_desk, tool_context};
use crate::gate::judge::JudgeInput;
use crate::prompt::texts::offload;
use crate::shared::Shared;
use crate::stream::hub::Live;
use crate::stream::pieces::Pieces;
use mainpath_core::{EffectKey, InputKind, Probed, estimate_parts, in_brief};
use mainpath_policy::Grant;
use mainpath_tools::{ProbeAnswer, ToolContext, Tools, is_large, unkept};
use mainpath_types::{ChildPatch, EffectClass, Origin, Part, ToolOutput, ToolSpec, text_of};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A call that is to run.
pub(crate) struct ToolRun {
    pub grant: Grant,
    pub arguments: String,
    /// How long it may take; who started it ends it then.
    pub within: Option<Duration>,
    /// What judging an address needs to which an answer sends the call on.
    pub judged_by: JudgeInput,
    /// Of a call that a person has approved: the tools as they were when the model made it.
    pub approved: Option<Vec<ToolSpec>>,
}

/// Runs a tool. The answer comes only when nothing of the call runs any more.
pub(crate) async fn run_tool(effect: EffectContext, run: ToolRun, cancel: CancellationToken) -> InputKind {
    let ToolRun { grant, arguments, within, judged_by, approved } = run;
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let (config, handle) = (&effect.shared.config, &effect.handle);
    let pieces = Arc::new(Pieces::new(&config.vault, handle, EffectKey::Tool(call, attempt)));
    let networked = grant.effect() == EffectClass::ProcessControl && grant.confinement().network;
    let mut context = tool_context(&effect, grant, cancel.clone(), Arc::clone(&pieces), judged_by.skills.clone());
    context.within = within;
    context.patches = patch_desk(&effect, judged_by.patches.clone());
    context.foreign = judged_by.origins.as_ref().map(|origins| origins.foreign().collect()).unwrap_or_default();
    let judged_by = Arc::new(judged_by);
    context.check_found = check_found(&effect, &name, &arguments, Arc::clone(&judged_by));
    context.check_redirect = check_redirect(&effect, &name, &arguments, judged_by);
    let before = match effect.prepared.snapshots && may_change_any_file(&name, context.grant.effect()) {
        true => Some(look_before(&effect, &context).await),
        false => None,
    };
    let mut output = match changed(&config.tools, &name, &arguments, approved, &context).await {
        Some(output) => output,
        None => config.tools.run(&name, &arguments, &context).await,
    };
    if let Some(before) = before {
        output.changes = look_after(&effect, &context, before).await;
    }
    if networked && arguments.contains("://") {
        output.origin = Origin::Web;
    }
    let is_cut = matches!(output.error.as_deref(), Some("interrupted" | "timeout"));
    after_tool(&effect, AfterTool { name: &name, arguments: &arguments, cancel: &cancel }, &mut output).await;
    pieces.end();
    let Looked { mut output, tokens } = looked_through(&effect, output).await;
    let once = output.origin.is_foreign() || config.tools.doc(&name).is_some_and(|doc| doc.shown_once);
    if once && tokens >= SHOWN_ONCE_FROM {
        show_once(&name, &arguments, &mut output);
    }
    if let Err(error) = offload(effect.store(), &mut output.content).await {
        let problem = config.vault.redact(&error.to_string());
        handle.tell(Live::Notice(format!("a long output stays in the log: {problem}")));
    }
    if is_cut && cancel.is_cancelled() {
        return InputKind::ToolDead { call, attempt, output: Some(output), tokens };
    }
    InputKind::ToolFinished { call, attempt, output, tokens }
}

/// The output of an approved call that does not run, because its tool is another one now.
async fn changed(
    tools: &Tools,
    name: &str,
    arguments: &str,
    approved: Option<Vec<ToolSpec>>,
    context: &ToolContext,
) -> Option<ToolOutput> {
    let shown = approved?;
    let looked = context.until_stopped(tools.changed(name, arguments, &shown, &*context.secrets)).await;
    looked.unwrap_or_else(|| Some(context.stopped()))
}

/// A result without secrets, and its estimated size.
struct Looked {
    output: ToolOutput,
    tokens: u32,
}

/// A large one is looked through on a thread of its own.
async fn looked_through(effect: &EffectContext, mut output: ToolOutput) -> Looked {
    let look = |shared: &Shared, output: &mut ToolOutput| {
        shared.config.vault.redact_output(output);
        estimate_parts(&output.content)
    };
    if !is_large(&output) {
        let tokens = look(&effect.shared, &mut output);
        return Looked { output, tokens };
    }
    let shared = Arc::clone(&effect.shared);
    let looked = tokio::task::spawn_blocking(move || {
        let tokens = look(&shared, &mut output);
        Looked { output, tokens }
    });
    looked.await.unwrap_or_else(|_| {
        let output = unkept();
        Looked { tokens: estimate_parts(&output.content), output }
    })
}

/// A result from elsewhere (a page, an MCP server, another program) of so many tokens is shown whole once.
const SHOWN_ONCE_FROM: u32 = 1_000;
/// So many characters of such a result, and of the call's arguments, are in the line that stands for it afterwards.
const GIST_CHARS: (usize, usize) = (300, 120);

/// Has a result shown whole once, and then a line for it: what was asked, how the answer begins and how long it is.
fn show_once(name: &str, arguments: &str, output: &mut ToolOutput) {
    output.include_output_only_once = true;
    if output.long_term_memory.is_none() {
        let text = text_of(&output.content);
        let (begins, asked) = (in_brief(&text, GIST_CHARS.0), in_brief(arguments, GIST_CHARS.1));
        let title = output.title.as_deref().map_or(String::new(), |title| format!("{title}. "));
        let chars = text.chars().count();
        output.long_term_memory = Some(format!("{name} {asked}: {title}{chars} characters that begin: {begins}"));
    }
}

/// A call that has run.
struct AfterTool<'a> {
    name: &'a str,
    arguments: &'a str,
    /// Fires when the call is to end.
    cancel: &'a CancellationToken,
}

/// The hooks after a call: they see its result, and may withhold it or put another text in its place.
async fn after_tool(effect: &EffectContext, made: AfterTool<'_>, output: &mut ToolOutput) {
    let AfterTool { name, arguments, cancel } = made;
    if !effect.shared.config.hooks.has(HookPoint::AfterTool) {
        return;
    }
    let mut event = json!({
        "trace_id": effect.trace, "tool": name, "error": output.error, "output": text_of(&output.content),
        "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
    });
    let mut changed = None;
    let hooks = TraceHooks { cancel: Some(cancel), ..effect.hooks() };
    let called = hooks.call(HookPoint::AfterTool, Some(name), &mut event, |event, _, answer| {
        if let Some(text) = answer.output {
            event["output"] = Value::String(text.clone());
            changed = Some(text);
        }
    });
    let called = called.await;
    match (called, changed) {
        (Err(no), _) => {
            let text = format!("The call was made; its result is withheld by hook.{}: {}", no.hook, no.reason);
            *output = ToolOutput { origin: output.origin, ..ToolOutput::failed("withheld", text) };
        }
        (Ok(()), Some(text)) => output.content = vec![Part::text(text)],
        (Ok(()), None) => {}
    }
}

/// Finds out whether a call of an earlier process was done.
pub(crate) async fn probe_tool(
    effect: EffectContext,
    grant: Grant,
    arguments: String,
    patches: Vec<ChildPatch>,
    hurry: CancellationToken,
) -> InputKind {
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let config = &effect.shared.config;
    let pieces = Pieces::new(&config.vault, &effect.handle, EffectKey::Tool(call, attempt));
    let mut context = tool_context(&effect, grant, CancellationToken::new(), Arc::new(pieces), Vec::new());
    context.patches = patch_desk(&effect, patches);
    let probed = tokio::select! {
        probed = config.tools.probe(&name, &arguments, &context) => probed,
        () = late(&hurry) => ProbeAnswer::Unknown,
    };
    let answer = match probed {
        ProbeAnswer::Done(mut output) => {
            config.vault.redact_output(&mut output);
            let tokens = estimate_parts(&output.content);
            // What does not get into a blob stays in the log.
            let _ = offload(effect.store(), &mut output.content).await;
            Probed::Done { output, tokens }
        }
        ProbeAnswer::NotDone => Probed::NotDone,
        ProbeAnswer::Unknown => Probed::Unknown,
    };
    InputKind::ToolProbed { call, attempt, answer }
}
