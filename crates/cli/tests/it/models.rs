//! Which models there are, which one is taken when none is named, and what is known of it.

use crate::support::*;
use mainpath_testkit::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

/// A machine on which nobody serves models.
const NOTHING_LOCAL: [(&str, &str); 5] = [
    ("OLLAMA_HOST", "127.0.0.1:1"),
    ("LMSTUDIO_BASE_URL", "http://127.0.0.1:1/v1"),
    ("LLAMACPP_BASE_URL", "http://127.0.0.1:1/v1"),
    ("MLX_BASE_URL", "http://127.0.0.1:1/v1"),
    ("VLLM_BASE_URL", "http://127.0.0.1:1/v1"),
];

fn with(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Done {
    let mut command = place.command(args);
    command.envs(NOTHING_LOCAL).envs(env.iter().copied());
    finish(command, None)
}

fn answering() -> ModelServer {
    scripted(vec![Answer::text("The end.")])
}

fn table(place: &Place, name: &str, text: &str) {
    std::fs::create_dir_all(&place.home).unwrap();
    std::fs::write(place.home.join(name), text).unwrap();
}

/// The spec of the one trace that there is.
fn spec(place: &Place) -> Value {
    let events = place.events(&place.trace());
    events.iter().rev().find(|event| event["type"] == "spec_changed").unwrap()["data"]["spec"].clone()
}

#[test]
fn models_says_what_is_usable_and_what_is_missing_on_80_columns() {
    let (place, server) = (Place::new(), answering());
    let at = server.addr().to_string();
    let env = [("GROQ_API_KEY", "sk-secret"), ("OLLAMA_HOST", at.as_str())];
    let done = with(&place, &["models", "groq", "deepseek:deepseek-v4-pro", "openai-chat", "ollama", "vllm"], &env);
    let home = place.home.display();
    let expected = format!(
        "
                                          window output can         in     out
+ groq: ready (GROQ_API_KEY)
  groq:openai/gpt-oss-120b                  131k    65k t---rs    0.15    0.60
  groq:openai/gpt-oss-20b                   131k    65k t---rs   0.075    0.30
  groq:qwen/qwen3.8-27b                     131k    16k tv--rs    0.80    4.00
- deepseek: set DEEPSEEK_API_KEY
  deepseek:deepseek-v4-pro                 1.00M   393k t---rs    1.32    3.96
- openai-chat: set OPENAI_API_KEY; same models as openai
+ ollama: answers at {at}
  ollama:test-model                         16k?   2048 t-----    0.00    0.00
- vllm: not running (127.0.0.1:1)

window, output: tokens; in, out: USD per million tokens; ?: assumed
can: t tools, v images, a audio, d documents, r reasons, s JSON Schema
any other server: openai-compatible:URL#MODEL; likewise openai-responses,
anthropic-compatible, gemini-compatible
your own: providers.toml, models.toml in {home}
"
    );
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, &expected[1..], ""));
    let all = with(&place, &["models"], &[]).out;
    for provider in ["openai", "anthropic", "gemini", "openrouter", "mistral", "xai", "lmstudio", "llamacpp", "mlx"] {
        assert!(all.lines().any(|line| line.starts_with(&format!("- {provider}: "))), "{provider} in {all}");
    }
    let too_long = |line: &&str| line.chars().count() > 80 && !line.starts_with("your own");
    assert_eq!(all.lines().find(too_long), None);
    assert!(!place.home.exists(), "looking changes nothing");
}

