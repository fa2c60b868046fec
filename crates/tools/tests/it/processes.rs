use crate::support::{World, comes_to_hold, eventually, numbered, pair, said};
use mainpath_sandbox::Launcher;
use mainpath_tools::{Processes, Secrets, ToolContext};
use mainpath_types::ToolOutput;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A trace's life over several calls.
struct Trace {
    world: World,
    processes: Arc<Processes>,
    calls: u32,
}

impl Trace {
    fn new() -> Trace {
        Trace { world: World::new(), processes: Arc::default(), calls: 0 }
    }

    fn context(&mut self, tool: &str) -> ToolContext {
        self.calls += 1;
        let mut ctx = self.world.context(tool);
        ctx.grant = numbered(tool, ctx.grant.effect(), self.calls);
        ctx.processes = self.processes.clone();
        ctx
    }

    async fn run(&mut self, tool: &str, args: Value) -> ToolOutput {
        let ctx = self.context(tool);
        self.world.tools.run(tool, &args.to_string(), &ctx).await
    }

    async fn say(&mut self, tool: &str, args: Value) -> (String, String) {
        said(&self.run(tool, args).await)
    }

    async fn begin(&mut self, command: &str) -> String {
        let id = format!("{}.0", self.calls + 1);
        let told = self.say("bash", json!({"command": command, "background": true})).await;
        assert_eq!(told, pair("ok", format!("Started in the background; its id is {id}.")));
        id
    }

    async fn output(&mut self, id: &str, wait_s: u32) -> String {
        let (code, text) = self.say("process_output", json!({"id": id, "wait_s": wait_s})).await;
        assert_eq!(code, "ok", "{text}");
        text
    }
}

/// An argument of `sleep` that no other run of these tests uses.
fn mark(number: u32) -> String {
    format!("{number}.{}", std::process::id())
}

/// Whether `sleep` runs with this argument, in whatever namespace.
fn sleeps(mark: &str) -> bool {
    let wanted = format!("sleep\0{mark}\0");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .into_iter()
        .any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|words| words == wanted.as_bytes()))
}

#[tokio::test]
async fn a_process_goes_on_between_calls_and_its_output_is_read_piece_by_piece() {
    let mut trace = Trace::new();
    let id = trace.begin("echo one; until [ -e go ]; do sleep 0.01; done; printf two; exit 3\n# more").await;
    assert_eq!(trace.output(&id, 60).await, "one\n[process 1.0: running]");
    assert_eq!(trace.output(&id, 0).await, "[no new output]\n[process 1.0: running]");
    let listed = "1.0 (running, 0 unread bytes): echo one; until [ -e go ]; do sleep 0.01; done; printf two; exit 3";
    assert_eq!(trace.say("process_list", json!({})).await, pair("ok", listed));
    trace.world.put("go", "");
    let mut seen = String::new();
    while !seen.ends_with("[process 1.0: exit code 3]") {
        seen.push_str(&trace.output(&id, 60).await);
    }
    assert!(seen.starts_with("two\n[process 1.0: "), "{seen}");
    let output = trace.run("process_output", json!({"id": id})).await;
    let wanted = ToolOutput {
        title: Some("process 1.0: exit code 3".into()),
        ..ToolOutput::text("[no new output]\n[process 1.0: exit code 3]")
    };
    assert_eq!(output, wanted);
}

#[tokio::test]
async fn a_process_is_stopped_with_everything_that_it_started() {
    let mut trace = Trace::new();
    let marks = [mark(86401), mark(86405)];
    let id = trace.begin(&format!("sleep {} & sleep {} & echo begun; wait", marks[0], marks[1])).await;
    for mark in &marks {
        eventually("the process", || sleeps(mark).then_some(()));
    }
    let mut said = trace.output(&id, 60).await;
    said.push_str(&trace.say("process_stop", json!({"id": id})).await.1);
    assert_eq!(said, "begun\n[process 1.0: running][no new output]\n[process 1.0: stopped]");
    assert_eq!(marks.map(|mark| sleeps(&mark)), [false, false]);
    assert_eq!(trace.say("process_stop", json!({"id": id})).await.1, "[no new output]\n[process 1.0: stopped]");
}

