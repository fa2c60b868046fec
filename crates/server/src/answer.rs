//! From a request to its answer: whence it comes, who asks, what it takes, and the code of its route.

use crate::access::keys::bearer;
use crate::access::scope::Scope;
use crate::app::{App, Shared};
use crate::call::{Call, Client};
use crate::errors::Errors;
use crate::fields;
use crate::log::Requested;
use crate::problem::{FieldProblem, Kind, Problem};
use crate::route::{Route, Takes};
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::{HeaderMap, HeaderValue, Method, Response, header, request};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use mainpath::tools::unique_json;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
/// Headers that say what is asked for, as the body does.
const SAYING: [&str; 3] = ["mainpath-session", "mainpath-approvals", "mainpath-workspace"];
/// How long an answer may take that waits for nobody.
const LIMIT: Duration = Duration::from_secs(60);

/// The variable parts of an address, if it can be read.
pub type Path = Result<RawPathParams, RawPathParamsRejection>;

/// Answers a request to a route.
pub async fn answer(app: Shared, route: Arc<Route>, path: Path, request: Request) -> Response<Body> {
    let began = Instant::now();
    let mut about = Requested { method: route.method.clone(), route: route.path, key: None, trace: None };
    let (mut parts, body) = request.into_parts();
    let done = match path {
        Ok(path) => answered(&app, &route, path, &mut parts, body, &mut about).await,
        Err(_) => Err(Problem::not_found("the address is not UTF-8")),
    };
    let is_elsewhere = about.trace.as_ref().is_some_and(|trace| trace.elsewhere().is_some());
    let mut response = done.unwrap_or_else(|mut problem| {
        if is_elsewhere && problem.status == 500 {
            problem = Problem::new(Kind::ELSEWHERE, problem.detail);
        }
        if problem.is(Kind::SCARCE) {
            app.out_of_files.notify_one();
        }
        route.errors.response(&problem)
    });
    seal(response.headers_mut());
    let (status, took) = (response.status(), began.elapsed());
    app.metrics.answered(route.method.as_str(), route.path, status.as_u16(), took);
    app.log.answered(&about, &response, took, app.now());
    response
}

/// What every answer says: no other page shows it, and nobody keeps it.
pub fn seal(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

async fn answered(
    app: &Arc<App>,
    route: &Route,
    path: RawPathParams,
    parts: &mut request::Parts,
    body: Body,
    about: &mut Requested,
) -> Result<Response<Body>, Problem> {
    let who = app.who(bearer(&parts.headers))?;
    about.key = Some(who.name.clone());
    if let Some(rate) = &app.rate {
        rate.count(&who.name)?;
    }
    if let Some(scope) = route.needs.filter(|scope| !who.may(*scope)) {
        return Err(Problem::new(Kind::FORBIDDEN, format!("this needs a key with the scope {scope}")));
    }
    let query = match &route.query {
        Some(takes) => held(takes, query_of(takes, parts.uri.query().unwrap_or_default()), "query")?,
        None => without(parts.uri.query().unwrap_or_default())?,
    };
    let changes = route.method == Method::POST && route.needs != Some(Scope::Read);
    if changes && !route.is_once && route.errors == Errors::Problems && parts.headers.contains_key("idempotency-key") {
        return Err(Problem::new(
            Kind::UNSUPPORTED,
            "this takes no Idempotency-Key: look what was done before you send it again",
        ));
    }
    let socket = WebSocketUpgrade::from_request_parts(parts, &()).await.ok();
    let bytes = read(app, parts, body).await?;
    let mut digest = Sha256::new().chain_update(route.name).chain_update(parts.uri.path()).chain_update(b"\n");
    for name in SAYING {
        let said = parts.headers.get(name).map_or(&b""[..], |value| value.as_bytes());
        digest.update([said, b"\n"].concat());
    }
    let digest = digest.chain_update(&bytes).finalize();
    let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let host = app.host_of(&who)?;
    let body = match &route.body {
        Some(takes) => {
            let body = json(takes, &bytes)?;
            let besides = route.besides.map(|_| body.clone());
            held(takes, body, "body").map_err(|problem| match (route.besides, besides) {
                (Some(wrong), Some(body)) => problem.with(wrong(&host, &body)),
                _ => problem,
            })?
        }
        None if route.method == Method::POST => nothing(&bytes)?,
        None => Value::Object(Map::new()),
    };
    let path: BTreeMap<String, String> =
        path.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    about.trace = path.get("id").and_then(|id| id.parse().ok());
    let headers = parts.headers.clone();
    let (client, gone) = Client::here();
    let call = Call { app: Arc::clone(app), who, host, path, query, body, headers, digest, socket, gone };
    let (code, is_long) = ((route.code)(call), route.is_long);
    let done = async move {
        if is_long {
            return code.await;
        }
        let late = |_| Problem::new(Kind::UNAVAILABLE, "that took too long");
        tokio::time::timeout(LIMIT, code).await.map_err(late)?
    };
    if route.method == Method::GET {
        return done.await.map_err(Problem::of_query);
    }
    // What was begun is brought to where it stands by itself, also where the client has gone meanwhile.
    let failed =
        |error: tokio::task::JoinError| Problem::new(Kind::INTERNAL, format!("the request broke off: {error}"));
    let done = tokio::spawn(done).await.map_err(failed)?;
    drop(client);
    done
}

/// That a query has nothing. Errors: each field that it has.
fn without(query: &str) -> Result<Value, Problem> {
    let wrong = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| unknown("query", &name));
    let wrong: Vec<FieldProblem> = wrong.collect();
    if wrong.is_empty() { Ok(Value::Object(Map::new())) } else { Err(Problem::fields(wrong)) }
}

