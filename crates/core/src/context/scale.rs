//! How many of a model's own tokens an estimated one is. Learned from the vendor's counts, so that sizes hold whatever its
//! tokenizer makes of code, of Chinese, or of the JSON around a message.
//!
//! Sizes of messages are recorded as they were estimated. What is scaled is the room that a model leaves them: after a cut as
//! before it, a request is held to what the vendor will count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of a request with fewer tokens than this, what vendors add to every request would be taken for its own.
const TELLING: u64 = 1_000;

/// What is added to a ratio, in hundredths: the next messages may be of another kind than those before.
const MORE: u64 = 5;

/// No tokenizer makes more of an estimated token, in thousandths.
const MOST: u64 = 8_000;

/// What a vendor is believed to have counted of a request that was estimated at so many tokens. Some servers count only what their
/// cache did not hold, or give any number: a conversation may not grow beyond the window by that. English prose has about nine
/// tenths of what is estimated.
pub(crate) fn believed(estimated: u64, counted: u64) -> u64 {
    counted.max(estimated / 4 * 3)
}

/// The scale of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scale {
    /// What is added until the vendor has counted, in hundredths.
    pub margin: u16,
    /// The model's tokens for a thousand estimated ones; `None` until the vendor has counted.
    pub learned: Option<u32>,
}

impl Scale {
    /// The model's tokens for a thousand estimated ones. Never fewer than a thousand: a smaller request is no harm.
    pub fn per_mille(self) -> u64 {
        let unknown = 1_000 + u64::from(self.margin) * 10;
        self.learned.map_or(unknown, |learned| u64::from(learned).max(1_000))
    }

    /// The model's tokens for so many estimated ones.
    pub fn real(self, estimated: u64) -> u64 {
        estimated.saturating_mul(self.per_mille()).div_ceil(1_000)
    }

    /// How many estimated tokens so many of the model's are at least.
    pub fn estimated(self, real: u64) -> u64 {
        real.saturating_mul(1_000) / self.per_mille()
    }

    /// Takes in that a vendor has counted so many tokens where so many were estimated. A larger ratio counts at once, a smaller one
    /// a quarter.
    pub fn learn(&mut self, estimated: u64, counted: u64) {
        if estimated < TELLING || counted == 0 {
            return;
        }
        let now = (counted.saturating_mul(10 * (100 + MORE)) / estimated).min(MOST);
        let known = self.learned.map_or(now, |known| (u64::from(known) * 3 + now) / 4);
        self.learned = u32::try_from(known.max(now)).ok();
    }
}
