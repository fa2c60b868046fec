//! From a predicate to the calls that it is true of.
//!
//! Each condition becomes SQL: on a column where there is one, else by a function that asks the predicate's own code, so that both say
//! the same. A piece of text of three letters or more that a match must have is looked up among the trigrams first. The first pass finds
//! numbers of rows only; what is shown of them is read for the newest alone.

use crate::Row;
use crate::rows::{COLUMNS, row};
use crate::steps::parsed;
use crate::tables::take_in_trigrams;
use mainpath_policy::{Condition, FieldTest, NumberOrder, Predicate, StepFacts, StepField, Term};
use mainpath_types::{CallId, Micros, Seq};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, Statement, params_from_iter};
use std::collections::HashMap;

/// A call that a predicate is true of, or an answer without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundStep {
    /// The trace.
    pub row: Row,
    /// The answer's number in the tree; 0 for a request that failed.
    pub seq: Seq,
    /// The call, if it is one.
    pub call: Option<CallId>,
    /// Its tool; empty for an answer without a call.
    pub tool: String,
    /// Its arguments, long texts cut.
    pub arguments: String,
    /// What rules said: `allow`, `ask`, `deny`, or nothing.
    pub verdict: String,
    /// The rule that did.
    pub rule: String,
    /// How it ended, in a word; empty while it has not.
    pub outcome: String,
    /// The code of its error.
    pub error: String,
    /// The text of its error.
    pub failure: String,
    /// Where its arguments came from.
    pub origins: Vec<String>,
    /// What the trace had cost by then.
    pub cost: Micros,
    /// The model.
    pub model: String,
    /// What the model said with it.
    pub said: String,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSteps {
    /// The newest traces' first, in a trace the last first.
    pub steps: Vec<FoundStep>,
    /// How many there are in all.
    pub all: usize,
}

/// A condition as SQL, with its values.
#[derive(Default)]
struct Sql {
    text: String,
    values: Vec<Value>,
    /// The conditions that functions answer, by their numbers.
    asked: Vec<Condition>,
    /// Whether it needs the texts.
    texts: bool,
    /// Whether it looks something up among the trigrams.
    trigrams: bool,
}

pub(crate) fn query(db: &Connection, predicate: &Predicate, most: usize) -> Result<FoundSteps> {
    let mut sql = Sql::default();
    sql.term(predicate.term());
    if sql.trigrams {
        take_in_trigrams(db)?;
    }
    for (number, condition) in sql.asked.iter().enumerate() {
        ask(db, number, condition.clone())?;
    }
    let join = if sql.texts { "JOIN step_text ON step_text.n = step.n" } else { "" };
    let text = format!("SELECT step.n, step.trace FROM step {join} WHERE {}", sql.text);
    let mut statement = db.prepare(&text)?;
    let read =
        statement.query_map(params_from_iter(sql.values), |row| Ok(At { step: row.get(0)?, trace: row.get(1)? }));
    let mut found: Vec<At> = read?.collect::<Result<_>>()?;
    let all = found.len();
    let changed = changed(db, &found)?;
    let newness = |at: &At| (changed.get(&at.trace).copied().unwrap_or_default(), at.trace, at.step);
    if found.len() > most {
        found.select_nth_unstable_by_key(most, |at| std::cmp::Reverse(newness(at)));
        found.truncate(most);
    }
    found.sort_by_key(|at| std::cmp::Reverse(newness(at)));
    let mut shown = Shown::new(db)?;
    let steps = found.into_iter().map(|at| shown.step(at)).collect::<Result<Vec<Option<FoundStep>>>>()?;
    Ok(FoundSteps { steps: steps.into_iter().flatten().collect(), all })
}

/// A row that was found.
#[derive(Clone, Copy)]
struct At {
    step: i64,
    trace: i64,
}

/// From so many on, all traces are read at once.
const FEW: usize = 500;

/// When the traces that were found last changed.
fn changed(db: &Connection, found: &[At]) -> Result<HashMap<i64, i64>> {
    if found.len() > FEW {
        let mut statement = db.prepare("SELECT n, modified FROM trace")?;
        let read = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        return read.collect();
    }
    let mut statement = db.prepare("SELECT modified FROM trace WHERE n = ?1")?;
    let mut all = HashMap::new();
    for at in found {
        if let std::collections::hash_map::Entry::Vacant(free) = all.entry(at.trace) {
            free.insert(statement.query_row([at.trace], |row| row.get(0)).optional()?.unwrap_or_default());
        }
    }
    Ok(all)
}

