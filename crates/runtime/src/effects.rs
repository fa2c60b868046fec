//! Carrying effects out: what runs beside the driver, each as a future that ends in an input.

use crate::hooks::{Forbidden, HookPoint};
use crate::hub::{Announced, Handle, Live};
use crate::judge::{Gate, starts_processes};
use crate::live::LiveTurn;
use crate::origins::Origins;
use crate::pieces::Pieces;
use crate::request::Prepared;
use crate::runtime::{Config, Shared};
use crate::secrets::{Granted, Vault};
use crate::texts::offload;
use bytes::Bytes;
use mainpath_core::{EffectKey, InputKind, Probed, Reply, ReplyCall, estimate, estimate_parts, in_brief};
use mainpath_policy::Grant;
use mainpath_providers::Call;
use mainpath_sandbox::{Cage, secret_variables};
use mainpath_store::{Scope, Store};
use mainpath_tools::{BlobSink, Changing, Fut, MOST_CHANGES, ProbeAnswer, SentOn, Snapshot, ToolContext};
use mainpath_types::*;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// What an effect needs of its surroundings.
#[derive(Clone)]
pub(crate) struct Around {
    pub shared: Arc<Shared>,
    pub handle: Arc<Handle>,
    pub scope: Scope,
    pub trace: TraceId,
    pub prepared: Arc<Prepared>,
}

/// What judging needs of a trace.
pub(crate) struct Ruled {
    /// Where the texts of the trace came from.
    pub origins: Option<Arc<Origins>>,
    /// The rules that approvals have made of the trace.
    pub approved: Vec<Arc<str>>,
}

/// How a request is made, and how its answer is looked at.
pub(crate) struct Asking {
    /// How many requests in a row have failed before.
    pub failures: u32,
    /// Whether a summary is asked for.
    pub summary: bool,
    /// The turn that begins with the request, if one does, and whether it is the first of its run.
    pub begins: Option<(u32, bool)>,
    /// What judging its calls needs.
    pub ruled: Ruled,
}

/// Asks the model and judges its answer.
pub(crate) async fn call_model(
    around: Around,
    request: u32,
    body: Vec<Bytes>,
    sent: String,
    asking: Asking,
) -> InputKind {
    if let Err(no) = begin(&around, &asking).await {
        return InputKind::Forbid { by: no.principal(), why: no.reason };
    }
    let Around { shared, handle, scope, prepared, .. } = &around;
    let vault = &shared.config.vault;
    let asked = match &prepared.model {
        Ok(asked) => asked,
        Err(problem) => return unusable(request, vault.redact(problem)).await,
    };
    let mut pieces = Pieces::new(vault, handle, EffectKey::Model(request));
    let in_text = asked.text.is_some();
    let mut turn = asked.text.map(LiveTurn::new);
    let mut meter = Meter::new(&handle.received);
    let mut tell = |delta: Delta| {
        meter.push(&delta);
        match &mut turn {
            Some(turn) => turn.push(delta, &mut |delta| pieces.say(delta)),
            None => pieces.say(delta),
        }
    };
    let call = Call { body, head: &asked.head, request };
    let answer = asked.provider.call(call, &mut tell).await;
    pieces.end();
    match answer {
        Ok(mut reply) => {
            if in_text {
                vault.redact_turn(&mut reply.parts);
            }
            vault.redact_parts(&mut reply.parts);
            let gate = Gate::of(&shared.config, prepared, asking.ruled.origins, &asking.ruled.approved);
            let gate = Gate { summary: asking.summary, ..gate };
            let mut kind = gate.reply(request, reply, sent);
            if let InputKind::ModelFinished(reply) = &mut kind {
                before_tools(&around, &gate, reply).await;
            }
            vault.redact_answer(&mut kind);
            if let InputKind::ModelFinished(reply) | InputKind::ModelMalformed { reply, .. } = &mut kind
                && let Err(error) = offload(&*shared.config.store, scope, &mut reply.parts).await
            {
                let problem = vault.redact(&error.to_string());
                handle.tell(Live::Notice(format!("a long text stays in the log: {problem}")));
            }
            kind
        }
        Err(mut error) => {
            error.message = vault.redact(&error.message);
            let asked = error.retry_after_ms.unwrap_or(0);
            // A server that wants to be left alone for longer is as good as gone.
            if asked > LONGEST_WAIT && error.kind.is_retryable() {
                let longest = LONGEST_WAIT / 60_000;
                error.message.push_str(&format!("; it asks to wait longer than {longest} minutes"));
            }
            let wait = asked.max(backoff(asking.failures));
            let retry_at = (wait <= LONGEST_WAIT).then(|| (shared.config.clock)().saturating_add(wait));
            let received = handle.received.load(Ordering::Relaxed);
            InputKind::ModelFailed { request, error, retry_at, usage: None, received }
        }
    }
}

