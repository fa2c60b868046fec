//! What a predicate is made of, and whether it is true of a call.

use super::facts::{StepFacts, argument, argument_values};
use super::field::StepField;
use super::search::TextSearch;
use mainpath_types::{Decision, Origin};
use serde_json::Value;
use std::borrow::Cow;

/// What a predicate is made of.
#[derive(Clone, Debug)]
pub enum Term {
    /// All of these hold.
    All(Vec<Term>),
    /// One of these holds.
    Any(Vec<Term>),
    /// This does not hold.
    Not(Box<Term>),
    /// This holds.
    Is(Condition),
}

/// A condition on one field.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The field.
    pub field: StepField,
    /// What it is to be.
    pub is: FieldTest,
    /// Where it stands in the text: the character, from 1.
    pub at: usize,
}

/// What a field is to be.
#[derive(Clone, Debug)]
pub enum FieldTest {
    /// This text. What is not there is empty.
    Text(String),
    /// A text that has this.
    Has(TextSearch),
    /// A number, in millionths; what is no number is neither more nor less.
    Number(NumberOrder, i64),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberOrder {
    /// The same.
    Equal,
    /// Less.
    Less,
    /// Less, or the same.
    AtMost,
    /// More.
    More,
    /// More, or the same.
    AtLeast,
}

impl NumberOrder {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            NumberOrder::Equal => "=",
            NumberOrder::Less => "<",
            NumberOrder::AtMost => "<=",
            NumberOrder::More => ">",
            NumberOrder::AtLeast => ">=",
        }
    }

    fn holds(self, one: i64, other: i64) -> bool {
        match self {
            NumberOrder::Equal => one == other,
            NumberOrder::Less => one < other,
            NumberOrder::AtMost => one <= other,
            NumberOrder::More => one > other,
            NumberOrder::AtLeast => one >= other,
        }
    }
}

impl Term {
    /// All conditions in it, in their order.
    pub fn conditions(&self) -> Vec<&Condition> {
        match self {
            Term::Is(condition) => vec![condition],
            Term::Not(term) => term.conditions(),
            Term::All(terms) | Term::Any(terms) => terms.iter().flat_map(Term::conditions).collect(),
        }
    }

    pub(crate) fn matches(&self, step: &StepFacts<'_>) -> bool {
        match self {
            Term::All(terms) => terms.iter().all(|term| term.matches(step)),
            Term::Any(terms) => terms.iter().any(|term| term.matches(step)),
            Term::Not(term) => !term.matches(step),
            Term::Is(condition) => condition.matches(step),
        }
    }
}

impl Condition {
    /// Whether it holds of a call.
    pub fn matches(&self, step: &StepFacts<'_>) -> bool {
        match &self.is {
            FieldTest::Text(wanted) => match self.field {
                StepField::Origin => step.origins.iter().any(|origin| origin_name(*origin) == wanted),
                _ => self.value(step) == wanted.as_str(),
            },
            FieldTest::Has(search) => match self.field {
                StepField::Origin => step.origins.iter().any(|origin| search.is_in(origin_name(*origin))),
                StepField::Error => search.is_in(step.error) || search.is_in(step.failure),
                _ => search.is_in(&self.value(step)),
            },
            FieldTest::Number(order, wanted) => match self.field {
                StepField::Cost => order.holds(i64::try_from(step.cost).unwrap_or(i64::MAX), *wanted),
                _ => millionths(&self.value(step)).is_some_and(|found| order.holds(found, *wanted)),
            },
        }
    }

    fn value<'a>(&'a self, step: &StepFacts<'a>) -> Cow<'a, str> {
        let of = |read: &dyn Fn(&Value) -> String| step.arguments.map(read).unwrap_or_default();
        Cow::Borrowed(match &self.field {
            StepField::Args => return Cow::Owned(of(&argument_values)),
            StepField::Arg(name) => return Cow::Owned(of(&|all| argument(all, name).unwrap_or_default())),
            StepField::Cost => return Cow::Owned(step.cost.to_string()),
            StepField::Tool => step.tool,
            StepField::Verdict => step.verdict.map_or("", Decision::as_str),
            StepField::Rule => step.rule,
            StepField::Outcome => step.outcome,
            StepField::Error => step.error,
            StepField::Origin => "",
            StepField::Text => step.text,
            StepField::Model => step.model,
            StepField::Agent => step.agent,
            StepField::Folder => step.folder,
            StepField::Trace => step.trace,
        })
    }
}

/// An origin as it is written.
pub(crate) fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "user",
        Origin::Workspace => "workspace",
        Origin::Web => "web",
        Origin::Mcp => "mcp",
        Origin::Message => "message",
        Origin::Model => "model",
    }
}

/// A number as people write it, in millionths; `None` for what is none, or has more than six digits behind the point.
pub(crate) fn millionths(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && rest.is_empty() || !all(whole) || !all(rest) || rest.len() > 6 {
        return None;
    }
    let number: i64 = format!("{whole}{rest:0<6}").parse().ok()?;
    Some(if negative { -number } else { number })
}