/// Reads what is shown.
struct Shown<'a> {
    traces: Statement<'a>,
    steps: Statement<'a>,
    rows: HashMap<i64, Option<Row>>,
}

impl<'a> Shown<'a> {
    fn new(db: &'a Connection) -> Result<Shown<'a>> {
        Ok(Shown {
            traces: db.prepare(&format!("SELECT {COLUMNS} FROM trace WHERE n = ?1"))?,
            steps: db.prepare(
                "SELECT seq, call, tool, verdict, rule, outcome, code, origins, cost, model, args, said, failure FROM step
                 JOIN step_text ON step_text.n = step.n WHERE step.n = ?1",
            )?,
            rows: HashMap::new(),
        })
    }

    fn step(&mut self, at: At) -> Result<Option<FoundStep>> {
        if let std::collections::hash_map::Entry::Vacant(free) = self.rows.entry(at.trace) {
            free.insert(self.traces.query_row([at.trace], row).optional()?);
        }
        let Some(of) = self.rows.get(&at.trace).cloned().flatten() else { return Ok(None) };
        let read = self.steps.query_row([at.step], |found| {
            let seq = Seq(found.get(0)?);
            let index: Option<u16> = found.get(1)?;
            let origins: String = found.get(7)?;
            Ok(FoundStep {
                row: of,
                seq,
                call: index.map(|index| CallId { seq, index }),
                tool: found.get(2)?,
                verdict: found.get(3)?,
                rule: found.get(4)?,
                outcome: found.get(5)?,
                error: found.get(6)?,
                origins: origins.split_whitespace().map(Into::into).collect(),
                cost: u64::try_from(found.get::<_, i64>(8)?).unwrap_or_default(),
                model: found.get(9)?,
                arguments: found.get(10)?,
                said: found.get(11)?,
                failure: found.get(12)?,
            })
        });
        read.optional()
    }
}

impl Sql {
    fn term(&mut self, term: &Term) {
        match term {
            Term::Is(condition) => self.condition(condition),
            Term::Not(term) => {
                self.text.push_str("NOT ");
                self.term(term);
            }
            Term::All(terms) => self.list(terms, " AND "),
            Term::Any(terms) => self.list(terms, " OR "),
        }
    }

    fn list(&mut self, terms: &[Term], between: &str) {
        self.text.push('(');
        for (at, term) in terms.iter().enumerate() {
            if at > 0 {
                self.text.push_str(between);
            }
            self.term(term);
        }
        self.text.push(')');
    }

    /// A place for a value.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn condition(&mut self, condition: &Condition) {
        let text = match (&condition.is, column(&condition.field)) {
            (FieldTest::Number(order, wanted), Some(column)) => {
                let place = self.value(*wanted);
                format!("({column} {} {place})", compared(*order))
            }
            // Written out, so that the indexes over the rare ones are used; the reader lets no other words pass.
            (FieldTest::Text(wanted), Some(column)) => match (usual(&condition.field, wanted), &condition.field) {
                (Some(usual), _) => format!("({column} = '{wanted}' AND {column} <> '{usual}')"),
                (None, StepField::Origin) => {
                    let place = self.value(wanted.clone());
                    format!("(instr({column}, ' ' || {place} || ' ') > 0)")
                }
                (None, _) => {
                    let place = self.value(wanted.clone());
                    format!("({column} = {place})")
                }
            },
            (FieldTest::Text(wanted), None) if of_trace(&condition.field).is_some() => {
                let place = self.value(wanted.clone());
                let column = of_trace(&condition.field).unwrap_or_default();
                format!("(step.trace IN (SELECT n FROM trace WHERE {column} = {place}))")
            }
            _ => self.by_function(condition),
        };
        self.text.push_str(&text);
    }

