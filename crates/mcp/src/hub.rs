//! All servers of a process, and their tools in its registry.

use crate::config::{Configured, Servers};
use crate::error::ServerError;
use crate::link::{Around, Link};
use crate::search;
use crate::server::Server;
use crate::tools::{self, Offer};
use mainpath_tools::{Problem, Tools};
use mainpath_types::EffectClass;
use rmcp::model::SubscriptionFilter;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long to wait before changes are subscribed to again.
const BETWEEN_SUBSCRIPTIONS: Duration = Duration::from_secs(5);

/// The servers that a process uses. Their processes end when it is dropped with the registry that has their tools, or by
/// [`Mcp::close`].
pub struct Mcp {
    shared: Arc<Shared>,
    states: Vec<ServerState>,
}

/// What became of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: State,
}

/// How a server stands.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It is connected: the revision of the protocol, what it calls itself, and its tools by the names that they have here.
    Ready {
        /// Such as `2026-07-28`.
        protocol: String,
        /// Its name and version, in its own words.
        about: String,
        /// With their descriptions.
        tools: Vec<(String, String)>,
    },
    /// It could not be connected. Why.
    Failed(String),
    /// It waits for the person's approval.
    Untrusted,
    /// Its entry says that it is not used.
    Disabled,
}

/// What the tools of all servers share.
pub(crate) struct Shared {
    registry: Tools,
    servers: Vec<Arc<Server>>,
    search_above: usize,
    known: Mutex<Known>,
    changed: watch::Sender<u64>,
    notice: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Default)]
struct Known {
    /// By the names that they have here, with the place of their server.
    offers: BTreeMap<String, (usize, Offer)>,
    searching: bool,
    /// What was said about servers, to say it once.
    said: BTreeSet<String>,
}

impl Mcp {
    /// Connects to all servers, at once, and puts their tools into `registry`. Waits for the slowest. `is_trusted` says
    /// whether one may start; `notice` hears of what people should know, a line each: also, once, which servers have not answered after
    /// [`Times::slow_start`](crate::Times::slow_start).
    pub async fn start(
        registry: Tools,
        Servers { servers, .. }: Servers,
        search_above: usize,
        around: Around,
        is_trusted: &(dyn Fn(&Configured) -> bool + Sync),
        notice: impl Fn(&str) + Send + Sync + 'static,
    ) -> Mcp {
        let (redact, slow_start) = (Arc::clone(&around.redact), around.times.slow_start);
        let mut states: Vec<ServerState> = Vec::new();
        let mut used: Vec<(usize, Arc<Server>)> = Vec::new();
        for configured in servers {
            let state = match () {
                () if configured.entry.disabled => State::Disabled,
                () if !is_trusted(&configured) => State::Untrusted,
                () => State::Failed("it was not tried".into()),
            };
            states.push(ServerState { name: configured.name.clone(), state: state.clone() });
            if matches!(state, State::Failed(_)) {
                used.push((states.len() - 1, Arc::new(Server::new(configured, around.clone()))));
            }
        }
        let shared = Arc::new(Shared {
            registry,
            servers: used.iter().map(|(_, server)| Arc::clone(server)).collect(),
            search_above,
            known: Mutex::default(),
            changed: watch::Sender::new(0),
            notice: Box::new({
                let redact = Arc::clone(&redact);
                move |line| notice(&redact(line))
            }),
        });
        let (mut tasks, mut waiting) = (tokio::task::JoinSet::new(), BTreeSet::new());
        for (place, (at, server)) in used.into_iter().enumerate() {
            waiting.insert(at);
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { (at, shared.first(place, &server).await) });
        }
        let mut slow = std::pin::pin!(tokio::time::sleep(slow_start));
        let mut is_told = false;
        loop {
            let done = tokio::select! {
                done = tasks.join_next() => done,
                () = &mut slow, if !is_told => {
                    is_told = true;
                    let names = waiting.iter().filter_map(|at: &usize| states.get(*at));
                    let names: Vec<String> = names.map(|server| crate::clean::line(&server.name, 40)).collect();
                    (shared.notice)(&format!("waiting for MCP servers that have not answered yet: {}", names.join(", ")));
                    continue;
                }
            };
            let Some(done) = done else { break };
            if let Ok((at, state)) = done
                && let Some(entry) = states.get_mut(at)
            {
                waiting.remove(&at);
                entry.state = match state {
                    State::Failed(why) => State::Failed(redact(&why)),
                    other => other,
                };
            }
        }
        Mcp { shared, states }
    }

    /// What became of the servers when they were started.
    pub fn states(&self) -> &[ServerState] {
        &self.states
    }

    /// Counts the changes of the tools that models are told of.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    /// Ends all connections, and takes their tools out of the registry.
    pub async fn close(&self) {
        self.shared.withdraw();
        for server in &self.shared.servers {
            server.close().await;
        }
    }
}