#[tokio::test]
async fn a_process_ends_at_its_own_time_limit() {
    let mut trace = Trace::new();
    trace.say("bash", json!({"command": "sleep 1000", "background": true, "timeout_s": 1})).await;
    let wanted = "[no new output]\n[process 1.0: timed out after 1 second and was ended]";
    assert_eq!(trace.output("1.0", 60).await, wanted);
}

#[tokio::test]
async fn a_wait_without_news_says_that_it_goes_on_and_ends_before_the_calls_own_time_is_up() {
    let mut trace = Trace::new();
    let id = trace.begin("until [ -e go ]; do sleep 0.01; done").await;
    let mut waited = Vec::new();
    for wait_s in [0, 60] {
        let mut ctx = trace.context("process_output");
        ctx.timeout = Some(Duration::from_millis(500));
        let args = json!({"id": id, "wait_s": wait_s}).to_string();
        let output = trace.world.tools.run("process_output", &args, &ctx).await;
        assert_eq!(said(&output), pair("ok", "[no new output]\n[process 1.0: running]"));
        waited.push(output.still_waiting);
    }
    assert_eq!(waited, [false, true]);
    trace.world.put("go", "");
    let ended = trace.run("process_output", json!({"id": id, "wait_s": 60})).await;
    assert_eq!((said(&ended).1.as_str(), ended.still_waiting), ("[no new output]\n[process 1.0: exit code 0]", false));
}

#[tokio::test]
async fn waiting_for_a_process_can_be_stopped_and_leaves_it_running() {
    let mut trace = Trace::new();
    let mark = mark(86402);
    let id = trace.begin(&format!("sleep {mark}")).await;
    eventually("the process", || sleeps(&mark).then_some(()));
    let ctx = trace.context("process_output");
    let args = json!({"id": id, "wait_s": 600}).to_string();
    let (output, ()) = tokio::join!(trace.world.tools.run("process_output", &args, &ctx), async {
        tokio::task::yield_now().await;
        ctx.cancel.cancel();
    });
    assert_eq!(said(&output), pair("interrupted", "The call was interrupted."));
    assert!(sleeps(&mark));
    trace.processes.end().await;
    assert!(!sleeps(&mark));
}

#[tokio::test]
async fn processes_die_when_nobody_owns_them_any_more() {
    let mut trace = Trace::new();
    let mark = mark(86403);
    trace.begin(&format!("trap '' TERM; sleep {mark}")).await;
    eventually("the process", || sleeps(&mark).then_some(()));
    let (world, weak) = (trace.world, Arc::downgrade(&trace.processes));
    drop(trace.processes);
    assert!(weak.upgrade().is_none());
    comes_to_hold("its end", || !sleeps(&mark)).await;
    assert_eq!(world.names(), Vec::<String>::new());
}

