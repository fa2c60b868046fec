//! What a walk over a schema and a value carries: where it is, what it has seen, what it may still spend.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::Violation;
use crate::document::{Document, count};
use crate::value::{cost_of_text, same_leaf, short, shown};

/// Steps that it takes to write one of them.
const COST_OF_TELLING: usize = 200;

/// It takes more steps than there are.
pub(super) struct TooMuch;

/// What a schema has looked at in one value, if the value fits it.
pub(super) type Fits<'a> = Result<Option<Seen<'a>>, TooMuch>;

/// The parts of a value that a schema says something about, and fit: what `unevaluatedProperties` and `unevaluatedItems`
/// leave alone. Empty where nobody asks.
pub(super) type Seen<'a> = BTreeSet<Key<'a>>;

/// What a part of a value is called in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Name(&'a str),
    Index(usize),
}

impl Key<'_> {
    /// Steps that it takes to put it among others, to which it is compared.
    pub(super) fn cost(self) -> usize {
        match self {
            Key::Name(name) => cost_of_text(name),
            Key::Index(_) => 1,
        }
    }
}

/// Where in the value a rule was broken.
pub(super) enum Path<'a> {
    Whole,
    Part(&'a Path<'a>, Key<'a>),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Whole => Ok(()),
            Path::Part(above, Key::Name(name)) => {
                write!(f, "{above}/{}", short(name).replace('~', "~0").replace('/', "~1"))
            }
            Path::Part(above, Key::Index(index)) => write!(f, "{above}/{index}"),
        }
    }
}

/// A value at its place.
pub(super) struct At<'a, 'p> {
    pub(super) value: &'a Value,
    pub(super) path: &'p Path<'p>,
    /// How many schemas lie around the one that is asked.
    pub(super) deep: usize,
}

impl<'a, 'p> At<'a, 'p> {
    /// The same value, one schema deeper.
    pub(super) fn same(&self) -> At<'a, 'p> {
        At { value: self.value, path: self.path, deep: self.deep + 1 }
    }

    pub(super) fn inner<'q>(&self, value: &'a Value, path: &'q Path<'q>) -> At<'a, 'q> {
        At { value, path, deep: self.deep + 1 }
    }
}

/// A walk. It tells what is wrong, or only whether something is: most of what is tried (the forms of `anyOf`) is never told.
pub(super) struct Walk<'a> {
    pub(super) document: &'a Document,
    pub(super) left: usize,
    /// How many rules were found to be broken.
    pub(super) broken: usize,
    /// What is told of them; `None` where nobody reads it.
    pub(super) told: Option<Vec<Violation>>,
    /// So many are told.
    pub(super) most: usize,
}

/// A property of an object that is not as it must be.
#[derive(Clone, Copy)]
pub(super) enum Property<'a> {
    /// It is there and must not be.
    TooMany(&'a str),
    /// It is not there and must be.
    Missing(&'a str),
}

impl<'a> Walk<'a> {
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Adds what a schema has seen to what others have. Every part counts: schemas in each other hand it on and on.
    pub(super) fn add(&mut self, seen: &mut Seen<'a>, more: Seen<'a>) -> Result<(), TooMuch> {
        self.spend(more.iter().map(|key| key.cost()).sum())?;
        seen.extend(more);
        Ok(())
    }

    /// Notes that a value breaks a rule, and tells it with what `what` says. The value does not fit, so the answer is
    /// `false`.
    pub(super) fn broken(&mut self, at: &At<'_, '_>, what: impl FnOnce() -> String) -> bool {
        self.broken_at(at, None, what)
    }

    /// The same of a property that is too many in the value, or missing.
    pub(super) fn broken_by(&mut self, at: &At<'_, '_>, property: Property<'_>, what: impl FnOnce() -> String) -> bool {
        self.broken_at(at, Some(property), what)
    }

    fn broken_at(&mut self, at: &At<'_, '_>, property: Option<Property<'_>>, what: impl FnOnce() -> String) -> bool {
        self.broken += 1;
        let Some(told) = &mut self.told else { return false };
        if told.len() < self.most {
            let place = at.path.to_string();
            let of_name = |name| Path::Part(at.path, Key::Name(name)).to_string();
            let (field, is_missing) = match property {
                None => (place.clone(), false),
                Some(Property::TooMany(name)) => (of_name(name), false),
                Some(Property::Missing(name)) => (of_name(name), true),
            };
            told.push(Violation { field, problem: short(&what()), place, is_missing });
            self.left = self.left.saturating_sub(COST_OF_TELLING);
        } else if told.len() == self.most {
            told.push(Violation::of_whole("and more"));
        }
        false
    }

    /// Whether one more thing that is wrong would be told.
    pub(super) fn tells(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.len() < self.most)
    }

    pub(super) fn matches(&mut self, pattern: &str, text: &str) -> Result<bool, TooMuch> {
        let pattern = self.document.pattern(pattern).ok_or(TooMuch)?;
        pattern.is_match(text, &mut self.left).ok_or(TooMuch)
    }

    /// Whether two values are the same, at a cost that grows with what they have in common.
    pub(super) fn same(&mut self, a: &Value, b: &Value) -> Result<bool, TooMuch> {
        self.spend(1)?;
        match (a, b) {
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b) {
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
                for (name, a) in a {
                    self.spend(cost_of_text(name))?;
                    let Some(b) = b.get(name) else { return Ok(false) };
                    if !self.same(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::String(a), Value::String(b)) => {
                let long = a.len() == b.len();
                self.spend(if long { cost_of_text(a) } else { 0 })?;
                Ok(a == b)
            }
            _ => Ok(same_leaf(a, b)),
        }
    }

    pub(super) fn at_least(&mut self, rule: Rule<'_>, at: &At<'_, '_>, found: usize, what: &str) -> bool {
        let least = count(rule.value).unwrap_or_default();
        found >= least || self.broken(at, || format!("{} has {found} {what}, fewer than {least}", shown(at.value)))
    }

    pub(super) fn at_most(&mut self, rule: Rule<'_>, at: &At<'_, '_>, found: usize, what: &str) -> bool {
        let most = count(rule.value).unwrap_or(usize::MAX);
        found <= most || self.broken(at, || format!("{} has {found} {what}, more than {most}", shown(at.value)))
    }
}

/// A keyword of a schema, what stands under it, and what stands beside it.
#[derive(Clone, Copy)]
pub(super) struct Rule<'a> {
    pub(super) keyword: &'a str,
    pub(super) value: &'a Value,
    pub(super) beside: &'a Map<String, Value>,
}

impl<'a> Rule<'a> {
    pub(super) fn schemas(self) -> std::slice::Iter<'a, Value> {
        self.value.as_array().map_or(&[][..], Vec::as_slice).iter()
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        self.schemas().filter_map(Value::as_str)
    }

    pub(super) fn named(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.value.as_object().into_iter().flatten()
    }
}

/// A part of a value.
pub(super) struct Part<'a> {
    pub(super) key: Key<'a>,
    pub(super) value: &'a Value,
}