impl Shared {
    /// The tools of all servers, in the order of their names.
    pub fn with_offers<T>(&self, see: impl FnOnce(&mut dyn Iterator<Item = (&str, &Offer)>) -> T) -> T {
        let known = self.known();
        see(&mut known.offers.iter().map(|(name, (_, offer))| (name.as_str(), offer)))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all tools of the servers out of the registry.
    fn withdraw(self: &Arc<Self>) {
        let mut known = self.known();
        for name in std::mem::take(&mut known.offers).into_keys() {
            self.registry.remove(&name);
        }
        self.arrange(&mut known);
    }

    /// The first connection to a server. Every later one is looked after by itself.
    async fn first(self: &Arc<Self>, place: usize, server: &Arc<Server>) -> State {
        let link = match server.link().await {
            Ok(link) => link,
            Err(why) => {
                self.look_after_later(place, server);
                return State::Failed(why.to_string());
            }
        };
        let limit = server.configured.startup_limit();
        let listed = tokio::time::timeout(limit, self.list(place, server, &link)).await;
        let listed = listed.unwrap_or(Err(ServerError::LateList(limit.as_secs())));
        self.look_after_later(place, server);
        self.look_after(place, Arc::clone(server), &link);
        if let Err(why) = listed {
            return State::Failed(why.to_string());
        }
        let info = link.peer().peer_info();
        let about = info.as_ref().and_then(|info| info.server_info.as_ref());
        let about = about.map(|about| format!("{} {}", about.name, about.version)).unwrap_or_default();
        let offers = &self.known().offers;
        let own = offers.iter().filter(|(_, (owner, _))| *owner == place);
        State::Ready {
            protocol: info.map(|info| crate::clean::line(info.protocol_version.as_str(), 40)).unwrap_or_default(),
            about: crate::clean::line(&about, 100),
            tools: own.map(|(name, (_, offer))| (name.clone(), offer.doc.description.clone())).collect(),
        }
    }

    /// Whenever the server is connected anew, its lists are read again.
    fn look_after_later(self: &Arc<Self>, place: usize, server: &Arc<Server>) {
        let (shared, weak) = (Arc::downgrade(self), Arc::downgrade(server));
        server.on_open(move |link| {
            let (Some(shared), Some(server)) = (shared.upgrade(), weak.upgrade()) else { return };
            link.inbox.changed.notify_one();
            shared.look_after(place, server, link);
        });
    }

    /// Reads the lists of a connection whenever they have changed, as long as it lives.
    fn look_after(self: &Arc<Self>, place: usize, server: Arc<Server>, link: &Arc<Link>) {
        if link.is_current() {
            let link = Arc::downgrade(link);
            tokio::spawn(async move {
                while let Some(link) = link.upgrade().filter(|link| link.is_open()) {
                    subscribe(&link).await;
                    drop(link);
                    tokio::time::sleep(BETWEEN_SUBSCRIPTIONS).await;
                }
            });
        }
        let (shared, link, inbox) = (Arc::downgrade(self), Arc::downgrade(link), Arc::clone(&link.inbox));
        let server = Arc::downgrade(&server);
        tokio::spawn(async move {
            loop {
                // A connection that has ended says nothing more, and is let go of here.
                let told = tokio::time::timeout(Duration::from_secs(30), inbox.changed.notified()).await;
                let (Some(shared), Some(server), Some(link)) = (shared.upgrade(), server.upgrade(), link.upgrade())
                else {
                    return;
                };
                if !link.is_open() {
                    return;
                }
                if told.is_ok() {
                    if let Err(why) = shared.list(place, &server, &link).await {
                        shared.say(&server, &why.to_string());
                    }
                    let pause = server.around.times.between_lists;
                    drop((shared, server, link));
                    tokio::time::sleep(pause).await;
                }
            }
        });
    }

    /// Reads a server's lists and puts its tools into the registry. Errors: it does not tell them.
    async fn list(self: &Arc<Self>, place: usize, server: &Arc<Server>, link: &Link) -> Result<(), ServerError> {
        let (offers, notes) = tools::offers(server, link).await?;
        notes.iter().for_each(|note| self.say(server, note));
        let refused = self.take(place, offers);
        refused.iter().for_each(|note| self.say(server, note));
        Ok(())
    }

    /// Replaces the tools of a server. Says what the registry did not take.
    fn take(self: &Arc<Self>, place: usize, offers: Vec<(String, Offer)>) -> Vec<String> {
        let before = self.registry.specs();
        let mut notes = Vec::new();
        let mut known = self.known();
        let offered: BTreeSet<&str> = offers.iter().map(|(name, _)| name.as_str()).collect();
        let gone = known.offers.iter().filter(|(name, (owner, _))| *owner == place && !offered.contains(name.as_str()));
        for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            known.offers.remove(&name);
            self.registry.remove(&name);
        }
        for (name, offer) in offers {
            let owner = known.offers.get(&name).map(|(owner, _)| *owner);
            let taken = match owner {
                Some(owner) => owner != place,
                // Nothing of a server's can stand in the place of a tool that is not its own.
                None => self.registry.resolve(&name).is_some(),
            };
            if taken {
                notes.push(format!("its tool {name:?} is left out: another tool has that name"));
                continue;
            }
            match self.put(&name, &offer, known.searching) {
                Ok(()) => drop(known.offers.insert(name, (place, offer))),
                Err(why) => {
                    notes.push(why.text);
                    known.offers.remove(&name);
                    self.registry.remove(&name);
                }
            }
        }
        self.arrange(&mut known);
        drop(known);
        if self.registry.specs() != before {
            self.changed.send_modify(|count| *count += 1);
        }
        notes
    }

