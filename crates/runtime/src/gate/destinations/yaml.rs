//! A result in YAML, as programs write it: maps and lists in blocks. Whatever a program would have quoted and is not, whatever is no data
//! (anchors, tags, comments) and whatever comes twice makes the whole a text.

use super::flow::{self, bare, escaped};
use super::forms::is_text;
use serde_json::{Map, Value};

/// Nested deeper, it is a text.
const DEEPEST: usize = 60;

/// Reads a list, or a map with two names or more: one name before a colon is how people write.
pub(super) fn parse(text: &str) -> Option<Value> {
    let body = text.strip_prefix("---\n").unwrap_or(text).trim_end();
    let mut lines = Vec::new();
    for line in body.lines() {
        let content = line.trim_start_matches(' ');
        lines.push((line.len() - content.len(), content.trim_end()));
    }
    let mut reader = Reader { lines, at: 0 };
    let (indent, first) = reader.peek()?;
    let value = match is_item(first) {
        true => reader.list(indent, 0)?,
        false => {
            split_name(first)?;
            reader.map(indent, 0)?
        }
    };
    let enough = value.as_object().is_none_or(|map| map.len() > 1);
    (enough && reader.peek().is_none()).then_some(value)
}

struct Reader<'a> {
    /// Indent and content of each line.
    lines: Vec<(usize, &'a str)>,
    at: usize,
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

impl<'a> Reader<'a> {
    /// The next line that is not blank.
    fn peek(&mut self) -> Option<(usize, &'a str)> {
        while self.lines.get(self.at).is_some_and(|(_, content)| content.is_empty()) {
            self.at += 1;
        }
        self.lines.get(self.at).copied()
    }

    fn block(&mut self, depth: usize) -> Option<Value> {
        let (indent, content) = self.peek().filter(|_| depth < DEEPEST)?;
        match (is_item(content), split_name(content)) {
            (true, _) => self.list(indent, depth),
            (false, Some(_)) => self.map(indent, depth),
            (false, None) => self.scalar(content, indent.checked_sub(1)?),
        }
    }

    fn list(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        while let Some((_, content)) = self.peek().filter(|(at, content)| *at == indent && is_item(content)) {
            let inner = content[1..].trim_start_matches(' ');
            if inner.is_empty() {
                self.at += 1;
                let deeper = self.peek().is_some_and(|(at, _)| at > indent);
                items.push(if deeper { self.block(depth + 1)? } else { Value::Null });
                continue;
            }
            // The rest of the line is a block of its own; its column is its indentation.
            self.lines[self.at] = (indent + content.len() - inner.len(), inner);
            items.push(match is_item(inner) || split_name(inner).is_some() {
                true => self.block(depth + 1)?,
                false => self.scalar(inner, indent)?,
            });
        }
        Some(Value::Array(items))
    }

    fn map(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        while let Some((_, content)) = self.peek().filter(|(at, content)| *at == indent && !is_item(content)) {
            let (name, rest) = split_name(content)?;
            if rest.is_empty() {
                self.at += 1;
                let value = match self.peek() {
                    Some((at, _)) if at > indent => self.block(depth + 1)?,
                    Some((at, content)) if at == indent && is_item(content) => self.list(indent, depth + 1)?,
                    _ => Value::Null,
                };
                map.insert(name, value).is_none().then_some(())?;
                continue;
            }
            let is_plain = !rest.starts_with(['\'', '"', '|', '>', '[', '{']);
            let value = self.scalar(rest, indent)?;
            let is_text = depth == 0 && is_plain && is_text(&name);
            map.insert(name, value).is_none().then_some(())?;
            if is_text && self.peek().is_some() {
                // Lines like these may be no YAML, and what follows the words of whoever wrote the text.
                return None;
            }
        }
        Some(Value::Object(map))
    }

    /// A value that starts with `first` in this line; lines that are indented further than `outer` continue it.
    fn scalar(&mut self, first: &'a str, outer: usize) -> Option<Value> {
        self.at += 1;
        match first.chars().next()? {
            quote @ ('\'' | '"') => self.quoted(quote, first),
            '|' | '>' => {
                first[1..].bytes().all(|byte| b"+-123456789".contains(&byte)).then_some(())?;
                Some(Value::String(self.continued(outer).join("\n")))
            }
            '[' | '{' => flow::parse(first),
            '&' | '*' | '!' | '%' | '@' | '`' | '#' | '?' => None,
            _ => {
                let mut words = vec![first];
                words.extend(self.continued(outer));
                let plain = |line: &&str| !line.contains(": ") && !line.contains(" #") && !line.ends_with(':');
                words.iter().all(plain).then_some(())?;
                match &words[..] {
                    [word] => Some(bare(word).unwrap_or_else(|| Value::String((*word).into()))),
                    words => Some(Value::String(words.join(" "))),
                }
            }
        }
    }

    /// The lines that are indented further, and the blank ones before them.
    fn continued(&mut self, outer: usize) -> Vec<&'a str> {
        let mut found = Vec::new();
        while self.peek().is_some_and(|(at, _)| at > outer) {
            found.push(self.lines[self.at].1);
            self.at += 1;
        }
        found
    }

    fn quoted(&mut self, quote: char, first: &str) -> Option<Value> {
        let mut source = first.to_string();
        loop {
            if let Some(text) = unquoted(quote, &source) {
                return text.map(Value::String);
            }
            let (_, next) = self.lines.get(self.at)?;
            self.at += 1;
            match (source.strip_suffix('\\').filter(|_| quote == '"'), next.is_empty()) {
                (Some(joined), _) => source = format!("{joined}{next}"),
                (None, true) => source.push('\n'),
                (None, false) => source = format!("{source} {next}"),
            }
        }
    }
}

