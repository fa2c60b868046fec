//! `docs/log-format.md` is enough to verify a trace: the Python program that was written from it gives the same verdict as the store.

use crate::Home;
use mainpath_store::conformance::{event, events};
use mainpath_store::*;
use mainpath_types::{Erased, Event, EventId, EventKind, Left, Millis, Principal, TraceId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the program on each folder as if it had been started for it. One Python for all of them: its start takes longer than the rest.
const RUN_EACH: &str = r#"
import contextlib, io, json, runpy, sys
program, results = sys.argv[1], []
for folder in sys.argv[2:]:
    sys.argv, printed, code = [program, folder], io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            code = end.code
    results.append([not code, printed.getvalue()])
print(json.dumps(results))
"#;

/// What the Python program says of the traces in folders: whether all is well, and its words.
fn by_the_page_each(folders: &[PathBuf]) -> Vec<(bool, String)> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify.py");
    let done = Command::new("python3").args(["-c", RUN_EACH]).arg(program).args(folders).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// What the Python program says of the trace in a folder, started by itself as a user starts it.
fn by_the_page(folder: &Path) -> (bool, String) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify.py");
    let done = Command::new("python3").arg(program).arg(folder).output().unwrap();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(!said.contains("Traceback"), "{said}");
    (done.status.success(), said)
}

/// A trace `t` with mail, of which event 3 and its mail are erased.
async fn erased_in_part(home: &Home) -> (Scope, TraceId) {
    let (scope, trace): (_, TraceId) = (Scope::local(), "t".parse().unwrap());
    let lease = home.store.lease(&scope, &trace, true).await.unwrap().lease;
    assert_eq!(home.store.append(&lease, 0, events(1, 2)).await, Appended::Committed { head: 2 });
    for said in 1..=6 {
        let once = (said == 2).then(|| Once { key: "a \"key\"".into(), asked: "digest".into() });
        let letter = Letter { urgent: false, body: format!("\"message {said}\""), once };
        home.store.send(&scope, &trace, letter).await.unwrap();
    }
    assert_eq!(home.store.append(&lease, 2, events(3, 6)).await, Appended::Committed { head: 6 });
    let left = vec![Left { event: 3, kind: event(3, "").kind.without_words() }];
    let marker = Erased { left, by: Principal::local_user(), why: None }.into();
    let marker = Event { id: 7, ts: 1_795_315_600_000, turn: 0, mail: None, kind: marker };
    assert_eq!(home.store.erase(&lease, marker).await, Appended::Committed { head: 7 });
    (scope, trace)
}

#[tokio::test]
async fn the_verifier_of_the_page_and_the_store_agree_on_a_whole_log() {
    let home = Home::new();
    let (scope, trace) = erased_in_part(&home).await;
    let report = home.store.verify(&scope, &trace).await.unwrap();
    assert!(report.holds(), "{report:?}");
    let said = format!("7 events, head {}\n1 event was erased\nthe chain verifies\n", report.head);
    assert_eq!(by_the_page(&home.dir.path().join("traces/t")), (true, said));
}

