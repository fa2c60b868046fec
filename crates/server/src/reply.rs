//! An answer as JSON.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

/// The answer with this status and body. What cannot be written as JSON is an empty body of a failure.
pub fn json(status: u16, body: &impl Serialize) -> Response<Body> {
    let (status, text) = match serde_json::to_vec(body) {
        Ok(text) => (StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), text),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, Vec::new()),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
