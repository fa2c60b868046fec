//! `mainpath people`: contacts, and the listener for replies.

use crate::app::App;
use crate::exit::{Exit, Failure};
use crate::runs::signals::Signals;
use crate::ui::out::out;
use crate::ui::text::one_line;
use clap::{Args, Subcommand};
use mainpath::people::{AnswerDesk, Channel, Contact, listen};
use mainpath::types::TraceId;
use mainpath::{Home, Logs};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::Builder;
use tokio::net::TcpListener;

/// Where replies are heard if nothing else is said.
const USUAL: &str = "127.0.0.1:8010";

/// `mainpath people`
#[derive(Subcommand, Debug)]
pub enum PeopleCommand {
    /// List the contacts and the channels to them
    List,
    /// Take what is posted to /people/webhook, /people/feishu and /webhook/a2a-messages until you stop it
    ///
    /// Replies to questions come by /people/webhook (with [people.webhook] in config.toml) and /people/feishu (with
    /// [people.feishu]), messages of other systems' agents by /webhook/a2a-messages (with [people.webhook] and
    /// [people] agents = true).
    Listen(ListenArgs),
}

/// `mainpath people listen`
#[derive(Args, Debug)]
pub struct ListenArgs {
    /// The address [default: people.listen.address of config.toml, or 127.0.0.1:8010]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<SocketAddr>,
    /// Continue a trace when its question was answered
    #[arg(long)]
    pub resume: bool,
}

/// `mainpath people`
pub async fn people(command: PeopleCommand) -> Result<Exit, Failure> {
    match command {
        PeopleCommand::List => list(),
        PeopleCommand::Listen(args) => hear(args).await,
    }
}

fn list() -> Result<Exit, Failure> {
    let home = Home::find()?;
    let config = &home.config.people;
    if config.contacts.is_empty() {
        out("no contacts; add [people.contacts.NAME] to config.toml")?;
    }
    for (name, contact) in &config.contacts {
        let usual = if config.ask.as_ref() == Some(name) { "  (asked where a question names nobody)" } else { "" };
        out(&one_line(&format!("{name}  {}{usual}", ways(&home, contact))))?;
    }
    Ok(Exit::Ok)
}

/// The channels to a contact, in their order; of one that cannot be used, what is missing.
fn ways(home: &Home, contact: &Contact) -> String {
    let config = &home.config.people;
    let is_unset = |name: &&str| home.secret(name).is_none_or(|secret| secret.is_empty());
    let way = |channel: &Channel| match (config.missing(*channel), config.sends_with(*channel).filter(is_unset)) {
        (Some(section), _) => format!("{channel} (cannot be used: {section} is missing in config.toml)"),
        (None, Some(secret)) => format!("{channel} (cannot be used: {secret} is not set)"),
        (None, None) => channel.to_string(),
    };
    let ways: Vec<String> = contact.ways().iter().map(way).collect();
    if ways.is_empty() { "no channel".into() } else { ways.join(", ") }
}

async fn hear(args: ListenArgs) -> Result<Exit, Failure> {
    let app = App::open()?;
    let people = app.host.people()?.ok_or_else(|| {
        Failure::error("no channel takes replies; add [people.webhook] or [people.feishu] to config.toml")
    })?;
    let config = people.config();
    if config.webhook.is_none() && config.feishu.is_none() {
        return Err(Failure::error("no channel takes replies; add [people.webhook] or [people.feishu] to config.toml"));
    }
    let address = match args.address.or(config.listen.address) {
        Some(address) => address,
        None => USUAL.parse().map_err(|_| Failure::error("no address to listen on"))?,
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::error(format!("{address} cannot be listened on: {error}; choose another with --address"))
    })?;
    let at = listener.local_addr()?;
    let mut paths = Vec::new();
    paths.extend(config.webhook.as_ref().map(|_| format!("http://{at}/people/webhook")));
    paths.extend(config.feishu.as_ref().map(|_| format!("http://{at}/people/feishu")));
    paths
        .extend(config.webhook.as_ref().filter(|_| config.agents).map(|_| format!("http://{at}/webhook/a2a-messages")));
    out(&format!("listening on {}", paths.join(" and ")))?;
    if !at.ip().is_loopback() {
        eprintln!(
            "! {at} can be reached from other machines, and what is sent there is not encrypted: put a server with TLS before it"
        );
    }
    let desk = AnswerDesk::new(Logs::open()?, move |trace, call, contact| {
        eprintln!("{}", one_line(&format!("{contact} answered {trace}/{call}")));
        if args.resume {
            resume(trace);
        }
    });
    let mut signals = Signals::listen()?;
    let until = async {
        signals.next().await;
    };
    listen(listener, people, Arc::new(desk), until).await;
    Ok(Exit::Ok)
}

/// Continues a trace in a process of its own, as a person would. One that somebody drives reads its mail there.
fn resume(trace: &TraceId) {
    let started = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args(["resume", trace.as_str()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    });
    match started {
        // It is waited for, so that it does not stay behind as a zombie.
        Ok(mut child) => drop(Builder::new().spawn(move || child.wait())),
        Err(error) => eprintln!("{trace} cannot be continued: {error}; mainpath resume {trace}"),
    }
}
