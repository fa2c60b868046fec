//! Who may: keys and their scopes, whence requests may come, and what was done by whom.

pub mod audit;
pub mod codes;
pub mod cors;
pub mod guard;
pub mod keys;
pub mod once;
pub mod rate;
pub mod scope;
