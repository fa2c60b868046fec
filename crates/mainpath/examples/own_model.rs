//! A model of one's own: `cargo run -p mainpath --example own_model`.

use mainpath::prelude::*;
use mainpath::providers::{Call, Codec, Fut, Neutral, Provider};
use mainpath::types::{Delta, Message, ModelError, ModelErrorKind, ModelReply, Part, StopReason, text_of};
use std::sync::Arc;

/// Says what was said, backwards.
struct Backwards;

/// What the neutral format has in a request, besides its head.
#[derive(serde::Deserialize)]
struct Request {
    messages: Vec<Message>,
}

impl Provider for Backwards {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let request: Request = serde_json::from_slice(&call.body.concat()).map_err(|error| ModelError {
                kind: ModelErrorKind::BadRequest,
                message: error.to_string(),
                status: None,
                retry_after_ms: None,
            })?;
            let last = request.messages.last().map(|message| text_of(&message.parts)).unwrap_or_default();
            let text: String = last.chars().rev().collect();
            deltas(Delta::Text { text: text.clone() });
            // Without a count of its own, the runtime estimates what was used.
            Ok(ModelReply { parts: vec![Part::text(text)], usage: None, stop: StopReason::End, model: None })
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    println!("{}", backwards().await?);
    Ok(())
}

/// Runs an agent on the model and gives its answer.
pub async fn backwards() -> Result<String, Error> {
    let folder = tempfile::tempdir()?;
    let host = Host::builder().in_memory().model("backwards", Arc::new(Backwards)).build().await?;
    let run = host.agent("backwards").workspace(folder.path()).tools(["read_text_file"]).start("abc").await?;
    Ok(run.outcome().await?.answer)
}
