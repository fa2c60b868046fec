//! Logs, blobs, views and mailboxes that somebody or something damaged. Each damage is told, with where; nothing panics; what is
//! before the damage can be read; nothing is dropped in silence.

use super::{long, tried};
use crate::support::*;
use mainpath::runtime::{EnvModels, replay::replay, verify, views};
use mainpath::store::{FilesStore, Options, Report, Scope, TraceStore, line, verify_bytes};
use mainpath::types::{TenantId, TraceId};
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A trace with a bit of everything: calls, kept files, long texts in blobs, mail, a thing erased.
struct Sample {
    place: Place,
    trace: String,
    log: Vec<u8>,
    _server: ModelServer,
}

fn sample(calls: usize) -> Sample {
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "one\ntwo\n").unwrap();
    let mut answers = vec![
        Answer::call("edit_text_file", json!({"path": "a.txt", "edits": [{"old_text": "two", "new_text": "three"}]})),
        bash("seq 1 6000"),
    ];
    answers.extend((0..calls).map(|n| bash(&format!("echo call {n}"))));
    answers.extend([Answer::text("First answer."), Answer::text("Second answer."), Answer::text("Third answer.")]);
    let server = scripted(answers);
    assert_eq!(place.run_on(&server, &["--yes", "Do it, but never touch b.txt."]).code, 0);
    let trace = place.trace();
    assert_eq!(place.run(&["run", "-c", "--yes", "And now the secret word is Rumpelstiltskin."]).code, 0);
    assert_eq!(place.run(&["run", "-c", "--yes", "Go on."]).code, 0);
    let said = place.events(&trace).into_iter().find(|event| event["data"].to_string().contains("Rumpelstiltskin"));
    let said = said.unwrap()["id"].clone();
    // The message that holds it, by its number in the tree.
    let shown = place.ok(&["show"]);
    let at = shown.lines().position(|line| line.contains("Rumpelstiltskin")).unwrap();
    let seq = shown.lines().take(at).filter_map(|line| line.strip_prefix('#')).last().unwrap();
    let seq = seq.split(' ').next().unwrap();
    place.ok(&["erase", &trace, "--message", seq, "--yes"]);
    assert!(!String::from_utf8_lossy(&place.log(&trace)).contains("Rumpelstiltskin"), "event {said}");
    place.ok(&["verify"]);
    place.ok(&["replay"]);
    let log = place.log(&trace);
    Sample { place, trace, log, _server: server }
}

impl Sample {
    fn id(&self) -> TraceId {
        self.trace.parse().unwrap()
    }

    /// The check of some bytes in the place of the log.
    fn of(&self, bytes: &[u8]) -> Report {
        verify_bytes(bytes, "events.jsonl", &TenantId::local(), &self.id())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.file(&self.trace, name)
    }

    /// The whole check, with all that is beside the log.
    fn check(&self) -> Report {
        let store = FilesStore::look(&self.place.home, Options::default()).unwrap();
        on_tokio(verify(TraceStore::new(&store, &Scope::local(), &self.id()))).unwrap()
    }

    /// What a replay that writes nothing, or one that does, finds different.
    fn replayed(&self, dry: bool) -> Vec<String> {
        let store = FilesStore::look(&self.place.home, Options::default()).unwrap();
        let models = EnvModels::default();
        let found = on_tokio(replay(TraceStore::new(&store, &Scope::local(), &self.id()), &models, dry)).unwrap();
        // A number that is another one is told as another version's.
        let outdated = (found.outdated > 0).then(|| "meta.json is of another version".to_string());
        found.differences.into_iter().chain(found.wrong).chain(outdated).collect()
    }

    fn put(&self, log: &[u8]) {
        std::fs::write(self.file("events.jsonl"), log).unwrap();
    }

