//! What the server says of itself without a key: its document, its pages, whether it lives and is ready.

mod document;
mod page;

pub use document::Document;

use crate::answer::seal;
use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::route::Route;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What anybody may ask.
pub fn open(ready: Arc<App>, document: Document, routes: Arc<[Arc<Route>]>) -> Router {
    Router::new()
        .route("/health", get(|| async { sealed(text("application/json", "{\"status\":\"ok\"}")) }))
        .route(
            "/ready",
            get(|| async move {
                let why = match ready.is_ready.load(Ordering::Acquire) {
                    true => ready.outage().map(|outage| outage.why().to_string()),
                    false => Some("the server is starting or shutting down".into()),
                };
                sealed(match why {
                    None => text("application/json", "{\"status\":\"ready\"}"),
                    Some(why) => Problem::new(Kind::UNAVAILABLE, why).response(),
                })
            }),
        )
        .route(
            "/openapi.json",
            get(move |asked: HeaderMap| async move {
                sealed(match document.answer(&asked).await {
                    Ok(answer) => answer,
                    Err(error) => Problem::new(Kind::INTERNAL, error.to_string()).response(),
                })
            }),
        )
        .route("/docs", get(move || async move { sealed(text("text/html; charset=utf-8", &page::page(&routes))) }))
        .route(
            "/problems/{name}",
            get(|name: Result<Path<String>, PathRejection>| async move {
                let name = name.map(|Path(name)| name).unwrap_or_default();
                sealed(match Kind::ALL.iter().find(|kind| kind.name == name) {
                    Some(kind) => text("text/html; charset=utf-8", &page::problem(kind)),
                    None => Problem::not_found("there is no such kind of problem").response(),
                })
            }),
        )
}

fn sealed(mut response: Response<Body>) -> Response<Body> {
    seal(response.headers_mut());
    response
}

fn text(media: &'static str, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if media.starts_with("text/html") {
        let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    response
}
