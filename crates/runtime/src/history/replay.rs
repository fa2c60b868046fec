//! Replay: everything that was computed from a log is computed again and compared.

use crate::history::artifacts;
use crate::history::views;
use crate::models::Models;
use crate::prepared::{Frames, request_head, text_form};
use crate::prompt::gone::Gone;
use crate::prompt::prefix::Prefix;
use crate::prompt::request::{Encoding, Sources, extend};
use crate::prompt::texts::load;
use mainpath_core::{Bodies, Item, Log, NodeKind, State, Under, apply, pack};
use mainpath_providers::{ModelPlace, Playback, Provider, Registry, Script, Scripted};
use mainpath_store::{StoreError, TraceStore};
use mainpath_types::{BlobHash, Event, EventId, EventKind, ModelFinished, ModelMalformed, TextForm};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Events that were applied.
    pub events: u64,
    /// Requests that were rebuilt and have the hash that was recorded.
    pub requests: u64,
    /// Requests that could not be compared: lost, failed or abandoned before their hash was recorded.
    pub unanswered: u64,
    /// Requests that cannot be compared because something that they showed was erased.
    pub erased: u64,
    /// Views that were built again and are what was there.
    pub views: u64,
    /// Views that were not there, by name. They are built again, but for a dry run.
    pub missing: Vec<String>,
    /// Views that were not what the log says, or said when they were written, by name. The same.
    pub wrong: Vec<String>,
    /// Views that another version of Mainpath wrote, in its form: they were not compared, but written anew.
    pub outdated: u64,
    /// What else differs, a line each: what no replay puts right.
    pub differences: Vec<String>,
}

impl Replayed {
    /// Whether nothing differs. Views that are missing are none of that: they may be deleted at any time.
    pub fn agrees(&self) -> bool {
        self.wrong.is_empty() && self.differences.is_empty()
    }
}

/// Builds every view again, compares it byte for byte with what is there, and then puts it there; rebuilds every request and
/// compares its hash. A dry run writes nothing. Nothing is removed or replaced that cannot be built again: the views of a log
/// that cannot be read to its end, or whose blobs are gone, stay as they are. Errors: the log or a request's blob cannot be
/// read.
pub async fn replay(trace: TraceStore<'_>, models: &dyn Models, dry_run: bool) -> Result<Replayed, StoreError> {
    let known = views::last_known(trace).await?;
    let log = trace.read(1).await?;
    let mut replayed = Replayed { events: log.events.len() as u64, ..Replayed::default() };
    if let Some(damage) = &log.damage {
        replayed.differences.push(format!("{damage}; what follows was not replayed"));
    }
    if log.newer {
        let what = format!("line {} and what follows was written by a newer Mainpath and not replayed", log.head + 1);
        replayed.differences.push(what);
    }
    let missing = views::missing_end(log.head, known).filter(|_| !log.read_only());
    replayed.differences.extend(missing.iter().map(|missing| format!("{missing}; they stay as they are")));
    let gone: HashSet<EventId> = log.erased.iter().map(|erased| erased.id).collect();
    requests(trace, models, &log.events, &gone, &mut replayed).await?;
    if !log.read_only() && missing.is_none() {
        rebuild(trace, &log.events, dry_run, &mut replayed).await?;
    }
    Ok(replayed)
}

