//! What the model sees of an answer.

use crate::charset::decode;
use crate::client::Answer;
use crate::settings::CallRate;
use mainpath_tools::{Problem, ToolContext, ToolDoc};
use mainpath_types::{Artifact, EffectClass, Origin, ToolOutput};
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;

/// What is said of a tool whose results come from the network.
pub(crate) fn doc(description: impl Into<String>, effect: EffectClass, rate: Option<CallRate>) -> ToolDoc {
    ToolDoc { rate: rate.map(|CallRate(rate)| rate), origin: Origin::Web, ..ToolDoc::new(description, effect) }
}

/// An address with secrets hidden, also where they are encoded in it: as in a path, or as in a form.
pub(crate) fn shown(ctx: &ToolContext, url: &Url) -> String {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let forms = [decoded(&url.as_str().replace('+', " ")), decoded(url.as_str())];
    let hidden = forms.iter().map(|form| (form, ctx.secrets.redact(form))).find(|(form, hidden)| *form != hidden);
    hidden.map_or_else(|| ctx.secrets.redact(url.as_str()), |(_, hidden)| hidden)
}

/// The media type of an answer, without parameters, in small letters; empty where it says none.
pub(crate) fn media_type(answer: &Answer) -> String {
    let all = content_type(answer).to_ascii_lowercase();
    let kind = all.split(';').next().unwrap_or_default().trim();
    kind.chars().filter(|letter| letter.is_ascii_graphic()).take(100).collect()
}

fn content_type(answer: &Answer) -> String {
    answer
        .headers
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .unwrap_or_default()
}

/// Whether a media type is one of texts; without one, whether the bytes look like a text.
pub(crate) fn is_text(media_type: &str, bytes: &[u8]) -> bool {
    const KINDS: [&str; 9] =
        ["json", "xml", "javascript", "ecmascript", "yaml", "toml", "x-www-form-urlencoded", "graphql", "sql"];
    let (family, kind) = media_type.split_once('/').unwrap_or((media_type, ""));
    let by_name = family == "text" || kind.split('+').any(|part| KINDS.contains(&part.trim_start_matches("x-")));
    match media_type {
        "" | "application/octet-stream" => !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok(),
        _ => by_name,
    }
}

/// The body as text, and the name of its encoding.
pub(crate) fn text(answer: &Answer) -> (String, &'static str) {
    decode(&answer.body, &content_type(answer))
}

/// The first `most` characters, and whether there are more.
pub(crate) fn head(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

/// A refusal of the server, in one line.
pub(crate) fn refused(who: &str, answer: &Answer) -> Problem {
    let body = match is_text(&media_type(answer), &answer.body) {
        true => crate::page::one_line(head(&text(answer).0, 2_000).0),
        false => String::new(),
    };
    let said = if body.is_empty() { String::new() } else { format!(": {}", head(&body, 500).0) };
    Problem::new(status_code(answer.status), format!("{who} answered with HTTP {}{said}", answer.status))
}

/// The code of an answer with such a status: some pass by themselves.
pub(crate) fn status_code(status: u16) -> &'static str {
    if matches!(status, 429 | 502 | 503 | 504) { "unavailable" } else { "http_status" }
}

/// A failed output, which may be tried again if the network or the server failed for the moment.
pub(crate) fn failed(problem: Problem) -> ToolOutput {
    let transient = matches!(problem.code, "connection" | "timeout" | "unavailable");
    ToolOutput { transient, ..problem.into() }
}

/// Does work that takes time aside, so that other calls go on meanwhile.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Problem::new("interrupted", "Mainpath is shutting down; the call was not run.")),
        },
    }
}

/// Keeps a body that cannot be shown in full.
pub(crate) async fn keep(
    ctx: &ToolContext,
    bytes: Vec<u8>,
    kind: String,
    artifacts: &mut Vec<Artifact>,
    notes: &mut Vec<String>,
) {
    let size = bytes.len() as u64;
    match ctx.blobs.put(bytes).await {
        Ok(hash) => artifacts.push(Artifact { name: "body".into(), hash, bytes: size, media_type: kind }),
        Err(error) => notes.push(format!("the body could not be kept: {error}")),
    }
}
