//! From names to models.

use mainpath_providers::{ModelPlace, Registry, UnknownModel, WireFormat, resolve, wire_model};
use std::io::Write;

fn env(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let set: Vec<(String, String)> = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn format(model: &str, set: &[(&str, &str)]) -> &'static str {
    resolve(model, &env(set)).map(|provider| provider.codec().format()).unwrap()
}

fn refused(model: &str) -> String {
    let error = resolve(model, &env(&[("MAINPATH_API_KEY", "sk-secret")])).map(|_| ()).unwrap_err().to_string();
    assert!(!error.contains('\n') && !error.contains("sk-secret"), "{error}");
    error
}

#[test]
fn every_form_names_a_model() {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(b"[[turn]]\nfinal = \"x\"\n").unwrap();
    assert_eq!(format("scripted", &[]), "neutral");
    assert_eq!(format(&format!("scripted:{}", file.path().display()), &[]), "neutral");
    assert_eq!(format("openai-compatible:http://127.0.0.1:8080/v1#a/b:8b", &[]), "openai-chat");
    assert_eq!(format(" openai-chat:gpt-5 ", &[("OPENAI_API_KEY", "k")]), "openai-chat");
    assert_eq!(format("openai-chat:m", &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]), "openai-chat");
}

#[test]
fn every_provider_resolves_to_its_format_with_each_of_its_keys_and_without_if_it_needs_none() {
    for profile in Registry::bundled().providers() {
        let model = match profile.base_url {
            Some(_) => format!("{}:some/model:8b", profile.name),
            None => format!("{}:https://host.example/base#some/model:8b", profile.name),
        };
        assert_eq!(wire_model(&model), "some/model:8b");
        let spoken = |set: &[(&str, &str)]| {
            let provider = resolve(&model, &env(set)).map_err(|error| error.to_string())?;
            Ok(provider.codec().format())
        };
        for variable in &profile.key_variables {
            assert_eq!(spoken(&[(variable, "sk-1")]), Ok(profile.format.name()), "{variable}");
        }
        let without = match profile.key_needed {
            true => Err(format!("no key for {model:?}: set {}", profile.key_variables[0])),
            false => Ok(profile.format.name()),
        };
        assert_eq!(spoken(&[]), without);
    }
}

#[test]
fn the_models_own_name_is_what_the_vendor_knows() {
    assert_eq!(wire_model("openai-compatible:http://127.0.0.1:8080/v1#a/b:8b#x"), "a/b:8b#x");
    assert_eq!(wire_model("openai:gpt-5"), "gpt-5");
    assert_eq!(wire_model("groq:openai/gpt-oss-120b"), "openai/gpt-oss-120b");
    assert_eq!(wire_model("gemini-compatible:HTTP://h# m "), "m");
    assert_eq!(wire_model("ollama:a#b"), "a#b");
    assert_eq!(wire_model("scripted"), "scripted");
    assert_eq!(wire_model("scripted:a#b.toml"), "scripted:a#b.toml");
    assert_eq!(wire_model("playback:t-1"), "playback:t-1");
    assert_eq!(wire_model("playback:t-1#http://a#b.toml"), "playback:t-1#http://a#b.toml");
}

#[test]
fn another_name_gets_the_forms_and_what_may_have_been_meant() {
    let forms = "; the forms are: PROVIDER:MODEL (`mainpath models` lists them), openai-compatible:URL#MODEL, \
                 openai-responses:URL#MODEL, anthropic-compatible:URL#MODEL, gemini-compatible:URL#MODEL, scripted, \
                 scripted:FILE, playback:TRACE, playback:TRACE#FILE";
    let expected = |name: &str, hint: &str| format!("unknown model {name:?}{hint}{forms}");
    let meant =
        |name: &str, meant: &str| assert_eq!(refused(name), expected(name, &format!(" (did you mean \"{meant}\"?)")));
    assert_eq!(refused("wizard"), expected("wizard", ""));
    assert_eq!(refused(""), expected("", ""));
    assert_eq!(refused("a\nb"), expected("a b", ""));
    meant("script", "scripted");
    meant("scripted:", "scripted");
    meant("playback", "playback:TRACE");
    meant("playbak:t-1#a.toml", "playback:t-1#a.toml");
    meant("openai", "openai:MODEL");
    meant("opanai:gpt-5", "openai:gpt-5");
    meant("Anthropic:claude", "anthropic:claude");
    meant("gpt-5", "openai:gpt-5");
    meant("claude-opus-5", "anthropic:claude-opus-5");
    meant("gemini-9", "gemini:gemini-9");
    meant("grok-9", "xai:grok-9");
    meant("openai-compatible", "openai-compatible:URL#MODEL");
    meant("openai-compatable:http://h/v1#m", "openai-compatible:http://h/v1#m");
    meant("http://127.0.0.1:8080/v1", "openai-compatible:http://127.0.0.1:8080/v1#MODEL");
    assert!(refused(&"x".repeat(1_000_000)).len() < 400);
}

