//! Configured places in JSON, whose values nobody is to see: found in arguments and outputs as they come.

use super::error::{BadForm, BadPath};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A place, such as `$.headers.authorization` or `$..password`.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// As it was written.
    path: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    /// Any number of levels may lie before it.
    deep: bool,
    to: To,
}

#[derive(Clone, Debug)]
enum To {
    /// A key, in any case of letters, as the names of headers are.
    Name(String),
    Index(usize),
    Any,
}

/// Longer paths are not read.
const MOST_STEPS: usize = 32;

impl Field {
    /// Reads a path: `$`, then `.name`, `['name']`, `[0]`, `[*]` or `.*`; `..` before a name leads to any depth. Errors: what is
    /// wrong with it, and where.
    pub fn new(path: &str) -> Result<Field, BadForm> {
        let bad = |problem| BadForm::Path { path: path.into(), problem };
        let mut rest = path.strip_prefix('$').ok_or_else(|| bad(BadPath::NoRoot))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let wrong = |wanted| Err(bad(BadPath::Expected { at: path.len() - rest.len(), wanted }));
            let deep = rest.starts_with("..");
            let after = rest.strip_prefix("..").or_else(|| rest.strip_prefix('.'));
            let (to, behind) = match after.unwrap_or(rest) {
                inside if inside.starts_with('[') && (deep || after.is_none()) => match bracketed(&inside[1..]) {
                    Some(step) => step,
                    None => return wrong("['name'], [0] or [*]"),
                },
                any if any.starts_with('*') && after.is_some() => (To::Any, &any[1..]),
                name if after.is_some() => {
                    let end = name.find(['.', '[']).unwrap_or(name.len());
                    if end == 0 {
                        return wrong("a name after the dot");
                    }
                    (To::Name(name[..end].into()), &name[end..])
                }
                _ => return wrong("'.', '[' or the end"),
            };
            steps.push(Step { deep, to });
            rest = behind;
        }
        match steps.len() {
            0 => Err(bad(BadPath::Everything)),
            1..=MOST_STEPS => Ok(Field { path: path.into(), steps }),
            _ => Err(bad(BadPath::TooLong(MOST_STEPS))),
        }
    }

    /// Whether it leads to the value inside of these levels. `anywhere`: from whatever level on.
    fn leads_to(&self, levels: &[Level], anywhere: bool) -> bool {
        let fits = |step: &Step, level: &Level| match (&step.to, level) {
            (To::Name(name), Level::Object { key, .. }) => name.eq_ignore_ascii_case(key),
            (To::Index(index), Level::Array { at }) => index == at,
            (To::Any, _) => true,
            (To::Name(_), Level::Array { .. }) | (To::Index(_), Level::Object { .. }) => false,
        };
        let (Some(last), Some(here)) = (self.steps.last(), levels.last()) else { return false };
        if !fits(last, here) {
            return false;
        }
        // Bit n: the first n steps have led as far as this level.
        let mut led: u64 = 1;
        for level in levels {
            let mut next = 0;
            for (at, step) in self.steps.iter().enumerate() {
                let is_led = led & (1 << at) != 0;
                if is_led && fits(step, level) {
                    next |= 1 << (at + 1);
                }
                if is_led && (step.deep || anywhere && at == 0) {
                    next |= 1 << at;
                }
            }
            led = next;
        }
        led & (1 << self.steps.len()) != 0
    }
}

fn bracketed(inside: &str) -> Option<(To, &str)> {
    if let Some(name) = inside.strip_prefix('\'') {
        let end = name.find('\'')?;
        return Some((To::Name(name[..end].into()), name[end..].strip_prefix("']")?));
    }
    let end = inside.find(']')?;
    let to = match &inside[..end] {
        "*" => To::Any,
        index => To::Index(index.parse().ok()?),
    };
    Some((to, &inside[end + 1..]))
}

/// What a value lies in.
#[derive(Debug)]
enum Level {
    Object { key: String, wants_key: bool },
    Array { at: usize },
}

