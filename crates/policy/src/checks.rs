//! Checks of what a trace did, after the fact: in which order calls were made, how often, and for how much. Pure: the caller reads the
//! log and says what happened.

use crate::part::parts;
use crate::pattern::{Fit, Pattern, PatternError, Reading, Seen};
use crate::shell::{self, Script};
use crate::{CallFacts, Folders, ToolNameError, ToolNames};
use mainpath_types::{CallId, Micros};
use serde::Deserialize;

/// What calls of a trace are held to.
///
/// ```toml
/// [[order]]
/// call = "bash(git push *)"        # calls like this …
/// after = "bash(cargo test *)"     # … only after one like this has succeeded
/// [[most]]
/// call = "web_fetch"
/// calls = 10                       # a run
/// [budget]                         # a run
/// turns = 30
/// calls = 100
/// tokens = 500_000
/// cost = "1.50"
/// ```
#[derive(Clone, Debug, Default)]
pub struct Checks {
    order: Vec<Order>,
    most: Vec<Most>,
    /// What a run may take.
    pub budget: Budget,
}

/// What a run may take; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Turns.
    pub turns: Option<u64>,
    /// Calls that were started.
    pub calls: Option<u64>,
    /// Tokens, input and output together.
    pub tokens: Option<u64>,
    /// Money in micro-units; in the file a text such as `"1.50"`.
    #[serde(default, deserialize_with = "cost")]
    pub cost: Option<Micros>,
}

#[derive(Clone, Debug)]
struct Order {
    call: Named,
    after: Named,
}

#[derive(Clone, Debug)]
struct Most {
    call: Named,
    calls: u64,
}

/// A pattern and how it was written.
#[derive(Clone, Debug)]
struct Named {
    text: String,
    pattern: Pattern,
}

/// A call that was started.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// Which.
    pub call: CallId,
    /// The run in which it was.
    pub run: u32,
    /// What is known of it.
    pub facts: CallFacts,
    /// Which of the other calls had succeeded by the time it started, by their places in the list.
    pub after: Vec<usize>,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastRun {
    /// Its number.
    pub run: u32,
    /// Turns.
    pub turns: u64,
    /// Calls that were started.
    pub calls: u64,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Money in micro-units.
    pub cost: Micros,
}

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The run.
    pub run: u32,
    /// The call, where one alone breaks it.
    pub call: Option<CallId>,
    /// What is wrong, in a sentence.
    pub problem: String,
}

/// Why a file of checks cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecksError {
    /// It is not TOML, or not of the right form.
    #[error("{}{message}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Syntax {
        /// The line, from 1, where the parser knows it.
        line: Option<usize>,
        /// The message of the TOML parser, on one line.
        message: String,
    },
    /// A call is not a pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    order: Vec<OrderText>,
    #[serde(default)]
    most: Vec<MostText>,
    #[serde(default)]
    budget: Budget,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderText {
    call: String,
    after: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MostText {
    call: String,
    calls: u64,
}

/// Money as people write it: `"1.50"`, or a whole number.
fn cost<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Micros>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Text {
        Whole(u64),
        Text(String),
    }
    let text = match Text::deserialize(from)? {
        Text::Whole(whole) => whole.to_string(),
        Text::Text(text) => text,
    };
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = !(whole.is_empty() && rest.is_empty()) && digits(whole) && digits(rest) && rest.len() <= 6;
    let micros = Some(format!("{whole}{rest:0<6}")).filter(|_| fits).and_then(|digits| digits.parse().ok());
    micros
        .map(Some)
        .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not an amount of money such as \"1.50\"")))
}

