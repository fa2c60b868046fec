//! Whence a request comes is looked at before anything else, and pages that may ask are told so: also what they may send.

use crate::answer::seal;
use crate::app::App;
use crate::errors::Errors;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use std::sync::Arc;

/// Addresses that other systems call by whatever name they know: they say who they are by a signature, or say nothing that is a secret.
const ANYWHERE: [&str; 3] = ["/health", "/people/", "/webhook/"];

/// Lets a request through, or not.
pub async fn checked(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let path = request.uri().path();
    let origin = match app.guard.check(request.headers()) {
        Err(problem) if !ANYWHERE.iter().any(|open| path.starts_with(open)) => {
            let mut response = Errors::at(path).response(&problem);
            seal(response.headers_mut());
            return response;
        }
        checked => checked.ok().flatten().and_then(|origin| HeaderValue::try_from(origin).ok()),
    };
    let asks_first = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && origin.is_some();
    let mut response = match asks_first {
        true => allowed(),
        false => next.run(request).await,
    };
    if let Some(origin) = origin {
        name(response.headers_mut(), origin);
    }
    response
}

/// What a page may send.
fn allowed() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    let sent = "authorization, content-type, idempotency-key, prefer, last-event-id, accept, mainpath-session, \
                mainpath-approvals, mainpath-workspace";
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(sent));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    seal(headers);
    response
}

/// Names the page that may read the answer, and what of its headers.
fn name(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    let shown = HeaderValue::from_static("location, retry-after, preference-applied, mainpath-trace");
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, shown);
}
