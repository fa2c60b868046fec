//! What agents learned: 10,000 entries, and those among them that fit a task.

use super::ms;
use crate::Fail;
use crate::process::{folder, now};
use crate::stats::{least, median};
use crate::table::Row;
use mainpath_experience::{Experiences, Query};
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;

const SUBJECTS: [&str; 25] = [
    "docker",
    "cargo",
    "parser",
    "database",
    "login",
    "cache",
    "deploy",
    "tests",
    "network",
    "memory",
    "index",
    "scheduler",
    "encoder",
    "terminal",
    "sandbox",
    "config",
    "release",
    "schema",
    "stream",
    "webhook",
    "proxy",
    "locale",
    "archive",
    "queue",
    "session",
];
const DOES: [&str; 8] = ["fails", "is slow", "hangs", "is flaky", "leaks", "conflicts", "times out", "is denied"];
const INTENT: [&str; 8] =
    ["optimization", "debug", "safe_modify", "batch_edit", "refactor", "release", "review", "migrate"];

/// Writes so many entries, each in its file, as `Experiences::add` would, without its syncs.
fn many(folder: &Path, entries: usize) -> Result<(), Fail> {
    std::fs::create_dir_all(folder)?;
    let of = |list: &[&'static str], n: usize| list.get(n % list.len()).copied().unwrap_or_default();
    for n in 0..entries {
        let (one, other) = (of(&SUBJECTS, n), of(&SUBJECTS, n / 25 + 7));
        let mut text = format!(
            "---\nid: ex_{n:06}\ncategory: tool_usage\nstate: [{one}, {other}_{}]\nintent: [{}]\nhelpful: {}\nharmful: {}\n\
             trace_id: t{n}\norigin: [user, workspace]\nstatus: accepted\n---\n\n",
            n % 400,
            of(&INTENT, n / 3),
            n % 17,
            n % 5,
        );
        writeln!(
            text,
            "When {one} {} with {other}, look at step {n} of its log first: the reason of number {} is told there, and {other} has to \
             be started again after the change.",
            of(&DOES, n / 11),
            n % 977,
        )?;
        std::fs::write(folder.join(format!("ex_{n:06}.md")), text)?;
    }
    Ok(())
}

/// Retrieval over 10,000 entries, in a process that has just been started and in one that goes on.
pub fn retrieval(quick: bool) -> Result<Vec<Row>, Fail> {
    let (entries, tries) = (10_000, if quick { 10 } else { 50 });
    let place = folder()?;
    let (home, cache) = (place.path().join("experiences"), place.path().join("experiences.sqlite"));
    many(&home, entries)?;
    let began = now();
    let open = Experiences::open(&home, &cache);
    open.rebuild()?;
    let built = (now() - began) as f64;
    let task = "Find out why the docker build of the scheduler is slow and times out when the cache is cold, then make it faster \
                (optimization), without changing what the release does";
    let query = Query { text: task.into(), most: 5, ..Query::default() };
    if open.find(&query)?.len() != 5 {
        return Err("not enough was found".into());
    }
    // A folder that has changed within two seconds may change again without another time: it is looked through each time.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let (mut warm, mut cold) = (Vec::new(), Vec::new());
    for _ in 0..tries {
        let began = now();
        black_box(open.find(&query)?);
        warm.push((now() - began) as f64);
        let began = now();
        black_box(Experiences::open(&home, &cache).find(&query)?);
        cold.push((now() - began) as f64);
    }
    let both = |values: &[f64]| format!("{} (least {})", ms(median(values)), ms(least(values)));
    Ok(vec![
        Row::goal(
            &format!("the 5 of {entries} experiences that fit a task, the folder looked through for changes"),
            "< 10 ms",
            both(&warm),
            median(&warm) < 10e6,
        ),
        Row::note("the same by a process that has just begun", both(&cold)),
        Row::note("their cache made anew", ms(built)),
    ])
}
