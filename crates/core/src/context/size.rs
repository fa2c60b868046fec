//! How large the next request is.

use crate::context::room::AROUND;
use crate::goals::reminders::standing;
use crate::{Hidden, Scale, State, estimate};

impl State {
    /// The estimated size of the next request, whatever the vendor has counted of it.
    pub(crate) fn estimated_tokens(&self) -> u64 {
        let fixed = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let hides = self.branch.and_then(|branch| branch.hidden).map_or(0, |hidden| hidden.tokens);
        let shown = self.tree.shown_tokens(self.tip()).saturating_sub(hides);
        fixed.saturating_add(shown).saturating_add(self.recalled_tokens())
    }

    /// The size of the next request as what a cut leaves of it is told from: the vendor's count was of the whole, and does not hold
    /// after it. At least what it is told to be now.
    pub(crate) fn tokens_to_cut(&self) -> u64 {
        self.request_tokens().max(self.estimated_tokens().saturating_add(self.standing_tokens()))
    }

    fn standing_tokens(&self) -> u64 {
        let standing = self.coming_spec().and_then(|spec| standing(self, spec));
        standing.map_or(0, |text| u64::from(estimate(&text)) + 4)
    }

    fn recalled_tokens(&self) -> u64 {
        let again =
            self.context.recalled.iter().filter_map(|id| self.calls.get(*id)).map(|call| u64::from(call.tokens));
        again.sum()
    }

    /// The size of the next request in estimated tokens: the vendor's last count, scaled, plus an estimate of what came since. What
    /// the model will count is [`crate::Scale::real`] of it.
    pub fn request_tokens(&self) -> u64 {
        self.request_tokens_without(self.branch.and_then(|branch| branch.hidden))
    }

    /// The same, where these messages are not shown.
    pub(crate) fn request_tokens_without(&self, hidden: Option<Hidden>) -> u64 {
        let tip = self.tip();
        let hides = hidden.map_or(0, |hidden| hidden.tokens);
        let shown = || self.tree.shown_tokens(tip).saturating_sub(hides);
        let fixed = self.coming_spec().map_or(0, |spec| u64::from(spec.fixed_tokens));
        let scale = self.coming_spec().map_or(Scale::default(), |spec| spec.model().scale);
        let path = match self.counting.counted.filter(|(seq, _)| hidden.is_none_or(|hidden| *seq < hidden.from)) {
            Some((seq, count)) => {
                let size = |seq| self.tree.node(seq).map_or(0, |node| node.path_tokens);
                let new = tip.map_or(0, size).saturating_sub(size(seq)).saturating_sub(hides);
                scale.estimated(count).saturating_add(new)
            }
            None => fixed.saturating_add(shown()),
        };
        let limits_chars = self.coming_spec().is_some_and(|spec| spec.limits.context_chars.is_some());
        // A vendor counts tokens: where characters are limited, they are told from the estimates, and from what is around them.
        let in_chars = || {
            let around = AROUND.saturating_mul(self.tree.shown_count(tip).into());
            fixed.saturating_add(shown()).saturating_add(around)
        };
        let path = if limits_chars { path.max(in_chars()) } else { path };
        path.saturating_add(self.recalled_tokens()).saturating_add(self.standing_tokens())
    }
}
