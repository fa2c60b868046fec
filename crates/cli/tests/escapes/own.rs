//! Mainpath's own folders: a command neither sees nor steers the agent's traces, approvals and configuration.

use crate::place::{Place, finish, own};
use crate::table::{Escape, OPEN, Way, all_fail, all_fail_inside};
use std::fs;

pub const OWN: &[Escape] = &[
    Escape::told("the configuration is read", &["read", "{data}/config.toml", "#"]).after(waiting),
    Escape::seen("the configuration is written", &["append", "{data}/config.toml"], changed).after(waiting),
    Escape::seen("the configuration is replaced", &["rename", "{work}/own", "{data}/config.toml"], changed)
        .after(waiting),
    Escape::seen("the folder is moved away", &["rename", "{data}", "{root}/away"], |place| {
        !place.path("data").exists()
    })
    .after(waiting),
    Escape::told("the traces are listed", &["list", "{data}/traces", "{trace}"]).after(waiting),
    Escape::told("a log is read", &["read", "{data}/traces/{trace}/events.jsonl", "Do it."]).after(waiting),
    Escape::seen("a log is written", &["append", "{data}/traces/{trace}/events.jsonl"], changed).after(waiting),
    Escape::told("traces are listed by the agent's own command", &["says", "{trace}", "{bin}/mainpath", "ls"])
        .after(waiting),
    Escape::told(
        "a trace is shown by the agent's own command",
        &["says", "Do it", "{bin}/mainpath", "show", "{trace}"],
    )
    .after(waiting),
    Escape::seen(
        "a call is approved by the agent's own command",
        &["does", "{bin}/mainpath", "approve", "{trace}"],
        changed,
    )
    .after(waiting),
    Escape::seen(
        "the same with the folder named once more",
        &["does", "/usr/bin/env", "MAINPATH_HOME={data}", "{bin}/mainpath", "approve", "{trace}"],
        changed,
    )
    .after(waiting),
    Escape::seen(
        "a call is denied by the agent's own command",
        &["does", "{bin}/mainpath", "deny", "{trace}"],
        changed,
    )
    .after(waiting),
    Escape::seen(
        "a run is stopped by the agent's own command",
        &["does", "{bin}/mainpath", "stop", "{trace}"],
        changed,
    )
    .after(waiting),
];

/// The same where the folder lies inside the workspace.
const INSIDE: &[Escape] = &[
    Escape::told("a log in the workspace is read", &["read", "{data}/traces/{trace}/events.jsonl", "Do it."])
        .after(waiting_in_the_workspace),
    Escape::seen("a log in the workspace is written", &["append", "{data}/traces/{trace}/events.jsonl"], changed)
        .after(waiting_in_the_workspace),
    Escape::seen("the folder in the workspace is moved away", &["rename", "{data}", "{work}/away"], changed)
        .after(waiting_in_the_workspace),
    Escape::seen("a folder above it is moved away", &["rename", "{work}/deep", "{work}/away"], changed)
        .after(waiting_in_the_workspace),
    Escape::seen("a call is approved", &["does", "{bin}/mainpath", "approve", "{trace}"], changed)
        .after(waiting_in_the_workspace),
    Escape::seen(
        "a folder is made where there was none",
        &["does", "/bin/sh", "-c", "mkdir -p {work}/deep/own && echo > {work}/deep/own/config.toml"],
        |place| place.work().join("deep/own/config.toml").exists(),
    )
    .after(|place| {
        waiting_in_the_workspace(place);
        place.sh("rm -r {work}/deep");
    }),
];