impl Checks {
    /// Reads a file of checks. Errors: what is wrong and where, one line for its author.
    pub fn parse(text: &str, folders: &Folders) -> Result<Checks, ChecksError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line =
                error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
            ChecksError::Syntax { line, message: error.message().replace('\n', " ") }
        })?;
        let mut checks = Checks { budget: file.budget, ..Checks::default() };
        file.order.iter().try_for_each(|order| checks.order(&order.call, &order.after, folders))?;
        file.most.iter().try_for_each(|most| checks.most(&most.call, most.calls, folders))?;
        Ok(checks)
    }

    /// Adds a check of order. Errors: one of the two is no pattern.
    pub fn order(&mut self, call: &str, after: &str, folders: &Folders) -> Result<(), PatternError> {
        self.order.push(Order { call: Named::parse(call, folders)?, after: Named::parse(after, folders)? });
        Ok(())
    }

    /// Adds a check of number. Errors: it is no pattern.
    pub fn most(&mut self, call: &str, calls: u64, folders: &Folders) -> Result<(), PatternError> {
        self.most.push(Most { call: Named::parse(call, folders)?, calls });
        Ok(())
    }

    /// Holds the calls that are named to the tools that there are: these, and all that Mainpath can have. A check of no tool at all would
    /// always hold. Errors: one names none; what may have been meant.
    pub fn check_names<'t>(&self, tools: impl IntoIterator<Item = &'t str> + Clone) -> Result<(), ToolNameError> {
        let named = self.order.iter().flat_map(|order| [&order.call, &order.after]);
        let mut named = named.chain(self.most.iter().map(|most| &most.call));
        named.try_for_each(|call| {
            let name = call.text.split('(').next().unwrap_or_default();
            // What can be no name for tools in general was accepted as a pattern, and may mean any.
            name.parse::<ToolNames>().map_or(Ok(()), |names| names.check(tools.clone()))
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty() && self.most.is_empty() && self.budget == Budget::default()
    }

    /// What does not hold of these calls, in the order in which they were started, and of these runs. A call that may be meant by what is
    /// forbidden counts; what is required must be certain.
    pub fn breaches(&self, calls: &[PastCall], runs: &[PastRun], folders: &Folders) -> Vec<Breach> {
        let mut breaches = Vec::new();
        for Order { call, after } in &self.order {
            let done: Vec<bool> = calls.iter().map(|past| after.fits(&past.facts, Reading::Strict, folders)).collect();
            for past in calls.iter().filter(|past| call.fits(&past.facts, Reading::Wide, folders)) {
                if !past.after.iter().any(|at| done.get(*at) == Some(&true)) {
                    let problem = format!("{} was called, and no {} had succeeded before it", call.text, after.text);
                    breaches.push(Breach { run: past.run, call: Some(past.call), problem });
                }
            }
        }
        for Most { call, calls: most } in &self.most {
            for run in runs {
                let in_run = calls.iter().filter(|past| past.run == run.run);
                let made: Vec<&PastCall> =
                    in_run.filter(|past| call.fits(&past.facts, Reading::Wide, folders)).collect();
                if made.len() as u64 > *most {
                    let problem = format!("{} was called {} times, {most} are allowed in a run", call.text, made.len());
                    breaches.push(Breach { run: run.run, call: made.last().map(|past| past.call), problem });
                }
            }
        }
        let Budget { turns, calls, tokens, cost } = self.budget;
        for run in runs {
            for (what, took, most) in [
                ("turns", run.turns, turns),
                ("calls", run.calls, calls),
                ("tokens", run.tokens, tokens),
                ("millionths of money", run.cost, cost),
            ] {
                if let Some(most) = most.filter(|most| took > *most) {
                    let problem = format!("the run took {took} {what}, {most} are allowed");
                    breaches.push(Breach { run: run.run, call: None, problem });
                }
            }
        }
        breaches
    }
}

impl Named {
    fn parse(text: &str, folders: &Folders) -> Result<Named, PatternError> {
        Ok(Named { text: text.trim().into(), pattern: Pattern::parse(text, folders)? })
    }

    fn fits(&self, facts: &CallFacts, reading: Reading, folders: &Folders) -> bool {
        let scripts: Vec<Script> = facts.commands.iter().map(|line| shell::read(line)).collect();
        let seen: Vec<Vec<Seen<'_>>> = scripts
            .iter()
            .map(|script| script.commands.iter().map(|simple| Seen::new(simple, folders)).collect())
            .collect();
        let fits = |fit: Fit| fit == Fit::Yes || fit == Fit::Maybe && reading == Reading::Wide;
        parts(facts, &scripts, &seen, folders).iter().any(|part| fits(self.pattern.fit(&facts.tool, part, reading)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{EffectClass, Seq};
    use serde_json::json;

    fn folders() -> Folders {
        Folders { workspace: "/w".into(), home: "/home/me".into(), ..Folders::default() }
    }

    fn bash(seq: u32, run: u32, command: &str, after: &[usize]) -> PastCall {
        let facts = CallFacts {
            tool: "bash".into(),
            effect: EffectClass::ProcessControl,
            arguments: json!({ "command": command }),
            commands: vec![command.into()],
            ..CallFacts::default()
        };
        PastCall { call: CallId { seq: Seq(seq), index: 0 }, run, facts, after: after.to_vec() }
    }

    fn problems(text: &str, calls: &[PastCall], runs: &[PastRun]) -> Vec<String> {
        let checks = Checks::parse(text, &folders()).unwrap();
        checks.breaches(calls, runs, &folders()).into_iter().map(|breach| breach.problem).collect()
    }

    #[test]
    fn a_call_comes_only_after_another_that_succeeded() {
        let order = "[[order]]\ncall = \"bash(git push *)\"\nafter = \"bash(cargo test *)\"\n";
        let test = bash(2, 1, "cargo test --all", &[]);
        let push = |after: &[usize]| bash(4, 1, "git push origin main", after);
        assert!(problems(order, &[test.clone(), push(&[0])], &[]).is_empty());
        let told = "bash(git push *) was called, and no bash(cargo test *) had succeeded before it";
        assert_eq!(problems(order, &[test.clone(), push(&[])], &[]), [told]);
        assert_eq!(problems(order, &[push(&[])], &[]), [told]);
        // Hidden in a line, and by another path, it is a push all the same; what may have been a test is none.
        assert_eq!(problems(order, &[bash(4, 1, "true && /usr/bin/git push origin", &[])], &[]), [told]);
        assert_eq!(problems(order, &[bash(2, 1, "cargo $x", &[]), push(&[0])], &[]), [told]);
    }

    #[test]
    fn a_run_makes_so_many_calls_and_takes_so_much() {
        let text = "[[most]]\ncall = \"bash\"\ncalls = 1\n[budget]\nturns = 2\ntokens = 100\ncost = \"0.5\"\n";
        let calls = [bash(2, 1, "ls", &[]), bash(4, 2, "ls", &[]), bash(6, 2, "ls", &[])];
        let runs = [
            PastRun { run: 1, turns: 2, calls: 1, tokens: 100, cost: 500_000 },
            PastRun { run: 2, turns: 3, calls: 2, tokens: 101, cost: 500_001 },
        ];
        let expected = [
            "bash was called 2 times, 1 are allowed in a run",
            "the run took 3 turns, 2 are allowed",
            "the run took 101 tokens, 100 are allowed",
            "the run took 500001 millionths of money, 500000 are allowed",
        ];
        assert_eq!(problems(text, &calls, &runs), expected);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said_with_its_line() {
        let wrong = |text: &str| Checks::parse(text, &folders()).unwrap_err().to_string();
        assert_eq!(wrong("\n[[order]]\ncall = \"bash\"\n"), "line 2: missing field `after`");
        assert_eq!(wrong("[budget]\ncost = \"much\"\n"), "line 2: \"much\" is not an amount of money such as \"1.50\"");
        assert!(wrong("[budgets]\n").contains("unknown field `budgets`"));
        assert_eq!(
            wrong("[[most]]\ncall = \"bsah\"\ncalls = 1\n"),
            "there is no tool \"bsah\"; did you mean \"bash\"?"
        );
    }

    #[test]
    fn a_check_of_a_tool_that_there_is_not_is_refused() {
        let check = |call: &str| {
            let mut checks = Checks::default();
            checks.most(call, 1, &folders()).unwrap();
            checks.check_names(["deploy"])
        };
        for there in ["bash", "deploy(prod)", "write", "mcp__git__push", "*_text_file(src/**)", "bash(git push *)"] {
            assert_eq!(check(there), Ok(()), "{there}");
        }
        for none in ["nosuch_tool", "nosuch_tool(a b)", "nosuch*"] {
            assert!(check(none).unwrap_err().to_string().starts_with("there is no tool \"nosuch"), "{none}");
        }
        let mut checks = Checks::default();
        checks.order("bash", "nosuch_tool", &folders()).unwrap();
        assert!(checks.check_names([]).is_err());
    }
}
