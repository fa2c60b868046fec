//! Colours and emphasis, where a terminal has them and the person wants them.

use std::io::IsTerminal;

/// What the terminal behind a stream can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Face {
    /// Whether the cursor can be moved and lines taken back.
    pub moves: bool,
    /// Whether there are colours.
    pub colour: bool,
}

impl Face {
    /// Of standard error.
    pub fn of_errors() -> Face {
        Face::of(std::io::stderr().is_terminal())
    }

    /// Of standard output.
    pub fn of_output() -> Face {
        Face::of(std::io::stdout().is_terminal())
    }

    /// A terminal that names no type, or says that it is dumb, gets text alone; `NO_COLOR` takes the colours away.
    fn of(is_terminal: bool) -> Face {
        let kind = std::env::var_os("TERM").filter(|kind| !kind.is_empty() && kind != "dumb");
        let moves = is_terminal && kind.is_some();
        Face { moves, colour: moves && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) }
    }

    /// The text in this style, where there are colours.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.colour { style.paint(text) } else { text.into() }
    }

    /// A mark at the beginning of a line, in its colour.
    pub fn mark(self, mark: &str) -> String {
        let style = match mark {
            "✓" => Style::GREEN,
            "✗" => Style::RED,
            "→" => Style::CYAN,
            "?" | "!" => Style::YELLOW,
            "■" => Style::BOLD,
            "·" => Style::DIM,
            _ => Style::PLAIN,
        };
        self.paint(style, mark)
    }
}

/// How text looks: a colour and any number of kinds of emphasis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    colour: u8,
    emphasis: u8,
}

impl Style {
    pub const PLAIN: Style = Style { colour: 0, emphasis: 0 };
    pub const BOLD: Style = Style { colour: 0, emphasis: 1 << 1 };
    pub const DIM: Style = Style { colour: 0, emphasis: 1 << 2 };
    pub const ITALIC: Style = Style { colour: 0, emphasis: 1 << 3 };
    pub const UNDERLINED: Style = Style { colour: 0, emphasis: 1 << 4 };
    pub const STRUCK: Style = Style { colour: 0, emphasis: 1 << 5 };
    pub const RED: Style = Style { colour: 31, emphasis: 0 };
    pub const GREEN: Style = Style { colour: 32, emphasis: 0 };
    pub const YELLOW: Style = Style { colour: 33, emphasis: 0 };
    pub const CYAN: Style = Style { colour: 36, emphasis: 0 };

    /// Both.
    pub fn and(self, other: Style) -> Style {
        let colour = if other.colour == 0 { self.colour } else { other.colour };
        Style { colour, emphasis: self.emphasis | other.emphasis }
    }

    /// The text between what switches the style on and off (ECMA-48, SGR).
    pub fn paint(self, text: &str) -> String {
        // Struck through is 9; the others have the number of their bit.
        let codes = [1, 2, 3, 4, 5].into_iter().filter(|bit| self.emphasis & (1 << bit) != 0);
        let codes = codes.map(|bit| if bit == 5 { 9 } else { bit }).chain((self.colour > 0).then_some(self.colour));
        let codes: Vec<String> = codes.map(|code| code.to_string()).collect();
        if codes.is_empty() || text.is_empty() {
            return text.into();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", codes.join(";"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_switched_on_and_off_around_its_text() {
        assert_eq!(Style::BOLD.and(Style::CYAN).paint("a"), "\u{1b}[1;36ma\u{1b}[0m");
        assert_eq!(Style::STRUCK.paint("a"), "\u{1b}[9ma\u{1b}[0m");
        assert_eq!((Style::PLAIN.paint("a"), Style::RED.paint("")), ("a".into(), String::new()));
    }
}
