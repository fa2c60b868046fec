//! Which runs go on in a server, kept in a file of a line for each that began, ended or came to rest: a later process reads what broke off.
//!
//! ```text
//! + 0 TRACE 4   it is driven; this number of processes died while it was, since it had 4 results of calls
//! ~ 1 TRACE 4   an earlier process left it, and this one does not drive it yet
//! . TRACE       the process ended in order, and let it come to rest
//! @ HASH TRACE  its client waits for it, with a request of this hash
//! @ - TRACE     no client waits for it any more
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

/// In the place of a request's hash.
const NO_REQUEST: &str = "-";

/// A run that was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its trace.
    pub trace: TraceId,
    /// The count of processes in a row that died while they drove it, without a result of a call in between.
    pub deaths: u32,
    /// The count of its results of calls when that began.
    pub results: usize,
    /// The last process that used this file drove it.
    pub is_driven: bool,
    /// That process ended in order.
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

    /// Notes that a run is driven, by the deaths known of it and its results of calls.
    pub fn begin(&self, trace: &TraceId, deaths: u32, results: usize) -> io::Result<()> {
        self.add(&format!("+ {deaths} {trace} {results}\n"))
    }

    /// Counts the end of the process that last used the file as a death of each run that it drove, unless it ended in order. Call it once in a
    /// process, before anything is driven. Returns the runs that were left.
    pub fn leave(&self) -> io::Result<Vec<Mark>> {
        let mut left = self.read()?;
        for mark in &mut left {
            mark.deaths = match (mark.is_driven, mark.rested) {
                (true, true) => 0,
                (true, false) => mark.deaths.saturating_add(1),
                (false, _) => mark.deaths,
            };
            (mark.is_driven, mark.rested) = (false, false);
        }
        if !left.is_empty() {
            self.write(&left)?;
        }
        Ok(left)
    }

    /// Notes that its client waits for it, with a request of this hash.
    pub fn depend(&self, trace: &TraceId, request: &str) -> io::Result<()> {
        self.add(&format!("@ {request} {trace}\n"))
    }

    /// Notes that no client waits for it any more.
    pub fn free(&self, trace: &TraceId) -> io::Result<()> {
        self.add(&format!("@ {NO_REQUEST} {trace}\n"))
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
                (Some(sign @ ("+" | "~")), Some(deaths), Some(trace)) => {
                    // Lines of older versions have no count of results.
                    let results = words.next().unwrap_or("0").parse();
                    if let (Ok(deaths), Ok(trace), Ok(results)) = (deaths.parse(), trace.parse::<TraceId>(), results) {
                        let is_driven = sign == "+";
                        let mark =
                            Mark { trace: trace.clone(), deaths, results, is_driven, rested: false, request: None };
                        marks.insert(trace, mark);
                    }
                }
                (Some("@"), Some(request), Some(trace)) => {
                    if let Some(mark) = trace.parse().ok().and_then(|trace: TraceId| marks.get_mut(&trace)) {
                        mark.request = Some(request).filter(|request| *request != NO_REQUEST).map(String::from);
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
        self.write(&self.read()?)
    }

    fn write(&self, marks: &[Mark]) -> io::Result<()> {
        let mut text = String::new();
        for Mark { trace, deaths, results, is_driven, rested, request } in marks {
            let sign = if *is_driven { '+' } else { '~' };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{sign} {deaths} {trace} {results}");
            if let Some(request) = request {
                let _ = writeln!(text, "@ {request} {trace}");
            }
            if *rested {
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
        marks.begin(&b, 0, 0).unwrap();
        marks.begin(&a, 1, 7).unwrap();
        marks.begin(&c, 0, 0).unwrap();
        marks.end(&b).unwrap();
        marks.rest(&c).unwrap();
        marks.rest(&b).unwrap();
        marks.depend(&a, "hash").unwrap();
        marks.depend(&c, "hash").unwrap();
        marks.free(&c).unwrap();
        let mark = |trace: &TraceId, deaths, rested, request: Option<&str>| Mark {
            trace: trace.clone(),
            deaths,
            results: if *trace == a { 7 } else { 0 },
            is_driven: true,
            rested,
            request: request.map(String::from),
        };
        let left = [mark(&a, 1, false, Some("hash")), mark(&c, 0, true, None)];
        assert_eq!(marks.read().unwrap(), left);
        marks.tidy().unwrap();
        let file = folder.path().join("server/running.log");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "+ 1 a 7\n@ hash a\n+ 0 c 0\n. c\n");
        // One that goes on again is not at rest; of a write that broke off nothing counts.
        marks.begin(&c, 0, 0).unwrap();
        marks.add("+ x d\n\u{0}\n- \n+ 1").unwrap();
        assert_eq!(marks.read().unwrap(), [mark(&a, 1, false, Some("hash")), mark(&c, 0, false, None)]);
    }

    #[test]
    fn a_death_counts_only_for_a_run_that_its_process_drove() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Marks::of(folder.path());
        let [driven, queued, rested] = ["driven", "queued", "rested"].map(|name| name.parse::<TraceId>().unwrap());
        let deaths = |left: Vec<Mark>| left.into_iter().map(|mark| (mark.trace, mark.deaths)).collect::<Vec<_>>();
        for trace in [&driven, &queued, &rested] {
            marks.begin(trace, 0, 0).unwrap();
        }
        marks.rest(&rested).unwrap();
        let counted = |of_driven| vec![(driven.clone(), of_driven), (queued.clone(), 1), (rested.clone(), 0)];
        assert_eq!(deaths(marks.leave().unwrap()), counted(1));
        // The next process drives one of them and dies, and so does the next.
        for died in [2, 3] {
            marks.begin(&driven, died - 1, 0).unwrap();
            assert_eq!(deaths(marks.leave().unwrap()), counted(died));
        }
        assert_eq!(deaths(marks.leave().unwrap()), counted(3));
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
            for error in [marks.read().unwrap_err(), marks.begin(&trace, 0, 0).unwrap_err()] {
                assert!(error.to_string().starts_with(&format!("{}: ", file.display())), "{error}");
            }
        }
    }
}
