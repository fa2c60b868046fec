//! What a new trace is shown of earlier work: once, at the end of its first message. It is in the log as a part of that message that
//! nobody typed, so a replay needs no files.

use super::shown::{fitting, for_trace};
use crate::Error;
use mainpath_experience::{Experiences, Query};
use mainpath_runtime::Mail;
use mainpath_types::{Part, text_of, typed};

/// A first message with what was found for it.
#[derive(Debug)]
pub struct Experienced {
    /// The message.
    pub mail: Mail,
    /// The ids of the entries that are shown in it.
    pub shown: Vec<String>,
    /// Why nothing could be looked up. It is no reason not to run.
    pub problem: Option<Error>,
}

/// Adds to a first message the entries that fit what was typed, so many at most.
pub(crate) fn with_experience(known: &Experiences, most: usize, mail: Mail) -> Experienced {
    let Mail::Message { mode, mut parts, typed: which } = mail else {
        return Experienced { mail, shown: Vec::new(), problem: None };
    };
    let query = Query { text: text_of(typed(&parts, which)), most, ..Query::default() };
    let (entries, problem) = match known.find(&query) {
        // One word in common says nothing, and what did more harm than good is not offered.
        Ok(found) => {
            let telling = found.into_iter().filter(|found| found.is_telling && found.placed.entry.score() >= 0);
            (fitting(telling.collect()), None)
        }
        Err(error) => (Vec::new(), Some(error.into())),
    };
    let which = match for_trace(&entries) {
        Some(text) => {
            let typed = which.or_else(|| (parts.len() == 1).then_some(0));
            parts.push(Part::text(text));
            typed
        }
        None => which,
    };
    let shown = entries.into_iter().map(|entry| entry.id).collect();
    Experienced { mail: Mail::Message { mode, parts, typed: which }, shown, problem }
}
