//! One word of a command: from its source to what the program gets, as far as that can be told.

use rable::{Node, NodeKind};

/// What reads on where a word holds more than letters.
pub(super) trait Reads {
    /// Reads a part of the tree.
    fn node(&mut self, node: &Node);
    /// Reads the commands in text that the shell expands; `process`: also `<(…)` and `>(…)`.
    fn text(&mut self, text: &str, process: bool);
    /// Notes that a part cannot be told beforehand.
    fn unclear(&mut self, why: String);
    /// Notes that the shell evaluates what a variable holds.
    fn evaluates(&mut self);
    /// Notes that a variable is set.
    fn assigns(&mut self, text: &str);
    /// Notes that literal text looks like a substitution.
    fn hides_commands(&mut self);
}

/// A word as the program gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text, quotes removed; what the shell would put in stands as it was written, such as `$HOME`.
    pub text: String,
    /// Whether the program gets exactly this text.
    pub fixed: bool,
    /// Whether it may become several words, or none.
    pub many: bool,
}

impl Word {
    /// A word that is written out.
    pub fn fixed(text: impl Into<String>) -> Word {
        Word { text: text.into(), fixed: true, many: false }
    }

    /// Words that nobody knows yet.
    pub fn unknown(text: impl Into<String>) -> Word {
        Word { text: text.into(), fixed: false, many: true }
    }
}

/// In what kind of quotes a letter stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// A word under construction.
struct Builder {
    word: Word,
    /// What stands in it literally, with a sign for everything else.
    literal: String,
    quotes: Quotes,
    /// Whether nothing of it has been read.
    is_first: bool,
}

/// What stands for text that nobody knows yet.
const UNKNOWN: char = '\u{1}';

impl Builder {
    fn push(&mut self, letter: char) {
        self.word.text.push(letter);
        self.literal.push(letter);
    }
}

/// Reads a word; the commands that it holds are handed to the reader.
pub(super) fn word(reader: &mut dyn Reads, node: &Node) -> Word {
    let NodeKind::Word { value, parts, .. } = &node.kind else {
        reader.node(node);
        return Word::unknown("…");
    };
    let mut build = Builder { word: Word::fixed(""), literal: String::new(), quotes: Quotes::None, is_first: true };
    // Within backticks a backslash is read twice, which the parser does not do.
    if value.contains('`') && value.contains('\\') {
        reader.text(value, true);
    }
    if parts.is_empty() {
        literal(reader, &mut build, value, value);
    }
    for part in parts {
        match &part.kind {
            NodeKind::WordLiteral { value: text } => literal(reader, &mut build, text, value),
            other => expansion(reader, &mut build, other, value),
        }
        build.is_first = false;
    }
    if hides_command(&build.literal) {
        reader.hides_commands();
    }
    // `[` is a program; as part of a longer word it is a pattern.
    if build.word.text == "[" {
        return Word::fixed("[");
    }
    build.word
}

/// Takes letters in, with their quotes. `whole` is the source of the word that they stand in.
fn literal(reader: &mut dyn Reads, build: &mut Builder, text: &str, whole: &str) {
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (build.quotes, letter) {
            (Quotes::Single, '\'') => build.quotes = Quotes::None,
            (Quotes::Single, letter) => build.push(letter),
            (Quotes::Double, '"') => build.quotes = Quotes::None,
            (Quotes::None, '"') => build.quotes = Quotes::Double,
            (Quotes::None, '\'') => build.quotes = Quotes::Single,
            (quotes, '\\') => match letters.next() {
                Some('\n') => {}
                Some(next) => {
                    if quotes == Quotes::Double && !matches!(next, '$' | '`' | '"' | '\\') {
                        build.push('\\');
                    }
                    build.push(next);
                }
                None => build.push('\\'),
            },
            (quotes, letter @ ('$' | '`')) => {
                build.push(letter);
                let next = letters.peek().copied();
                // A dollar that begins nothing is a dollar. What does begin something was found by the parser, so that it is
                // here means that it was read in another way than a shell would.
                let alone = letter == '$' && next.is_none_or(|next| is_plain_after_dollar(next, quotes));
                if !alone {
                    build.word.fixed = false;
                    build.word.many |= quotes == Quotes::None;
                    reader.text(whole, true);
                    match next {
                        Some('[') => reader.evaluates(),
                        _ => reader.unclear(format!("{whole:?} cannot be read")),
                    }
                }
            }
            (Quotes::Double, letter) => build.push(letter),
            (Quotes::None, letter) => {
                let next = letters.peek().copied();
                let is_pattern = matches!(letter, '*' | '?') || (letter == '[' && whole.contains(']'));
                let is_braces = letter == '{' && whole.contains('}') && (whole.contains(',') || whole.contains(".."));
                let is_list = letter == '(' || (matches!(letter, '<' | '>') && next == Some('('));
                let is_home = letter == '~'
                    && ((build.is_first && build.word.text.is_empty() && !matches!(next, None | Some('/')))
                        || build.word.text.ends_with([':', '=']));
                if is_pattern || is_braces || is_list {
                    (build.word.fixed, build.word.many) = (false, true);
                }
                build.word.fixed &= !is_home;
                // The parser takes an index to its end, where a shell may see a new word.
                let is_glued = matches!(letter, ' ' | '\t' | '\n' | ';' | '&' | '|') && !build.word.text.contains('(');
                if is_glued || is_list && letter != '(' {
                    reader.unclear(format!("{whole:?} cannot be read"));
                }
                build.push(letter);
            }
        }
    }
}

