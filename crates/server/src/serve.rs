//! The server: it listens, takes connections, and ends in order.

use crate::access::audit::Audit;
use crate::access::cors;
use crate::access::guard::Guard;
use crate::access::keys::Keys;
use crate::access::once::UsedKeys;
use crate::access::rate::Rate;
use crate::answer::{Path, answer, seal};
use crate::app::{App, Outage, Tenants};
use crate::docs::{self, Document};
use crate::errors::Errors;
use crate::life::{Found, Runs, rest, rested};
use crate::lines::Lines;
use crate::log::Log;
use crate::metrics::Metrics;
use crate::observe::Told;
use crate::openai;
use crate::people;
use crate::problem::{Kind, Problem};
use crate::route::{Route, RouteError};
use crate::routes;
use crate::serving::Serving;
use crate::settings::Settings;
use crate::stream::Together;
use crate::telemetry::Telemetry;
use crate::ui::{Ends, pages};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response, Uri};
use axum::routing::{MethodFilter, MethodRouter, on};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mainpath::{Error, Host};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};

/// How long a client may take to say what it wants.
const HEAD: Duration = Duration::from_secs(10);

/// How long answers may take to arrive at the end.
const LAST: Duration = Duration::from_secs(2);

/// How long spans that wait may take to be sent at the end.
const FLUSH: Duration = Duration::from_secs(5);

/// A server that listens and has not begun to answer.
pub struct Server {
    app: Arc<App>,
    router: Router,
    listener: TcpListener,
    settings: Settings,
    telemetry: Option<Arc<Telemetry>>,
    serving: Serving,
}

