//! What shells and `man` know of the program: completions and manual pages, made from the same description as `--help`.

use crate::commands::Cli;
use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use clap::Args;
use clap::CommandFactory;
use clap_mangen::Man;
use std::path::PathBuf;

/// `mainpath completions`
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `mainpath man`
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// `mainpath completions`
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mainpath", &mut script);
    out(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Ok)
}

/// `mainpath man`
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let Some(folder) = &args.dir else {
        let mut page = Vec::new();
        Man::new(Cli::command()).render(&mut page)?;
        out(String::from_utf8_lossy(&page).trim_end())?;
        return Ok(Exit::Ok);
    };
    let bad = |error: std::io::Error| Failure::error(format!("{} cannot be written: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(bad)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(bad)?;
    out(&format!(
        "manual pages are in {}; man -l {} shows the first",
        folder.display(),
        folder.join("mainpath.1").display()
    ))?;
    Ok(Exit::Ok)
}
