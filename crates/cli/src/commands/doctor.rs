//! `mainpath doctor`: what works here and what does not.

use crate::app::App;
use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::text::one_line;
use mainpath::Logs;
use mainpath::agent::find_model;
use mainpath::providers::Registry;
use mainpath::runtime::{EnvModels, Models, Vault};
use mainpath::sandbox::{Launcher, is_system};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// `mainpath doctor`
pub async fn doctor() -> Result<Exit, Failure> {
    let Looked { logs, models, vault, wrong } = look()?;
    let home = &logs.home;
    let mut fine = true;
    let mut say = |good: bool, text: String| {
        fine &= good;
        out(&format!("{} {}", if good { "ok  " } else { "FAIL" }, one_line(&text)))
    };
    say(true, format!("mainpath {} on {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS))?;
    let file = if home.config_file.exists() { "" } else { " (no file yet; defaults apply)" };
    match wrong {
        None => say(true, format!("configuration {}{file}", home.config_file.display())),
        Some(wrong) => say(false, format!("configuration: {}; no agent starts until you fix that", wrong.message)),
    }?;
    match sync_time(&home.data) {
        Ok(micros) => say(true, format!("data in {}; a synced write takes {micros} µs", home.data.display())),
        Err(error) => say(false, format!("data in {} cannot be written: {error}", home.data.display())),
    }?;
    let chosen = find_model(None, home, models.registry()).await;
    match chosen.map(|chosen| (models.find(&chosen.model), chosen)) {
        None => out("warn no model is set up; mainpath models lists them, mainpath demo shows how a run looks"),
        Some((Ok(_), chosen)) => say(
            true,
            format!("model {}{}", chosen.model, chosen.note.map(|note| format!(": {note}")).unwrap_or_default()),
        ),
        Some((Err(problem), chosen)) => say(false, format!("model {}: {problem}", chosen.model)),
    }?;
    // One that JSON writes otherwise is there twice.
    let names: BTreeSet<&str> = vault.names().collect();
    let known = if names.is_empty() { "none".to_string() } else { names.into_iter().collect::<Vec<_>>().join(", ") };
    say(true, format!("secrets kept out of logs and prompts: {known}"))?;
    let shell = ["/bin/bash", "/usr/bin/bash", "/bin/sh"].into_iter().find(|shell| Path::new(shell).exists());
    match shell {
        Some(shell) => say(true, format!("bash runs under {shell}")),
        None => say(false, "no shell found for the bash tool: install bash".into()),
    }?;
    let support = Launcher::current_exe().support();
    for part in &support.parts {
        match (part.present, part.needed) {
            (true, _) => say(true, format!("sandbox: {}: {}", part.name, part.text)),
            (false, true) => say(false, format!("sandbox: {}: {}", part.name, part.text)),
            (false, false) => out(&format!("warn sandbox: {}: {}", part.name, one_line(&part.text))),
        }?;
    }
    if let Some(folder) = std::env::current_dir().ok().filter(|folder| support.can_confine() && is_system(folder)) {
        let folder = one_line(&folder.display().to_string());
        out(&format!(
            "warn no command that may write can be started in this folder, since {folder} belongs to the system: work in another (--workspace)"
        ))?;
    }
    if !support.can_confine() {
        out(
            "warn commands are NOT sandboxed here: an allowed command can do whatever you can, also outside the workspace. \
             Mainpath asks about each one in a terminal, and denies it without one, also with --yes, unless you give --no-sandbox",
        )?;
    }
    Ok(if fine { Exit::Ok } else { Exit::Error })
}

/// What there is to look at, also where the configuration is wrong.
struct Looked {
    logs: Logs,
    models: Arc<EnvModels>,
    vault: Vault,
    wrong: Option<Failure>,
}

/// What can be read. Errors: there are no folders.
fn look() -> Result<Looked, Failure> {
    let wrong = match App::look() {
        Ok(app) => {
            let wrong = app.host.check_usable().err().map(Failure::from);
            let (models, vault) = (Arc::clone(app.host.models()), app.host.vault().clone());
            return Ok(Looked { logs: app.logs, models, vault, wrong });
        }
        Err(wrong) => Some(wrong),
    };
    let logs = Logs::look(|_| {})?;
    let registry = logs.home.registry().unwrap_or_else(|_| Registry::bundled().clone());
    let vault = logs.home.vault(&registry)?;
    Ok(Looked { logs, models: Arc::new(EnvModels::new(Arc::new(registry))), vault, wrong })
}

fn sync_time(folder: &Path) -> std::io::Result<u128> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    let mut file = std::fs::File::create(&path)?;
    let measured = (0..5).map(|_| {
        let start = Instant::now();
        file.write_all(b"x").and_then(|()| file.sync_data())?;
        Ok(start.elapsed().as_micros())
    });
    let times: std::io::Result<Vec<u128>> = measured.collect();
    std::fs::remove_file(&path)?;
    let mut times = times?;
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or(0))
}
