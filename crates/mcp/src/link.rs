//! One connection to a server: how it comes about, and what the server may ask of us on it.
#![expect(deprecated, reason = "roots are leaving the protocol (SEP-2577), but servers of today still ask for them")]

use crate::bounded::{Bounded, MESSAGE_BYTES};
use crate::config::Configured;
use crate::error::ServerError;
use crate::probe::{Late, Probed};
use crate::start::{Process, Start, Started, Starter};
use crate::variables::expand;
use mainpath_types::{Confinement, FileAccess};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root,
};
use rmcp::service::{ClientInitializeError, NotificationContext, Peer, RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{Notify, mpsc};

/// What a variable's name stands for.
pub type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// What connections need of their surroundings.
#[derive(Clone)]
pub struct Around {
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    /// What `${NAME}` in a configuration stands for.
    pub variables: Arc<Variables>,
    /// How processes are started.
    pub starter: Arc<dyn Starter>,
    /// Takes secrets out of what people are told of a server: its address and its last words may hold some.
    pub redact: Arc<Redact>,
    /// How long servers are waited for and left alone.
    pub times: Times,
}

/// How long servers are waited for and left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long a server that let a call time out has to show that it is still there.
    pub life_sign: Duration,
    /// However often a server says that its lists have changed, they are read once in this time.
    pub between_lists: Duration,
    /// After this time of waiting for servers that start, the caller is told which of them have not answered.
    pub slow_start: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            life_sign: Duration::from_secs(5),
            between_lists: Duration::from_secs(1),
            slow_start: Duration::from_secs(2),
        }
    }
}

/// Takes secrets out of a text.
pub type Redact = dyn Fn(&str) -> String + Send + Sync;

/// A connection that came about.
pub(crate) struct Link {
    service: RunningService<RoleClient, Handler>,
    pub inbox: Arc<Inbox>,
    _process: Option<Box<dyn Process>>,
}

/// The current revision, and the newest with a handshake.
const CURRENT: ProtocolVersion = ProtocolVersion::V_2026_07_28;
const PREVIOUS: ProtocolVersion = ProtocolVersion::V_2025_11_25;

impl Link {
    /// Connects: by the current revision of the protocol where the server speaks it, else by the previous one.
    pub async fn open(server: &Configured, around: &Around) -> Result<Link, ServerError> {
        let limit = server.startup_limit();
        let opening = async {
            let auto = ClientLifecycleMode::Auto { preferred_versions: vec![CURRENT], legacy_version: Some(PREVIOUS) };
            let late = Late::default();
            match attempt(server, around, auto, late.clone()).await {
                Err(ServerError::Handshake { .. }) => {
                    // Some servers of earlier revisions do not answer a question that they do not know, but give up. One of the current revision
                    // alone may have been slow to start.
                    let mode = match late.is_current() {
                        true => ClientLifecycleMode::Discover { preferred_versions: vec![CURRENT] },
                        false => ClientLifecycleMode::Initialize,
                    };
                    attempt(server, around, mode, late).await
                }
                done => done,
            }
        };
        let late = ServerError::Late { seconds: limit.as_secs(), may_need_install: may_need_install(server) };
        tokio::time::timeout(limit, opening).await.unwrap_or(Err(late))
    }

    /// How requests are sent.
    pub fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Whether requests can still be sent.
    pub fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.peer().is_transport_closed()
    }

    /// Whether it speaks the current revision.
    pub fn is_current(&self) -> bool {
        self.peer().peer_info().is_some_and(|info| !info.protocol_version.has_initialize())
    }

    /// Ends it. What is under way on it fails.
    pub fn close(&self) {
        self.service.cancellation_token().cancel();
    }
}