/// Counts what has come of an answer, by estimate, for who has to give it up.
struct Meter<'a> {
    total: &'a AtomicU32,
    counted: u32,
    /// What was not counted yet: single pieces are too short for an estimate.
    text: String,
}

impl Meter<'_> {
    fn new(total: &AtomicU32) -> Meter<'_> {
        total.store(0, Ordering::Relaxed);
        Meter { total, counted: 0, text: String::new() }
    }

    fn push(&mut self, delta: &Delta) {
        if let Delta::Text { text } | Delta::Thinking { text } | Delta::Arguments { text, .. } = delta {
            self.text.push_str(text);
        }
        let sum = self.counted.saturating_add(estimate(&self.text));
        if self.text.len() > 400 {
            self.counted = sum;
            self.text.clear();
        }
        self.total.store(sum, Ordering::Relaxed);
    }
}

/// The hooks at the start of a run and of a turn.
async fn begin(around: &Around, asking: &Asking) -> Result<(), Forbidden> {
    let Some((turn, first)) = asking.begins else { return Ok(()) };
    for point in [HookPoint::RunStart, HookPoint::TurnStart] {
        if point == HookPoint::TurnStart || first {
            let mut event = json!({"trace_id": around.trace, "turn": turn});
            let Config { hooks, vault, .. } = &around.shared.config;
            hooks.call((point, None), &mut event, (&around.handle, vault), |_, _, _| {}).await?;
        }
    }
    Ok(())
}

/// The hooks before each call of an answer.
async fn before_tools(around: &Around, gate: &Gate<'_>, reply: &mut Reply) {
    for ReplyCall { planned, written } in reply.calls_mut() {
        *planned = gate.hooked(around, std::mem::take(planned), written.arguments).await;
        if let Some(arguments) = &mut planned.arguments {
            *arguments = around.shared.config.vault.redact_arguments(arguments);
        }
    }
}

/// The hooks after a call: they see its result, and may withhold it or put another text in its place.
async fn after_tool(around: &Around, name: &str, arguments: &str, output: &mut ToolOutput) {
    let hooks = &around.shared.config.hooks;
    if !hooks.has(HookPoint::AfterTool) {
        return;
    }
    let mut event = json!({
        "trace_id": around.trace, "tool": name, "error": output.error, "output": text_of(&output.content),
        "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
    });
    let mut changed = None;
    let told = (&*around.handle, &around.shared.config.vault);
    let called = hooks.call((HookPoint::AfterTool, Some(name)), &mut event, told, |event, _, answer| {
        if let Some(text) = answer.output {
            event["output"] = Value::String(text.clone());
            changed = Some(text);
        }
    });
    match (called.await, changed) {
        (Err(no), _) => {
            let text = format!("The call was made; its result is withheld by hook.{}: {}", no.hook, no.reason);
            *output = ToolOutput { origin: output.origin, ..ToolOutput::failed("withheld", text) };
        }
        (Ok(()), Some(text)) => output.content = vec![Part::text(text)],
        (Ok(()), None) => {}
    }
}

