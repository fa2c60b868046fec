//! Replies of people and messages of other systems' agents, at the addresses of `mainpath people listen`. They bear no key: their signatures
//! say whose they are.

use crate::answer::seal;
use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::reply;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::routing::post;
use http_body_util::{BodyExt, Limited};
use mainpath::people::{AnswerDesk, People, replies};
use mainpath::{Error, Host};
use std::sync::Arc;

/// Where they are taken.
const ADDRESSES: [&str; 3] = ["/people/webhook", "/people/feishu", "/webhook/a2a-messages"];
/// The largest body, in bytes.
const LARGEST: usize = 256 * 1024;

/// Whom a server takes replies from.
pub struct Replies {
    people: Arc<People>,
    desk: AnswerDesk,
}

/// The addresses for replies; none where no channel takes any. Errors: a channel is configured wrongly.
pub fn routes(app: &Arc<App>) -> Result<Router, Error> {
    let Some(logs) = app.host.logs().cloned() else { return Ok(Router::new()) };
    let Some(people) = app.host.people()? else { return Ok(Router::new()) };
    let (host, runs) = (app.host.clone(), app.runs.clone());
    let desk = AnswerDesk::new(logs, move |trace, _, _| {
        let (host, runs, trace) = (host.clone(), runs.clone(), trace.clone());
        tokio::spawn(async move {
            // What cannot be gone on with says so when it is looked at.
            if let Ok(of) = host.trace(&trace).await {
                let _ = runs.drive(&host, &of).await;
            }
        });
    });
    let replies = Arc::new(Replies { people, desk });
    Ok(ADDRESSES.into_iter().fold(Router::new(), |router, address| {
        let (replies, host) = (Arc::clone(&replies), app.host.clone());
        router.route(address, post(move |request: Request| take(replies, host, request)))
    }))
}

async fn take(taker: Arc<Replies>, host: Host, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = Limited::new(body, LARGEST).collect().await else {
        return Problem::new(Kind::TOO_LARGE, "the body is too large, or broke off").response();
    };
    let body = body.to_bytes();
    let reply = replies::Request {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        headers: &parts.headers,
        body: &body,
    };
    let seconds = (host.runtime().config().clock)() / 1000;
    let answer = replies::handle(reply, taker.people.keys(), &taker.desk, seconds).await;
    let mut response = reply::json(answer.status, &answer.body);
    seal(response.headers_mut());
    response
}
