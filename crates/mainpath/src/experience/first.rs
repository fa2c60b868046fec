//! What a new trace is shown of earlier work: once, at the end of its first message. It is in the log as a part of that message that
//! nobody typed, so a replay needs no files.

use super::lookup::{LookedUp, Lookup};
use super::shown::{fitting, for_trace};
use crate::Error;
use mainpath_experience::Query;
use mainpath_runtime::Mail;
use mainpath_types::{Part, text_of, typed};

/// A first message with what was found for it.
#[derive(Debug)]
pub struct Experienced {
    /// The message.
    pub mail: Mail,
    /// The ids of the entries that are shown in it.
    pub shown: Vec<String>,
    /// Why nothing could be looked up, or not by meaning. It is no reason not to run.
    pub problem: Option<Error>,
}

/// Adds to a first message the entries that fit what was typed, so many at most.
pub(crate) async fn with_experience(lookup: &Lookup, most: usize, mail: Mail) -> Experienced {
    let Mail::Message { mode, mut parts, typed: which } = mail else {
        return Experienced { mail, shown: Vec::new(), problem: None };
    };
    // More than are shown: not all that is found is.
    let query = Query { text: text_of(typed(&parts, which)), most: most.saturating_mul(4), ..Query::default() };
    let (found, problem) = match lookup.find(query).await {
        Ok(LookedUp { found, problem }) => (found, problem.map(Error::from)),
        Err(error) => (Vec::new(), Some(error.into())),
    };
    // One word in common says nothing, and what did more harm than good is not offered.
    let telling = found.into_iter().filter(|found| found.is_telling && found.placed.entry.score() >= 0);
    let entries = fitting(telling.take(most).collect());
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
