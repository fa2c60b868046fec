//! A command that wants too much gets no more, and its neighbours keep theirs.

use crate::place::{Done, Place, User, finish, wait};
use crate::probe;
use crate::table::{Escape, all_fail_inside};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

const LIMITS: &[Escape] = &[
    Escape::told("a file of four terabytes is made", &["huge-file", "{work}/huge"]),
    Escape::told("processor time without an end", &["unlimited", "processor time"]),
    Escape::told("files of any size", &["unlimited", "file size"]),
];

/// More than any build starts at once.
const CHILDREN: &str = "6000";

#[test]
fn files_and_processor_time_have_an_end() {
    all_fail_inside(&[], LIMITS);
}

/// A probe with so many children as it could get, which it holds.
fn bomb(mut command: Command) -> (Child, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(" children") {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{:#?}", wait(child));
    }
    (child, line)
}

fn release(mut child: Child) -> Done {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    wait(child)
}

#[test]
fn a_command_that_forks_for_ever_is_held_and_its_neighbours_are_not() {
    for user in User::all() {
        let place = Place::new(*user);
        let words = ["{bin}/probe", "forks", CHILDREN];
        let (child, _) = bomb(place.outside(&words));
        let done = release(child);
        assert_eq!(done.code, probe::DONE, "{user:?}, outside: {done:#?}");

        let (child, held) = bomb(place.inside(&[], &words));
        // While the bomb holds all that it could get, the user's other commands start processes as before, both ways.
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; kill $(jobs -p); echo well";
        let outside = finish(place.outside(&["/bin/bash", "-c", script]));
        let inside = finish(place.inside(&[], &["/bin/bash", "-c", script]));
        let done = release(child);
        assert_eq!(done.code, probe::PREVENTED, "{user:?}, inside: {held}{done:#?}");
        assert_eq!((outside.code, outside.out.as_str()), (0, "well\n"), "{user:?}: {outside:#?}");
        assert_eq!((inside.code, inside.out.as_str()), (0, "well\n"), "{user:?}: {inside:#?}");
    }
}
