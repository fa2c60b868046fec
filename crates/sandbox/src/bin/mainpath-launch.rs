//! The launcher as a program of its own, for tests and measurements.

use std::process::ExitCode;

fn main() -> ExitCode {
    mainpath_sandbox::launcher_main(std::env::args_os().skip(1))
}
