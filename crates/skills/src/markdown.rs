//! Headings of Markdown, as far as looking for a section needs them.

/// A heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heading<'t> {
    /// Its line, from 0.
    pub line: usize,
    /// 1 for `#` up to 6.
    pub level: usize,
    pub text: &'t str,
}

/// The headings of a text that begin with `#`, outside fenced code.
pub(crate) fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, content) in text.lines().enumerate() {
        let content = content.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let level = content.len() - content.trim_start_matches('#').len();
                let heading = content.get(level..).unwrap_or_default();
                if (1..=6).contains(&level) && heading.starts_with(' ') {
                    found.push(Heading { line, level, text: heading.trim().trim_end_matches('#').trim_end() });
                }
            }
        }
    }
    found
}

/// The first paragraph that is no heading, on one line.
pub(crate) fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let is_none = |line: &&str| line.is_empty() || line.starts_with('#');
    let paragraph: Vec<&str> = lines.skip_while(is_none).take_while(|line| !is_none(line)).collect();
    paragraph.join(" ")
}
