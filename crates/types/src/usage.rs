//! Tokens and money.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Money in millionths of the price table's currency unit.
pub type Micros = u64;

/// What a model call used, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Everything that was sent, cached tokens included.
    pub input: u64,
    /// Everything that came back, reasoning included.
    pub output: u64,
    /// The part of `input` that was read from the vendor's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// The part of `input` that was written to the vendor's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// The part of `output` that was reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// Input and output together; saturating.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// What was really used and what that cost, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Money, in micro-units.
    pub cost: Micros,
    /// Whether some of it was estimated, as no vendor has counted it. People are told "about".
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.usage += other.usage;
        self.cost = self.cost.saturating_add(other.cost);
        self.about |= other.about;
    }
}

/// Prices in micro-units per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Price {
    /// Fresh input.
    pub input: Micros,
    /// Output.
    pub output: Micros,
    /// Input read from the cache.
    pub cache_read: Micros,
    /// Input written to the cache.
    pub cache_write: Micros,
}

impl Price {
    /// What this usage costs, rounded up to the next micro-unit; saturating.
    pub fn cost(&self, usage: &Usage) -> Micros {
        let fresh = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        let sum = [
            (fresh, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ]
        .iter()
        .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
        .sum::<u128>();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}
