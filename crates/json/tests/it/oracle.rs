//! What `serde_json` makes of a text, with numbers of any size, and the news that follow from it.

use std::fmt;

use mainpath_json::Paths;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::support::{Told, cut, read, shown};

/// A step of a path, read without the crate's own reader of paths.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Name(&'static str),
    Index(usize),
    Any,
}

/// A JSON text as `serde_json` reads it, or `None` if it refuses.
pub(crate) fn tree(text: &[u8]) -> Option<Tree> {
    let raw: &RawValue = serde_json::from_slice(text).ok()?;
    Tree::new(raw, 127)
}

/// A value with its text. Every part was read by `serde_json`; only the recursion is ours, because its own refuses numbers
/// that no `f64` holds.
#[derive(Debug)]
pub(crate) struct Tree {
    raw: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Plain,
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    fn new(raw: &RawValue, deepest: usize) -> Option<Tree> {
        let json = raw.get();
        let inner = |raw| Tree::new(raw, deepest.checked_sub(1)?);
        let kind = match json.as_bytes()[0] {
            b'[' if deepest > 0 => {
                let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
                Kind::Array(elements.into_iter().map(inner).collect::<Option<_>>()?)
            }
            b'{' if deepest > 0 => {
                let members: Members<'_> = serde_json::from_str(json).ok()?;
                let read = members.0.into_iter().map(|(key, raw)| Some((key, inner(raw)?)));
                Kind::Object(read.collect::<Option<_>>()?)
            }
            b'[' | b'{' => return None,
            b'"' => Kind::Text(serde_json::from_str(json).ok()?),
            _ => {
                serde_json::from_str::<IgnoredAny>(json).ok()?;
                Kind::Plain
            }
        };
        Some(Tree { raw: json.into(), kind })
    }

    /// How many members all its objects have, keys that come twice counted twice.
    pub(crate) fn members(&self) -> usize {
        match &self.kind {
            Kind::Plain | Kind::Text(_) => 0,
            Kind::Array(elements) => elements.iter().map(Tree::members).sum(),
            Kind::Object(members) => members.iter().map(|(_, value)| 1 + value.members()).sum(),
        }
    }

    /// The news for these paths, in order.
    pub(crate) fn news(&self, paths: &[Vec<Step>]) -> Vec<Told> {
        let mut told = Vec::new();
        let led: Vec<(usize, &[Step])> = paths.iter().map(Vec::as_slice).enumerate().collect();
        self.tell("$", &led, &mut told);
        told
    }

    fn tell(&self, at: &str, led: &[(usize, &[Step])], told: &mut Vec<Told>) {
        let inside = |leads: &dyn Fn(&Step) -> bool| -> Vec<(usize, &[Step])> {
            let split = led.iter().filter_map(|(of, steps)| steps.split_first().map(|(step, rest)| (*of, step, rest)));
            split.filter(|(_, step, _)| leads(step)).map(|(of, _, rest)| (of, rest)).collect()
        };
        let ended: Vec<usize> = led.iter().filter(|(_, steps)| steps.is_empty()).map(|(of, _)| *of).collect();
        let mut text = None;
        match &self.kind {
            Kind::Plain => {}
            Kind::Text(says) => {
                if !says.is_empty() {
                    told.extend(ended.iter().map(|of| Told::Text(*of, at.into(), says.clone())));
                }
                text = Some(says.clone());
            }
            Kind::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let leads = |step: &Step| match step {
                        Step::Any => true,
                        Step::Index(wanted) => *wanted == index,
                        Step::Name(_) => false,
                    };
                    element.tell(&format!("{at}[{index}]"), &inside(&leads), told);
                }
            }
            Kind::Object(members) => {
                for (key, value) in members {
                    let leads = |step: &Step| matches!(step, Step::Name(name) if name == key);
                    value.tell(&format!("{at}{}", named(key)), &inside(&leads), told);
                }
            }
        }
        told.extend(ended.iter().map(|of| Told::Value(*of, at.into(), self.raw.clone(), text.clone())));
    }
}

fn named(key: &str) -> String {
    if !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
        format!(".{key}")
    } else {
        format!("['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"))
    }
}

fn written(paths: &[Vec<Step>]) -> Vec<String> {
    let step = |step: &Step| match step {
        Step::Name(name) => named(name),
        Step::Index(index) => format!("[{index}]"),
        Step::Any => "[*]".into(),
    };
    paths.iter().map(|steps| format!("${}", steps.iter().map(step).collect::<String>())).collect()
}

/// Reads the text whole, in pieces that begin at these bytes too, and beside `serde_json`, which must not differ.
pub(crate) fn compare(text: &[u8], paths: &[Vec<Step>], cuts: &[usize]) -> Option<Tree> {
    let compiled = Paths::new(written(paths)).unwrap();
    let outcome = read(&compiled, &[text]);
    assert_eq!(read(&compiled, &cut(text, cuts)), outcome, "in pieces: {}", shown(text));
    let oracle = tree(text);
    assert_eq!(outcome.error.is_none(), oracle.is_some(), "{:?}: {}", outcome.error, shown(text));
    if let Some(tree) = &oracle {
        assert_eq!(outcome.told, tree.news(paths), "{}", shown(text));
        let end = text.trim_ascii_end().len();
        assert_eq!(outcome.value_end, Some(end), "{}", shown(text));
    }
    for told in &outcome.told {
        if let Told::Value(_, _, json, says) = told {
            assert!(tree(json.as_bytes()).is_some(), "a whole value is JSON: {json}");
            assert_eq!(serde_json::from_str::<String>(json).ok(), *says);
        }
    }
    oracle
}

/// An object's members in their order, keys that come twice included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reader).map(Members)
    }
}