    /// Every blob's file.
    fn blobs(&self) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(self.place.home.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|dir| std::fs::read_dir(dir).unwrap());
        let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// The program itself on what is there: it looks without a panic, changes nothing, and writes to no damaged log.
    fn looked_at(&self, what: &str, log_is_damaged: bool) {
        let before = std::fs::read(self.file("events.jsonl")).unwrap();
        let verified = self.place.run(&["verify", &self.trace]);
        verified.fails(1, "damaged: ");
        let looks: [&[&str]; 7] = [
            &["show", &self.trace],
            &["show", "--all", &self.trace],
            &["export", &self.trace, "--format", "json"],
            &["export", &self.trace, "--format", "neutral"],
            &["context", &self.trace],
            &["stats", &self.trace],
            &["replay", "--dry-run", &self.trace],
        ];
        for words in looks {
            let done = self.place.run(words);
            assert!(matches!(done.code, 0 | 1), "{what}: {words:?}: {done:#?}");
            assert!(!done.err.contains("defect") && !done.err.contains("panicked"), "{what}: {words:?}: {done:#?}");
            assert!(done.code == 0 || done.own_lines().len() == 1, "{what}: {words:?}: {done:#?}");
        }
        if log_is_damaged {
            let done = self.place.run(&["run", "--trace", &self.trace, "--yes", "More."]);
            assert!(done.code == 1 && done.own_lines().len() == 1, "{what}: {done:#?}");
        }
        assert_eq!(std::fs::read(self.file("events.jsonl")).unwrap(), before, "{what}: the log was touched");
    }
}

fn on_tokio<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Makes each of these damages on two threads, and gives what somebody thought wrong of one.
fn on_threads<T: Sync>(cases: &[T], judge: impl Fn(&T) -> Option<String> + Sync) {
    let half = cases.len() / 2;
    let wrong = std::thread::scope(|scope| {
        let judge = &judge;
        let other = scope.spawn(move || cases[..half].iter().find_map(judge));
        cases[half..].iter().find_map(judge).or(other.join().unwrap())
    });
    assert_eq!(wrong, None);
}

/// The line in which a byte lies, from 1.
fn line_of(log: &[u8], at: usize) -> u64 {
    1 + log[..at].iter().filter(|byte| **byte == b'\n').count() as u64
}

/// What must be true of a log that was changed at a line: it is told there or, since a line's chain is held by the next, right after.
fn is_told(report: &Report, line: u64, last: u64, what: &str) -> Option<String> {
    // Where the word on an erasure is gone, the line that it was about is the first that nobody answers for.
    if report.damage.as_ref().is_some_and(|damage| damage.line < line && damage.problem.contains("erasure mark")) {
        return None;
    }
    // Of the last line, what was cut off it makes it one that nobody had acknowledged: the views know better.
    let torn = report.unchecked.iter().any(|line| line.contains("incomplete last line"));
    let told = match &report.damage {
        Some(damage) => (line..=line + 1).contains(&damage.line),
        None => !report.faults.is_empty() || torn && line == last,
    };
    let dropped = report.events + 1 < line;
    (!told || dropped).then(|| format!("{what}: {report:?}"))
}

#[test]
fn every_byte_of_a_short_log() {
    let sample = sample(0);
    let (log, last) = (&sample.log, line_of(&sample.log, sample.log.len() - 1));
    let step = if long() { 1 } else { (log.len() / 400).max(1) | 1 };
    let cases: Vec<(usize, u8)> = (0..log.len()).step_by(step).flat_map(|at| (0..3).map(move |op| (at, op))).collect();
    let hurt = |at: usize, op: u8| {
        let mut bytes = log.clone();
        match op {
            0 => bytes[at] ^= 1,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b'x'),
        }
        bytes
    };
    // No line holds the head of the last one: that takes a look at what is beside the log.
    let (of_last, cases): (Vec<_>, Vec<_>) = cases.into_iter().partition(|(at, _)| line_of(log, *at) == last);
    on_threads(&cases, |(at, op)| {
        is_told(&sample.of(&hurt(*at, *op)), line_of(log, *at), last, &format!("byte {at}, operation {op}"))
    });
    for (at, op) in &of_last {
        sample.put(&hurt(*at, *op));
        let report = sample.check();
        assert!(!report.holds(), "byte {at}, operation {op}: {report:?}");
    }
    sample.put(log);
    assert!(sample.check().holds(), "{:?}", sample.check());
    let count = cases.len() + of_last.len();
    tried("damage", count, "bytes of a short log changed, removed and inserted");
    // The program itself on some of them.
    let some = if long() { 40 } else { 3 };
    for n in 0..some {
        let at = (n * 2 + 1) * (log.len() - 400) / (2 * some);
        let mut bytes = log.clone();
        bytes[at] ^= 1;
        sample.put(&bytes);
        sample.looked_at(&format!("byte {at}"), true);
    }
    tried("damage", some * 9, "commands on such logs");
}

