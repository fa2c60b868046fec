//! How large a request may be.

use crate::SpecHead;
use mainpath_types::{Limits, Shares};

/// A request this full, in hundredths of the window, is cut or summarised.
const FULL: u64 = 80;

/// The same of what a request may take, where the window leaves less than that.
const CROWDED: u64 = 95;

/// A cut is worth it if it brings the request down to so many hundredths of what it may take.
const ENOUGH: u64 = 60;

/// Characters of a token, where characters are limited. Wide scripts have fewer.
const CHARS_A_TOKEN: u64 = 4;

/// What the JSON around a message takes in the widest format, its call or the call that it answers included, beyond what is
/// estimated of it: about 130 characters, in tokens. What escapes make longer is seen when the body is made.
pub(crate) const AROUND: u64 = 32;

/// How large a request may be, in estimated tokens: the model's own are scaled down to them.
pub(crate) struct Room {
    /// At most.
    pub most: u64,
    /// Beyond this it is nearly full.
    pub full: u64,
    /// The shares of its sections.
    pub shares: Shares,
}

impl Room {
    pub fn of(spec: &SpecHead) -> Room {
        let model = spec.model();
        let window = u64::from(model.context_window);
        let chars = spec.limits.context_chars.map_or(u64::MAX, |chars| u64::from(chars) / CHARS_A_TOKEN);
        let leaves = window.saturating_sub(model.reserved_output.into());
        let most = model.scale.estimated(leaves).min(chars);
        let full = model.scale.estimated(window).min(chars).saturating_mul(FULL) / 100;
        // Where the answer's part is a large one: there is always room to ask for a summary, and to look back.
        let full = full.min(most.saturating_mul(CROWDED) / 100);
        Room { most, full, shares: spec.limits.shares }
    }

    /// Whether it is the owner's limit in characters that bounds it, and not the model's window.
    pub fn is_limited(spec: &SpecHead) -> bool {
        let limits = Limits { context_chars: None, ..spec.limits.clone() };
        Room::of(spec).most < Room::of(&SpecHead { limits, ..spec.clone() }).most
    }

    /// A section's share.
    pub fn share(&self, hundredths: u8) -> u64 {
        self.most.saturating_mul(hundredths.into()) / 100
    }

    /// Whether a request leaves next to nothing: one could not even look back.
    pub fn is_crowded_by(&self, tokens: u64) -> bool {
        tokens > self.most.saturating_mul(CROWDED) / 100
    }

    /// What a cut has to bring the request down to.
    pub fn enough(&self) -> u64 {
        self.most.saturating_mul(ENOUGH) / 100
    }
}
