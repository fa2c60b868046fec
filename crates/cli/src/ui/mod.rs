//! What people see and type: text on a terminal, questions, progress.

// First, so that its macros hold in all that follows.
#[macro_use]
pub mod say;

pub mod advice;
pub mod ask;
pub mod beside;
pub mod decision_commands;
pub mod echo;
pub mod junit;
pub mod line_out;
pub mod live;
pub mod out;
pub mod person;
pub mod presses;
pub mod preview;
pub mod print;
mod print_imported;
pub mod printers;
pub mod prompt;
pub mod question;
pub mod said;
pub mod stage;
pub mod stream;
pub mod suggest;
pub mod term;
pub mod text;
pub mod told;
pub mod typed;
pub mod whole;
pub mod written;
