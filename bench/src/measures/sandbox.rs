//! What the sandbox adds to starting a process.

use super::start::mainpath;
use super::{ms, runtime};
use crate::Fail;
use crate::process::{folder, now};
use crate::stats::{least, median};
use crate::table::Row;
use mainpath_sandbox::{Cage, How, Launcher};
use mainpath_types::Confinement;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the owner holds for the second line.
const HELD: usize = 1 << 30;

/// Between two tries, as between the turns of an agent whose model is quick. The next launcher is borne in that time.
const PAUSE: Duration = Duration::from_millis(20);

/// `true` in a sandbox against a plain one: by a small owner, by one that holds 1 GiB, and one right after the other.
pub fn sandbox(quick: bool) -> Result<Vec<Row>, Fail> {
    let tries = if quick { 20 } else { 100 };
    let (folder, runtime) = (folder()?, runtime()?);
    let launcher = Launcher::new(mainpath()?, vec!["__launch".into()]);
    let workspace = folder.path().canonicalize()?;
    let measure = |pause| runtime.block_on(both(&launcher, &workspace, tries, pause));
    let small = measure(PAUSE)?;
    let close = measure(Duration::ZERO)?;
    let held = vec![1_u8; HELD];
    let large = measure(PAUSE)?;
    // Held until here.
    if held.iter().step_by(4096).any(|byte| *byte != 1) {
        return Err("the memory is not what it was".into());
    }
    let told = |(plain, confined): &(Vec<f64>, Vec<f64>)| {
        let more = median(confined) - median(plain);
        let least = least(confined) - least(plain);
        (format!("{} (least {}; plain {})", ms(more), ms(least), ms(median(plain))), more <= 2e6)
    };
    let row = |what: &str, tries| {
        let (measured, reached) = told(tries);
        Row::goal(what, "<= 2 ms", measured, reached)
    };
    Ok(vec![
        row("sandboxed `true` beyond a plain one, 20 ms between two", &small),
        row("the same when the process holds 1 GiB", &large),
        Row::note("the same by a small process, one right after the other", told(&close).0),
    ])
}

/// Nanoseconds of each try, one of either kind after the other.
async fn both(
    launcher: &Launcher,
    workspace: &Path,
    tries: usize,
    pause: Duration,
) -> Result<(Vec<f64>, Vec<f64>), Fail> {
    let (mut plain, mut confined) = (Vec::new(), Vec::new());
    let cage = Cage::new(Confinement::default(), workspace, Vec::new());
    // The first one makes what all share.
    for round in 0..=tries {
        std::thread::sleep(pause);
        let began = now();
        Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).current_dir(workspace).status()?;
        let middle = now();
        let mut running = launcher.start(&[OsStr::new("true")], workspace, "bench", &cage)?;
        running.process.launcher_done().await;
        let ended = running.process.ended().await?;
        let end = now();
        if ended.how != How::Exit(0) {
            return Err(format!("it ended otherwise: {:?}", ended.how).into());
        }
        if round > 0 {
            plain.push((middle - began) as f64);
            confined.push((end - middle) as f64);
        }
    }
    Ok((plain, confined))
}
