//! Vectors of texts from an endpoint as OpenAI has it: `POST …/embeddings` with `{"model", "input": […]}`, answered by
//! `{"data": [{"index", "embedding": […]}]}` (<https://platform.openai.com/docs/api-reference/embeddings>).

use crate::home::EmbeddingsConfig;
use mainpath_experience::ExperienceError;
use mainpath_net::{Client, NotReady, Post, Secret};
use mainpath_runtime::Vault;
use mainpath_tools::Problem;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

/// How long the endpoint may take for a request.
const LONGEST: Duration = Duration::from_secs(10);
/// How many texts a request has at most.
const BATCH: usize = 32;
/// The least cosine that counts where the configuration does not say, in thousandths.
const LEAST: u32 = 400;

/// An endpoint for embeddings.
pub(crate) struct Meaning {
    post: Post,
    pub model: String,
    /// The least cosine of what counts as near, in thousandths.
    pub least: u32,
    vault: Vault,
}

/// Why texts have no vectors.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeaningError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Problem),
    #[error("{url} answered with HTTP {status}")]
    Status { url: String, status: u16 },
    #[error("{url} gave no embeddings: {source}")]
    BadAnswer { url: String, source: serde_json::Error },
    #[error("{0} gave no embeddings: not one for each text")]
    Incomplete(String),
    /// The vectors cannot be read or stored.
    #[error(transparent)]
    Cache(#[from] ExperienceError),
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedded>,
}

#[derive(Deserialize)]
struct Embedded {
    index: usize,
    embedding: Vec<f32>,
}

impl Meaning {
    /// So many entries get their vectors at one look; the others at the next.
    pub const AT_ONCE: usize = 128;

    /// With this configuration. Errors: a secret is missing.
    pub fn new(
        config: &EmbeddingsConfig,
        client: &Client,
        secret: Secret<'_>,
        vault: Vault,
    ) -> Result<Meaning, NotReady> {
        let post = Post::new(client, &config.url, &config.headers, secret)?;
        let least = config.least.map_or(LEAST, |least| u32::from(least.get()) * 10);
        Ok(Meaning { post, model: config.model.clone(), least, vault })
    }

    /// A vector for each text. Errors: what is wrong with the endpoint or its answer.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, MeaningError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let input: Vec<String> = batch.iter().map(|text| self.vault.redact(text)).collect();
            let asked = json!({"model": self.model, "input": input, "encoding_format": "float"});
            let answer = self.post.send(&asked, LONGEST).await?;
            let url = || self.post.url().to_string();
            if !(200..300).contains(&answer.status) {
                return Err(MeaningError::Status { url: url(), status: answer.status });
            }
            let Answer { mut data } = serde_json::from_slice(&answer.body)
                .map_err(|source| MeaningError::BadAnswer { url: url(), source })?;
            data.sort_by_key(|one| one.index);
            let right = |at: usize| {
                data.get(at).is_some_and(|one| one.index == at && one.embedding.iter().all(|value| value.is_finite()))
            };
            if data.len() != batch.len() || !(0..data.len()).all(right) {
                return Err(MeaningError::Incomplete(url()));
            }
            vectors.extend(data.into_iter().map(|one| one.embedding));
        }
        Ok(vectors)
    }
}
