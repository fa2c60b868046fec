//! `mainpath serve` and its keys.

use crate::exit::{Exit, Failure};
use crate::runs::signals::Signals;
use crate::ui::out::out;
use crate::ui::person::person_only;
use crate::ui::text::one_line;
use clap::{Args, Subcommand};
use mainpath::types::TenantId;
use mainpath::values::now;
use mainpath::{Host, Logs};
use mainpath_server::{Audit, Keys, NewKey, OWNER, Scope, Server, Settings, served_at};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `mainpath serve`
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Where it listens [default: server.address of config.toml, or 127.0.0.1:8000]
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub address: Option<SocketAddr>,
    /// A folder that agents may work in; several may be given, the first is used if nothing is said [default:
    /// server.workspaces of config.toml, or the current folder]
    #[arg(short = 'C', long = "workspace", value_name = "DIR")]
    pub workspaces: Vec<PathBuf>,
    /// A server with TLS stands before it: it may be reached from other machines
    #[arg(long)]
    pub behind_tls: bool,
    /// It may be reached from other machines, and keys and everything else travel unencrypted
    #[arg(long)]
    pub insecure: bool,
    /// Tell each request on standard error, as one line
    #[arg(long, value_name = "FORM")]
    pub log: Option<LogForm>,
}

/// `mainpath ui`
#[derive(Args, Debug)]
pub struct UiArgs {
    #[command(flatten)]
    pub serve: ServeArgs,
    /// Open no browser: print the address to open
    #[arg(long)]
    pub no_browser: bool,
}

/// An address, by a number or by a name of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    let form = "it is HOST:PORT, such as 127.0.0.1:9000";
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    match text.rsplit_once(':') {
        Some(("localhost", port)) => {
            let port = port.parse().map_err(|_| format!("{port:?} is no port; {form}"))?;
            Ok(SocketAddr::from(([127, 0, 0, 1], port)))
        }
        _ => Err(form.into()),
    }
}

/// How requests are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// As JSON.
    Json,
}

/// `mainpath keys`
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Make a key; it is shown this once
    New(NewKeyArgs),
    /// List the keys
    List(ListKeysArgs),
    /// Revoke a key at once
    Revoke(KeyName),
}

/// `mainpath keys new`
#[derive(Args, Debug)]
pub struct NewKeyArgs {
    /// What it is called: approvals that it gives bear the name
    pub name: String,
    /// What it may do: read, run, approve, admin
    #[arg(long, value_delimiter = ',', default_value = "read,run")]
    pub scopes: Vec<Scope>,
    /// Whose traces it reaches: a tenant has data, configuration and rules of its own
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<TenantId>,
    /// For how long it is good, such as 30d
    #[arg(long, value_name = "TIME", value_parser = mainpath::values::duration)]
    pub expires: Option<Duration>,
}

/// `mainpath keys list`
#[derive(Args, Debug)]
pub struct ListKeysArgs {
    /// As JSON lines
    #[arg(long)]
    pub json: bool,
}

/// A key.
#[derive(Args, Debug)]
pub struct KeyName {
    /// Its name
    pub name: String,
}

/// `mainpath serve`
pub async fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    // What an agent starts must not be able to approve what an agent does.
    person_only("serve runs")?;
    let server = bound(args).await?;
    let at = server.address()?;
    out(&format!("listening on http://{at}  (pages: http://{at}/ui/, what it can do: http://{at}/docs)"))?;
    out(&format!("key: {}", one_line(&server.token_file().display().to_string())))?;
    served(server).await
}

/// `mainpath ui`
pub async fn ui(args: UiArgs) -> Result<Exit, Failure> {
    person_only("open the pages")?;
    let folder = Logs::open()?.home.data.join("server");
    if let Some(at) = served_at(&folder) {
        if args.serve.address.is_some_and(|wanted| wanted != at) {
            return Err(Failure::error(format!("a server of this home runs already, at http://{at}; stop it first")));
        }
        show_pages(at, &Keys::open(&folder)?.make_code()?, args.no_browser)?;
        return Ok(Exit::Ok);
    }
    let server = bound(args.serve).await?;
    show_pages(server.address()?, &server.sign_in_code()?, args.no_browser)?;
    served(server).await
}

