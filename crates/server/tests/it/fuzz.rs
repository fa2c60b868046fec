//! The API is fuzzed from its own document by Schemathesis, which `make test` installs.

use crate::support::{Place, READS, WRITES};
use std::path::Path;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn no_request_that_the_document_allows_or_not_breaks_the_server_or_the_document() {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/schemathesis/venv/bin/schemathesis");
    assert!(tool.exists(), "{} is missing: make schemathesis", tool.display());
    let place = Place::start().await;
    let (read, waiting) = (place.run(READS).await, place.run(WRITES).await);
    let config = place.dir.path().join("schemathesis.toml");
    let text = format!(
        "[parameters]\n\"path.id\" = [\"{read}\", \"{waiting}\", \"nobody\"]\n\"path.call\" = [\"2.0\", \"4.0\"]\n"
    );
    std::fs::write(&config, text).unwrap();
    let examples = std::env::var("MAINPATH_FUZZ").unwrap_or_else(|_| "8".into());
    let (address, key, folder) = (place.address, place.key.clone(), place.work());
    let done = tokio::task::spawn_blocking(move || {
        Command::new(tool)
            .arg("--config-file")
            .arg(config)
            // One worker: with several, CPython 3.11 fails now and then where Hypothesis reads the source of its own functions.
            .args(["run", &format!("http://{address}/openapi.json"), "--no-color", "--seed", "7", "--workers", "1"])
            .args(["--header", &format!("Authorization: Bearer {key}"), "--max-examples", &examples])
            // What the rules of an agent, a folder or a model allow is in no schema.
            .args(["--exclude-checks", "positive_data_acceptance", "--phases", "examples,coverage,fuzzing"])
            .args(["--suppress-health-check", "all", "--request-timeout", "30"])
            .current_dir(folder)
            .output()
            .unwrap()
    })
    .await
    .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("generated"), "{said}");
    assert_eq!(place.get("/health").await.status, 200);
    place.end().await;
}
