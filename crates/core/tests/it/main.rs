//! The core, driven from outside.

mod cycle;
mod simulation;
mod support;
