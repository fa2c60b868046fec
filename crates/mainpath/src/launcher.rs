//! How an embedding program starts the processes of its agents: never by running its own `main` anew unless it says so.

use mainpath_sandbox::Launcher;
#[cfg(feature = "home")]
use mainpath_tools::JsonTransform;
use std::sync::atomic::{AtomicBool, Ordering};

/// The word by which this program is called as a launcher,
const LAUNCH: &str = "__launch";
/// and as what applies the filters of `json_transform`.
#[cfg(feature = "home")]
const FILTER: &str = "__filter";

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
    let word = words.next();
    if word.as_ref().is_some_and(|word| word == LAUNCH) {
        mainpath_sandbox::launcher_exit(words);
    }
    #[cfg(feature = "home")]
    if word.is_some_and(|word| word == FILTER) {
        mainpath_tools::filter_exit();
    }
    CALLED.store(true, Ordering::Release);
}

/// This program, if it said that it is a launcher.
pub(crate) fn own() -> Launcher {
    if is_own() { Launcher::current_exe() } else { Launcher::none() }
}

/// Whether this program said that it is a launcher.
fn is_own() -> bool {
    CALLED.load(Ordering::Acquire)
}

/// `json_transform`, which applies its filters in copies of this program, if it said that it is a launcher.
#[cfg(feature = "home")]
pub(crate) fn json_transform() -> JsonTransform {
    match is_own() {
        true => JsonTransform::new("/proc/self/exe", vec![FILTER.into()]),
        false => JsonTransform::none(),
    }
}
