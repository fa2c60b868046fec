//! Patterns that no automaton can match: with look-around, or with references to their own groups. They are matched as
//! ECMAScript says, by trying one way after the other, and every step of it counts, those of look-around too.

use regex_syntax::hir::ClassUnicode;

use super::sets;
use super::syntax::{Edge, Node, Repeated, Syntax};

/// As many ways may be left to try, and values to restore: each takes memory.
const MOST_WAYS: usize = 1_000_000;
/// As many steps of a pattern count as one: each is quick.
const QUICK: usize = 4;
/// Steps that it takes to begin.
const COST_OF_BEGINNING: usize = 10;
/// What a register holds that holds nothing.
const NOTHING: usize = usize::MAX;

/// What is to be done, step by step.
#[derive(Debug)]
pub(crate) struct Program {
    steps: Vec<Step>,
    sets: Vec<Set>,
    /// Where in the text groups and repetitions began and ended, and how often they did.
    registers: usize,
}

#[derive(Debug)]
enum Step {
    /// A character of a set.
    One {
        set: usize,
        back: bool,
    },
    /// As many characters of a set as there are.
    Run {
        set: usize,
        back: bool,
        least: usize,
        most: usize,
    },
    /// What follows, or what is elsewhere.
    Either {
        other: usize,
    },
    Goto(usize),
    /// Keeps where it is.
    Mark {
        register: usize,
    },
    /// A repetition begins.
    Begin {
        count: usize,
    },
    /// One more of it, or no more.
    Again(Again),
    /// One more of it.
    Enter {
        count: usize,
        since: usize,
        forget: [usize; 2],
    },
    /// Ends one of it: it must have taken something unless it had to be.
    Taken {
        count: usize,
        since: usize,
        least: usize,
        again: usize,
    },
    Edge(Edge),
    /// What follows up to [`Step::Found`] must match here, or must not. It goes on after that, where it was.
    Look {
        negative: bool,
        after: usize,
    },
    /// What a group holds, if it holds anything.
    Same {
        group: usize,
        back: bool,
    },
    Found,
}

#[derive(Debug)]
struct Again {
    count: usize,
    least: usize,
    most: usize,
    greedy: bool,
    after: usize,
}

#[derive(Debug)]
struct Set {
    ascii: u128,
    beyond: Vec<[char; 2]>,
}

impl Set {
    fn new(set: &ClassUnicode) -> Set {
        let ascii =
            (0..128_u8).filter(|one| set.iter().any(|range| (range.start()..=range.end()).contains(&char::from(*one))));
        Set {
            ascii: ascii.fold(0, |all, one| all | 1 << one),
            beyond: set
                .iter()
                .filter(|range| !range.end().is_ascii())
                .map(|range| [range.start(), range.end()])
                .collect(),
        }
    }

    fn has(&self, character: char) -> bool {
        match character.is_ascii() {
            true => self.ascii >> u32::from(character) & 1 == 1,
            false => {
                let index = self.beyond.partition_point(|[_, last]| *last < character);
                self.beyond.get(index).is_some_and(|[first, _]| *first <= character)
            }
        }
    }
}

impl Program {
    pub(super) fn new(syntax: &Syntax) -> Program {
        // A group to which nothing refers need not be held.
        let held = if syntax.refers { 2 * syntax.groups } else { 0 };
        let mut program = Program { steps: Vec::new(), sets: Vec::new(), registers: held };
        program.add(&syntax.node, &Way { holds: syntax.refers, back: false });
        program.steps.push(Step::Found);
        program
    }

    /// What it takes in memory, some 100 bytes each.
    pub fn weight(&self) -> usize {
        self.steps.len() + self.sets.iter().map(|set| 1 + set.beyond.len() / 8).sum::<usize>()
    }

    fn add(&mut self, node: &Node, way: &Way) {
        let back = way.back;
        match node {
            Node::One(one) => {
                let set = self.set(one);
                self.steps.push(Step::One { set, back });
            }
            Node::InOrder(nodes) if back => nodes.iter().rev().for_each(|node| self.add(node, way)),
            Node::InOrder(nodes) => nodes.iter().for_each(|node| self.add(node, way)),
            Node::Either(nodes) => {
                let mut ends = Vec::new();
                for (index, node) in nodes.iter().enumerate() {
                    let split = self.steps.len();
                    let last = index + 1 == nodes.len();
                    if !last {
                        self.steps.push(Step::Either { other: 0 });
                    }
                    self.add(node, way);
                    if !last {
                        ends.push(self.steps.len());
                        self.steps.push(Step::Goto(0));
                        self.steps[split] = Step::Either { other: self.steps.len() };
                    }
                }
                for end in ends {
                    self.steps[end] = Step::Goto(self.steps.len());
                }
            }
            Node::Group { number, inner } if way.holds => {
                let [first, last] = if back { [2 * number + 1, 2 * number] } else { [2 * number, 2 * number + 1] };
                self.steps.push(Step::Mark { register: first });
                self.add(inner, way);
                self.steps.push(Step::Mark { register: last });
            }
            Node::Group { inner, .. } => self.add(inner, way),
            Node::Repeated(repeated) => self.repeat(repeated, way),
            Node::Edge(edge) => self.steps.push(Step::Edge(*edge)),
            Node::Look { back, negative, inner } => {
                let look = self.steps.len();
                self.steps.push(Step::Found);
                self.add(inner, &Way { back: *back, ..*way });
                self.steps.push(Step::Found);
                self.steps[look] = Step::Look { negative: *negative, after: self.steps.len() };
            }
            Node::Same(group) => self.steps.push(Step::Same { group: *group, back }),
        }
    }