#[test]
fn models_speaks_json_lines_to_programs() {
    let (place, server) = (Place::new(), answering());
    let env = [("MISTRAL_API_KEY", "sk-secret"), ("MISTRAL_BASE_URL", &server.url())];
    let done = with(&place, &["models", "--json", "mistral:mistral-large-4", "ollama", "groq:new"], &env);
    let lines: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        json!({
            "provider": "mistral", "format": "openai-chat", "usable": true, "model": "mistral:mistral-large-4",
            "state": "ready (MISTRAL_API_KEY), at the address in MISTRAL_BASE_URL", "known": true,
            "context_window": 1_048_576, "output_limit": 1_048_576,
            "abilities": ["chat", "tools", "vision", "reasoning", "structured_output"],
            "price": {"input": 1_360_000, "output": 4_180_000, "cache_read": 140_000, "cache_write": 1_360_000},
        }),
        json!({
            "provider": "ollama", "format": "openai-chat", "usable": false, "model": null,
            "state": "not running (127.0.0.1:1)",
        }),
        json!({
            "provider": "groq", "format": "openai-chat", "usable": false, "model": "groq:new", "state": "set GROQ_API_KEY",
            "known": false, "context_window": 16_384, "output_limit": 2_048, "abilities": ["chat", "tools", "reasoning"],
            "price": null,
        }),
    ];
    assert_eq!((done.code, lines.as_slice()), (0, &expected[..]));
    assert!(!done.out.contains("sk-secret"));
}

#[test]
fn a_provider_that_does_not_exist_is_answered_with_those_that_do() {
    let place = Place::new();
    with(&place, &["models", "opanai"], &[])
        .fails(2, "there is no provider \"opanai\"; there are: openai, openai-chat,");
    with(&place, &["models", "opanai:gpt-5"], &[]).fails(2, "there is no provider \"opanai\"; there are: openai,");
}

#[test]
fn without_a_model_the_first_provider_with_a_key_is_taken_with_what_is_known_of_its_model() {
    let (place, server) = (Place::new(), answering());
    let url = server.url();
    let env = [("XAI_API_KEY", "sk-x"), ("MISTRAL_API_KEY", "sk-m"), ("MISTRAL_BASE_URL", url.as_str())];
    let done = with(&place, &["run", "Do it."], &env);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    let note = "using mistral:mistral-medium-latest, because MISTRAL_API_KEY is set; choose another with --model or MAINPATH_MODEL";
    assert_eq!(done.own_lines(), [note]);
    let requests = server.requests();
    let body = requests[0].body();
    // It reasons, so no temperature is forced on it.
    assert_eq!((&body["model"], body.get("temperature")), (&json!("mistral-medium-latest"), None));
    let spec = spec(&place);
    assert_eq!(
        json!([spec["model"], spec["context_window"], spec["reserved_output"], spec["price"]]),
        json!([
            "mistral:mistral-medium-latest", 262_144, 16_384,
            {"input": 1_500_000, "output": 7_500_000, "cache_read": 150_000, "cache_write": 1_500_000}
        ])
    );
    // 10 tokens in at $1.50 and 5 out at $7.50 a million: 52.5 millionths, rounded up.
    let listed: Value = serde_json::from_str(place.ok(&["ls", "--json"]).trim()).unwrap();
    assert_eq!(listed["cost_micros"], 53);
}

#[test]
fn without_a_key_a_local_server_is_taken_and_without_that_it_is_said_how_to_set_a_model() {
    let (place, server) = (Place::new(), answering());
    let at = server.addr().to_string();
    let done = with(&place, &["run", "Do it."], &[("OLLAMA_HOST", &at)]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    let note = format!("using ollama:test-model, found at {at}; choose another with --model or MAINPATH_MODEL");
    assert_eq!(done.own_lines(), [note]);
    assert_eq!(spec(&place)["model"], "ollama:test-model");
    let alone = Place::new();
    let done = with(&alone, &["run", "Do it."], &[]);
    done.fails(2, "no model is set: give --model ");
    assert!(done.err.contains("mainpath demo") && done.out.is_empty() && alone.traces().is_empty(), "{done:#?}");
}

#[test]
fn a_model_that_nobody_described_is_warned_of_and_the_line_that_is_proposed_describes_it() {
    let (place, server) = (Place::new(), answering());
    let model = server.model();
    let run = |more: &[&str]| place.run(&[&["run", "--model", &model], more, &["Do it."]].concat());
    let warnings = |done: &Done| {
        let lines = done.err.lines().filter(|line| line.starts_with("! unknown model"));
        lines.map(String::from).collect::<Vec<_>>()
    };
    let done = run(&[]);
    let expected = format!(
        "! unknown model {model}: assuming a window of 16,384 tokens, answers up to 2,048, no price; to set the right values: \
         mainpath models add {model} --context-window 65536"
    );
    assert_eq!(warnings(&done), [expected]);
    let noted = std::fs::metadata(place.home.join("unknown-models")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&noted) & 0o777, 0o600);
    assert_eq!(json!([spec(&place)["context_window"], spec(&place)["reserved_output"]]), json!([16_384, 2_048]));
    let resumed = place.run(&["run", "-c", "More."]);
    assert!(resumed.code == 0 && warnings(&resumed).is_empty(), "it is said once: {resumed:#?}");
    let events = run(&["--json"]);
    assert!(events.code == 0 && events.err.is_empty(), "{events:#?}");
    // As the line says.
    std::fs::remove_file(place.home.join("unknown-models")).unwrap();
    let added =
        place.ok(&["models", "add", &model, "--context-window", "65536", "--price-in", "1.25", "--price-out", "10"]);
    assert!(added.starts_with(&format!("{model} is described in ")), "{added}");
    let again = place.run(&["models", "add", &model, "--context-window", "0"]);
    assert_eq!(again.code, 1, "{again:#?}");
    let done = run(&[]);
    assert!(done.code == 0 && warnings(&done).is_empty(), "{done:#?}");
}

