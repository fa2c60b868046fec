//! Files are put back: what would become of them is shown first.

use crate::support::Place;
use serde_json::{Value, json};

const CHANGES: &str = r#"
[[turn]]
calls = [
  { tool = "edit_text_file", args = { path = "README.md", edits = [{ old_text = "hello world", new_text = "hello all" }] } },
  { tool = "write_text_file", args = { path = "new.txt", content = "new\n" } },
  { tool = "write_text_file", args = { path = "kept.txt", content = "mine\n" } },
]
[[turn]]
final = "Done."
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_would_become_of_each_file_is_shown_and_then_done() {
    let place = Place::start().await;
    let body = json!({
        "task": "Change it.", "model": place.model(CHANGES), "approvals": "yes", "access": "workspace-write",
    });
    let answer = place.ask("POST", "/api/traces", &[place.bearer(), "prefer: wait=20".into()], &body.to_string()).await;
    assert_eq!(answer.json()["outcome"]["reason"], "final", "{}", answer.body);
    let address = format!("/api/traces/{}/restore", answer.json()["trace_id"].as_str().unwrap());
    std::fs::write(place.work().join("kept.txt"), "somebody else's\n").unwrap();

    let shown = place.post(&address, json!({"at_sequence": 1, "dry_run": true})).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    let mut shown = shown.json();
    let mut changes: Vec<Value> = serde_json::from_value(shown["changes"].take()).unwrap();
    changes.sort_by_key(|change| change["path"].to_string());
    assert_eq!(
        changes,
        [
            json!({"path": "README.md", "removed": false, "diff": "@@ -1 +1 @@\n-hello all\n+hello world", "more_lines": 0}),
            json!({"path": "kept.txt", "removed": true, "diff": "@@ -1 +0,0 @@\n-somebody else's", "more_lines": 0}),
            json!({"path": "new.txt", "removed": true, "diff": "@@ -1 +0,0 @@\n-new", "more_lines": 0}),
        ]
    );
    let listed = json!(["README.md", "new.txt"]);
    let left = json!(["kept.txt: somebody else has changed it since"]);
    assert_eq!((&shown["restored"], &shown["left"]), (&listed, &left));
    assert_eq!(std::fs::read_to_string(place.work().join("README.md")).unwrap(), "hello all\n");

    // Before the first message nothing was otherwise.
    let mut first = place.post(&address, json!({"at_sequence": 0, "dry_run": true})).await.json();
    assert_eq!(first["changes"].take().as_array().map(Vec::len), Some(3));
    assert_eq!(first, shown);

    let done = place.post(&address, json!({"at_sequence": 1})).await.json();
    assert_eq!(done, json!({"restored": listed, "left": left, "changes": []}));
    assert_eq!(std::fs::read_to_string(place.work().join("README.md")).unwrap(), "hello world\n");
    assert!(!place.work().join("new.txt").exists());
    place.end().await;
}