    /// By a function, after what the trigrams leave.
    fn by_function(&mut self, condition: &Condition) -> String {
        let number = self.asked.len();
        self.asked.push(condition.clone());
        if let Some(column) = of_trace(&condition.field) {
            return format!("(step.trace IN (SELECT n FROM trace WHERE asked_{number}({column})))");
        }
        let columns = match &condition.field {
            StepField::Args | StepField::Arg(_) => "step_text.args",
            StepField::Text => "step_text.said",
            StepField::Error => "step.code, step_text.failure",
            field => column(field).unwrap_or("''"),
        };
        self.texts |= columns.contains("step_text");
        let piece = columns.contains("step_text").then(|| piece(&condition.is)).flatten();
        let Some(matching) = piece.and_then(trigrams) else { return format!("asked_{number}({columns})") };
        self.trigrams = true;
        // The code of an error is no text that is looked up.
        let code = if condition.field == StepField::Error {
            format!("asked_{number}(step.code, '') OR ")
        } else {
            String::new()
        };
        let place = self.value(matching);
        format!(
            "({code}step.n IN (SELECT rowid FROM step_words WHERE step_words MATCH {place}) AND asked_{number}({columns}))"
        )
    }
}

/// A piece of text that every match has.
fn piece(test: &FieldTest) -> Option<&str> {
    match test {
        FieldTest::Text(wanted) => Some(wanted),
        FieldTest::Has(search) => search.needs(),
        FieldTest::Number(..) => None,
    }
}

/// The trigrams of a piece, all of which a row must have; `None` if it is too short.
fn trigrams(piece: &str) -> Option<String> {
    let letters: Vec<char> = piece.chars().collect();
    // Letters that have no one lower case may be kept otherwise; a few trigrams say enough.
    let all = letters.windows(3).filter(|three| three.iter().all(char::is_ascii) && !three.contains(&'\0'));
    let all: Vec<String> =
        all.take(20).map(|three| format!("\"{}\"", three.iter().collect::<String>().replace('"', "\"\""))).collect();
    (!all.is_empty()).then(|| all.join(" AND "))
}

/// The column of `step` that has a field.
fn column(field: &StepField) -> Option<&'static str> {
    match field {
        StepField::Tool => Some("step.tool"),
        StepField::Verdict => Some("step.verdict"),
        StepField::Rule => Some("step.rule"),
        StepField::Outcome => Some("step.outcome"),
        StepField::Origin => Some("step.origins"),
        StepField::Cost => Some("step.cost"),
        StepField::Model => Some("step.model"),
        StepField::Error => Some("step.code"),
        StepField::Args | StepField::Arg(_) | StepField::Text => None,
        StepField::Agent | StepField::Folder | StepField::Trace => None,
    }
}

/// The value that almost all rows have in a field, if this is another of those that it can have.
fn usual(field: &StepField, wanted: &str) -> Option<&'static str> {
    let usual = match field {
        StepField::Verdict => "allow",
        StepField::Outcome => "ok",
        _ => return None,
    };
    (wanted != usual && wanted.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(usual)
}

/// The column of `trace` that has a field.
fn of_trace(field: &StepField) -> Option<&'static str> {
    match field {
        StepField::Agent => Some("ifnull(agent, '')"),
        StepField::Folder => Some("workspace"),
        StepField::Trace => Some("id"),
        _ => None,
    }
}

fn compared(order: NumberOrder) -> &'static str {
    order.sign()
}

/// Makes the function that answers a condition; it is given the columns that the condition is about.
fn ask(db: &Connection, number: usize, condition: Condition) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    db.create_scalar_function(format!("asked_{number}").as_str(), -1, flags, move |given| {
        let text = |at: usize| given.get_raw(at).as_str().unwrap_or_default();
        let first = if given.is_empty() { "" } else { text(0) };
        let arguments = match condition.field {
            StepField::Args | StepField::Arg(_) => Some(parsed(first)),
            _ => None,
        };
        let origins: Vec<_> = match condition.field {
            StepField::Origin => {
                first.split_whitespace().filter_map(|name| serde_json::from_value(name.into()).ok()).collect()
            }
            _ => Vec::new(),
        };
        let step = StepFacts {
            trace: first,
            tool: first,
            arguments: arguments.as_ref(),
            verdict: serde_json::from_value(first.into()).ok(),
            rule: first,
            outcome: first,
            error: first,
            failure: if given.len() > 1 { text(1) } else { "" },
            origins: &origins,
            text: first,
            cost: 0,
            model: first,
            agent: first,
            folder: first,
        };
        Ok(condition.matches(&step))
    })
}
