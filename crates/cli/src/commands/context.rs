//! `context`: where every token of a request goes, and what was left out and why. `compact`: a summary on request.

use crate::app::App;
use crate::commands::control::driven_elsewhere;
use crate::exit::{Exit, Failure, logs};
use crate::ui::out::out;
use crate::ui::term::screen::output_columns;
use crate::ui::term::width::cut;
use crate::ui::text::{number, one_line, plain};
use clap::Args;
use mainpath::trace::{Compaction, ContextPart, ContextReport, Look, SectionSize};
use mainpath::types::{ListedSkill, Message, Part, Role, SkillShown};
use serde_json::json;
use std::path::Path;

/// `mainpath context`
#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The trace (its id or a unique part of it) [default: the latest]
    pub trace: Option<String>,
    /// The request of this turn [default: the one in flight, or the next one]
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// Every message, not only the newest of each section
    #[arg(short, long)]
    pub all: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `mainpath compact`
#[derive(Args, Debug)]
pub struct CompactArgs {
    /// The trace (its id or a unique part of it)
    pub trace: Option<String>,
    /// What the summary should keep
    pub hint: Option<String>,
}

/// So many messages of a section are listed one by one.
const LISTED: usize = 12;

/// `mainpath context`
pub async fn context(args: ContextArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find_anywhere(args.trace.as_deref()).await?;
    let (log, state, bodies) = logs.read(&trace).await?;
    let look = Look::new(logs.of(&trace, &log, &state, &bodies), args.turn)?;
    if args.json {
        out(&json!(look.report()).to_string())?;
    } else {
        let width = if args.all { usize::MAX } else { width() };
        for line in as_text(&look, args.all, width) {
            out(&line)?;
        }
    }
    Ok(Exit::Ok)
}

/// `mainpath compact`
pub async fn compact(args: CompactArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(args.trace.as_deref()).await?;
    let on = App::for_sending(&logs)?.host.trace(&trace).await?;
    match on.compact(args.hint.filter(|hint| !hint.trim().is_empty())).await? {
        Compaction::Later => {
            let when = match driven_elsewhere(&logs, &trace)? {
                true => "before its next turn".into(),
                false => format!("when its run continues: mainpath resume {trace}"),
            };
            out(&format!("{trace} will be summarised {when}"))?;
        }
        Compaction::Done { by_model, before, after } => {
            let by = if by_model { "by the model" } else { "by rules" };
            out(&format!("{trace} was summarised {by}: {} tokens instead of {}", number(after), number(before)))?;
        }
    }
    Ok(Exit::Ok)
}

