//! What requests cost: those that were answered, and those that were lost or given up.

use crate::{ModelCall, State};
use mainpath_types::{FinishReason, Micros, ModelAbandoned, Spent, Usage};

impl State {
    /// What a lost request is charged: all that was set aside.
    pub(crate) fn reserved(&self, model: &ModelCall) -> (Usage, Micros) {
        let input = u64::from(model.input);
        let usage = Usage { input, output: model.reserve.saturating_sub(input), ..Usage::default() };
        (usage, self.price_of(&usage))
    }

    /// What a request that was given up has really used, by estimate, when so many tokens of its answer had come.
    pub(crate) fn spent_on(&self, model: &ModelCall, received: u32) -> Spent {
        let output = u64::from(received).min(model.reserve.saturating_sub(model.input.into()));
        let usage = Usage { input: model.likely, output, ..Usage::default() };
        Spent { usage, cost: self.price_of(&usage), about: true }
    }

    /// What that costs with the model in use.
    pub(crate) fn price_of(&self, usage: &Usage) -> Micros {
        self.spec.as_ref().map_or(0, |spec| spec.model().price.cost(usage))
    }
}

/// A model call that is given up, charged in full if it may have been sent. What had come of its answer is added by who knows it:
/// see [`crate::Machine::received`].
pub(crate) fn abandoned(state: &State, model: &ModelCall, lost: bool) -> ModelAbandoned {
    // What a hook forbade was never sent.
    let unsent = state.closing() == Some(FinishReason::Denied);
    let (usage, cost) = if unsent { (Usage::default(), 0) } else { state.reserved(model) };
    let spent = (!unsent).then(|| state.spent_on(model, 0));
    ModelAbandoned { request: model.request, lost, usage, cost, spent }
}