#[test]
fn a_form_that_is_not_filled_in_says_what_is_missing() {
    let no_name = |name: &str, form: &str| {
        assert_eq!(refused(name), format!("the model {name:?} lacks the model's own name: write {form}"));
    };
    no_name("openai-compatible:http://h/v1", "openai-compatible:http://h/v1#MODEL");
    no_name("openai-compatible:http://h/v1#", "openai-compatible:http://h/v1#MODEL");
    no_name("anthropic-compatible:", "anthropic-compatible:URL#MODEL");
    no_name("openai:", "openai:MODEL");
    assert_eq!(
        refused("openai-compatible:localhost#m"),
        "the model's address is wrong: \"localhost\" is not an http:// or https:// address"
    );
    let with = |set: &[(&str, &str)]| resolve("groq:m", &env(set)).map(|_| ()).unwrap_err();
    assert_eq!(
        with(&[("GROQ_BASE_URL", "nonsense")]).to_string(),
        "the model's address in GROQ_BASE_URL is wrong: \"nonsense\" is not an http:// or https:// address"
    );
    let without_key = with(&[("GROQ_API_KEY", " ")]);
    assert_eq!(without_key, UnknownModel::NoKey { name: "groq:m".into(), variable: "GROQ_API_KEY".into() });
    assert_eq!(without_key.to_string(), "no key for \"groq:m\": set GROQ_API_KEY");
    assert_eq!(
        refused("scripted:/no/such/file.toml"),
        "cannot read /no/such/file.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn a_vendors_key_goes_to_no_address_in_a_models_name() {
    let error = resolve("openai-chat:http://h/v1#m", &env(&[("OPENAI_API_KEY", "k")])).map(|_| ()).unwrap_err();
    let UnknownModel::Name { hint, .. } = &error else { panic!("{error}") };
    assert_eq!(hint, " (did you mean \"openai-compatible:http://h/v1#m\"?)");
}

#[test]
fn the_first_key_and_address_that_are_set_count_and_lead_to_the_providers_own_path() {
    let url = |name: &str, set: &[(&str, &str)]| {
        let profile = Registry::bundled().provider(name).unwrap();
        profile.endpoint(None, &env(set)).unwrap().url("x")
    };
    assert_eq!(url("openai", &[]), "https://api.openai.com/v1/x");
    assert_eq!(url("openai", &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v9/")]), "http://127.0.0.1:1/v9/x");
    assert_eq!(url("groq", &[]), "https://api.groq.com/openai/v1/x");
    assert_eq!(url("groq", &[("GROQ_BASE_URL", "http://h")]), "http://h/openai/v1/x");
    assert_eq!(url("groq", &[("GROQ_BASE_URL", "http://h/openai/v1/")]), "http://h/openai/v1/x");
    assert_eq!(url("ollama", &[]), "http://127.0.0.1:11434/v1/x");
    assert_eq!(url("ollama", &[("OLLAMA_HOST", "10.0.0.2")]), "http://10.0.0.2:11434/v1/x");
    assert_eq!(url("ollama", &[("OLLAMA_HOST", "[::1]:9")]), "http://[::1]:9/v1/x");
    assert_eq!(url("ollama", &[("OLLAMA_HOST", "https://h")]), "https://h/v1/x");
    let gemini = Registry::bundled().provider("gemini").unwrap();
    let key = |set: &[(&str, &str)]| gemini.key(&env(set)).map(|(variable, _)| variable.to_owned());
    assert_eq!(key(&[("GOOGLE_API_KEY", "g"), ("GEMINI_API_KEY", "m")]), Some("GEMINI_API_KEY".into()));
    assert_eq!(key(&[("GOOGLE_API_KEY", "g"), ("GEMINI_API_KEY", "")]), Some("GOOGLE_API_KEY".into()));
    assert_eq!(gemini.lacks_key(&env(&[])), Some("GEMINI_API_KEY"));
    assert_eq!(gemini.format, WireFormat::Gemini);
}

#[test]
fn an_address_that_the_parser_would_repair_is_refused() {
    for address in
        ["http:127.0.0.1:9/v1", "http:/127.0.0.1/v1", "HTTP:\\\\127.0.0.1\\v1", "http://a\t.example/v1", "https:h"]
    {
        let said = refused(&format!("openai-compatible:{address}#m"));
        assert!(said.contains("is not an http:// or https:// address"), "{address}: {said}");
    }
    assert_eq!(format("openai-compatible: HTTP://127.0.0.1:9/v1 #m", &[]), "openai-chat");
}

#[test]
fn the_place_of_a_model_is_that_of_its_provider_or_named_with_it() {
    let place = |model: &str| Registry::bundled().place_of(model);
    assert_eq!(place("anthropic:claude"), Some(ModelPlace::Provider));
    for name in ["openai-compatible:http://h/v1#m", " openai-compatible:http:h#m", "gemini-compatible:x"] {
        assert_eq!(place(name), Some(ModelPlace::Named), "{name}");
    }
    assert_eq!((place("scripted"), place("scripted:/a")), (Some(ModelPlace::Script), Some(ModelPlace::Script)));
    assert_eq!((place("playback:t"), place("nobody:x"), place("")), (Some(ModelPlace::Recording), None, None));
    let origin = |model: &str| Registry::bundled().named_origin(model);
    assert_eq!(origin("openai-compatible:http://h:80/v1#m").as_deref(), Some("http://h"));
    assert_eq!((origin("anthropic:claude"), origin("openai-compatible:http:h#m")), (None, None));
}