/// Connects by one revision of the protocol. Errors: after [`ServerError::Handshake`] another revision may work.
async fn attempt(
    server: &Configured,
    around: &Around,
    mode: ClientLifecycleMode,
    late: Late,
) -> Result<Link, ServerError> {
    // A server that has to speak the current revision has all the time that there is.
    let is_probe = matches!(mode, ClientLifecycleMode::Auto { .. });
    let limit = is_probe.then(|| server.startup_limit());
    let inbox = Arc::new(Inbox::default());
    let handler = Handler { inbox: Arc::clone(&inbox), root: around.workspace.clone() };
    if server.entry.command.is_some() {
        let start = plan(server, around)?;
        let started = around.starter.start(&start).map_err(|error| {
            let program = start.words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
            ServerError::Program { program: program.into_owned(), source: Arc::new(error) }
        })?;
        let Started { input, output, errors, process } = started;
        let said = Said::listen(errors);
        let transport = AsyncRwTransport::new(Bounded::new(output), input).with_max_line_length(usize::MAX);
        match handler.serve_with_lifecycle(Probed::new(transport, limit, late), mode).await {
            Ok(service) => Ok(Link { service, inbox, _process: Some(process) }),
            Err(error) => {
                let refused = tokio::time::timeout(Duration::from_secs(2), process.refusal()).await;
                if let Ok(Some(why)) = refused {
                    return Err(ServerError::Unconfined { why });
                }
                // Its last words are on their way.
                tokio::time::sleep(Duration::from_millis(50)).await;
                let why = crate::clean::line(&error.to_string(), 300);
                let may_need_install = may_need_install(server);
                Err(ServerError::Handshake { why, last_words: said.last(), may_need_install })
            }
        }
    } else {
        let (client, config) = http(server, around)?;
        let transport = StreamableHttpClientTransport::with_client(client, config);
        match handler.serve_with_lifecycle(Probed::new(transport, limit, late), mode).await {
            Ok(service) => Ok(Link { service, inbox, _process: None }),
            Err(error) if error.is_authorization_required() => Err(ServerError::Unauthorized),
            Err(error) => {
                let why = crate::clean::line(&without_query(&cause(&error)), 300);
                Err(ServerError::Handshake { why, last_words: String::new(), may_need_install: false })
            }
        }
    }
}

/// Returns true if its command installs the server on the first start but has no network.
fn may_need_install(server: &Configured) -> bool {
    let fetches = matches!(server.entry.command.as_deref(), Some("npx" | "uvx" | "bunx" | "pipx"));
    fetches && !server.entry.network.unwrap_or(false)
}