#[test]
fn another_model_brings_its_own_window_and_price_to_a_trace() {
    let (place, server) = (Place::new(), answering());
    let done = place.run_on(&server, &["Do it."]);
    assert_eq!(done.code, 0, "{done:#?}");
    let url = server.url();
    let env = [("GROQ_API_KEY", "sk-g"), ("GROQ_BASE_URL", url.as_str())];
    let done = with(&place, &["run", "-c", "--model", "groq:qwen/qwen3.8-27b", "More."], &env);
    assert_eq!(done.code, 0, "{done:#?}");
    let spec = spec(&place);
    assert_eq!(
        json!([spec["context_window"], spec["reserved_output"], spec["price"]["output"], spec["temperature"]]),
        json!([131_072, 16_384, 4_000_000, null])
    );
    place.ok(&["replay"]);
}

#[test]
fn ones_own_provider_is_a_provider_like_the_others() {
    let (place, server) = (Place::new(), answering());
    let url = server.url();
    let profile = format!(
        "[[provider]]\nname = \"house\"\nformat = \"openai-chat\"\nbase_url = {url:?}\nkey_variables = [\"HOUSE\"]\n"
    );
    table(&place, "providers.toml", &profile);
    table(&place, "models.toml", "[[model]]\nname = \"house:*\"\ncontext_window = 50_000\n");
    with(&place, &["run", "--model", "house:big", "Do it."], &[]).fails(3, "no key for \"house:big\": set HOUSE");
    let task = "Do not tell house-secret-1.";
    let done = with(&place, &["run", "--model", "house:big", task], &[("HOUSE", "house-secret-1")]);
    assert_eq!((done.code, done.out.as_str()), (0, "The end.\n"), "{done:#?}");
    assert_eq!(server.requests()[0].body()["model"], "big");
    // The key is a secret although its name does not say so, and replaying needs none.
    assert!(!String::from_utf8(place.log(&place.trace())).unwrap().contains("house-secret-1"));
    place.ok(&["replay"]);
    assert!(with(&place, &["models", "house"], &[]).out.starts_with("- house: set HOUSE\n"));
}

#[test]
fn a_mistake_in_ones_own_tables_is_one_line_with_its_place() {
    let place = Place::new();
    table(&place, "models.toml", "\n[[model]]\nname = \"openai:m\"\ncontxt_window = 1\n");
    let file = place.home.join("models.toml").display().to_string();
    for args in [&["models"][..], &["run", "--model", "scripted", "x"]] {
        place.run(args).fails(1, &format!("{file}, line 4: unknown field `contxt_window`, expected one of `name`"));
    }
    table(&place, "models.toml", "");
    table(&place, "providers.toml", "[[provider]]\nname = \"x\"\nformat = \"openai-chat\"\nbase_url = \"ftp://x\"\n");
    let file = place.home.join("providers.toml").display().to_string();
    place.run(&["models"]).fails(
        1,
        &format!("{file}, line 1: the base_url of \"x\" is wrong: \"ftp://x\" is not an http:// or https:// address"),
    );
}
