//! A turn in JSON text while it is being written: its answer's text as it comes, and its tool as soon as it is named. The
//! object itself is nothing for people to read.

use mainpath_json::{Limits, News, Parser, Paths};
use mainpath_types::{Delta, Dialect, TextForm};

/// What is watched for in each dialect: the answer first, then what is being done, then the plan.
fn watched(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::AgentCore => &["$.answer", "$.tool", "$.type"],
        Dialect::Skills => &[
            "$.final_answer.content",
            "$.action.tool",
            "$.action.type",
            "$.plan.steps[*].title",
            "$.plan_update.steps[*].title",
        ],
    }
}

/// The turn of one answer.
pub(crate) struct LiveTurn {
    form: TextForm,
    /// `None` after what cannot be a turn: then nothing more is shown of it.
    parser: Option<Parser>,
    /// Whether the object has begun. Fences and prose may come before it where they are put up with.
    begun: bool,
    /// Whether the answer's text was shown as it came.
    answered: bool,
}

impl LiveTurn {
    pub fn new(form: TextForm) -> LiveTurn {
        let paths = Paths::new(watched(form.dialect).iter()).ok();
        let parser = paths.map(|paths| Parser::new(paths, Limits::default()));
        LiveTurn { form, parser, begun: false, answered: false }
    }

    /// Takes a piece of the model's text and says what it shows. Thinking is shown as it is.
    pub fn push(&mut self, delta: Delta, say: &mut dyn FnMut(Delta)) {
        let text = match &delta {
            Delta::Text { text } => text.as_str(),
            Delta::Thinking { .. } => return say(delta),
            Delta::Arguments { .. } | Delta::Partial { .. } | Delta::ToolOutput { .. } => return,
        };
        let Some(parser) = &mut self.parser else { return };
        let begins = if self.begun || !self.form.tolerant { Some(0) } else { text.find('{') };
        let Some(text) = begins.and_then(|at| text.get(at..)) else { return };
        self.begun = true;
        let (form, answered) = (self.form, &mut self.answered);
        let pushed = parser.push(text.as_bytes(), &mut |news| {
            shown(form.dialect, news, answered).into_iter().for_each(&mut *say);
        });
        if pushed.is_err() || parser.is_complete() {
            self.parser = None;
        }
    }
}

fn shown(dialect: Dialect, news: News<'_>, answered: &mut bool) -> Vec<Delta> {
    match news {
        News::Text { subscription: 0, text, .. } => {
            *answered = true;
            vec![Delta::Text { text: text.into() }]
        }
        // An answer that is JSON itself comes whole.
        News::Value { subscription: 0, json, .. } if !*answered && !json.starts_with('"') => {
            vec![Delta::Text { text: json.into() }]
        }
        News::Value { subscription: at @ 1.., path, text: Some(value), .. } => {
            let is_tool = match (dialect, at) {
                (_, 1) => true,
                (Dialect::Skills, 2) => !matches!(value, "tool" | "final_answer"),
                _ => false,
            };
            let named = || Delta::Arguments { index: 0, name: Some(value.to_string()), text: String::new() };
            let known = Delta::Partial { path: path.to_string(), value: value.to_string() };
            [known].into_iter().chain(is_tool.then(named)).collect()
        }
        News::Text { .. } | News::Value { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of this text, however it is cut.
    fn shown_of(text: &str, form: TextForm) -> Vec<String> {
        let of = |size: usize| {
            let (mut turn, mut seen): (_, Vec<Delta>) = (LiveTurn::new(form), Vec::new());
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                turn.push(Delta::Text { text: piece.iter().collect() }, &mut |delta| seen.push(delta));
            }
            let mut lines: Vec<String> = Vec::new();
            for delta in seen {
                match (delta, lines.last_mut().filter(|line| line.starts_with('+'))) {
                    (Delta::Text { text }, Some(line)) => line.push_str(&text),
                    (Delta::Text { text }, None) => lines.push(format!("+{text}")),
                    (Delta::Arguments { name: Some(name), .. }, _) => lines.push(format!("call {name}")),
                    (Delta::Partial { path, value }, _) => lines.push(format!("{path} {value}")),
                    (other, _) => lines.push(format!("{other:?}")),
                }
            }
            lines
        };
        let whole = of(usize::MAX);
        (1..8).for_each(|size| assert_eq!(of(size), whole, "in pieces of {size}"));
        whole
    }

    #[test]
    fn an_answer_is_shown_as_it_comes_and_a_call_by_its_name() {
        let core = TextForm::default();
        assert_eq!(
            shown_of(r#"{"type":"final","answer":"caf\u00e9 \"au\" lait"}"#, core),
            ["$.type final", "+café \"au\" lait"]
        );
        assert_eq!(
            shown_of(r#"{"type":"action","tool":"bash","args":{"command":"ls"}}"#, core),
            ["$.type action", "$.tool bash", "call bash"]
        );
        assert_eq!(shown_of(r#"{"type":"final","answer":{"n":[1,2]}}"#, core), ["$.type final", "+{\"n\":[1,2]}"]);
        let skills = TextForm { dialect: Dialect::Skills, tolerant: false };
        let last = r#"{"plan_update":{"steps":[{"id":"1","title":"Look"},{"title":"Count"}]},"action":{"type":"final_answer"},"final_answer":{"content":"42"}}"#;
        let steps = ["$.plan_update.steps[0].title Look", "$.plan_update.steps[1].title Count"];
        assert_eq!(shown_of(last, skills), [steps[0], steps[1], "$.action.type final_answer", "+42"]);
        let script = ["$.action.type run_script", "call run_script"];
        assert_eq!(shown_of(r#"{"action":{"type":"run_script","path":"x"}}"#, skills), script);
        let tool = ["$.plan.steps[0].title a", "$.action.type tool", "$.action.tool bash", "call bash"];
        let planned = r#"{"plan":{"steps":[{"title":"a"}]},"action":{"type":"tool","tool":"bash"}}"#;
        assert_eq!(shown_of(planned, skills), tool);
    }

    #[test]
    fn prose_is_not_shown_and_what_follows_something_broken_neither() {
        let core = TextForm::default();
        assert!(shown_of(r#"Sure: {"type":"final","answer":"x"}"#, core).is_empty());
        assert_eq!(shown_of("{\"type\":\"final\",\"answer\":\"one\u{1} two\"}", core), ["$.type final", "+one"]);
        let tolerant = TextForm { tolerant: true, ..core };
        assert_eq!(
            shown_of("Sure:\n```json\n{\"type\":\"final\",\"answer\":\"x\"}\n```", tolerant),
            ["$.type final", "+x"]
        );
    }

    #[test]
    fn thinking_is_shown_and_calls_of_the_vendors_kind_are_not() {
        let mut seen = Vec::new();
        let mut turn = LiveTurn::new(TextForm::default());
        let thought = Delta::Thinking { text: "hm".into() };
        turn.push(thought.clone(), &mut |delta| seen.push(delta));
        let call = Delta::Arguments { index: 0, name: Some("x".into()), text: "{}".into() };
        turn.push(call, &mut |delta| seen.push(delta));
        assert_eq!(seen, [thought]);
    }
}
