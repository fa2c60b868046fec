//! What came of deciding a run again several times.

use super::lane::LaneFigures;
use super::run::WhatIfOutcome;
use crate::intervals::{MeasuredShare, Share, Spread};
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of deciding a run again several times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RepeatedOutcome {
    /// How often each end came, by its identifier; `none` where a run has not ended.
    pub ends: BTreeMap<String, MeasuredShare>,
    /// Answers of the model.
    pub turns: Spread,
    /// Tool calls.
    pub calls: Spread,
    /// Tokens, input and output together.
    pub tokens: Spread,
    /// What they cost, in millionths.
    pub cost: Spread,
    /// Each of them.
    pub outcomes: Vec<WhatIfOutcome>,
}

impl RepeatedOutcome {
    /// Of these.
    pub fn of(outcomes: Vec<WhatIfOutcome>) -> RepeatedOutcome {
        let end = |outcome: &WhatIfOutcome| outcome.again.reason.map_or("none", |reason| reason.as_str());
        let names: Vec<&str> = outcomes.iter().map(end).collect();
        let ends = names
            .iter()
            .map(|name| ((*name).to_owned(), MeasuredShare::from(Share::of(names.iter().map(|other| other == name)))));
        let ends = ends.collect();
        let spread = |of: &dyn Fn(&LaneFigures) -> f64| {
            Spread::of(&outcomes.iter().map(|outcome| of(&outcome.again)).collect::<Vec<_>>())
        };
        RepeatedOutcome {
            ends,
            turns: spread(&|lane| f64::from(lane.turns)),
            calls: spread(&|lane| f64::from(lane.calls)),
            tokens: spread(&|lane| lane.tokens as f64),
            cost: spread(&|lane| lane.cost as f64),
            outcomes,
        }
    }
}
