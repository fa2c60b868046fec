//! A request to the model: sent, its answer judged, its failure timed.

use crate::effects::context::EffectContext;
use crate::effects::hooks::{Forbidden, HookPoint};
use crate::gate::judge::{Gate, JudgeInput};
use crate::prompt::texts::offload;
use crate::stream::hub::Live;
use crate::stream::live::LiveTurn;
use crate::stream::pieces::Pieces;
use bytes::Bytes;
use futures_util::FutureExt;
use mainpath_core::{EffectKey, Estimate, InputKind, Reply, ReplyCall};
use mainpath_providers::Call;
use mainpath_tools::panic_text;
use mainpath_types::{Delta, ModelError, ModelErrorKind};
use serde_json::json;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::task::AbortOnDropHandle;

/// How a request is made, and how its answer is looked at.
pub(crate) struct ModelAttempt {
    /// How many requests in a row have failed before.
    pub failures: u32,
    /// Whether a summary is asked for.
    pub summary: bool,
    /// The turn that begins with the request, if one does, and whether it is the first of its run.
    pub begins: Option<(u32, bool)>,
    /// What judging its calls needs.
    pub judged_by: JudgeInput,
}

/// Asks the model and judges its answer.
pub(crate) async fn call_model(
    context: EffectContext,
    request: u32,
    body: Vec<Bytes>,
    sent: String,
    attempt: ModelAttempt,
) -> InputKind {
    if let Err(no) = begin(&context, &attempt).await {
        return InputKind::Forbid { by: no.principal(), why: no.reason };
    }
    let EffectContext { shared, handle, prepared, .. } = &context;
    let vault = &shared.config.vault;
    let asked = match &prepared.model {
        Ok(asked) => asked,
        Err(problem) => return unusable(request, vault.redact(&problem.to_string())).await,
    };
    let pieces = Pieces::new(vault, handle, EffectKey::Model(request));
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
    // The model may be anybody's own. What it was telling is not used any more when it has panicked.
    let answer = AssertUnwindSafe(async { asked.provider.call(call, &mut tell).await }).catch_unwind().await;
    let answer = answer.unwrap_or_else(|panic| Err(panicked(&*panic)));
    pieces.end();
    match answer {
        Ok(mut reply) => {
            if in_text {
                vault.redact_turn(&mut reply.parts);
            }
            vault.redact_parts(&mut reply.parts);
            let gate = Gate::of(&shared.config, prepared, &attempt.judged_by);
            let gate = Gate { summary: attempt.summary, ..gate };
            let mut kind = gate.reply(request, reply, sent);
            if let InputKind::ModelFinished(reply) = &mut kind {
                before_tools(&context, &gate, reply).await;
            }
            vault.redact_answer(&mut kind);
            if let InputKind::ModelFinished(reply) | InputKind::ModelMalformed { reply, .. } = &mut kind
                && let Err(error) = offload(context.store(), &mut reply.parts).await
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
            let wait = asked.max(backoff(attempt.failures));
            let retry_at = (wait <= LONGEST_WAIT).then(|| (shared.config.clock)().saturating_add(wait));
            let received = handle.received.load(Ordering::Relaxed);
            InputKind::ModelFailed { request, error, retry_at, usage: None, received }
        }
    }
}

/// Counts what has come of an answer, by estimate, for who has to give it up.
struct Meter<'a> {
    total: &'a AtomicU32,
    estimate: Estimate,
}

impl Meter<'_> {
    fn new(total: &AtomicU32) -> Meter<'_> {
        total.store(0, Ordering::Relaxed);
        Meter { total, estimate: Estimate::default() }
    }

    fn push(&mut self, delta: &Delta) {
        if let Delta::Text { text } | Delta::Thinking { text } | Delta::Arguments { text, .. } = delta {
            self.estimate.push(text);
            self.total.store(self.estimate.tokens(), Ordering::Relaxed);
        }
    }
}

/// The hooks at the start of a run and of a turn.
async fn begin(context: &EffectContext, attempt: &ModelAttempt) -> Result<(), Forbidden> {
    let Some((turn, first)) = attempt.begins else { return Ok(()) };
    for point in [HookPoint::RunStart, HookPoint::TurnStart] {
        if point == HookPoint::TurnStart || first {
            let mut event = json!({"trace_id": context.trace, "turn": turn});
            context.hooks().call(point, None, &mut event, |_, _, _| {}).await?;
        }
    }
    Ok(())
}

/// The hooks before each call of an answer.
async fn before_tools(context: &EffectContext, gate: &Gate<'_>, reply: &mut Reply) {
    let said = gate.said(&reply.parts);
    for ReplyCall { planned, written } in reply.calls_mut() {
        *planned = gate.with_hooks(&context.hooks(), std::mem::take(planned), written.arguments, &said).await;
        if let Some(arguments) = &mut planned.arguments {
            *arguments = context.shared.config.vault.redact_arguments(arguments);
        }
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

/// A model that panicked has failed, and would do so again.
fn panicked(panic: &(dyn Any + Send)) -> ModelError {
    let message = format!("the model panicked: {}", panic_text(panic));
    ModelError { kind: ModelErrorKind::BadRequest, message, status: None, retry_after_ms: None }
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
