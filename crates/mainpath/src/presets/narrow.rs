//! Lists of tool names that allow no more than others do.

use mainpath_policy::ToolNames;

/// The names and patterns that stand for what both lists allow. `known` are the names of the tools that there are: where two
/// patterns overlap, what they have in common is named one by one.
pub(crate) fn within(bounds: &[String], wanted: &[String], known: &[&str]) -> Vec<String> {
    let mut both: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !both.iter().any(|other| other == name) {
            both.push(name.into());
        }
    };
    let (outer, inner) = (read(bounds), read(wanted));
    for (wanted, names) in &inner {
        for (bound, bounds) in &outer {
            if is_inside(names, wanted, bounds, bound) {
                add(wanted);
            } else if is_inside(bounds, bound, names, wanted) {
                add(bound);
            } else {
                known.iter().filter(|tool| names.matches(tool) && bounds.matches(tool)).for_each(|tool| add(tool));
            }
        }
    }
    both
}

fn read(list: &[String]) -> Vec<(&str, ToolNames)> {
    list.iter().filter_map(|text| Some((text.trim(), text.parse().ok()?))).collect()
}

/// Whether everything that the first stands for is among what the second does. Where that cannot be told: no.
fn is_inside(names: &ToolNames, text: &str, bounds: &ToolNames, bound: &str) -> bool {
    if let Some(one) = names.one() {
        return bounds.matches(one);
    }
    // A star takes in whatever stands in its place, a star of the other among them.
    text == bound || !bound.contains(['?', '[', '{', '!']) && bounds.matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_lists_allow_together_is_never_more_than_either() {
        let list = |text: &str| text.split(' ').filter(|word| !word.is_empty()).map(String::from).collect::<Vec<_>>();
        for (bounds, wanted, both) in [
            ("read grep", "read_text_file bash", "read_text_file"),
            ("*", "read mcp__x__*", "read mcp__x__*"),
            ("mcp__*", "mcp__x__* bash", "mcp__x__*"),
            ("mcp__x__*", "*", "mcp__x__*"),
            ("mcp__x__*", "mcp__y__*", ""),
            ("g*", "*p", "grep"),
            ("g???", "g*", "g???"),
            ("g???", "*r*", "grep"),
            ("bash", "g*", ""),
            ("bash", "execute_bash", "execute_bash"),
        ] {
            let found = within(&list(bounds), &list(wanted), &["bash", "glob", "grep"]);
            assert_eq!(found, list(both), "{bounds} and {wanted}");
        }
    }
}
