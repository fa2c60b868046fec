//! Which tools there are, and that those of the configuration work in a run.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::{Value, json};

/// The results of the newest trace's calls: their codes, or "ok", and their texts.
fn results(place: &Place) -> Vec<(String, String)> {
    let events = place.events(&place.trace());
    let resolved = events.iter().filter(|event| event["type"] == "call_resolved");
    let output = |event: &Value| {
        let output = &event["data"]["output"];
        (
            output["error"].as_str().unwrap_or("ok").to_string(),
            output["content"][0]["text"].as_str().unwrap_or_default().to_string(),
        )
    };
    resolved.map(output).collect()
}

#[test]
fn the_list_says_what_is_on_what_is_off_and_what_is_missing() {
    let place = Place::new();
    let mark = |text: &str, name: &str| {
        text.lines().find(|line| line.get(2..).is_some_and(|rest| rest.starts_with(name))).unwrap()[..1].to_string()
    };
    let text = place.ok(&["tools"]);
    assert_eq!(["bash", "web_fetch", "web_search"].map(|name| mark(&text, name)), ["+", "-", "-"]);
    assert!(text.lines().take_while(|line| !line.is_empty()).all(|line| line.chars().count() <= 80), "{text}");
    place.config("[tools.web_fetch]\nrate = \"10/1m\"\n[tools.web_search]\nbackend = \"brave\"\nkey = \"BRAVE\"\n");
    let text = place.ok(&["tools"]);
    assert_eq!(["bash", "web_fetch", "web_search"].map(|name| mark(&text, name)), ["+", "+", "!"]);
    let text = place.ok(&["tools", "webfetch", "web_search", "http_request"]);
    let told = [
        "+ web_fetch\nFetches a web page, PDF or text by its address",
        "\neffect: read-only; results come from: web\nlimits: 10 calls in 1m\narguments: {",
        "\"description\": \"The address, http or https.\"",
        "! web_search: BRAVE is not set; set that variable, or BRAVE under [secrets]\n",
        "- http_request: Sends HTTP requests to what a list allows. Off by default; to enable it, add to ",
        "[tools.http_request]\nallow = [\"GET,POST https://api.example.com/v1/**\"]\n",
    ];
    assert_eq!(told.map(|words| text.contains(words)), [true; 6], "{text}");
    place
        .run(&["tools", "web_fech"])
        .fails(2, "there is no tool \"web_fech\"; did you mean web_fetch? mainpath tools lists all");
}

#[test]
fn as_json_each_tool_is_a_line_with_its_schema() {
    let place = Place::new();
    place.config("[tools.web_fetch]\nrate = \"10/1m\"\n");
    let text = place.ok(&["tools", "--json", "web_fetch", "web_search"]);
    let mut lines: Vec<Value> = text.lines().map(parsed).collect();
    let schema = lines[0]["input_schema"].take();
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["url"])));
    lines[0]["description"].take();
    lines[1]["how"].take();
    let on = json!({
        "name": "web_fetch", "state": "on", "description": null, "effect": "read-only", "origin": "web",
        "rate": {"calls": 10, "per_ms": 60_000}, "timeout_ms": null, "output_chars": null, "input_schema": null
    });
    assert_eq!(
        lines,
        [on, json!({"name": "web_search", "state": "off", "description": "Searches the web", "how": null})]
    );
}

#[test]
fn no_schema_of_a_tool_allows_null() {
    fn nulls(value: &Value) -> usize {
        match value {
            Value::Null => 1,
            Value::Array(values) => values.iter().map(nulls).sum(),
            Value::Object(fields) => fields.values().map(nulls).sum(),
            _ => 0,
        }
    }
    let text = Place::new().ok(&["tools", "--json"]);
    let schemas: Vec<Value> = text.lines().map(|line| parsed(line)["input_schema"].take()).collect();
    assert!(schemas.iter().any(|schema| schema.to_string().contains("\"enum\"")));
    for schema in schemas.iter().filter(|schema| schema.is_object()) {
        assert_eq!(nulls(schema), 0, "{schema}");
    }
}

#[test]
fn a_tool_of_the_configuration_works_in_a_run_and_no_proxy_of_the_environment_is_used() {
    let (place, inner) = (Place::new(), site("text/html", |_| "<h1>Here</h1><p>words</p>".into()));
    let other = site("text/html", |_| "never".into());
    place.config(&format!("[net]\nallow_private = [\"{inner}\"]\n[tools.web_fetch]\n"));
    let answers = [format!("http://{inner}/"), format!("http://{other}/")]
        .map(|url| Answer::call("web_fetch", json!({"url": url})));
    let server = scripted(answers.into_iter().chain([Answer::text("Done.")]).collect());
    let model = server.model();
    let mut command = place.command(&["run", "--model", &model, "--allow", "web_fetch", "Read it."]);
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"] {
        command.env(name, "http://127.0.0.1:1");
    }
    command.env("no_proxy", "").env("NO_PROXY", "");
    let done = finish(command, None);
    assert_eq!(done.code, 0, "{done:#?}");
    let told = format!("http://{inner}/ (HTTP 200, text/html)\n\n# Here\n\nwords");
    let blocked =
        "127.0.0.1 is a loopback address; the owner can allow it with allow_private under [net] in the configuration";
    assert_eq!(results(&place), [("ok".to_string(), told), ("blocked_address".to_string(), blocked.to_string())]);
}

#[test]
fn what_is_wrong_in_the_configuration_is_told_with_its_place() {
    let place = Place::new();
    let at = |line: u32| format!("{}, line {line}: ", place.home.join("config.toml").display());
    for (text, line, words) in [
        ("[tools.web_fetch]\ncolour = 1\n", 2, "unknown field `colour`, expected one of `allow`"),
        ("[tools.web_fetsch]\n", 1, "unknown field `web_fetsch`; did you mean `web_fetch`?"),
        (
            "[net]\nallow_private = [\n  \"127.0.0.1\"]\n",
            2,
            "\"127.0.0.1\" is not a host with a port; write it like 127.0.0.1:8080",
        ),
        (
            "[tools.http_request]\nallow = [\"GET a.test\"]\n",
            2,
            "\"GET a.test\" is not an address; it looks like GET https://",
        ),
        ("[tools.http_request]\n", 1, "missing field `allow`"),
        ("[tools.web_fetch]\n\nrate = \"often\"\n", 3, "\"often\" is not a rate; write calls and time, such as 10/1m"),
        (
            "[tools.web_search]\nbackend = \"brave\"\nkey = \"sk-1\"\n",
            3,
            "this must be the name of a secret (letters, digits and _), not its value",
        ),
        (
            "[tools.invoke_workflow.workflows.a]\ndescription = \"\"\nurl = \"http://a.test\"\ninput_schema = { type = 5 }\n",
            4,
            "the schema cannot be used: it is not a valid JSON Schema",
        ),
    ] {
        place.config(text);
        let done = place.run(&["tools"]);
        assert_eq!(
            (done.code, done.err.contains(&at(line)), done.err.contains(words)),
            (1, true, true),
            "{text}{}",
            done.err
        );
    }
    place.config("[tools.web_search]\nbackend = \"tavily\"\nkey = \"NO_SUCH\"\n");
    let told = format!("{}[tools.web_search]: NO_SUCH is not set", at(1));
    place.run(&["run", "--model", "scripted", "x"]).fails(1, &told);
}
