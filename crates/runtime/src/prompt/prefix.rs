//! The encoded conversation of a trace. Between two turns its earlier bytes stay, so only what is new is encoded and hashed.

use bytes::Bytes;
use mainpath_core::{Item, Under};
use mainpath_providers::Codec;
use mainpath_types::{Message, Part, Role, Source};
use sha2::{Digest, Sha256};

/// The encoded messages of the last request, ready to be continued.
#[derive(Default)]
pub struct Prefix {
    under: Under,
    items: Vec<Item>,
    /// Where each item's bytes end, who speaks in it, and how many bytes of images, sound and documents come before that end.
    /// The results of one turn are one group and share an end.
    ends: Vec<(u32, Role, usize)>,
    rope: Rope,
    /// The hash of the frame's beginning and of everything in the rope.
    hash: Sha256,
}

impl Prefix {
    /// Drops what a request under this spec and model with these items does not begin with, and returns how many items are left.
    /// `before` is the frame's beginning.
    pub fn keep(&mut self, under: Under, items: &[Item], before: &[u8]) -> usize {
        if self.under != under || self.items.is_empty() {
            *self = Prefix { under, hash: Sha256::new_with_prefix(before), ..Prefix::default() };
            return 0;
        }
        let mut same = self.items.iter().zip(items).take_while(|(a, b)| a == b).count();
        // A group is encoded as one: results that go on differently go with all of their group.
        let is_result = |items: &[Item], at: usize| matches!(items.get(at), Some(Item::Result { .. }));
        while same > 0 && is_result(items, same - 1) && (is_result(&self.items, same) || is_result(items, same)) {
            same -= 1;
        }
        if same < self.items.len() {
            self.items.truncate(same);
            self.ends.truncate(same);
            self.rope.truncate(self.ends.last().map_or(0, |(end, ..)| *end as usize));
            self.hash = Sha256::new_with_prefix(before);
            self.rope.segments.iter().for_each(|segment| self.hash.update(segment));
        }
        same
    }

    /// Whether nothing is encoded.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds items with their messages, which must begin and end with whole groups.
    pub fn extend(&mut self, codec: &dyn Codec, items: &[Item], messages: &[Message]) {
        let mut new = Vec::new();
        let mut at = 0;
        for group in messages.chunk_by(|a, b| a.role == Role::Tool && b.role == Role::Tool) {
            let (last, role) = (self.last_role(), group.first().map_or(Role::User, |message| message.role));
            if self.rope.len() + new.len() > 0 {
                new.push(b',');
            }
            if let Some(filler) = codec.between(last, Some(role)) {
                new.extend_from_slice(filler.as_bytes());
                new.push(b',');
            }
            codec.encode_group(group, &mut new);
            let end = u32::try_from(self.rope.len() + new.len()).unwrap_or(u32::MAX);
            let media = self.media() + group.iter().map(|message| encoded_media(&message.parts)).sum::<usize>();
            for item in items.iter().skip(at).take(group.len()) {
                self.items.push(*item);
                self.ends.push((end, role, media));
            }
            at += group.len();
        }
        self.hash.update(&new);
        self.rope.push(new);
    }

    fn last_role(&self) -> Option<Role> {
        self.ends.last().map(|(_, role, _)| *role)
    }

    /// How many bytes of the body are images, sound and documents.
    pub fn media(&self) -> usize {
        self.ends.last().map_or(0, |(_, _, media)| *media)
    }

    /// The body of the request, in segments, and its hash in hex.
    pub fn body(&self, codec: &dyn Codec, before: &Bytes, after: &Bytes) -> (Vec<Bytes>, String) {
        let after = match codec.between(self.last_role(), None) {
            None => after.clone(),
            Some(filler) => {
                let comma: &[u8] = if self.rope.len() > 0 { b"," } else { b"" };
                Bytes::from([comma, filler.as_bytes(), after].concat())
            }
        };
        let mut body = Vec::with_capacity(self.rope.segments.len() + 2);
        body.push(before.clone());
        body.extend(self.rope.segments.iter().cloned());
        let hash = self.hash.clone().chain_update(&after).finalize();
        body.push(after);
        (body, hex(&hash))
    }
}