impl Server {
    /// Listens, as these settings say, for an installation. Errors: nothing can be listened on there, it could be reached from other
    /// machines without TLS, or its files cannot be written.
    pub async fn bind(host: Host, settings: Settings) -> Result<Server, Error> {
        let address = settings.address;
        if !address.ip().is_loopback() && !settings.is_insecure && !settings.is_behind_tls {
            return Err(Error::of_field(
                "server.address",
                format_args!(
                    " {address} can be reached from other machines, and keys would travel unencrypted: put a server with TLS \
                     before it and say --behind-tls, or say --insecure"
                ),
            ));
        }
        host.bind_keys(None);
        let folder = host.home().data.join("server");
        let keys = Keys::open(&folder)?;
        // Two would each take the other's runs for their own.
        let serving = Serving::begin(&folder)?;
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Error::of_field("server.address", format_args!(" {address} cannot be listened on: {error}"))
        })?;
        let at = listener.local_addr()?;
        serving.tell(at)?;
        keys.token()?;
        let wrong = |error: RouteError| Error::failed(error.to_string());
        let mut routes = routes::all().map_err(wrong)?;
        routes.extend(openai::routes().map_err(wrong)?);
        let routes: Arc<[Arc<Route>]> = routes.into_iter().map(Arc::new).collect();
        let document = Document::new(Arc::clone(&routes)).map_err(wrong)?;
        let workspaces = settings.workspaces.iter().map(|folder| {
            let wrong = |error| Error::of_field("server.workspaces", format_args!(": {}: {error}", folder.display()));
            folder.canonicalize().map_err(wrong)
        });
        let metrics = Arc::new(Metrics::default());
        let telemetry = host.home().otlp()?.map(|to| Arc::new(Telemetry::begin(to, Arc::clone(&metrics))));
        let told = Told { metrics: Arc::clone(&metrics), telemetry: telemetry.clone() };
        host.runtime().observe(Arc::new(told.clone()));
        let app = Arc::new(App {
            workspaces: workspaces.collect::<Result<_, Error>>()?,
            keys,
            audit: Audit::new(&folder),
            guard: Guard::new(at, settings.hosts.clone(), settings.origins.clone()),
            rate: settings.rate.map(Rate::new),
            largest: settings.max_body,
            runs: Runs::default(),
            is_ready: AtomicBool::new(false),
            out_of_files: Notify::new(),
            used_keys: UsedKeys::default(),
            lines: Lines::default(),
            closing: watch::channel(false).0,
            metrics,
            log: Log::default(),
            together: Together::default(),
            tenants: Tenants::new(host.clone(), told),
            host,
        });
        let open = docs::open(Arc::clone(&app), document, Arc::clone(&routes));
        let router = router(&app, &routes).merge(open).merge(people::routes(&app)?).merge(pages(Arc::clone(&app)));
        let router = router.method_not_allowed_fallback(|uri: Uri| async move {
            refused(&uri, Kind::METHOD, "this address has no such method")
        });
        let router = router.layer(axum::middleware::from_fn_with_state(Arc::clone(&app), cors::checked));
        Ok(Server { app, router, listener, settings, telemetry, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        Ok(self.listener.local_addr()?)
    }

    /// A code that signs a browser of the owner on this machine in, once and within two minutes: `/ui/#code=CODE`. Errors: it cannot be
    /// written.
    pub fn sign_in_code(&self) -> Result<String, Error> {
        self.app.keys.make_code()
    }

    /// Where the owner's own key lies.
    pub fn token_file(&self) -> std::path::PathBuf {
        self.app.keys.token_file()
    }

    /// Has each request told, as one line of JSON: its route, status and time, whose key it bears, and the trace that it is about. No key,
    /// query or body is among it.
    pub fn log_requests(self, to: impl Fn(&str) + Send + Sync + 'static) -> Server {
        self.app.log.tell(to);
        self
    }

    /// Answers until `until` is over. Then it takes no request any more, lets what goes on come to rest, and returns: nothing is lost, and
    /// a later start goes on with it. `tell` hears what people should know, a line each.
    pub async fn serve(
        self,
        until: impl Future<Output = ()>,
        tell: impl Fn(&str) + Clone + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let Server { app, router, listener, settings, telemetry, serving } = self;
        app.audit.add(
            app.now(),
            "mainpath serve",
            "server_started",
            json!({"address": listener.local_addr()?.to_string()}),
        )?;
        for host in std::iter::once(Ok(app.host.clone())).chain(app.tenants.all()?) {
            // What cannot be read is told when runs are continued.
            let _ = host.and_then(|host| app.runs.read_left(&host));
        }
        go_on(&app, settings.resumed_at_once, tell.clone());
        watch_store(&app, tell.clone());
        app.is_ready.store(true, Ordering::Release);
        let room = Arc::new(Semaphore::new(settings.connections));
        let closed = app.closing.subscribe();
        tokio::pin!(until);
        loop {
            let permit = tokio::select! {
                () = &mut until => break,
                permit = Arc::clone(&room).acquire_owned() => permit,
            };
            let Ok(permit) = permit else { break };
            let (stream, peer) = tokio::select! {
                () = &mut until => break,
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    // As when there are too many files: what was accepted goes on.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let _ = stream.set_nodelay(true);
            let ends = stream.local_addr().map(|here| Ends { peer, here }).ok();
            let (routed, mut closed) = (TowerToHyperService::new(router.clone()), closed.clone());
            let service = service_fn(move |mut request: hyper::Request<Incoming>| {
                if let Some(ends) = ends {
                    request.extensions_mut().insert(ends);
                }
                routed.call(request)
            });
            let held = app.metrics.connection();
            tokio::spawn(async move {
                let (_permit, _held) = (permit, held);
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD)
                    .max_buf_size(64 << 10)
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades();
                tokio::pin!(connection);
                tokio::select! {
                    _ = connection.as_mut() => return,
                    _ = closed.wait_for(|is_closing| *is_closing) => connection.as_mut().graceful_shutdown(),
                }
                let _ = connection.await;
            });
        }
        drop(listener);
        app.is_ready.store(false, Ordering::Release);
        app.closing.send_replace(true);
        let hosts: Vec<Host> = std::iter::once(app.host.clone()).chain(app.tenants.known()).collect();
        let runtimes = hosts.iter().map(|host| host.runtime().clone()).collect();
        let going_on = app.runs.count();
        if going_on > 0 {
            tell(&format!("letting {going_on} run{} come to a checkpoint", if going_on == 1 { "" } else { "s" }));
        }
        if !rest(runtimes, settings.rest).await {
            tell("what still goes on is taken up by the next start");
        }
        if let Some(telemetry) = telemetry {
            telemetry.flush(FLUSH).await;
        }
        hosts.iter().try_for_each(rested)?;
        // What is being answered arrives.
        let all = u32::try_from(settings.connections).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(LAST, room.acquire_many(all)).await;
        app.audit.add(app.now(), "mainpath serve", "server_ended", json!({}))?;
        drop(serving);
        Ok(())
    }
}

/// So long after the last request that was refused for it, files can be opened again.
const QUIET: Duration = Duration::from_secs(10);
/// How often the state of the store is looked at.
const STORE_LOOK: Duration = Duration::from_secs(1);

