//! Streams to watchers.

use crate::secrets::Vault;
use crate::stream::hub::Handle;
use crate::stream::so_far::{Piece, SoFar};
use mainpath_core::EffectKey;
use mainpath_types::Delta;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The stream of one answer or one call. It ends when this is dropped.
pub(crate) struct Pieces {
    handle: Arc<Handle>,
    so_far: Arc<Mutex<SoFar>>,
}

impl Pieces {
    pub fn new(vault: &Vault, handle: &Arc<Handle>, of: EffectKey) -> Pieces {
        let so_far = Arc::new(Mutex::new(SoFar::new(vault, of)));
        handle.begin(&so_far);
        Pieces { handle: Arc::clone(handle), so_far }
    }

    /// Hands a piece on, redacted, but for an end that waits.
    pub fn say(&self, delta: Delta) {
        let mut so_far = self.so_far();
        let mut tell = |piece: Piece| self.handle.tell(piece.into());
        let is_watched = self.handle.is_watched();
        so_far.say(delta, if is_watched { Some(&mut tell) } else { None });
    }

    /// Nothing follows any more: what waited was no secret.
    pub fn end(&self) {
        let mut so_far = self.so_far();
        let mut tell = |piece: Piece| self.handle.tell(piece.into());
        let is_watched = self.handle.is_watched();
        so_far.end(if is_watched { Some(&mut tell) } else { None });
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.handle.done(&self.so_far);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::audience::{Heard, Listener};
    use crate::stream::hub::Live;
    use crate::stream::so_far::text_of;
    use mainpath_types::{CallId, Seq};

    /// What a watcher gets of these pieces.
    fn seen(pieces: &[Delta]) -> Vec<Delta> {
        let handle = Arc::new(Handle::default());
        let mut audience = handle.subscribe().live;
        let vault = Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        let stream = Pieces::new(&vault, &handle, EffectKey::Model(1));
        pieces.iter().for_each(|piece| stream.say(piece.clone()));
        stream.end();
        std::iter::from_fn(|| told(&mut audience)).filter_map(delta_of).collect()
    }

    fn told(audience: &mut Listener<Live>) -> Option<Live> {
        if let Heard::This(live) = audience.told() { Some(live) } else { None }
    }

    fn delta_of(live: Live) -> Option<Delta> {
        if let Live::Delta { delta, .. } = live { Some(delta) } else { None }
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

    /// What one sees of an answer who begins to watch after so many pieces of it: in its order, without a gap.
    fn seen_from(after: usize, pieces: &[Delta], is_watched: bool) -> String {
        let handle = Arc::new(Handle::default());
        let other = is_watched.then(|| handle.subscribe());
        let vault = Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        let stream = Pieces::new(&vault, &handle, EffectKey::Model(1));
        pieces.iter().take(after).for_each(|piece| stream.say(piece.clone()));
        let mut late = handle.subscribe();
        pieces.iter().skip(after).for_each(|piece| stream.say(piece.clone()));
        stream.end();
        drop(stream);
        assert!(handle.subscribe().so_far.is_empty(), "it has ended");
        let come = std::iter::from_fn(|| told(&mut late.live));
        let (mut said, mut next) = (String::new(), 0);
        for live in late.so_far.into_iter().chain(come) {
            let Live::Delta { nth, pieces, mut delta, .. } = live else { panic!("{live:?}") };
            assert_eq!(nth, next, "after {after}");
            next += pieces;
            let text = match &mut delta {
                Delta::Text { text } => text.clone(),
                Delta::Thinking { text } => format!("({text})"),
                Delta::Arguments { name, text, .. } => format!("{}[{text}]", name.clone().unwrap_or_default()),
                other => panic!("{other:?}"),
            };
            said.push_str(&text);
        }
        drop(other);
        said.replace(")(", "").replace("][", "")
    }

    #[test]
    fn whoever_begins_to_watch_in_the_middle_sees_all_of_it_once() {
        let call = |name: Option<&str>, text: &str| Delta::Arguments {
            index: 0,
            name: name.map(Into::into),
            text: text.into(),
        };
        let think = |text: &str| Delta::Thinking { text: text.into() };
        let pieces = [
            think("Let me "),
            think("see hunt"),
            think("er2hunter2."),
            text("It is "),
            text("hunter"),
            text("2hunter2, my hunter"),
            call(Some("shoot"), ""),
            call(None, "{\"at\":\"hunter2"),
            call(None, "hunter2\"}"),
        ];
        let whole =
            "(Let me see {{secret:A_KEY}}.)It is {{secret:A_KEY}}, my huntershoot[{\"at\":\"{{secret:A_KEY}}\"}]";
        for after in 0..=pieces.len() {
            for is_watched in [false, true] {
                assert_eq!(seen_from(after, &pieces, is_watched), whole, "after {after}, {is_watched}");
            }
        }
    }

    #[test]
    fn of_a_tool_that_says_much_who_comes_late_sees_the_end() {
        let handle = Arc::new(Handle::default());
        let call = CallId { seq: Seq(2), index: 0 };
        let stream = Pieces::new(&Vault::new([]), &handle, EffectKey::Tool(call, 1));
        for is_watched in [false, true] {
            let watching = is_watched.then(|| handle.subscribe());
            for line in 0..20_000 {
                stream.say(Delta::ToolOutput { call, text: format!("line {line}\n") });
            }
            let so_far = handle.subscribe().so_far;
            let [Live::Delta { delta: Delta::ToolOutput { text, .. }, .. }] = so_far.as_slice() else {
                panic!("{so_far:?}")
            };
            assert!(
                text.starts_with("…\n") && text.ends_with("line 19999\n") && text.len() <= 64 * 1024 + 4,
                "{}",
                text.len()
            );
            drop(watching);
        }
    }
}
