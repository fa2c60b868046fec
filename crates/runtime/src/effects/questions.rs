//! A question on its way to a person.

use crate::effects::context::EffectContext;
use crate::messenger::{Delivery, OpenQuestion};
use mainpath_core::InputKind;
use mainpath_types::QuestionSent;

/// Sends a question, and says how that went.
pub(crate) async fn send_question(context: EffectContext, question: OpenQuestion) -> InputKind {
    let config = &context.shared.config;
    let delivery = match &config.messenger {
        Some(messenger) => messenger.send(&question).await,
        None => Delivery { problem: Some("no channel to people is configured here".into()), ..Delivery::default() },
    };
    let Delivery { channel, receipt, problem, retry_in } = delivery;
    let problem = problem.map(|problem| config.vault.redact(&problem));
    if let Some(problem) = &problem {
        context
            .notices()
            .tell(&format!("the question {} could not be sent to {}: {problem}", question.call, question.to));
    }
    let retry_at = retry_in.map(|wait| (config.clock)().saturating_add(wait));
    InputKind::QuestionSent(QuestionSent { call: question.call, to: question.to, channel, receipt, problem, retry_at })
}
