//! What people do must still work inside, for root and for an ordinary user.

use crate::host::terminal;
use crate::place::{Done, Place, User, finish, wait, wait_until};
use rustix::process::geteuid;
use rustix::termios::tcgetpgrp;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

/// A place where the toolchains of whoever runs the test are the user's.
fn with_toolchains(user: User) -> Place {
    let mut place = Place::new(user);
    let home = std::env::var("HOME").unwrap();
    if geteuid().is_root() {
        place.sh("mkdir {home}/.cargo {home}/.rustup");
        let script = format!(
            "mount --bind {home}/.cargo {0}/.cargo && mount --bind {home}/.rustup {0}/.rustup && exec \"$@\"",
            place.path("home").display()
        );
        place.first = ["unshare", "-m", "/bin/sh", "-c", &script, "sh"].map(String::from).into();
    } else {
        place.env.push(("HOME".into(), home));
    }
    place
}

fn shell(place: &Place, script: &str) -> Done {
    finish(place.inside(&[], &["/bin/bash", "-ec", script]))
}

/// Runs a script in the sandbox as every user and wants exactly this output.
fn says(script: &str, output: &str) {
    for user in User::all() {
        let done = shell(&Place::new(*user), script);
        assert_eq!((done.code, done.out.as_str()), (0, output), "{user:?}: {done:#?}");
    }
}

/// The same with a program in a file of the workspace.
fn runs(interpreter: &str, name: &str, program: &str, output: &str) {
    for user in User::all() {
        let place = Place::new(*user);
        fs::write(place.work().join(name), program).unwrap();
        let done = finish(place.inside(&[], &[interpreter, name]));
        assert_eq!((done.code, done.out.as_str()), (0, output), "{user:?}: {done:#?}");
    }
}

#[test]
fn cargo_builds_and_tests() {
    for user in User::all() {
        let place = with_toolchains(*user);
        let script =
            "cargo new --quiet --lib --vcs none tiny && cd tiny && cargo build --offline && cargo test --offline";
        let done = shell(&place, script);
        assert!(done.code == 0 && done.out.contains("1 passed; 0 failed"), "{user:?}: {done:#?}");
    }
}

#[test]
fn python_runs() {
    runs("/usr/bin/python3", "all.py", include_str!("works/all.py"), include_str!("works/all.py.out"));
}

#[test]
fn node_runs() {
    runs("/usr/bin/node", "all.mjs", include_str!("works/all.mjs"), include_str!("works/all.mjs.out"));
}

#[test]
fn git_works() {
    says(
        "git init -q; git add own; git commit -qm first; git switch -qc other; echo more >> own; git commit -qam second;
         git switch -q main; git merge -q other; echo again >> own; git stash -q; git stash pop -q; git branch;
         git status --short -uno; git log --format=%s; git tag v1; git gc -q; git worktree list | wc -l; git describe --tags",
        "* main\n  other\n M own\nsecond\nfirst\n1\nv1\n",
    );
}

#[test]
fn git_works_in_a_repository_that_was_there_before() {
    for user in User::all() {
        let place = Place::new(*user);
        place.sh("git init -q && git add own && git commit -qm first");
        let done = shell(&place, "echo more >> own; git commit -qam second; git switch -qc other; git log --format=%s");
        assert_eq!((done.code, done.out.as_str()), (0, "second\nfirst\n"), "{user:?}: {done:#?}");
        assert_eq!(place.sh("git log --format=%s; git branch --show-current"), "second\nfirst\nother\n");
    }
}

#[test]
fn git_works_in_a_repository_that_a_group_shares() {
    // Its folders hand their group on, which is the bit that makes programs run with their group's rights.
    says(
        "git init -q --shared=group shared; cd shared; echo x > x; git add x; git commit -qm first; git log --format=%s;
         mkdir sub; chmod 2775 sub; mkdir sub/a; chmod 755 sub/a; cp -r sub copy; stat -c %a sub",
        "first\n2775\n",
    );
}

#[test]
fn shells_work() {
    says(
        "seq 3 | tac | tr '\\n' ' '; cat <<END\nheredoc\nEND\ncat <(echo substituted)",
        "3 2 1 heredoc\nsubstituted\n",
    );
    says(
        "(echo to > /dev/stderr) 2>&1 | cat; echo x | cat /dev/stdin > /dev/null; head -c 2 /dev/urandom | wc -c",
        "to\n2\n",
    );
    says(
        "f=$(mktemp); echo temp > $f; cat $f; echo t > /tmp/t; cat /tmp/t; echo $? > ${TMPDIR:-/tmp}/u; rm $f",
        "temp\nt\n",
    );
    says("mkdir -p ~/.cache/x && echo cached > ~/.cache/x/y && cat ~/.cache/x/y", "cached\n");
    says("echo $HOME | grep -c home; pwd | grep -c home/work; echo $PATH | grep -c /usr/bin", "1\n1\n1\n");
    says("sleep 60 & kill %1; wait %1 || echo $?", "143\n");
    says("ps -o comm= -p $$; test $(ps ax -o pid= | wc -l) -lt 12 && echo few", "bash\nfew\n");
    says("exec 3<> /dev/shm/f; echo shared >&3; cat /dev/shm/f; mkfifo p; echo piped > p & cat p", "shared\npiped\n");
    says("id -u > /dev/null; cat /etc/passwd > /dev/null; getent hosts localhost | grep -c localhost", "1\n");
    says("git config --global user.name; umask; ulimit -c", "Somebody\n0022\n0\n");
}

