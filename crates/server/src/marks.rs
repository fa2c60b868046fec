//! Which runs go on in a server, kept in a file of a line for each that began, ended or came to rest: a later process reads what broke off.
//!
//! ```text
//! + 0 TRACE     it goes on; so many processes died while it was under way
//! . TRACE       the process ended in order, and let it come to rest
//! @ HASH TRACE  its client waits for it, with a request of this hash
//! - TRACE       it has come to its end
//! ```

use mainpath::store::create_private_parent;
use mainpath::types::TraceId;
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Nobody is waited for at the other end of a pipe.
const NO_WAIT: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// A run that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its trace.
    pub trace: TraceId,
    /// How many processes died while it was under way.
    pub deaths: u32,
    /// Whether the last one ended in order.
    pub rested: bool,
    /// The hash of the request whose client waited for it.
    pub request: Option<String>,
}

/// The marks of a home. One process writes them.
pub struct Marks {
    file: PathBuf,
}

impl Marks {
    /// Of this data folder.
    pub fn of(data: &Path) -> Marks {
        Marks { file: data.join("server/running.log") }
    }

    /// Notes that a run goes on.
    pub fn begin(&self, trace: &TraceId, deaths: u32) -> io::Result<()> {
        self.add(&format!("+ {deaths} {trace}\n"))
    }

    /// Notes that its client waits for it, with a request of this hash.
    pub fn depend(&self, trace: &TraceId, request: &str) -> io::Result<()> {
        self.add(&format!("@ {request} {trace}\n"))
    }

    /// Notes that it was let come to rest.
    pub fn rest(&self, trace: &TraceId) -> io::Result<()> {
        self.add(&format!(". {trace}\n"))
    }

    /// Notes that it has come to its end.
    pub fn end(&self, trace: &TraceId) -> io::Result<()> {
        self.add(&format!("- {trace}\n"))
    }

    fn add(&self, line: &str) -> io::Result<()> {
        let open = || self.open(OpenOptions::new().append(true).create(true).mode(0o600));
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_private_parent(&self.file)?;
                open()?
            }
            file => file?,
        };
        file.write_all(line.as_bytes())
    }

    /// Errors name the file, and say what is none.
    fn open(&self, how: &mut OpenOptions) -> io::Result<File> {
        let named = |kind, why: &dyn Display| io::Error::new(kind, format!("{}: {why}", self.file.display()));
        let file = how.custom_flags(NO_WAIT).open(&self.file);
        let file = file.map_err(|error| named(error.kind(), &error))?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(named(io::ErrorKind::InvalidInput, &"this is not a file; move it aside")),
        }
    }

    /// The runs that have not come to their end, by trace. A line that was not written whole is none.
    pub fn read(&self) -> io::Result<Vec<Mark>> {
        let mut text = Vec::new();
        match self.open(OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?.read_to_end(&mut text)?,
        };
        let text = String::from_utf8_lossy(&text);
        let mut marks: BTreeMap<TraceId, Mark> = BTreeMap::new();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("+"), Some(deaths), Some(trace)) => {
                    if let (Ok(deaths), Ok(trace)) = (deaths.parse(), trace.parse::<TraceId>()) {
                        marks.insert(trace.clone(), Mark { trace, deaths, rested: false, request: None });
                    }
                }
                (Some("@"), Some(request), Some(trace)) => {
                    if let Some(mark) = trace.parse().ok().and_then(|trace: TraceId| marks.get_mut(&trace)) {
                        mark.request = Some(request.into());
                    }
                }
                (Some("."), Some(trace), None) => {
                    if let Some(mark) = trace.parse().ok().and_then(|trace: TraceId| marks.get_mut(&trace)) {
                        mark.rested = true;
                    }
                }
                (Some("-"), Some(trace), None) => {
                    if let Ok(trace) = trace.parse::<TraceId>() {
                        marks.remove(&trace);
                    }
                }
                _ => {}
            }
        }
        Ok(marks.into_values().collect())
    }

    /// Writes the file anew, without what has come to its end.
    pub fn tidy(&self) -> io::Result<()> {
        let mut text = String::new();
        for Mark { trace, deaths, rested, request } in self.read()? {
            // Writing to a string does not fail.
            let _ = writeln!(text, "+ {deaths} {trace}");
            if let Some(request) = request {
                let _ = writeln!(text, "@ {request} {trace}");
            }
            if rested {
                let _ = writeln!(text, ". {trace}");
            }
        }
        let part = self.file.with_extension("part");
        let _ = std::fs::remove_file(&part);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&part, &self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn what_has_not_ended_is_read_again_also_after_a_broken_line_and_when_the_file_was_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::of(folder.path());
        assert_eq!(marks.read().unwrap(), []);
        let [a, b, c] = ["a", "b", "c"].map(|name| name.parse::<TraceId>().unwrap());
        marks.begin(&b, 0).unwrap();
        marks.begin(&a, 1).unwrap();
        marks.begin(&c, 0).unwrap();
        marks.end(&b).unwrap();
        marks.rest(&c).unwrap();
        marks.rest(&b).unwrap();
        marks.depend(&a, "hash").unwrap();
        let mark = |trace: &TraceId, deaths, rested, request: Option<&str>| Mark {
            trace: trace.clone(),
            deaths,
            rested,
            request: request.map(String::from),
        };
        let left = [mark(&a, 1, false, Some("hash")), mark(&c, 0, true, None)];
        assert_eq!(marks.read().unwrap(), left);
        marks.tidy().unwrap();
        let file = folder.path().join("server/running.log");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "+ 1 a\n@ hash a\n+ 0 c\n. c\n");
        // One that goes on again is not at rest; of a write that broke off nothing counts.
        marks.begin(&c, 0).unwrap();
        marks.add("+ x d\n\u{0}\n- \n+ 1").unwrap();
        assert_eq!(marks.read().unwrap(), [mark(&a, 1, false, Some("hash")), mark(&c, 0, false, None)]);
    }

    #[test]
    fn what_is_no_file_is_named_and_nobody_waits_for_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::of(folder.path());
        let file = folder.path().join("server/running.log");
        std::fs::create_dir_all(&file).unwrap();
        let trace = "a".parse::<TraceId>().unwrap();
        for is_pipe in [false, true] {
            if is_pipe {
                std::fs::remove_dir(&file).unwrap();
                mknodat(CWD, &file, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            }
            for error in [marks.read().unwrap_err(), marks.begin(&trace, 0).unwrap_err()] {
                assert!(error.to_string().starts_with(&format!("{}: ", file.display())), "{error}");
            }
        }
    }
}