/// Whether a word, quotes removed, holds a command or may come to hold one: something that evaluates the word as a number or as a
/// variable's name runs what is in its index.
fn hides_command(literal: &str) -> bool {
    let indexed = literal.split_once('[').is_some_and(|(_, index)| index.contains('('));
    literal.contains("$(") || literal.contains('`') || indexed
}

/// Whether a dollar before this letter is only a dollar.
fn is_plain_after_dollar(next: char, quotes: Quotes) -> bool {
    let begins = next.is_ascii_alphanumeric() || "_{(*@#?!$-[`\\".contains(next);
    let quoted = quotes == Quotes::None && matches!(next, '\'' | '"');
    !begins && !quoted
}

/// Takes something in that the shell replaces.
fn expansion(reader: &mut dyn Reads, build: &mut Builder, kind: &NodeKind, whole: &str) {
    if build.quotes == Quotes::Single {
        reader.unclear(format!("{whole:?} cannot be read"));
    }
    let splits = build.quotes == Quotes::None;
    let (mut known, before) = (false, build.word.text.len());
    match kind {
        NodeKind::ParamExpansion { param, op, arg } => {
            reader.text(param, true);
            let op = op.as_deref().unwrap_or_default();
            let argument = arg.as_deref().unwrap_or_default();
            reader.text(argument, true);
            if op.starts_with('=') || op.starts_with(":=") {
                reader.assigns(param);
            }
            // An index and a length are sums.
            if param.contains('[') || op == ":" {
                reader.evaluates();
            }
            if op.starts_with('@') {
                reader.evaluates();
                if argument.contains('P') {
                    reader.unclear(format!("{whole:?} runs what a variable holds"));
                }
            }
            build.word.text.push_str(&match (op, argument) {
                ("", "") => format!("${param}"),
                (op, argument) => format!("${{{param}{op}{argument}}}"),
            });
        }
        NodeKind::ParamLength { param } => {
            reader.text(param, true);
            if param.contains('[') {
                reader.evaluates();
            }
            build.word.text.push_str(&format!("${{#{param}}}"));
        }
        NodeKind::ParamIndirect { param, arg, .. } => {
            reader.text(param, true);
            reader.text(arg.as_deref().unwrap_or_default(), true);
            reader.evaluates();
            build.word.text.push_str(&format!("${{!{param}}}"));
        }
        NodeKind::CommandSubstitution { command, .. } => {
            reader.node(command);
            build.word.text.push_str("$(…)");
        }
        NodeKind::ProcessSubstitution { direction, command } => {
            reader.node(command);
            build.word.text.push_str(&format!("{direction}(…)"));
        }
        NodeKind::AnsiCQuote { content, decoded } => {
            build.word.text.push_str(decoded);
            known = is_plainly_escaped(content);
        }
        NodeKind::LocaleString { inner, .. } => {
            reader.text(inner, true);
            build.word.text.push_str(inner);
            known = !inner.contains(['$', '`', '\\']);
        }
        NodeKind::BraceExpansion { content } => {
            reader.text(content, true);
            build.word.text.push_str(content);
        }
        NodeKind::ArithmeticExpansion { .. } => {
            reader.evaluates();
            reader.text(whole, true);
            build.word.text.push_str("$((…))");
        }
        _ => {
            reader.unclear(format!("{whole:?} cannot be read"));
            build.word.text.push('…');
        }
    }
    match kind {
        NodeKind::AnsiCQuote { .. } | NodeKind::LocaleString { .. } => {
            build.literal.push_str(build.word.text.get(before..).unwrap_or_default());
        }
        _ => build.literal.push(UNKNOWN),
    }
    if !known {
        build.word.fixed = false;
        let is_one = matches!(kind, NodeKind::ProcessSubstitution { .. } | NodeKind::AnsiCQuote { .. });
        build.word.many |= splits && !is_one;
    }
}

/// Whether every backslash in `$'…'` makes a letter that all shells agree on.
fn is_plainly_escaped(content: &str) -> bool {
    let mut letters = content.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' && !matches!(letters.next(), Some('\\' | '\'' | '"' | 'n' | 't')) {
            return false;
        }
    }
    true
}
