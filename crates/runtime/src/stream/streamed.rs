//! The text of an answer, put together from its pieces: nothing is said twice, and nothing is left out.

use mainpath_core::EffectKey;
use mainpath_types::Delta;

/// What was seen of the answer under way. Pieces that come after a gap are held back: what is missing comes with the whole answer.
#[derive(Debug, Default)]
pub struct Streamed {
    request: u32,
    /// How many of its pieces were seen, without a gap.
    pieces: u32,
    /// Whether a piece is missing.
    is_torn: bool,
    text: String,
}

impl Streamed {
    /// Takes what stands for so many pieces of an effect. Whether it can be shown: it follows what was shown before. Pieces of other effects
    /// always can.
    pub fn take(&mut self, of: &EffectKey, nth: u32, pieces: u32, delta: &Delta) -> bool {
        let EffectKey::Model(request) = of else { return true };
        if *request != self.request {
            *self = Streamed { request: *request, ..Streamed::default() };
        }
        self.is_torn |= nth != self.pieces;
        if self.is_torn {
            return false;
        }
        self.pieces = self.pieces.saturating_add(pieces);
        if let Delta::Text { text } = delta {
            self.text.push_str(text);
        }
        true
    }

    /// The answer to a request is complete: what was shown of it. `None` where no piece of it came.
    pub fn end(&mut self, request: u32) -> Option<String> {
        let seen = std::mem::take(self);
        (seen.request == request).then_some(seen.text)
    }
}

/// What is missing of an answer after what was streamed of it: the rest, or, where a piece is missing, all from there on.
pub fn rest_of<'a>(streamed: &str, answer: &'a str) -> &'a str {
    if let Some(rest) = answer.strip_prefix(streamed) {
        return rest;
    }
    // Some vendors stream more than they give in the end.
    if streamed.len() >= answer.len() {
        return "";
    }
    let same = streamed.char_indices().zip(answer.chars()).find(|((_, a), b)| a != b);
    same.and_then(|((at, _), _)| answer.get(at..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[(u32, &str)], answer: &str) -> String {
        let (mut streamed, mut shown) = (Streamed::default(), String::new());
        for (nth, text) in pieces {
            let delta = Delta::Text { text: (*text).into() };
            if streamed.take(&EffectKey::Model(1), *nth, 1, &delta) {
                shown.push_str(text);
            }
        }
        let seen = streamed.end(1).unwrap_or_default();
        assert_eq!(seen, shown);
        shown + rest_of(&seen, answer)
    }

    #[test]
    fn an_answer_is_shown_whole_and_once_whatever_pieces_are_missing() {
        let all = [(0, "one "), (1, "two "), (2, "three")];
        for missing in 0..8 {
            let seen: Vec<_> = all.iter().filter(|(nth, _)| missing >> nth & 1 == 0).copied().collect();
            assert_eq!(shown(&seen, "one two three"), "one two three", "{missing:03b}");
        }
        assert_eq!(shown(&all, "one two thirty"), "one two threeirty", "as far as it is the same");
    }

    #[test]
    fn a_retry_begins_anew() {
        let mut streamed = Streamed::default();
        let delta = |text: &str| Delta::Text { text: text.into() };
        assert!(streamed.take(&EffectKey::Model(1), 0, 1, &delta("half")));
        assert!(streamed.take(&EffectKey::Model(2), 0, 1, &delta("who")));
        assert_eq!((streamed.end(2).as_deref(), streamed.end(3)), (Some("who"), None));
    }
}
