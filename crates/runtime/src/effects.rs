//! Carrying effects out: what runs beside the driver, each as a future that ends in an input.

use crate::hub::{Handle, Live};
use crate::judge::Gate;
use crate::request::{Prepared, offload};
use crate::runtime::Shared;
use crate::secrets::{Granted, Vault};
use bytes::Bytes;
use mainpath_core::{InputKind, Probed, estimate_parts};
use mainpath_policy::Grant;
use mainpath_providers::Call;
use mainpath_store::{Scope, Store};
use mainpath_tools::{BlobSink, Fut, ProbeAnswer, ToolContext};
use mainpath_types::*;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What an effect needs of its surroundings.
#[derive(Clone)]
pub(crate) struct Around {
    pub shared: Arc<Shared>,
    pub handle: Arc<Handle>,
    pub scope: Scope,
    pub prepared: Arc<Prepared>,
}

/// Asks the model and judges its answer. `failures`: how many requests in a row have failed before.
pub(crate) async fn call_model(
    around: Around,
    request: u32,
    body: Vec<Bytes>,
    sent: String,
    failures: u32,
) -> InputKind {
    let Around { shared, handle, scope, prepared } = around;
    let vault = &shared.config.vault;
    let mut tell = |delta: Delta| {
        if let Some(audience) = handle.audience() {
            // Nobody listens any more: a delta may be missed.
            let _ = audience.send(Live::Delta(redact_delta(vault, delta)));
        }
    };
    let call = Call { body, head: &prepared.head, request };
    match prepared.provider.call(call, &mut tell).await {
        Ok(mut reply) => {
            vault.redact_parts(&mut reply.parts);
            let gate = Gate { tools: &shared.config.tools, workspace: &prepared.workspace, rules: &prepared.rules };
            let mut kind = gate.reply(request, reply, sent);
            if let InputKind::ModelFinished(reply) | InputKind::ModelMalformed { reply, .. } = &mut kind
                && let Err(error) = offload(&*shared.config.store, &scope, &mut reply.parts).await
            {
                handle.tell(Live::Notice(format!("a long text stays in the log: {error}")));
            }
            kind
        }
        Err(mut error) => {
            error.message = vault.redact(&error.message);
            let wait = error.retry_after_ms.unwrap_or_else(|| backoff(failures));
            InputKind::ModelFailed { request, error, retry_at: Some((shared.config.clock)().saturating_add(wait)) }
        }
    }
}

/// Half a second, doubled with every failure up to half a minute, half of it drawn.
fn backoff(failures: u32) -> u64 {
    let most = 500u64.saturating_mul(1 << failures.min(6)).min(30_000);
    most / 2 + fastrand::u64(0..=most / 2)
}

fn redact_delta(vault: &Vault, delta: Delta) -> Delta {
    match delta {
        Delta::Text { text } => Delta::Text { text: vault.redact(&text) },
        Delta::Thinking { text } => Delta::Thinking { text: vault.redact(&text) },
        Delta::Arguments { index, name, text } => Delta::Arguments { index, name, text: vault.redact(&text) },
        Delta::ToolOutput { call, text } => Delta::ToolOutput { call, text: vault.redact(&text) },
    }
}

/// Runs a tool. The answer comes only when nothing of the call runs any more.
pub(crate) async fn run_tool(around: Around, grant: Grant, arguments: String, cancel: CancellationToken) -> InputKind {
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let store = Arc::clone(&around.shared);
    let scope = around.scope.clone();
    let handle = Arc::clone(&around.handle);
    let context = context(around, grant, cancel.clone());
    let mut output = store.config.tools.run(&name, &arguments, &context).await;
    store.config.vault.redact_output(&mut output);
    let tokens = estimate_parts(&output.content);
    if let Err(error) = offload(&*store.config.store, &scope, &mut output.content).await {
        handle.tell(Live::Notice(format!("a long output stays in the log: {error}")));
    }
    let ended = matches!(output.error.as_deref(), Some("interrupted" | "timeout"));
    if ended && cancel.is_cancelled() {
        return InputKind::ToolDead { call, attempt, output: Some(output), tokens };
    }
    InputKind::ToolFinished { call, attempt, output, tokens }
}

/// Finds out whether a call of an earlier process was done.
pub(crate) async fn probe_tool(around: Around, grant: Grant, arguments: String) -> InputKind {
    let (call, attempt, name) = (grant.call(), grant.attempt(), grant.tool().to_string());
    let shared = Arc::clone(&around.shared);
    let context = context(around, grant, CancellationToken::new());
    let answer = match shared.config.tools.probe(&name, &arguments, &context).await {
        ProbeAnswer::Done(mut output) => {
            shared.config.vault.redact_output(&mut output);
            let tokens = estimate_parts(&output.content);
            Probed::Done { output, tokens }
        }
        ProbeAnswer::NotDone => Probed::NotDone,
        ProbeAnswer::Unknown => Probed::Unknown,
    };
    InputKind::ToolProbed { call, attempt, answer }
}

fn context(around: Around, grant: Grant, cancel: CancellationToken) -> ToolContext {
    let call = grant.call();
    let Around { shared, handle, scope, prepared } = around;
    let config = &shared.config;
    let workspace = Arc::clone(&prepared.workspace);
    // A secret that the spec names may be used: its variable is not hidden from processes.
    let hidden = config.vault.names().filter(|name| !prepared.secrets.iter().any(|allowed| allowed == name));
    let launcher = config.launcher.clone().hide_env(hidden.map(String::from));
    let mut context = ToolContext::new(workspace, grant, launcher);
    context.cancel = cancel;
    context.blobs = Arc::new(Blobs { store: Arc::clone(&config.store), scope });
    context.secrets = Arc::new(Granted { vault: config.vault.clone(), allowed: prepared.secrets.clone() });
    let vault = config.vault.clone();
    let held = Mutex::new(String::new());
    context.progress = Arc::new(move |piece: &str| {
        // A secret may be cut in two by the pieces: what may be its beginning waits for the next one.
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push_str(piece);
        let text = vault.redact(&held);
        let keep = vault.begun(&text);
        let (say, rest) = text.split_at(text.len() - keep);
        if !say.is_empty() {
            handle.tell(Live::Delta(Delta::ToolOutput { call, text: say.into() }));
        }
        *held = rest.into();
    });
    context
}

struct Blobs {
    store: Arc<dyn Store>,
    scope: Scope,
}

impl BlobSink for Blobs {
    fn put(&self, bytes: Vec<u8>) -> Fut<'_, io::Result<BlobHash>> {
        Box::pin(async move { self.store.put_blob(&self.scope, bytes).await.map_err(io::Error::other) })
    }
}

/// How long to wait before the store is tried again, and when to give up.
pub(crate) fn store_pause(tries: u32) -> Option<Duration> {
    let pauses = [20, 100, 500, 1_000, 2_000, 3_000];
    pauses.get(tries as usize).map(|ms| Duration::from_millis(*ms))
}