#[tokio::test]
async fn the_verifier_of_the_page_and_the_store_agree_on_every_kind_of_damage() {
    let home = Home::new();
    let (scope, trace) = erased_in_part(&home).await;
    let (folder, copies) = (home.dir.path().join("traces/t"), tempfile::tempdir().unwrap());
    let (mut bad, mut fine) = (0, 0);
    for name in ["events.jsonl", "mailbox.jsonl"] {
        let whole = std::fs::read(folder.join(name)).unwrap();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let changed = |at: usize, new: u8| [&whole[..at], &[new], &whole[at + 1..]].concat();
        let mut cases: Vec<Vec<u8>> = (0..whole.len()).step_by(whole.len() / 30).map(|at| changed(at, b'x')).collect();
        cases.extend((0..lines.len()).map(|gone| [&lines[..gone], &lines[gone + 1..]].concat().concat()));
        cases.extend((0..lines.len()).map(|twice| [&lines[..=twice], &lines[twice..]].concat().concat()));
        cases.push([lines[1], lines[0]].concat());
        cases.push(whole[..whole.len() - 9].to_vec());
        cases.push([&whole[..], b"{\"v\":1,\"id\""].concat());
        cases.push([&whole[..], b"{\"v\":2,\"id\":8}\n"].concat());
        cases.push(String::from_utf8_lossy(&whole).replace("\"erased\":true", "\"erased\": true").into_bytes());
        cases.push(String::from_utf8_lossy(&whole).replace("\"event\":3", "\"event\":4").into_bytes());
        let (mut reports, mut folders) = (Vec::new(), Vec::new());
        for (number, case) in cases.iter().enumerate() {
            std::fs::write(folder.join(name), case).unwrap();
            reports.push(home.store.verify(&scope, &trace).await.unwrap());
            // The chain begins with the trace's name, so each copy is in a folder of that name.
            let copy = copies.path().join(format!("{name}-{number}/t"));
            std::fs::create_dir_all(&copy).unwrap();
            for entry in std::fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path().is_file()) {
                std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
            folders.push(copy);
        }
        for ((case, report), (holds, said)) in cases.iter().zip(reports).zip(by_the_page_each(&folders)) {
            assert_eq!(holds, report.holds(), "{name}: {said}\n{report:?}\n{}", String::from_utf8_lossy(case));
            assert!(said.starts_with(&format!("{} events, head {}", report.events, report.head)), "{said}\n{report:?}");
            *if holds { &mut fine } else { &mut bad } += 1;
        }
        std::fs::write(folder.join(name), &whole).unwrap();
    }
    assert!(bad > 60 && fine > 1, "{bad} damaged, {fine} not");
}

/// A line of a golden log, which has no chain.
#[derive(Deserialize)]
struct Golden<'a> {
    id: EventId,
    ts: Millis,
    turn: u32,
    #[serde(rename = "type")]
    name: &'a str,
    mail: Option<u64>,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[tokio::test]
async fn the_verifier_of_the_page_and_the_store_agree_on_logs_with_every_type_of_event() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/it/golden");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let event = |line: &str| {
            let Golden { id, ts, turn, name, mail, data } = serde_json::from_str(line).unwrap();
            Event { id, ts, turn, mail, kind: EventKind::decode(name, data.get()).unwrap().unwrap() }
        };
        let events: Vec<Event> = text.lines().map(event).collect();
        let home = Home::new();
        let (scope, trace): (_, TraceId) = (Scope::local(), "t".parse().unwrap());
        let (count, read) = (events.len() as u64, events.iter().filter_map(|event| event.mail).max().unwrap_or(0));
        home.store.begin(&scope, &trace, events[..1].to_vec()).await.unwrap();
        for _ in 0..read {
            home.store.post(&scope, &trace, false, "\"said\"".into()).await.unwrap();
        }
        let lease = home.store.lease(&scope, &trace, false).await.unwrap().lease;
        let appended = home.store.append(&lease, 1, events[1..].to_vec()).await;
        assert_eq!(appended, Appended::Committed { head: count });
        drop(lease);
        let report = home.store.verify(&scope, &trace).await.unwrap();
        let (holds, said) = by_the_page(&home.dir.path().join("traces/t"));
        assert_eq!(holds, report.holds(), "{said}\n{report:?}");
        assert!(said.starts_with(&format!("{count} events, head {}", report.head)), "{said}\n{report:?}");
        // What these logs name was never put: that is all that is wrong with them.
        let missing = report.faults.iter().filter(|fault| fault.contains("blob ")).count();
        assert_eq!((report.damage, missing), (None, report.faults.len()), "{said}");
        assert_eq!(said.matches("blob ").count(), missing, "{said}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}
