//! A trace is watched: as a stream of server-sent events, over a WebSocket, or a page of events at a time.

use super::traces::most;
use crate::about;
use crate::access::scope::Scope;
use crate::call::Call;
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::route::{Gives, Route, RouteError, documented, group};
use crate::stream::{Cursor, Feed, Wanted, socket, sse};
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use mainpath::RunEvent;
use mainpath::trace::{Facts, FactsFrom};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let page = Gives {
        status: 200,
        about: "With `Accept: text/event-stream` the stream; else a page of events.",
        media: "application/json",
        schema: documented::<Page>(),
    };
    let over = Gives { status: 204, about: "All was seen, and nothing goes on.", media: "", schema: None };
    let socket =
        Gives { status: 101, about: "The WebSocket: a message of JSON for each event.", media: "", schema: None };
    group(
        "streams",
        vec![
            Route::other(
                about!(GET "/api/traces/{id}/events" list_events "What happens in a trace, from an event on."),
                Scope::Read,
                vec![page, over],
                events,
            )
            .map(Route::long),
            Route::other(
                about!(GET "/api/traces/{id}/watch" watch_trace "The same over a WebSocket."),
                Scope::Read,
                vec![socket],
                watch,
            )
            .map(|route| route.long().fails(&[400])),
        ],
    )
}

/// From where, and what.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// After this event: its number, or the cursor of the last frame. `Last-Event-ID` comes before it.
    after: Option<String>,
    /// The same under its other name.
    since_event_id: Option<String>,
    /// Also of the agents that it has started.
    #[serde(default)]
    children: bool,
    /// Also pieces of what is still coming; they have no number and cannot be resumed.
    deltas: Option<bool>,
    /// The stream goes on when nothing happens any more.
    #[serde(default)]
    follow: bool,
    /// Of a page: from the beginning of this turn on.
    turn: Option<u32>,
    /// Of a page: the last ones.
    #[serde(default)]
    last: bool,
    /// Of a page: at most so many log events.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
}

/// A page of events.
#[derive(Serialize, JsonSchema)]
struct Page {
    /// The events, under their published names. Several may share a number.
    #[schemars(with = "Vec<RunEvent>")]
    events: Vec<Map<String, Value>>,
    /// The number of the last event of the trace.
    head: u64,
    /// After which the next page begins; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl EventsQuery {
    /// A field that is for pages only.
    fn of_pages(&self) -> Option<&'static str> {
        self.turn.map(|_| "/turn").or(self.last.then_some("/last")).or(self.limit.map(|_| "/limit"))
    }

    /// Errors: a field that is for pages only.
    fn check_stream(&self) -> Result<(), Problem> {
        match self.of_pages() {
            Some(pointer) => Err(Problem::query(pointer, "is for pages: a stream begins after an event and goes on")),
            None => Ok(()),
        }
    }

    /// Errors: it says twice from where on.
    fn check(&self) -> Result<(), Problem> {
        match (&self.after, &self.since_event_id) {
            (Some(_), Some(_)) => {
                Err(Problem::query("/since_event_id", "is another name of after: give one of them, not both"))
            }
            _ => Ok(()),
        }
    }

    /// Where a page begins.
    fn page_from(&self, cursor: Option<&Cursor>) -> Result<FactsFrom, Problem> {
        match (cursor, self.turn, self.last) {
            (None, None, true) => Ok(FactsFrom::Last),
            (None, Some(turn), false) => Ok(FactsFrom::Turn(turn)),
            (cursor, None, false) => Ok(FactsFrom::After(cursor.map_or(0, Cursor::event))),
            _ => {
                let one = "a page begins in one place: after an event, at a turn, or with the last ones";
                Err(Problem::query(self.of_pages().unwrap_or("/after"), one))
            }
        }
    }

    fn wanted(&self, last: Option<&str>) -> Wanted {
        let text = last.or(self.after.as_deref()).or(self.since_event_id.as_deref()).filter(|text| !text.is_empty());
        let cursor = text.map(str::parse::<Cursor>);
        Wanted {
            is_no_cursor: matches!(cursor, Some(Err(()))),
            cursor: cursor.and_then(Result::ok),
            children: self.children,
            deltas: self.deltas.unwrap_or(true),
            follow: self.follow,
        }
    }
}

fn header_of<'a, Q, B>(call: &'a Call<Q, B>, name: &str) -> Option<&'a str> {
    call.headers.get(name).and_then(|value| value.to_str().ok())
}

async fn events(call: Call<EventsQuery>) -> Result<Response<Body>, Problem> {
    call.query.check()?;
    let trace = call.trace().await?;
    let wanted = call.query.wanted(header_of(&call, "last-event-id"));
    let streams = header_of(&call, header::ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream"));
    if !streams {
        return page(&call, &trace, &wanted).await;
    }
    call.query.check_stream()?;
    let is_resumed = wanted.cursor.is_some();
    let feed = Feed::open(trace, wanted, call.watch()).await?;
    // A page's EventSource comes back for ever unless it is told that nothing follows.
    if is_resumed && feed.is_over {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    }
    Ok(sse::response(call.app.watched(feed)))
}

async fn page(call: &Call<EventsQuery>, trace: &mainpath::Trace, wanted: &Wanted) -> Result<Response<Body>, Problem> {
    if wanted.is_no_cursor {
        return Err(Problem::query("/after", "is no number of an event"));
    }
    let from = call.query.page_from(wanted.cursor.as_ref())?;
    let most = most(call.query.limit);
    let Facts { facts, head } = trace.facts(from, most).await?;
    let last = facts.iter().filter_map(|fact| fact["id"].as_u64()).next_back();
    let next = last.filter(|last| *last < head).map(|last| last.to_string());
    let object = |value| match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let page = Page { events: facts.into_iter().map(object).collect(), head, next };
    Ok(reply::json(200, &page))
}

async fn watch(mut call: Call<EventsQuery>) -> Result<Response<Body>, Problem> {
    call.query.check()?;
    call.query.check_stream()?;
    let trace = call.trace().await?;
    let Some(upgrade) = call.socket.take() else {
        return Err(Problem::new(Kind::UNSUPPORTED, "this is a WebSocket: ask for an upgrade, or use …/events"));
    };
    let wanted = call.query.wanted(None);
    let feed = call.app.watched(Feed::open(trace, wanted, call.watch()).await?);
    let upgrade = upgrade.max_message_size(64 << 10).max_frame_size(64 << 10).protocols(["mainpath"]);
    Ok(upgrade.on_upgrade(|opened| socket::give(opened, feed)))
}
