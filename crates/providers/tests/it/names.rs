//! From names to models.

use mainpath_providers::{UnknownModel, resolve, wire_model};
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
    assert_eq!(format(" openai:gpt-5 ", &[("OPENAI_API_KEY", "k")]), "openai-chat");
    assert_eq!(format("openai:m", &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]), "openai-chat");
}

#[test]
fn the_models_own_name_is_what_the_vendor_knows() {
    assert_eq!(wire_model("openai-compatible:http://127.0.0.1:8080/v1#a/b:8b#x"), "a/b:8b#x");
    assert_eq!(wire_model("openai:gpt-5"), "gpt-5");
    assert_eq!(wire_model("scripted"), "scripted");
    assert_eq!(wire_model("scripted:a#b.toml"), "scripted:a#b.toml");
}

#[test]
fn another_name_gets_the_forms_and_what_may_have_been_meant() {
    let forms = "; the forms are: openai-compatible:URL#MODEL, openai:MODEL, scripted, scripted:FILE";
    let expected = |name: &str, hint: &str| format!("unknown model {name:?}{hint}{forms}");
    assert_eq!(refused("wizard"), expected("wizard", ""));
    assert_eq!(refused(""), expected("", ""));
    assert_eq!(refused("a\nb"), expected("a b", ""));
    assert_eq!(refused("script"), expected("script", " (did you mean \"scripted\"?)"));
    assert_eq!(refused("scripted:"), expected("scripted:", " (did you mean \"scripted\"?)"));
    assert_eq!(refused("opanai:gpt-5"), expected("opanai:gpt-5", " (did you mean \"openai:gpt-5\"?)"));
    assert_eq!(refused("gpt-5"), expected("gpt-5", " (did you mean \"openai:gpt-5\"?)"));
    assert_eq!(
        refused("openai-compatable:http://h/v1#m"),
        expected("openai-compatable:http://h/v1#m", " (did you mean \"openai-compatible:http://h/v1#m\"?)")
    );
    assert_eq!(
        refused("http://127.0.0.1:8080/v1"),
        expected("http://127.0.0.1:8080/v1", " (did you mean \"openai-compatible:http://127.0.0.1:8080/v1#MODEL\"?)")
    );
    assert!(refused(&"x".repeat(1_000_000)).len() < 300);
}

#[test]
fn a_form_that_is_not_filled_in_says_what_is_missing() {
    assert_eq!(
        refused("openai-compatible:http://h/v1"),
        "the model \"openai-compatible:http://h/v1\" lacks the model's own name: write openai-compatible:http://h/v1#MODEL"
    );
    assert_eq!(refused("openai:"), "the model \"openai:\" lacks the model's own name: write openai:MODEL");
    assert_eq!(
        refused("openai-compatible:localhost#m"),
        "the model's address is wrong: \"localhost\" is no http:// or https:// address"
    );
    let without_key = resolve("openai:gpt-5", &env(&[("OPENAI_API_KEY", " ")])).map(|_| ()).unwrap_err();
    assert_eq!(without_key.to_string(), "no key for \"openai:gpt-5\": set OPENAI_API_KEY");
    assert!(matches!(without_key, UnknownModel::NoKey { variable: "OPENAI_API_KEY", .. }));
    assert_eq!(
        refused("scripted:/no/such/file.toml"),
        "cannot read the model script /no/such/file.toml: No such file or directory (os error 2)"
    );
}
