//! What a model answers.

use mainpath_types::Usage;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Holds an answer back until the test opens the gate. An open gate stays open.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Gate {
        Gate(Arc::new(Semaphore::new(0)))
    }
}

impl Gate {
    /// Lets every answer pass that waits at this gate or comes to it later.
    pub fn open(&self) {
        self.0.close();
    }

    pub(super) async fn passed(&self) {
        // No permit is ever given: the wait ends when the semaphore is closed.
        let _ = self.0.acquire().await;
    }
}

/// A model's answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its reasoning; none if empty.
    pub thinking: String,
    /// What the vendor wants back with its reasoning: an opaque value; none if empty.
    pub signature: String,
    /// Its text; none if empty.
    pub text: String,
    /// Its calls: tool and arguments.
    pub calls: Vec<(String, String)>,
    /// What it reports to have used.
    pub usage: Usage,
    /// How long it takes, in milliseconds.
    pub delay_ms: u64,
    /// How long it stops before its last three events, in milliseconds: what came before is seen as a piece.
    pub pause_ms: u64,
    /// The gate at which the complete answer waits. The test opens it.
    pub gate: Option<Gate>,
    /// The gate at which the last three events of a streamed answer wait: what came before is seen as a piece.
    pub end_gate: Option<Gate>,
    /// Its finish reason, if not what follows from the calls.
    pub finish_reason: Option<String>,
}

impl Answer {
    /// An answer that is one text.
    pub fn text(text: &str) -> Answer {
        Answer { text: text.into(), usage: Usage { input: 10, output: 5, ..Usage::default() }, ..Answer::default() }
    }

    /// An answer that is one call.
    pub fn call(tool: &str, arguments: Value) -> Answer {
        Answer { text: String::new(), ..Answer::text("") }.and_call(tool, arguments)
    }

    /// The same answer, held back until the gate is open.
    pub fn behind(mut self, gate: &Gate) -> Answer {
        self.gate = Some(gate.clone());
        self
    }

    /// The same answer, its last three events held back until the gate is open.
    pub fn ends_behind(mut self, gate: &Gate) -> Answer {
        self.end_gate = Some(gate.clone());
        self
    }

    /// The same with one call more.
    pub fn and_call(mut self, tool: &str, arguments: Value) -> Answer {
        self.calls.push((tool.into(), arguments.to_string()));
        self
    }
}
