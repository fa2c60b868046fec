//! Tests of secrets by name in dumps of bytes as numbers.

use super::tests::streamed;
use crate::Vault;

/// How a program prints bytes as numbers.
struct NumberFormat {
    name: &'static str,
    /// Bytes in a number, of a little-endian machine.
    width: usize,
    /// Bytes in a line.
    line: usize,
    number: fn(u64) -> String,
    /// The text before a line, by the position of its first byte.
    address: fn(usize) -> String,
}

fn number_formats() -> Vec<NumberFormat> {
    let none = |_: usize| String::new();
    let octal = |at: usize| format!("{at:07o}");
    let format = |name, width, line, number, address| NumberFormat { name, width, line, number, address };
    vec![
        format("od -An -to1", 1, 16, |byte| format!(" {byte:03o}"), none),
        format("od -to1", 1, 16, |byte| format!(" {byte:03o}"), octal),
        format("od -An -td1", 1, 16, |byte| format!(" {:4}", byte as u8 as i8), none),
        format("od -td1", 1, 16, |byte| format!(" {:4}", byte as u8 as i8), octal),
        format("od -Ad -tu1", 1, 16, |byte| format!(" {byte:3}"), |at| format!("{at:07}")),
        format("hexdump -b", 1, 16, |byte| format!(" {byte:03o}"), |at| format!("{at:07x}")),
        format("od", 2, 16, |word| format!(" {word:06o}"), octal),
        format("od -d", 2, 16, |word| format!(" {word:5}"), octal),
        format("od -An -td4", 4, 16, |word| format!(" {:11}", word as u32 as i32), none),
        format("od -An -to8", 8, 16, |word| format!(" {word:022o}"), none),
        format("od -tu8", 8, 16, |word| format!(" {word:20}"), octal),
        format("printf '%d '", 1, usize::MAX, |byte| format!("{byte} "), none),
        format("printf '%d\\n'", 1, 1, |byte| format!("{byte}"), none),
        format("cat -n", 1, 1, |byte| format!("{byte}"), |at| format!("{:6}\t", at + 1)),
        format("a list", 1, usize::MAX, |byte| format!("{byte},"), none),
        format("dots", 1, usize::MAX, |byte| format!("{byte}."), none),
        format("C", 1, 12, |byte| format!(" 0{byte:o},"), none),
        format("escapes", 1, usize::MAX, |byte| format!("\\{byte:03o}"), none),
    ]
}

/// Prints bytes; returns the text, and the range of the numbers that hold these bytes.
fn numbered(format: &NumberFormat, bytes: &[u8], value: std::ops::Range<usize>) -> (String, std::ops::Range<usize>) {
    let (mut text, mut start, mut end) = (String::new(), usize::MAX, 0);
    for (row, line) in bytes.chunks(format.line).enumerate() {
        let from = row * format.line.min(bytes.len());
        text.push_str(&(format.address)(from));
        for (nth, word) in line.chunks(format.width).enumerate() {
            let number = word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
            let printed = (format.number)(number);
            let digits = printed.find(|letter: char| letter == '-' || letter.is_ascii_digit()).unwrap();
            let count = printed.trim_end_matches([' ', ',', '.']).len();
            let at = from + nth * format.width;
            if at < value.end && at + format.width > value.start {
                start = start.min(text.len() + digits);
                end = text.len() + count;
            }
            text.push_str(&printed);
        }
        text.push('\n');
    }
    (text, start..end)
}

#[test]
fn a_secret_by_name_is_hidden_in_dumps_of_its_bytes_as_numbers() {
    for value in ["xx-a5Bz-kPq7RtW2-Lm9.vN4sYd8-yy", "Grüße-an-alle"] {
        let vault = Vault::new([("B_KEY".to_string(), value.to_string())]);
        for before in [0, 1, 6, 15] {
            let bytes = format!("{}{value}\nand more of the text after it\n", &"abcdefghijklmnop"[..before]);
            for format in number_formats() {
                let (dump, at) = numbered(&format, bytes.as_bytes(), before..before + value.len());
                let whole = format!("dump:\n{dump}\nThe end: add 12 of them.");
                let expected = format!(
                    "dump:\n{}{{{{secret:B_KEY}}}}{}\nThe end: add 12 of them.",
                    &dump[..at.start],
                    &dump[at.end..]
                );
                let name = format.name;
                assert_eq!(vault.redact(&whole), expected, "{name}, {before} before: {dump}");
                let in_json = serde_json::to_string(&whole).unwrap();
                let shown: String = serde_json::from_str(&vault.redact(&in_json)).unwrap();
                assert_eq!(shown, expected, "{name} in JSON, {before} before: {dump}");
                let sizes: &[usize] = if before == 6 { &[7] } else { &[] };
                for size in sizes {
                    let pieces = whole.as_bytes().chunks(*size).map(|piece| std::str::from_utf8(piece).unwrap());
                    assert_eq!(streamed(&vault, pieces), expected, "{name}, {before} before, in pieces of {size}");
                }
            }
        }
    }
    let vault = Vault::new([("B_KEY".to_string(), "hunter2hunter2".to_string())]);
    let with_letters = "0000000 104 117 110 116 101 114  50 104  >hunter2h<\n0000010 117 110 116 101 114  50  10       >unter2.<\n0000017\n";
    assert_eq!(vault.redact(with_letters), "0000000 {{secret:B_KEY}}\n0000017\n");
    for other in [
        "104 117 110 116 101 114 50 104 117 110 116 101 114 51",
        "104 117 110 116 101 114 50 104 and 117 110 116 101 114 50",
        "0000000 150 165 156\n1 2 3 4 5 6 7 8 9 10 11 12\n2026-11-30 23:59:59.123, 10.0.0.1:8080, -104 50%\n3.14159",
    ] {
        assert_eq!(vault.redact(other), other);
        assert_eq!(streamed(&vault, other.as_bytes().chunks(1).map(|byte| std::str::from_utf8(byte).unwrap())), other);
    }
}
