//! Streams to watchers. A secret may be cut in two by the pieces of a stream, so what may be a secret's beginning waits for
//! what follows.

use crate::secrets::{Flow, Kind, Vault, is_json};
use crate::stream::hub::{Handle, Live};
use mainpath_core::EffectKey;
use mainpath_types::Delta;
use std::sync::Arc;

/// The stream of one answer or one call.
pub(crate) struct Pieces {
    vault: Vault,
    handle: Arc<Handle>,
    of: EffectKey,
    /// The texts under way, each with a piece of it that says which one it is. Calls may be written beside one another.
    flows: Vec<(Delta, Flow)>,
    /// How many pieces there have been, seen or not.
    count: u32,
}

impl Pieces {
    pub fn new(vault: &Vault, handle: &Arc<Handle>, of: EffectKey) -> Pieces {
        Pieces { vault: vault.clone(), handle: Arc::clone(handle), of, flows: Vec::new(), count: 0 }
    }

    /// Hands a piece on, redacted, but for an end that waits.
    pub fn say(&mut self, mut delta: Delta) {
        // Prose that something else follows has ended: what waited was no secret.
        if self.flows.last().is_some_and(|(first, _)| is_prose(first) && !follows(first, &delta)) {
            self.end_last();
        }
        if let Delta::Partial { value, .. } = &mut delta {
            // It comes whole.
            *value = self.vault.redact(value);
            return self.tell(delta);
        }
        let piece = std::mem::take(text_of(&mut delta));
        let at = match self.flows.iter().position(|(first, _)| follows(first, &delta)) {
            Some(at) => at,
            None => {
                let flow = Flow::new(&self.vault, kind(&delta, &piece));
                self.flows.push((unnamed(&delta), flow));
                self.flows.len() - 1
            }
        };
        let Some((_, flow)) = self.flows.get_mut(at) else { return };
        if !self.handle.is_watched() {
            self.count = self.count.saturating_add(1);
            return flow.pass(&piece);
        }
        *text_of(&mut delta) = flow.push(&self.vault, &piece);
        if let Delta::Arguments { name: Some(name), .. } = &mut delta {
            *name = self.vault.redact(name);
        }
        self.tell(delta);
    }

    /// Nothing follows any more: what waited was no secret.
    pub fn end(&mut self) {
        while !self.flows.is_empty() {
            self.end_last();
        }
    }

    fn end_last(&mut self) {
        let Some((mut delta, mut flow)) = self.flows.pop() else { return };
        *text_of(&mut delta) = flow.end(&self.vault);
        self.tell(delta);
    }

    fn tell(&mut self, mut delta: Delta) {
        if !text_of(&mut delta).is_empty() || names(&delta) {
            self.handle.tell(Live::Delta { of: self.of, nth: self.count, delta });
            self.count = self.count.saturating_add(1);
        }
    }
}

fn is_prose(delta: &Delta) -> bool {
    matches!(delta, Delta::Text { .. } | Delta::Thinking { .. })
}

/// What a text is, by its first piece: arguments are JSON, and what a tool says may be.
fn kind(delta: &Delta, piece: &str) -> Kind {
    match delta {
        Delta::Arguments { .. } => Kind::Arguments,
        Delta::ToolOutput { .. } if is_json(piece) => Kind::Json,
        Delta::ToolOutput { .. } | Delta::Text { .. } | Delta::Thinking { .. } | Delta::Partial { .. } => Kind::Text,
    }
}

/// An empty piece of the same text.
fn unnamed(delta: &Delta) -> Delta {
    match delta {
        Delta::Arguments { index, .. } => Delta::Arguments { index: *index, name: None, text: String::new() },
        other => other.clone(),
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
        | Delta::Partial { value: text, .. }
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

    #[test]
    fn what_is_known_of_a_turn_before_it_is_complete_holds_no_secret() {
        let known = |value: &str| Delta::Partial { path: "$.action.type".into(), value: value.into() };
        assert_eq!(seen(&[known("shoot hunter2hunter2")]), [known("shoot {{secret:A_KEY}}")]);
    }
}