#[test]
fn terminals_work() {
    says("script -qec 'test -t 0 && test -t 1 && tty | grep -c /dev/pts' /dev/null | tr -d '\\r'", "1\n");
}

/// The name of the program in the foreground of a terminal.
fn in_foreground(master: &File) -> Option<String> {
    let group = tcgetpgrp(master).ok()?.as_raw_nonzero();
    Some(fs::read_to_string(format!("/proc/{group}/comm")).ok()?.trim_end().to_string())
}

#[test]
fn a_person_works_in_an_interactive_shell() {
    for user in User::all() {
        let mut place = Place::new(*user);
        let mut master = terminal(&mut place);
        let mut command = place.inside(&[], &["/bin/bash", "--norc", "-i"]);
        let slave = place.stdin.take().unwrap();
        command.stdout(slave.try_clone().unwrap()).stderr(slave);
        let child = command.spawn().unwrap();
        drop(command);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut source, shown) = (master.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the last process is an error here.
            while let Ok(n @ 1..) = source.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
            }
        });
        // What is typed is shown as well; the quotes tell it from what the shell answers.
        let steps = [
            ("echo be''gun; sleep 1000\n", "begun", "bash"),
            ("\u{3}echo inter''rupted; sleep 1000\n", "interrupted", "sleep"),
            ("\u{1a}", "Stopped", "sleep"),
            // A shell does not leave before it has seen that its stopped job is gone.
            ("kill -9 %1; while kill -0 %1 2> /dev/null; do :; done; echo do''ne\n", "done", "bash"),
            ("exit 5\n", "exit", "bash"),
        ];
        for (typed, answer, program) in steps {
            // The keys go to what is in the foreground.
            wait_until(program, || in_foreground(&master).is_some_and(|name| name == program));
            master.write_all(typed.as_bytes()).unwrap();
            wait_until(answer, || screen.lock().unwrap().contains(answer));
        }
        assert_eq!(wait(child).code, 5, "{user:?}: {:?}", screen.lock().unwrap());
        assert!(!screen.lock().unwrap().contains("job control"), "{user:?}: {:?}", screen.lock().unwrap());
    }
}

#[test]
fn debuggers_work_on_ones_own_children() {
    says("strace -qq -e trace=none true; echo $?", "0\n");
    says("gdb -q -batch -ex run -ex 'info inferiors' --args /bin/true 2>&1 | grep -c 'exited normally'", "1\n");
}

#[test]
fn what_is_written_belongs_to_the_user() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = shell(&place, "echo mine > mine; stat -c %u mine; chmod 640 mine");
        assert_eq!(done.out, format!("{}\n", user.uid()), "{done:#?}");
        let meta = fs::metadata(place.work().join("mine")).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o777), (user.uid(), 0o640));
    }
}

#[test]
fn sixteen_work_at_once() {
    for user in User::all() {
        let place = Place::new(*user);
        let start = |n: usize| {
            let script = format!("echo {n} > n{n}; sleep 0.3; cat n{n}; ls /tmp | grep -c ^n; echo > /tmp/n{n}");
            let mut command = place.inside(&[], &["/bin/sh", "-c", &script]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let all: Vec<_> = (0..16).map(start).collect();
        for (n, child) in all.into_iter().enumerate() {
            let done = wait(child);
            assert_eq!((done.code, done.out), (0, format!("{n}\n0\n")), "{user:?}: {}", done.err);
        }
    }
}

#[test]
fn ends_are_passed_on() {
    for user in User::all() {
        let place = Place::new(*user);
        let ends = [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)];
        for (script, code) in ends.into_iter().chain([("kill -SEGV $$", 139), ("kill -INT $$", 130)]) {
            let done = finish(place.inside(&[], &["/bin/sh", "-c", script]));
            assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (code, "", ""), "{user:?}: {script}");
        }
    }
}

/// One line in the program's own name.
fn one_line(done: &Done) -> bool {
    done.out.is_empty() && done.err.lines().count() == 1 && done.err.starts_with("mainpath: ")
}