fn as_text(look: &Look<'_>, all: bool, width: usize) -> Vec<String> {
    let report = look.report();
    let request = match report.request {
        Some(request) => format!("request {request}"),
        None => "the next request".into(),
    };
    let agent = report.agent.as_ref().map(|agent| format!(" · agent {}", one_line(agent))).unwrap_or_default();
    let (trace, per_mille) = (&report.trace_id, (report.ratio * 1_000.0).round() as u64);
    let mut lines = vec![
        format!("{trace} · turn {} · {request} · {}{agent}", report.turn, one_line(&report.model)),
        room(&report),
        format!(
            "margin: sizes are estimates: 1 estimated token counts as {}.{:02} tokens",
            per_mille / 1_000,
            per_mille % 1_000 / 10
        ),
        format!("nearly full at {}: older messages are then left out or summarised", number(report.full)),
        String::new(),
        format!("{:<9}{:>10}{:>10}   of the window", "section", "tokens", "share"),
    ];
    for name in look.sections() {
        let Some(SectionSize { share, tokens }) = report.sections.get(name) else { continue };
        let over = if tokens > share { "  above its share" } else { "" };
        let bar = bar(*tokens, report.most, width.saturating_sub(54).min(60));
        lines.push(format!("{name:<9}{:>10}{:>10}   {bar}{over}", number(*tokens), number(*share)));
    }
    if report.sections.values().any(|size| size.tokens > size.share) {
        lines.push(
            "above its share: fine; a share is a guide, and nothing is left out before the request is nearly full"
                .into(),
        );
    }
    let free = report.most.saturating_sub(report.estimate);
    let counted = report.counted.map_or(String::new(), |count| format!("   the vendor counted {}", number(count)));
    lines.push(format!("{:<9}{:>10}{:>10}{counted}", "total", number(report.estimate), ""));
    lines.push(format!("{:<9}{:>10}", "free", number(free)));
    let rows = rows(look, &report);
    for name in look.sections() {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.section == name).collect();
        list(&mut lines, name, &rows, all, width);
    }
    lines.extend(skills(&report.skills, all));
    if !report.left_out.is_empty() {
        lines.extend([String::new(), "left out".into()]);
    }
    let shown = if all { report.left_out.len() } else { 2 * LISTED };
    for left in report.left_out.iter().take(shown) {
        let messages = match left.messages {
            1 => format!("#{}", left.first),
            n => format!("#{}–#{} ({n})", left.first, left.last),
        };
        let shrunk = if left.shown > 0 { format!(" → {}", number(left.shown)) } else { String::new() };
        let unheld = match left.demands {
            0 => String::new(),
            n => format!("; {n} with requirements that do not all fit into the summary (key: [shares] summary)"),
        };
        let line = format!("   {messages:<20}{:>9}{shrunk}  {}{unheld}", number(left.tokens), left.why);
        lines.push(line);
    }
    if report.left_out.len() > shown {
        lines.push(format!("   … and {} more: --all", report.left_out.len() - shown));
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// How the model is told of the skills that there were when the spec was made: in numbers, with `all` by their names.
fn skills(listed: &[ListedSkill], all: bool) -> Vec<String> {
    const WORDS: [(SkillShown, &str); 6] = [
        (SkillShown::Whole, "whole"),
        (SkillShown::Shortened, "shortened"),
        (SkillShown::NameOnly, "by name only"),
        (SkillShown::Counted, "only counted"),
        (SkillShown::PersonOnly, "for you alone (/NAME)"),
        (SkillShown::Untrusted, "not trusted, so not shown"),
    ];
    if listed.is_empty() {
        return Vec::new();
    }
    let is_told = |one: &ListedSkill| !matches!(one.shown, SkillShown::PersonOnly | SkillShown::Untrusted);
    let place = if listed.iter().any(is_told) { "skills in the system text" } else { "no skill is in the system text" };
    let mut lines = vec![String::new(), place.to_string()];
    for (shown, word) in WORDS {
        let of: Vec<String> = listed.iter().filter(|one| one.shown == shown).map(|one| one_line(&one.skill)).collect();
        if of.is_empty() {
            continue;
        }
        let named = if all || of.len() <= LISTED { of.len() } else { LISTED - 1 };
        let rest = of.len() - named;
        let more = if rest > 0 { format!(" … and {rest} more: --all") } else { String::new() };
        let names = of.iter().take(named).cloned().collect::<Vec<_>>().join(", ");
        lines.push(format!("   {word:<26}{:>4}  {names}{more}", of.len()));
    }
    lines
}

/// How the room of a request comes about, as a sum.
fn room(report: &ContextReport) -> String {
    let limit = match report.beyond_limit {
        0 => String::new(),
        more => format!(" − {} beyond max_context_chars", number(more)),
    };
    let (window, reserved) = (number(report.window.into()), number(report.reserved.into()));
    let (margin, most) = (number(report.margin), number(report.most));
    format!("window {window} − answer {reserved} − margin {margin}{limit} = {most} for the request")
}

/// A part of a request as a row.
struct Row<'a> {
    section: &'a str,
    what: String,
    tokens: u32,
    text: String,
}

/// The parts of a request; of those that every request begins with the tools first: where not all are listed, the texts are.
fn rows<'a>(look: &Look<'_>, report: &'a ContextReport) -> Vec<Row<'a>> {
    let (mut rows, mut texts, mut messages) = (Vec::new(), Vec::new(), look.messages());
    for part in &report.parts {
        match part {
            ContextPart::Fixed { section, what, tokens } => {
                let name = from_workspace(what, look.workspace()).unwrap_or_else(|| what.clone());
                let of = if what.starts_with("tool ") { &mut rows } else { &mut texts };
                of.push(Row { section, what: name, tokens: *tokens, text: String::new() });
            }
            ContextPart::Message { section, what, how, message, tokens, .. } => {
                let number = message.map_or(String::new(), |seq| format!("#{seq} "));
                let said = messages.next().flatten().map_or_else(|| "(erased)".into(), |message| gist(&message));
                let how = if how.is_empty() { String::new() } else { format!("[{how}] ") };
                let (what, text) = (format!("{number}{what}"), format!("{how}{said}"));
                rows.push(Row { section, what, tokens: *tokens, text });
            }
        }
    }
    rows.extend(texts);
    rows
}