/// The same where the folders are those that Mainpath takes when none is named.
const USUAL: &[Escape] = &[
    Escape::told("a log in the home is read", &["read", "{data}/traces/{trace}/events.jsonl", "Do it."])
        .after(waiting_in_the_home),
    Escape::seen("a log in the home is written", &["append", "{data}/traces/{trace}/events.jsonl"], changed)
        .after(waiting_in_the_home),
    Escape::seen(
        "the configuration in the home is written",
        &["append", "{home}/.config/mainpath/config.toml"],
        changed,
    )
    .after(waiting_in_the_home),
    Escape::seen("a call is approved", &["does", "{bin}/mainpath", "approve", "{trace}"], changed)
        .after(waiting_in_the_home),
    Escape::seen("a folder above is moved away", &["rename", "{home}/.local", "{home}/away"], moved)
        .after(waiting_in_the_home),
    Escape::seen("a folder above the configuration is moved away", &["rename", "{home}/.config", "{home}/away"], moved)
        .after(waiting_in_the_home),
    Escape::seen(
        "a configuration is made where there was none",
        &["does", "/bin/sh", "-c", "mkdir -p {home}/.config/mainpath && echo > {home}/.config/mainpath/config.toml"],
        |place| place.path("home/.config/mainpath/config.toml").exists(),
    )
    .after(|place| {
        waiting_in_the_home(place);
        place.sh("rm -r {home}/.config/mainpath");
    }),
    Escape::seen("a configuration that is a link is replaced", &["does", "/bin/sh", "-c", REPLACE_LINK], |place| {
        !place.path("home/.config/mainpath").is_symlink()
    })
    .after(|place| {
        waiting_in_the_home(place);
        place.sh("mv {home}/.config/mainpath {home}/elsewhere && ln -s ../elsewhere {home}/.config/mainpath");
    }),
];

const REPLACE_LINK: &str = "rm {home}/.config/mainpath && mkdir {home}/.config/mainpath";

fn moved(place: &Place) -> bool {
    place.path("home/away").exists()
}

/// `{trace}`: a run that waits for an approval.
fn waiting(place: &mut Place) {
    let data = place.path("data");
    waiting_in(place, &data);
}

fn waiting_in_the_workspace(place: &mut Place) {
    let data = place.work().join("deep/own");
    place.sh("mkdir -p {work}/deep/own");
    place.env.push(("MAINPATH_HOME".into(), data.to_str().unwrap().into()));
    waiting_in(place, &data);
}

fn waiting_in_the_home(place: &mut Place) {
    let data = place.path("home/.local/share/mainpath");
    place.env.push(("MAINPATH_HOME".into(), String::new()));
    place.sh("mkdir -p {home}/.config/mainpath {home}/.local/share");
    fs::write(place.path("home/.config/mainpath/config.toml"), "# of the user\n").unwrap();
    own(&place.path("home/.config/mainpath"), place.user.uid());
    waiting_in(place, &data);
}

const SCRIPT: &str = r#"
[[turn]]
calls = [{ tool = "bash", args = { command = "echo approved" } }]
"#;

fn waiting_in(place: &mut Place, data: &std::path::Path) {
    fs::write(place.path("script.toml"), SCRIPT).unwrap();
    let words = ["{bin}/mainpath", "run", "--model", "scripted:{root}/script.toml", "--park", "Do it."];
    let done = finish(place.outside(&words));
    assert_eq!(done.code, 5, "{done:#?}");
    fs::write(data.join("config.toml"), "# of the user\n").unwrap();
    own(data, place.user.uid());
    let trace = fs::read_dir(data.join("traces")).unwrap().next().unwrap().unwrap();
    place.name("data", data.to_str().unwrap());
    place.name("trace", trace.file_name().to_str().unwrap());
    let before = state(place);
    fs::write(place.path("before"), before).unwrap();
}

/// The names and lengths of all that belongs to the run and of the configuration; what is gone has none.
fn state(place: &Place) -> String {
    place.sh(
        "find {data}/config.toml {data}/traces/{trace} {home}/.config -type f -printf '%p %s\\n' 2> /dev/null | sort",
    )
}

fn changed(place: &Place) -> bool {
    state(place) != fs::read_to_string(place.path("before")).unwrap()
}

#[test]
fn mainpaths_own_folders_are_out_of_reach() {
    all_fail_inside(&[], OWN);
}

#[test]
fn mainpaths_own_folders_are_out_of_reach_in_full_mode() {
    all_fail_inside(OPEN, OWN);
}

#[test]
fn mainpaths_own_folders_are_out_of_reach_in_the_workspace_and_in_the_home() {
    all_fail(&[
        (Way::Sandbox(&[]), INSIDE),
        (Way::Sandbox(&[]), USUAL),
        (Way::Sandbox(OPEN), INSIDE),
        (Way::Sandbox(OPEN), USUAL),
    ]);
}
