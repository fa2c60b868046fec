//! `context`: where every token of a request goes, and what was left out and why. `compact`: a summary on request.

use crate::app::App;
use crate::commands::control::driven_elsewhere;
use crate::exit::{Exit, Failure, logs};
use crate::runs::settle::settle;
use crate::ui::out::out;
use crate::ui::term::screen::output_columns;
use crate::ui::term::width::cut;
use crate::ui::text::{number, one_line, plain};
use clap::Args;
use mainpath::core::{Layout, Placed, Section, fixed_parts, message};
use mainpath::runtime::Mail;
use mainpath::trace::{Look, Taken, kind, why};
use mainpath::types::{EventKind, ListedSkill, Message, Part, Role, SkillShown, TraceId};
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
        for line in as_text(&trace, &look, args.all, width) {
            out(&line)?;
        }
    }
    Ok(Exit::Ok)
}

/// `mainpath compact`
pub async fn compact(args: CompactArgs) -> Result<Exit, Failure> {
    let logs = logs()?;
    let trace = logs.find(args.trace.as_deref()).await?;
    let (_, state, _) = logs.read(&trace).await?;
    if state.tree.head.is_none() {
        return Err(Failure::error(format!("{trace} has no messages yet, so there is nothing to summarise")));
    }
    let before = state.tree.shown_tokens(state.tree.head);
    let hint = args.hint.filter(|hint| !hint.trim().is_empty());
    let mail = Mail::Compact { hint };
    // To go on with a run is not what was asked for.
    let is_later = state.run.is_some() || !state.queues.is_empty() && !state.queues.held;
    let here = if is_later { None } else { Some(App::open()?) };
    let sent = logs.send(&trace, &mail).await?;
    let Some(app) = here else {
        let when = match driven_elsewhere(&logs, &trace)? {
            true => "before its next turn".into(),
            false => format!("when its run continues: mainpath resume {trace}"),
        };
        out(&format!("{trace} will be summarised {when}"))?;
        return Ok(Exit::Ok);
    };
    settle(&app, &trace, sent).await?;
    let (log, state, _) = logs.read(&trace).await?;
    let since = log.events.iter().rev().take_while(|event| event.mail != Some(sent));
    let mut ends = since.filter_map(|event| match &event.kind {
        EventKind::Compacted(data) => Some(Ok(data)),
        EventKind::RunClosing(data) => Some(Err(data.reason)),
        _ => None,
    });
    match ends.next() {
        Some(Ok(data)) => {
            let after = state.tree.shown_tokens(state.tree.head);
            let by = if data.text.is_some() { "by rules" } else { "by the model" };
            out(&format!("{trace} was summarised {by}: {} tokens instead of {}", number(after), number(before)))?;
            Ok(Exit::Ok)
        }
        Some(Err(reason)) => {
            Err(Failure::error(format!("{trace} was not summarised: the run ended first ({})", reason.words())))
        }
        None => Err(Failure::error(format!("{trace} was not summarised: a summary would not be shorter"))),
    }
}

