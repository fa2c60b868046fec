//! How an embedding program starts the processes of its agents: never by running its own `main` anew unless it says so.

use mainpath_sandbox::Launcher;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word by which this program is called as a launcher.
const LAUNCH: &str = "__launch";

static CALLED: AtomicBool = AtomicBool::new(false);

/// Makes this program the launcher of its agents' commands. Call it first of all in `main`, before any thread is started:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = mainpath::launcher_main() {
///         return code;
///     }
///     // … the program itself
///     ExitCode::SUCCESS
/// }
/// ```
///
/// Commands run under a copy of this program that confines them and ends them with it. When this process is such a copy, its work
/// is done here and its exit code returned; otherwise `None`. A program that does not call it starts no processes: tools that
/// would are refused, unless the host has another launcher.
pub fn launcher_main() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == LAUNCH) {
        return Some(mainpath_sandbox::launcher_main(words));
    }
    CALLED.store(true, Ordering::Release);
    None
}

/// This program, if it said that it is a launcher.
pub(crate) fn own() -> Launcher {
    if CALLED.load(Ordering::Acquire) { Launcher::current_exe() } else { Launcher::none() }
}
