//! The filter program of `json_transform` as a program of its own, for tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    mainpath_tools::filter_main()
}
