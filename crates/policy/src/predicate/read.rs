//! From a text to a predicate, with the place of every mistake.

use super::error::{DEEPEST, PredicateError, PredicateProblem};
use super::field::{FIELDS, StepField};
use super::search::TextSearch;
use super::term::{Condition, FieldTest, NumberOrder, Term, millionths};

/// The signs, the longer ones first.
const SIGNS: [&str; 8] = ["!=", "!~", ">=", "<=", "=", "~", ">", "<"];

pub(super) fn read(text: &str) -> Result<Term, PredicateError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let term = reader.any()?;
    reader.blanks();
    match reader.rest().chars().next() {
        None => Ok(term),
        Some(')') => Err(reader.wrong(PredicateProblem::Unopened)),
        Some('&' | '|') => Err(reader.wrong(PredicateProblem::Sign)),
        Some(_) => Err(reader.wrong(PredicateProblem::NoEnd)),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// The character that is read now, from 1.
    fn place(&self, at: usize) -> usize {
        self.text.get(..at).map_or(0, |before| before.chars().count()) + 1
    }

    fn wrong(&self, problem: PredicateProblem) -> PredicateError {
        self.wrong_at(self.at, problem)
    }

    fn wrong_at(&self, at: usize, problem: PredicateProblem) -> PredicateError {
        PredicateError { at: self.place(at), problem }
    }

    /// Takes a word that stands alone, if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        self.blanks();
        let follows = self.rest().strip_prefix(word);
        let is_alone = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || "_.=!~<>".contains(next));
        let taken = follows.is_some_and(is_alone);
        if taken {
            self.at += word.len();
        }
        taken
    }

    fn any(&mut self) -> Result<Term, PredicateError> {
        let mut terms = vec![self.all()?];
        while self.takes("or") {
            terms.push(self.all()?);
        }
        Ok(if terms.len() == 1 { terms.swap_remove(0) } else { Term::Any(terms) })
    }

    fn all(&mut self) -> Result<Term, PredicateError> {
        let mut terms = vec![self.one()?];
        while self.takes("and") {
            terms.push(self.one()?);
        }
        Ok(if terms.len() == 1 { terms.swap_remove(0) } else { Term::All(terms) })
    }

    fn one(&mut self) -> Result<Term, PredicateError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(PredicateProblem::TooDeep));
        }
        let term = if self.takes("not") {
            Term::Not(Box::new(self.one()?))
        } else if self.rest().starts_with('(') {
            let open = self.at;
            self.at += 1;
            let inner = self.any()?;
            self.blanks();
            if !self.rest().starts_with(')') {
                return Err(match self.rest().is_empty() {
                    true => self.wrong_at(open, PredicateProblem::Unclosed),
                    false => self.wrong(PredicateProblem::NoClosing),
                });
            }
            self.at += 1;
            inner
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn condition(&mut self) -> Result<Term, PredicateError> {
        self.blanks();
        let start = self.at;
        let length = self.rest().find(|next: char| !(next.is_alphanumeric() || "_-.".contains(next)));
        let name = self.rest().get(..length.unwrap_or(self.rest().len())).unwrap_or_default();
        if name.is_empty() {
            return Err(self.wrong(PredicateProblem::NoCondition));
        }
        let field = field(name).map_err(|problem| self.wrong(problem))?;
        self.at += name.len();
        self.blanks();
        let Some(sign) = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) else {
            return Err(self.wrong(PredicateProblem::NoComparison(field)));
        };
        let sign_at = self.at;
        self.at += sign.len();
        self.blanks();
        let value_at = self.at;
        let value = self.value()?;
        let is = comparison(&field, sign, &value).map_err(|problem| match problem {
            Wrong::Sign(problem) => self.wrong_at(sign_at, problem),
            Wrong::Value(problem) => self.wrong_at(value_at, problem),
        })?;
        let term = Term::Is(Condition { field, is, at: self.place(start) });
        Ok(if sign.starts_with('!') { Term::Not(Box::new(term)) } else { term })
    }

    /// A word, or a text in quotes in which a backslash stands before a quote.
    fn value(&mut self) -> Result<String, PredicateError> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
            let end = rest.find(|next: char| next.is_whitespace() || "()".contains(next)).unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            if word.is_empty() {
                return Err(self.wrong(PredicateProblem::NoValue));
            }
            self.at += end;
            return Ok(word.into());
        };
        let (mut value, mut letters) = (String::new(), rest.char_indices().skip(1).peekable());
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' if letters.peek().is_some_and(|(_, next)| *next == quote) => {
                    value.push(quote);
                    letters.next();
                }
                letter if letter == quote => {
                    self.at += at + letter.len_utf8();
                    return Ok(value);
                }
                letter => value.push(letter),
            }
        }
        Err(self.wrong(PredicateProblem::Unquoted))
    }
}

fn field(name: &str) -> Result<StepField, PredicateProblem> {
    if let Some(argument) = name.strip_prefix("args.").filter(|argument| !argument.is_empty()) {
        return Ok(StepField::Arg(argument.into()));
    }
    if let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) {
        return Ok(field.clone());
    }
    let shown: String = name.chars().take(40).collect();
    let names = FIELDS.map(|(known, _)| known);
    let near = names.iter().map(|known| (strsim::damerau_levenshtein(known, &shown), known)).min();
    let meant = near.filter(|(distance, _)| *distance <= 2).map(|(_, known)| *known);
    Err(PredicateProblem::UnknownField { name: shown, meant })
}

/// What is wrong with a condition.
enum Wrong {
    Sign(PredicateProblem),
    Value(PredicateProblem),
}

fn comparison(field: &StepField, sign: &str, value: &str) -> Result<FieldTest, Wrong> {
    let order = match sign {
        "=" | "!=" => NumberOrder::Equal,
        "<" => NumberOrder::Less,
        "<=" => NumberOrder::AtMost,
        ">" => NumberOrder::More,
        ">=" => NumberOrder::AtLeast,
        _ if field.is_number() => return Err(Wrong::Sign(PredicateProblem::IsNumber(field.clone()))),
        _ => {
            let search = TextSearch::new(value);
            let bad = |source| Wrong::Value(PredicateProblem::NotARegex { value: value.into(), source });
            return search.map(FieldTest::Has).map_err(bad);
        }
    };
    if field.is_number() || order != NumberOrder::Equal {
        if !field.may_be_number() {
            return Err(Wrong::Sign(PredicateProblem::IsText(field.clone())));
        }
        let bad = || Wrong::Value(PredicateProblem::NotANumber(value.into()));
        return Ok(FieldTest::Number(order, millionths(value).ok_or_else(bad)?));
    }
    // Nothing is also a value: of a call that was not judged, or has not ended.
    if let Some(known) = field.values().filter(|known| !known.contains(&value) && !value.is_empty()) {
        return Err(Wrong::Value(PredicateProblem::NotAValue { field: field.clone(), known }));
    }
    Ok(FieldTest::Text(value.into()))
}
