//! Tools that are there only when the configuration asks for them.

use crate::support::*;
use mainpath_testkit::model_server::Answer;
use serde_json::json;

#[test]
fn json_transform_is_there_when_the_configuration_says_so() {
    let answers = || {
        let args = json!({"filter": ".name, (env? // \"none\")", "path": "a.json"});
        vec![
            Answer::call("json_transform", json!({"filter": ".name", "path": "a.json"})),
            Answer::call("json_transform", args),
            Answer::text("Done."),
        ]
    };
    let place = Place::new();
    std::fs::write(place.work.join("a.json"), r#"{"name": "heron"}"#).unwrap();
    let told = |server: &mainpath_testkit::model_server::ModelServer, request: usize| {
        let messages = server.requests()[request].body()["messages"].clone();
        messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_string()
    };
    let server = scripted(answers());
    assert_eq!(place.run_on(&server, &["Name it."]).code, 0);
    let words = told(&server, 1);
    assert!(words.contains(r#"There is no tool "json_transform". The tools are: ask_human, bash, "#), "{words}");
    place.config("[tools]\njson_transform = true\n");
    let server = scripted(answers());
    assert_eq!(place.run_on(&server, &["Name it."]).code, 0);
    assert_eq!(told(&server, 1), "\"heron\"");
    let words = told(&server, 2);
    assert!(words.ends_with("at \"env\": there is no such filter."), "{words}");
    place.config("[tools]\njson_transfrom = true\n");
    place.run(&["run", "-m", "scripted", "x"]).fails(1, "config.toml, line 2: unknown field `json_transfrom`");
}
