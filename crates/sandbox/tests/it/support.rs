use mainpath_sandbox::{Cage, Ended, Launcher, Process, Running};
use mainpath_types::{Confinement, FileAccess};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

pub fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_mainpath-launch"), vec![])
}

/// A workspace, and a cage around it.
pub struct World {
    _folder: tempfile::TempDir,
    pub workspace: PathBuf,
    pub own: PathBuf,
}

impl World {
    pub fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (workspace, own) = (top.join("work"), top.join("own"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("log"), "ours").unwrap();
        World { _folder: folder, workspace, own }
    }

    pub fn cage(&self, files: FileAccess) -> Cage {
        Cage::new(Confinement { files, network: false }, &self.workspace, vec![self.own.clone()])
    }

    /// Runs a command of the shell to its end; gives what it wrote and how it ended.
    pub async fn shell(&self, files: FileAccess, command: &str) -> (String, Ended) {
        let words = ["sh", "-c", command].map(OsStr::new);
        finish(launcher().start(&words, &self.workspace, "t/1", &self.cage(files)).unwrap()).await
    }
}

pub async fn finish(mut running: Running) -> (String, Ended) {
    let mut text = String::new();
    running.output.read_to_string(&mut text).await.unwrap();
    (text, end(running.process).await)
}

pub async fn end(mut process: Process) -> Ended {
    process.launcher_done().await;
    process.ended().await.unwrap()
}

/// How many processes have the folder as their working directory, in cages too.
pub fn working_in(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| entry.path().join("cwd").read_link().is_ok_and(|cwd| cwd == folder)).count()
}

/// Looks until there is something; fails when that takes absurdly long.
pub async fn eventually(what: &str, found: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !found() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
