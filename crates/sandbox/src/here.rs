//! A cage around a command of this very process, which shares its terminal and its standard streams.

use crate::cage::{Bounds, Cage};
use crate::ended::{Ended, How};
use crate::home::Places;
use crate::init::{start_init, wait_for};
use crate::launch::{finish, run};
use crate::limits::Group;
use crate::plan::Plan;
use crate::supervise::{END, GracePeriods, Terminal};
use crate::sys;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Runs a command in a folder and a closed cage, without the variables named in `hidden` and those that start with
/// `MAINPATH_`, and waits for its end. The process must have one thread and not yet have opened anything; descriptors above
/// 2 are closed. Keys that end a program go to the command; `SIGTERM` and `SIGHUP` end everything in it with a short
/// grace, the end of this process without any.
///
/// Errors: the pipes between the two processes could not be made. All else is told in [`Ended::how`].
pub fn run_here(cage: &Cage, words: &[OsString], folder: &Path, hidden: &[OsString]) -> io::Result<Ended> {
    sys::close_from(3);
    let is_hidden =
        |name: &OsStr| name.as_encoded_bytes().starts_with(b"MAINPATH_") || hidden.iter().any(|own| own == name);
    let env = std::env::vars_os().filter(|(name, _)| !is_hidden(name)).collect();
    let (cage, watch) = cage.guarded();
    let plan = Plan {
        cage,
        words: words.to_vec(),
        folder: folder.into(),
        env,
        limited: false,
        grace: GracePeriods::default(),
    };
    let (Some(bounds), Some(_)) = (&plan.cage.bounds, words.first()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut ended = confine(bounds, &plan)?;
    ended.planted = watch.map(|watch| watch.settle("sandbox")).unwrap_or_default();
    Ok(ended)
}

fn confine(bounds: &Bounds, plan: &Plan) -> io::Result<Ended> {
    let group = Group::make().ok();
    let (mut ours, theirs) = UnixStream::pair()?;
    let init = start_init(
        bounds,
        group.as_ref(),
        theirs.as_fd(),
        |outside| Places::of(plan, outside),
        |made| {
            // Not before it is in its group.
            let ended = made.and_then(|()| match (&theirs).read_exact(&mut [0]) {
                Ok(()) => run(theirs.as_fd(), plan, Terminal::Owners),
                Err(_) => Ok(None),
            });
            finish(theirs.as_fd(), ended)
        },
    );
    drop(theirs);
    let init = match init {
        Ok(init) => init,
        Err(error) => return Ok(Ended::of(How::refused(error))),
    };
    let signals = sys::end_signals()?;
    if let Some(group) = group.as_ref().filter(|group| group.birthplace().is_none()) {
        group.take(init)?;
    }
    let _ = ours.write_all(&[0]);
    let mut heard = Vec::new();
    loop {
        let mut fds = [PollFd::new(&ours, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [line, signal] = fds.map(|fd| !fd.revents().is_empty());
        if signal {
            let ends = |(number, sent): (i32, bool)| sent || number == rustix::process::Signal::HUP.as_raw();
            if sys::next_signal(signals.as_fd()).is_some_and(ends) {
                let _ = ours.write_all(&[END]);
            }
        }
        if line {
            let mut buffer = [0; 4096];
            match ours.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => heard.extend_from_slice(buffer.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    let _ = wait_for(init);
    Ok(Ended::parse(&String::from_utf8_lossy(&heard)))
}