/// The process of a stdio server.
fn plan(server: &Configured, around: &Around) -> Result<Start, ServerError> {
    let entry = &server.entry;
    let full = |text: &String| expand(text, &*around.variables);
    let command = entry.command.iter().chain(&entry.args).map(full).collect::<Result<Vec<_>, _>>()?;
    let env = entry.env.iter().map(|(name, value)| Ok((OsString::from(name), OsString::from(full(value)?))));
    let env = env.collect::<Result<Vec<_>, ServerError>>()?;
    let (is_owned, files) = (server.file.is_absolute() && !server.foreign, entry.sandbox.unwrap_or_default());
    let home = (around.variables)("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    // A program outside the sandbox must load nothing from the workspace.
    let base = if is_owned && files == FileAccess::Full { &home } else { &around.workspace };
    let folder = match &entry.cwd {
        Some(folder) => base.join(expand(&folder.to_string_lossy(), &*around.variables)?),
        None => base.clone(),
    };
    if !folder.is_dir() {
        return Err(ServerError::NoFolder(folder));
    }
    let confinement = Confinement { files, network: entry.network.unwrap_or(false) };
    let id = format!("mcp/{}", server.name);
    Ok(Start { id, words: command.into_iter().map(Into::into).collect(), folder, env, confinement, is_owned })
}

/// The client for an HTTP server.
fn http(
    server: &Configured,
    around: &Around,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), ServerError> {
    let url = expand(server.entry.url.as_deref().unwrap_or_default(), &*around.variables)?;
    let parsed = reqwest::Url::parse(&url).map_err(|error| ServerError::Url(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(ServerError::Scheme(parsed.scheme().into()));
    }
    let mut headers = HashMap::new();
    for (name, value) in &server.entry.headers {
        let value =
            expand(value, &*around.variables).map_err(|source| ServerError::Header { name: name.clone(), source })?;
        let name = reqwest::header::HeaderName::try_from(name).map_err(|_| ServerError::HeaderName(name.clone()))?;
        let value = reqwest::header::HeaderValue::try_from(value)
            .map_err(|_| ServerError::HeaderValue(name.as_str().into()))?;
        headers.insert(name, value);
    }
    let config =
        StreamableHttpClientTransportConfig::with_uri(url).custom_headers(headers).max_sse_event_size(MESSAGE_BYTES);
    Ok((crate::http::client(&parsed)?, config))
}

/// An error without what an address in it has behind its path: there are keys in queries.
fn without_query(error: &str) -> String {
    error
        .split_inclusive([' ', '(', ')'])
        .map(|word| match (word.starts_with("http"), word.find('?')) {
            (true, Some(at)) => format!(
                "{}{}",
                word.get(..at).unwrap_or_default(),
                word.get(word.trim_end_matches([' ', '(', ')']).len()..).unwrap_or_default()
            ),
            _ => word.into(),
        })
        .collect()
}

/// What happened, rather than what it stopped.
fn cause(error: &ClientInitializeError) -> String {
    let mut innermost: &(dyn std::error::Error + 'static) = match error {
        ClientInitializeError::TransportError { error, .. } => match error.error.downcast_ref() {
            Some(StreamableHttpError::<reqwest::Error>::Client(error)) => error,
            _ => &*error.error,
        },
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => return cause(fallback),
        other => return other.to_string(),
    };
    let outermost = innermost.to_string();
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    let inner = innermost.to_string();
    if outermost.contains(&inner) { outermost } else { format!("{outermost}: {inner}") }
}

/// The end of what a process writes to its standard error. It is read all the time, so that the process never waits.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<VecDeque<u8>>>);

impl Said {
    fn listen(mut errors: Box<dyn AsyncRead + Send + Unpin>) -> Said {
        const KEPT: usize = 2_000;
        let said = Said::default();
        let kept = Arc::clone(&said.0);
        tokio::spawn(async move {
            let mut buffer = vec![0; 4096];
            while let Ok(read @ 1..) = errors.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(buffer.get(..read).unwrap_or_default());
                let over = kept.len().saturating_sub(KEPT);
                kept.drain(..over);
            }
        });
        said
    }

    /// For the end of a line.
    fn last(&self) -> String {
        let kept: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = crate::clean::seen(&String::from_utf8_lossy(&kept));
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ");
        if last.is_empty() { last } else { format!("; it said: {}", crate::clean::line(&last, 500)) }
    }
}

/// What a server tells between its answers.
#[derive(Default)]
pub(crate) struct Inbox {
    /// A list of tools, resources or prompts has changed. However often that is said, it is looked at once.
    pub changed: Notify,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    waiting: HashMap<ProgressToken, mpsc::Sender<String>>,
    /// What came before its call was known.
    early: VecDeque<(ProgressToken, String)>,
}

/// As many pieces of progress wait for somebody at most; more are dropped.
const PIECES: usize = 64;

impl Inbox {
    /// The progress of a call from now on, and what there was before. Forgotten when the [`Listening`] is dropped.
    pub fn listen(self: &Arc<Self>, token: ProgressToken) -> Listening {
        let (sender, receiver) = mpsc::channel(PIECES);
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, piece) in progress.early.iter().filter(|(early, _)| *early == token) {
            let _ = sender.try_send(piece.clone());
        }
        progress.waiting.insert(token.clone(), sender);
        Listening { inbox: Arc::clone(self), token, receiver }
    }

    fn put(&self, progressed: ProgressNotificationParam) {
        let ProgressNotificationParam { progress_token, progress, total, message, .. } = progressed;
        let of = total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = message.map(|message| format!(" {}", crate::clean::line(&message, 300))).unwrap_or_default();
        let piece = format!("{progress}{of}{message}\n");
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        match progress.waiting.get(&progress_token) {
            Some(sender) => drop(sender.try_send(piece)),
            None => {
                progress.early.push_back((progress_token, piece));
                let over = progress.early.len().saturating_sub(PIECES);
                progress.early.drain(..over);
            }
        }
    }
}

/// The progress of one call.
pub(crate) struct Listening {
    inbox: Arc<Inbox>,
    token: ProgressToken,
    receiver: mpsc::Receiver<String>,
}

impl Listening {
    /// The next piece. May be dropped and called again.
    pub async fn next(&mut self) -> Option<String> {
        self.receiver.recv().await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut progress = self.inbox.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.waiting.remove(&self.token);
    }
}

/// Our side of a connection. Servers may ask for the workspace's place, and for nothing else: nobody's model and nobody's
/// answers are theirs to have, so sampling is unknown here and what is asked of the person is declined.
pub(crate) struct Handler {
    inbox: Arc<Inbox>,
    root: PathBuf,
}

impl Handler {
    /// The workspace.
    pub fn roots(&self) -> ListRootsResult {
        let url = reqwest::Url::from_directory_path(&self.root).ok();
        ListRootsResult::new(url.into_iter().map(|url| Root::new(url.as_str().trim_end_matches('/'))).collect())
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_roots().build();
        let own = Implementation::new("mainpath", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, own).with_protocol_version(PREVIOUS)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn on_progress(&self, progressed: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.inbox.put(progressed);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.inbox.changed.notify_one();
    }
}

impl Link {
    /// Our side of it.
    pub fn handler(&self) -> &Handler {
        self.service.service()
    }
}
