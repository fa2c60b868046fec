//! Tests of the launcher as a program.

mod usage;