    fn put(&self, name: &str, offer: &Offer, hidden: bool) -> Result<(), Problem> {
        let Offer { doc, schema, tool } = offer.clone();
        let doc = mainpath_tools::ToolDoc { hidden, ..doc };
        self.registry.put(name, doc, schema, tool)
    }

    /// Offers all tools, or the search for them, whichever their number asks for.
    fn arrange(self: &Arc<Self>, known: &mut Known) {
        let searching = known.offers.len() > self.search_above;
        if searching != known.searching {
            known.searching = searching;
            for (name, (_, offer)) in &known.offers {
                // It was taken before.
                let _ = self.put(name, offer, searching);
            }
        }
        match searching {
            true => {
                let owners: BTreeSet<usize> = known.offers.values().map(|(owner, _)| *owner).collect();
                let names = owners.iter().filter_map(|owner| self.servers.get(*owner));
                let names: Vec<String> = names.map(|server| crate::clean::line(&server.configured.name, 40)).collect();
                let shared = Arc::downgrade(self);
                let finder = move |query: &str, is_offered: &dyn Fn(&str, EffectClass) -> bool| {
                    let shared = shared.upgrade()?;
                    Some(shared.with_offers(|offers| {
                        let offered = offers.filter(|(name, offer)| is_offered(name, offer.doc.effect));
                        let all = offered.map(|(name, offer)| (name, offer.doc.description.as_str(), &offer.schema));
                        search::found(query, all.collect())
                    }))
                };
                search::add(&self.registry, Box::new(finder), &names.join(", "));
            }
            false => search::remove(&self.registry),
        }
    }

    /// Tells people something about a server, once.
    fn say(&self, server: &Server, what: &str) {
        let line = format!("the MCP server {:?}: {}", server.configured.name, crate::clean::line(what, 400));
        let mut known = self.known();
        // A server can make up reasons without end.
        let new = known.said.len() < 200 && known.said.insert(line.clone());
        drop(known);
        if new {
            (self.notice)(&line);
        }
    }
}

/// Hears of changed lists as long as the subscription lasts.
async fn subscribe(link: &Link) {
    let wanted =
        SubscriptionFilter::builder().tools_list_changed().resources_list_changed().prompts_list_changed().build();
    let Ok(mut subscription) = link.peer().listen(wanted).await else { return };
    while let Ok(Some(_)) = subscription.next().await {
        link.inbox.changed.notify_one();
    }
}
