//! Ways through a file whose lines name the line before them.

use std::collections::{HashMap, HashSet};

/// The most ways that are told apart; what a file has beyond is counted.
const MOST: usize = 100;
/// The most lines that all ways but the last have together, in lines of the file.
const MOST_TIMES: usize = 4;
/// The same of a short file, in lines.
const FEW: usize = 20_000;

/// A line of such a file.
#[derive(Clone, Debug)]
pub(super) struct TreeLine {
    /// Its name.
    pub id: String,
    /// The line before it.
    pub parent: Option<String>,
    /// Whether a way that has it and nothing else new is worth keeping.
    pub tells: bool,
    /// Whether it can be the end of the last way.
    pub is_said: bool,
}

/// The ways from the beginning to an end, as places of lines: the last one first, then those that were left, newest first. Also how many
/// more there are.
pub(super) struct Ways {
    pub ways: Vec<Vec<usize>>,
    pub beyond: usize,
}

/// Finds the ways. `widen` adds the lines that belong to a way without being on it.
pub(super) fn ways(lines: &[TreeLine], widen: impl Fn(&mut Vec<usize>)) -> Ways {
    let places: HashMap<&str, usize> = lines.iter().enumerate().map(|(at, line)| (line.id.as_str(), at)).collect();
    let parent = |at: usize| {
        let id = lines.get(at)?.parent.as_deref()?;
        // A line before it that was lost: what stands before it in the file comes before it.
        places.get(id).copied().or_else(|| at.checked_sub(1))
    };
    let parents: HashSet<usize> = (0..lines.len()).filter_map(parent).collect();
    let path = |end: usize| {
        let (mut way, mut on_it, mut at) = (Vec::new(), HashSet::new(), Some(end));
        // What names itself as a line before it goes round no more than once.
        while let Some(here) = at.filter(|here| on_it.insert(*here)) {
            way.push(here);
            at = parent(here);
        }
        way.reverse();
        way
    };
    let mut found = Ways { ways: Vec::new(), beyond: 0 };
    let mut seen: HashSet<usize> = HashSet::new();
    let last = lines.iter().rposition(|line| line.is_said);
    let others = (0..lines.len()).rev().filter(|at| !parents.contains(at) && Some(*at) != last);
    let mut is_full = false;
    let mut room = FEW.max(lines.len().saturating_mul(MOST_TIMES));
    // What is seen of ways beyond the most, so that no line is looked at again and again.
    let mut counted: HashSet<usize> = HashSet::new();
    for end in last.into_iter().chain(others) {
        if seen.contains(&end) {
            continue;
        }
        let mut new = Vec::new();
        let mut at = Some(end);
        while let Some(here) = at.filter(|here| !seen.contains(here) && counted.insert(*here)) {
            new.push(here);
            at = parent(here);
        }
        if !found.ways.is_empty() && !new.iter().any(|at| lines.get(*at).is_some_and(|line| line.tells)) {
            continue;
        }
        let way = (!is_full).then(|| path(end)).filter(|way| found.ways.is_empty() || way.len() <= room);
        let Some(mut way) = way else {
            is_full = true;
            found.beyond += 1;
            continue;
        };
        room = room.saturating_sub(way.len());
        widen(&mut way);
        seen.extend(&way);
        found.ways.push(way);
        is_full = found.ways.len() >= MOST;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, parent: &str) -> TreeLine {
        let parent = Some(parent.to_string()).filter(|parent| !parent.is_empty());
        TreeLine { id: id.into(), parent, tells: !id.starts_with('r'), is_said: true }
    }

    #[test]
    fn the_last_way_comes_first_and_what_tells_nothing_makes_none() {
        let lines = [line("a", ""), line("b", "a"), line("r1", "b"), line("c", "a"), line("d", "c"), line("r2", "c")];
        assert_eq!(ways(&lines, |_| {}).ways, [vec![0, 3, 5], vec![0, 3, 4], vec![0, 1, 2]]);
        let lines = [line("a", ""), line("b", "a"), line("r1", "b"), line("c", "b")];
        assert_eq!(ways(&lines, |_| {}).ways, [vec![0, 1, 3]]);
    }

    #[test]
    fn lines_that_go_in_circles_or_begin_nowhere_end() {
        let lines = [line("a", "b"), line("b", "a"), line("c", "nobody")];
        assert_eq!(ways(&lines, |_| {}).ways, [vec![0, 1, 2]], "what was lost before a line was not all before it");
        let lines: Vec<TreeLine> = (0..300).map(|n| line(&format!("n{n}"), "")).collect();
        let found = ways(&lines, |_| {});
        assert_eq!((found.ways.len(), found.beyond), (100, 200));
        let mut many: Vec<TreeLine> = vec![line("n0", "")];
        many.extend((1..9_000).map(|n| line(&format!("n{n}"), &format!("n{}", n - 1))));
        many.extend((0..9_000).map(|n| line(&format!("m{n}"), "n8999")));
        let found = ways(&many, |_| {});
        assert_eq!(
            (found.ways.len(), found.beyond),
            (7, 8_993),
            "a way of 9,001 lines has no room as often as it likes"
        );
        assert_eq!(ways(&[], |_| {}).ways, Vec::<Vec<usize>>::new());
    }
}
