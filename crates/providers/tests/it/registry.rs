//! The tables of providers and models.

use mainpath_providers::{Abilities, BadTable, LocalLimits, ModelFacts, Registry, local_servers_within};
use mainpath_testkit::model_server::{Behaviour, ModelServer, Reply};
use mainpath_types::{Price, Usage};
use std::collections::BTreeSet;
use std::net::TcpListener;
use tokio::net::TcpSocket;

fn facts(model: &str) -> ModelFacts {
    Registry::bundled().facts(model)
}

fn with_models(text: &str) -> Registry {
    let mut registry = Registry::bundled().clone();
    registry.add_models("models.toml", text).unwrap();
    registry
}

/// What is said about a table of providers, then about one of models.
fn wrong(providers: &str, models: &str) -> String {
    let mut registry = Registry::bundled().clone();
    let read = registry.add_providers("p.toml", providers).and_then(|()| registry.add_models("m.toml", models));
    let said = read.unwrap_err().to_string();
    assert!(!said.contains('\n'), "{said}");
    said
}

#[test]
fn every_bundled_provider_and_model_is_sane() {
    let registry = Registry::bundled();
    let names: Vec<&str> = registry.providers().iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "openai",
            "openai-chat",
            "anthropic",
            "gemini",
            "openrouter",
            "deepseek",
            "mistral",
            "groq",
            "xai",
            "ollama",
            "lmstudio",
            "llamacpp",
            "mlx",
            "vllm",
            "openai-compatible",
            "openai-responses",
            "anthropic-compatible",
            "gemini-compatible"
        ]
    );
    for provider in registry.providers() {
        let name = &provider.name;
        // A key's name must be known to be one, so that its value is kept out of logs.
        let secret = |variable: &String| ["_KEY", "_TOKEN"].iter().any(|end| variable.ends_with(end));
        assert!(provider.key_variables.iter().all(secret), "{name}");
        assert_eq!(provider.key_needed, provider.base_url.is_some() && !provider.local, "{name}");
        let url = provider.base_url.as_deref().unwrap_or("https://h");
        assert_eq!(url.starts_with("http://127.0.0.1:"), provider.local, "{name}");
        assert!(provider.endpoint(Some(url), &|_| None).is_ok(), "{name}");
        if let Some(model) = &provider.default_model {
            assert!(registry.facts(&format!("{name}:{model}")).known, "{name}:{model}");
        }
        let models: Vec<&str> = registry.models_of(provider).collect();
        assert_eq!(models.is_empty(), provider.default_model.is_none(), "{name}: {models:?}");
        assert!(models.len() <= 10 && BTreeSet::from_iter(&models).len() == models.len(), "{models:?}");
        for model in models {
            let facts = registry.facts(model.trim_end_matches('*'));
            let price = facts.price.unwrap();
            assert!(facts.known && facts.abilities.chat && facts.abilities.tools, "{model}");
            assert!(facts.output_limit <= facts.context_window && facts.context_window >= 32_000, "{model}");
            assert!(price.input <= price.output && price.output <= 200_000_000, "{model}");
            assert!(price.cache_read <= price.input && price.input <= price.cache_write, "{model}");
            assert!(price.input > 10_000, "{model} costs less than a cent a million: is that in micro-units?");
        }
    }
}

#[test]
fn the_longest_name_that_fits_says_what_a_model_is() {
    let sonnet = facts("anthropic:claude-sonnet-4-5-20250929");
    let expected = ModelFacts {
        context_window: 200_000,
        output_limit: 64_000,
        abilities: Abilities {
            chat: true,
            tools: true,
            vision: true,
            audio: false,
            document: true,
            reasoning: true,
            structured_output: true,
        },
        price: Some(Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 }),
        known: true,
    };
    assert_eq!(sonnet, expected);
    assert_eq!(facts(" anthropic:claude-sonnet-4-5 "), expected);
    let price = |model: &str| facts(model).price.map(|price| price.input);
    assert_eq!([price("openai:gpt-5.5-2026-04-23"), price("openai:gpt-5.5-pro")], [Some(5_000_000), Some(30_000_000)]);
    assert_eq!(facts("openai-chat:gpt-5.5"), facts("openai:gpt-5.5"));
    assert_eq!(
        facts("gemini:gemini-2.5-flash-lite").price,
        Some(Price { input: 100_000, output: 400_000, cache_read: 10_000, cache_write: 100_000 })
    );
}

