//! The core, driven from outside.

mod simulation;
