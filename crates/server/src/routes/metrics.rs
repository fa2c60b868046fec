//! The counts of the server, for Prometheus.

use crate::about;
use crate::access::scope::Scope;
use crate::call::Call;
use crate::metrics::Levels;
use crate::problem::{Kind, Problem};
use crate::route::{Gives, Route, RouteError, group};
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use mainpath::types::TenantId;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let text =
        Gives { status: 200, about: "The counts, in Prometheus' text format.", media: "text/plain", schema: None };
    group(
        "about",
        vec![Route::other(
            about!(GET "/metrics" get_metrics "What the server has counted since it began, over all tenants."),
            Scope::Read,
            vec![text],
            metrics,
        )],
    )
}

async fn metrics(call: Call) -> Result<Response<Body>, Problem> {
    if call.who.tenant != TenantId::local() {
        return Err(Problem::new(Kind::FORBIDDEN, "the counts are over all tenants: this needs a key of the owner's"));
    }
    let runs = &call.app.runs;
    let levels = Levels { running: runs.count(), waiting: runs.waiting(), queued: runs.queued() };
    let mut response = Response::new(Body::from(call.app.metrics.text(levels)));
    let media = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    Ok(response)
}
