//! Looking entries up: by tags and words, and by meaning where an endpoint for embeddings is configured.

use super::meaning::{Meaning, MeaningError};
use mainpath_experience::{ExperienceError, Experiences, Found, Near, Query};
use std::sync::Arc;

/// What agents learned, and how it is looked up.
#[derive(Clone)]
pub struct Lookup {
    /// The entries.
    pub known: Arc<Experiences>,
    /// By meaning, if it can be.
    pub(crate) meaning: Option<Arc<Meaning>>,
}

/// What was looked up.
#[derive(Debug, Default)]
pub(crate) struct LookedUp {
    pub found: Vec<Found>,
    /// Why it was not looked up by meaning as well.
    pub problem: Option<MeaningError>,
}

impl Lookup {
    /// By tags and words alone.
    pub(crate) fn by_words(known: Arc<Experiences>) -> Lookup {
        Lookup { known, meaning: None }
    }

    /// What fits. Where meaning cannot be asked for, tags and words do. Errors: the folder or the cache cannot be read.
    pub(crate) async fn find(&self, query: Query) -> Result<LookedUp, ExperienceError> {
        let (near, problem) = match &self.meaning {
            Some(meaning) => match meaning.near(&self.known, &query).await {
                Ok(near) => (near, None),
                Err(problem) => (None, Some(problem)),
            },
            None => (None, None),
        };
        let found = self.blocking(move |known| known.find_near(&query, near.as_ref())).await?;
        Ok(LookedUp { found, problem })
    }

    /// Does what takes a moment beside the drivers of other traces.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        does: impl FnOnce(&Experiences) -> Result<T, ExperienceError> + Send + 'static,
    ) -> Result<T, ExperienceError> {
        let known = Arc::clone(&self.known);
        let folder = known.folder().to_path_buf();
        let done = tokio::task::spawn_blocking(move || does(&known)).await;
        done.unwrap_or_else(|error| Err(ExperienceError::Io { file: folder, source: std::io::Error::other(error) }))
    }
}

/// Where vectors come from that are near each other if what they stand for is.
impl Meaning {
    /// What is to be near to a query; `None` for one without words. Texts that have no vector get one before. Errors: why there is none.
    async fn near(&self, known: &Arc<Experiences>, query: &Query) -> Result<Option<Near>, MeaningError> {
        let said: Vec<&str> = [query.text.as_str()]
            .into_iter()
            .chain(query.intent.iter().chain(&query.state).map(String::as_str))
            .collect();
        let text = said.join("\n").trim().to_string();
        if text.is_empty() || known.is_empty() {
            return Ok(None);
        }
        let model = self.model.clone();
        let lookup = Lookup::by_words(Arc::clone(known));
        let missing = lookup.blocking(move |known| known.unembedded(&model, Meaning::AT_ONCE)).await?;
        let texts = missing.iter().map(|one| one.text.clone()).chain([text]).collect();
        let mut vectors = self.embed(texts).await?;
        let Some(values) = vectors.pop() else { return Ok(None) };
        let new: Vec<_> = missing
            .into_iter()
            .zip(vectors)
            .map(|(one, values)| mainpath_experience::Vector { key: one.key, values })
            .collect();
        if !new.is_empty() {
            let model = self.model.clone();
            lookup.blocking(move |known| known.keep_vectors(&model, &new)).await?;
        }
        Ok(Some(Near { model: self.model.clone(), values, least: self.least }))
    }
}
