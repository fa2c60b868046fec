use crate::support::{World, pair, said};
use mainpath_tools::{JsonTransform, Tools};
use mainpath_types::ToolOutput;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

const FILTER: &str = env!("CARGO_BIN_EXE_mainpath-filter");

fn world() -> World {
    let mut world = World::with(&[("a.json", "{\"b\": [1, 2]}\n{\"b\": []}\n"), ("broken.json", "{\"a\": ")]);
    world.tools = Tools::new().with(JsonTransform::new(FILTER, vec![]));
    world
}

async fn transform(args: Value) -> (String, String) {
    world().say("json_transform", args).await
}

async fn wrong(filter: &str) -> String {
    let (code, text) = transform(json!({ "filter": filter })).await;
    assert_eq!(code, "filter", "{filter}: {text}");
    text
}

#[tokio::test]
async fn a_filter_is_applied_to_a_value_a_text_a_file_or_nothing() {
    let value = json!({"filter": ".a[] | {n: ., twice: (. * 2)}", "input": {"a": [1, 2.5]}});
    assert_eq!(transform(value).await, pair("ok", "{\"n\":1,\"twice\":2}\n{\"n\":2.5,\"twice\":5.0}"));
    let text = json!({"filter": "length", "input": " [1, 2] \"three\" "});
    assert_eq!(transform(text).await, pair("ok", "2\n5"));
    assert_eq!(transform(json!({"filter": ".b | add", "path": "a.json"})).await, pair("ok", "3\nnull"));
    let library =
        json!({"filter": "map(tostring), (.[0] | todate), (\"ü\" | test(\"^.$\")), @base64", "input": [0, 1]});
    assert_eq!(transform(library).await, pair("ok", "[\"0\",\"1\"]\n\"1970-01-01T00:00:00Z\"\ntrue\n\"WzAsMV0=\""));
    let output = world().run("json_transform", json!({"filter": "1, \"ü\""})).await;
    assert_eq!(output, ToolOutput { title: Some("1, \"ü\"".into()), ..ToolOutput::text("1\n\"ü\"") });
    assert_eq!(transform(json!({"filter": "empty"})).await, pair("ok", "[no results]"));
}