/// That a body says nothing. Errors: each field that it has.
fn nothing(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    let body = unique_json(bytes).map_err(not_json)?;
    let Value::Object(fields) = &body else { return Err(Problem::field("", "is no object")) };
    let wrong: Vec<FieldProblem> = fields.keys().map(|name| unknown("body", name)).collect();
    if wrong.is_empty() { Ok(body) } else { Err(Problem::fields(wrong)) }
}

fn unknown(place: &str, name: &str) -> FieldProblem {
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    FieldProblem::unknown(place, &pointer, "; there are none")
}

fn not_json(error: serde_json::Error) -> Problem {
    Problem::new(Kind::NOT_JSON, format!("the body is not JSON: {error}"))
}

/// The body of a request. Errors: it is too large, broke off, or takes too long.
async fn read(app: &App, parts: &request::Parts, body: Body) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(Kind::TOO_LARGE, format!("the body has more than {} bytes", app.largest));
    let length =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > app.largest) {
        return Err(too_large());
    }
    if let Some(coding) = parts.headers.get(header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let coding = coding.to_str().unwrap_or("something unknown");
        return Err(Problem::new(Kind::UNSUPPORTED, format!("the body is encoded ({coding}): send it as it is")));
    }
    let collected = tokio::time::timeout(ARRIVAL, Limited::new(body, app.largest).collect()).await;
    match collected {
        Err(_) => Err(Problem::new(Kind::TIMEOUT, "the body did not arrive in time")),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::new(Kind::NOT_JSON, format!("the body broke off: {error}"))),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

/// A body as JSON, whatever type it says it has: many clients say none.
fn json(takes: &Takes, bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.iter().all(u8::is_ascii_whitespace) && takes.is_optional {
        return Ok(Value::Object(Map::new()));
    }
    unique_json(bytes).map_err(not_json)
}

/// A query as JSON: numbers and truths where the schema wants them.
fn query_of(takes: &Takes, query: &str) -> Value {
    let mut all = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let kind = &takes.root["properties"][&*name]["type"];
        let is =
            |wanted: &str| kind == wanted || kind.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == wanted));
        let value = match &*text {
            "true" if is("boolean") => Value::Bool(true),
            "false" if is("boolean") => Value::Bool(false),
            number if is("integer") => number.parse::<u64>().map_or_else(|_| number.into(), Value::from),
            text => text.into(),
        };
        all.insert(name.into_owned(), value);
    }
    Value::Object(all)
}

/// A value that its schema allows. Errors: every field that it does not.
fn held(takes: &Takes, value: Value, place: &str) -> Result<Value, Problem> {
    let wrong = takes.rules.wrong_fields(&value).into_iter();
    let wrong: Vec<FieldProblem> = wrong
        .map(|wrong| {
            if wrong.is_unknown() {
                return fields::unknown(&takes.root, place, &wrong.field);
            }
            let said = wrong.problem.strip_prefix(&format!("at {}: ", wrong.field)).unwrap_or(&wrong.problem);
            FieldProblem::new(place, &*wrong.field, if wrong.is_missing() { "is missing" } else { said })
        })
        .collect();
    if wrong.is_empty() { Ok(value) } else { Err(Problem::fields(wrong)) }
}
