//! How a command in a cage ends, and what is told of it.

use crate::support::{World, finish, launcher};
use mainpath_sandbox::{Cage, Ended, How, Launcher, Planted};
use mainpath_types::{Confinement, FileAccess};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;

fn by_itself(how: How) -> Ended {
    Ended { how, by_itself: true, cleared: 0, left: 0, planted: Planted::default() }
}

#[tokio::test]
async fn a_command_in_a_cage_writes_its_workspace_and_nothing_else() {
    let world = World::new();
    let outside = world.own.with_file_name("outside");
    let command = format!("echo a > in; echo b > {}; cat {}/log; pwd", outside.display(), world.own.display());
    let (text, ended) = world.shell(FileAccess::WorkspaceWrite, &command).await;
    assert_eq!(ended, by_itself(How::Exit(0)));
    assert!(text.ends_with(&format!("{}\n", world.workspace.display())) && !text.contains("ours"), "{text}");
    assert_eq!(std::fs::read_to_string(world.workspace.join("in")).unwrap(), "a\n");
    assert!(!outside.exists());
}

#[tokio::test]
async fn in_full_mode_everything_is_writable_but_mainpaths_own_files() {
    let world = World::new();
    let outside = world.own.with_file_name("outside");
    let command = format!("echo b > {} && ls -A {} && echo > /dev/null", outside.display(), world.own.display());
    assert_eq!(world.shell(FileAccess::Full, &command).await, (String::new(), by_itself(How::Exit(0))));
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "b\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn in_full_mode_shared_memory_is_shared_with_programs_outside() {
    let world = World::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = memory.path().join("shared");
    let command = format!("echo b > {}", file.display());
    assert_eq!(world.shell(FileAccess::Full, &command).await, (String::new(), by_itself(How::Exit(0))));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "b\n");
}

#[tokio::test]
async fn what_others_run_and_a_command_has_left_is_taken_aside() {
    let world = World::new();
    let (_, ended) = world.shell(FileAccess::WorkspaceWrite, "echo x > .envrc; mkdir .vscode; git init -q .").await;
    let folder = world.own.join("aside/t-1-1");
    let taken = vec![".envrc".to_string(), ".vscode".into()];
    assert_eq!(ended.planted, Planted { taken, folder: Some(folder.clone()), ..Planted::default() });
    assert_eq!(std::fs::read_to_string(folder.join(".envrc")).unwrap(), "x\n");
    assert!(!world.workspace.join(".envrc").exists() && world.workspace.join(".git/HEAD").exists());
    std::fs::write(world.workspace.join(".envrc"), "of the user").unwrap();
    let (text, ended) = world.shell(FileAccess::WorkspaceWrite, "echo y > .envrc || mv .git other").await;
    assert_eq!((ended.how, ended.planted), (How::Exit(1), Planted::default()));
    assert!(text.contains("Read-only file system") && text.contains("Device or resource busy"), "{text}");
}

#[tokio::test]
async fn commands_start_all_the_same_when_what_bears_their_launchers_was_killed() {
    let world = World::new();
    for round in 0..3 {
        for _ in 0..2 {
            assert_eq!(world.shell(FileAccess::ReadOnly, "echo x").await, ("x\n".into(), by_itself(How::Exit(0))));
        }
        let zygote = zygote().unwrap_or_else(|| panic!("nothing bears launchers in round {round}"));
        kill_process(zygote, Signal::KILL).unwrap();
    }
}

/// The zygote: of what is called so, the oldest that has no child, as what it bears are children of this process. Other tests
/// have launchers of theirs, each with the first process of a cage.
fn zygote() -> Option<Pid> {
    let own = std::process::id().to_string();
    let born = |pid: i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name in brackets: state, parent, …; the twentieth is when it was started.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        let is_ours = words.ends_with(b"__zygote\0") && fields[1] == own && children.is_empty();
        is_ours.then(|| (fields[19].parse::<u64>().unwrap(), pid))
    };
    let pids =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    Pid::from_raw(pids.filter_map(born).min()?.1)
}

#[tokio::test]
async fn an_exit_code_a_signal_and_a_command_that_is_not_there_are_told_apart() {
    let world = World::new();
    assert_eq!(world.shell(FileAccess::ReadOnly, "exit 7").await.1, by_itself(How::Exit(7)));
    assert_eq!(world.shell(FileAccess::ReadOnly, "kill -9 $$").await.1, by_itself(How::Signal(9)));
    let cage = world.cage(FileAccess::ReadOnly);
    let running = launcher().start(&[OsStr::new("no-such-command")], &world.workspace, "t/1", &cage).unwrap();
    assert_eq!(finish(running).await.1.how, How::Failed(2));
}

