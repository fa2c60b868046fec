//! How long the command takes to begin.

use super::ms;
use crate::Fail;
use crate::process::{folder, now};
use crate::server::{Plan, Server};
use crate::stats::{least, median};
use crate::table::Row;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `mainpath` beside this program.
pub fn mainpath() -> Result<PathBuf, Fail> {
    let path = std::env::current_exe()?.with_file_name("mainpath");
    if !path.exists() {
        return Err(format!("{} is not there; `make build` makes it", path.display()).into());
    }
    Ok(path)
}

pub(super) fn spawn(program: &Path, words: &[&str], home: &Path) -> Result<u64, Fail> {
    let began = now();
    let output = Command::new(program)
        .args(words)
        .env("MAINPATH_HOME", home.join("home"))
        .current_dir(home)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(now() - began)
}

/// `--version`, and from the start of `mainpath run` to its first request.
pub fn start(quick: bool) -> Result<Vec<Row>, Fail> {
    let tries = if quick { 10 } else { 30 };
    let (server, folder, this) = (Server::start()?, folder()?, std::env::current_exe()?);
    let mainpath = mainpath()?;
    let mut version = (Vec::new(), Vec::new());
    for _ in 0..tries {
        version.0.push(spawn(&mainpath, &["--version"], folder.path())? as f64);
        version.1.push(spawn(&this, &["__floor", "version"], folder.path())? as f64);
    }
    let model = server.model(Plan::turns(0));
    // Where files are memory a sync costs nothing: what is left is the program's own time.
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    let mut disk = (Vec::new(), Vec::new());
    let mut without = Vec::new();
    for n in 0..tries {
        let run = |program: &Path, words: &[&str], name: &str, home: &Path| -> Result<f64, Fail> {
            let began = now();
            spawn(program, words, home)?;
            let seen = server.seen(name)?;
            let first = seen.values().map(|seen| seen.began).min().ok_or("no request came")?;
            Ok(first.saturating_sub(began) as f64)
        };
        let task = |name: &str| format!("@{name}; say that all is well");
        let (ours, floor, shm) = (format!("ours-{n}."), format!("floor-{n}."), format!("shm-{n}."));
        disk.0.push(run(&mainpath, &["run", "--model", &model, &task(&ours)], &ours, folder.path())?);
        let (addr, dir) = (server.addr.to_string(), folder.path().display().to_string());
        disk.1.push(run(&this, &["__floor", "start", &addr, &floor, &dir], &floor, folder.path())?);
        if let Some(memory) = &memory {
            without.push(run(&mainpath, &["run", "--model", &model, &task(&shm)], &shm, memory.path())?);
        }
    }
    let both = |values: &[f64]| format!("{} (least {})", ms(median(values)), ms(least(values)));
    let middle = median(&version.0);
    let mut rows = vec![
        Row::goal("`mainpath --version`", "<= 5 ms", both(&version.0), middle <= 5e6)
            .ratio(middle / median(&version.1)),
        Row::note("start of `mainpath run` to its first request, on disk", both(&disk.0))
            .ratio(median(&disk.0) / median(&disk.1)),
    ];
    if !without.is_empty() {
        let middle = median(&without);
        rows.push(Row::goal("the same beyond the syncs (data in memory)", "<= 15 ms", both(&without), middle <= 15e6));
    }
    Ok(rows)
}
