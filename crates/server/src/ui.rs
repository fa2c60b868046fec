//! The pages for people. They are built from `ui/` of the repository and lie in this program; they hold no data, and ask the server for
//! everything with the key of whoever looks.

use crate::access::codes::is_own;
use crate::answer::seal;
use crate::app::Shared;
use crate::packed;
use crate::problem::{Kind, Problem};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::response::Redirect;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;
use std::net::SocketAddr;

/// The page at every address below `/ui/`.
const PAGE: &str = "index.html";
/// What a page may load and reach: its own files, and this server. Nothing that an agent says can become code or a request elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; \
                      connect-src 'self'; frame-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The largest body that signs in, in bytes.
const LARGEST: usize = 1024;

/// Both ends of the connection that a request came by.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The client's.
    pub peer: SocketAddr,
    /// The server's.
    pub here: SocketAddr,
}

/// The addresses of the pages.
pub fn pages(app: Shared) -> Router {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/ui/") }))
        .route("/ui", get(|| async { Redirect::permanent("/ui/") }))
        .route("/ui/", get(|headers: HeaderMap| async move { page(&headers) }))
        .route("/ui/login", post(login).with_state(app))
        .route("/ui/{*path}", get(at))
}

/// What is at an address below `/ui/`. One that is no text names no file.
async fn at(path: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response<Body> {
    match path {
        Ok(Path(path)) => file(&path, &headers),
        Err(_) => page(&headers),
    }
}

/// A file of the pages; at every other address the page itself, which knows what to show there.
fn file(path: &str, headers: &HeaderMap) -> Response<Body> {
    match packed::file(&format!("ui/{path}"), headers) {
        Some(found) => given(path, found),
        // A file that an older page names is not there any more.
        None if path.starts_with("assets/") => {
            let mut response = Problem::not_found("there is no such file; load the page again").response();
            seal(response.headers_mut());
            response
        }
        None => page(headers),
    }
}

fn page(headers: &HeaderMap) -> Response<Body> {
    match packed::file(&format!("ui/{PAGE}"), headers) {
        Some(found) => given(PAGE, found),
        None => Problem::not_found("this program was built without its pages").response(),
    }
}

fn given(path: &str, mut file: Response<Body>) -> Response<Body> {
    let said = file.headers_mut();
    // The names of these files hold their digests.
    let kept = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    said.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    said.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    said.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    seal(said);
    file
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    code: String,
}

/// Gives the owner's key to a browser of the owner on this machine that comes with a code.
async fn login(State(app): State<Shared>, request: Request) -> Response<Body> {
    let ends = request.extensions().get::<Ends>().copied();
    let body = to_bytes(request.into_body(), LARGEST).await.unwrap_or_default();
    let mut response = match signed_in(&app, ends, &body) {
        Ok(key) => {
            let mut response = Response::new(Body::from(json!({ "key": key }).to_string()));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(problem) => problem.response(),
    };
    seal(response.headers_mut());
    response
}

fn signed_in(app: &Shared, ends: Option<Ends>, body: &[u8]) -> Result<String, Problem> {
    let none = |why: &str| Problem::new(Kind::UNAUTHENTICATED, format!("{why}; sign in with a key"));
    let Login { code } =
        serde_json::from_slice(body).map_err(|error| Problem::new(Kind::INVALID, error.to_string()))?;
    if !ends.is_some_and(|Ends { peer, here }| is_own(peer, here)) {
        return Err(none("a code is for the browser of the user whose server this is, on the same machine"));
    }
    if !app.keys.take_code(&code) {
        return Err(none("the code is unknown, used or too old"));
    }
    app.audit.add(app.now(), "mainpath ui", "signed_in", json!({}))?;
    Ok(app.keys.token()?)
}
