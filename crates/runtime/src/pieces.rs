//! Streams to watchers. A secret may be cut in two by the pieces of a stream, so what may be a secret's beginning waits for
//! what follows.

use crate::hub::{Handle, Live};
use crate::secrets::Vault;
use mainpath_core::EffectKey;
use mainpath_types::Delta;
use std::sync::Arc;

/// The stream of one answer or one call.
pub(crate) struct Pieces {
    vault: Vault,
    handle: Arc<Handle>,
    of: EffectKey,
    /// What waits: the last piece, of which only the end that may be a secret's beginning is left.
    held: Option<Delta>,
}

impl Pieces {
    pub fn new(vault: &Vault, handle: &Arc<Handle>, of: EffectKey) -> Pieces {
        Pieces { vault: vault.clone(), handle: Arc::clone(handle), of, held: None }
    }

    /// Hands a piece on, redacted, but for an end that waits.
    pub fn say(&mut self, mut delta: Delta) {
        if !self.handle.is_watched() {
            self.held = None;
            return;
        }
        match self.held.take() {
            Some(held) if follows(&held, &delta) => {
                let text = text_of(&mut delta);
                let mut held = held;
                text.insert_str(0, text_of(&mut held));
            }
            // Something else has begun: what waited was no secret.
            Some(held) => self.tell(held),
            None => {}
        }
        // Most pieces hold no secret and no beginning of one: they go on as they are.
        if self.vault.is_clean(text_of(&mut delta)) {
            if !text_of(&mut delta).is_empty() || names(&delta) {
                self.tell(delta);
            }
            return;
        }
        let redacted = self.vault.redact(text_of(&mut delta));
        let (say, wait) = redacted.split_at(redacted.len() - self.vault.begun(&redacted));
        if !wait.is_empty() {
            let mut held = delta.clone();
            *text_of(&mut held) = wait.into();
            if let Delta::Arguments { name, .. } = &mut held {
                *name = None;
            }
            self.held = Some(held);
        }
        *text_of(&mut delta) = say.into();
        if !say.is_empty() || names(&delta) {
            self.tell(delta);
        }
    }

    /// Nothing follows any more: what waited was no secret.
    pub fn end(&mut self) {
        if let Some(held) = self.held.take() {
            self.tell(held);
        }
    }

    fn tell(&self, delta: Delta) {
        self.handle.tell(Live::Delta { of: self.of, delta });
    }
}

/// Whether a piece names a call's tool.
fn names(delta: &Delta) -> bool {
    matches!(delta, Delta::Arguments { name: Some(_), .. })
}

/// Whether the second piece goes on where the first ended.
fn follows(first: &Delta, second: &Delta) -> bool {
    match (first, second) {
        (Delta::Text { .. }, Delta::Text { .. }) | (Delta::Thinking { .. }, Delta::Thinking { .. }) => true,
        (Delta::Arguments { index: a, .. }, Delta::Arguments { index: b, .. }) => a == b,
        (Delta::ToolOutput { call: a, .. }, Delta::ToolOutput { call: b, .. }) => a == b,
        _ => false,
    }
}

fn text_of(delta: &mut Delta) -> &mut String {
    match delta {
        Delta::Text { text }
        | Delta::Thinking { text }
        | Delta::Arguments { text, .. }
        | Delta::ToolOutput { text, .. } => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a watcher gets of these pieces.
    fn seen(pieces: &[Delta]) -> Vec<Delta> {
        let handle = Arc::new(Handle::default());
        let mut audience = handle.subscribe();
        let vault = Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        let mut stream = Pieces::new(&vault, &handle, EffectKey::Model(1));
        pieces.iter().for_each(|piece| stream.say(piece.clone()));
        stream.end();
        std::iter::from_fn(|| audience.try_recv().ok())
            .filter_map(|live| if let Live::Delta { delta, .. } = live { Some(delta) } else { None })
            .collect()
    }

    fn text(text: &str) -> Delta {
        Delta::Text { text: text.into() }
    }

    #[test]
    fn a_secret_in_pieces_becomes_its_handle_wherever_it_is_cut() {
        let whole = "say hunter2hunter2 twice: hunter2hunter2";
        for size in 1..whole.len() {
            let pieces: Vec<Delta> =
                whole.as_bytes().chunks(size).map(|piece| text(std::str::from_utf8(piece).unwrap())).collect();
            let mut said: Vec<Delta> = seen(&pieces);
            let joined: String = said.iter_mut().map(|delta| text_of(delta).clone()).collect();
            assert_eq!(joined, "say {{secret:A_KEY}} twice: {{secret:A_KEY}}", "cut every {size}");
        }
    }

    #[test]
    fn what_only_looked_like_a_secret_is_said_in_the_end_or_when_something_else_begins() {
        assert_eq!(seen(&[text("my hunter")]), [text("my "), text("hunter")]);
        let call = |name: Option<&str>, text: &str| Delta::Arguments {
            index: 0,
            name: name.map(Into::into),
            text: text.into(),
        };
        let pieces = [text("the h"), call(Some("shoot"), ""), call(None, "hunter"), call(None, "s")];
        assert_eq!(seen(&pieces), [text("the "), text("h"), call(Some("shoot"), ""), call(None, "hunters")]);
    }
}
