//! Where old texts lie in a file, and, where one does not, what comes nearest.

use crate::Problem;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ops::Range;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The text to replace, exactly as it is in the file; it must occur there once.
    pub(crate) old_text: String,
    /// What takes its place.
    pub(crate) new_text: String,
}

/// The file with the edits applied: all of them, each at the one place where its old text lies in `text` as it was, or
/// none. Places may touch but not overlap. `redact` hides secrets in what a problem quotes, before it is shortened.
pub(crate) fn apply(
    path: &str,
    text: &str,
    edits: &[Edit],
    redact: &dyn Fn(&str) -> String,
) -> Result<String, Problem> {
    let mut places: Vec<(Range<usize>, usize)> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        match only_place(path, text, index, edit, redact) {
            Ok(place) => places.push((place, index)),
            Err(problem) => problems.push(problem),
        }
    }
    places.sort_by_key(|(place, index)| (place.start, *index));
    for pair in places.windows(2) {
        let [(before, first), (after, second)] = pair else { continue };
        if before.end > after.start {
            let line = line_of(text, after.start);
            let text = format!("edits[{first}] and edits[{second}] overlap at line {line}; join them into one.");
            problems.push(Problem::new("overlap", text));
        }
    }
    if let Some(first) = problems.first() {
        let texts: Vec<&str> = problems.iter().map(|problem| problem.text.as_str()).collect();
        return Err(Problem::new(first.code, format!("{}\nNothing was changed.", texts.join("\n"))));
    }
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (place, index) in places {
        result.push_str(&text[done..place.start]);
        result.push_str(&edits[index].new_text);
        done = place.end;
    }
    result.push_str(&text[done..]);
    Ok(result)
}

fn only_place(
    path: &str,
    text: &str,
    index: usize,
    edit: &Edit,
    redact: &dyn Fn(&str) -> String,
) -> Result<Range<usize>, Problem> {
    let old = &edit.old_text;
    if old.is_empty() {
        let words = format!("edits[{index}].old_text is empty; give the text to replace, or use write_text_file.");
        return Err(Problem::new("no_match", words));
    }
    if *old == edit.new_text {
        return Err(Problem::new("no_change", format!("edits[{index}] changes nothing: both texts are the same.")));
    }
    let places = places(text, old, 11);
    match places.as_slice() {
        [] => Err(Problem::new(
            "no_match",
            format!("edits[{index}].old_text does not occur in {path:?}.{}", nearest(text, old, redact)),
        )),
        [place] => Ok(*place..place + old.len()),
        many => {
            let lines: Vec<String> = many.iter().take(10).map(|at| line_of(text, *at).to_string()).collect();
            let more = if many.len() > 10 { " and further ones" } else { "" };
            let words = format!(
                "edits[{index}].old_text occurs several times in {path:?}, at lines {}{more}; add more context so that \
                 it occurs once.",
                lines.join(", ")
            );
            Err(Problem::new("many_matches", words))
        }
    }
}

/// The first places where `old` begins, overlapping ones included.
pub(crate) fn places(text: &str, old: &str, most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    let step = old.chars().next().map_or(1, char::len_utf8);
    while found.len() < most {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) else { break };
        found.push(from + at);
        from += at + step;
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The place that comes nearest to `old`, with its lines that differ, as sentences.
fn nearest(text: &str, old: &str, redact: &dyn Fn(&str) -> String) -> String {
    let file: Vec<&str> = text.split('\n').take(50_000).collect();
    let wanted: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let Some(start) = best_window(&file, &wanted) else {
        return " Nothing in the file is like it; read the file again.".into();
    };
    let last = (start + wanted.len()).min(file.len());
    let mut words = match last - start {
        1 => format!(" The nearest is line {}, which differs:", start + 1),
        _ => format!(" The nearest is lines {}-{last}, which differ:", start + 1),
    };
    let mut differing = 0;
    for (offset, wanted) in wanted.iter().enumerate() {
        let found = file.get(start + offset).copied();
        // The first and the last line of an old text may be parts of lines.
        let inside = |found: &str| match (offset, offset + 1 == wanted_len(old)) {
            (0, true) => found.contains(wanted),
            (0, false) => found.ends_with(wanted),
            (_, true) => found.starts_with(wanted),
            (_, false) => found == *wanted,
        };
        if found.is_some_and(inside) {
            continue;
        }
        differing += 1;
        if differing > 4 {
            words.push_str("\n  … and further lines");
            break;
        }
        match found {
            Some(found) => words.push_str(&format!(
                "\n  line {}: {}\n    in the file:  {:?}\n    in old_text: {:?}",
                start + offset + 1,
                difference(found, wanted),
                short(&redact(found)),
                short(&redact(wanted))
            )),
            None => words.push_str(&format!("\n  the file ends before {:?}", short(&redact(wanted)))),
        }
    }
    if differing == 0 {
        words.push_str("\n  only in the line break at its end");
    }
    words
}

fn wanted_len(old: &str) -> usize {
    old.strip_suffix('\n').unwrap_or(old).split('\n').count()
}

/// The index of the first line of the window that is most like `wanted`.
fn best_window(file: &[&str], wanted: &[&str]) -> Option<usize> {
    // First by equal lines, spaces at their ends aside; only then, since it is slow, by likeness of the longest line.
    let mut scores: std::collections::HashMap<usize, usize> = std::collections::HashMap::new();
    let mut by_text: std::collections::HashMap<&str, Vec<usize>> = std::collections::HashMap::new();
    for (number, line) in file.iter().enumerate() {
        by_text.entry(line.trim()).or_default().push(number);
    }
    for (offset, line) in wanted.iter().enumerate().filter(|(_, line)| line.trim().len() > 1) {
        for number in by_text.get(line.trim()).into_iter().flatten().take(1_000) {
            if let Some(start) = number.checked_sub(offset) {
                *scores.entry(start).or_default() += line.trim().len();
            }
        }
    }
    let best = scores.into_iter().max_by_key(|(start, score)| (*score, std::cmp::Reverse(*start)));
    if let Some((start, _)) = best {
        return Some(start);
    }
    let (offset, key) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let key = squeezed(key);
    if key.is_empty() {
        return None;
    }
    let likeness = |line: &str| {
        let line = squeezed(line);
        match line.len().abs_diff(key.len()) * 2 > line.len().max(key.len()) {
            true => 0.0,
            false => strsim::normalized_levenshtein(&line, &key),
        }
    };
    let scored = file.iter().take(20_000).enumerate().map(|(number, line)| (likeness(line), number));
    let (score, number) = scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (score >= 0.6).then(|| number.saturating_sub(offset))
}

/// A line without its spaces, as far as it is worth comparing.
fn squeezed(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).take(200).collect()
}

fn short(line: &str) -> String {
    match line.chars().count() > 160 {
        true => line.chars().take(160).chain("…".chars()).collect(),
        false => line.into(),
    }
}

/// In what two lines differ.
fn difference(found: &str, wanted: &str) -> &'static str {
    let indent = |line: &str| line.chars().take_while(|c| c.is_whitespace()).collect::<String>();
    if found.strip_suffix('\r') == Some(wanted) || wanted.strip_suffix('\r') == Some(found) {
        "the line end (CR LF against LF)"
    } else if found.trim_end() == wanted.trim_end() {
        "white space at the end"
    } else if found.trim() == wanted.trim() {
        match indent(found).contains('\t') != indent(wanted).contains('\t') {
            true => "the indentation (tabs against spaces)",
            false => "the indentation",
        }
    } else if squeezed(found) == squeezed(wanted) {
        "white space"
    } else {
        "the text"
    }
}
