//! How an embedding program starts the processes of its agents: never by running its own `main` anew unless it says so.

use mainpath_sandbox::Launcher;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word by which this program is called as a launcher.
const LAUNCH: &str = "__launch";

static CALLED: AtomicBool = AtomicBool::new(false);

/// Makes this program the launcher of its agents' commands. Call it first of all in `main`, before anything is printed, read or
/// started:
///
/// ```no_run
/// #[tokio::main]
/// async fn main() -> Result<(), mainpath::Error> {
///     mainpath::launcher_main();
///     // … the program itself
///     Ok(())
/// }
/// ```
///
/// Commands run under a copy of this program that confines them and ends them with it. When this process is such a copy, its work
/// is done here, and the process ends here. Otherwise nothing happens. A program that does not call it starts no processes: tools
/// that would are refused, unless the host has another launcher.
///
/// A runtime's `main` has threads by then, so that each command starts a copy of its own. Where commands are many and short, call it
/// in a plain `main` that then calls the runtime's: copies are made ahead then.
pub fn launcher_main() {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == LAUNCH) {
        mainpath_sandbox::launcher_exit(words);
    }
    CALLED.store(true, Ordering::Release);
}

/// This program, if it said that it is a launcher.
pub(crate) fn own() -> Launcher {
    if CALLED.load(Ordering::Acquire) { Launcher::current_exe() } else { Launcher::none() }
}
