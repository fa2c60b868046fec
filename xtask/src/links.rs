//! Links between documents: each leads to a file that is there, and to a heading that it has.

use std::fs;
use std::path::Path;

/// The links of a document that lead nowhere, each with its line. `name` is its path from `root`.
pub fn dead(root: &Path, name: &str, text: &str) -> Vec<(usize, String)> {
    let here = root.join(name);
    let folder = here.parent().unwrap_or(root);
    let leads_somewhere = |link: &str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let there = if file.is_empty() { here.clone() } else { folder.join(file) };
        there.exists()
            && (heading.is_empty()
                || fs::read_to_string(&there).is_ok_and(|text| anchors(&text).any(|anchor| anchor == heading)))
    };
    let links = prose(text).flat_map(|(number, line)| links(line).map(move |link| (number, link)));
    let own = links.filter(|(_, link)| !link.contains("://") && !link.starts_with("mailto:"));
    own.filter(|(_, link)| !leads_somewhere(link)).map(|(number, link)| (number, link.to_owned())).collect()
}

/// The lines outside blocks of code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Where the links of a line lead.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// The headings of a document, as a link names them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_no_file_or_no_heading_is_dead() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = |text: &str| dead(&root, "docs/x.md", text).into_iter().map(|(_, link)| link).collect::<Vec<_>>();
        assert_eq!(found("[a](../README.md), [b](gone.md) and [c](https://a.example/b.md)"), ["gone.md"]);
        assert_eq!(found("[a](../README.md#install) [b](../README.md#gone)"), ["../README.md#gone"]);
        assert_eq!(found("```\n[a](gone.md)\n```\nthen [b](gone.md)"), ["gone.md"]);
        assert_eq!(dead(&root, "docs/x.md", "\n[b](gone.md)"), [(2, "gone.md".to_owned())]);
    }

    #[test]
    fn a_heading_is_named_as_on_a_page() {
        let all: Vec<String> =
            anchors("# In a terminal: what you see\n```\n# no heading\n```\n## `a_b` c-d\n").collect();
        assert_eq!(all, ["in-a-terminal-what-you-see", "a_b-c-d"]);
    }
}
