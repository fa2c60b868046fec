use crate::support::{LONG, World, comes_to_hold, eventually, launcher, pair, said, working_in};
use mainpath_sandbox::{GracePeriods, Launcher};
use mainpath_types::{Artifact, CommandEnd, ToolOutput};
use serde_json::json;
use std::time::{Duration, Instant};

/// A launcher whose grace periods are long enough for every machine.
fn patient() -> Launcher {
    launcher().grace(GracePeriods { after_end: LONG, after_term: LONG })
}

async fn bash(command: &str) -> (String, String) {
    World::new().say("bash", json!({"command": command})).await
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_shows_its_outputs_apart_and_as_they_come() {
    let world = World::with(&[("a.txt", "")]);
    let output = world.run("bash", json!({"command": "ls; echo err >&2; echo out\n# done"})).await;
    let wanted = ToolOutput {
        title: Some("ls; echo err >&2; echo out".into()),
        command: Some(CommandEnd { exit_code: Some(0), stdout_bytes: 10, stderr_bytes: 4 }),
        ..ToolOutput::text("a.txt\nout\n[stderr]\nerr\n[exit code 0]")
    };
    assert_eq!(output, wanted);
    // Each output comes in its order; which of the two is first, two pipes do not say.
    let seen = world.progress.lock().unwrap().clone();
    let of = |wanted: bool| seen.lines().filter(|line| (*line == "err") == wanted).collect::<Vec<_>>();
    assert_eq!((of(false), of(true)), (vec!["a.txt", "out"], vec!["err"]), "{seen}");
}

#[tokio::test]
async fn the_shell_is_bash_without_input_and_without_terminal() {
    assert_eq!(
        bash("echo ${BASH_VERSION:+bash}; cat; [ -t 0 ] || echo no terminal").await,
        pair("ok", "bash\nno terminal\n")
    );
    assert_eq!(bash("echo x > /dev/tty").await.0, "exit_code");
    assert_eq!(bash("true").await, pair("ok", "[no output]"));
}

#[tokio::test]
async fn an_end_that_is_no_success_is_named() {
    assert_eq!(bash("echo x; exit 3").await, pair("exit_code", "x\n[exit code 3]"));
    assert_eq!(bash("printf x; exit 137").await, pair("exit_code", "x\n[exit code 137]"));
    assert_eq!(bash("kill -9 $$").await, pair("signal", "[killed by signal 9 (SIGKILL)]"));
    assert_eq!(bash("kill -SEGV $$").await, pair("signal", "[killed by signal 11 (SIGSEGV)]"));
}

#[tokio::test]
async fn a_command_that_cannot_start_is_told_why() {
    let long = format!(": {}", "x".repeat(200_000));
    let words = "The command is too long for the system (200,002 bytes); write it to a file and run that.";
    assert_eq!(bash(&long).await, pair("launch", words));
    assert_eq!(bash("a\0b").await, pair("launch", "The command holds a NUL character, which no command can."));
    let world = World::new();
    let mut ctx = world.context("bash");
    ctx.launcher = Launcher::new("/no/such/launcher", vec![]);
    let output = world.tools.run("bash", r#"{"command":"ls"}"#, &ctx).await;
    let words = "The command could not be started: No such file or directory (os error 2).";
    assert_eq!(said(&output), pair("launch", words));
}

#[tokio::test]
async fn a_flood_is_shown_by_head_and_tail_and_kept_in_bounds() {
    let world = World::new();
    let command = "echo first; yes 123456789 | head -c 100000000; echo last";
    let output = world.run("bash", json!({"command": command})).await;
    let (code, text) = said(&output);
    assert_eq!(code, "ok");
    assert!(text.chars().count() < 30_200);
    assert!(text.starts_with("first\n123456789\n"));
    assert!(text.contains("\n[… 99,970,011 bytes left out …]\n"), "{}", &text[9_900..10_100]);
    assert!(text.ends_with("last\n[only the first 67,108,864 bytes of the output were kept]"));
    let [Artifact { name, hash, bytes, media_type }] = output.artifacts.as_slice() else { panic!("one artifact") };
    assert_eq!((name.as_str(), *bytes, media_type.as_str()), ("output", 67_108_864, "text/plain; charset=utf-8"));
    assert!(world.blobs.get(hash).unwrap().starts_with(b"first\n123456789\n"));
}

#[tokio::test]
async fn what_is_no_utf8_is_replaced() {
    assert_eq!(bash(r"printf 'a\xffb\n\xe2\x82'").await, pair("ok", "a\u{fffd}b\n\u{fffd}"));
}

#[tokio::test]
async fn output_streams_while_the_command_runs() {
    let world = World::new();
    let progress = world.progress.clone();
    // An unfinished line is handed on as well; the command goes on only once it has been seen.
    let seen = world.path("seen");
    let watcher = std::thread::spawn(move || {
        eventually("output", || progress.lock().unwrap().contains("question? ").then_some(()));
        std::fs::write(seen, "").unwrap();
    });
    let command = "printf 'question? '; until [ -e seen ]; do sleep 0.01; done; echo answer";
    assert_eq!(world.say("bash", json!({"command": command})).await, pair("ok", "question? answer\n"));
    watcher.join().unwrap();
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_what_it_wrote() {
    let world = World::new();
    let said = world.say("bash", json!({"command": "echo begun; sleep 1000 & sleep 1000", "timeout_s": 1})).await;
    let words = "begun\n[timed out after 1 second; the command and everything that it had started were ended]";
    assert_eq!(said, pair("timeout", words));
}

#[tokio::test]
async fn the_limit_of_the_run_ends_a_command_too() {
    let world = World::new();
    let mut ctx = world.context("bash");
    ctx.timeout = Some(Duration::from_millis(300));
    let output = world.tools.run("bash", r#"{"command":"trap '' TERM; while :; do sleep 1; done"}"#, &ctx).await;
    let words = "[timed out after 300ms; the command and everything that it had started were ended]";
    assert_eq!(said(&output), pair("timeout", words));
}

#[tokio::test]
async fn a_polite_command_may_clean_up_when_it_is_ended() {
    let world = World::new();
    let mut ctx = world.context("bash");
    ctx.launcher = patient();
    // What the shell itself says of the sleep that ends with it depends on who is first.
    let command = "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; touch ready; sleep 1000 & wait";
    let args = json!({ "command": command }).to_string();
    let (cancel, ready) = (ctx.cancel.clone(), world.path("ready"));
    let stopper = std::thread::spawn(move || {
        eventually("the command", || ready.exists().then_some(()));
        cancel.cancel();
    });
    let output = world.tools.run("bash", &args, &ctx).await;
    let words = "bye\n[interrupted; the command and everything that it had started were ended]";
    assert_eq!(said(&output), pair("interrupted", words));
    stopper.join().unwrap();
}

#[tokio::test]
async fn a_background_process_that_holds_the_output_does_not_hold_the_call() {
    let world = World::new();
    let begun = Instant::now();
    let said = world.say("bash", json!({"command": "sleep 1000 & echo done"})).await;
    assert_eq!(said, pair("ok", "done\n[ended 1 background process that still ran after the command]"));
    assert_eq!(working_in(&world.path("")), 0);
    assert!(begun.elapsed() < Duration::from_secs(100));
}

#[tokio::test]
async fn a_background_process_may_finish_shortly_after_the_command() {
    let world = World::new();
    let mut ctx = world.context("bash");
    ctx.launcher = patient();
    let command = r#"{"command":"(sleep 0.05; echo late) & echo early"}"#;
    assert_eq!(said(&world.tools.run("bash", command, &ctx).await), pair("ok", "early\nlate\n"));
}

#[tokio::test]
async fn secrets_of_the_environment_stay_with_us() {
    let world = World::new();
    let mut ctx = world.context("bash");
    // Cargo sets these for tests; they stand for a secret and for an ordinary variable.
    ctx.launcher = launcher().hide_env(["CARGO_PKG_NAME"]);
    let command = r#"{"command":"echo ${CARGO_PKG_NAME-none} ${CARGO_PKG_VERSION:+some} $MAINPATH_CALL"}"#;
    let (code, text) = said(&world.tools.run("bash", command, &ctx).await);
    assert_eq!(code, "ok");
    assert!(text.starts_with("none some t1/tool/1.0#"), "{text}");
}

#[tokio::test]
async fn nothing_of_ours_is_open_in_the_command() {
    let world = World::with(&[("ours", "")]);
    let _ours = std::fs::File::open(world.path("ours")).unwrap();
    let (_, text) = world.say("bash", json!({"command": "ls -l /proc/self/fd | sed -n 's/.* -> //p'"})).await;
    assert!(text.starts_with("/dev/null\npipe:["), "{text}");
    assert!(!text.contains("ours") && !text.contains("socket:") && !text.contains("anon_inode"), "{text}");
}

#[tokio::test]
async fn what_others_would_run_is_taken_aside_and_model_and_people_are_told() {
    let own = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let world = World::with(&[]);
    let protected = vec![own.path().canonicalize().unwrap()];
    let workspace = std::sync::Arc::new(mainpath_tools::Workspace::new(folder.path(), protected).unwrap());
    let confinement = mainpath_types::Confinement { files: mainpath_types::FileAccess::WorkspaceWrite, network: false };
    let mut ctx = world.context("bash");
    ctx.cage = mainpath_sandbox::Cage::new(confinement, workspace.root(), workspace.protected().to_vec());
    ctx.workspace = workspace;
    let arguments = json!({"command": "echo x > .envrc; echo done"}).to_string();
    let output = world.tools.run("bash", &arguments, &ctx).await;
    let why = "moved out of the workspace, because git, shells, editors or agents would run or obey it outside of the sandbox";
    let text = format!("done\n[{why}: .envrc; if it is wanted, write it with a file tool, which asks the user]");
    assert_eq!(said(&output), ("ok".into(), text));
    let aside = own.path().canonicalize().unwrap().join("aside/t1-tool-1.0-1");
    assert_eq!(output.notices[..], [format!("{why}: .envrc; the original is in {}", aside.display())]);
    assert_eq!(std::fs::read_to_string(aside.join(".envrc")).unwrap(), "x\n");
    assert!(!folder.path().join(".envrc").exists());
    // A command in the background, whose end no call may see, tells people itself.
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    ctx.notice = std::sync::Arc::new(move |text: &str| heard.lock().unwrap().push(text.to_string()));
    let arguments = json!({"command": "echo x > .envrc", "background": true}).to_string();
    world.tools.run("bash", &arguments, &ctx).await;
    comes_to_hold("the notice", || !told.lock().unwrap().is_empty()).await;
    assert!(told.lock().unwrap()[0].starts_with(why), "{told:?}");
    assert!(!folder.path().join(".envrc").exists());
}
