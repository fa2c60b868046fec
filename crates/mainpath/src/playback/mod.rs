//! A recorded trace played: what happened in it and its agents, in its order, and how long to wait before each event.
//!
//! Nothing is run, and nothing waits here: who plays it waits.

mod pace;
mod steps;

pub use pace::{Pace, PlayWait, speed};
pub use steps::{PlayStep, Playback};
