//! A folder to work in, and models that follow a script.

use mainpath::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with a workspace, a place for data, and a script for a model.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new(script: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("work/README.md"), "one two three").unwrap();
        std::fs::write(folder.path().join("script.toml"), script).unwrap();
        Place { folder }
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub async fn host(&self) -> Host {
        Host::builder().data_dir(self.folder.path().join("data")).tool(CountWords).build().await.unwrap()
    }

    pub fn model(&self) -> String {
        format!("scripted:{}", self.folder.path().join("script.toml").display())
    }

    pub async fn agent(&self) -> Agent {
        self.host().await.agent(self.model()).workspace(self.work())
    }
}

/// A tool of the host's own.
pub struct CountWords;

#[derive(Deserialize, JsonSchema)]
pub struct Words {
    /// The text to count in.
    pub text: String,
}

impl Tool for CountWords {
    type Args = Words;
    const NAME: &'static str = "count_words";
    fn describe(&self) -> ToolDoc {
        ToolDoc::new("Counts the words of a text.", EffectClass::ReadOnly)
    }
    fn run<'a>(&'a self, _: &'a ToolContext, args: Words) -> Fut<'a, ToolOutput> {
        Box::pin(async move { ToolOutput::text(args.text.split_whitespace().count().to_string()) })
    }
}

/// A script that counts words.
pub const COUNT: &str = r#"
[[turn]]
text = "I count."
calls = [{ tool = "count_words", args = { text = "one two three" } }]
usage = { input = 60, output = 9 }
[[turn]]
final = "Three words."
usage = { input = 100, output = 5 }
[[turn]]
final = "Still three."
"#;

/// A script that writes a file.
pub const WRITE: &str = r#"
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "new.txt", content = "hello" } }]
[[turn]]
final = "Done."
"#;