#[test]
fn every_line_of_a_long_log() {
    let sample = sample(if long() { 60 } else { 6 });
    let lines: Vec<&[u8]> = sample.log.split_inclusive(|byte| *byte == b'\n').collect();
    let count = lines.len();
    let cases: Vec<(usize, u8)> = (0..count).flat_map(|at| (0..5).map(move |op| (at, op))).collect();
    let mended = |at: usize, op: u8| -> Option<Vec<u8>> {
        let mut lines: Vec<Vec<u8>> = lines.iter().map(|line| line.to_vec()).collect();
        match op {
            0 if at + 1 < count => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 if at + 1 < count => lines.swap(at, at + 1),
            3 if at + 1 < count => lines[at] = [&lines[at][..lines[at].len() / 2], b"\n"].concat(),
            // What was said cut out, with a mark of erasure in its place. Those that were erased have one.
            4 if !lines[at].ends_with(b",\"erased\":true}\n") => {
                let erased = line::erase(&lines[at][..lines[at].len() - 1]).unwrap();
                lines[at] = [&erased[..], b"\n"].concat();
            }
            _ => return None,
        }
        Some(lines.concat())
    };
    on_threads(&cases, |(at, op)| {
        let report = sample.of(&mended(*at, *op)?);
        is_told(&report, *at as u64 + 1, count as u64, &format!("line {}, operation {op}", at + 1))
    });
    tried("damage", cases.len(), "lines of a long log removed, doubled, swapped, cut and erased by a forged mark");
    // Whole lines are missing at the end: nothing in the log can tell, what was written of it does.
    for missing in 1..=count.min(if long() { 200 } else { 12 }) {
        sample.put(&lines[..count - missing].concat());
        let report = sample.check();
        let told = report.faults.iter().any(|fault| fault.contains("missing at the end of the log"));
        // With the word on an erasure the line that it was about is told first.
        let unexplained = report.damage.as_ref().is_some_and(|damage| damage.problem.contains("erasure mark"));
        let whole = report.events == (count - missing) as u64;
        assert!(told && whole || unexplained, "{missing} lines: {report:?}");
    }
    let some = if long() { 20 } else { 2 };
    for n in 0..some {
        sample.put(&mended(1 + n * (count - 3) / some, (n % 5) as u8).unwrap_or_else(|| lines[..count - 1].concat()));
        sample.looked_at(&format!("lines, {n}"), false);
    }
    tried("damage", some * 8, "commands on such logs");
    // The undamaged part goes on in another trace.
    sample.put(&mended(count - 3, 4).unwrap());
    let done = sample.place.run(&["fork", &sample.trace, "--yes", "Go on."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let fork = newest(&sample.place);
    assert_ne!(fork, sample.trace);
    sample.place.ok(&["verify", &fork]);
}

#[test]
fn blobs_that_are_missing_changed_or_cut() {
    let sample = sample(0);
    let (blobs, mut count) = (sample.blobs(), 0);
    assert!(blobs.len() >= 3, "{blobs:?}");
    for path in &blobs {
        let (bytes, name) = (std::fs::read(path).unwrap(), path.file_name().unwrap().to_str().unwrap());
        let changed = |at: usize| bytes.iter().enumerate().map(|(n, b)| if n == at { b ^ 1 } else { *b }).collect();
        let mut cases: Vec<Option<Vec<u8>>> = vec![None, Some(Vec::new()), Some([&bytes[..], b"x"].concat())];
        let step = if long() { (bytes.len() / 50).max(1) } else { (bytes.len() / 3).max(1) };
        for at in (0..bytes.len()).step_by(step) {
            cases.extend([Some(changed(at)), Some(bytes[..at].to_vec())]);
        }
        for case in cases {
            match &case {
                Some(bytes) => std::fs::write(path, bytes).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
            let report = sample.check();
            // The content that an edit has made may lie beside what it was: each is named by one event.
            assert!(report.faults.len() == 1 && report.faults[0].contains(name), "{case:?}: {report:?}");
            assert!(report.faults[0].contains("event "), "{report:?}");
            count += 1;
        }
        // It is looked at without a panic, and what cannot be built again is not taken away.
        let views = files(&sample.file(""));
        sample.looked_at(name, false);
        let _ = sample.place.run(&["replay", &sample.trace]);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&files(&sample.file(""))), names(&views));
        std::fs::write(path, &bytes).unwrap();
    }
    assert!(sample.check().holds());
    sample.place.ok(&["replay"]);
    tried("damage", count, "blobs and kept files missing, changed, cut and lengthened");
}

/// Every file below a folder.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn views_that_are_missing_changed_or_cut() {
    let sample = sample(0);
    let before = files(&sample.file(""));
    let own = ["events.jsonl", "mailbox.jsonl", "owner.lock", "events.torn"];
    let views: Vec<&PathBuf> = before.keys().filter(|path| !own.iter().any(|own| path.ends_with(own))).collect();
    assert!(views.len() >= 6, "{views:?}");
    let mut count = 0;
    for path in &views {
        let bytes = &before[*path];
        let step = if long() { (bytes.len() / 40).max(1) } else { (bytes.len() / 3).max(1) };
        let mut cases: Vec<Vec<u8>> = vec![b"{".to_vec(), vec![0xFF; 9]];
        for at in (0..bytes.len()).step_by(step) {
            cases.push([&bytes[..at], &[bytes[at] ^ 1], &bytes[at + 1..]].concat());
            cases.push(bytes[..at].to_vec());
        }
        for case in cases {
            std::fs::write(path, &case).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let told = sample.replayed(true);
            // Where what says up to when the others were written is damaged, these may be told as well.
            let is_told = told.iter().any(|line| line.contains(name) || line.contains("its views were written"));
            assert!(is_told, "{name}: {told:?}");
            assert_eq!(std::fs::read(path).unwrap(), case, "a dry run writes nothing");
            let _ = sample.check();
            count += 1;
            if !told.iter().any(|line| line.contains("its views were written")) {
                sample.replayed(false);
                assert_eq!(files(&sample.file("")), before, "{name}");
            }
            std::fs::write(path, bytes).unwrap();
        }
        std::fs::remove_file(path).unwrap();
        assert_eq!(sample.replayed(false), Vec::<String>::new());
        assert_eq!(files(&sample.file("")), before);
    }
    // What is not the log's is told, and left.
    std::fs::write(sample.file("notes.txt"), "mine").unwrap();
    assert_eq!(sample.replayed(false), ["the view notes.txt does not come from the log"]);
    sample.place.ok(&["verify"]);
    let store = FilesStore::open(&sample.place.home, Options::default()).unwrap();
    on_tokio(views::write(TraceStore::new(&store, &Scope::local(), &sample.id()))).unwrap();
    drop(store);
    assert_eq!(std::fs::read(sample.file("notes.txt")).unwrap(), b"mine");
    tried("damage", count, "views changed, cut and made something else");
}

