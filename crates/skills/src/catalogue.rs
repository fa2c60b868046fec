//! The list of skills for a prompt, under a budget. What does not fit is shortened, and nothing is left out without a word.

use crate::skill::Skill;

/// The shortest description that still says something, in characters; below it a name alone is better.
const SHORTEST: usize = 40;
/// What a shortened description ends with.
const MORE: char = '…';

/// How a skill is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shown {
    /// Its name and its whole description.
    Whole,
    /// Its name and the beginning of its description.
    Shortened,
    /// Its name.
    NameOnly,
    /// Only in the number of those that are left: not even all names fit.
    Counted,
}

/// One skill of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The skill.
    pub name: String,
    /// How it is shown.
    pub shown: Shown,
}

/// The list of skills as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// A line for each skill; where not all names fit, a last line that says how many are left.
    pub text: String,
    /// Every skill, in the order in which they were given, and how it is shown.
    pub skills: Vec<Listed>,
    /// Whether the skills do not fit whole, so that a model needs a search to choose well.
    pub is_searched: bool,
}

impl Catalogue {
    /// The catalogue of these skills in at most so many characters. The line about those that are left is not counted.
    pub fn new<'s>(skills: impl IntoIterator<Item = &'s Skill>, budget: usize) -> Catalogue {
        let rows: Vec<Row> = skills.into_iter().map(Row::new).collect();
        let names: usize = rows.iter().map(|row| row.name_cost).sum();
        if names > budget {
            return names_only(&rows, budget);
        }
        let share = share(&rows, budget - names);
        let mut text = String::new();
        let mut listed = Vec::with_capacity(rows.len());
        let mut left = budget - names;
        for row in &rows {
            let shown = row.shown(share, left);
            text.push_str("- ");
            text.push_str(&row.name);
            left -= match shown {
                Shown::Whole => push(&mut text, &row.description, row.length),
                // The mark at the end is one of the characters.
                Shown::Shortened => push(&mut text, &shortened(&row.description, share.saturating_sub(1)), share),
                Shown::NameOnly | Shown::Counted => 0,
            };
            text.push('\n');
            listed.push(Listed { name: row.name.clone(), shown });
        }
        let is_searched = listed.iter().any(|listed| listed.shown != Shown::Whole);
        Catalogue { text, skills: listed, is_searched }
    }
}

/// Of a description: the colon and the space before it.
const SEPARATOR: usize = 2;

fn push(text: &mut String, description: &str, cost: usize) -> usize {
    text.push_str(": ");
    text.push_str(description);
    SEPARATOR + cost
}

struct Row {
    name: String,
    /// Of the line with nothing but the name, in characters.
    name_cost: usize,
    /// On one line.
    description: String,
    /// Of the description, in characters.
    length: usize,
}

impl Row {
    fn new(skill: &Skill) -> Row {
        let description = skill.card.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = skill.card.name.clone();
        Row { name_cost: name.chars().count() + "- \n".len(), name, length: description.chars().count(), description }
    }

    /// How it is shown if a description may have so many characters and so many are left.
    fn shown(&self, share: usize, left: usize) -> Shown {
        let cost = SEPARATOR + self.length.min(share);
        match self.length <= share {
            _ if cost > left => Shown::NameOnly,
            true => Shown::Whole,
            false if share >= SHORTEST => Shown::Shortened,
            false => Shown::NameOnly,
        }
    }
}

/// The longest that descriptions may be, so that together they fit: short ones stay whole, long ones are cut alike. Where that
/// would leave nothing worth reading, the shortest that is, for as many as fit.
fn share(rows: &[Row], budget: usize) -> usize {
    let mut lengths: Vec<usize> = rows.iter().map(|row| row.length).collect();
    lengths.sort_unstable();
    let mut left = budget.saturating_sub(SEPARATOR * rows.len());
    for (place, length) in lengths.iter().enumerate() {
        let each = left / (lengths.len() - place);
        if *length > each {
            return each.max(SHORTEST);
        }
        left -= length;
    }
    usize::MAX
}

/// The beginning of a text, at most so many characters before the mark that says that there is more.
fn shortened(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    // At a space, where there is one near the end.
    let end =
        cut.rfind(' ').filter(|end| cut.chars().count() - cut.get(..*end).unwrap_or_default().chars().count() < 16);
    format!("{}{MORE}", cut.get(..end.unwrap_or(cut.len())).unwrap_or(&cut).trim_end())
}

fn names_only(rows: &[Row], budget: usize) -> Catalogue {
    let (mut text, mut left, mut counted) = (String::new(), budget, 0);
    let mut skills = Vec::with_capacity(rows.len());
    for row in rows {
        let fits = row.name_cost <= left;
        if fits {
            left -= row.name_cost;
            text.push_str(&format!("- {}\n", row.name));
        } else {
            counted += 1;
        }
        skills.push(Listed { name: row.name.clone(), shown: if fits { Shown::NameOnly } else { Shown::Counted } });
    }
    let what = if counted == 1 { "skill is" } else { "skills are" };
    text.push_str(&format!("[{counted} more {what} not listed: search for them]\n"));
    Catalogue { text, skills, is_searched: true }
}
