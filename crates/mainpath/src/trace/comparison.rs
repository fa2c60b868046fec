//! Two traces beside each other.

use super::handle::Trace;
use super::layouts::MessagePart;
use crate::Error;
use mainpath_runtime::run_stats::RunStats;
use mainpath_types::TraceId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Two traces: what they have in common, and where they part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// How many messages of their main paths both begin with.
    pub common: u64,
    /// The one from there on,
    pub a: ComparedTrace,
    /// and the other.
    pub b: ComparedTrace,
}

/// One of two traces.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedTrace {
    /// Which.
    pub trace_id: TraceId,
    /// Its messages after the common beginning, as [`Trace::said`] has them.
    pub messages: Vec<Map<String, Value>>,
    /// What each of its runs took.
    pub runs: Vec<Map<String, Value>>,
    /// What it is about, where it stands, what it came to: what `meta.json` says.
    pub meta: Map<String, Value>,
}

impl Trace {
    /// This trace and another beside each other. Errors: a log cannot be read.
    pub async fn compare(&self, other: &Trace) -> Result<Comparison, Error> {
        let (mut a, mut b) = (self.compared().await?, other.compared().await?);
        let is_same = |a: &Map<String, Value>, b: &Map<String, Value>| {
            ["role", "content"].iter().all(|field| a.get(*field) == b.get(*field))
        };
        let common = a.messages.iter().zip(&b.messages).take_while(|(a, b)| is_same(a, b)).count();
        a.messages.drain(..common);
        b.messages.drain(..common);
        Ok(Comparison { common: common as u64, a, b })
    }

    async fn compared(&self) -> Result<ComparedTrace, Error> {
        let object = |value| match value {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let runs = self.stats().await?.iter().map(|run: &RunStats| object(json!(run))).collect();
        let meta = object(self.overview().await?.meta);
        Ok(ComparedTrace {
            trace_id: self.id().clone(),
            messages: self.said(MessagePart::default()).await?,
            runs,
            meta,
        })
    }
}
