//! What agents learned: shown to new traces, offered as tools, scored by use, and written by reflection.
//!
//! The entries themselves are in the crate `mainpath-experience`. They lie in Mainpath's own folder, which no tool can touch: what stands
//! there was written by a person or by `knowledge_save`, and only a person can accept what rests on somebody else's words.

mod first;
mod lookup;
mod meaning;
mod reflect;
mod reflected;
mod shown;
mod tools;
mod used;

pub use first::Experienced;
pub use mainpath_experience::{
    Broken, Change, Contents, Draft, Entry, ExperienceError, Experiences, Found, Placed, Query, Status, is_id,
    read_text,
};
pub use reflect::REFLECTION_TURNS;
pub use reflected::reflected_trace;
pub use tools::{GET_EXPERIENCE, KNOWLEDGE_SAVE, KNOWLEDGE_SEARCH, KNOWLEDGE_TOOLS};

pub(crate) use first::with_experience;
pub use lookup::Lookup;
pub(crate) use meaning::Meaning;
use meaning::MeaningError;
pub(crate) use reflect::{FOCUS, PROMPT, reflection_of};
pub(crate) use reflected::reflection_name;
pub(crate) use tools::offer;
pub(crate) use used::scoring;

use crate::{Error, ErrorKind, Home};

/// How many entries are shown to a new trace where the configuration does not say.
pub(crate) const USUAL: usize = 5;

impl From<ExperienceError> for Error {
    fn from(error: ExperienceError) -> Error {
        match &error {
            ExperienceError::Unknown(_) => Error::new(ErrorKind::NotFound, error.to_string()),
            ExperienceError::Busy(_) => Error::new(ErrorKind::Busy, error.to_string()),
            ExperienceError::Invalid(_) | ExperienceError::ByHand { .. } => Error::invalid(error.to_string()),
            ExperienceError::Io { source, .. } => Error::of_io(source, error.to_string()),
            _ => Error::failed(error.to_string()),
        }
    }
}

impl From<MeaningError> for Error {
    fn from(error: MeaningError) -> Error {
        match error {
            MeaningError::Cache(error) => error.into(),
            _ => Error::failed(error.to_string()),
        }
    }
}

impl Home {
    /// What agents of this home learned.
    pub fn experiences(&self) -> Experiences {
        Experiences::open(self.data.join("experiences"), self.data.join("experiences.sqlite"))
    }

    /// How many entries are shown to a new trace.
    pub(crate) fn experiences_shown(&self) -> usize {
        self.config.experience.show.map_or(USUAL, |most| most.try_into().unwrap_or(usize::MAX))
    }

    /// Whether agents are to have experiences: as the configuration says, else where there are any.
    pub(crate) fn has_experience(&self, known: &Experiences) -> bool {
        self.config.experience.enabled.unwrap_or_else(|| !known.is_empty())
    }
}
