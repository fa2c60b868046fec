//! Why a run has ended without an answer, and the commands that help.

use crate::ui::decision_commands::approve_command;
use crate::ui::text::{money, number, one_line, plain};
use mainpath::types::{FinishReason, TraceId};
use mainpath::{Advice, RequestLimit};

/// A line about a run that has ended without an answer. `failure`: what the model's server said.
pub fn ended(trace: &TraceId, reason: FinishReason, failure: Option<&str>, advice: &Advice) -> String {
    let why = match (failure, reason) {
        _ if matches!(advice, Advice::RaiseTokens { .. } | Advice::RaiseMoney { .. }) => {
            return format!("{}: {}", reason.words(), next(trace, advice));
        }
        (Some(failure), _) => plain(failure).replace('\n', " "),
        (None, FinishReason::MaxOutput) => "the answer was cut off at the model's output limit".into(),
        (None, FinishReason::Stopped) => "stopped".into(),
        (None, reason) => format!("the run ended: {}", reason.words()),
    };
    format!("{}; {}", why.trim_end_matches(['.', ' ']), next(trace, advice))
}

/// The command that helps.
fn next(trace: &TraceId, advice: &Advice) -> String {
    let larger = |limit: &RequestLimit| match limit {
        RequestLimit::Characters => {
            format!("raise max_context_chars: mainpath resume {trace} --max-context-chars N (0: no limit)")
        }
        RequestLimit::Window => format!("continue with a larger window: mainpath resume {trace} --model MODEL"),
    };
    match advice {
        Advice::Continue => format!("continue with mainpath resume {trace}"),
        Advice::Approve { call, by_person } => {
            format!("approve call {call}: {}", approve_command(trace, *call, *by_person))
        }
        Advice::ChangeRules(call) => {
            format!("a rule denies call {call}; change the rules (mainpath policy list), then mainpath resume {trace}")
        }
        Advice::AddTool { tool, others } => {
            let tools: Vec<&str> = others.iter().chain([tool]).map(String::as_str).collect();
            let how = format!("mainpath resume {trace} --tools {}", one_line(&tools.join(",")));
            format!("{} is not among the tools of this run; to add it: {how}", plain(tool))
        }
        Advice::Summarise => format!(
            "mainpath compact {trace} or mainpath rewind {trace}, then mainpath resume {trace}; or start over with /clear in the run"
        ),
        Advice::ShortenInstructions(limit) => {
            let what = match limit {
                RequestLimit::Characters => "max_context_chars",
                RequestLimit::Window => "the window",
            };
            format!("instructions and tools alone are larger than {what}: use fewer, or {}", larger(limit))
        }
        Advice::ShortenMessage { message, after, limit } => {
            let instead = match after {
                None => "mainpath run \"TASK\"".into(),
                Some(after) => format!("mainpath rewind {trace} --to {after} \"TASK\""),
            };
            format!(
                "message {message} alone is too large: shorten it ({instead}; name a file instead of pasting it, and it is read in parts), \
                 or {}",
                larger(limit)
            )
        }
        Advice::RaiseTokens { needed, answer, budget } => format!(
            "the first request needs up to {} tokens ({} for the answer), and max_tokens is {}; raise it: mainpath resume {trace} --max-tokens N",
            number(*needed),
            number(*answer),
            number(*budget)
        ),
        Advice::RaiseMoney { needed, budget } => format!(
            "the first request may cost up to {}, and max_cost is {}; raise it: mainpath resume {trace} --max-cost DOLLARS",
            money(*needed),
            money(*budget)
        ),
    }
}
