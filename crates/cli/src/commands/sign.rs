//! `sign`: the owner's key, and the heads that it signs.

use crate::exit::{Exit, Failure};
use crate::ui::out::out;
use crate::ui::person::person_only;
use clap::Args;
use mainpath::proof::{OwnerKey, Witness, sign as sign_head};
use mainpath::sandbox::{OwnerProgram, shell_words};
use mainpath::values::now;
use mainpath::{Home, Logs};
use rustix::fs::{Access, access};
use std::path::PathBuf;

/// `mainpath sign`
#[derive(Args, Debug)]
pub struct SignArgs {
    /// The traces (their ids or unique parts of them) [default: the latest]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<String>,
    /// All traces
    #[arg(long, conflicts_with = "traces")]
    pub all: bool,
    /// Make a key, in a file that only you can read, and print its public part
    #[arg(long, conflicts_with_all = ["traces", "all", "public_key", "witness", "witness_command", "json"])]
    pub new_key: bool,
    /// Print the public part of your key: others check your signatures with it
    #[arg(long, conflicts_with_all = ["traces", "all", "witness", "witness_command", "json"])]
    pub public_key: bool,
    /// As PEM, which OpenSSL reads
    #[arg(long, requires = "public_key")]
    pub pem: bool,
    /// Add each signed head to this file as well: keep it where agents and other programs cannot write [default: sign.witness]
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,
    /// Give each signed head to this command, as a line on its standard input [default: sign.witness_command]
    #[arg(long, value_name = "COMMAND")]
    pub witness_command: Option<String>,
    /// Sign also where words of signed events were erased since and others left: you say that these are right
    #[arg(long, conflicts_with_all = ["new_key", "public_key"])]
    pub with_erasures: bool,
    /// Print the signed heads as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// `mainpath sign`
pub async fn sign(args: SignArgs) -> Result<Exit, Failure> {
    person_only("sign")?;
    let data = Home::find()?.data;
    if data.exists() && access(&data, Access::WRITE_OK).is_err() {
        return Err(Failure::error(format!(
            "signing writes beside the logs, and {} cannot be written; to only check: mainpath verify --signed",
            data.display()
        )));
    }
    let logs = Logs::open()?;
    if args.new_key {
        let file = logs.home.signing_key();
        let key = OwnerKey::make(&file)?;
        eprintln!("your key is in {}: keep a copy where only you can read it", file.display());
        return out(&key.public().to_string()).map(|()| Exit::Ok);
    }
    let mut signing = logs.home.signing()?;
    if args.public_key {
        let public = signing.key.public();
        return out(if args.pem { public.pem() } else { public.to_string() }.trim_end()).map(|()| Exit::Ok);
    }
    signing.with_erasures = args.with_erasures;
    if args.witness_command.as_ref().is_some_and(|command| command.trim().is_empty()) {
        return Err(Failure::usage("the witness command is empty; leave it out for none"));
    }
    // Those that are named come in place of those of the configuration.
    if args.witness.is_some() || args.witness_command.is_some() {
        let folder = std::env::current_dir()?;
        let typed = |command: String| Witness::Command(OwnerProgram::typed(shell_words(&command), &folder));
        let command = args.witness_command.map(typed);
        signing.witnesses = args.witness.map(Witness::File).into_iter().chain(command).collect();
    }
    let mut traces = Vec::new();
    if args.all {
        traces = logs.store.names(&logs.scope)?;
        traces.retain(|trace| logs.is_there(trace));
        traces.sort_unstable();
    } else if args.traces.is_empty() {
        traces.push(logs.find(None).await?);
    }
    for wanted in &args.traces {
        traces.push(logs.find(Some(wanted)).await?);
    }
    let mut failed: Vec<String> = Vec::new();
    for trace in &traces {
        match sign_head(logs.at(trace), &signing, now()).await {
            Ok(signed) => {
                let said = signed.statement;
                match args.json {
                    true => out(&said.line)?,
                    false => out(&format!("{trace}: signed event {}, head {}", said.event, said.head))?,
                }
                failed.extend(signed.untold.into_iter().map(|why| format!("{trace} is signed, but {why}")));
            }
            // The others are signed all the same.
            Err(error) => failed.push(error.message().into()),
        }
    }
    match failed.as_slice() {
        [] => Ok(Exit::Ok),
        [one] => Err(Failure::error(one)),
        [first, rest @ ..] => Err(Failure::error(format!("{first}; and {} more", rest.len()))),
    }
}