    fn repeat(&mut self, repeated: &Repeated, way: &Way) {
        let Repeated { greedy, groups, inner, .. } = repeated;
        let least = usize::try_from(repeated.least).unwrap_or(usize::MAX);
        let most = repeated.most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        if let (Node::One(one), true) = (inner, greedy) {
            let set = self.set(one);
            self.steps.push(Step::Run { set, back: way.back, least, most });
            return;
        }
        let [count, since] = [self.registers, self.registers + 1];
        self.registers += 2;
        self.steps.push(Step::Begin { count });
        let again = self.steps.len();
        self.steps.push(Step::Found);
        let forget = if way.holds { [2 * groups.start, 2 * groups.end] } else { [0; 2] };
        self.steps.push(Step::Enter { count, since, forget });
        self.add(inner, way);
        self.steps.push(Step::Taken { count, since, least, again });
        self.steps[again] = Step::Again(Again { count, least, most, greedy: *greedy, after: self.steps.len() });
    }

    fn set(&mut self, set: &ClassUnicode) -> usize {
        self.sets.push(Set::new(set));
        self.sets.len() - 1
    }

    /// Whether it matches anywhere in a text. It takes its steps from those that are left; `None` when they are too few.
    pub fn is_match(&self, text: &str, left: &mut usize) -> Option<bool> {
        let left_before = left.saturating_mul(QUICK);
        let mut run = Run { program: self, text, left: left_before, registers: Vec::new(), ways: Vec::new() };
        let matches = run.matches_anywhere();
        *left = run.left / QUICK;
        matches
    }
}

/// How a part of a pattern is matched.
#[derive(Clone, Copy)]
struct Way {
    /// Whether groups hold what they match.
    holds: bool,
    /// From its end to its beginning: that is how what comes before a place is looked at.
    back: bool,
}

#[derive(Clone, Copy)]
struct Place {
    step: usize,
    at: usize,
}

/// What is left to try, and to restore before that.
enum Left {
    Try(Place),
    /// One character less of a run, if it has come farther than this.
    Shorten(Place, usize),
    Restore {
        register: usize,
        value: usize,
    },
}

struct Run<'a> {
    program: &'a Program,
    text: &'a str,
    left: usize,
    registers: Vec<usize>,
    ways: Vec<Left>,
}

