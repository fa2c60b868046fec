//! Tests with real folders, files and processes.

mod files;
mod finding;
mod support;
mod writing;