#[test]
fn of_a_model_that_nobody_described_only_what_is_safe_is_assumed() {
    let assumed = ModelFacts {
        context_window: 16_384,
        output_limit: 2_048,
        abilities: Abilities { chat: true, tools: true, ..Abilities::default() },
        price: None,
        known: false,
    };
    assert_eq!(facts("openai-compatible:http://127.0.0.1:8080/v1#gpt-5.5"), assumed);
    assert_eq!(facts("ollama:qwen3:8b"), ModelFacts { price: Some(Price::default()), ..assumed });
    // A vendor's newer models reason, and take no temperature.
    let abilities = Abilities { reasoning: true, ..assumed.abilities };
    assert_eq!(facts("openai:gpt-99"), ModelFacts { abilities, ..assumed });
    // What is played has no limits to warn of.
    assert!(facts("scripted").known && facts("scripted:a.toml").known && facts("playback:t").known);
}

#[test]
fn a_price_makes_micro_units_of_a_usage() {
    let price = facts("anthropic:claude-sonnet-4-5").price.unwrap();
    // 1,000 fresh at $3, 100,000 read at $0.30, 2,000 written at $3.75, 500 out at $15, per million.
    let usage = Usage { input: 103_000, output: 500, cache_read: 100_000, cache_write: 2_000, reasoning: 400 };
    assert_eq!(price.cost(&usage), 3_000 + 30_000 + 7_500 + 7_500);
    let price = facts("deepseek:deepseek-v4-flash").price.unwrap();
    assert_eq!(price.cost(&Usage { input: 1_000_000, output: 1_000_000, ..Usage::default() }), 1_500_000);
    // A millionth of a dollar is the least that anything costs.
    assert_eq!(price.cost(&Usage { output: 1, ..Usage::default() }), 2);
}

#[test]
fn ones_own_models_override_field_by_field_and_from_general_to_particular() {
    let registry = with_models(
        r#"
        [[model]]
        name = "ollama:*"
        context_window = 32_768
        abilities = ["chat", "vision"]
        [[model]]
        name = "ollama:qwen3*"
        output_limit = 9_000
        [[model]]
        name = "anthropic:claude-sonnet-4-5*"
        price = { input = 1, output = 2 }
        [[model]]
        name = "openai-compatible:http://127.0.0.1:8080/v1#mine"
        context_window = 100_000
        "#,
    );
    let qwen = registry.facts("ollama:qwen3:8b");
    let abilities = Abilities { chat: true, vision: true, ..Abilities::default() };
    let expected = ModelFacts {
        context_window: 32_768,
        output_limit: 9_000,
        abilities,
        price: Some(Price::default()),
        known: true,
    };
    assert_eq!(qwen, expected);
    assert_eq!(registry.facts("ollama:llama"), ModelFacts { output_limit: 2_048, ..expected });
    let price = Price { input: 1, output: 2, cache_read: 1, cache_write: 1 };
    let bundled = facts("anthropic:claude-sonnet-4-5");
    assert_eq!(registry.facts("anthropic:claude-sonnet-4-5"), ModelFacts { price: Some(price), ..bundled });
    let mine = registry.facts("openai-compatible:http://127.0.0.1:8080/v1#mine");
    assert_eq!((mine.context_window, mine.output_limit, mine.known), (100_000, 2_048, true));
}

