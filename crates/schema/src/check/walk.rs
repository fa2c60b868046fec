//! What a walk over a schema and a value carries: where it is, what it has seen, what it may still spend.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::document::{Document, count};
use crate::value::{short, shown};

/// As many violations are told.
const MANY: usize = 16;

/// It takes more steps than there are.
pub(super) struct TooMuch;

/// What a schema has looked at in one value, if the value fits it.
pub(super) type Fits<'a> = Result<Option<Seen<'a>>, TooMuch>;

/// Properties and items that a schema says something about, and fit: what `unevaluatedProperties` and `unevaluatedItems`
/// leave alone. Empty where nobody asks.
#[derive(Default)]
pub(super) struct Seen<'a> {
    pub(super) names: BTreeSet<&'a str>,
    pub(super) items: BTreeSet<usize>,
}

impl Seen<'_> {
    pub(super) fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.items.extend(other.items);
    }
}

/// Where in the value a rule was broken.
pub(super) enum Path<'a> {
    Whole,
    Name(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Whole => Ok(()),
            Path::Name(above, name) => write!(f, "{above}/{}", name.replace('~', "~0").replace('/', "~1")),
            Path::Item(above, index) => write!(f, "{above}/{index}"),
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

pub(super) struct Walk<'a> {
    pub(super) document: &'a Document,
    pub(super) left: usize,
    pub(super) told: Vec<String>,
}

impl Walk<'_> {
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Says what is wrong with a value.
    pub(super) fn tell(&mut self, at: &At<'_, '_>, what: &str) {
        if self.told.len() < MANY {
            let place = at.path.to_string();
            self.told.push(if place.is_empty() {
                short(what)
            } else {
                format!("at {}: {}", short(&place), short(what))
            });
        } else if self.told.len() == MANY {
            self.told.push("and more".into());
        }
    }

    /// Says it, and that the value does not fit.
    pub(super) fn broken(&mut self, at: &At<'_, '_>, what: &str) -> bool {
        self.tell(at, what);
        false
    }

    pub(super) fn matches(&mut self, pattern: &str, text: &str) -> Result<bool, TooMuch> {
        self.spend(1)?;
        self.document.matches(pattern, text).ok_or(TooMuch)
    }

    pub(super) fn at_least(&mut self, rule: Rule<'_>, at: &At<'_, '_>, found: usize, what: &str) -> bool {
        let least = count(rule.value).unwrap_or_default();
        found >= least || self.broken(at, &format!("{} has {found} {what}, fewer than {least}", shown(at.value)))
    }

    pub(super) fn at_most(&mut self, rule: Rule<'_>, at: &At<'_, '_>, found: usize, what: &str) -> bool {
        let most = count(rule.value).unwrap_or(usize::MAX);
        found <= most || self.broken(at, &format!("{} has {found} {what}, more than {most}", shown(at.value)))
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

pub(super) struct Property<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

pub(super) struct Item<'a> {
    pub(super) index: usize,
    pub(super) value: &'a Value,
}
