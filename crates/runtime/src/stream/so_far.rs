//! What has come of an effect under way: whoever begins to watch in the middle of it is told that first.

use crate::secrets::{Flow, Kind, Vault, is_json};
use mainpath_core::EffectKey;
use mainpath_types::Delta;

/// So much of what a tool has said is kept for those who come later, in bytes: of more, the end.
const MOST_SAID: usize = 64 * 1024;

/// A piece of what an effect comes to.
pub(crate) struct Piece {
    pub of: EffectKey,
    /// How many came before it.
    pub nth: u32,
    /// How many it stands for.
    pub pieces: u32,
    pub delta: Delta,
}

/// What has come of one answer or one call. A secret may be cut in two by the pieces of a stream, so what may be a secret's beginning waits
/// for what follows.
pub(crate) struct SoFar {
    vault: Vault,
    of: EffectKey,
    /// In the order in which they began. Calls may be written beside one another.
    texts: Vec<Text>,
    /// How many pieces there have been.
    count: u32,
}

/// One text of it.
struct Text {
    /// An empty piece of it, which says which one it is.
    first: Delta,
    /// The tool that it names, if it is a call.
    name: Option<String>,
    flow: Flow,
    /// What of it may be seen, as far as somebody has looked.
    told: String,
    /// What came since, as it came.
    new: String,
    has_ended: bool,
    /// Whether what waited at its end was told.
    is_whole: bool,
    /// Whether its beginning is not kept.
    is_cut: bool,
}

impl Text {
    /// What came since somebody looked, redacted, but for an end that waits.
    fn look(&mut self, vault: &Vault) -> String {
        let mut said = match self.new.is_empty() {
            true => String::new(),
            false => self.flow.push(vault, &std::mem::take(&mut self.new)),
        };
        if self.has_ended && !self.is_whole {
            said.push_str(&self.flow.end(vault));
            self.is_whole = true;
        }
        self.told.push_str(&said);
        said
    }

    /// Lets go of the beginning of what a tool has said, if that is much.
    fn cut(&mut self) {
        if !matches!(self.first, Delta::ToolOutput { .. }) || self.told.len() + self.new.len() <= MOST_SAID {
            return;
        }
        if !self.new.is_empty() {
            self.flow.pass(&std::mem::take(&mut self.new));
            self.told.clear();
        }
        let from = self.told.ceil_char_boundary(self.told.len().saturating_sub(MOST_SAID / 2));
        self.told.drain(..from);
        self.is_cut = true;
    }

    /// All of it that may be seen, as one piece; `None`: there is nothing yet.
    fn all(&self, vault: &Vault) -> Option<Delta> {
        let mut delta = self.first.clone();
        if let Delta::Arguments { name, .. } = &mut delta {
            *name = self.name.as_deref().map(|name| vault.redact(name));
        }
        if self.is_cut {
            text_of(&mut delta).push_str("…\n");
        }
        text_of(&mut delta).push_str(&self.told);
        (!self.told.is_empty() || names(&delta)).then_some(delta)
    }
}

impl SoFar {
    /// Nothing yet.
    pub fn new(vault: &Vault, of: EffectKey) -> SoFar {
        SoFar { vault: vault.clone(), of, texts: Vec::new(), count: 0 }
    }

    /// Takes what comes next. `tell`: where somebody watches, what is told of it.
    pub fn say(&mut self, mut delta: Delta, tell: Option<&mut dyn FnMut(Piece)>) {
        let mut tell = tell;
        // Prose that something else follows has ended: what waited was no secret.
        if self.texts.iter().rfind(|text| !text.has_ended).is_some_and(|text| ends(&text.first, &delta)) {
            self.end_last(&mut tell);
        }
        let piece = std::mem::take(text_of(&mut delta));
        let at = self.texts.iter().position(|text| !text.has_ended && follows(&text.first, &delta));
        let at = at.unwrap_or_else(|| {
            self.texts.push(Text {
                first: unnamed(&delta),
                name: None,
                flow: Flow::new(&self.vault, kind(&delta, &piece)),
                told: String::new(),
                new: String::new(),
                // It comes whole.
                has_ended: matches!(delta, Delta::Partial { .. }),
                is_whole: false,
                is_cut: false,
            });
            self.texts.len() - 1
        });
        let Some(text) = self.texts.get_mut(at) else { return };
        if let Delta::Arguments { name: Some(name), .. } = &mut delta {
            text.name.get_or_insert_with(|| name.clone());
            *name = self.vault.redact(name);
        }
        text.new.push_str(&piece);
        if let Some(tell) = tell {
            *text_of(&mut delta) = text.look(&self.vault);
            text.cut();
            self.tell(delta, tell);
        } else {
            text.cut();
        }
    }

