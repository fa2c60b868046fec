use mainpath_policy::{Attempt, Grant};
use mainpath_sandbox::{Cage, Launcher};
use mainpath_tools::{MemoryBlobs, ProbeAnswer, ToolContext, Tools, Workspace};
use mainpath_types::{CallId, Confinement, Decision, EffectClass, Seq, ToolOutput, Verdict, text_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A workspace in a temporary folder, with everything that a call needs.
pub struct World {
    folder: tempfile::TempDir,
    pub tools: Tools,
    pub workspace: Arc<Workspace>,
    pub blobs: Arc<MemoryBlobs>,
    pub progress: Arc<Mutex<String>>,
    /// Instead of the cage that follows from the grant.
    pub cage: Option<Cage>,
}

pub fn grant(tool: &str, effect: EffectClass) -> Grant {
    numbered(tool, effect, 1)
}

/// The grant for the only call of message `seq`.
pub fn numbered(tool: &str, effect: EffectClass, seq: u32) -> Grant {
    let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
    let call = CallId { seq: Seq(seq), index: 0 };
    let of = Attempt { trace: &"t1".parse().unwrap(), call, number: 1, tool, effect };
    Grant::issue(of, Confinement::default(), &verdict, false).unwrap()
}

pub fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_mainpath-tools-launch"), vec![])
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Arc::new(Workspace::new(folder.path(), vec![]).unwrap());
        World { folder, tools: Tools::kernel(), workspace, blobs: Arc::default(), progress: Arc::default(), cage: None }
    }

    /// One whose commands are in a cage, and one where they are not.
    pub fn both() -> [World; 2] {
        [World::new(), World { cage: Some(Cage::open()), ..World::new() }]
    }

    pub fn with(files: &[(&str, &str)]) -> World {
        let world = World::new();
        for (path, content) in files {
            world.put(path, content);
        }
        world
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The names in the workspace's root, hidden ones included.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn context(&self, tool: &str) -> ToolContext {
        let tool = self.tools.resolve(tool).unwrap_or("read_text_file".into());
        let effect = self.tools.specs().into_iter().find(|spec| spec.name == tool).unwrap().effect;
        let mut ctx = ToolContext::new(self.workspace.clone(), grant(&tool, effect), launcher());
        let progress = self.progress.clone();
        ctx.cage = self.cage.clone().unwrap_or(ctx.cage);
        ctx.blobs = self.blobs.clone();
        ctx.progress = Arc::new(move |text| progress.lock().unwrap().push_str(text));
        ctx
    }

    /// The context of a call that is judged now.
    pub fn judged(&self, tool: &str, args: &Value) -> ToolContext {
        let mut ctx = self.context(tool);
        let planned = self.tools.plan(tool, &args.to_string(), &self.workspace);
        ctx.grant = ctx.grant.at(planned.map(|planned| planned.places).unwrap_or_default());
        ctx
    }

    pub async fn run(&self, tool: &str, args: Value) -> ToolOutput {
        self.tools.run(tool, &args.to_string(), &self.judged(tool, &args)).await
    }

    /// The code of the error, or "ok", and the text.
    pub async fn say(&self, tool: &str, args: Value) -> (String, String) {
        said(&self.run(tool, args).await)
    }

    pub async fn probe(&self, tool: &str, args: Value) -> ProbeAnswer {
        self.tools.probe(tool, &args.to_string(), &self.judged(tool, &args)).await
    }
}

pub fn said(output: &ToolOutput) -> (String, String) {
    (output.error.clone().unwrap_or_else(|| "ok".into()), text_of(&output.content))
}

pub fn pair(code: &str, text: impl Into<String>) -> (String, String) {
    (code.into(), text.into())
}

/// Starts a child, a child that leaves the group, and a daemon that has left everything; each writes its number once it is
/// in its place. In a cage the numbers are the cage's own.
pub const FAMILY: &str = "
    sh -c 'echo $$ > child; exec sleep 1000' &
    setsid sh -c 'echo $$ > session; exec sleep 1000' &
    (setsid sh -c '(trap \"\" TERM HUP; sh -c \"echo \\$PPID > daemon\"; while :; do sleep 1000; done) > /dev/null 2>&1 < /dev/null &' &)
    while ! [ -s child -a -s session -a -s daemon ]; do sleep 0.01; done
    echo $$ > self
";

/// How many processes have the folder as their working directory, in cages too; those that have ended have none.
pub fn working_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.path().join("cwd").read_link().is_ok_and(|cwd| cwd == folder)).count()
}

/// Bounds a wait. Nothing here takes this long; what does, hangs.
pub const LONG: Duration = Duration::from_secs(60);

/// Looks until it holds, while other tasks of this thread work on; fails when that takes absurdly long.
pub async fn comes_to_hold(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Looks until `found` gives something; fails when that takes absurdly long.
pub fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
