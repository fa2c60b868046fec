//! Finding traces, and what waits in them.

pub mod allow;
pub mod asked;
pub mod children;
pub mod forget;
pub mod mail;
pub mod past;
pub mod questions;
pub mod rows;
pub mod taking;
pub mod waits;
pub mod wanted;
pub mod which;