fn as_text(trace: &TraceId, look: &Look<'_>, all: bool, width: usize) -> Vec<String> {
    let Look { state, layout, .. } = look;
    let estimate = look.estimate();
    let request = match state.model {
        Some(model) => format!("request {}", model.request),
        None => "the next request".into(),
    };
    let agent = match &look.spec.preset {
        Some(preset) => format!(" · agent {}", one_line(&preset.name)),
        None => String::new(),
    };
    let mut lines = vec![
        format!("{trace} · turn {} · {request} · {}{agent}", state.counts.turns, one_line(&look.spec.model)),
        room(look),
        format!(
            "margin: sizes are estimates: 1 estimated token counts as {}.{:02} tokens",
            layout.per_mille / 1_000,
            layout.per_mille % 1_000 / 10
        ),
        format!("nearly full at {}: older messages are then left out or summarised", number(layout.full)),
        String::new(),
        format!("{:<9}{:>10}{:>10}   of the window", "section", "tokens", "share"),
    ];
    for (section, share, tokens) in &layout.sections {
        let over = if tokens > share { "  above its share" } else { "" };
        let bar = bar(*tokens, layout.most, width.saturating_sub(54).min(60));
        lines.push(format!("{:<9}{:>10}{:>10}   {bar}{over}", section.as_str(), number(*tokens), number(*share)));
    }
    if layout.sections.iter().any(|(_, share, tokens)| tokens > share) {
        lines.push(
            "above its share: fine; a share is a guide, and nothing is left out before the request is nearly full"
                .into(),
        );
    }
    let free = layout.most.saturating_sub(estimate);
    let counted = look.counted.map_or(String::new(), |count| format!("   the vendor counted {}", number(count)));
    lines.push(format!("{:<9}{:>10}{:>10}{counted}", "total", number(estimate), ""));
    lines.push(format!("{:<9}{:>10}", "free", number(free)));
    for (section, ..) in &layout.sections {
        let rows: Vec<(String, u32, String)> = match section {
            Section::System => {
                let name = |name: String| from_workspace(&name, &look.spec.workspace).unwrap_or(name);
                // The tools first: where not all are listed, what was said to the model is.
                let (tools, texts): (Vec<_>, Vec<_>) =
                    fixed_parts(look.spec).into_iter().partition(|(what, _)| what.starts_with("tool "));
                let parts = tools.into_iter().chain(texts);
                parts.map(|(what, tokens)| (name(what), tokens, String::new())).collect()
            }
            _ => layout.parts.iter().filter(|part| part.section == *section).map(|part| row(look, part)).collect(),
        };
        list(&mut lines, section.as_str(), &rows, all, width);
    }
    lines.extend(skills(&look.spec.told_skills().collect::<Vec<_>>(), all));
    if !layout.left_out.is_empty() {
        lines.extend([String::new(), "left out".into()]);
    }
    let shown = if all { layout.left_out.len() } else { 2 * LISTED };
    for left in layout.left_out.iter().take(shown) {
        let messages = match left.messages {
            1 => format!("#{}", left.first),
            n => format!("#{}–#{} ({n})", left.first, left.last),
        };
        let shrunk = if left.shown > 0 { format!(" → {}", number(left.shown)) } else { String::new() };
        let unheld = match left.demands {
            0 => String::new(),
            n => format!("; {n} with requirements that do not all fit into the summary (key: [shares] summary)"),
        };
        let why = why(look.bodies, left.by);
        let line = format!("   {messages:<20}{:>9}{shrunk}  {why}{unheld}", number(left.tokens));
        lines.push(line);
    }
    if layout.left_out.len() > shown {
        lines.push(format!("   … and {} more: --all", layout.left_out.len() - shown));
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// How the model is told of the skills that there were when the spec was made: in numbers, with `all` by their names.
fn skills(listed: &[&ListedSkill], all: bool) -> Vec<String> {
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
    let is_told = |one: &&ListedSkill| !matches!(one.shown, SkillShown::PersonOnly | SkillShown::Untrusted);
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
fn room(look: &Look<'_>) -> String {
    let Taken { margin, beyond_limit } = look.taken();
    let limit = match beyond_limit {
        0 => String::new(),
        more => format!(" − {} beyond max_context_chars", number(more)),
    };
    let Layout { window, reserved, most, .. } = look.layout;
    let (window, reserved) = (number(window.into()), number(reserved.into()));
    format!("window {window} − answer {reserved} − margin {}{limit} = {} for the request", number(margin), number(most))
}

/// The rows of a section: its newest, or all.
fn list(lines: &mut Vec<String>, name: &str, rows: &[(String, u32, String)], all: bool, width: usize) {
    if rows.is_empty() {
        return;
    }
    lines.extend([String::new(), name.into()]);
    let listed = if all || rows.len() <= LISTED { rows.len() } else { LISTED - 1 };
    let (earlier, newest) = rows.split_at(rows.len() - listed);
    if !earlier.is_empty() {
        let tokens = earlier.iter().map(|(_, tokens, _)| u64::from(*tokens)).sum();
        lines.push(format!("   {:<24}{:>9}", format!("{} earlier: --all", earlier.len()), number(tokens)));
    }
    for (what, tokens, text) in newest {
        let what = if width == usize::MAX { what.clone() } else { fit_middle(what, 24) };
        let line = format!("   {what:<24}{:>9}  {text}", number(u64::from(*tokens)));
        lines.push(line.trim_end().into());
    }
}

fn row(look: &Look<'_>, part: &Placed) -> (String, u32, String) {
    let (what, how) = kind(&part.item);
    let number = part.item.seq().map_or(String::new(), |seq| format!("#{seq} "));
    let said = match message(&look.state, look.bodies, &part.item) {
        Some(message) => gist(&message),
        None => "(erased)".into(),
    };
    let how = if how.is_empty() { String::new() } else { format!("[{how}] ") };
    (format!("{number}{what}"), part.tokens, format!("{how}{said}"))
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
