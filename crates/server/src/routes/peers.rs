//! What other machines ask, whose agents start agents here: the log of a trace as it is kept, the long texts that it names, and mail.

use crate::about;
use crate::access::scope::Scope;
use crate::call::{Answer, Call, Nothing};
use crate::problem::Problem;
use crate::route::{Gives, Route, RouteError, group};
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use mainpath::runtime::Mail;
use mainpath::store::ReadLog;
use mainpath::types::{BlobHash, EventId, MailId, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let bytes =
        Gives { status: 200, about: "The text, as it is kept.", media: "application/octet-stream", schema: None };
    group(
        "other machines",
        vec![
            Route::json(
                about!(GET "/api/traces/{id}/log" get_log "The events of a trace as its log has them, from one on, for another Mainpath."),
                Scope::Read,
                log,
            )
            .map(|route| route.waiting().long()),
            Route::other(
                about!(GET "/api/traces/{id}/blobs/{hash}" get_blob "A long text that the log of a trace names."),
                Scope::Read,
                vec![bytes],
                blob,
            ),
            Route::answer(
                about!(POST "/api/traces/{id}/mail" send_mail "Sends a trace what another Mainpath has for it, as mailboxes hold it."),
                Scope::Run,
                mail,
            )
            .map(|route| route.gives(202, "It is in the mailbox, and durable.").once()),
        ],
    )
}

/// As many events are given at once,
const MOST_EVENTS: usize = 500;
/// and as many bytes of them, but for one that has more by itself.
const MOST_BYTES: usize = 4 << 20;

/// From where.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogQuery {
    /// After this event.
    #[serde(default)]
    after: EventId,
    /// `false`: only how far the log goes.
    #[serde(default = "yes")]
    events: bool,
}

fn yes() -> bool {
    true
}

/// A part of a log.
#[derive(Serialize, JsonSchema)]
struct LogPart {
    /// Events, in order, in the form of the log: `mainpath schema Event`.
    events: Vec<Map<String, Value>>,
    /// The last event that this part reaches up to.
    through: EventId,
    /// The last event of the log.
    head: EventId,
    /// Whether somebody drives the trace.
    is_driven: bool,
}

async fn log(call: Call<LogQuery>) -> Result<LogPart, Problem> {
    let trace = call.trace().await?;
    let LogQuery { after, events } = call.query;
    if let Some(wait) = call.wait() {
        // That nothing came in that time is no failure, nor that the server stops.
        tokio::select! {
            _ = tokio::time::timeout(wait.min(LONGEST), trace.grown(after)) => {}
            () = call.closing() => {}
        }
    }
    let is_driven = trace.is_driven().await?;
    // What is given and how far it goes are of one moment: nothing that is written meanwhile is passed over.
    let ReadLog { events: log, head, .. } = trace.log(after.saturating_add(1)).await?;
    let (mut given, mut through, mut bytes) = (Vec::new(), if events { head } else { after.min(head) }, 0);
    for event in log.iter().filter(|_| events) {
        let Value::Object(event_json) = json!(event) else { continue };
        bytes += serde_json::to_string(event).map_or(0, |text| text.len());
        if given.len() >= MOST_EVENTS || bytes > MOST_BYTES && !given.is_empty() {
            through = event.id - 1;
            break;
        }
        given.push(event_json);
    }
    Ok(LogPart { events: given, through, head, is_driven })
}

/// How long it is waited for something new at most.
const LONGEST: Duration = Duration::from_secs(60);

async fn blob(call: Call) -> Result<Response<Body>, Problem> {
    let trace = call.trace().await?;
    let none = || Problem::not_found("this trace names no such text");
    let hash = BlobHash::try_from(call.part("hash").to_string()).map_err(|_| none())?;
    let bytes = trace.long_text(&hash).await?.ok_or_else(none)?;
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

/// What is sent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MailBody {
    /// An object with a `type`: `message`, `continue`, `rewind`, `clear`, `stop`, `interrupt`, `compact` or `rename`; with the scope `approve`
    /// also `approve`, `reopen`, `deny` and `answer`.
    mail: Map<String, Value>,
}

/// That it is in the mailbox.
#[derive(Serialize, JsonSchema)]
struct Posted {
    /// Of which trace.
    trace_id: TraceId,
    /// Its number there.
    mail: MailId,
}

async fn mail(call: Call<Nothing, MailBody>) -> Result<Answer<Posted>, Problem> {
    let trace = call.trace_once().await?;
    let wrong = |error: serde_json::Error| Problem::field("/mail", error.to_string());
    let mail: Mail = serde_json::from_value(Value::Object(call.body.mail.clone())).map_err(wrong)?;
    let mut slot = None;
    match &mail {
        Mail::Message { .. } | Mail::Continue | Mail::Rewind { .. } | Mail::Compact { .. } => {
            call.check_drive(&trace).await?;
            slot = Some(call.app.runs.room(&call.host)?);
        }
        Mail::Interrupt { .. } | Mail::Clear => call.check_drive(&trace).await?,
        Mail::Stop | Mail::Rename { made: None, .. } => {}
        Mail::Approve { rule: None, .. } | Mail::Reopen { .. } | Mail::Deny { .. } => {
            call.needs(Scope::Approve, "a decision on a call")?;
        }
        Mail::Answer { .. } => call.needs(Scope::Approve, "an answer")?,
        Mail::Approve { .. }
        | Mail::Rename { .. }
        | Mail::SetSpec { .. }
        | Mail::AgentMessage { .. }
        | Mail::SelectSkill { .. }
        | Mail::Goals { .. } => return Err(Problem::field("/mail/type", "cannot be sent from another machine")),
    }
    let id = trace.post(&mail).await?;
    // A run that is stopped begins nothing any more, whoever goes on with it.
    if matches!(mail, Mail::Stop) || call.check_drive(&trace).await.is_ok() {
        call.app.runs.drive(&call.host, &trace).await?;
    }
    drop(slot);
    Ok(Answer::with(202, Posted { trace_id: trace.id().clone(), mail: id }))
}
