//! Arguments that several commands share. The others stand beside the code of their command.

pub mod about;
pub mod agent;
pub mod attachments;
pub mod limits;
pub mod one;
pub mod output;
pub mod past;
pub mod point;
pub mod relations;
pub mod rules;
pub mod run;
