use crate::server::Server;
use mainpath_net::{Client, Lookup, Reach};
use mainpath_policy::{Attempt, Grant};
use mainpath_sandbox::Launcher;
use mainpath_tools::{Fut, MemoryBlobs, Secrets, ToolContext, Tools, Workspace};
use mainpath_types::{CallId, Confinement, Decision, Seq, ToolOutput, Verdict, text_of};
use serde_json::Value;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What is allowed beside public servers: these.
pub fn reach(servers: &[&Server]) -> Reach {
    let allowed = servers.iter().map(|server| server.host().try_into().unwrap()).collect();
    Reach { allow_private: allowed, proxy: None }
}

/// A name server that gives one answer after the other, the last one for ever, and counts.
pub struct Answers {
    answers: Vec<Vec<IpAddr>>,
    pub asked: Mutex<Vec<String>>,
}

impl Answers {
    pub fn new(answers: &[&[&str]]) -> Arc<Answers> {
        let parse = |one: &&[&str]| one.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Answers { answers: answers.iter().map(parse).collect(), asked: Mutex::default() })
    }
}

impl Lookup for Answers {
    fn lookup<'a>(&'a self, host: &'a str) -> Fut<'a, io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock().unwrap();
        let answer = self.answers[asked.len().min(self.answers.len() - 1)].clone();
        asked.push(host.into());
        Box::pin(async move { Ok(answer) })
    }
}

/// The secret `KEY`.
pub struct OneSecret(pub &'static str);

impl Secrets for OneSecret {
    fn reveal(&self, text: &str) -> String {
        text.replace("{{secret:KEY}}", self.0)
    }
    fn redact(&self, text: &str) -> String {
        text.replace(self.0, "{{secret:KEY}}")
    }
}

/// A client for these servers.
pub fn client(servers: &[&Server]) -> Client {
    Client::new(&reach(servers))
}

/// Everything that a call needs.
pub struct World {
    folder: tempfile::TempDir,
    pub tools: Tools,
    pub blobs: Arc<MemoryBlobs>,
}

impl World {
    pub fn new(tools: Tools) -> World {
        World { folder: tempfile::tempdir().unwrap(), tools, blobs: Arc::default() }
    }

    pub fn context(&self, tool: &str) -> ToolContext {
        let effect = self.tools.specs().into_iter().find(|spec| spec.name == tool).unwrap().effect;
        let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
        let call = CallId { seq: Seq(7), index: 0 };
        let trace = "t1".parse().unwrap();
        let grant = Grant::issue(
            Attempt { trace: &trace, call, number: 1, tool, effect },
            Confinement::default(),
            &verdict,
            false,
        )
        .unwrap();
        let workspace = Arc::new(Workspace::new(self.folder.path(), vec![]).unwrap());
        let mut ctx =
            ToolContext::new(workspace, grant, Launcher::new(env!("CARGO_BIN_EXE_mainpath-net-launch"), vec![]));
        ctx.blobs = self.blobs.clone();
        ctx
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub async fn run(&self, tool: &str, args: Value) -> ToolOutput {
        self.tools.run(tool, &args.to_string(), &self.context(tool)).await
    }

    /// The code of the error, or "ok", and the text.
    pub async fn say(&self, tool: &str, args: Value) -> (String, String) {
        said(&self.run(tool, args).await)
    }
}

pub fn said(output: &ToolOutput) -> (String, String) {
    (output.error.clone().unwrap_or_else(|| "ok".into()), text_of(&output.content))
}

pub fn pair(code: &str, text: impl Into<String>) -> (String, String) {
    (code.into(), text.into())
}
