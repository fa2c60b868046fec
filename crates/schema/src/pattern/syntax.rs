//! What the text of a pattern says, in the syntax of ECMAScript with the `u` flag.
//!
//! Some of what only goes without that flag is read too, because schemas have it and it can mean one thing only: escapes
//! of what needs none (`\-`), braces and brackets that stand for themselves, and a hyphen beside a set (`[\w-.]`). What
//! other languages have and ECMAScript has not is refused: read as it looks, it would accept something else.

use std::ops::Range;

use regex_syntax::hir::ClassUnicode;

use super::error::{DEEPEST, PatternError};
use super::sets;

/// Ranges that all sets of a pattern may have, and characters of which it may look for the other case.
const MOST_OF_SETS: usize = 50_000;

#[derive(Debug)]
pub(super) enum Node {
    /// One character of a set.
    One(ClassUnicode),
    InOrder(Vec<Node>),
    /// The first of them that matches, or a later one if what follows does not match after it.
    Either(Vec<Node>),
    /// What it matches is held, to be referred to.
    Group {
        number: usize,
        inner: Box<Node>,
    },
    Repeated(Box<Repeated>),
    Edge(Edge),
    /// What must, or must not, follow or come before, and is not taken.
    Look {
        back: bool,
        negative: bool,
        inner: Box<Node>,
    },
    /// What a group holds.
    Same(usize),
}

#[derive(Debug)]
pub(super) struct Repeated {
    pub least: u32,
    pub most: Option<u32>,
    pub greedy: bool,
    /// The groups in it; they hold nothing when it begins anew.
    pub groups: Range<usize>,
    pub inner: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start,
    End,
    LineStart,
    LineEnd,
    /// Between a character of words and one that is none.
    Word,
    NoWord,
}

/// A pattern that has been read.
#[derive(Debug)]
pub(super) struct Syntax {
    pub node: Node,
    /// How many groups hold what they match.
    pub groups: usize,
    /// Whether any of them is referred to.
    pub refers: bool,
}

impl Syntax {
    /// Errors: where the pattern is none, and why.
    pub fn read(pattern: &str) -> Result<Syntax, PatternError> {
        let text: Vec<char> = pattern.chars().collect();
        let names = names_of_groups(&text);
        let twice = |name: &String| names.iter().flatten().filter(|other| *other == name).count() > 1;
        if let Some(name) = names.iter().flatten().find(|name| twice(name)) {
            return Err(PatternError::SameName(name.clone()));
        }
        let mut reader = Reader {
            text,
            at: 0,
            names,
            opened: 0,
            deep: 0,
            modes: Modes::default(),
            refers: false,
            room: MOST_OF_SETS,
        };
        let node = reader.forms()?;
        match reader.peek() {
            None => Ok(Syntax { node, groups: reader.opened, refers: reader.refers }),
            Some(_) => Err(reader.wrong("a parenthesis is closed that was not opened")),
        }
    }
}

/// The names of the groups that hold what they match, in their order: a reference may come before its group.
fn names_of_groups(text: &[char]) -> Vec<Option<String>> {
    let mut names = Vec::new();
    let mut in_set = false;
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            ('\\', [_, beyond @ ..]) => rest = beyond,
            ('[', _) => in_set = true,
            (']', _) => in_set = false,
            ('(', ['?', '<', '=' | '!', ..]) => {}
            ('(', ['?', '<', name @ ..]) if !in_set => {
                names.push(Some(name.iter().take_while(|one| **one != '>').collect()));
            }
            ('(', ['?', ..]) => {}
            ('(', _) if !in_set => names.push(None),
            _ => {}
        }
    }
    names
}

/// What `(?ims:…)` switches.
#[derive(Debug, Clone, Copy, Default)]
struct Modes {
    any_case: bool,
    lines: bool,
    all: bool,
}

pub(super) struct Reader {
    pub(super) text: Vec<char>,
    /// How many characters have been read.
    pub(super) at: usize,
    names: Vec<Option<String>>,
    opened: usize,
    deep: usize,
    modes: Modes,
    refers: bool,
    /// What more sets may take.
    room: usize,
}