#[test]
fn every_byte_of_a_mailbox() {
    let sample = sample(0);
    // Three that are read, and one that is not.
    sample.place.ok(&["next", &sample.trace, "And then the last thing."]);
    let path = sample.file("mailbox.jsonl");
    let mail = std::fs::read(&path).unwrap();
    assert!(sample.check().holds(), "{:?}", sample.check());
    let step = if long() { 1 } else { 7 };
    let mut count = 0;
    for (at, op) in (0..mail.len()).step_by(step).flat_map(|at| (0..3).map(move |op| (at, op))) {
        // What was erased has blanks in its place, which say nothing.
        if mail[at] == b' ' && matches!(mail[at - 1], b'0' | b' ') {
            continue;
        }
        let mut bytes = mail.clone();
        match op {
            0 => bytes[at] ^= 1,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, b'x'),
        }
        std::fs::write(&path, &bytes).unwrap();
        let report = sample.check();
        let torn = report.unchecked.iter().any(|line| line.contains("incomplete last line of the mailbox"));
        assert!(!report.holds() || torn, "byte {at}, operation {op}: {report:?}");
        count += 1;
    }
    tried("damage", count, "bytes of a mailbox changed, removed and inserted");
    // A line that is gone, wherever; what is said next is read all the same.
    let lines: Vec<&[u8]> = mail.split_inclusive(|byte| *byte == b'\n').collect();
    for gone in 0..lines.len() - 1 {
        let left: Vec<&[u8]> = lines.iter().enumerate().filter(|(n, _)| *n != gone).map(|(_, line)| *line).collect();
        std::fs::write(&path, left.concat()).unwrap();
        assert!(!sample.check().holds(), "line {gone}");
    }
    for left in [0, 1] {
        std::fs::write(&path, lines[..left].concat()).unwrap();
        assert!(!sample.check().holds());
        sample.place.ok(&["next", &sample.trace, "Said after the loss."]);
    }
    let done = sample.place.run(&["resume", &sample.trace, "--yes"]);
    assert_eq!(done.code, 0, "{done:#?}");
    let log = sample.place.log(&sample.trace);
    assert!(String::from_utf8_lossy(&log).contains("Said after the loss."));
}
