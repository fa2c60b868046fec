//! What a rule is about: `bash(git push *)`, `write(src/**)`, `http_request(GET https://api.example.com/**)`, `mcp__github__*`.
//!
//! A deny or an ask is read **widely**: whatever may be meant is meant. An allow is read **strictly**: only what is certain.

mod address;
mod argument;
mod command;
mod error;
mod fit;
mod foreign;
mod path;
mod possible;
mod seen;

pub(crate) use address::Address;
pub use address::AddressRule;
pub(crate) use command::quoted;
pub(crate) use error::question;
pub use error::{NeverMatches, PatternError};
pub use fit::Folders;
pub(crate) use fit::{Fit, Reading};
pub(crate) use path::{Opened, Place, PlaceText, plain};
pub(crate) use possible::check_command;
pub(crate) use seen::Seen;

use crate::CallFacts;
use crate::glob::Glob;
use crate::part::Part;
use address::AddressPattern;
use argument::ArgumentPattern;
use command::CommandPattern;
use error::LONGEST;
use mainpath_types::{Destination, TOOL_ALIASES, own_tool_name};
use path::PathPattern;
use serde_json::Value;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    tool: Glob,
    scope: Scope,
    what: What,
}

/// To which tools' parts a pattern applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Those of the tools of the pattern's name.
    Tool,
    /// The commands of every tool.
    Commands,
    /// The files that any tool reads.
    Reads,
    /// The files that any tool changes.
    Writes,
}

#[derive(Clone, Debug)]
enum What {
    /// The call, whatever its arguments.
    Everything,
    Command(CommandPattern),
    Path(PathPattern),
    Address(AddressPattern),
    Arguments(Vec<ArgumentPattern>),
    /// The text that a file tool writes.
    Content(Glob),
    /// A tool that is not known here: the words are what its call has to offer.
    Words(CommandPattern, PathPattern),
}

impl Pattern {
    /// Reads a pattern. Errors: what is wrong with it, in words for its author; also if no call can fit it, or if it names its tool as another
    /// program does.
    pub fn parse(text: &str, folders: &Folders) -> Result<Pattern, PatternError> {
        foreign::check(text.trim())?;
        let pattern = Pattern::recorded(text, folders)?;
        if let Some((name, rest)) = text.trim().split_once('(') {
            let inner = rest.strip_suffix(')').unwrap_or_default().trim();
            possible::check(own_tool_name(name.trim()), name.trim(), inner)
                .map_err(|why| PatternError::NeverMatches { text: text.into(), why: Box::new(why) })?;
        }
        Ok(pattern)
    }

    /// Reads a pattern that a log has. One that no call can fit was accepted in earlier versions.
    pub fn recorded(text: &str, folders: &Folders) -> Result<Pattern, PatternError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.contains(char::is_control) {
            return Err(PatternError::Control(text.into()));
        }
        if text.len() > LONGEST {
            return Err(PatternError::TooLong);
        }
        let (name, inner) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| PatternError::Unclosed(text.into()))?;
                (name, Some(inner.trim()))
            }
        };
        let name = check_name(name)?;
        let tool = Glob::word(own_tool_name(name))?;
        let Some(inner) = inner else { return Ok(Pattern { tool, scope: Scope::Tool, what: What::Everything }) };
        if inner.is_empty() {
            return Err(PatternError::NoWords { text: text.into(), name: name.into() });
        }
        if let Some((tools, content)) = content(own_tool_name(name), inner) {
            return Ok(Pattern {
                tool: Glob::word(tools)?,
                scope: Scope::Tool,
                what: What::Content(Glob::word(content)?),
            });
        }
        let (scope, what) = match own_tool_name(name) {
            "bash" => (Scope::Commands, What::Command(CommandPattern::parse(inner)?)),
            "read_text_file" => (Scope::Reads, What::Path(PathPattern::parse(inner, folders)?)),
            "write_text_file" => (Scope::Writes, What::Path(PathPattern::parse(inner, folders)?)),
            own => (Scope::Tool, what(own, inner, folders)?),
        };
        Ok(Pattern { tool, scope, what })
    }

    /// How well it fits a part of a call.
    pub fn fit(&self, tool: &str, part: &Part<'_>, reading: Reading) -> Fit {
        let in_scope = match (self.scope, part) {
            (Scope::Commands, Part::Command(_) | Part::Flow(..) | Part::Unclear(_)) => true,
            (Scope::Reads, Part::Path(place)) => !place.write || reading == Reading::Wide && place.reads_too,
            (Scope::Writes, Part::Path(place)) => place.write,
            _ => self.scope == Scope::Tool && self.tool.matches(tool),
        };
        if !in_scope {
            return Fit::No;
        }
        match (&self.what, part) {
            (What::Everything, _) => Fit::Yes,
            (What::Command(pattern) | What::Words(pattern, _), Part::Command(seen)) => pattern.fit(seen, reading),
            (What::Command(pattern) | What::Words(pattern, _), Part::Flow(from, to)) => pattern.fit_flow(from, to),
            (What::Command(pattern), Part::Unclear(_)) => pattern.fit_unknown(),
            (What::Path(pattern) | What::Words(_, pattern), Part::Path(place)) => pattern.fit(place, reading),
            (What::Address(pattern), Part::Address(address, _)) => pattern.fit(address, reading),
            (What::Arguments(patterns), Part::Call(arguments)) => {
                patterns.iter().map(|pattern| pattern.fit(arguments, reading)).min().unwrap_or(Fit::No)
            }
            (What::Content(glob), Part::Call(arguments)) => Fit::from(writes(glob, arguments)),
            _ => Fit::No,
        }
    }

    /// Returns true if it is about the text that is written. Such a rule can deny or ask; what may be written is allowed by the file.
    pub fn is_of_content(&self) -> bool {
        matches!(self.what, What::Content(_))
    }

    /// Whether it names the destination of a call of its tool: the argument's value, or the server of the address.
    pub fn names(&self, facts: &CallFacts, destination: &Destination) -> bool {
        let in_scope = self.scope == Scope::Tool && self.tool.matches(&facts.tool);
        in_scope
            && match &self.what {
                What::Arguments(patterns) => {
                    patterns.iter().any(|pattern| pattern.names(&destination.argument, &destination.value))
                        && patterns.iter().all(|pattern| {
                            pattern.is_of(&destination.argument)
                                || pattern.fit(&facts.arguments, Reading::Strict) == Fit::Yes
                        })
                }
                What::Address(pattern) => facts.urls.iter().any(|fact| {
                    fact.url == destination.value
                        && pattern.is_of_one_server()
                        && pattern.fit(&Address::new(fact), Reading::Strict) == Fit::Yes
                }),
                _ => false,
            }
    }

    /// The arguments that it compares, each by its path, with the tool's own name; `None` where it is about something else, or about
    /// tools by a pattern for names.
    pub fn arguments(&self) -> Option<impl Iterator<Item = (&str, &[String])>> {
        match (&self.what, self.tool.one()) {
            (What::Arguments(patterns), Some(tool)) => Some(patterns.iter().map(move |pattern| (tool, pattern.path()))),
            _ => None,
        }
    }

    /// Whether it is about calls of just these tools, not about what any tool may do.
    pub fn names_tool(&self) -> bool {
        self.scope == Scope::Tool
    }

    /// Whether it is about all calls of a tool.
    pub fn is_whole_tool(&self, tool: &str) -> bool {
        match self.scope {
            Scope::Tool => self.tool.matches(tool) && matches!(self.what, What::Everything),
            Scope::Commands => self.tool.matches(tool) && self.is_every_command(),
            Scope::Reads | Scope::Writes => false,
        }
    }

    /// Whether it holds for every command of a shell, whatever it is.
    pub fn is_every_command(&self) -> bool {
        match &self.what {
            What::Everything => true,
            What::Command(pattern) => pattern.is_everything(),
            _ => false,
        }
    }
}

