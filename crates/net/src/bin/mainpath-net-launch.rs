//! The launcher for this crate's tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    mainpath_sandbox::launcher_main(std::env::args_os().skip(1))
}
