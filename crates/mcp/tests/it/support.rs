//! A workspace with servers and what calls need.

use mainpath_mcp::{Around, Mcp, McpConfig, ServerState, Servers, State, Times, Unconfined};
use mainpath_policy::{Attempt, CallFacts, Grant};
use mainpath_sandbox::Launcher;
use mainpath_tools::{MemoryBlobs, Problem, Secrets, ToolContext, Tools, Workspace};
use mainpath_types::{CallId, Confinement, Decision, Origin, Seq, ToolOutput, Verdict, text_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub struct World {
    pub folder: tempfile::TempDir,
    pub tools: Tools,
    pub mcp: Mcp,
    pub blobs: Arc<MemoryBlobs>,
    pub progress: Arc<Mutex<String>>,
    pub notices: Arc<Mutex<Vec<String>>>,
    workspace: Arc<Workspace>,
}

/// Where `make mcp-servers` has put the servers.
pub fn installed(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-servers").join(path);
    let path = path.canonicalize();
    path.expect("the servers that tests use are not installed: run make mcp-servers").display().to_string()
}

/// A file beside the tests.
pub fn beside(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers").join(path).display().to_string()
}

/// An entry that starts the fake in one of its ways.
pub fn hostile(name: &str, how: &str) -> String {
    format!("[servers.{name}]\ncommand = \"python3\"\nargs = [{:?}, {how:?}]\n", beside("hostile.py"))
}

impl World {
    /// The servers of a configuration, connected.
    pub async fn new(config: &str) -> World {
        World::in_folder(tempfile::tempdir().unwrap(), config).await
    }

    pub async fn in_folder(folder: tempfile::TempDir, config: &str) -> World {
        // Some of the servers are slow to start.
        let slow_start = Duration::from_secs(3_600);
        World::within(Times { slow_start, ..Times::default() }, folder, config).await
    }

    pub async fn within(times: Times, folder: tempfile::TempDir, config: &str) -> World {
        let root = folder.path().canonicalize().unwrap();
        let workspace = Arc::new(Workspace::new(&root, vec![]).unwrap());
        let config: McpConfig = toml::from_str(config).unwrap();
        let servers = Servers::read(&config, Path::new("config.toml"), &root, None).unwrap();
        let tools = Tools::kernel();
        let notices: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = notices.clone();
        let around = Around {
            workspace: root,
            variables: Arc::new(|name| std::env::var(name).ok()),
            starter: Arc::new(Unconfined { hidden: vec!["CARGO_MANIFEST_DIR".into()] }),
            redact: Arc::new(str::to_string),
            times,
        };
        let above = config.search_above.unwrap_or(mainpath_mcp::SEARCH_ABOVE);
        let notice = move |line: &str| heard.lock().unwrap().push(line.into());
        let mcp = Mcp::start(tools.clone(), servers, above, around, &|server| !server.foreign, notice).await;
        World { folder, tools, mcp, blobs: Arc::default(), progress: Arc::default(), notices, workspace }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// The tools that are there beside the kernel's.
    pub fn names(&self) -> Vec<String> {
        let is_mcp = |name: &String| self.tools.doc(name).is_some_and(|doc| doc.origin == Origin::Mcp);
        self.tools.specs().into_iter().map(|spec| spec.name).filter(is_mcp).collect()
    }

    pub fn state(&self, name: &str) -> &State {
        let found = self.mcp.states().iter().find(|ServerState { name: other, .. }| other == name);
        &found.unwrap().state
    }

    /// Why a server could not be connected.
    pub fn failure(&self, name: &str) -> &str {
        match self.state(name) {
            State::Failed(why) => why,
            other => panic!("{other:?}"),
        }
    }

    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }

    pub fn context(&self, tool: &str) -> ToolContext {
        let effect = self.tools.doc(tool).unwrap_or_else(|| panic!("no tool {tool}: {:?}", self.names())).effect;
        let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
        let call = CallId { seq: Seq(1), index: 0 };
        let of = Attempt { trace: &"t1".parse().unwrap(), call, number: 1, tool, effect };
        let grant = Grant::issue(of, Confinement::default(), &verdict, false).unwrap();
        let mut ctx = ToolContext::new(self.workspace.clone(), grant, Launcher::new("/nowhere", vec![]));
        let progress = self.progress.clone();
        ctx.blobs = self.blobs.clone();
        ctx.progress = Arc::new(move |text| progress.lock().unwrap().push_str(text));
        ctx
    }

    pub async fn run(&self, tool: &str, args: Value) -> ToolOutput {
        self.run_in(&self.context(tool), tool, args).await
    }

    pub async fn run_in(&self, ctx: &ToolContext, tool: &str, args: Value) -> ToolOutput {
        let args = args.to_string();
        tokio::time::timeout(LONG, self.tools.run(tool, &args, ctx)).await.expect("the call hangs")
    }

    /// The code of the error, or "ok", and the text.
    pub async fn say(&self, tool: &str, args: Value) -> (String, String) {
        said(&self.run(tool, args).await)
    }

    pub fn plan(&self, tool: &str, args: Value) -> Result<(String, CallFacts), Problem> {
        let planned = self.tools.plan(tool, &args.to_string(), &self.workspace)?;
        Ok((planned.tool, planned.facts))
    }
}

/// Nothing here takes this long; what does, hangs.
pub const LONG: Duration = Duration::from_secs(60);

pub fn said(output: &ToolOutput) -> (String, String) {
    (output.error.clone().unwrap_or_else(|| "ok".into()), text_of(&output.content))
}

pub fn pair(code: &str, text: impl Into<String>) -> (String, String) {
    (code.into(), text.into())
}

/// Looks until `holds`; fails when that takes absurdly long.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Hides one word.
pub struct OneSecret(pub &'static str);

impl Secrets for OneSecret {
    fn reveal(&self, text: &str) -> String {
        text.replace("<secret:1>", self.0)
    }
    fn redact(&self, text: &str) -> String {
        text.replace(self.0, "<secret:1>")
    }
}
