//! The tools against real files and real processes.

mod bash;
mod edit;
mod files;
mod launcher;
mod registry;
mod support;
mod workspace;