/// Prints a line when logs cannot be written or files cannot be opened any more, and when they can be again.
fn watch_store(app: &Arc<App>, tell: impl Fn(&str) + Send + Sync + 'static) {
    let (app, mut closing) = (Arc::clone(app), app.closing.subscribe());
    tokio::spawn(async move {
        let (mut known, mut refused) = (None, None::<Instant>);
        loop {
            tokio::select! {
                _ = closing.wait_for(|is_closing| *is_closing) => return,
                () = app.out_of_files.notified() => refused = Some(Instant::now()),
                () = tokio::time::sleep(STORE_LOOK) => {}
            }
            let is_recent = refused.is_some_and(|refused| refused.elapsed() < QUIET);
            let outage = app.outage().or_else(|| is_recent.then(|| Outage::Files("too many open files".into())));
            match (&known, &outage) {
                (None, Some(Outage::Store(why))) => {
                    tell(&format!("logs cannot be written ({why}): no run continues, and /ready answers 503"))
                }
                (None, Some(Outage::Files(why))) => {
                    tell(&format!("files cannot be opened ({why}): requests get 503; raise the limit with ulimit -n"))
                }
                (Some(Outage::Store(_)), None) => tell("logs can be written again"),
                (Some(Outage::Files(_)), None) => tell("files can be opened again"),
                _ => {}
            }
            known = outage;
        }
    });
}

/// Goes on with what an earlier process left.
fn go_on(app: &Arc<App>, at_once: usize, tell: impl Fn(&str) + Send + Sync + 'static) {
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let told = |found: Found| match found {
            Found::GoesOn(trace) => tell(&format!("{trace} goes on")),
            Found::SetAside(trace) => {
                tell(&format!(
                    "{trace} was under way each time that this server died, and is set aside: mainpath resume {trace} continues it"
                ));
                let _ = app.audit.add(app.now(), "mainpath serve", "trace_set_aside", json!({"trace_id": trace}));
            }
            Found::CutOff(trace) => tell(&format!(
                "{trace} was cut off while its client waited: it continues if the client sends its request again, or with mainpath resume {trace}"
            )),
            Found::Unreadable(trace, why) => tell(&format!("{trace} was under way and cannot go on: {why}")),
        };
        // One that cannot be used keeps no other from going on.
        let others = app.tenants.all().unwrap_or_else(|error| vec![Err(error)]);
        for host in std::iter::once(Ok(app.host.clone())).chain(others) {
            let done = async { app.runs.go_on(&host?, at_once, told).await };
            if let Err(error) = done.await {
                tell(&format!(
                    "what broke off cannot be taken up, and what runs now would not be after a crash: {error}"
                ));
            }
        }
    });
}

/// The routes by their addresses.
fn router(app: &Arc<App>, routes: &[Arc<Route>]) -> Router {
    let mut paths: BTreeMap<&'static str, MethodRouter> = BTreeMap::new();
    for route in routes {
        let filter = match route.method {
            Method::POST => MethodFilter::POST,
            Method::DELETE => MethodFilter::DELETE,
            Method::PUT => MethodFilter::PUT,
            _ => MethodFilter::GET,
        };
        let (path, app, route) = (route.path, Arc::clone(app), Arc::clone(route));
        let handler = move |path: Path, request: Request| answer(app, route, path, request);
        let known = paths.remove(path).unwrap_or_default();
        paths.insert(path, known.merge(on(filter, handler)));
    }
    let router = paths.into_iter().fold(Router::new(), |router, (path, methods)| {
        router.route(
            path,
            methods.fallback(|uri: Uri| async move { refused(&uri, Kind::METHOD, "this address has no such method") }),
        )
    });
    let metrics = Arc::clone(&app.metrics);
    router.fallback(move |request: Request| async move {
        // The address may be anything: it is counted and not named.
        let method = if request.method() == Method::POST { "POST" } else { "GET" };
        let nothing = match request.uri().path().strip_suffix('/') {
            Some(_) => "there is nothing at this address; no address but / and /ui/ ends with a slash, see /docs",
            None => "there is nothing at this address; see /docs",
        };
        let refused = refused(request.uri(), Kind::NOT_FOUND, nothing);
        metrics.answered(method, "(none)", refused.status().as_u16(), Duration::ZERO);
        refused
    })
}

fn refused(uri: &Uri, kind: Kind, detail: &str) -> Response<Body> {
    let mut response = Errors::at(uri.path()).response(&Problem::new(kind, detail));
    seal(response.headers_mut());
    response
}
