//! Reading a text in pieces and keeping what it brought.

use mainpath_json::{Error, Limits, News, Parser, Paths};

/// What a subscriber was told. The text of one string is put together, for its portions depend on the pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Text(usize, String, String),
    Value(usize, String, String, Option<String>),
}

/// All that one reading of a text brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) told: Vec<Told>,
    pub(crate) value_end: Option<usize>,
    pub(crate) error: Option<Error>,
}

pub(crate) fn read_within(limits: Limits, paths: &Paths, pieces: &[&[u8]]) -> Outcome {
    let mut told = Vec::new();
    let mut each = |news: News<'_>| note(&mut told, news);
    let mut parser = Parser::new(paths.clone(), limits);
    let mut error = None;
    for piece in pieces {
        let outcome = parser.push(piece, &mut each);
        assert!(error.is_none() || outcome == Err(error.unwrap()), "an error is for ever");
        error = error.or(outcome.err());
    }
    // Only the end of the text can complete a number that is all of it.
    let (before, given) = (parser.value_end(), pieces.iter().map(|piece| piece.len()).sum());
    let outcome = parser.finish(&mut each);
    let value_end = before.or(outcome.is_ok().then_some(given));
    Outcome { told, value_end, error: error.or(outcome.err()) }
}

pub(crate) fn read(paths: &Paths, pieces: &[&[u8]]) -> Outcome {
    read_within(Limits::default(), paths, pieces)
}

/// The text cut in front of each of these bytes, which are in order.
pub(crate) fn cut<'a>(text: &'a [u8], at: &[usize]) -> Vec<&'a [u8]> {
    let starts = [0].into_iter().chain(at.iter().copied());
    let ends = at.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

pub(crate) fn shown(text: &[u8]) -> String {
    text[..text.len().min(200)].escape_ascii().to_string()
}

fn note(told: &mut Vec<Told>, news: News<'_>) {
    match news {
        News::Text { subscription, path, text } => {
            assert!(!text.is_empty(), "news of nothing");
            let path = path.to_string();
            let same = told.iter_mut().rev().take_while(|told| matches!(told, Told::Text(..)));
            for earlier in same {
                if let Told::Text(of, at, so_far) = earlier
                    && (*of, &*at) == (subscription, &path)
                {
                    so_far.push_str(text);
                    return;
                }
            }
            told.push(Told::Text(subscription, path, text.into()));
        }
        News::Value { subscription, path, json, text } => {
            told.push(Told::Value(subscription, path.to_string(), json.into(), text.map(Into::into)));
        }
    }
}
