//! The document of the API. After a change of what the API takes or gives: `MAINPATH_BLESS=1 cargo test -p mainpath-server document`, and
//! look at the diff.

use crate::support::Place;
use std::path::Path;

#[tokio::test(flavor = "multi_thread")]
async fn the_document_in_the_program_is_that_of_its_routes() {
    let place = Place::start().await;
    let made = place.get("/openapi.json").await.body;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    if std::env::var_os("MAINPATH_BLESS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(made == kept, "openapi.json is not what the code says; run this with MAINPATH_BLESS=1");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_of_the_document_has_a_name_of_its_own() {
    let place = Place::start().await;
    let document = place.get("/openapi.json").await.json();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let is_second = |name: &&String| {
        let first = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        first != name.as_str() && schemas.contains_key(first)
    };
    let second: Vec<&String> = schemas.keys().filter(is_second).collect();
    assert!(schemas.len() > 100 && second.is_empty(), "{} types; numbered: {second:?}", schemas.len());
    place.end().await;
}
