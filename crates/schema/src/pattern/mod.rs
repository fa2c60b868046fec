//! Patterns of a schema, and what it costs to hold a text to one.

mod characters;
mod error;
mod sets;
mod stepping;
mod syntax;

use regex_automata::meta;
use regex_automata::nfa::thompson::{Compiler, Config};
use regex_syntax::hir::{Class, Hir, Look, Repetition};

use error::LONGEST;
pub use error::PatternError;
use stepping::Program;
use syntax::{Edge, Node, Syntax};

/// Bytes that a pattern may take when compiled.
const COMPILED: usize = 10 << 20;
/// Bytes that a pattern may keep to be faster.
const CACHED: usize = 1 << 18;

/// A step goes through as many states of an automaton, if it has none of them ready.
const STATES_OF_A_STEP: usize = 32;
/// An automaton with more states than this is dear, and most texts are matched sooner by stepping.
const FEW_STATES: usize = 32;
/// As many steps for each byte of a text are tried before that.
const TRIED: usize = 4;

/// A pattern, read as ECMAScript has it.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// Takes a time that grows with the text and with the states of its automaton.
    Plain { states: usize, automaton: meta::Regex, tried: Option<Program> },
    /// With look-around, references to its own groups or the like, which no automaton has: it steps back, and every step
    /// counts.
    Stepping(Program),
}

impl Pattern {
    /// Errors: why it is none.
    pub fn new(pattern: &str) -> Result<Pattern, PatternError> {
        if pattern.len() > LONGEST {
            return Err(PatternError::TooLong);
        }
        let syntax = Syntax::read(pattern)?;
        let Some(plain) = plain(&syntax.node) else { return Ok(Pattern::Stepping(Program::new(&syntax))) };
        let sized = Config::new().nfa_size_limit(Some(COMPILED));
        let counted = Compiler::new().configure(sized).build_from_hir(&plain).map_err(|_| PatternError::TooLarge)?;
        let sized = meta::Config::new().nfa_size_limit(Some(COMPILED)).hybrid_cache_capacity(CACHED);
        let automaton =
            meta::Builder::new().configure(sized).build_from_hir(&plain).map_err(|_| PatternError::TooLarge)?;
        let states = counted.states().len();
        Ok(Pattern::Plain { states, automaton, tried: (states > FEW_STATES).then(|| Program::new(&syntax)) })
    }

    /// What it takes in memory, beside its text; of a plain one some 100 bytes each.
    pub fn weight(&self) -> usize {
        match self {
            Pattern::Plain { states, tried, .. } => 100 + states / 4 + tried.as_ref().map_or(0, Program::weight),
            Pattern::Stepping(program) => 100 + program.weight(),
        }
    }

    /// Whether a text matches. It takes the steps that this needs from those that are left; `None` when they are too few.
    pub fn is_match(&self, text: &str, left: &mut usize) -> Option<bool> {
        match self {
            Pattern::Plain { states, automaton, tried } => {
                if let Some(program) = tried {
                    let some = text.len().saturating_mul(TRIED).saturating_add(100).min(*left);
                    let mut rest = some;
                    let matches = program.is_match(text, &mut rest);
                    *left -= some - rest;
                    if matches.is_some() {
                        return matches;
                    }
                }
                *left = left.checked_sub(1 + text.len().saturating_mul(*states) / STATES_OF_A_STEP)?;
                Some(automaton.is_match(text))
            }
            Pattern::Stepping(program) => program.is_match(text, left),
        }
    }
}

/// What an automaton can match, for a pattern that has only that.
fn plain(node: &Node) -> Option<Hir> {
    let all = |nodes: &[Node]| nodes.iter().map(plain).collect::<Option<Vec<Hir>>>();
    Some(match node {
        Node::One(set) => Hir::class(Class::Unicode(set.clone())),
        Node::InOrder(nodes) => Hir::concat(all(nodes)?),
        Node::Either(nodes) => Hir::alternation(all(nodes)?),
        Node::Group { inner, .. } => plain(inner)?,
        Node::Repeated(repeated) => Hir::repetition(Repetition {
            min: repeated.least,
            max: repeated.most,
            greedy: repeated.greedy,
            sub: Box::new(plain(&repeated.inner)?),
        }),
        Node::Edge(Edge::Start) => Hir::look(Look::Start),
        Node::Edge(Edge::End) => Hir::look(Look::End),
        Node::Edge(Edge::Word) => Hir::look(Look::WordAscii),
        // It would find no edge of a word within a character too, which has several bytes.
        Node::Edge(Edge::NoWord) => return None,
        Node::Edge(Edge::LineStart | Edge::LineEnd) | Node::Look { .. } | Node::Same(_) => return None,
    })
}