#[tokio::test]
async fn where_no_cage_can_be_made_nothing_is_started() {
    let world = World::new();
    let begun = world.workspace.join("begun");
    let words = ["touch".as_ref(), begun.as_os_str()];
    let refused = |cage: Cage| {
        let running = launcher().start(&words, &world.workspace, "t/1", &cage).unwrap();
        async { finish(running).await.1.how }
    };
    let missing = Cage::new(Confinement::default(), world.workspace.join("gone"), Vec::new());
    let why = format!("opening {}: No such file or directory (os error 2)", world.workspace.join("gone").display());
    assert_eq!(refused(missing).await, How::Refused(why));
    let system = Cage::new(Confinement::default(), "/", Vec::new());
    assert_eq!(refused(system).await, How::Refused("/ belongs to the system and cannot be a workspace".into()));
    assert!(!begun.exists());
}

#[tokio::test]
async fn a_cage_shows_its_own_processes_alone() {
    let world = World::new();
    let (text, _) = world.shell(FileAccess::WorkspaceWrite, "touch ready; sleep 0.2; ls -d /proc/[0-9]*").await;
    // Inside there are the first process, the shell and its child, and none of the machine's.
    assert!(text.lines().count() <= 3, "{text}");
}

#[tokio::test]
async fn a_launcher_outlives_the_thread_that_asked_for_it() {
    let world = World::new();
    let (workspace, cage) = (world.workspace.clone(), world.cage(FileAccess::WorkspaceWrite));
    let runtime = tokio::runtime::Handle::current();
    let asking = std::thread::spawn(move || {
        let _entered = runtime.enter();
        let words = ["sh", "-c", "sleep 0.3; echo done"].map(OsStr::new);
        launcher().start(&words, &workspace, "t/1", &cage).unwrap()
    });
    let running = asking.join().unwrap();
    assert_eq!(finish(running).await, ("done\n".into(), by_itself(How::Exit(0))));
}

#[tokio::test]
async fn sixteen_cages_work_at_once() {
    let world = World::new();
    let cage = world.cage(FileAccess::WorkspaceWrite);
    let start = |n: usize| {
        let command =
            format!("echo {n} > file-{n}; cat file-*| wc -l > /tmp/count; cat /proc/self/stat | cut -d' ' -f4");
        let words = ["sh", "-c", &command].map(OsStr::new);
        launcher().start(&words, &world.workspace, "t/1", &cage).unwrap()
    };
    let all: Vec<_> = (0..16).map(start).collect();
    for running in all {
        assert_eq!(finish(running).await.1, by_itself(How::Exit(0)));
    }
    assert_eq!(std::fs::read_dir(&world.workspace).unwrap().count(), 16);
}

#[test]
fn this_machine_has_every_part_of_the_sandbox_that_is_needed() {
    let support = launcher().support();
    let needed: Vec<(&str, bool)> =
        support.parts.iter().filter(|part| part.needed).map(|part| (part.name.as_str(), part.present)).collect();
    let wanted = [
        ("user, mount, process and IPC namespaces", true),
        ("private file system, capabilities and seccomp filter", true),
        ("network namespace", true),
    ];
    assert_eq!(needed, wanted);
    assert!(support.can_confine());
}

#[tokio::test]
async fn a_program_that_does_something_else_than_to_launch_is_told_what_is_missing_with_what_it_said() {
    let world = World::new();
    let start = |script: &str| {
        let launcher = Launcher::new("/bin/sh", vec!["-c".into(), script.into()]);
        let words = [OsStr::new("true")];
        let started = launcher.start(&words, &world.workspace, "t/1", &world.cage(FileAccess::WorkspaceWrite));
        started.map(drop).unwrap_err().to_string()
    };
    let missing = "the launcher did not answer: call mainpath::launcher_main() first in main";
    assert_eq!(start("exit 2"), missing);
    assert_eq!(start("echo on standard output"), missing);
    assert_eq!(
        start("echo 'error: no such option:' >&2; echo '  __launch' >&2; exit 2"),
        format!("{missing}; it said: error: no such option: __launch")
    );
}

#[test]
fn a_program_that_is_no_launcher_confines_nothing() {
    for program in ["/bin/false", "/bin/echo", "/no/such/program"] {
        let support = Launcher::new(program, vec![]).support();
        assert!(!support.can_confine() && support.missing().is_some(), "{program}: {support:?}");
        let is_told = support.missing().is_some_and(|why| why.contains("call mainpath::launcher_main() first in main"));
        assert_eq!(is_told, program != "/no/such/program", "{support:?}");
    }
}
