//! Answers larger than any model gives: their beginning is kept, since it was paid for.

use mainpath_types::{ModelReply, Part, StopReason};

/// So many bytes of text, thinking and arguments are kept of an answer. The largest output limit of any model is about a
/// million tokens of some four letters.
pub(crate) const MOST_KEPT: usize = 8 << 20;

/// What stands at the end of what was kept.
const NOTE: &str = "\n\n[The answer was larger than what is read; the rest is not here.]";

/// Shortens an answer to what is kept, with a note at its end. `cut`: more came than was read.
pub(crate) fn bounded(mut reply: ModelReply, cut: bool) -> ModelReply {
    let mut left = MOST_KEPT;
    let mut over = cut;
    reply.parts.retain_mut(|part| match part {
        Part::Text { text } | Part::Thinking { text, signature: None } => {
            over |= text.len() > left;
            text.truncate(text.floor_char_boundary(left));
            left -= text.len();
            !text.is_empty()
        }
        Part::Thinking { text, signature: Some(signature) } => {
            takes(&mut left, text.len() + signature.value.len(), &mut over)
        }
        Part::ToolCall { arguments, .. } => takes(&mut left, arguments.len(), &mut over),
        _ => true,
    });
    if !over {
        return reply;
    }
    reply.stop = StopReason::MaxTokens;
    match reply.parts.iter_mut().rev().find(|part| matches!(part, Part::Text { .. })) {
        Some(Part::Text { text }) => text.push_str(NOTE),
        _ => reply.parts.insert(0, Part::text(NOTE.trim_start())),
    }
    reply
}

/// What was signed, or is JSON, is kept whole or not at all.
fn takes(left: &mut usize, size: usize, over: &mut bool) -> bool {
    let rest = left.checked_sub(size);
    *over |= rest.is_none();
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// JSON that was cut in the middle of a text, closed: the text ends there, and with it all that is around it. Of JSON that was cut
/// elsewhere it makes none.
pub(crate) fn closed(json: &[u8]) -> Vec<u8> {
    let (mut open, mut quoted, mut whole, mut at) = (Vec::new(), false, 0, 0);
    while let Some(&byte) = json.get(at) {
        at += match byte {
            b'\\' if quoted && json.get(at + 1) == Some(&b'u') => 6,
            b'\\' if quoted => 2,
            _ => 1,
        };
        match byte {
            b'"' => quoted = !quoted,
            b'{' if !quoted => open.push(b'}'),
            b'[' if !quoted => open.push(b']'),
            b'}' | b']' if !quoted => drop(open.pop()),
            _ => {}
        }
        if at <= json.len() {
            whole = at;
        }
    }
    let mut closed = json.get(..whole).unwrap_or_default().to_vec();
    if quoted {
        closed.push(b'"');
    }
    closed.extend(open.iter().rev());
    closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn json_cut_anywhere_in_a_text_is_closed_with_what_was_there() {
        let whole = br#"{"a":[1,{"b":"x\n\u00e9\"y"#;
        let texts: Vec<Value> = (14..=whole.len())
            .map(|end| serde_json::from_slice::<Value>(&closed(&whole[..end])).unwrap()["a"][1]["b"].clone())
            .collect();
        let expected = [
            "",
            "x",
            "x",
            "x\n",
            "x\n",
            "x\n",
            "x\n",
            "x\n",
            "x\n",
            "x\n\u{e9}",
            "x\n\u{e9}",
            "x\n\u{e9}\"",
            "x\n\u{e9}\"y",
        ];
        assert_eq!(texts, expected);
        assert!(serde_json::from_slice::<Value>(&closed(br#"{"a":"#)).is_err());
    }

    #[test]
    fn an_answer_is_kept_up_to_a_limit_and_says_so() {
        let reply = |parts| ModelReply { parts, usage: None, stop: StopReason::End, model: None };
        let short = reply(vec![Part::text("x")]);
        assert_eq!(bounded(short.clone(), false), short);
        let long = bounded(reply(vec![Part::text("é".repeat(MOST_KEPT))]), false);
        let [Part::Text { text }] = &long.parts[..] else { panic!("{:?}", long.parts.len()) };
        assert_eq!((text.len(), long.stop), (MOST_KEPT + NOTE.len(), StopReason::MaxTokens));
        let arguments = json!({"x": "y".repeat(MOST_KEPT)}).to_string();
        let call = Part::ToolCall { name: "a".into(), arguments, signature: None };
        assert_eq!(bounded(reply(vec![call]), false).parts, [Part::text(NOTE.trim_start())]);
    }
}