/// The tools and the pattern of a rule about the text that they write: `write(content=*TOKEN*)`.
fn content<'t>(tool: &'t str, inner: &'t str) -> Option<(&'t str, &'t str)> {
    let (name, content) = inner.split_once('=')?;
    let tools = match tool {
        "write_text_file" => "{write_text_file,edit_text_file}",
        "edit_text_file" => tool,
        _ => return None,
    };
    (name.trim() == "content").then(|| (tools, content.trim()))
}

/// Returns true if the arguments of a file tool have it write a text that matches.
fn writes(glob: &Glob, arguments: &Value) -> bool {
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
    let texts = arguments.get("content").into_iter().chain(edits.filter_map(|edit| edit.get("new_text")));
    texts.filter_map(Value::as_str).any(|text| glob.matches(text))
}

/// What the words of a tool mean that has no words of its own, told by their shape.
fn what(tool: &str, inner: &str, folders: &Folders) -> Result<What, PatternError> {
    if let Some(arguments) = argument::parse(inner)? {
        return Ok(What::Arguments(arguments));
    }
    if address::is_address(inner) || ASKING.contains(&tool) {
        return Ok(What::Address(AddressPattern::parse(inner)?));
    }
    if matches!(inner, "*" | "**") {
        return Ok(What::Everything);
    }
    Ok(What::Words(CommandPattern::parse(inner)?, PathPattern::parse(inner, folders)?))
}

/// Those of Mainpath's own tools that ask an address.
const ASKING: [&str; 2] = ["http_request", "web_fetch"];

/// The tools that Mainpath itself can have, by their own names.
pub const OWN_TOOLS: [&str; 39] = [
    "agent",
    "ask_human",
    "bash",
    "check_messages",
    "edit_text_file",
    "evaluate",
    "expand_window",
    "feishu_bot",
    "feishu_get_contact_list",
    "find_skill",
    "find_tools",
    "get_experience",
    "glob",
    "goal",
    "grep",
    "http_request",
    "invoke_workflow",
    "json_transform",
    "knowledge_save",
    "knowledge_search",
    "list_calls",
    "list_files",
    "load_older_messages",
    "load_resource",
    "process_list",
    "process_output",
    "process_stop",
    "read_text_file",
    "recall_result",
    "redis_context",
    "run_script",
    "sandbox",
    "select_skills",
    "send_message",
    "take_changes",
    "use_tool",
    "web_fetch",
    "web_search",
    "write_text_file",
];

/// A tool's name, or a pattern for names. Errors: it cannot be one, or is a slip of the pen.
fn check_name(name: &str) -> Result<&str, PatternError> {
    let name = name.trim();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-*?[]{},!\\".contains(letter);
    if name.is_empty() || !name.chars().all(fits) {
        return Err(PatternError::NotAName(name.into()));
    }
    let known = || OWN_TOOLS.into_iter().chain(TOOL_ALIASES.iter().map(|(alias, _)| *alias));
    if known().any(|own| own == name) {
        return Ok(name);
    }
    match known().find(|own| strsim::damerau_levenshtein(own, name) == 1) {
        Some(meant) => Err(PatternError::Misspelt { name: name.into(), meant }),
        None => Ok(name),
    }
}