impl Run<'_> {
    fn spend(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    fn matches_anywhere(&mut self) -> Option<bool> {
        self.spend(COST_OF_BEGINNING + self.program.registers)?;
        self.registers.resize(self.program.registers, NOTHING);
        for start in (0..=self.text.len()).filter(|at| self.text.is_char_boundary(*at)) {
            if self.matches(Place { step: 0, at: start })? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether what begins with a step matches at a place. What there was to try before is still there; all that was set
    /// is restored unless it matches.
    fn matches(&mut self, from: Place) -> Option<bool> {
        let before = self.ways.len();
        let mut place = from;
        loop {
            self.spend(1)?;
            let next = match self.program.steps.get(place.step)? {
                Step::Found => return Some(true),
                step => self.step(step, place)?,
            };
            place = match next {
                Some(next) => next,
                None => match self.other_way(before)? {
                    Some(other) => other,
                    None => return Some(false),
                },
            };
        }
    }

    /// Where it goes on, if it does.
    fn step(&mut self, step: &Step, place: Place) -> Option<Option<Place>> {
        let Place { step: here, at } = place;
        let on = Place { step: here + 1, at };
        Some(match step {
            Step::One { set, back } => self.taken(*set, Side { at, back: *back }).map(|at| Place { at, ..on }),
            Step::Run { set, back, least, most } => {
                let mut end = at;
                let mut shortest = at;
                let mut taken = 0;
                while taken < *most
                    && let Some(next) = self.taken(*set, Side { at: end, back: *back })
                {
                    self.spend(1)?;
                    end = next;
                    taken += 1;
                    if taken <= *least {
                        shortest = end;
                    }
                }
                let on = Place { at: end, ..on };
                if end != shortest {
                    self.leave(Left::Shorten(Place { step: here, at: end }, shortest))?;
                }
                (taken >= *least).then_some(on)
            }
            Step::Either { other } => {
                self.leave(Left::Try(Place { step: *other, at }))?;
                Some(on)
            }
            Step::Goto(step) => Some(Place { step: *step, at }),
            Step::Mark { register } => {
                self.keep(*register, at)?;
                Some(on)
            }
            Step::Begin { count } => {
                self.keep(*count, 0)?;
                Some(on)
            }
            Step::Again(Again { count, least, most, greedy, after }) => {
                let count = self.registers[*count];
                let end = Place { step: *after, at };
                if count < *least {
                    Some(on)
                } else if count >= *most {
                    Some(end)
                } else {
                    let [first, other] = if *greedy { [on, end] } else { [end, on] };
                    self.leave(Left::Try(other))?;
                    Some(first)
                }
            }
            Step::Enter { count, since, forget: [first, end] } => {
                self.keep(*count, self.registers[*count].saturating_add(1))?;
                self.keep(*since, at)?;
                for register in *first..*end {
                    self.spend(1)?;
                    self.keep(register, NOTHING)?;
                }
                Some(on)
            }
            Step::Taken { count, since, least, again } => {
                let idle = self.registers[*since] == at && self.registers[*count] > *least;
                (!idle).then_some(Place { step: *again, at })
            }
            Step::Edge(edge) => self.is_edge(*edge, at).then_some(on),
            Step::Look { negative, after } => {
                let before = self.ways.len();
                let found = self.matches(on)?;
                self.spend(self.ways.len() - before)?;
                match negative {
                    true => self.undo(before),
                    false => self.forget_ways(before),
                }
                (found != *negative).then_some(Place { step: *after, at })
            }
            Step::Same { group, back } => {
                let held = self.registers.get(2 * group..2 * group + 2).unwrap_or_default();
                let held = match held {
                    [first, last] if *first != NOTHING && *last != NOTHING => self.text.get(*first..*last),
                    _ => None,
                };
                let held = held.unwrap_or_default();
                self.spend(held.len() / 16)?;
                let at = match back {
                    true => self.text[..at].ends_with(held).then(|| at - held.len()),
                    false => self.text[at..].starts_with(held).then(|| at + held.len()),
                };
                at.map(|at| Place { at, ..on })
            }
            Step::Found => Some(on),
        })
    }

    fn leave(&mut self, left: Left) -> Option<()> {
        self.ways.push(left);
        (self.ways.len() <= MOST_WAYS).then_some(())
    }

    /// Sets a register until another way is tried.
    fn keep(&mut self, register: usize, value: usize) -> Option<()> {
        let before = std::mem::replace(&mut self.registers[register], value);
        self.leave(Left::Restore { register, value: before })
    }

    /// The way to try next, of those that have been left since there were so many.
    fn other_way(&mut self, before: usize) -> Option<Option<Place>> {
        while self.ways.len() > before {
            self.spend(1)?;
            match self.ways.pop()? {
                Left::Try(place) => return Some(Some(place)),
                Left::Restore { register, value } => self.registers[register] = value,
                Left::Shorten(Place { step, at }, shortest) => {
                    let back = matches!(self.program.steps.get(step)?, Step::Run { back: true, .. });
                    let (_, at) = self.beside(Side { at, back: !back })?;
                    if at != shortest {
                        self.ways.push(Left::Shorten(Place { step, at }, shortest));
                    }
                    return Some(Some(Place { step: step + 1, at }));
                }
            }
        }
        Some(None)
    }

    fn undo(&mut self, before: usize) {
        while self.ways.len() > before
            && let Some(way) = self.ways.pop()
        {
            if let Left::Restore { register, value } = way {
                self.registers[register] = value;
            }
        }
    }

    /// What has matched once in look-around is not tried in another way; what it has set stays, and is restored with
    /// what was before.
    fn forget_ways(&mut self, before: usize) {
        let mut kept = before;
        for index in before..self.ways.len() {
            if matches!(self.ways[index], Left::Restore { .. }) {
                self.ways.swap(kept, index);
                kept += 1;
            }
        }
        self.ways.truncate(kept);
    }

    /// Where the text goes on after a character of a set.
    fn taken(&self, set: usize, side: Side) -> Option<usize> {
        let (character, next) = self.beside(side)?;
        self.program.sets.get(set)?.has(character).then_some(next)
    }

    /// A character of the text, and where it goes on after it.
    fn beside(&self, Side { at, back }: Side) -> Option<(char, usize)> {
        let character = match back {
            true => self.text.get(..at)?.chars().next_back()?,
            false => self.text.get(at..)?.chars().next()?,
        };
        let length = character.len_utf8();
        Some((character, if back { at - length } else { at + length }))
    }

    fn is_edge(&self, edge: Edge, at: usize) -> bool {
        let is = |back: bool, what: fn(char) -> bool| self.beside(Side { at, back }).is_some_and(|(one, _)| what(one));
        let of_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
        match edge {
            Edge::Start => at == 0,
            Edge::End => at == self.text.len(),
            Edge::LineStart => at == 0 || is(true, sets::ends_line),
            Edge::LineEnd => at == self.text.len() || is(false, sets::ends_line),
            Edge::Word => is(true, of_word) != is(false, of_word),
            Edge::NoWord => is(true, of_word) == is(false, of_word),
        }
    }
}

/// What is before or after a place in the text.
#[derive(Clone, Copy)]
struct Side {
    at: usize,
    back: bool,
}
