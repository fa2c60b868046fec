//! The paths that say which values of a text somebody wants to hear of.

use std::fmt;
use std::sync::Arc;

use crate::grammar::Level;

/// Subscriptions to places in a JSON text, known by their index here. To clone them costs nothing.
///
/// A path begins with `$`, the whole text. `.name` and `['name']` go to the value of a key (quoted, a name may be any;
/// `\'` and `\\` stand for themselves), `[0]` to an element, `[*]` to every element of an array.
#[derive(Clone, Debug)]
pub struct Paths(Arc<[Box<[Step]>]>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Name(Box<str>),
    Index(usize),
    Any,
}

/// Text is not a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// The text.
    pub path: String,
    /// How many of its bytes precede what is wrong.
    pub offset: usize,
    /// What belongs there, in words.
    pub expected: &'static str,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {:?}, byte {}: expected {}", self.path, self.offset, self.expected)
    }
}

impl std::error::Error for PathError {}

impl Paths {
    /// Reads the paths; the first is subscription 0. The same path may come twice.
    ///
    /// # Errors
    /// [`PathError`] for the first that is not a path.
    pub fn new<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Paths, PathError> {
        paths.into_iter().map(|path| parse(path.as_ref())).collect::<Result<Arc<[_]>, _>>().map(Paths)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes of the longest name in any path.
    pub(crate) fn longest_name(&self) -> usize {
        let steps = self.0.iter().flatten();
        let lengths = steps.map(|step| match step {
            Step::Name(name) => name.len(),
            Step::Index(_) | Step::Any => 0,
        });
        lengths.max().unwrap_or(0)
    }

    pub(crate) fn steps(&self, subscription: usize) -> &[Step] {
        &self.0[subscription]
    }
}

impl Step {
    /// Whether it leads to the value that comes next in this array, or in this object under this key.
    pub(crate) fn leads_to(&self, level: Level, key: &str) -> bool {
        match (self, level) {
            (Step::Name(name), Level::Object) => **name == *key,
            (Step::Index(index), Level::Array(at)) => *index == at,
            (Step::Any, Level::Array(_)) => true,
            (Step::Name(_), Level::Array(_)) | (Step::Index(_) | Step::Any, Level::Object) => false,
        }
    }
}

fn parse(path: &str) -> Result<Box<[Step]>, PathError> {
    let wrong = |rest: &str, expected| PathError { path: path.into(), offset: path.len() - rest.len(), expected };
    let mut rest = path.strip_prefix('$').ok_or_else(|| wrong(path, "'$'"))?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(|c: char| !is_plain(c)).unwrap_or(name.len());
            if end == 0 {
                return Err(wrong(name, "a name of letters, digits, '_' and '-'; others are written ['…']"));
            }
            steps.push(Step::Name(name[..end].into()));
            rest = &name[end..];
        } else if let Some(inside) = rest.strip_prefix('[') {
            let (step, after) = bracketed(inside).map_err(|(at, expected)| wrong(at, expected))?;
            rest = after.strip_prefix(']').ok_or_else(|| wrong(after, "']'"))?;
            steps.push(step);
        } else {
            return Err(wrong(rest, "'.', '[' or the end"));
        }
    }
    Ok(steps.into())
}

/// What stands between brackets, and what follows it; or where and what should stand instead.
fn bracketed(inside: &str) -> Result<(Step, &str), (&str, &'static str)> {
    if let Some(after) = inside.strip_prefix('*') {
        return Ok((Step::Any, after));
    }
    if let Some(quoted) = inside.strip_prefix('\'') {
        let mut name = String::new();
        let mut characters = quoted.chars();
        loop {
            match characters.next() {
                Some('\'') => return Ok((Step::Name(name.into()), characters.as_str())),
                Some('\\') => match characters.next() {
                    Some(escaped @ ('\'' | '\\')) => name.push(escaped),
                    _ => return Err((inside, "a name in which a backslash stands before ' or \\ only")),
                },
                Some(character) => name.push(character),
                None => return Err((inside, "a name that ends with '")),
            }
        }
    }
    let end = inside.find(|c: char| !c.is_ascii_digit()).unwrap_or(inside.len());
    let index = inside[..end].parse().map_err(|_| (inside, "an index, '*' or a name in single quotes"))?;
    Ok((Step::Index(index), &inside[end..]))
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

/// Where a value is: a subscription's path with the actual index for every `[*]`. Shown as such a path.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    pub(crate) steps: &'a [Step],
    /// What the value lies in, outermost first; at least as many as steps.
    pub(crate) levels: &'a [Level],
}

impl Path<'_> {
    /// The actual index for every `[*]` of the subscription, in order.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        let steps = self.steps.iter().zip(self.levels);
        steps.filter_map(|(step, level)| match (step, level) {
            (Step::Any, Level::Array(index)) => Some(*index),
            _ => None,
        })
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for (step, level) in self.steps.iter().zip(self.levels) {
            match (step, level) {
                (_, Level::Array(index)) => write!(f, "[{index}]")?,
                (Step::Name(name), _) if !name.is_empty() && name.chars().all(is_plain) => write!(f, ".{name}")?,
                (Step::Name(name), _) => write!(f, "['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))?,
                (Step::Index(_) | Step::Any, Level::Object) => {}
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
