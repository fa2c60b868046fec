//! The gate, as far as it needs text: from a model's answer to an input whose calls are checked and judged.

use mainpath_core::{InputKind, Reply, estimate, estimate_parts};
use mainpath_policy::{Rules, judge};
use mainpath_tools::{Tools, Workspace};
use mainpath_types::*;

/// What judging needs to know.
pub(crate) struct Gate<'a> {
    pub tools: &'a Tools,
    pub workspace: &'a Workspace,
    pub rules: &'a Rules,
}

impl Gate<'_> {
    /// One call: found, its arguments checked, its verdict given.
    pub fn plan(&self, name: &str, arguments: &str) -> PlannedCall {
        match self.tools.plan(name, arguments, self.workspace) {
            Ok(planned) => {
                let verdict = judge(self.rules, &planned.facts);
                PlannedCall { tool: Some(planned.tool), verdict: Some(verdict), problem: None }
            }
            Err(problem) => {
                let tool = self.tools.resolve(name).map(Into::into);
                PlannedCall { tool, verdict: None, problem: Some(problem.to_string()) }
            }
        }
    }

    /// A whole answer. One that says nothing and calls nothing is malformed.
    pub fn reply(&self, request: u32, reply: ModelReply, sent: String) -> InputKind {
        let tokens = estimate_parts(&reply.parts);
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let last = reply.parts.iter().rposition(is_call);
        let calls = reply.parts.iter().enumerate().filter_map(|(at, part)| match part {
            Part::ToolCall { name, arguments, .. } => {
                let cut = reply.stop == StopReason::MaxTokens && Some(at) == last;
                Some(if cut { self.cut_off(name, arguments) } else { self.plan(name, arguments) })
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
            goals: Vec::new(),
            stop: reply.stop,
            tokens,
            usage: reply.usage,
            sent: Some(sent),
        });
        if empty {
            let problem = match judged.stop {
                StopReason::MaxTokens => "it reached the output limit before it said anything.",
                StopReason::ContentFilter => "the vendor's filter left nothing of it.",
                StopReason::End | StopReason::ToolCalls => "it was empty.",
            };
            let repair_tokens = estimate(problem) + 20;
            return InputKind::ModelMalformed { reply: judged, problem: problem.into(), repair_tokens };
        }
        InputKind::ModelFinished(judged)
    }

    /// The last call of an answer that ran into the output limit. Half a call is never run.
    fn cut_off(&self, name: &str, arguments: &str) -> PlannedCall {
        if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() {
            return self.plan(name, arguments);
        }
        let problem = "The answer was cut off at the output limit in the middle of this call, so it was not run. Make \
                       the call again with shorter arguments.";
        PlannedCall { tool: self.tools.resolve(name).map(Into::into), verdict: None, problem: Some(problem.into()) }
    }
}
