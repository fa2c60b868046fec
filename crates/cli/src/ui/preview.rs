//! A call while the model still writes it: its tool, what it is about, and how long it has become.

use crate::ui::text::{gist, short};
use mainpath::json::preview;
use mainpath::types::Delta;

/// The call that is being written.
#[derive(Debug, Default)]
pub struct Preview {
    index: u16,
    name: String,
    arguments: String,
    about: String,
    /// The length at which the arguments are looked at next. It doubles, so that looking costs no more than the text.
    next_look: usize,
    /// The length that was told last.
    told: usize,
}

/// A line is told anew when so many bytes have come.
const STEP: usize = 256;

impl Preview {
    /// Takes a piece of a call; gives the line to show, if it is another one now.
    pub fn push(&mut self, delta: &Delta) -> Option<String> {
        let Delta::Arguments { index, name, text } = delta else { return None };
        let begins = name.is_some() || *index != self.index;
        if begins {
            let name = name.clone().unwrap_or_default();
            *self = Preview { index: *index, name, ..Preview::default() };
        }
        self.arguments.push_str(text);
        let length = self.arguments.len();
        let looks = length >= self.next_look && length > 0;
        if looks {
            self.next_look = length.saturating_mul(2);
            self.about = preview(self.arguments.as_bytes()).map(|so_far| gist(&so_far)).unwrap_or_default();
        }
        if !begins && !looks && length < self.told + STEP {
            return None;
        }
        self.told = length;
        let name = short(&self.name, 40);
        Some(match (self.about.as_str(), length) {
            ("" | "{}", _) => format!("{name} …"),
            (about, ..STEP) => format!("{name}: {about} …"),
            (about, _) => format!("{name}: {} … {length} bytes", short(about, 60)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_while_it_is_written() {
        let mut preview = Preview::default();
        let mut piece = |name: Option<&str>, text: &str| {
            preview.push(&Delta::Arguments { index: 0, name: name.map(Into::into), text: text.into() })
        };
        assert_eq!(piece(Some("write_text_file"), "").as_deref(), Some("write_text_file …"));
        assert_eq!(piece(None, "{\"pa").as_deref(), Some("write_text_file …"));
        assert_eq!(piece(None, "th\":\"src/a\\u00").as_deref(), Some("write_text_file: src/a …"));
        assert_eq!(piece(None, "e9\","), None);
        assert_eq!(piece(None, "\"content\":\""), None);
        assert_eq!(piece(None, &"x".repeat(300)).as_deref(), Some("write_text_file: src/aé … 333 bytes"));
        assert_eq!(piece(None, &"x".repeat(100)), None);
        assert_eq!(piece(Some("bash"), "{\"command\":\"ls").as_deref(), Some("bash: ls …"));
    }

    #[test]
    fn looking_at_a_long_call_costs_no_more_than_its_text() {
        let mut preview = Preview::default();
        let mut piece = |name: Option<&str>, text: &str| {
            preview.push(&Delta::Arguments { index: 0, name: name.map(Into::into), text: text.into() }).is_some()
        };
        let mut shown = usize::from(piece(Some("write_text_file"), "{\"content\":\""));
        for _ in 0..100_000 {
            shown += usize::from(piece(None, "xxxx"));
        }
        // Once for every 256 bytes, and at each doubling.
        assert!((1_500..1_700).contains(&shown), "{shown}");
    }
}
