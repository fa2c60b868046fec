//! One text that comes in pieces. A secret may be cut by them, so what may be a part of one waits for what follows.

use super::escapes::Escapes;
use super::fields::Cutter;
use super::vault::Vault;

/// So much of what was said is remembered, in bytes: the words before a secret tell what it is.
const CONTEXT: usize = 256;
/// And so much where nobody saw it: a secret may have begun there.
const UNSEEN: usize = 2 * 1024;
/// Only what is longer than any key waits for longer. Then nothing more is said: the event that follows says it all.
const MOST_HELD: usize = 32 * 1024;

/// What a stream is of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// JSON that a tool says: values at configured places are left out.
    Json,
    /// The arguments of a call: the same, and what escapes say counts.
    Arguments,
}

/// What one stream has said and holds back.
pub(crate) struct Flow {
    escapes: Option<Escapes>,
    cutter: Option<Cutter>,
    /// The end of what was said, then what waits.
    text: String,
    /// Where the latter begins.
    told: usize,
    /// What lies before this place was looked at for good.
    looked: usize,
    /// Too much has waited.
    mute: bool,
}

impl Flow {
    /// A stream that has said nothing.
    pub fn new(vault: &Vault, kind: Kind) -> Flow {
        let escapes = (kind == Kind::Arguments).then(Escapes::default);
        let cutter = (kind != Kind::Text).then(|| vault.cutter(false)).flatten();
        Flow { escapes, cutter, text: String::new(), told: 0, looked: 0, mute: false }
    }

    /// Takes a piece, gives what can be said.
    pub fn push(&mut self, vault: &Vault, piece: &str) -> String {
        if self.mute {
            return String::new();
        }
        self.take(piece);
        let (said, told, looked) = vault.say(&self.text, self.told, self.looked, true);
        (self.told, self.looked) = (told, looked);
        if self.text.len() - told > MOST_HELD {
            (self.mute, self.text, self.told, self.looked) = (true, String::new(), 0, 0);
        }
        self.forget(CONTEXT);
        said
    }

    /// Takes a piece that nobody is to see.
    pub fn pass(&mut self, piece: &str) {
        self.take(piece);
        self.told = self.text.len();
        self.forget(UNSEEN);
    }

    fn take(&mut self, piece: &str) {
        let resolved = self.escapes.as_mut().map(|escapes| escapes.push(piece));
        let piece = resolved.as_deref().unwrap_or(piece);
        match &mut self.cutter {
            Some(cutter) => self.text.push_str(&cutter.push(piece)),
            None => self.text.push_str(piece),
        }
    }

    /// Nothing follows: what waited is said, as what it is.
    pub fn end(&mut self, vault: &Vault) -> String {
        if self.mute {
            return String::new();
        }
        let rest = self.escapes.as_mut().map(Escapes::finish).unwrap_or_default();
        match &mut self.cutter {
            Some(cutter) => self.text.extend([cutter.push(&rest), cutter.finish()]),
            None => self.text.push_str(&rest),
        }
        let (said, told, _) = vault.say(&self.text, self.told, self.looked, false);
        self.told = told;
        said
    }

    fn forget(&mut self, most: usize) {
        if self.told > 2 * most {
            let end = (0..=self.told - most).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.drain(..end);
            self.told -= end;
            self.looked = self.looked.saturating_sub(end);
        }
    }
}
