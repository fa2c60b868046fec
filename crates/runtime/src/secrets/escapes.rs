//! Escapes in JSON text. `\u0041` says `A`, and a secret that is written so is one all the same.

/// Resolves the escapes of plain characters in JSON text that comes in pieces. The text says the same as before; other escapes
/// stay as they are.
#[derive(Default)]
pub(super) struct Escapes {
    /// The beginning of an escape.
    waits: String,
}

impl Escapes {
    /// A whole text.
    pub fn resolve(text: &str) -> String {
        let mut escapes = Escapes::default();
        let mut plain = escapes.push(text);
        plain.push_str(&escapes.finish());
        plain
    }

    /// Takes a piece, gives what is known of it.
    pub fn push(&mut self, piece: &str) -> String {
        if self.waits.is_empty() && !piece.contains('\\') {
            return piece.into();
        }
        let mut plain = String::with_capacity(piece.len());
        for character in piece.chars() {
            if self.waits.is_empty() && character != '\\' {
                plain.push(character);
                continue;
            }
            self.waits.push(character);
            match self.waits.as_bytes() {
                b"\\" | b"\\u" => {}
                [b'\\', b'u', digits @ ..] if digits.len() < 4 && digits.is_ascii() => {}
                b"\\/" => self.ends(Some('/'), &mut plain),
                [b'\\', b'u', ..] => {
                    let code = self.waits.get(2..).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    let says = code.and_then(char::from_u32);
                    let is_plain = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
                    self.ends(says.filter(is_plain), &mut plain);
                }
                _ => self.ends(None, &mut plain),
            }
        }
        plain
    }

    /// The text ends here.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.waits)
    }

    fn ends(&mut self, says: Option<char>, plain: &mut String) {
        let written = std::mem::take(&mut self.waits);
        match says {
            Some(character) => plain.push(character),
            None => plain.push_str(&written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_characters_are_themselves_and_all_else_stays_however_the_text_is_cut() {
        let text = r#"{"a":"\u0041b\/c\\u0041\u0022\u00e9\n\"é\uZ\u004","\u006b":1}"#;
        let plain = r#"{"a":"Ab/c\\u0041\u0022\u00e9\n\"é\uZ\u004","k":1}"#;
        let chars: Vec<String> = text.chars().map(String::from).collect();
        for size in 1..9 {
            let mut escapes = Escapes::default();
            let mut said: String = chars.chunks(size).map(|piece| escapes.push(&piece.concat())).collect();
            said.push_str(&escapes.finish());
            assert_eq!(said, plain, "in pieces of {size}");
        }
        assert_eq!(Escapes::resolve(r"\u00"), r"\u00");
    }
}
