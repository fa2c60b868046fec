//! How much room text takes in a terminal, and text made to fit it.

use unicode_width::UnicodeWidthChar;

/// The columns that a character takes: two where Unicode calls it wide (UAX #11), none where it joins the one before it.
pub fn columns(c: char) -> usize {
    c.width().unwrap_or_default()
}

/// The columns that a line takes.
pub fn width(line: &str) -> usize {
    line.chars().map(columns).sum()
}

/// A line that takes at most so many columns: what does not fit is left out, and `…` says so.
pub fn cut(line: &str, most: usize) -> String {
    if width(line) <= most {
        return line.into();
    }
    let mut shown = String::new();
    let mut used = 1;
    for c in line.chars() {
        used += columns(c);
        if used > most {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_take_two_columns_and_marks_on_letters_none() {
        assert_eq!(["abc", "回溯", "e\u{301}", "✅", "✓"].map(width), [3, 4, 1, 2, 1]);
    }

    #[test]
    fn what_does_not_fit_is_cut_by_columns_and_says_so() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 5), "abcd…");
        assert_eq!(cut("回溯到消息", 6), "回溯…");
    }
}
