//! The text protocol, schemas for answers, and what happens when a model fails, with real processes.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, Behaviour, Format, ModelServer, Reply};
use serde_json::{Value, json};

fn action(tool: &str, args: Value) -> Answer {
    Answer::text(&json!({"type": "action", "tool": tool, "args": args}).to_string())
}

fn last(answer: &str) -> Answer {
    Answer::text(&json!({"type": "final", "answer": answer}).to_string())
}

fn error(status: u16, message: &str) -> Reply {
    let body = json!({"error": {"message": message, "type": "error", "code": null, "param": null}}).to_string();
    Reply::Error { status, headers: Vec::new(), body }
}

fn messages(server: &mainpath_testkit::model_server::ModelServer, n: usize) -> Vec<Value> {
    server.requests()[n].body()["messages"].as_array().unwrap().clone()
}

#[test]
fn under_the_json_protocol_a_run_needs_no_tool_calls_of_the_vendors_kind() {
    let place = Place::new();
    std::fs::write(place.work.join("notes.txt"), "three herons").unwrap();
    let server = scripted(vec![action("read_text_file", json!({"path": "notes.txt"})), last("Three \"herons\".")]);
    let done = place.run_on(&server, &["--protocol", "json", "What is in notes.txt?"]);
    assert_eq!((done.code, done.out.as_str()), (0, "Three \"herons\".\n"), "{done:?}");
    assert!(!done.err.contains("{\"type\""), "people see the answer, not the JSON: {}", done.err);
    let first = server.requests()[0].body().clone();
    assert!(first.get("tools").is_none(), "{first}");
    let system = first["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("## read_text_file") && system.contains("\"type\":\"final\""), "{system}");
    let second = messages(&server, 1);
    assert_eq!(
        second[2],
        json!({"role": "assistant", "content": "{\"args\":{\"path\":\"notes.txt\"},\"tool\":\"read_text_file\",\"type\":\"action\"}"})
    );
    assert!(second[3]["content"].as_str().unwrap().starts_with("Observation (read_text_file, ok):\n"), "{second:?}");
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    let shown = place.ok(&["show"]);
    assert!(shown.contains("three herons") && !shown.contains("(thinking)"), "nothing was thought: {shown}");
    place.ok(&["replay"]);
    place.ok(&["verify"]);
}

#[test]
fn a_turn_in_no_form_is_asked_for_again_once_with_what_was_wrong_then_the_run_ends() {
    let place = Place::new();
    let server = scripted(vec![Answer::text("I would look at the file."), last("Done.")]);
    let done = place.run_on(&server, &["--profile", "agent_core", "Look."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:?}");
    let repair = messages(&server, 1);
    assert_eq!(repair[2]["content"], "I would look at the file.");
    let told = repair[3]["content"].as_str().unwrap();
    assert!(told.contains("it does not begin with the JSON object that it must consist of."), "{told}");
    place.ok(&["replay"]);

    let place = Place::new();
    let server = scripted(vec![Answer::text("```json\n{\"type\":\"final\",\"answer\":\"x\"}\n```")]);
    let done = place.run_on(&server, &["--profile", "agent_core", "Look."]);
    assert_eq!((done.code, server.count()), (1, 2), "{done:?}");
    let events = place.events(&place.trace());
    assert_eq!(events.last().unwrap()["data"]["reason"], "protocol_error");
    // The same answer, where it was said beforehand that fences are put up with.
    let done = place.run_on(&server, &["--profile", "agent_core", "--tolerant", "Look."]);
    assert_eq!((done.code, done.out.as_str()), (0, "x\n"), "{done:?}");
    let newest = newest(&place);
    let tolerated = place.events(&newest).into_iter().find(|event| event["type"] == "model_finished").unwrap();
    assert_eq!(tolerated["data"]["tolerated"], true);
}

#[test]
fn a_users_template_is_used_and_recorded() {
    let place = Place::new();
    let folder = place.home.join("prompts/agent_core");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("system.j2"), "Speak JSON. {{ tools | length }} tools.").unwrap();
    std::fs::write(folder.join("few_shot.j2"), "").unwrap();
    std::fs::write(folder.join("developer.j2"), "").unwrap();
    let server = scripted(vec![last("ok")]);
    assert_eq!(place.run_on(&server, &["--protocol", "json", "Go."]).code, 0);
    assert_eq!(messages(&server, 0)[0]["content"], "Speak JSON. 18 tools.");
    assert_eq!(place.events(&place.trace())[0]["data"]["spec"]["instructions"], "Speak JSON. 18 tools.");
    std::fs::write(folder.join("developer.j2"), "{{ oops }}").unwrap();
    let done = place.run_on(&server, &["--protocol", "json", "Go."]);
    done.fails(1, "developer.j2, line 1: ");
    assert_eq!(place.traces().len(), 1, "nothing was begun");
}

#[test]
fn an_answer_is_held_to_its_schema_by_one_repair_and_never_passed_off() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}).to_string();
    let place = Place::new();
    std::fs::write(place.work.join("schema.json"), &schema).unwrap();
    let server = scripted(vec![Answer::text("{\"n\":\"two\"}"), Answer::text("{\"n\":2}")]);
    let done = place.run_on(&server, &["--output-schema", "schema.json", "Count."]);
    assert_eq!((done.code, done.out.as_str()), (0, "{\"n\":2}\n"), "{done:?}");
    let told = messages(&server, 1).last().unwrap()["content"].as_str().unwrap().to_string();
    assert!(told.contains("at /n: \"two\" is not of type integer"), "{told}");
    place.ok(&["replay"]);

    let server = scripted(vec![Answer::text("It is two.")]);
    let done = place.run_on(&server, &["--output-schema", "schema.json", "Count."]);
    assert_eq!((done.code, server.count()), (1, 2), "{done:?}");
    assert!(done.report().starts_with("The run ended before a final answer (schema error)."), "{done:?}");
    let newest = newest(&place);
    assert_eq!(place.events(&newest).last().unwrap()["data"]["reason"], "schema_error");

    // Under the JSON protocol the answer itself may be JSON.
    let server = scripted(vec![Answer::text("{\"type\":\"final\",\"answer\":{\"n\":3}}")]);
    let done = place.run_on(&server, &["--protocol", "json", "--output-schema", "schema.json", "Count."]);
    assert_eq!((done.code, done.out.as_str()), (0, "{\"n\":3}\n"), "{done:?}");

    for (text, wrong) in [("{", "it is not JSON"), ("{\"type\":\"strange\"}", "it is not a valid JSON Schema")] {
        std::fs::write(place.work.join("bad.json"), text).unwrap();
        place.run_on(&server, &["--output-schema", "bad.json", "Count."]).fails(2, wrong);
    }
    place.run_on(&server, &["--output-schema", "none.json", "Count."]).fails(2, "none.json");
}