/// What a task came to. Its panic goes on here.
pub(crate) async fn finished(task: AbortOnDropHandle<InputKind>) -> InputKind {
    match task.await {
        Ok(kind) => kind,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a process that ends cancels it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// A fallback that cannot be used here (its key is missing, say) has failed like one that refuses the request.
pub(crate) async fn unusable(request: u32, message: String) -> InputKind {
    let error = ModelError { kind: ModelErrorKind::Auth, message, status: None, retry_after_ms: None };
    InputKind::ModelFailed { request, error, retry_at: None, usage: None, received: 0 }
}

/// What a request comes to that is larger than the trace's limit in characters: it is not sent.
pub(crate) async fn too_long(request: u32, has: usize, most: u32) -> InputKind {
    let message =
        format!("the request would have {has} characters, more than the {most} of its limit; it was not sent");
    let error = ModelError { kind: ModelErrorKind::Overflow, message, status: None, retry_after_ms: None };
    InputKind::ModelFailed { request, error, retry_at: None, usage: None, received: 0 }
}

/// The longest wait that a server may ask for, in milliseconds.
const LONGEST_WAIT: u64 = 10 * 60 * 1_000;

/// Half a second, doubled with every failure up to half a minute, and up to half as much again, drawn: those that failed together
/// do not come back together. The limiter of the server waits no longer than this, so that the whole wait is on record.
fn backoff(failures: u32) -> u64 {
    let least = 500u64.saturating_mul(1 << failures.min(6)).min(30_000);
    least + fastrand::u64(0..=least / 2)
}

/// A call that is to run.
pub(crate) struct Made {
    pub grant: Grant,
    pub arguments: String,
    /// How long it may take; who started it ends it then.
    pub within: Option<Duration>,
}

/// Runs a tool. The answer comes only when nothing of the call runs any more.
pub(crate) async fn run_tool(
    around: Around,
    Made { grant, arguments, within }: Made,
    ruled: Ruled,
    cancel: CancellationToken,
) -> InputKind {
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let store = Arc::clone(&around.shared);
    let scope = around.scope.clone();
    let handle = Arc::clone(&around.handle);
    let pieces = Arc::new(Mutex::new(Pieces::new(&store.config.vault, &handle, EffectKey::Tool(call, attempt))));
    let networked = grant.effect() == EffectClass::ProcessControl && grant.confinement().network;
    let mut context = context(around.clone(), grant, cancel.clone(), Arc::clone(&pieces));
    context.within = within;
    context.sent_on = sent_on(&around, (&name, &arguments), ruled);
    let before = match around.prepared.snapshots && may_change_any_file(&name, context.grant.effect()) {
        true => Some(look_before(&around, &context).await),
        false => None,
    };
    let mut output = store.config.tools.run(&name, &arguments, &context).await;
    if let Some(before) = before {
        output.changes = look_after(&around, &context, before).await;
    }
    if networked && arguments.contains("://") {
        output.origin = Origin::Web;
    }
    after_tool(&around, &name, &arguments, &mut output).await;
    pieces.lock().unwrap_or_else(PoisonError::into_inner).end();
    store.config.vault.redact_output(&mut output);
    let tokens = estimate_parts(&output.content);
    let once = output.origin.is_foreign() || store.config.tools.doc(&name).is_some_and(|doc| doc.shown_once);
    if once && tokens >= SHOWN_ONCE_FROM {
        show_once(&name, &arguments, &mut output);
    }
    if let Err(error) = offload(&*store.config.store, &scope, &mut output.content).await {
        let problem = store.config.vault.redact(&error.to_string());
        handle.tell(Live::Notice(format!("a long output stays in the log: {problem}")));
    }
    let ended = matches!(output.error.as_deref(), Some("interrupted" | "timeout"));
    if ended && cancel.is_cancelled() {
        return InputKind::ToolDead { call, attempt, output: Some(output), tokens };
    }
    InputKind::ToolFinished { call, attempt, output, tokens }
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

/// Whether a call may change files that it does not name. Those that only write what they name say so themselves.
pub(crate) fn may_change_any_file(name: &str, effect: EffectClass) -> bool {
    let says_so = matches!(name, "write_text_file" | "edit_text_file");
    !says_so && (starts_processes(effect) || effect == EffectClass::LocalWrite)
}

/// Keeps all files as they are now.
async fn look_before(around: &Around, context: &ToolContext) -> Snapshot {
    let known = around.handle.snapshot.lock().unwrap_or_else(PoisonError::into_inner).take();
    let taken = Snapshot::take(
        &context.workspace,
        known.map_or_else(Snapshot::default, |known| *known),
        Some(&*context.blobs),
        &context.cancel,
    )
    .await;
    for note in &taken.notes {
        around.handle.tell(Live::Notice(format!("before this call: {note}")));
    }
    taken
}

/// What became of the files since. Also of a call that was ended: what it did until then stays done.
async fn look_after(around: &Around, context: &ToolContext, before: Snapshot) -> Vec<FileChange> {
    let after = Snapshot::take(&context.workspace, before.clone(), None, &CancellationToken::new()).await;
    let changes = before.changes(&after, &context.workspace);
    if changes.len() == MOST_CHANGES {
        let note = format!("more than {MOST_CHANGES} files were changed; only so many can be put back");
        around.handle.tell(Live::Notice(note));
    }
    *around.handle.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(after));
    changes
}

/// Finds out whether a call of an earlier process was done.
pub(crate) async fn probe_tool(around: Around, grant: Grant, arguments: String) -> InputKind {
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let shared = Arc::clone(&around.shared);
    let pieces =
        Arc::new(Mutex::new(Pieces::new(&shared.config.vault, &around.handle, EffectKey::Tool(call, attempt))));
    let scope = around.scope.clone();
    let context = context(around, grant, CancellationToken::new(), pieces);
    let answer = match shared.config.tools.probe(&name, &arguments, &context).await {
        ProbeAnswer::Done(mut output) => {
            shared.config.vault.redact_output(&mut output);
            let tokens = estimate_parts(&output.content);
            // What does not get into a blob stays in the log.
            let _ = offload(&*shared.config.store, &scope, &mut output.content).await;
            Probed::Done { output, tokens }
        }
        ProbeAnswer::NotDone => Probed::NotDone,
        ProbeAnswer::Unknown => Probed::Unknown,
    };
    InputKind::ToolProbed { call, attempt, answer }
}

fn context(around: Around, grant: Grant, cancel: CancellationToken, pieces: Arc<Mutex<Pieces>>) -> ToolContext {
    let (call, attempt) = (grant.call(), grant.attempt());
    let Around { shared, handle, scope, prepared, .. } = around;
    let config = &shared.config;
    let workspace = Arc::clone(&prepared.workspace);
    // A secret that the spec names may be used: its variable is not hidden from processes.
    let secret = config.vault.names().map(OsString::from).chain(secret_variables());
    let hidden = secret.filter(|name| !prepared.secrets.iter().any(|allowed| name == allowed.as_str()));
    let launcher = config.launcher.clone().hide_env(hidden);
    // Policy was told so, and has allowed the call all the same.
    let open = starts_processes(grant.effect()) && !launcher.support().can_confine();
    let mut context = ToolContext::new(workspace, grant, launcher);
    if open {
        context.cage = Cage::open();
    }
    context.cancel = cancel;
    context.processes = Arc::clone(&handle.processes);
    context.blobs = Arc::new(Blobs { store: Arc::clone(&config.store), scope, vault: config.vault.clone() });
    context.secrets = Arc::new(Granted { vault: config.vault.clone(), allowed: prepared.secrets.clone() });
    context.offered = Arc::new(move |tool, effect| prepared.offers(tool, effect));
    let (told, vault) = (Arc::downgrade(&handle), config.vault.clone());
    context.notice = Arc::new(move |text: &str| {
        if let Some(handle) = told.upgrade() {
            handle.tell(Live::Notice(vault.redact(text)));
        }
    });
    context.changing = changing(handle, config.vault.clone(), (call, attempt));
    context.progress = Arc::new(move |piece: &str| {
        let mut pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.say(Delta::ToolOutput { call, text: piece.into() });
    });
    context
}

/// What the rules say of an address that an answer sends a call on to.
fn sent_on(around: &Around, (name, arguments): (&str, &str), ruled: Ruled) -> SentOn {
    let (shared, prepared) = (Arc::clone(&around.shared), Arc::clone(&around.prepared));
    let (name, arguments) = (name.to_string(), arguments.to_string());
    Arc::new(move |to| {
        let gate = Gate::of(&shared.config, &prepared, ruled.origins.clone(), &ruled.approved);
        gate.sent_on((&name, &arguments), to)
    })
}

/// Has the driver put on record what a call is about to do to files.
fn changing(handle: Arc<Handle>, vault: Vault, (call, attempt): (CallId, u32)) -> Changing {
    Arc::new(move |mut changes: Vec<FileChange>| {
        changes.iter_mut().for_each(|change| change.path = vault.redact(&change.path));
        let (recorded, answer) = oneshot::channel();
        handle.announce(Announced { call, attempt, changes, recorded });
        Box::pin(async move {
            let no_answer = |_| "the log cannot be written".to_string();
            answer.await.map_err(no_answer).flatten().map_err(io::Error::other)
        })
    })
}

struct Blobs {
    store: Arc<dyn Store>,
    scope: Scope,
    vault: Vault,
}

impl BlobSink for Blobs {
    fn put(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        self.keep(self.vault.redact_bytes(bytes))
    }

    fn keep(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        Box::pin(async move { self.store.put_blob(&self.scope, bytes).await.map_err(io::Error::other) })
    }
}

/// How long to wait before the store is tried again, and when to give up.
pub(crate) fn store_pause(tries: u32) -> Option<Duration> {
    let pauses = [20, 100, 500, 1_000, 2_000, 3_000];
    pauses.get(tries as usize).map(|ms| Duration::from_millis(*ms))
}
