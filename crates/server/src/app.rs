//! What all requests share: the hosts, the keys, the limits and the clock.

use crate::access::audit::Audit;
use crate::access::guard::Guard;
use crate::access::keys::{Keys, Who};
use crate::access::once::UsedKeys;
use crate::access::rate::Rate;
use crate::life::Runs;
use crate::lines::Lines;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::observe::Told;
use crate::problem::{Kind, Problem};
use crate::stream::{Feed, Together};
use mainpath::store::{cause_of, create_private, is_scarce};
use mainpath::types::{Millis, TenantId};
use mainpath::{Error, Host};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, watch};

/// Why runs cannot be started or continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Logs of the owner or of a tenant cannot be written.
    Store(String),
    /// No more files can be opened.
    Files(String),
}

impl Outage {
    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Outage::Store(why) | Outage::Files(why) => why,
        }
    }
}

/// What all requests share.
pub struct App {
    /// The traces of this installation.
    pub host: Host,
    /// The folders that agents may work in, without links.
    pub workspaces: Vec<PathBuf>,
    /// The keys.
    pub keys: Keys,
    /// What was done with them.
    pub audit: Audit,
    /// Whence requests may come.
    pub guard: Guard,
    /// How often they may come.
    pub rate: Option<Rate>,
    /// The largest body, in bytes.
    pub largest: usize,
    /// The runs that go on here.
    pub runs: Runs,
    /// Whether the server takes requests for work.
    pub is_ready: AtomicBool,
    /// Hears of requests that were refused because no more files could be opened.
    pub out_of_files: Notify,
    /// The keys that requests came under.
    pub used_keys: UsedKeys,
    /// What is said in one conversation is said one after the other.
    pub lines: Lines,
    /// Becomes true when the server ends.
    pub closing: watch::Sender<bool>,
    /// Who watches the same.
    pub together: Together,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What requests are told to.
    pub log: Log,
    /// The homes of other tenants, once they were asked for.
    pub tenants: Tenants,
}

/// The homes of other tenants than the owner: a folder each, with data, configuration, rules and skills of its own.
pub struct Tenants {
    owner: Host,
    folder: PathBuf,
    /// Who is told of what their agents do.
    told: Told,
    known: Mutex<BTreeMap<TenantId, Host>>,
}

impl Tenants {
    /// In folders of the owner's home.
    pub fn new(owner: Host, told: Told) -> Tenants {
        let folder = owner.home().data.join("tenants");
        Tenants { owner, folder, told, known: Mutex::default() }
    }

    /// Where a tenant's agents work: beside the owner's data, which no tool can touch.
    pub fn work(&self, tenant: &TenantId) -> PathBuf {
        let data = &self.owner.home().data;
        let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        data.with_file_name(format!("{name}-work")).join(tenant.as_str())
    }

    /// The host of a tenant. Errors: there is no such tenant, or its configuration is wrong.
    fn host(&self, tenant: &TenantId) -> Result<Host, Error> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = known.get(tenant) {
            return Ok(host.clone());
        }
        let folder = self.folder.join(tenant.as_str());
        create_private(&folder)?;
        let host = self.owner.within(&folder)?;
        host.bind_keys(None);
        host.runtime().observe(Arc::new(self.told.clone()));
        known.insert(tenant.clone(), host.clone());
        Ok(host)
    }

    /// All that there are, with those that cannot be used. Errors: their folder cannot be read.
    pub fn all(&self) -> Result<Vec<Result<Host, Error>>, Error> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<TenantId>().ok());
        Ok(names.map(|tenant| self.host(&tenant)).collect())
    }

    /// Those that were asked for.
    pub fn known(&self) -> Vec<Host> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl App {
    /// The time.
    pub fn now(&self) -> Millis {
        (self.host.runtime().config().clock)()
    }

    /// Why runs cannot be started or continued now; `None` if they can.
    pub fn outage(&self) -> Option<Outage> {
        let stores = || self.host.store_problem().or_else(|| self.tenants.known().iter().find_map(Host::store_problem));
        let is_scarce = |error: &std::io::Error| is_scarce(cause_of(error));
        let files = || std::fs::File::open("/dev/null").err().filter(is_scarce).map(|error| error.to_string());
        stores().map(Outage::Store).or_else(|| files().map(Outage::Files))
    }

    /// The traces that a key reaches, in its name.
    pub fn host_of(&self, who: &Who) -> Result<Host, Problem> {
        let host = match who.tenant == TenantId::local() {
            true => self.host.clone(),
            // What is wrong there is the owner's to see: the server says it when it starts.
            false => self.tenants.host(&who.tenant).map_err(|_| {
                let what = format!(
                    "the configuration of the tenant {} cannot be used; the server's owner sees why at its start",
                    who.tenant
                );
                Problem::new(Kind::UNAVAILABLE, what)
            })?,
        };
        Ok(host.acting_as(who.principal.clone()))
    }

    /// The folder for an agent of a tenant: the one that is asked for, if agents may work there. Errors: they may not.
    pub fn workspace(&self, who: &Who, wanted: Option<&str>) -> Result<PathBuf, Problem> {
        let own = self.tenants.work(&who.tenant);
        let allowed = match who.tenant == TenantId::local() {
            true => self.workspaces.clone(),
            false => {
                create_private(&own).map_err(|error| Problem::from(Error::from(error)))?;
                vec![own.canonicalize().unwrap_or(own)]
            }
        };
        let first = allowed.first().cloned().unwrap_or_default();
        let Some(wanted) = wanted else { return Ok(first) };
        let none = |why: String| Problem::field("/workspace", why);
        let folder = first.join(Path::new(wanted));
        let found = folder.canonicalize().map_err(|error| none(format!("{wanted:?} cannot be used: {error}")))?;
        match allowed.iter().any(|root| found.starts_with(root)) && found.is_dir() {
            true => Ok(found),
            false => Err(none(format!("{wanted:?} is in no folder that agents may work in (server.workspaces)"))),
        }
    }

    /// A stream that is counted as long as somebody follows it.
    pub fn watched(&self, feed: Feed) -> Feed {
        feed.holding(self.metrics.watcher())
    }

    /// Whose key a request bears. Errors: it bears none that is good.
    pub fn who(&self, key: Option<&str>) -> Result<Who, Problem> {
        let Some(key) = key else {
            return Err(Problem::new(Kind::UNAUTHENTICATED, "the request has no key: Authorization: Bearer KEY"));
        };
        let none = || Problem::new(Kind::UNAUTHENTICATED, "the key is unknown, revoked or expired");
        self.keys.who(key, self.now())?.ok_or_else(none)
    }
}

/// The server, as its parts hold it.
pub type Shared = Arc<App>;
