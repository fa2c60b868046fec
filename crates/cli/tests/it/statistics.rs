//! `mainpath stats`: what a run, several runs and several days came to.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer, Reply};
use serde_json::{Value, json};

fn server_that_refuses() -> ModelServer {
    server(|_| Reply::Error { status: 401, headers: Vec::new(), body: "{}".into() })
}

#[test]
fn stats_count_what_each_tool_did() {
    let answers = vec![
        bash("true"),
        bash("exit 3"),
        Answer::call("read_text_file", json!({"path": "none"})),
        Answer::call("read_text_file", json!({})),
        Answer::call("nonsense", json!({})),
        Answer::text("Done."),
    ];
    let (place, server) = (Place::new(), scripted(answers));
    let done = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let all: Vec<Value> =
        place.run(&["stats", "--json"]).out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<&Value> = all.iter().filter(|line| line.get("tool").is_some()).collect();
    let counted: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!([
                line["tool"],
                line["stats"]["calls"],
                line["stats"]["ok"],
                line["stats"]["errors"],
                line["success_rate"]
            ])
        })
        .collect();
    let expected = [
        json!(["(unknown)", 1, 0, {"refused": 1}, null]),
        json!(["bash", 2, 1, {"exit_code": 1}, 0.5]),
        json!(["read_text_file", 2, 0, {"not_found": 1, "refused": 1}, 0.0]),
    ];
    assert_eq!(counted, expected);
    let table = place.run(&["stats"]).out;
    assert!(table.lines().nth(2).unwrap().starts_with("bash                              2    50 %"), "{table}");
    assert!(table.lines().nth(2).unwrap().ends_with("  exit_code 1"), "{table}");
    // No price of the model is known: that it cost nothing is not said.
    let model = table.lines().find(|line| line.starts_with("openai-compatible")).unwrap();
    let cells = table.lines().skip_while(|line| *line != model).take(2).collect::<Vec<_>>().join(" ");
    assert!(cells.contains(" -") && !table.contains('$'), "{table}");
    let again = place.run(&["run", "--yes", "-m", &server.model(), "Do it."]);
    assert_eq!(again.code, 0, "{again:#?}");
    assert!(place.run(&["stats", "--all"]).out.contains("in 2 traces"));
    let empty = Place::new();
    empty.run(&["stats"]).fails(1, "there are no traces yet");
}

#[test]
fn stats_over_runs_say_how_they_ended_what_failed_and_what_they_cost() {
    let place = Place::new();
    place.config("");
    let server = scripted(vec![bash("true"), bash("true"), Answer::text("Done.")]);
    let price = "[[model]]\nname = \"openai-compatible:*\"\nprice = { input = 1_000_000, output = 2_000_000 }\n";
    std::fs::write(place.home.join("models.toml"), price).unwrap();
    let run = |more: &[&str]| place.run_on(&server, &[&["--yes"], more, &["Do it."]].concat());
    assert_eq!(run(&[]).code, 0);
    assert_eq!(run(&["--max-turns", "2"]).code, 4);
    let broken = server_that_refuses();
    assert_eq!(place.run_on(&broken, &["--yes", "Do it."]).code, 3);
    let read = |args: &[&str]| -> Vec<Value> {
        place
            .ok(&[&["stats", "--json"], args].concat())
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let all = read(&["--all", "--since", "7d"]);
    let of = |name: &str| all.iter().filter(|line| line.get(name).is_some()).collect::<Vec<_>>();
    let reasons: Vec<Value> =
        of("finish_reason").iter().map(|line| json!([line["finish_reason"], line["runs"]])).collect();
    assert_eq!(reasons, [json!(["final", 1]), json!(["max_turns", 1]), json!(["model_error", 1])]);
    let total = &of("total")[0]["total"];
    assert_eq!(
        (&total["runs"], &total["traces"], &total["failed"], &total["turns"]["count"]),
        (&json!(3), &json!(3), &json!(2), &json!(6))
    );
    // Each answer reports 10 tokens in and 5 out, at $1 and $2 for a million: 20 micro-dollars.
    assert_eq!((&total["usage"]["input"], &total["usage"]["output"]), (&json!(50), &json!(25)));
    assert_eq!((&total["cost_micros"], &total["cost"]), (&json!(100), &json!("0.000100")));
    let models = of("model");
    let requests: u64 = models.iter().map(|line| line["stats"]["requests"].as_u64().unwrap()).sum();
    assert_eq!(requests, 6, "{models:#?}");
    let failing: Vec<&&Value> = models.iter().filter(|line| line["failure_rate"] != 0.0).collect();
    assert_eq!((failing.len(), &failing[0]["stats"]["failed"]), (1, &json!({"auth": 1})));
    assert_eq!(of("day").len(), 1);
    let table = place.ok(&["stats", "--all"]);
    assert!(table.contains("3 runs: final 1, turn limit 1, model error 1; 67 % failed"), "{table}");
    assert!(table.contains("tokens 50 in, 25 out · $0.0001"), "{table}");
    // What the index keeps is what the logs say, and what is old does not count.
    std::fs::write(place.home.join("index.sqlite"), "no index").unwrap();
    assert_eq!(read(&["--all"]), read(&["--all", "--since", "7d"]));
    // The runs are older than the limit even if no other process has taken any time.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let none = read(&["--since", "1ms"]);
    assert_eq!((none.len(), &none[0]["total"]["runs"]), (1, &json!(0)));
    place.run(&["stats", "--since", "soon"]).fails(2, "");
}

#[test]
fn models_with_long_names_are_told_apart_in_statistics() {
    let (place, server) = (Place::new(), scripted(vec![Answer::text("Done.")]));
    let (one, two) = (server.model(), format!("{}-2", server.model()));
    for model in [&one, &two] {
        assert_eq!(place.run(&["run", "-m", model, "Do it."]).code, 0);
    }
    let table = place.ok(&["stats", "--all"]);
    for model in [&one, &two] {
        assert!(model.len() > 28 && table.lines().any(|line| line == model), "{model}: {table}");
    }
}