/// The rows of a section: its newest, or all.
fn list(lines: &mut Vec<String>, name: &str, rows: &[&Row<'_>], all: bool, width: usize) {
    if rows.is_empty() {
        return;
    }
    lines.extend([String::new(), name.into()]);
    let listed = if all || rows.len() <= LISTED { rows.len() } else { LISTED - 1 };
    let (earlier, newest) = rows.split_at(rows.len() - listed);
    if !earlier.is_empty() {
        let tokens = earlier.iter().map(|row| u64::from(row.tokens)).sum();
        lines.push(format!("   {:<24}{:>9}", format!("{} earlier: --all", earlier.len()), number(tokens)));
    }
    for Row { what, tokens, text, .. } in newest {
        let what = if width == usize::MAX { what.clone() } else { fit_middle(what, 24) };
        let line = format!("   {what:<24}{:>9}  {text}", number(u64::from(*tokens)));
        lines.push(line.trim_end().into());
    }
}

/// What a message says, on one line.
fn gist(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => match text.char_indices().nth(400) {
            Some((end, _)) => format!("{}…", plain(text.get(..end).unwrap_or_default())),
            None => plain(text),
        },
        Part::StoredText { bytes, .. } => format!("[{} bytes of text]", number(*bytes)),
        Part::ToolCall { name, arguments, .. } => format!("→ {}: {}", one_line(name), crate::ui::text::gist(arguments)),
        Part::ToolResult { content, .. } => gist(&Message { seq: None, role: Role::Tool, parts: content.clone() }),
        Part::Thinking { .. } => "(thinking)".into(),
        Part::Image { .. } => "[image]".into(),
        Part::Audio { .. } => "[sound]".into(),
        Part::Document { .. } => "[document]".into(),
    };
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    parts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A share of the whole as a bar and in percent.
fn bar(tokens: u64, most: u64, width: usize) -> String {
    let percent = tokens.saturating_mul(100) / most.max(1);
    let filled = usize::try_from(tokens.saturating_mul(width as u64) / most.max(1)).unwrap_or(width).min(width);
    format!("{}{} {percent:>3} %", "█".repeat(filled), "·".repeat(width - filled))
}

/// The same for a name, whose end tells more than its middle.
fn fit_middle(name: &str, cells: usize) -> String {
    if cut(name, cells) == name {
        return name.into();
    }
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let begin = cut(name, cells / 2);
    format!("{begin}{}", backwards(cut(&backwards(name), cells - cells / 2 + 1).trim_end_matches('…')))
}

/// A file as it is named from the workspace on, if it is named by a whole path.
fn from_workspace(file: &str, workspace: &str) -> Option<String> {
    let (file, workspace) = (Path::new(file), Path::new(workspace));
    let up = workspace.ancestors().position(|folder| file.starts_with(folder)).filter(|_| file.is_absolute())?;
    let below = file.strip_prefix(workspace.ancestors().nth(up)?).ok()?;
    Some(format!("{}{}", "../".repeat(up), below.display()))
}

/// How wide a line may be: what `COLUMNS` says, else as wide as the terminal. Where there is no terminal nothing is hidden.
fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    said.or_else(output_columns).filter(|width| *width >= 20).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_loses_its_middle_and_a_wide_letter_takes_two_cells() {
        assert_eq!(fit_middle("AGENTS.md", 9), "AGENTS.md");
        assert_eq!(fit_middle("/home/someone/project/AGENTS.md", 24), "/home/someo…ct/AGENTS.md");
        assert_eq!(fit_middle(&"字".repeat(20), 9).chars().filter(|c| *c == '字').count(), 3);
    }

    #[test]
    fn a_file_is_named_from_the_workspace_on() {
        let named = |file| from_workspace(file, "/home/me/work/sub");
        assert_eq!(named("/home/me/work/sub/AGENTS.md"), Some("AGENTS.md".into()));
        assert_eq!(named("/home/me/work/AGENTS.md"), Some("../AGENTS.md".into()));
        assert_eq!(named("/etc/AGENTS.md"), Some("../../../../etc/AGENTS.md".into()));
        assert_eq!((named("tool bash"), named("instructions")), (None, None));
    }
}
