//! Values as programs print them in one line: a flow of YAML, or a literal of Python (`{'name': "Ann's", 'rooms': [1, None]}`).

use serde_json::{Map, Value};
use std::iter::Peekable;
use std::str::Chars;

/// Nested deeper, it is a text.
const DEEPEST: usize = 60;

/// Reads an object or an array. `None`: it is a text.
pub(super) fn parse(text: &str) -> Option<Value> {
    let mut rest = text.trim().chars().peekable();
    rest.peek().filter(|first| matches!(first, '{' | '['))?;
    let value = value(&mut rest, 0)?;
    rest.next().is_none().then_some(value)
}

fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|letter| letter.is_whitespace()).is_some() {}
}

fn value(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    skip_blanks(rest);
    match *rest.peek()? {
        '{' => object(rest, depth),
        '[' => array(rest, depth),
        '\'' | '"' => quoted(rest).map(Value::String),
        _ => {
            let mut word = String::new();
            while let Some(letter) = rest.next_if(|letter| !",:]}[{()'\"\n".contains(*letter)) {
                word.push(letter);
            }
            bare(word.trim())
        }
    }
}

fn object(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<Value> {
    rest.next();
    let mut map = Map::new();
    loop {
        skip_blanks(rest);
        if rest.next_if_eq(&'}').is_some() {
            return Some(Value::Object(map));
        }
        let name = match value(rest, depth + 1)? {
            Value::String(name) => name,
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        skip_blanks(rest);
        rest.next_if_eq(&':')?;
        // A name that comes twice is one too many: which of the values is meant cannot be told.
        if map.insert(name, value(rest, depth + 1)?).is_some() {
            return None;
        }
        separate(rest, '}')?;
    }
}

fn array(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Option<Value> {
    rest.next();
    let mut items = Vec::new();
    loop {
        skip_blanks(rest);
        if rest.next_if_eq(&']').is_some() {
            return Some(Value::Array(items));
        }
        items.push(value(rest, depth + 1)?);
        separate(rest, ']')?;
    }
}

/// Takes the comma after an entry; the last has none.
fn separate(rest: &mut Peekable<Chars<'_>>, end: char) -> Option<()> {
    skip_blanks(rest);
    match rest.peek() {
        Some(',') => rest.next().map(drop),
        Some(letter) if *letter == end => Some(()),
        _ => None,
    }
}

/// A quoted text. A quote within it is doubled or has a backslash before it.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let quote = rest.next()?;
    let mut text = String::new();
    loop {
        match rest.next()? {
            '\\' => text.push(escaped(rest)?),
            letter if letter == quote => match quote == '\'' && rest.next_if_eq(&quote).is_some() {
                true => text.push(quote),
                false => return Some(text),
            },
            letter => text.push(letter),
        }
    }
}

/// The letter after a backslash. An unknown escape makes the whole a text.
pub(super) fn escaped(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    let digits = match rest.next()? {
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        '0' => return Some('\0'),
        letter @ ('\\' | '"' | '\'' | '/' | ' ') => return Some(letter),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let hex: String = rest.by_ref().take(digits).collect();
    u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == digits).and_then(char::from_u32)
}

/// A word without quotes: a number, a truth value or nothing.
pub(super) fn bare(word: &str) -> Option<Value> {
    match word {
        "null" | "None" | "~" => Some(Value::Null),
        "true" | "True" => Some(Value::Bool(true)),
        "false" | "False" => Some(Value::Bool(false)),
        _ => serde_json::from_str::<serde_json::Number>(word).ok().map(Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_are_read_and_anything_else_is_a_text() {
        for (text, value) in [
            ("{'a': 'b', \"c\": [1, 2.5, None, True]}", json!({"a": "b", "c": [1, 2.5, null, true]})),
            ("['it''s', \"Ann's\", 'a\\n\\x41']", json!(["it's", "Ann's", "a\nA"])),
            ("{}", json!({})),
            ("[1,]", json!([1])),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for text in
            ["", "1", "'a'", "{'a': b}", "{'a': 1, 'a': 2}", "['a", "[1] 2", "{1 2}", "[datetime(1)]", "['\\q']", &deep]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
