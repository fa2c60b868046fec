//! Rules and verdicts, from the outside.

mod files;
mod hostile;
mod support;
mod verdicts;