/// Deeper levels are not told apart: no JSON that is read here has so many.
const MOST_LEVELS: usize = 256;
/// A key is kept so far.
const LONGEST_KEY: usize = 256;
/// So much of a value is kept, to see whether it is a handle.
const LONGEST_HANDLE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// Where a value, a key or a closing bracket may come.
    Gap,
    Key {
        escaped: bool,
    },
    Text {
        escaped: bool,
    },
    /// In a number or a word.
    Word,
}

/// A value that is being left out.
struct Hidden {
    field: usize,
    depth: usize,
    digest: Sha256,
    start: Vec<u8>,
    length: usize,
}

/// Copies JSON text that comes in pieces, with a handle for every value at one of the places. It refuses nothing: what is no
/// JSON is copied as well as may be.
pub(super) struct Cutter {
    fields: std::sync::Arc<[Field]>,
    key: [u8; 32],
    /// Whether a place is looked for at every level: in a call that is itself a part of a JSON text.
    anywhere: bool,
    levels: Vec<Level>,
    /// How many levels there are beyond those that are told apart.
    deeper: usize,
    at: At,
    hidden: Option<Hidden>,
}

impl Cutter {
    /// `key`: what handles are made with.
    pub fn new(fields: std::sync::Arc<[Field]>, key: [u8; 32], anywhere: bool) -> Cutter {
        Cutter { fields, key, anywhere, levels: Vec::new(), deeper: 0, at: At::Gap, hidden: None }
    }

