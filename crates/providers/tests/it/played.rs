//! What a stream brings, for every wire format.

use mainpath_providers::Codec;
use mainpath_types::{Delta, ModelError, ModelErrorKind, ModelReply};

/// Everything that a stream brought: the answer, and the deltas joined as a watcher would.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub reply: Result<ModelReply, ModelErrorKind>,
    pub text: String,
    pub thinking: String,
    pub calls: Vec<(String, String)>,
}

/// Plays these bytes, cut like this, to the codec's decoder.
pub fn play(codec: &dyn Codec, pieces: &[&[u8]]) -> Outcome {
    let mut outcome = Outcome { reply: Err(ModelErrorKind::Auth), text: "".into(), thinking: "".into(), calls: vec![] };
    let Outcome { text, thinking, calls, .. } = &mut outcome;
    let mut deltas = |delta: Delta| match delta {
        Delta::Text { text: more } => text.push_str(&more),
        Delta::Thinking { text: more } => thinking.push_str(&more),
        Delta::Arguments { index, name, text } => {
            let index = usize::from(index);
            if calls.len() <= index {
                calls.push((String::new(), String::new()));
            }
            calls[index].0.push_str(&name.unwrap_or_default());
            calls[index].1.push_str(&text);
        }
        Delta::Partial { .. } | Delta::ToolOutput { .. } => panic!("no model makes this"),
    };
    let mut stream = codec.stream();
    let mut failed = None;
    for piece in pieces {
        if let Err(error) = stream.push(piece, &mut deltas) {
            failed = Some(error);
            break;
        }
    }
    outcome.reply = match failed {
        Some(error) => Err(error),
        None => stream.finish(),
    }
    .map_err(|error: ModelError| {
        assert!(!error.message.is_empty() && !error.message.contains('\n'), "{error:?}");
        error.kind
    });
    outcome
}