#[test]
fn what_cannot_be_started_is_told_in_one_line() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = finish(place.inside(&[], &["no-such-command"]));
        assert!(done.code == 127 && one_line(&done) && done.err.contains("no-such-command"), "{user:?}: {done:#?}");
        let done = finish(place.inside(&[], &["{work}/own"]));
        assert!(done.code == 126 && one_line(&done) && done.err.contains("/own"), "{user:?}: {done:#?}");
        let done = finish(place.outside(&["{bin}/mainpath", "sandbox", "--workspace", "{work}/none", "--", "true"]));
        assert!(![0, 1].contains(&done.code) && one_line(&done) && done.err.contains("none"), "{user:?}: {done:#?}");
        let done = finish(place.outside(&["{bin}/mainpath", "sandbox", "--workspace", "{work}/own", "--", "true"]));
        assert!(![0, 1].contains(&done.code) && one_line(&done) && done.err.contains("own"), "{user:?}: {done:#?}");
        for flags in [["--mode", "none"], ["--network", "some"]] {
            let done = finish(place.inside(&flags, &["true"]));
            assert!(done.code == 2 && one_line(&done) && done.err.contains(flags[1]), "{user:?}: {done:#?}");
        }
        let done = finish(place.outside(&["{bin}/mainpath", "sandbox"]));
        assert!(done.code == 2 && one_line(&done), "{user:?}: {done:#?}");
    }
}

#[test]
fn input_and_much_output_pass_through() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = shell(&place, "yes | head -c 50000000; echo wrong >&2");
        assert_eq!((done.code, done.out.len(), done.err.as_str()), (0, 50_000_000, "wrong\n"), "{user:?}");
        let mut command = place.inside(&[], &["/usr/bin/wc", "-c"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(&vec![b'\n'; 3_000_000]).unwrap());
        let done = wait(child);
        writer.join().unwrap();
        assert_eq!((done.code, done.out.as_str()), (0, "3000000\n"), "{user:?}: {done:#?}");
    }
}

#[test]
fn workspaces_with_strange_names_work() {
    for (user, name) in User::all()
        .iter()
        .flat_map(|user| ["with blanks", "ümlaut", "a,b:c=d", "new\nline", "-x", "a\\040b"].map(|name| (*user, name)))
    {
        let mut place = Place::new(user);
        let path = place.path("home").join(name);
        fs::create_dir(&path).unwrap();
        crate::place::own(&path, user.uid());
        place.name("work", path.to_str().unwrap());
        let mut command = place.inside(&[], &["/bin/sh", "-c", "echo done > done && cat done"]);
        command.current_dir(&path);
        let done = finish(command);
        assert_eq!((done.code, done.out.as_str()), (0, "done\n"), "{user:?}, {name:?}: {done:#?}");
        assert_eq!(fs::read_to_string(path.join("done")).unwrap(), "done\n");
    }
}

#[test]
fn without_options_the_current_folder_is_the_workspace_and_there_is_no_network() {
    for user in User::all() {
        let place = Place::new(*user);
        let script = "echo done > done; echo x 2> /dev/null > {outside}/new; cat done; ls /sys/class/net";
        let words = ["{bin}/mainpath", "sandbox", "--", "/bin/sh", "-c", script];
        let done = finish(place.outside(&words));
        assert!(done.out.starts_with("done\n"), "{user:?}: {done:#?}");
        assert!(place.work().join("done").exists() && !place.path("outside/new").exists());
    }
}

#[test]
fn workspaces_in_folders_that_are_hidden_otherwise_work() {
    // The last is in the home of whoever builds this, which only that one can reach.
    let bases = ["/tmp", "/var/tmp", "/dev/shm", env!("CARGO_TARGET_TMPDIR")];
    for (user, base) in User::all().iter().flat_map(|user| bases.map(|base| (*user, base))) {
        if user.uid() != geteuid().as_raw() && base == bases[3] {
            continue;
        }
        let mut place = Place::new(user);
        let folder = tempfile::Builder::new().prefix("escape-").tempdir_in(base).unwrap();
        crate::place::own(folder.path(), user.uid());
        place.name("work", folder.path().to_str().unwrap());
        let mut command = place.inside(&[], &["/bin/sh", "-c", "echo done > done; cat done; pwd; ls -A"]);
        command.current_dir(folder.path());
        let done = finish(command);
        let said = format!("done\n{}\ndone\n", folder.path().display());
        assert_eq!((done.code, done.out), (0, said), "{user:?}, {base}: {}", done.err);
        assert_eq!(fs::read_to_string(folder.path().join("done")).unwrap(), "done\n");
    }
}

#[test]
fn c_compiles_and_npm_runs() {
    says(
        "printf '#include <stdio.h>\\nint main() { puts(\"compiled\"); }\\n' > c.c; printf 'c: c.c\\n\\tcc -o c c.c\\n' > Makefile;
         make -s; ./c; echo '{\"scripts\": {\"say\": \"echo ran\"}}' > package.json; npm run --silent say",
        "compiled\nran\n",
    );
}

#[test]
fn a_sandbox_in_the_sandbox_is_refused_in_one_line() {
    for user in User::all() {
        let place = Place::new(*user);
        let done = finish(place.inside(&[], &["{bin}/mainpath", "sandbox", "--", "/bin/echo", "inner"]));
        assert!(done.code == 125 && one_line(&done) && done.err.contains("echo"), "{user:?}: {done:#?}");
    }
}