    /// Takes a piece, gives what can be said of it.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = Vec::with_capacity(piece.len());
        for byte in piece.bytes() {
            self.take(byte, &mut out);
        }
        // Whole characters only were left out.
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The text ends here. A value that was under way ends too.
    pub fn finish(&mut self) -> String {
        let mut out = Vec::new();
        self.show(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.at == At::Word && (byte.is_ascii_whitespace() || b",:]}[{\"".contains(&byte)) {
            self.ends(out);
        }
        match self.at {
            At::Key { escaped: true } => self.at = At::Key { escaped: false },
            At::Text { escaped: true } => self.at = At::Text { escaped: false },
            At::Key { .. } | At::Text { .. } if byte == b'\\' => {
                let escaped = true;
                self.at = if matches!(self.at, At::Key { .. }) { At::Key { escaped } } else { At::Text { escaped } };
            }
            At::Key { .. } if byte == b'"' => {
                self.at = At::Gap;
                self.key_ends();
            }
            At::Text { .. } if byte == b'"' => {
                self.copy(byte, out);
                return self.ends(out);
            }
            At::Gap => return self.gap(byte, out),
            At::Key { .. } | At::Text { .. } | At::Word => {}
        }
        if let (At::Key { .. }, Some(Level::Object { key, .. })) = (self.at, self.levels.last_mut())
            && key.len() < LONGEST_KEY
        {
            // As it is written; bytes of longer characters are of no matter but for being different.
            key.push(char::from(byte));
        }
        self.copy(byte, out);
    }

    fn gap(&mut self, byte: u8, out: &mut Vec<u8>) {
        let wants_key = matches!(self.levels.last(), Some(Level::Object { wants_key: true, .. }));
        match byte {
            b',' => match self.levels.last_mut() {
                Some(Level::Object { wants_key, .. }) => *wants_key = true,
                Some(Level::Array { at }) => *at += 1,
                None => {}
            },
            b':' => {}
            byte if byte.is_ascii_whitespace() => {}
            b'"' if wants_key => {
                if let Some(Level::Object { key, .. }) = self.levels.last_mut() {
                    key.clear();
                }
                self.at = At::Key { escaped: false };
            }
            b'"' => {
                self.begins();
                self.at = At::Text { escaped: false };
            }
            b'{' | b'[' => {
                self.begins();
                match (byte, self.levels.len()) {
                    (_, MOST_LEVELS..) => self.deeper += 1,
                    (b'{', _) => self.levels.push(Level::Object { key: String::new(), wants_key: true }),
                    _ => self.levels.push(Level::Array { at: 0 }),
                }
            }
            b'}' | b']' => {
                match self.deeper.checked_sub(1) {
                    Some(fewer) => self.deeper = fewer,
                    None => drop(self.levels.pop()),
                }
                self.copy(byte, out);
                return self.ends(out);
            }
            _ => {
                self.begins();
                self.at = At::Word;
            }
        }
        self.copy(byte, out);
    }

    /// A key may be written with escapes, and still be the one that is meant.
    fn key_ends(&mut self) {
        let Some(Level::Object { key, wants_key }) = self.levels.last_mut() else { return };
        *wants_key = false;
        if key.contains('\\')
            && let Ok(plain) = serde_json::from_str::<String>(&format!("\"{key}\""))
        {
            *key = plain;
        }
    }

    fn begins(&mut self) {
        if self.hidden.is_some() || self.deeper > 0 {
            return;
        }
        let found = self.fields.iter().position(|field| field.leads_to(&self.levels, self.anywhere));
        self.hidden = found.map(|field| Hidden {
            field,
            depth: self.levels.len(),
            digest: Sha256::new_with_prefix(self.key),
            start: Vec::new(),
            length: 0,
        });
    }

    fn copy(&mut self, byte: u8, out: &mut Vec<u8>) {
        match &mut self.hidden {
            None => out.push(byte),
            Some(hidden) => {
                hidden.length += 1;
                hidden.digest.update([byte]);
                if hidden.start.len() < LONGEST_HANDLE {
                    hidden.start.push(byte);
                }
            }
        }
    }

    /// A value has ended.
    fn ends(&mut self, out: &mut Vec<u8>) {
        self.at = At::Gap;
        if self.deeper == 0 && self.hidden.as_ref().is_some_and(|hidden| hidden.depth == self.levels.len()) {
            self.show(out);
        }
    }

    /// Says the handle of the value that was left out.
    fn show(&mut self, out: &mut Vec<u8>) {
        let Some(hidden) = self.hidden.take() else { return };
        if hidden.length == hidden.start.len() && is_shown(&hidden.start) {
            return out.extend(hidden.start);
        }
        let mut digits = String::new();
        for byte in hidden.digest.finalize().iter().take(3) {
            let _ = write!(digits, "{byte:02x}");
        }
        let path = self.fields.get(hidden.field).map_or("", |field| field.path.as_str());
        let handle = format!("{{{{redacted:{path}-{digits}}}}}");
        out.extend(serde_json::to_string(&handle).unwrap_or_default().into_bytes());
    }
}

/// Whether a value says nothing that is not said already: a handle, perhaps after a word such as `Bearer`, or no value.
fn is_shown(json: &[u8]) -> bool {
    if matches!(json, b"null" | b"true" | b"false" | b"\"\"") {
        return true;
    }
    let Some(text) = std::str::from_utf8(json).ok().and_then(|json| json.strip_prefix('"')?.strip_suffix('"')) else {
        return false;
    };
    let (scheme, handle) = text.split_once(' ').unwrap_or(("", text));
    let inside = handle.strip_prefix("{{").and_then(|handle| handle.strip_suffix("}}"));
    scheme.len() <= 10
        && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
        && inside.is_some_and(|inside| {
            (inside.starts_with("secret:") || inside.starts_with("redacted:")) && !inside.contains(['{', '}'])
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(paths: &[&str], pieces: &[&str]) -> String {
        let fields: Vec<Field> = paths.iter().map(|path| Field::new(path).unwrap()).collect();
        let mut cutter = Cutter::new(fields.into(), [0; 32], false);
        let mut said: String = pieces.iter().map(|piece| cutter.push(piece)).collect();
        said.push_str(&cutter.finish());
        said
    }

    /// The handles' digits, which say nothing here, as a dot.
    fn without_digits(text: &str) -> String {
        let mut parts = text.split("}}");
        let first = parts.next().unwrap().to_string();
        let cut = |part: &str| {
            part.rsplit_once('-').filter(|_| part.contains("{{")).map_or(part.into(), |(part, _)| format!("{part}-·"))
        };
        let mut all = vec![first];
        all.extend(parts.map(String::from));
        let last = all.pop().unwrap();
        all.iter().map(|part| cut(part) + "}}").collect::<String>() + &last
    }

    #[test]
    fn values_at_the_places_are_left_out_however_the_text_is_cut() {
        let text = r#"{ "headers":{"Authorization" : "Basic \"x\" é","accept":"*/*"},"list":[{"password":1},{"pass\u0077ord":[1,{"a":"b"}]}], "n":-1.5e3 } {"password":{"x":1}}"#;
        let paths = ["$.headers.authorization", "$..password", "$.n"];
        let whole = cut(&paths, &[text]);
        let expected = r#"{ "headers":{"Authorization" : "{{redacted:$.headers.authorization-·}}","accept":"*/*"},"list":[{"password":"{{redacted:$..password-·}}"},{"pass\u0077ord":"{{redacted:$..password-·}}"}], "n":"{{redacted:$.n-·}}" } {"password":"{{redacted:$..password-·}}"}"#;
        assert_eq!(without_digits(&whole), expected);
        let chars: Vec<String> = text.chars().map(String::from).collect();
        for size in 1..12 {
            let pieces: Vec<String> = chars.chunks(size).map(|piece| piece.concat()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(cut(&paths, &pieces), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn the_same_value_has_the_same_handle_and_a_handle_stays() {
        let once = cut(&["$..k"], &[r#"[{"k":"one"},{"k":"two"},{"k":"one"}]"#]);
        let handles: Vec<&str> = once.split('"').filter(|part| part.starts_with("{{")).collect();
        assert!(handles.len() == 3 && handles[0] == handles[2] && handles[0] != handles[1], "{once}");
        assert_eq!(cut(&["$..k"], &[&once]), once);
        let said = r#"{"k":"Bearer {{secret:MY_KEY}}","a":{"k":null},"b":{"k":""}}"#;
        assert_eq!(cut(&["$..k"], &[said]), said);
    }

    #[test]
    fn what_ends_within_a_value_or_is_no_json_shows_no_value_and_loses_nothing_else() {
        assert_eq!(without_digits(&cut(&["$.k"], &[r#"{"a":1,"k":"secr"#])), r#"{"a":1,"k":"{{redacted:$.k-·}}""#);
        for text in ["no json: {}]]}", "[1,2", "}{\"a\":", "\"\\", ""] {
            assert_eq!(cut(&["$.k", "$..k[0]"], &[text]), text);
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(cut(&["$..k"], &[&deep]), deep);
    }

    #[test]
    fn steps_lead_where_they_say() {
        let text = r#"{"a":[{"b":10},{"b":11}],"c d":{"e":[12,13]}}"#;
        let hides = |path: &str| {
            let cut = cut(&[path], &[text]);
            ["10", "11", "12", "13"].into_iter().filter(|value| !cut.contains(*value)).collect::<Vec<_>>().join(" ")
        };
        let paths = ["$.a[1].b", "$.a[*].b", "$['c d'].e[0]", "$.*.e", "$..e[1]", "$.b", "$..['b']", "$.a", "$..a..b"];
        let hidden = ["11", "10 11", "12", "12 13", "13", "", "10 11", "10 11", "10 11"];
        assert_eq!(paths.map(hides), hidden);
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_place() {
        let problem = |path: &str| Field::new(path).unwrap_err().to_string();
        assert_eq!(problem("headers"), "the path \"headers\" must begin with '$'");
        assert_eq!(problem("$"), "the path \"$\" names everything; name a value, such as $.password");
        assert_eq!(problem("$.a."), "the path \"$.a.\", byte 3: expected a name after the dot");
        assert_eq!(problem("$.a[x]"), "the path \"$.a[x]\", byte 3: expected ['name'], [0] or [*]");
        assert_eq!(problem("$a"), "the path \"$a\", byte 1: expected '.', '[' or the end");
    }
}