/// Has a browser show the pages, signed in.
fn show_pages(at: SocketAddr, code: &str, no_browser: bool) -> Result<(), Failure> {
    let address = format!("http://{at}/ui/#code={code}");
    if !no_browser && has_screen() && open::that_detached(&address).is_ok() {
        return out(&format!("opened http://{at}/ui/ in your browser"));
    }
    out(&format!("open within two minutes, in a browser on this machine: {address}"))
}

/// Whether a browser could be seen.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER")
}

async fn bound(args: ServeArgs) -> Result<Server, Failure> {
    let here = std::env::current_dir()?;
    let folders = if args.workspaces.is_empty() { vec![here.clone()] } else { args.workspaces.clone() };
    let host = Host::from_home_in(&folders, tell).await?;
    let log = args.log;
    let settings = settings(args, &host, here);
    let server = Server::bind(host, settings).await?;
    Ok(match log {
        Some(LogForm::Json) => server.log_requests(|line| eprintln!("{}", one_line(line))),
        None => server,
    })
}

async fn served(server: Server) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let until = async {
        signals.next().await;
    };
    server.serve(until, tell).await?;
    Ok(Exit::Ok)
}

fn tell(line: &str) {
    eprintln!("! {}", one_line(line));
}

fn settings(args: ServeArgs, host: &Host, here: PathBuf) -> Settings {
    let config = &host.home().config.server;
    let usual = Settings::usual(here);
    let given = if args.workspaces.is_empty() { config.workspaces.clone() } else { args.workspaces };
    Settings {
        address: args.address.or(config.address).unwrap_or(usual.address),
        hosts: config.hosts.clone(),
        origins: config.origins.clone(),
        workspaces: if given.is_empty() { usual.workspaces } else { given },
        max_body: config.max_body.map_or(usual.max_body, Into::into),
        rate: config.rate.or(usual.rate),
        connections: config.connections.map_or(usual.connections, Into::into),
        resumed_at_once: config.resumed_at_once.map_or(usual.resumed_at_once, Into::into),
        rest: config.rest_s.map_or(usual.rest, |seconds| Duration::from_secs(seconds.into())),
        is_insecure: args.insecure,
        is_behind_tls: args.behind_tls || config.behind_tls,
    }
}

/// `mainpath keys`
pub fn keys(command: KeysCommand) -> Result<Exit, Failure> {
    // An agent that could make a key could approve what it does.
    person_only("handle keys")?;
    // A key can be revoked whatever is wrong in the configuration.
    let folder = Logs::look(|error| eprintln!("! {}", one_line(error.message())))?.home.data.join("server");
    let (keys, audit) = (Keys::open(&folder)?, Audit::new(&folder));
    let now = now();
    match command {
        KeysCommand::New(args) => {
            let NewKeyArgs { name, scopes, tenant, expires } = args;
            let tenant = tenant.unwrap_or_else(TenantId::local);
            let expires = expires.map(|time| now + u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2));
            let what = json!({"name": name, "scopes": scopes, "tenant": tenant});
            let key = keys.make(NewKey { name, scopes, tenant, expires }, now)?;
            audit.add(now, "mainpath keys", "key_made", what)?;
            out(&key)?;
            eprintln!("this key is shown once; send it as Authorization: Bearer KEY");
        }
        KeysCommand::List(args) => {
            for key in keys.all()? {
                let listed = mainpath_server::ListedKey::from(&key);
                let scopes: Vec<&str> = listed.scopes.iter().map(|scope| scope.name()).collect();
                let expires = listed.expires.as_ref().map(|at| format!("  expires {at}")).unwrap_or_default();
                out(&match args.json {
                    true => json!(listed).to_string(),
                    false => format!("{:<20} {:<24} {:<10}{expires}", listed.name, scopes.join(","), listed.tenant),
                })?;
            }
        }
        KeysCommand::Revoke(args) => {
            if !keys.revoke(&args.name)? {
                return Err(Failure::error(format!("there is no key {:?}; mainpath keys list", args.name)));
            }
            audit.add(now, "mainpath keys", "key_revoked", json!({"name": args.name}))?;
            out(&match args.name == OWNER {
                true => {
                    format!("{OWNER} is revoked; the next start of mainpath serve makes it again, with another secret")
                }
                false => format!("{} is revoked", args.name),
            })?;
        }
    }
    Ok(Exit::Ok)
}