#[test]
fn ones_own_providers_are_added_and_known_ones_changed_field_by_field() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Registry::read(folder.path()).as_ref(), Ok(Registry::bundled()));
    let providers = r#"
        [[provider]]
        name = "openai"
        format = "openai-chat"
        quirks = { stream = false }
        [[provider]]
        name = "anthropic"
        headers = { x-team = "blue" }
        [[provider]]
        name = "house"
        format = "openai-chat"
        base_url = "http://127.0.0.1:9/v1"
        key_variables = ["HOUSE_KEY"]
        headers = { x-team = "blue" }
    "#;
    std::fs::write(folder.path().join("providers.toml"), providers).unwrap();
    let model = "[[model]]\nname = \"house:big*\"\ncontext_window = 70_000\n";
    std::fs::write(folder.path().join("models.toml"), model).unwrap();
    let registry = Registry::read(folder.path()).unwrap();
    let (old, new) = (Registry::bundled().provider("openai").unwrap(), registry.provider("openai").unwrap());
    let mut expected = old.clone();
    expected.format = mainpath_providers::WireFormat::OpenaiChat;
    expected.quirks.stream = false;
    assert_eq!(new, &expected);
    let headers = &registry.provider("anthropic").unwrap().headers;
    let expected = [("anthropic-version", "2026-10-21"), ("x-team", "blue")];
    assert_eq!(headers, &expected.map(|(name, value)| (name.to_string(), value.to_string())));
    let house = registry.provider("house").unwrap();
    let key = |name: &str| (name == "HOUSE_KEY").then(|| "k".to_string());
    assert_eq!((house.lacks_key(&|_| None), house.lacks_key(&key)), (Some("HOUSE_KEY"), None));
    assert_eq!(house.endpoint(None, &key).unwrap().headers, [("x-team".to_string(), "blue".to_string())]);
    assert_eq!(registry.resolve("house:big-1", &key).unwrap().codec().format(), "openai-chat");
    assert_eq!(registry.facts("house:big-1").context_window, 70_000);
    // Unlike other formats' absence, this is what was asked for: the overridden provider resolves.
    let openai = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_string());
    assert_eq!(registry.resolve("openai:m", &openai).unwrap().codec().format(), "openai-chat");
}

#[test]
fn what_is_wrong_in_a_table_is_one_line_with_its_place() {
    let provider = |text: &str| wrong(&format!("\n[[provider]]\nname = \"mine\"\n{text}"), "");
    assert_eq!(
        provider(""),
        "p.toml, line 2: the provider \"mine\" is new and lacks its wire format; add format = \"openai-chat\", \
         \"openai-responses\", \"anthropic\" or \"gemini\""
    );
    assert_eq!(
        provider("format = \"soap\""),
        "p.toml, line 4: unknown variant `soap`, expected one of `openai-chat`, `openai-responses`, `anthropic`, `gemini`"
    );
    assert!(
        provider("formt = \"x\"")
            .starts_with("p.toml, line 4: unknown field `formt`, expected one of `name`, `format`")
    );
    assert_eq!(
        provider("format = \"gemini\"\nbase_url = \"host\""),
        "p.toml, line 2: the base_url of \"mine\" is wrong: \"host\" is not an http:// or https:// address"
    );
    assert_eq!(
        provider("format = \"gemini\"\nheaders = { \"x y\" = \"v\" }"),
        "p.toml, line 2: the header \"x y\" of \"mine\" cannot be sent; correct it"
    );
    let twice = "format = \"gemini\"\n[[provider]]\nname = \"mine\"";
    assert_eq!(provider(twice), "p.toml, line 5: the provider \"mine\" is listed twice; remove one");
    assert_eq!(
        wrong("[[provider]]\nname = \"scripted\"", ""),
        "p.toml, line 1: the name \"scripted\" is taken; choose another"
    );
    assert_eq!(
        wrong("[[provider]]\nname = \"a b\"", ""),
        "p.toml, line 1: \"a b\" is not a provider's name; use a-z, 0-9, - and _"
    );
    assert!(wrong("x = [", "").starts_with("p.toml, line 1: "));
    let model = |text: &str| wrong("", &format!("# models\n\n[[model]]\n{text}"));
    assert_eq!(model(""), "m.toml, line 3: missing field `name`");
    assert_eq!(
        model("name = \"gpt-5\""),
        "m.toml, line 3: \"gpt-5\" names no known provider; write PROVIDER:MODEL, as --model takes it"
    );
    assert_eq!(
        model("name = \"openai:*-mini\""),
        "m.toml, line 3: \"openai:*-mini\" has a * that is not at the end; only there it matches anything"
    );
    assert_eq!(
        model("name = \"openai:m\"\n[[model]]\nname = \"openai:m\""),
        "m.toml, line 5: the model \"openai:m\" is listed twice; remove one"
    );
    assert_eq!(
        model("name = \"openai:m\"\noutput_limit = 0"),
        "m.toml, line 3: the model \"openai:m\" has size 0; give a size above 0, or leave it out"
    );
    assert!(model("name = \"openai:m\"\ncontext_window = -1").starts_with("m.toml, line 5: "));
    assert!(
        model("name = \"openai:m\"\nabilities = [\"fly\"]")
            .starts_with("m.toml, line 5: unknown variant `fly`, expected one of `chat`")
    );
}

