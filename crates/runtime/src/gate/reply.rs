//! From a model's answer to an input whose calls are checked and judged, or that says why it is no answer.

use crate::gate::judge::Gate;
use mainpath_core::{InputKind, Reply, TurnError, estimate, estimate_parts, parse_turn};
use mainpath_types::{
    Breach, GoalOp, ModelError, ModelErrorKind, ModelReply, Part, PlannedCall, StopReason, TextForm, Usage, text_of,
};

impl Gate<'_> {
    /// A whole answer. What a filter has left of one is none. One that says nothing and calls nothing is malformed, and so is one that does not keep to the text
    /// protocol or to the final answer's schema.
    pub fn reply(&self, request: u32, mut reply: ModelReply, sent: String) -> InputKind {
        if reply.stop == StopReason::ContentFilter {
            return filtered(request, reply.usage, estimate_parts(&reply.parts));
        }
        let read = self.text.map(|form| read_turn(&mut reply, form));
        let ((tolerated, goals), mut problem) = match read {
            None => ((false, Vec::new()), None),
            Some(Ok(read)) => (read, None),
            Some(Err(_)) if self.summary && !text_of(&reply.parts).trim().is_empty() => ((false, Vec::new()), None),
            Some(Err(problem)) => ((false, Vec::new()), Some((problem.to_string(), Breach::Protocol))),
        };
        let tokens = estimate_parts(&reply.parts);
        let said = self.said(&reply.parts);
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let last = reply.parts.iter().rposition(is_call);
        let calls = reply.parts.iter().enumerate().filter_map(|(at, part)| match part {
            Part::ToolCall { name, arguments, .. } => {
                let cut = reply.stop == StopReason::MaxTokens && Some(at) == last;
                Some(if cut { self.cut_off(name, arguments, &said) } else { self.check(name, arguments, &said) })
            }
            _ => None,
        });
        let calls: Vec<PlannedCall> = calls.collect();
        let says = |part: &Part| matches!(part, Part::Text { text } if !text.trim().is_empty());
        let empty = calls.is_empty() && !reply.parts.iter().any(says);
        let judged = Box::new(Reply {
            request,
            parts: reply.parts,
            calls,
            goals,
            stop: reply.stop,
            tolerated,
            tokens,
            usage: reply.usage,
            sent: Some(sent),
            aside: false,
            expand: None,
        });
        if problem.is_none() && empty {
            problem = Some((BadTurn::Nothing(judged.stop).to_string(), Breach::Protocol));
        }
        if problem.is_none() && judged.calls.is_empty() && !self.summary {
            let refused = self.schema.and_then(|schema| schema.refuse(&text_of(&judged.parts)));
            problem = refused.map(|problem| (problem, Breach::Schema));
        }
        match problem {
            None => InputKind::ModelFinished(judged),
            Some((problem, breach)) => {
                let repair_tokens = estimate(&problem) + 20;
                InputKind::ModelMalformed { reply: judged, problem, breach, repair_tokens }
            }
        }
    }

    /// What a model said with its calls, as far as a breakpoint may ask.
    pub fn said(&self, parts: &[Part]) -> String {
        if self.calls.breakpoints.is_empty() { String::new() } else { text_of(parts) }
    }

    /// The last call of an answer that ran into the output limit. Half a call is never run.
    fn cut_off(&self, name: &str, arguments: &str, said: &str) -> PlannedCall {
        if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() {
            return self.check(name, arguments, said);
        }
        let problem = "The answer was cut off at the output limit in the middle of this call, so it was not run. Make \
                       the call again with shorter arguments.";
        PlannedCall { tool: self.tools.resolve(name), problem: Some(problem.into()), ..PlannedCall::default() }
    }
}

/// An answer that its model or its vendor's filter refused or broke off: whatever there is of it, it is not the answer.
fn filtered(request: u32, usage: Option<Usage>, received: u32) -> InputKind {
    let message = "the model's answer was refused or cut by a content filter; say it in other words (mainpath rewind), \
                   or use another model";
    let kind = ModelErrorKind::ContentFilter;
    let error = ModelError { kind, message: message.into(), status: None, retry_after_ms: None };
    InputKind::ModelFailed { request, error, retry_at: None, usage, received }
}

/// Why a text is not a turn, in words for the model.
#[derive(Debug, thiserror::Error)]
enum BadTurn {
    #[error("it called a tool in another way than by the JSON object.")]
    OtherCall,
    #[error("it was cut off at the output limit; write a shorter one.")]
    CutOff,
    #[error("{}", nothing(*.0))]
    Nothing(StopReason),
    #[error(transparent)]
    Text(#[from] TurnError),
}

/// Why an answer without text and calls is none.
fn nothing(stop: StopReason) -> &'static str {
    match stop {
        StopReason::MaxTokens => "it reached the output limit before it said anything.",
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => "it was empty.",
    }
}

/// Puts the parts of the turn that a text is in the text's place, and says whether it had to be picked out and what it makes of
/// the plan. Errors: what is wrong with it, for the model.
fn read_turn(reply: &mut ModelReply, form: TextForm) -> Result<(bool, Vec<GoalOp>), BadTurn> {
    let called = reply.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
    // Calls of the vendor's own kind were not asked for; their text is all that counts.
    reply.parts.retain(|part| !matches!(part, Part::ToolCall { .. }));
    let text = text_of(&reply.parts);
    match parse_turn(&text, form) {
        Ok(parsed) => {
            reply.parts.retain(|part| !matches!(part, Part::Text { .. }));
            reply.parts.extend(parsed.parts);
            Ok((parsed.tolerated, parsed.goals))
        }
        Err(_) if called => Err(BadTurn::OtherCall),
        Err(_) if reply.stop == StopReason::MaxTokens => Err(BadTurn::CutOff),
        Err(_) if text.trim().is_empty() => Err(BadTurn::Nothing(reply.stop)),
        Err(problem) => Err(problem.into()),
    }
}