#[test]
fn when_a_model_fails_for_good_the_next_one_goes_on() {
    let place = Place::new();
    let first = server(|_| error(401, "no such key"));
    let second = scripted(vec![bash("echo hi"), Answer::text("Done by the second.")]);
    let fallback = second.model();
    let done = place.run_on(&first, &["--yes", "--fallback", &fallback, "Go."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done by the second.\n"), "{done:?}");
    assert_eq!((first.count(), second.count()), (1, 2), "it stays with the second for the run");
    let events = place.events(&place.trace());
    let failed = events.iter().find(|event| event["type"] == "model_failed").unwrap();
    assert_eq!(failed["data"]["remedy"], "fallback");
    place.ok(&["replay"]);
    let done = place.run_on(&first, &["--fallback", "nonesuch", "Go."]);
    done.fails(2, "unknown model \"nonesuch\"");
}

#[test]
fn a_404_in_the_first_turn_is_tried_again_with_the_system_text_and_the_last_message() {
    let place = Place::new();
    let server = server(|request| match request.n {
        1 => Answer::text("First.").into(),
        2 => error(404, "not here"),
        _ => Answer::text("Second.").into(),
    });
    place.run_on(&server, &["One."]);
    let done = place.run(&["run", "-c", "--json", "Two."]);
    assert_eq!(done.code, 0, "{done:?}");
    let roles =
        |n: usize| messages(&server, n).iter().map(|m| m["role"].as_str().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(roles(1), ["system", "user", "assistant", "user"]);
    assert_eq!(roles(2), ["system", "user"]);
    assert_eq!(messages(&server, 2)[1]["content"], "Two.");
    let repacked = done.out.lines().map(parsed).find(|event| event["type"] == "request_repacked").unwrap();
    assert_eq!((&repacked["data"]["retry"], &repacked["data"]["chat_id"]), (&json!(1), &json!(place.trace())));
    place.ok(&["replay"]);
}

#[test]
fn a_request_that_is_too_large_is_made_once_more_with_half_of_it() {
    let place = Place::new();
    let server = server(|request| match request.n {
        n @ 1..=4 => bash(&format!("echo {n}")).into(),
        5 => error(400, "This model's maximum context length is 10 tokens"),
        _ => Answer::text("Done.").into(),
    });
    let done = place.run_on(&server, &["--yes", "Go."]);
    assert_eq!((done.code, done.out.as_str()), (0, "Done.\n"), "{done:?}");
    let (before, after) = (messages(&server, 4), messages(&server, 5));
    assert!(after.len() < before.len(), "{} {}", before.len(), after.len());
    assert_eq!(after[1]["content"], "Go.", "the task is never left out");
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    place.ok(&["replay"]);
}

#[test]
fn one_trace_goes_through_every_wire_format_and_the_text_protocol_and_back() {
    use mainpath_testkit::model_server::{Format, RecordedRequest};
    let place = Place::new();
    std::fs::write(place.work.join("a.txt"), "one\ntwo\n").unwrap();
    let thinking = |answer: Answer| Answer { thinking: "Let me think.".into(), ..answer };
    let in_text =
        |request: &RecordedRequest| request.body()["messages"][0]["content"].to_string().contains("How you answer");
    // Each run: two calls at once (one alone in text), then the answer.
    let server = server(move |request| {
        let format = Format::of_path(&request.path).unwrap();
        let asked = String::from_utf8_lossy(&request.bytes).matches("\"Round ").count();
        let text = format == Format::Chat && in_text(request);
        // The last thing said is a task, or the results of the calls; a reminder names the first task within its text.
        let is_task = String::from_utf8_lossy(&request.bytes).rfind("\"Round ").unwrap_or(0)
            > String::from_utf8_lossy(&request.bytes).rfind("two").unwrap_or(0);
        match (is_task, text) {
            (true, true) => action("read_text_file", json!({"path": "a.txt"})).into(),
            (false, true) => last(&format!("finished round {asked}")).into(),
            (true, false) => thinking(
                Answer::call("read_text_file", json!({"path": "a.txt"}))
                    .and_call("read_text_file", json!({"path": "a.txt", "offset": 2})),
            )
            .into(),
            (false, false) => thinking(Answer::text(&format!("finished round {asked}"))).into(),
        }
    });
    let model = |format| server.model_of(format);
    let rounds: Vec<(String, &str)> = vec![
        (model(Format::Chat), "native"),
        (model(Format::Anthropic), "native"),
        (model(Format::Gemini), "native"),
        (model(Format::Responses), "native"),
        (model(Format::Chat), "json"),
        (model(Format::Anthropic), "native"),
        (model(Format::Gemini), "native"),
        (model(Format::Responses), "native"),
    ];
    for ((model, protocol), n) in rounds.iter().zip(1..) {
        let task = format!("Round {n}.");
        let mut args = vec!["run", "--model", model, "--protocol", protocol, "--effort", "low", &task];
        if n > 1 {
            args.insert(1, "-c");
        }
        let done = place.run(&args);
        assert_eq!((done.code, done.out.as_str()), (0, &*format!("finished round {n}\n")), "{model}: {done:#?}");
    }
    assert_eq!((server.violations(), server.count()), (vec![], 2 * rounds.len()));
    place.ok(&["verify"]);
    let replayed = place.ok(&["replay"]);
    assert!(replayed.contains(&format!("{} requests", 2 * rounds.len())), "{replayed}");
}

#[test]
fn the_text_protocol_works_on_every_wire_format_and_is_chosen_where_a_model_has_no_calls() {
    use mainpath_testkit::model_server::Format;
    for format in [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini] {
        let place = Place::new();
        std::fs::write(place.work.join("a.txt"), "one").unwrap();
        let server = server(|request| match request.n {
            1 => action("read_text_file", json!({"path": "a.txt"})).into(),
            _ => last("It says one.").into(),
        });
        let model = server.model_of(format);
        // Nobody said so: the table says that this model has no calls of its own.
        std::fs::create_dir_all(&place.home).unwrap();
        let entry = format!("[[model]]\nname = {model:?}\ncontext_window = 65536\nabilities = [\"chat\"]\n");
        std::fs::write(place.home.join("models.toml"), entry).unwrap();
        let done = place.run(&["run", "--model", &model, "What does a.txt say?"]);
        assert_eq!((done.code, done.out.as_str()), (0, "It says one.\n"), "{format:?}: {done:#?}");
        assert_eq!((server.violations(), server.count()), (vec![], 2), "{format:?}");
        assert!(server.requests()[0].body().get("tools").is_none(), "{format:?}");
        place.ok(&["replay"]);
    }
}

#[test]
fn the_vendors_own_variables_lead_to_their_servers_with_their_keys() {
    use mainpath_testkit::model_server::Format;
    let cases = [
        ("openai:gpt-x", "OPENAI_BASE_URL", "OPENAI_API_KEY", Format::Responses, ("authorization", "Bearer k-123")),
        ("openai-chat:gpt-x", "OPENAI_BASE_URL", "OPENAI_API_KEY", Format::Chat, ("authorization", "Bearer k-123")),
        (
            "anthropic:claude-x",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            Format::Anthropic,
            ("authorization", "Bearer k-123"),
        ),
        ("gemini:gemini-x", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", Format::Gemini, ("x-goog-api-key", "k-123")),
    ];
    for (model, base, key, format, (header, value)) in cases {
        let place = Place::new();
        let server = scripted(vec![Answer::text("Hello.")]);
        let run = |with_key: bool| {
            let mut command = place.command(&["run", "--model", model, "Say hello."]);
            if with_key {
                command.env(base, server.url_of(format)).env(key, "k-123");
            }
            finish(command, None)
        };
        let done = run(false);
        assert_eq!((done.code, done.err.contains(key)), (3, true), "{model}: {done:?}");
        let done = run(true);
        assert_eq!((done.code, done.out.as_str()), (0, "Hello.\n"), "{model}: {done:#?}");
        assert_eq!((server.violations(), server.requests()[0].header(header)), (vec![], Some(value)), "{model}");
        let log = String::from_utf8(place.log(&place.trace())).unwrap();
        assert!(!log.contains("k-123"), "the key is in the log");
    }
}

#[test]
fn a_run_costs_no_more_than_it_may_and_says_what_it_cost() {
    let place = Place::new();
    let usage = mainpath::types::Usage { input: 1_000, output: 100, cache_read: 800, ..Default::default() };
    let with_usage = move |answer: Answer| Answer { usage, ..answer };
    let server = scripted(vec![with_usage(bash("echo one")), with_usage(Answer::text("Done."))]);
    let model = server.model();
    std::fs::create_dir_all(&place.home).unwrap();
    let price = "price = { input = 3000000, output = 15000000, cache_read = 300000 }";
    let entry = format!(
        "[[model]]\nname = {model:?}\ncontext_window = 8192\noutput_limit = 1024\nabilities = [\"chat\", \"tools\"]\n{price}\n"
    );
    std::fs::write(place.home.join("models.toml"), entry).unwrap();
    let done = place.run(&["run", "--model", &model, "--yes", "--max-cost", "1.50", "Go."]);
    assert_eq!(done.code, 0, "{done:?}");
    // 200 fresh at $3, 800 cached at $0.30, 100 out at $15 a million: $0.00234, twice.
    assert!(done.err.contains("2,000 in (1,600 cached), 200 out · $0.00468"), "{}", done.err);
    let shown = place.ok(&["show"]);
    assert!(shown.contains("1,000 in (800 cached), 100 out · $0.00234"), "{shown}");
    assert_eq!(server.count(), 2);
    // What the next request might cost is more than what may still be spent.
    let done = place.run(&["run", "--model", &model, "--yes", "--max-cost", "$0.001", "Go."]);
    assert_eq!((done.code, server.count()), (4, 2), "{done:?}");
    place.run(&["run", "--max-cost", "cheap", "Go."]).fails(2, "expected an amount in dollars, such as 2 or 0.50");
}

#[test]
fn a_limit_in_money_is_refused_for_a_model_without_a_price() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Done.")]));
    let model = server.model();
    let wrong =
        format!("--max-cost needs the price of {model}, which is unknown; set the price of a million tokens in ");
    place.run(&["run", "-m", &model, "--max-cost", "1", "Go."]).fails(2, &wrong);
    place.run(&["run", "-m", "scripted", "--fallback", &model, "--max-cost", "1", "Go."]).fails(2, &wrong);
    assert_eq!((place.traces().len(), server.count()), (0, 0));
    let file = place.home.join("models.toml");
    std::fs::write(
        &file,
        format!("model = [{{ name = {model:?}, price = {{ input = 1250000, output = 10000000 }} }}]"),
    )
    .unwrap();
    assert_eq!(place.run(&["run", "-m", &model, "--max-cost", "1", "Go."]).code, 0);
    std::fs::remove_file(file).unwrap();
    let trace = place.trace();
    place.run(&["run", "--trace", &trace, "-m", &model, "And?"]).fails(2, &wrong);
}

#[test]
fn an_answer_that_was_cut_or_filtered_is_never_passed_off_as_the_final_one() {
    let ended = |word: &str, text: &str| Answer { finish_reason: Some(word.into()), ..Answer::text(text) };
    for (format, cut, filtered) in [
        (Format::Chat, "length", "content_filter"),
        (Format::Responses, "max_output_tokens", "content_filter"),
        (Format::Anthropic, "max_tokens", "refusal"),
        (Format::Anthropic, "pause_turn", "refusal"),
        (Format::Gemini, "MAX_TOKENS", "SAFETY"),
    ] {
        let replies = [ended(cut, "The first half"), Answer::text("The rest.")].map(Reply::from);
        let (place, server) = (Place::new(), ModelServer::start(Behaviour::in_order(replies.to_vec())).unwrap());
        let model = server.model_of(format);
        let done = place.run(&["run", "-m", &model, "Tell."]);
        let said = "The first half\n\n[The answer was cut off here, at the model's output limit.]\n";
        assert_eq!((done.code, done.out.as_str()), (4, said), "{model}: {done:#?}");
        let trace = place.trace();
        let how = format!("the answer was cut off at the model's output limit; continue with mainpath resume {trace}");
        assert!(done.err.contains(&how), "{model}: {done:#?}");
        let done = place.run(&["resume"]);
        assert_eq!((done.code, done.out.as_str()), (0, "The rest.\n"), "{model}: {done:#?}");
        place.ok(&["replay"]);

        for text in ["What it may not say", ""] {
            let (place, server) = (Place::new(), scripted(vec![ended(filtered, text)]));
            let model = server.model_of(format);
            let done = place.run(&["run", "-m", &model, "Tell."]);
            assert_eq!((done.code, server.count()), (1, 1), "{model}: {done:#?}");
            assert!(!done.out.contains("What it may not say"), "{model}: {done:#?}");
            assert!(done.err.contains("was refused or cut by a content filter"), "{model}: {done:#?}");
            let events = place.events(&place.trace());
            let failed = events.iter().find(|event| event["type"] == "model_failed").unwrap();
            assert_eq!(failed["data"]["error"]["kind"], "content_filter", "{model}");
            assert_eq!(events.last().unwrap()["data"]["reason"], "model_error", "{model}");
            place.ok(&["replay"]);
        }
    }
}

#[test]
fn a_summary_is_held_to_no_schema_and_to_no_protocol() {
    for protocol in ["native", "json"] {
        let place = Place::new();
        place.config("context_window = 7000\nreserved_output = 300\n");
        std::fs::write(place.work.join("schema.json"), r#"{"type":"object","required":["n"]}"#).unwrap();
        std::fs::write(place.work.join("a.txt"), "a line of text\n".repeat(60)).unwrap();
        let server = server(move |request| {
            let body = String::from_utf8_lossy(&request.bytes).into_owned();
            let summarised = body.contains("Summary of the earlier conversation");
            let answer = match (body.contains("about to outgrow"), summarised, protocol) {
                (true, ..) => Answer::text("The file was read; nothing else."),
                (false, true, "native") => Answer::text("{\"n\":1}"),
                (false, true, _) => Answer::text("{\"type\":\"final\",\"answer\":{\"n\":1}}"),
                (false, false, "native") => Answer::call("read_text_file", json!({"path": "a.txt"})),
                (false, false, _) => action("read_text_file", json!({"path": "a.txt"})),
            };
            let usage = mainpath::types::Usage { input: body.len() as u64 / 4, output: 20, ..Default::default() };
            Answer { usage, ..answer }.into()
        });
        let done = place.run_on(
            &server,
            &["--protocol", protocol, "--output-schema", "schema.json", "--repeated-failure-limit", "0", "Read."],
        );
        assert_eq!((done.code, done.out.as_str()), (0, "{\"n\":1}\n"), "{protocol}: {done:#?}");
        let events = place.events(&place.trace());
        let count = |name: &str| events.iter().filter(|event| event["type"] == name).count();
        assert_eq!((count("compacted"), count("model_malformed")), (1, 0), "{protocol}");
        place.ok(&["replay"]);
    }
}