#[tokio::test]
async fn an_id_that_is_not_known_is_told_why() {
    let mut trace = Trace::new();
    let words = "There is no background process 9.0. If it was started before Mainpath was, it ended with Mainpath's last \
                 process; start it again if it is needed. Known now: none.";
    for tool in ["process_output", "process_stop"] {
        assert_eq!(trace.say(tool, json!({"id": "9.0"})).await, pair("unknown_process", words));
        let (code, text) = trace.say(tool, json!({"id": "nine"})).await;
        assert_eq!(code, "invalid_arguments");
        assert!(text.contains(r#""nine" is not a call id"#), "{text}");
    }
    assert_eq!(trace.say("process_list", json!({})).await, pair("ok", "[no background processes]"));
    let id = trace.begin("true").await;
    assert!(trace.say("process_stop", json!({"id": "9.0"})).await.1.ends_with(&format!("Known now: {id}.")));
}

#[tokio::test]
async fn a_process_that_cannot_start_is_told_why() {
    let mut trace = Trace::new();
    let mut ctx = trace.context("bash");
    ctx.launcher = Launcher::new("/no/such/launcher", vec![]);
    let output = trace.world.tools.run("bash", r#"{"command":"ls","background":true}"#, &ctx).await;
    let words = "The command could not be started: No such file or directory (os error 2).";
    assert_eq!(said(&output), pair("launch", words));
    assert_eq!(trace.say("process_list", json!({})).await, pair("ok", "[no background processes]"));
}

#[tokio::test]
async fn only_so_many_run_at_once_and_the_ended_make_room() {
    let mut trace = Trace::new();
    for _ in 0..16 {
        trace.begin("sleep 1000").await;
    }
    let words = "16 background processes run already; end one with process_stop first.";
    let told = trace.say("bash", json!({"command": "true", "background": true})).await;
    assert_eq!(told, pair("too_many_processes", words));
    trace.processes.end().await;
    // Of those that have ended, the oldest are forgotten.
    for _ in 0..4 {
        let id = trace.begin("true").await;
        while trace.output(&id, 60).await.contains("running") {}
    }
    let (_, listed) = trace.say("process_list", json!({})).await;
    let ids: Vec<&str> = listed.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(ids.len(), 16, "{listed}");
    assert_eq!((ids[0], ids[15]), ("5.0", "24.0"), "{listed}");
}

#[tokio::test]
async fn a_flood_in_the_background_is_kept_in_bounds() {
    let mut trace = Trace::new();
    let id = trace.begin("yes 123456789 | head -c 10000000; sync; touch done; sleep 1000").await;
    let done = trace.world.path("done");
    comes_to_hold("the flood", || done.exists()).await;
    // All of it is in the pipe or further; what is shown is its head and tail, whenever it was read.
    let output = trace.run("process_output", json!({"id": id})).await;
    let (code, text) = said(&output);
    assert_eq!(code, "ok");
    assert!(text.starts_with("123456789\n") && text.contains("bytes left out"), "{}", &text[..100]);
    assert!(text.chars().count() < 30_200 && text.ends_with("[process 1.0: running]"));
    assert_eq!(output.artifacts.len(), 1);
    trace.processes.end().await;
}

#[tokio::test]
async fn secrets_are_hidden_in_what_a_process_writes() {
    struct Vault;
    impl Secrets for Vault {
        fn reveal(&self, text: &str) -> String {
            text.replace("<handle>", "hunter2")
        }
        fn redact(&self, text: &str) -> String {
            text.replace("hunter2", "<handle>")
        }
    }
    let mut trace = Trace::new();
    let mut run = async |tool: &str, args: &str| {
        let mut ctx = trace.context(tool);
        ctx.secrets = Arc::new(Vault);
        said(&trace.world.tools.run(tool, args, &ctx).await).1
    };
    run("bash", r#"{"command":"echo <handle> | wc -c; printf hunt; sleep 0.01; echo er2","background":true}"#).await;
    let mut seen = String::new();
    while !seen.contains("exit code 0") {
        seen.push_str(&run("process_output", r#"{"id":"1.0","wait_s":60}"#).await);
    }
    assert!(seen.starts_with("8\n") && seen.contains("<handle>\n") && !seen.contains("hunt"), "{seen}");
    let listed = run("process_list", "{}").await;
    assert!(listed.ends_with("echo <handle> | wc -c; printf hunt; sleep 0.01; echo er2"), "{listed}");
}

#[tokio::test]
async fn a_call_without_a_trace_leaves_nothing_running() {
    let world = World::new();
    let ctx = world.context("bash");
    let mark = mark(86404);
    let command = json!({"command": format!("sleep {mark}"), "background": true}).to_string();
    world.tools.run("bash", &command, &ctx).await;
    eventually("the process", || sleeps(&mark).then_some(()));
    drop(ctx);
    comes_to_hold("its end", || !sleeps(&mark)).await;
}