/// What jq 1.7 gives for the same.
#[tokio::test]
async fn rows_become_csv_and_tsv_as_jq_has_them() {
    let input = json!([["a,b", "say \"hi\"", 1, 2.5, true, null, ""], [], ["ü\tx\ny\\z\r"]]);
    let csv = json!({"filter": ".[] | @csv", "input": input});
    let rows = ["\"a,b\",\"say \"\"hi\"\"\",1,2.5,true,,\"\"", "", "\"ü\tx\ny\\z\r\""];
    let shown = |rows: &[&str]| rows.iter().map(|row| json!(row).to_string()).collect::<Vec<_>>().join("\n");
    assert_eq!(transform(csv).await, pair("ok", shown(&rows)));
    let tsv = json!({"filter": ".[] | @tsv", "input": input});
    let rows = ["a,b\tsay \"hi\"\t1\t2.5\ttrue\t\t", "", "ü\\tx\\ny\\\\z\\r"];
    assert_eq!(transform(tsv).await, pair("ok", shown(&rows)));
    let inside = json!({"filter": "@csv \"row: \\(.)\"", "input": ["a", 1]});
    assert_eq!(transform(inside).await, pair("ok", json!("row: \"a\",1").to_string()));
    assert_eq!(wrong("[{}] | @csv").await, "The filter failed: \"object is not valid in a CSV row\".");
    assert_eq!(wrong("1 | @tsv").await, "The filter failed: \"number cannot be TSV, only an array can\".");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_place() {
    let mistake = "The filter is wrong in line 2, column 5, at \")\": expected ";
    let text = wrong(".a |\nmap()").await;
    assert!(text.starts_with(mistake), "{text}");
    assert_eq!(wrong("[1").await, "The filter is wrong in line 1, column 3, at the end: expected a closing bracket.");
    let unknown = "The filter is wrong in line 1, column 5, at \"lenght\": there is no such filter.";
    assert_eq!(wrong(". | lenght").await, unknown);
    assert_eq!(wrong("1, (\"x\" | .a)").await, "1\nThe filter failed: cannot index \"x\" with \"a\".");
    let (code, text) = transform(json!({"filter": ".", "path": "broken.json"})).await;
    assert_eq!(code, "filter");
    assert!(text.starts_with("The input is not JSON: byte offset 6: "), "{text}");
    let both = "Wrong arguments for json_transform: give `input` or `path`, not both.";
    assert_eq!(transform(json!({"filter": ".", "input": 1, "path": "a.json"})).await, pair("invalid_arguments", both));
    let outside = transform(json!({"filter": ".", "path": "../x"})).await;
    assert_eq!(outside.0, "outside_workspace");
}

#[tokio::test]
async fn a_filter_reaches_nothing_but_its_input() {
    for name in [
        "env",
        "$ENV",
        "$__prog_args",
        "input_filename",
        "input",
        "inputs",
        "halt",
        "halt_error",
        "localtime",
        "get_search_list",
    ] {
        let text = wrong(name).await;
        assert!(text.contains("there is no such"), "{name}: {text}");
    }
    for filter in ["import \"a\" as a; .", "include \"a\"; .", "import \"/etc/passwd\" as $a; $a"] {
        let text = wrong(filter).await;
        assert!(text.starts_with("The filter is wrong in line 1"), "{filter}: {text}");
    }
}

#[tokio::test]
async fn a_filter_that_gives_without_end_is_cut() {
    for filter in ["repeat(1)", "range(1e12)", "\"abc\" * 1000000"] {
        let (code, text) = transform(json!({"filter": filter, "input": 1})).await;
        assert_eq!(code, "ok", "{filter}");
        assert!(text.ends_with("\n[… and more; narrow the filter]"), "{filter}");
        assert_eq!(
            text.chars().count(),
            30_000 + "\n[… and more; narrow the filter]".chars().count() - usize::from(text.contains("1\n[…")),
            "{filter}"
        );
    }
}

#[tokio::test]
async fn a_filter_that_goes_on_without_end_is_ended() {
    let mark = format!("marked-by-the-test-of-endless-filters-{}", std::process::id());
    for filter in ["last(range(1e15))", "def f: f; f", "1 | until(false; .)"] {
        let mut world = world();
        world.tools = Tools::new().with(JsonTransform::new(FILTER, vec![mark.clone().into()]));
        let mut ctx = world.context("json_transform");
        ctx.timeout = Some(Duration::from_millis(300));
        let output = world.tools.run("json_transform", &json!({ "filter": filter }).to_string(), &ctx).await;
        let words = "The call was ended: it took longer than 300ms.";
        assert_eq!(said(&output), pair("timeout", words), "{filter}");
        let marked = |entry: &std::fs::DirEntry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&mark)
        };
        assert_eq!(std::fs::read_dir("/proc").unwrap().flatten().filter(marked).count(), 0, "{filter}");
    }
}

#[test]
fn a_filter_ends_with_its_owner() {
    let filter = "last(range(1e15))";
    let mut child = Command::new(FILTER).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("{} 0\n{filter}", filter.len()).as_bytes()).unwrap();
    assert_eq!(child.try_wait().unwrap(), None);
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(107));
}

#[tokio::test]
async fn a_filter_that_takes_all_it_can_get_takes_no_more() {
    let deep = "The filter, or the input, is nested too deeply.";
    assert_eq!(wrong("def f: 1 + f; f").await, deep);
    assert_eq!(wrong("\"a\" * 2000000000 | length").await, "The filter needs more memory than it may have, 1024 MiB.");
    let (code, text) = transform(json!({"filter": ".", "input": "[".repeat(5_000_000)})).await;
    assert_eq!(pair(&code, text), pair("filter", deep));
}