#[test]
fn a_table_that_cannot_be_read_is_an_error_and_one_that_is_not_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("models.toml");
    std::fs::create_dir(&file).unwrap();
    let shown = file.display().to_string();
    let expected = BadTable::Unreadable { file: shown.clone(), why: "it is not a file".into() };
    assert_eq!(Registry::read(folder.path()), Err(expected.clone()));
    assert_eq!(expected.to_string(), format!("{shown} cannot be read: it is not a file"));
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, b"\xff").unwrap();
    let said = Registry::read(folder.path()).unwrap_err().to_string();
    assert!(said.starts_with(&format!("{shown} cannot be read: ")), "{said}");
}

#[test]
fn local_servers_are_asked_for_their_models_where_they_are() {
    let server = ModelServer::start(Behaviour::new(|_| Reply::Close)).unwrap();
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Its port is taken, and nobody listens there.
    let gone = TcpSocket::new_v4().unwrap();
    gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = (gone.local_addr().unwrap(), gone);
    // Of those at `there`, each is asked within `limits`.
    let said = |limits: LocalLimits, there: &[(&str, String)]| -> Vec<_> {
        let local = ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "MLX_BASE_URL", "VLLM_BASE_URL"];
        let env = |name: &str| {
            let found = there.iter().find(|(known, _)| *known == name).map(|(_, address)| address.clone());
            found.or_else(|| local.contains(&name).then(|| "nonsense://".into()))
        };
        let found = tokio.block_on(local_servers_within(limits, Registry::bundled(), &env));
        found.iter().map(|server| (server.provider.clone(), server.at.clone(), server.model())).collect()
    };
    let all = |expected: &[(&str, String, Option<&str>)]| -> Vec<_> {
        let owned = |(provider, at, model): &(&str, String, Option<&str>)| {
            (provider.to_string(), at.clone(), model.map(String::from))
        };
        expected.iter().map(owned).collect()
    };
    // Whoever answers is waited for, on a slow machine too; where nobody listens, that is known at once.
    let long = std::time::Duration::from_secs(60);
    let there =
        [("OLLAMA_HOST", gone.0.to_string()), ("LLAMACPP_BASE_URL", server.url()), ("MLX_BASE_URL", server.url())];
    let expected = all(&[
        ("ollama", gone.0.to_string(), None),
        ("llamacpp", server.addr().to_string(), Some("llamacpp:test-model")),
        ("mlx", server.addr().to_string(), Some("mlx:test-model")),
    ]);
    assert_eq!(said(LocalLimits { connect: long, answer: long }, &there), expected);
    // Whoever says nothing is not.
    let at = silent.local_addr().unwrap().to_string();
    let limits = LocalLimits { answer: std::time::Duration::from_millis(100), ..LocalLimits::default() };
    let there = [("LMSTUDIO_BASE_URL", format!("http://{at}/v1"))];
    assert_eq!(said(limits, &there), all(&[("lmstudio", at, None)]));
}