fn encoded_media(parts: &[Part]) -> usize {
    let part = |part: &Part| match part {
        Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => match source {
            Source::Base64 { data, .. } => data.len(),
            _ => 0,
        },
        Part::ToolResult { content, .. } => encoded_media(content),
        Part::Text { .. } | Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => 0,
    };
    parts.iter().map(part).sum()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Bytes that only grow, in a few shared segments: a segment is at least twice as long as the one after it.
#[derive(Default)]
struct Rope {
    segments: Vec<Bytes>,
    len: usize,
}

impl Rope {
    fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, new: Vec<u8>) {
        if new.is_empty() {
            return;
        }
        self.len += new.len();
        let mut new = new;
        while let Some(last) = self.segments.pop_if(|last| last.len() < 2 * new.len()) {
            let mut joined = Vec::with_capacity(last.len() + new.len());
            joined.extend_from_slice(&last);
            joined.extend_from_slice(&new);
            new = joined;
        }
        self.segments.push(Bytes::from(new.into_boxed_slice()));
    }

    fn truncate(&mut self, len: usize) {
        while let Some(last) = self.segments.last_mut().filter(|_| self.len > len) {
            let over = self.len - len;
            if last.len() <= over {
                self.len -= last.len();
                self.segments.pop();
            } else {
                last.truncate(last.len() - over);
                self.len = len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_core::Shown;
    use mainpath_providers::Neutral;
    use mainpath_types::{CallId, Part, Seq};

    fn items(shape: &str) -> (Vec<Item>, Vec<Message>) {
        let mut assistant = Seq(0);
        (1u32..)
            .map(Seq)
            .zip(shape.chars())
            .map(|(seq, kind)| {
                let message = |role| Message { seq: Some(seq), role, parts: vec![Part::text(seq.to_string())] };
                match kind {
                    'u' => (Item::User { seq, event: 1 }, message(Role::User)),
                    'a' => {
                        assistant = seq;
                        (Item::Assistant { seq, event: 1 }, message(Role::Assistant))
                    }
                    _ => {
                        let call = CallId { seq: assistant, index: 0 };
                        (Item::Result { seq, call, event: 1, shown: Shown::Whole }, message(Role::Tool))
                    }
                }
            })
            .unzip()
    }

    fn under(spec: u64) -> Under {
        Under { spec, ..Under::default() }
    }

    fn joined(prefix: &Prefix) -> (String, String) {
        let (body, hash) = prefix.body(&Neutral, &Bytes::from_static(b"["), &Bytes::from_static(b"]"));
        let body: Vec<u8> = body.concat();
        assert_eq!(hash, hex(&Sha256::digest(&body)));
        (String::from_utf8(body).unwrap(), hash)
    }

    fn whole(shape: &str) -> (String, String) {
        let (items, messages) = items(shape);
        let mut prefix = Prefix::default();
        prefix.keep(under(1), &items, b"[");
        prefix.extend(&Neutral, &items, &messages);
        joined(&prefix)
    }

    #[test]
    fn a_prefix_that_grows_breaks_and_grows_again_has_the_bytes_and_the_hash_of_a_fresh_one() {
        let steps = ["u", "uarr", "uarraru", "uarrarua", "uarra", "uar", "ua", "uaru", "uarraraaarruu", ""];
        let mut prefix = Prefix::default();
        for shape in steps {
            let (items, messages) = items(shape);
            let kept = prefix.keep(under(1), &items, b"[");
            prefix.extend(&Neutral, &items[kept..], &messages[kept..]);
            assert_eq!(joined(&prefix), whole(shape), "{shape}");
        }
    }

    #[test]
    fn another_spec_keeps_nothing() {
        let (items, messages) = items("uar");
        let mut prefix = Prefix::default();
        assert_eq!(prefix.keep(under(1), &items, b"["), 0);
        prefix.extend(&Neutral, &items, &messages);
        assert_eq!((prefix.keep(under(1), &items, b"["), prefix.keep(under(2), &items, b"[")), (3, 0));
    }

    #[test]
    fn a_rope_of_many_pieces_has_few_segments() {
        let mut rope = Rope::default();
        (0..1_000).for_each(|_| rope.push(vec![b'x'; 100]));
        assert!(rope.segments.len() <= 12, "{}", rope.segments.len());
        rope.truncate(12_345);
        assert_eq!((rope.len(), rope.segments.concat().len()), (12_345, 12_345));
    }
}
