//! What JSON Schema says of values: when two are the same, of what type one is, how numbers compare.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Whether two values without parts are the same: numbers by what they are worth (`1` is `1.0`).
pub(crate) fn same_leaf(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(_) | Value::Object(_), _) => false,
        _ => a == b,
    }
}

/// Steps that it takes to go through a text.
pub(crate) fn cost_of_text(text: &str) -> usize {
    1 + text.len() / 64
}

/// A text that two values share when, and only when, they are the same.
pub(crate) fn key(value: &Value) -> String {
    match value {
        Value::Number(number) => match whole(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        },
        Value::Array(items) => format!("[{}]", items.iter().map(key).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let mut parts: Vec<String> =
                map.iter().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), key(value))).collect();
            parts.sort_unstable();
            format!("{{{}}}", parts.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

/// Steps that it takes to go through a value: its parts, names and texts.
pub(crate) fn cost_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(cost_of).sum::<usize>(),
        Value::Object(map) => 1 + map.iter().map(|(name, value)| cost_of_text(name) + cost_of(value)).sum::<usize>(),
        Value::String(text) => cost_of_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// The types that a schema can name.
pub(crate) const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

pub(crate) fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Object(_) => name == "object",
        Value::Array(_) => name == "array",
        Value::String(_) => name == "string",
        Value::Number(number) => name == "number" || name == "integer" && is_whole(number),
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || float(number).fract() == 0.0
}

/// The number where it is whole and within 128 bits.
pub(crate) fn whole(number: &Number) -> Option<i128> {
    /// Every whole `f64` below is exact, and so is what it becomes.
    const EXACT: f64 = 1e38;
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Some(i128::from(number)),
        (_, Some(number)) => Some(i128::from(number)),
        _ => {
            number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT).map(|number| number as i128)
        }
    }
}

pub(crate) fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // One of them has a fraction, so what rounding takes from the other cannot make them equal below 2^53, and above
        // there are no fractions.
        _ => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Whether a number is a multiple of another one, in decimal as both are written.
pub(crate) fn is_multiple(number: &Number, of: &Number) -> bool {
    let aligned = decimal(number).zip(decimal(of)).and_then(|(number, of)| {
        let least = number.power.min(of.power);
        number.digits_at(least).zip(of.digits_at(least))
    });
    match aligned {
        Some((_, 0)) => false,
        Some((number, of)) => number % of == 0,
        // Beyond 128 bits.
        None => float(number) % float(of) == 0.0,
    }
}

/// `digits × 10^power`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    digits: i128,
    power: i32,
}

impl Decimal {
    fn digits_at(self, power: i32) -> Option<i128> {
        let more = u32::try_from(self.power.checked_sub(power)?).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(more)?)
    }
}

fn decimal(number: &Number) -> Option<Decimal> {
    let text = number.to_string();
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let power = power.parse::<i32>().ok()?.checked_sub(i32::try_from(after.len()).ok()?)?;
    Some(Decimal { digits: format!("{before}{after}").parse().ok()?, power })
}

/// As many characters of a text are told.
const SHOWN: usize = 300;

/// A text cut to what one line of a message takes.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.into(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// A value cut to what one line of a message takes. No more of it is written than that, however long it is.
pub(crate) fn shown(value: &Value) -> String {
    /// No character has more than 4 bytes, and one more shows that something is cut.
    const MOST: usize = 4 * (SHOWN + 1);
    struct Start(Vec<u8>);
    impl std::io::Write for Start {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = MOST.saturating_sub(self.0.len());
            self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if room == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len().min(room)) }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut start = Start(Vec::new());
    // It fails where there is more than is shown.
    let _ = serde_json::to_writer(&mut start, value);
    short(&String::from_utf8_lossy(&start.0))
}

/// Values cut to what one line of a message takes.
pub(crate) fn all_shown<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    short(&values.take(SHOWN).map(shown).collect::<Vec<_>>().join(", "))
}
