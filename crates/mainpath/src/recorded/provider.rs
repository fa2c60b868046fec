//! The model of a play: its answers are those that were recorded.

use super::playing::{AnswerAt, NextRecorded, Playing, was_run};
use mainpath_providers::{Call, Codec, Fut, Neutral, Provider};
use mainpath_types::{Delta, FinishReason, ModelError, ModelErrorKind, ModelReply};
use std::sync::Arc;

/// Gives recorded answers as long as the conversation is the recorded one; then it fails for good.
pub(super) struct RecordedModel(pub Arc<Playing>);

impl Provider for RecordedModel {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        _: Call<'a>,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        let failed = |message: String| ModelError {
            kind: ModelErrorKind::BadRequest,
            message,
            status: None,
            retry_after_ms: None,
        };
        Box::pin(async move {
            let next = self.0.next().await.map_err(|error| failed(error.message().into()))?;
            match next {
                Ok(NextRecorded::Answer(AnswerAt { step, answer })) => {
                    // What was said while it answered: none of its calls was run.
                    if !answer.calls.is_empty() && !answer.calls.iter().any(was_run) {
                        self.0.steer(step).await.map_err(|error| failed(error.message().into()))?;
                    }
                    let (parts, usage) = (answer.parts.clone(), Some(answer.usage));
                    Ok(ModelReply { parts, usage, stop: answer.stop, model: None })
                }
                Ok(NextRecorded::End(reason)) => {
                    if reason != FinishReason::ModelError {
                        self.0.stop().await.map_err(|error| failed(error.message().into()))?;
                    }
                    Err(failed(format!("the recorded run ended here: {}", reason.as_str())))
                }
                Err(parted) => {
                    let (step, what) = (parted.step, &parted.what);
                    Err(failed(format!("there is no recorded answer from step {step} on, which differs: {what}")))
                }
            }
        })
    }
}