async fn rebuild(
    trace: TraceStore<'_>,
    events: &[Event],
    dry_run: bool,
    replayed: &mut Replayed,
) -> Result<(), StoreError> {
    let artifacts = artifacts::list(events);
    let changed = artifacts::changed(trace, &artifacts).await?;
    replayed.wrong.clone_from(&changed);
    let mut before = HashMap::new();
    let there: HashSet<String> = trace.views().await?.into_iter().collect();
    for artifact in &artifacts {
        match there.contains(&artifact.file) {
            true => replayed.views += u64::from(!changed.contains(&artifact.file)),
            // What is no longer kept has no file.
            false if trace.scoped().get_blob(&artifact.artifact.hash).await.is_err() => {}
            false => replayed.missing.push(artifact.file.clone()),
        }
    }
    for name in there {
        if artifacts.iter().any(|artifact| artifact.file == name) {
            continue;
        }
        if let Some(bytes) = trace.get_view(&name).await? {
            before.insert(name, bytes);
        }
    }
    // What another version wrote says the same in another form. What is no JSON, no version wrote.
    let is_json = |meta: &[u8]| serde_json::from_slice::<serde_json::Value>(meta).is_ok_and(|meta| meta.is_object());
    let is_outdated =
        before.get("meta.json").is_some_and(|meta| is_json(meta) && views::version(meta) != views::VERSION);
    // Views are written when a run ends. Older ones are right if they are what the log said then.
    let written_at = before.get("meta.json").and_then(|meta| views::written_up_to(meta)).unwrap_or(EventId::MAX);
    let known = events.iter().take_while(|event| event.id <= written_at).count();
    let built = async {
        let then = match known < events.len() {
            true => views::build(trace, events.get(..known).unwrap_or_default()).await?,
            false => Vec::new(),
        };
        Ok((then, views::build(trace, events).await?))
    };
    let (then, now) = match built.await {
        Ok(built) => built,
        Err(error @ (StoreError::NoBlob { .. } | StoreError::Damaged(_))) => {
            replayed.differences.push(format!("the views cannot be built again and stay as they are: {error}"));
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let mut outdated = HashSet::new();
    if is_outdated {
        let names = then.iter().chain(&now).map(|(name, _)| *name);
        outdated.extend(names.filter(|name| before.remove(*name).is_some()));
        replayed.outdated = outdated.len() as u64;
    }
    // Each is compared with what the log said when it was written; what the log makes only since may be there already.
    let of_then: Vec<&str> = then.iter().map(|(name, _)| *name).collect();
    let since = now.iter().filter(|(name, _)| !of_then.contains(name));
    for (name, bytes) in then.iter().chain(since) {
        match before.remove(*name) {
            _ if outdated.contains(*name) => {}
            Some(before) if before != *bytes => replayed.wrong.push((*name).into()),
            Some(_) => replayed.views += 1,
            None if of_then.is_empty() || of_then.contains(name) => replayed.missing.push((*name).into()),
            None => {}
        }
    }
    replayed.missing.sort();
    replayed.wrong.sort();
    let mut left: Vec<String> = before.into_keys().collect();
    left.sort();
    let left = left.iter().map(|name| format!("the view {name} does not come from the log"));
    replayed.differences.extend(left);
    if !dry_run {
        // What they were copied from is there, so they come back.
        for name in &changed {
            trace.delete_view(name).await?;
        }
        views::put(trace, &artifacts, now).await?;
    }
    Ok(())
}

async fn requests(
    trace: TraceStore<'_>,
    models: &dyn Models,
    events: &[Event],
    gone: &HashSet<EventId>,
    replayed: &mut Replayed,
) -> Result<(), StoreError> {
    let mut state = State::new(trace.trace.clone());
    let mut bodies = Log::default();
    bodies.extend(events);
    let mut prefix = Prefix::default();
    let mut frame: Option<Encoder> = None;
    let mut sent: HashMap<u32, Sent> = HashMap::new();
    let (mut lost, by_event) =
        (HashSet::new(), |event: EventId| bodies.get(event).map_or_else(Vec::new, EventKind::blobs));
    for event in events {
        apply(&mut state, event);
        match &event.kind {
            EventKind::ModelRequested(data) => {
                replayed.unanswered += 1;
                let Some(packed) = pack(&state) else { continue };
                let shows = packed.items.iter().filter_map(Item::event).chain([packed.under.spec]);
                if !gone.is_empty() && shows.into_iter().any(|event| gone.contains(&event)) {
                    replayed.unanswered -= 1;
                    replayed.erased += 1;
                    continue;
                }
                if frame.as_ref().is_none_or(|frame| {
                    (frame.under.spec, frame.under.model) != (packed.under.spec, packed.under.model)
                }) {
                    frame = encoder(models, events, packed.under);
                }
                let Some(Encoder { provider, frames, text, .. }) = &frame else {
                    replayed
                        .differences
                        .push(format!("request {}: its model's format is not known here", data.request));
                    continue;
                };
                let (before, after) = frames.of(packed.under);
                let encoding = Encoding { provider: &**provider, before, text: *text };
                let sources = Sources { state: &state, bodies: &bodies, store: trace.scoped() };
                match extend(&mut prefix, &packed, encoding, sources).await? {
                    Some(gone) => {
                        lost.extend(gone);
                        let (_, hash) = prefix.body(provider.codec(), before, after);
                        let shows = packed.items.iter().filter_map(Item::event).flat_map(by_event);
                        let gone =
                            if lost.is_empty() { None } else { shows.into_iter().find(|blob| lost.contains(blob)) };
                        sent.insert(data.request, Sent { hash, gone });
                    }
                    None => replayed.differences.push(format!("request {}: a message is missing", data.request)),
                }
            }
            EventKind::ModelFinished(ModelFinished { request, .. })
            | EventKind::ModelMalformed(ModelMalformed { request, .. })
                if gone.contains(&event.id) =>
            {
                let was_sent = u64::from(sent.remove(request).is_some());
                replayed.unanswered -= was_sent;
                replayed.erased += was_sent;
            }
            EventKind::ModelFinished(ModelFinished { request, sent: Some(hash), .. })
            | EventKind::ModelMalformed(ModelMalformed { request, sent: Some(hash), .. }) => {
                match sent.remove(request) {
                    Some(again) if again.hash == *hash => {
                        replayed.requests += 1;
                        replayed.unanswered -= 1;
                    }
                    Some(Sent { gone: Some(blob), .. }) => {
                        let what =
                            format!("request {request} cannot be compared: blob {blob}, which it showed, is lost");
                        replayed.differences.push(what);
                    }
                    Some(_) => replayed.differences.push(format!("request {request} is not what was sent")),
                    None => {}
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A request as it would be sent by now.
struct Sent {
    hash: String,
    /// A blob that it shows and that is gone.
    gone: Option<BlobHash>,
}

/// How requests under a spec were encoded: the model's format, the body around the conversation, and a turn's form.
pub(super) struct Encoder {
    under: Under,
    pub model: String,
    pub provider: Arc<dyn Provider>,
    pub frames: Frames,
    pub text: Option<TextForm>,
}

/// The format that requests under a spec were sent in. Neither a key nor a script file is needed to know it.
pub(super) fn encoder(models: &dyn Models, events: &[Event], under: Under) -> Option<Encoder> {
    let spec_of = |event: &Event| match &event.kind {
        EventKind::SpecChanged(data) if event.id == under.spec => Some(data.spec.on_model(under.model)),
        _ => None,
    };
    let body = events.iter().find_map(spec_of)?;
    let provider: Arc<dyn Provider> = match Registry::bundled().place_of(&body.model) {
        Some(ModelPlace::Script | ModelPlace::Recording) => Arc::new(Scripted::new(Script::bundled().ok()?)),
        _ => models.find_format(&body.model).ok()?,
    };
    let text = text_form(&body, &*provider);
    let frames = Frames::new(provider.codec(), &request_head(&body, text));
    Some(Encoder { under, model: body.model, provider, frames, text })
}

/// The model that gives the answers of a recorded trace again: those of its main path, in order. Errors: a blob is missing.
pub async fn playback(trace: TraceStore<'_>) -> Result<Playback, StoreError> {
    let log = trace.read(1).await?;
    let mut state = State::new(trace.trace.clone());
    log.events.iter().for_each(|event| apply(&mut state, event));
    let said: HashMap<EventId, &ModelFinished> = log
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ModelFinished(data) => Some((event.id, data)),
            _ => None,
        })
        .collect();
    let mut answers = Vec::new();
    for (_, node) in state.tree.up(state.tree.head) {
        let Some(data) = said.get(&node.event).filter(|_| matches!(node.kind, NodeKind::Assistant { .. })) else {
            continue;
        };
        let mut parts = data.parts.clone();
        load(trace.scoped(), &mut parts, &mut Gone::Fails).await?;
        answers.push((parts, data.usage, data.stop));
    }
    answers.reverse();
    Ok(Playback::new(answers))
}