    /// Nothing follows any more: what waited was no secret.
    pub fn end(&mut self, tell: Option<&mut dyn FnMut(Piece)>) {
        let mut tell = tell;
        while self.texts.iter().any(|text| !text.has_ended) {
            self.end_last(&mut tell);
        }
    }

    fn end_last(&mut self, tell: &mut Option<&mut dyn FnMut(Piece)>) {
        let Some(text) = self.texts.iter_mut().rfind(|text| !text.has_ended) else { return };
        text.has_ended = true;
        if let Some(tell) = tell {
            let mut delta = text.first.clone();
            *text_of(&mut delta) = text.look(&self.vault);
            self.tell(delta, *tell);
        }
    }

    fn tell(&mut self, mut delta: Delta, tell: &mut dyn FnMut(Piece)) {
        if !text_of(&mut delta).is_empty() || names(&delta) {
            tell(Piece { of: self.of, nth: self.count, pieces: 1, delta });
            self.count = self.count.saturating_add(1);
        }
    }

    /// All that has come, for one who begins to watch now: what is told from now on follows it.
    pub fn all(&mut self) -> Vec<Piece> {
        for text in &mut self.texts {
            text.look(&self.vault);
        }
        let known: Vec<Delta> = self.texts.iter().filter_map(|text| text.all(&self.vault)).collect();
        let many = u32::try_from(known.len()).unwrap_or(u32::MAX);
        self.count = self.count.max(many);
        let last = self.count.saturating_sub(many.saturating_sub(1));
        let piece = |(nth, delta)| Piece { of: self.of, nth, pieces: if nth + 1 == many { last } else { 1 }, delta };
        (0..).zip(known).map(piece).collect()
    }
}

/// Whether a text is prose, and a piece is of another.
fn ends(first: &Delta, piece: &Delta) -> bool {
    matches!(first, Delta::Text { .. } | Delta::Thinking { .. }) && !follows(first, piece)
}

/// What a text is, by its first piece: arguments are JSON, and what a tool says may be.
fn kind(delta: &Delta, piece: &str) -> Kind {
    match delta {
        Delta::Arguments { .. } => Kind::Arguments,
        Delta::ToolOutput { .. } if is_json(piece) => Kind::Json,
        Delta::ToolOutput { .. } | Delta::Text { .. } | Delta::Thinking { .. } | Delta::Partial { .. } => Kind::Text,
    }
}

/// An empty piece of the same text.
fn unnamed(delta: &Delta) -> Delta {
    match delta {
        Delta::Arguments { index, .. } => Delta::Arguments { index: *index, name: None, text: String::new() },
        other => other.clone(),
    }
}

/// Whether a piece names a call's tool.
fn names(delta: &Delta) -> bool {
    matches!(delta, Delta::Arguments { name: Some(_), .. })
}

/// Whether the second piece goes on where the first ended.
fn follows(first: &Delta, second: &Delta) -> bool {
    match (first, second) {
        (Delta::Text { .. }, Delta::Text { .. }) | (Delta::Thinking { .. }, Delta::Thinking { .. }) => true,
        (Delta::Arguments { index: a, .. }, Delta::Arguments { index: b, .. }) => a == b,
        (Delta::ToolOutput { call: a, .. }, Delta::ToolOutput { call: b, .. }) => a == b,
        _ => false,
    }
}

pub(crate) fn text_of(delta: &mut Delta) -> &mut String {
    match delta {
        Delta::Text { text }
        | Delta::Thinking { text }
        | Delta::Arguments { text, .. }
        | Delta::Partial { value: text, .. }
        | Delta::ToolOutput { text, .. } => text,
    }
}
