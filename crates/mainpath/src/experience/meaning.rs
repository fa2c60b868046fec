//! Vectors of texts from an endpoint as OpenAI has it: `POST …/embeddings` with `{"model", "input": […]}`, answered by
//! `{"data": [{"index", "embedding": […]}]}` (<https://platform.openai.com/docs/api-reference/embeddings>).

use crate::home::EmbeddingsConfig;
use mainpath_net::{Client, Post, Secret};
use mainpath_runtime::Vault;
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
    ) -> Result<Meaning, String> {
        let post = Post::new(client, &config.url, &config.headers, secret).map_err(|why| why.to_string())?;
        let least = config.least.map_or(LEAST, |least| u32::from(least.get()) * 10);
        Ok(Meaning { post, model: config.model.clone(), least, vault })
    }

    /// A vector for each text. Errors: what is wrong with the endpoint or its answer.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, String> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let input: Vec<String> = batch.iter().map(|text| self.vault.redact(text)).collect();
            let asked = json!({"model": self.model, "input": input, "encoding_format": "float"});
            let answer = self.post.send(&asked, LONGEST).await.map_err(|problem| problem.text)?;
            if !(200..300).contains(&answer.status) {
                return Err(format!("{} answered with HTTP {}", self.post.url(), answer.status));
            }
            let strange = |why: &str| format!("{} gave no embeddings: {why}", self.post.url());
            let Answer { mut data } =
                serde_json::from_slice(&answer.body).map_err(|error| strange(&error.to_string()))?;
            data.sort_by_key(|one| one.index);
            let right = |at: usize| {
                data.get(at).is_some_and(|one| one.index == at && one.embedding.iter().all(|value| value.is_finite()))
            };
            if data.len() != batch.len() || !(0..data.len()).all(right) {
                return Err(strange("not one for each text"));
            }
            vectors.extend(data.into_iter().map(|one| one.embedding));
        }
        Ok(vectors)
    }
}
