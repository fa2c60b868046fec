//! From a packed request to the bytes of its body.

use crate::prompt::gone::Gone;
use crate::prompt::media;
use crate::prompt::prefix::Prefix;
use crate::prompt::texts::Hydrated;
use mainpath_core::{Bodies, Item, Packed, State, Under, is_as_signed, message, render_turn};
use mainpath_providers::{Provider, groups};
use mainpath_store::{ScopedStore, StoreError};
use mainpath_types::{BlobHash, Message, Part, Role, TextForm};
use std::collections::BTreeSet;

/// Drops what a vendor signed where the context that it signed it in is no longer what comes before it.
fn unsign(state: &State, under: Under, message: &mut Message) {
    if message.role == Role::Assistant && !message.seq.is_some_and(|seq| is_as_signed(state, under, seq)) {
        message.parts.retain(|part| !matches!(part, Part::Thinking { signature: Some(_), .. }));
    }
}

/// How a conversation is encoded for a model.
#[derive(Clone, Copy)]
pub(crate) struct Encoding<'a> {
    pub provider: &'a dyn Provider,
    /// The body before the conversation.
    pub before: &'a [u8],
    /// How a turn looks, where it is text.
    pub text: Option<TextForm>,
}

/// What a request is made from.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub state: &'a State,
    /// The events that it shows.
    pub bodies: &'a (dyn Bodies + Send + Sync),
    /// Where what lies in blobs is.
    pub store: ScopedStore<'a>,
}

/// Adds to the prefix what the packed request shows beyond it; gives the blobs that are gone, in whose place the model is shown a
/// line. `None` when a body is not at hand.
pub(crate) async fn extend(
    prefix: &mut Prefix,
    packed: &Packed,
    Encoding { provider, before, text }: Encoding<'_>,
    Sources { state, bodies, store }: Sources<'_>,
) -> Result<Option<BTreeSet<BlobHash>>, StoreError> {
    let kept = prefix.keep(packed.under, &packed.items, before);
    let new: &[Item] = packed.items.get(kept..).unwrap_or(&[]);
    // Before they become messages: a summary is put into a sentence, a result is shortened.
    let mut whole = Hydrated::with_lines(bodies);
    for event in new.iter().filter_map(Item::event) {
        whole.load(store, event).await?;
    }
    let Some(mut messages) = new.iter().map(|item| message(state, &whole, item)).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if provider.codec().binds_thinking() {
        messages.iter_mut().for_each(|message| unsign(state, packed.under, message));
    }
    if let Some(form) = text {
        let shown = messages.into_iter().zip(new).map(|(message, item)| match item {
            // As it was said: the model is told what was wrong with it.
            Item::Malformed { .. } => message,
            _ => render_turn(message, form.dialect),
        });
        messages = shown.collect();
    }
    let mut gone = Gone::noted();
    for message in &mut messages {
        media::load(store, &mut message.parts, &mut gone).await?;
    }
    debug_assert!(groups(&messages).map(<[Message]>::len).sum::<usize>() == new.len());
    prefix.extend(provider.codec(), new, &messages);
    Ok(Some(whole.into_gone().take().into_iter().chain(gone.take()).collect()))
}