#[derive(Clone, Copy)]
struct Quantifier {
    least: u32,
    most: Option<u32>,
}

impl Reader {
    pub(super) fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    pub(super) fn eat(&mut self, wanted: &str) -> bool {
        let eats = wanted.chars().enumerate().all(|(index, one)| self.text.get(self.at + index) == Some(&one));
        self.at += if eats { wanted.chars().count() } else { 0 };
        eats
    }

    pub(super) fn next(&mut self) -> Result<char, PatternError> {
        let next = self.peek().ok_or_else(|| self.wrong("something is missing"))?;
        self.at += 1;
        Ok(next)
    }

    pub(super) fn wrong(&self, problem: &'static str) -> PatternError {
        PatternError::Syntax { at: self.at, problem }
    }

    fn forms(&mut self) -> Result<Node, PatternError> {
        let first = self.sequence()?;
        if self.peek() != Some('|') {
            return Ok(first);
        }
        let mut forms = vec![first];
        while self.eat("|") {
            forms.push(self.sequence()?);
        }
        Ok(Node::Either(forms))
    }

    fn sequence(&mut self) -> Result<Node, PatternError> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let groups = self.opened;
            let inner = self.part()?;
            let Some(Quantifier { least, most }) = self.quantifier()? else {
                parts.push(inner);
                continue;
            };
            if matches!(inner, Node::Edge(_) | Node::Look { .. }) {
                return Err(self.wrong("what takes no character is repeated"));
            }
            let greedy = !self.eat("?");
            parts.push(Node::Repeated(Box::new(Repeated { least, most, greedy, groups: groups..self.opened, inner })));
        }
        Ok(Node::InOrder(parts))
    }

    fn part(&mut self) -> Result<Node, PatternError> {
        if self.quantifier()?.is_some() {
            return Err(self.wrong("there is nothing to repeat"));
        }
        match self.next()? {
            '^' => Ok(Node::Edge(if self.modes.lines { Edge::LineStart } else { Edge::Start })),
            '$' => Ok(Node::Edge(if self.modes.lines { Edge::LineEnd } else { Edge::End })),
            '.' if self.modes.all => self.one(sets::everything()),
            '.' => self.one(sets::within_a_line()),
            '(' => self.group(),
            '[' => self.set(),
            '\\' if self.eat("b") => Ok(Node::Edge(Edge::Word)),
            '\\' if self.eat("B") => Ok(Node::Edge(Edge::NoWord)),
            '\\' if matches!(self.peek(), Some('1'..='9' | 'k')) => self.reference(),
            '\\' => {
                let item = self.escaped()?;
                let set = self.in_any_case(sets::set(item.ranges()))?;
                self.one(set)
            }
            literal => {
                let set = self.in_any_case(sets::set([[u32::from(literal); 2]]))?;
                self.one(set)
            }
        }
    }

    pub(super) fn one(&mut self, set: ClassUnicode) -> Result<Node, PatternError> {
        self.take(set.ranges().len())?;
        Ok(Node::One(set))
    }

    pub(super) fn take(&mut self, room: usize) -> Result<(), PatternError> {
        self.room = self.room.checked_sub(room).ok_or(PatternError::LargeSets)?;
        Ok(())
    }

    pub(super) fn in_any_case(&mut self, mut set: ClassUnicode) -> Result<ClassUnicode, PatternError> {
        if self.modes.any_case {
            self.take(sets::cost_of_folding(&set))?;
            set.try_case_fold_simple().map_err(|_| PatternError::NoCases)?;
        }
        Ok(set)
    }

    /// A quantifier, if one is here, without the `?` after it.
    fn quantifier(&mut self) -> Result<Option<Quantifier>, PatternError> {
        let quantifier = match self.peek() {
            Some('*') => Quantifier { least: 0, most: None },
            Some('+') => Quantifier { least: 1, most: None },
            Some('?') => Quantifier { least: 0, most: Some(1) },
            Some('{') => return self.braces(),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(quantifier))
    }

    /// `{1}`, `{1,}` or `{1,2}`. Other braces stand for themselves.
    fn braces(&mut self) -> Result<Option<Quantifier>, PatternError> {
        let before = self.at;
        self.at += 1;
        let least = self.number();
        let comma = self.eat(",");
        let most = if comma { self.number() } else { least };
        match (least, most) {
            _ if !self.eat("}") => {}
            (Some(least), Some(most)) if least > most => {
                return Err(self.wrong("it is to be repeated more often than it may be"));
            }
            (Some(least), most) => return Ok(Some(Quantifier { least, most })),
            // Elsewhere it means from 0 on.
            (None, Some(_)) => return Err(self.wrong("ECMAScript wants both numbers, as in {0,3}")),
            (None, None) => {}
        }
        self.at = before;
        Ok(None)
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|one| one.to_digit(10)) {
            number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit));
            self.at += 1;
        }
        number
    }

    /// A group, after its parenthesis.
    fn group(&mut self) -> Result<Node, PatternError> {
        let modes = self.modes;
        let look = |back: bool, negative: bool| Some(Look { back, negative });
        let mut holds = false;
        let look = match () {
            () if self.eat("?:") => None,
            () if self.eat("?=") => look(false, false),
            () if self.eat("?!") => look(false, true),
            () if self.eat("?<=") => look(true, false),
            () if self.eat("?<!") => look(true, true),
            () if self.eat("?<") => {
                self.name()?;
                holds = true;
                None
            }
            () if self.eat("?") => {
                self.modes = self.switched()?;
                None
            }
            () => {
                holds = true;
                None
            }
        };
        let number = self.opened;
        self.opened += usize::from(holds);
        self.deep += 1;
        if self.deep > DEEPEST {
            return Err(PatternError::TooDeep);
        }
        let inner = self.forms()?;
        self.deep -= 1;
        self.modes = modes;
        if !self.eat(")") {
            return Err(self.wrong("a parenthesis is not closed"));
        }
        Ok(match look {
            Some(Look { back, negative }) => Node::Look { back, negative, inner: Box::new(inner) },
            None if holds => Node::Group { number, inner: Box::new(inner) },
            None => inner,
        })
    }

    /// The name of a group and what closes it.
    fn name(&mut self) -> Result<String, PatternError> {
        let mut name = String::new();
        loop {
            match self.next()? {
                '>' if !name.is_empty() => return Ok(name),
                one if one.is_alphabetic() || matches!(one, '_' | '$') => name.push(one),
                one if one.is_alphanumeric() && !name.is_empty() => name.push(one),
                _ => return Err(self.wrong("that is no name of a group")),
            }
        }
    }

    /// What `ims-ims:` makes of the modes. It stands for its own group only: ECMAScript has no switch for the rest.
    fn switched(&mut self) -> Result<Modes, PatternError> {
        let mut modes = self.modes;
        let mut on = true;
        let mut known = String::new();
        loop {
            let next = self.next()?;
            if known.contains(next) {
                return Err(self.wrong("ECMAScript has no such group"));
            }
            match next {
                ':' if known.chars().any(|one| one != '-') => return Ok(modes),
                'i' => modes.any_case = on,
                'm' => modes.lines = on,
                's' => modes.all = on,
                '-' => on = false,
                _ => return Err(self.wrong("ECMAScript has no such group")),
            }
            known.push(next);
        }
    }

    /// What refers to a group, after its backslash.
    fn reference(&mut self) -> Result<Node, PatternError> {
        let number = if self.eat("k") {
            if !self.eat("<") {
                return Err(self.wrong("the name of a group is missing"));
            }
            let name = self.name()?;
            self.names.iter().position(|known| known.as_ref() == Some(&name))
        } else {
            self.number().and_then(|number| usize::try_from(number).ok()).and_then(|number| number.checked_sub(1))
        };
        if self.modes.any_case {
            return Err(self.wrong("a reference where case counts for nothing is not supported"));
        }
        self.refers = true;
        match number.filter(|number| *number < self.names.len()) {
            Some(number) => Ok(Node::Same(number)),
            None => Err(self.wrong("there is no such group to refer to")),
        }
    }
}

struct Look {
    back: bool,
    negative: bool,
}