/// A quoted text without its quotes. `None`: it does not end here; `Some(None)`: something follows it, or it cannot be read.
fn unquoted(quote: char, source: &str) -> Option<Option<String>> {
    let mut letters = source.chars().peekable();
    letters.next();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quote == '"' => {
                letters.peek()?;
                match escaped(&mut letters) {
                    Some(letter) => text.push(letter),
                    None => return Some(None),
                }
            }
            letter if letter == quote => match quote == '\'' && letters.next_if_eq(&quote).is_some() {
                true => text.push(quote),
                false => return Some(letters.all(char::is_whitespace).then_some(text)),
            },
            letter => text.push(letter),
        }
    }
    None
}

/// The name before a colon, and what follows it in the line.
fn split_name(content: &str) -> Option<(String, &str)> {
    if let Some(quote @ ('\'' | '"')) = content.chars().next() {
        let end = content[1..].find(quote)? + 1;
        let rest = content[end + 1..].strip_prefix(':')?;
        return (rest.is_empty() || rest.starts_with(' ')).then(|| (content[1..end].to_string(), rest.trim()));
    }
    let (name, rest) = match content.split_once(": ") {
        Some((name, rest)) => (name, rest.trim()),
        None => (content.strip_suffix(':')?, ""),
    };
    let starts = name.chars().next()?;
    let fits = (starts.is_alphanumeric() || starts == '_') && name.chars().count() <= 80 && !name.contains(['\'', '"']);
    fits.then(|| (name.to_string(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_and_maps_are_read_as_programs_write_them() {
        for (text, value) in [
            ("- a\n- b-1\n- 3\n", json!(["a", "b-1", 3])),
            ("a: 1\nb:\n- x\n- y: z\n  w: null\n", json!({"a": 1, "b": ["x", {"y": "z", "w": null}]})),
            ("a: [1, 'x']\nb: {}\nc:\nd: ~\n", json!({"a": [1, "x"], "b": {}, "c": null, "d": null})),
            (
                "---\na:\n  b: 'it''s'\n  c: \"x\\ny\"\nd: 2024-05-15 16:30:00\n",
                json!({"a": {"b": "it's", "c": "x\ny"}, "d": "2024-05-15 16:30:00"}),
            ),
            (
                "- a: words that\n    continue\n  b: 'one\n\n    two'\n",
                json!([{"a": "words that continue", "b": "one\n two"}]),
            ),
            ("- a: |-\n    b: c\n\n    - d\n  e: f\n", json!([{"a": "b: c\n- d", "e": "f"}])),
            ("- a: \"x\\\n    \\ y\"\n", json!([{"a": "x y"}])),
            ("- - a\n  - b\n-\n  c: d\n", json!([["a", "b"], {"c": "d"}])),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_no_program_would_write_is_a_text() {
        for text in [
            "",
            "Hello.",
            "Hello: world",
            "a: b\na: c",
            "a: b\nHello, you",
            "- a\nb",
            "- a: b: c",
            "- a: b\n    c: d",
            "a: &x b\nc: *x",
            "a: !!python/object b\nc: d",
            "a: b # no\nc: d",
            "a: 'b\nc: d",
            "a: 'b' c\nd: e",
            "a: \"\\q\"\nb: c",
            "\ta: b\nc: d",
            "a: b\n   - c\n",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
