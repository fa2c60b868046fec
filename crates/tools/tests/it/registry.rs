use crate::support::{World, grant, launcher, pair, said};
use mainpath_policy::{CallFacts, PathFact, UrlFact};
use mainpath_tools::{
    Answers, AskedCall, DynTool, Fut, Planned, ProbeAnswer, Secrets, Tool, ToolContext, ToolDoc, Tools, Touches,
};
use mainpath_types::{EffectClass, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// What a tool may do wrong, and waiting.
struct Odd(&'static str);

impl Tool for Odd {
    type Args = Nothing;
    const NAME: &'static str = "odd";
    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Odd.", EffectClass::ReadOnly)
    }
    fn run<'a>(&'a self, ctx: &'a ToolContext, _: Nothing) -> Fut<'a, ToolOutput> {
        if self.0 == "panic at once" {
            panic!("no future at all");
        }
        Box::pin(async move {
            match self.0 {
                "panic" => panic!("number {}", 7),
                "panic later" => {
                    tokio::task::yield_now().await;
                    panic!("later");
                }
                "finish" => {
                    ctx.cancel.cancelled().await;
                    ToolOutput::text("done in spite of it")
                }
                _ => ctx.until_stopped(std::future::pending()).await.unwrap_or_else(|| ctx.stopped()),
            }
        })
    }
}

fn world(tool: Odd) -> World {
    let mut world = World::new();
    world.tools = Tools::new().with(tool);
    world
}

#[test]
fn what_git_obeys_of_a_repository_is_known_by_its_shape_whatever_it_is_called() {
    let world = World::with(&[("fixtures/bare/HEAD", "ref: refs/heads/main"), ("plain/config", "")]);
    let in_repository = |path: &str| {
        let arguments = json!({"path": path, "content": "x"}).to_string();
        world.tools.plan("write", &arguments, &world.workspace).unwrap().facts.paths[0].in_repository
    };
    for path in
        ["fixtures/bare/config", "fixtures/bare/hooks/post-update", "fixtures/bare/commondir", "fixtures/bare/HEAD"]
    {
        assert!(in_repository(path), "{path}");
    }
    for path in ["plain/config", "fixtures/config", "fixtures/bare/objects/ab", "fixtures/bare/sub/config", "config"] {
        assert!(!in_repository(path), "{path}");
    }
}

#[test]
fn specs_are_plain_object_schemas() {
    let specs = Tools::kernel().specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let wanted = [
        "bash",
        "edit_text_file",
        "glob",
        "grep",
        "list_files",
        "process_list",
        "process_output",
        "process_stop",
        "read_text_file",
        "sandbox",
        "write_text_file",
    ];
    assert_eq!(names, wanted);
    let wanted = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace."},
            "edits": {
                "type": "array",
                "minItems": 1,
                "description": "The replacements, all made at once.",
                "items": {
                    "type": "object",
                    "properties": {
                        "old_text": {
                            "type": "string",
                            "description": "The text to replace, exactly as it is in the file; it must occur there once."
                        },
                        "new_text": {"type": "string", "description": "What takes its place."}
                    },
                    "required": ["old_text", "new_text"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["path", "edits"],
        "additionalProperties": false
    });
    assert_eq!(specs[1].input_schema, wanted);
    let limit = json!({"type": "integer", "minimum": 1, "description": "How many lines to show; 2000 by default."});
    assert_eq!(specs[8].input_schema["properties"]["limit"], limit);
    assert_eq!(specs[8].input_schema["required"], json!(["path"]));
    let facts: Vec<(EffectClass, bool)> = specs.iter().map(|spec| (spec.effect, spec.can_probe)).collect();
    use EffectClass::*;
    let (reads, writes) = ((ReadOnly, false), (LocalWrite, true));
    let runs = (ProcessControl, false);
    assert_eq!(facts, [runs, writes, reads, reads, reads, reads, reads, runs, reads, reads, writes]);
    let empty = Tools::new().with(Odd("")).specs()[0].input_schema.clone();
    assert_eq!(empty, json!({"type": "object", "properties": {}, "additionalProperties": false}));
}

#[test]
fn aliases_lead_to_tools_that_are_there() {
    let tools = Tools::kernel();
    let found = ["read", "write", "edit", "execute_bash", "bash", "glob_files", "grep_content", "task", "nothing"]
        .map(|name| tools.resolve(name));
    let own = ["read_text_file", "write_text_file", "edit_text_file", "bash", "bash", "glob", "grep"];
    let own: Vec<Option<&str>> = own.into_iter().map(Some).chain([None, None]).collect();
    assert_eq!(found.each_ref().map(|name| name.as_deref()), *own);
}

#[test]
fn a_plan_names_the_tool_and_where_its_files_lie() {
    let world = World::new();
    let plan = |name: &str, args: &str| world.tools.plan(name, args, &world.workspace).unwrap();
    let outside = world.workspace.root().parent().unwrap().join("x");
    let facts = CallFacts {
        tool: "read_text_file".into(),
        effect: EffectClass::ReadOnly,
        arguments: json!({"path": "../x"}),
        paths: vec![PathFact {
            path: "../x".into(),
            absolute: outside.to_str().unwrap().into(),
            relative: None,
            write: false,
            protected: false,
            in_repository: false,
        }],
        says_read_only: true,
        ..CallFacts::default()
    };
    assert_eq!(
        plan("read", r#"{"path":"../x"}"#),
        Planned { tool: "read_text_file".into(), facts, places: vec![], asking: None }
    );
    let write = &plan("write", r#"{"path":"a/./b","content":""}"#).facts.paths[0];
    assert_eq!((write.relative.as_deref(), write.write), (Some("a/b"), true));
    let facts = CallFacts {
        tool: "bash".into(),
        effect: EffectClass::ProcessControl,
        arguments: json!({"command": "ls"}),
        commands: vec!["ls".into()],
        ..CallFacts::default()
    };
    assert_eq!(
        plan("bash", r#"{"command":"ls"}"#),
        Planned { tool: "bash".into(), facts, places: vec![], asking: None }
    );
}

/// Repeats what it is given.
struct Echo;

impl DynTool for Echo {
    fn touches(&self, args: &Value) -> Touches {
        Touches::asking("GET", args["url"].as_str().unwrap_or_default())
    }
    fn run<'a>(&'a self, _: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(args.to_string()) })
    }
}

#[tokio::test]
async fn a_tool_from_outside_is_added_asked_and_taken_out_while_the_registry_is_in_use() {
    let world = World::new();
    let other = world.tools.clone();
    let schema = json!({"properties": {"url": {"type": "string", "pattern": "^http"}}, "required": ["url"]});
    let doc = ToolDoc { output_chars: Some(10), ..ToolDoc::new("Repeats.", EffectClass::SideEffecting) };
    other.put("mcp__x__echo", doc, schema, Arc::new(Echo)).unwrap();
    let spec = world.tools.specs().into_iter().find(|spec| spec.name == "mcp__x__echo").unwrap();
    assert_eq!(spec.input_schema["type"], "object");
    let planned = world.tools.plan("mcp__x__echo", r#"{"url":"https://a/"}"#, &world.workspace).unwrap();
    assert_eq!(planned.facts.urls, [UrlFact { method: "GET".into(), url: "https://a/".into() }]);
    let (code, text) = world.say("mcp__x__echo", json!({"url": "https://a/"})).await;
    assert_eq!((code.as_str(), text.as_str()), ("ok", "{\"url\":\"ht\n[10 characters more were cut off]"));
    let problem = world.tools.plan("mcp__x__echo", r#"{"url":"ftp://a/"}"#, &world.workspace).unwrap_err();
    assert_eq!(
        problem.text,
        "Wrong arguments for mcp__x__echo: at /url: \"ftp://a/\" does not match the pattern ^http. Expected: url (string)."
    );
    assert!(other.remove("mcp__x__echo"));
    assert_eq!(world.tools.resolve("mcp__x__echo"), None);
}

#[test]
fn a_tool_from_outside_with_a_bad_name_or_schema_is_refused() {
    let put = |name: &str, schema: Value| {
        let doc = ToolDoc::new("", EffectClass::SideEffecting);
        Tools::new().put(name, doc, schema, Arc::new(Echo)).unwrap_err().text
    };
    assert_eq!(put("a b", json!({})), r#"A tool cannot be called "a b": a name is 1 to 64 letters, digits, _ and -."#);
    let unusable = |why: &str| format!("The tool \"a\" has an unusable schema: {why}.");
    assert_eq!(put("a", json!([])), unusable("it is an array, not an object"));
    assert_eq!(put("a", json!({"type": "string"})), unusable("it describes something else than an object"));
    let remote = put("a", json!({"$ref": "http://127.0.0.1:9/x.json"}));
    assert!(remote.starts_with("The tool \"a\" has an unusable schema: it is not a valid JSON Schema: "), "{remote}");
}

#[test]
fn null_stands_for_an_optional_field_that_was_left_out() {
    let world = World::new();
    let planned = world.tools.plan("read", r#"{"path":"a","limit":null}"#, &world.workspace).unwrap();
    assert_eq!(planned.facts.arguments, json!({"path": "a"}));
    let problem = world.tools.plan("read", r#"{"path":null}"#, &world.workspace).unwrap_err();
    assert!(problem.text.contains("at /path: null is not of type string"), "{}", problem.text);
}

#[test]
fn a_wrong_call_is_told_what_is_wrong_where_and_what_is_expected() {
    let world = World::new();
    let problem = |name: &str, args: &str| {
        let problem = world.tools.plan(name, args, &world.workspace).unwrap_err();
        pair(problem.code, problem.text)
    };
    let invalid = |text: &str| pair("invalid_arguments", text);
    assert_eq!(
        problem("reed", "{}"),
        pair(
            "unknown_tool",
            r#"There is no tool "reed". The tools are: bash, edit_text_file, glob, grep, list_files, process_list, process_output, process_stop, read_text_file, sandbox, write_text_file."#
        )
    );
    assert_eq!(
        problem("read", r#"{"path": "a" "#),
        invalid(
            "The arguments of read_text_file are not valid JSON: EOF while parsing an object at line 1 column 13. \
             Send one JSON object."
        )
    );
    let read = "Expected: path (string), limit (integer, optional), offset (integer, optional).";
    assert_eq!(
        problem("read", ""),
        invalid(&format!("Wrong arguments for read_text_file: \"path\" is missing. {read}"))
    );
    assert_eq!(
        problem("read", "[1]"),
        invalid(&format!("Wrong arguments for read_text_file: [1] is not of type object. {read}"))
    );
    assert_eq!(
        problem("read", r#"{"path":5,"lines":3}"#),
        invalid(&format!(
            "Wrong arguments for read_text_file:\n- there is no property \"lines\"; there are \"limit\", \"offset\", \"path\"\n\
             - at /path: 5 is not of type string\n{read}"
        ))
    );
    assert_eq!(
        problem("read", r#"{"path":"a","limit":0}"#),
        invalid(&format!("Wrong arguments for read_text_file: at /limit: 0 is not at least 1. {read}"))
    );
    assert_eq!(
        problem("edit", r#"{"path":"a","edits":[{"old_text":"a","new_text":5}]}"#),
        invalid(
            "Wrong arguments for edit_text_file: at /edits/0/new_text: 5 is not of type string. \
             Expected: edits (array of {new_text, old_text}), path (string)."
        )
    );
    assert_eq!(
        problem("read", r#"{"path":""}"#),
        pair("bad_path", r#""" is not a usable path: it is empty or holds a NUL character."#)
    );
}

#[test]
fn unknown_fields_are_refused_for_every_tool() {
    let world = world(Odd(""));
    let problem = world.tools.plan("odd", r#"{"x":1}"#, &world.workspace).unwrap_err();
    assert_eq!(problem.text, "Wrong arguments for odd: there is no property \"x\". Expected: no fields.");
}

#[tokio::test]
async fn a_grant_for_another_tool_or_effect_runs_nothing() {
    let world = World::with(&[("a.txt", "old")]);
    let run = async |tool: &str, effect| {
        let ctx = ToolContext::new(world.workspace.clone(), grant(tool, effect), launcher());
        let args = r#"{"path":"a.txt","content":"new"}"#;
        assert_eq!(world.tools.probe("write", args, &ctx).await, ProbeAnswer::Unknown);
        said(&world.tools.run("write", args, &ctx).await)
    };
    let words = "The grant is for read_text_file, not for write_text_file; nothing was run.";
    assert_eq!(run("read_text_file", EffectClass::ReadOnly).await, pair("no_grant", words));
    assert_eq!(run("write_text_file", EffectClass::ReadOnly).await.0, "no_grant");
    assert_eq!(run("write", EffectClass::LocalWrite).await.0, "no_grant");
    assert_eq!(world.get("a.txt"), "old");
}

#[tokio::test]
async fn wrong_arguments_fail_a_run_as_they_fail_a_plan() {
    let world = World::new();
    assert_eq!(world.say("bash", json!({"comand": "ls"})).await.0, "invalid_arguments");
    assert_eq!(world.probe("write", json!({"path": 1})).await, ProbeAnswer::Unknown);
}

#[tokio::test]
async fn a_panic_is_a_failed_output() {
    for (how, what) in [("panic", "number 7"), ("panic later", "later"), ("panic at once", "no future at all")] {
        let words = format!("odd failed by a defect of its own: {what}");
        assert_eq!(world(Odd(how)).say("odd", json!({})).await, pair("panicked", words));
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_ended() {
    let world = world(Odd(""));
    let mut ctx = world.context("odd");
    ctx.timeout = Some(Duration::from_millis(10));
    let words = "The call was ended: it took longer than 10ms.";
    assert_eq!(said(&world.tools.run("odd", "{}", &ctx).await), pair("timeout", words));
    assert!(!ctx.cancel.is_cancelled(), "only the call's own token fires");
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_interrupted() {
    let world = world(Odd(""));
    let ctx = world.context("odd");
    ctx.cancel.cancel();
    assert_eq!(said(&world.tools.run("odd", "{}", &ctx).await), pair("interrupted", "The call was interrupted."));
}

#[tokio::test]
async fn a_result_that_comes_in_spite_of_a_stop_counts() {
    let world = world(Odd("finish"));
    let ctx = world.context("odd");
    ctx.cancel.cancel();
    assert_eq!(said(&world.tools.run("odd", "{}", &ctx).await), pair("ok", "done in spite of it"));
}

struct OneSecret;

impl Secrets for OneSecret {
    fn reveal(&self, text: &str) -> String {
        text.replace("{{key}}", "s\"3\"cret")
    }
    fn redact(&self, text: &str) -> String {
        text.replace("s\"3\"cret", "{{key}}")
    }
}

#[tokio::test]
async fn secrets_are_known_to_tools_and_hidden_from_everyone_else() {
    let world = World::new();
    let context = |tool: &str| {
        let mut ctx = world.context(tool);
        ctx.secrets = Arc::new(OneSecret);
        ctx
    };
    let args = r#"{"path":"{{key}}.txt","content":"a {{key}} b"}"#;
    let written = world.tools.run("write", args, &context("write")).await;
    assert_eq!(said(&written), pair("ok", "Created {{key}}.txt (1 line, 12 bytes)."));
    assert_eq!(written.title, Some("{{key}}.txt".into()));
    assert_eq!(world.get("s\"3\"cret.txt"), "a s\"3\"cret b");
    let read = world.tools.run("read", r#"{"path":"{{key}}.txt"}"#, &context("read")).await;
    assert_eq!(said(&read), pair("ok", "a {{key}} b"));
    // A long output's blob, too. What is said while it runs comes as it is: only who takes it sees the whole stream.
    let flood = r#"{"command":"for i in $(seq 5000); do echo '{{key}}'; done"}"#;
    let flood = world.tools.run("bash", flood, &context("bash")).await;
    let blob = world.blobs.get(&flood.artifacts[0].hash).unwrap();
    assert_eq!(String::from_utf8(blob).unwrap(), "{{key}}\n".repeat(5_000));
    assert_eq!(*world.progress.lock().unwrap(), "s\"3\"cret\n".repeat(5_000));
}

/// Answers calls of one tool.
struct Only(&'static str);

impl Answers for Only {
    fn answer<'a>(&'a self, _: &'a ToolContext, call: AskedCall<'a>) -> Fut<'a, Option<ToolOutput>> {
        let text = format!("{} {:?} {:?} {}", call.tool, call.effect, call.origin, call.arguments["content"]);
        Box::pin(async move { (call.tool == self.0).then(|| ToolOutput::text(text)) })
    }
}

#[tokio::test]
async fn calls_can_be_answered_in_the_place_of_tools() {
    let world = World::with(&[("a.txt", "old")]);
    let tools = world.tools.answered_by(Arc::new(Only("write_text_file")));
    let ctx = |tool: &str, effect| ToolContext::new(world.workspace.clone(), grant(tool, effect), launcher());
    let write = ctx("write_text_file", EffectClass::LocalWrite);
    let args = r#"{"path":"a.txt","content":"new"}"#;
    let answered = "write_text_file LocalWrite Workspace \"new\"";
    assert_eq!(said(&tools.run("write", args, &write).await), pair("ok", answered));
    assert_eq!(world.get("a.txt"), "old");
    // Only what a grant is for, and what it does not answer goes to the tool.
    let read = ctx("read_text_file", EffectClass::ReadOnly);
    assert_eq!(said(&tools.run("write", args, &read).await).0, "no_grant");
    assert_eq!(said(&tools.run("read", r#"{"path":"a.txt"}"#, &read).await), pair("ok", "old"));
    // The tools that it was made of are as they were.
    assert_eq!(said(&world.tools.run("write", args, &write).await).0, "ok");
    assert_eq!(world.get("a.txt"), "new");
}
