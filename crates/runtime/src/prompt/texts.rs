//! Long texts: they lie in blobs beside the log, and come back into their places for whoever reads them.

use crate::prompt::gone::{Gone, gone_line};
use crate::prompt::media;
use mainpath_core::Bodies;
use mainpath_store::{ScopedStore, StoreError};
use mainpath_types::{BLOB_FROM, Event, EventId, EventKind, Part};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A log in which some events have their long texts in place.
pub struct Hydrated<'a> {
    log: &'a (dyn Bodies + Send + Sync),
    loaded: BTreeMap<EventId, EventKind>,
    gone: Gone,
}

impl<'a> Hydrated<'a> {
    /// A log as it is.
    pub fn new(log: &'a (dyn Bodies + Send + Sync)) -> Hydrated<'a> {
        Hydrated::with(log, Gone::Fails)
    }

    pub(crate) fn with(log: &'a (dyn Bodies + Send + Sync), gone: Gone) -> Hydrated<'a> {
        Hydrated { log, loaded: BTreeMap::new(), gone }
    }

    /// The same, with a line in the place of each text that is gone.
    pub fn with_lines(log: &'a (dyn Bodies + Send + Sync)) -> Hydrated<'a> {
        Hydrated::with(log, Gone::noted())
    }

    /// What was found gone.
    pub(crate) fn into_gone(self) -> Gone {
        self.gone
    }

    /// Puts the long texts of an event in their places, and those of the summary that it shows. An event that is not there has
    /// none. Errors: a blob is missing, unless a line is to stand in its place; or one cannot be read.
    pub async fn load(&mut self, store: ScopedStore<'_>, event: EventId) -> Result<(), StoreError> {
        let mut next = Some(event);
        while let Some(event) = next {
            self.load_one(store, event).await?;
            // A summary is older than what shows it: this ends, also on a log that somebody made up.
            next = self.get(event).and_then(shows).filter(|summary| *summary < event);
        }
        Ok(())
    }

    async fn load_one(&mut self, store: ScopedStore<'_>, event: EventId) -> Result<(), StoreError> {
        if !self.get(event).is_some_and(|kind| parts(kind).iter().any(is_stored)) {
            return Ok(());
        }
        let Some(mut kind) = self.get(event).cloned() else { return Ok(()) };
        load(store, parts_mut(&mut kind), &mut self.gone).await?;
        self.loaded.insert(event, kind);
        Ok(())
    }
}

impl Bodies for Hydrated<'_> {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        self.loaded.get(&event).or_else(|| self.log.get(event))
    }

    fn before(&self, event: EventId) -> Option<EventId> {
        // What was loaded stands in the place of what is in the log.
        self.log.before(event)
    }
}

/// The event whose text this one shows as the summary.
fn shows(kind: &EventKind) -> Option<EventId> {
    match kind {
        EventKind::Compacted(data) if data.text.is_none() => Some(data.summary),
        EventKind::ContextCut(data) => data.summary,
        _ => None,
    }
}

/// A log's events where they are, oldest first: `Event`, or what holds one.
pub struct Events<'a, E = Event>(pub &'a [E]);

impl<E: Borrow<Event>> Bodies for Events<'_, E> {
    fn get(&self, event: EventId) -> Option<&EventKind> {
        let at = self.0.binary_search_by_key(&event, |known| known.borrow().id).ok()?;
        self.0.get(at).map(|known| &known.borrow().kind)
    }

    fn before(&self, event: EventId) -> Option<EventId> {
        let earlier = self.0.partition_point(|known| known.borrow().id < event);
        earlier.checked_sub(1).and_then(|at| self.0.get(at)).map(|known| known.borrow().id)
    }
}

/// What an event lets people or the model read.
pub(crate) fn parts(kind: &EventKind) -> &[Part] {
    match kind {
        EventKind::MessageQueued(data) => &data.parts,
        EventKind::RewindRequested(data) => data.parts.as_deref().unwrap_or_default(),
        EventKind::ModelFinished(data) => &data.parts,
        EventKind::ModelMalformed(data) => &data.parts,
        EventKind::SkillSelected(data) => &data.parts,
        EventKind::MessageImported(data) => &data.parts,
        EventKind::CallResolved(data) => data.output.as_ref().map_or(&[], |output| &output.content),
        _ => &[],
    }
}

/// What a person typed of what an event says: all but what was piped in or attached.
pub(crate) fn typed_in(kind: &EventKind) -> &[Part] {
    if let EventKind::MessageQueued(data) = kind { data.typed() } else { parts(kind) }
}

fn parts_mut(kind: &mut EventKind) -> &mut [Part] {
    match kind {
        EventKind::MessageQueued(data) => &mut data.parts,
        EventKind::RewindRequested(data) => data.parts.as_deref_mut().unwrap_or_default(),
        EventKind::ModelFinished(data) => &mut data.parts,
        EventKind::ModelMalformed(data) => &mut data.parts,
        EventKind::SkillSelected(data) => &mut data.parts,
        EventKind::MessageImported(data) => &mut data.parts,
        EventKind::CallResolved(data) => data.output.as_mut().map_or(&mut [], |output| &mut output.content),
        _ => &mut [],
    }
}

fn is_stored(part: &Part) -> bool {
    match part {
        Part::StoredText { .. } => true,
        Part::ToolResult { content, .. } => content.iter().any(is_stored),
        _ => false,
    }
}

/// A number with separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let begins = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.char_indices().flat_map(|(at, digit)| begins(at).then_some(',').into_iter().chain([digit])).collect()
}

/// Puts texts that lie in blobs back in their places. Errors: a blob cannot be read, or is gone where that is one.
pub(crate) async fn load(store: ScopedStore<'_>, parts: &mut [Part], gone: &mut Gone) -> Result<(), StoreError> {
    for part in parts {
        match part {
            Part::StoredText { hash, bytes } => {
                *part = match gone.get(store, hash).await? {
                    Some(found) => Part::text(String::from_utf8_lossy(&found)),
                    None => gone_line(&format!("A text of {} bytes", grouped(*bytes))),
                };
            }
            Part::ToolResult { content, .. } => Box::pin(load(store, content, gone)).await?,
            _ => {}
        }
    }
    Ok(())
}

/// Puts what is too long for the log into blobs: long texts, and the bytes of images, sound and documents.
pub(crate) async fn offload(store: ScopedStore<'_>, parts: &mut [Part]) -> Result<(), StoreError> {
    media::offload(store, parts).await?;
    for part in parts {
        if let Part::ToolResult { content, .. } = part {
            Box::pin(offload(store, content)).await?;
        }
        if let Part::Text { text } = part
            && text.len() > BLOB_FROM
        {
            let bytes = text.len() as u64;
            // A copy: where no blob can be written, the text stays.
            let hash = store.put_blob(text.clone().into_bytes()).await?;
            *part = Part::StoredText { hash, bytes };
        }
    }
    Ok(())
}
