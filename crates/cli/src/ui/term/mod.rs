//! The terminal: what it can do, how answers look there, and its lower edge, where what is only for the moment stands.
//!
//! Owns how things look. Its callers own what is said: nothing here knows of agents.

pub mod entry;
pub mod flow;
pub mod ink;
pub mod inline;
pub mod keys;
pub mod line;
pub mod markdown;
pub mod raw;
pub mod screen;
pub mod spinner;
pub mod table;
pub mod width;
pub mod wrap;
