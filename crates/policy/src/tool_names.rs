//! Names of tools as a configuration has them, beside its rules: own names, aliases, patterns.

use crate::glob::{Glob, GlobError};
use crate::narrow_pattern::NarrowPattern;
use crate::pattern::OWN_TOOLS;
use mainpath_types::{MCP_TOOLS, TOOL_ALIASES, foreign_tool_name, own_tool_name};
use std::str::FromStr;

/// A tool's name or alias, or a pattern for names such as `mcp__github__*`, as rules have it.
#[derive(Clone, Debug)]
pub struct ToolNames {
    text: String,
    glob: Glob,
}

/// Why a text does not name tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolNameError {
    /// It is neither a name nor a pattern for names.
    #[error("{0:?} is not a tool's name, nor a pattern for names such as mcp__github__*")]
    NotAName(String),
    /// It is not a pattern.
    #[error(transparent)]
    Pattern(#[from] GlobError),
    /// It names a tool, and its words fit fewer commands than may have been meant.
    #[error(transparent)]
    Narrow(#[from] Box<NarrowPattern>),
    /// No tool has this name.
    #[error(
        "there is no tool {name:?}; those of MCP servers are called mcp__SERVER__TOOL, and * stands for any letters"
    )]
    Unknown {
        /// The name.
        name: String,
    },
    /// No tool has this name, and one has nearly the same.
    #[error("there is no tool {name:?}; did you mean {meant:?}?")]
    Misspelt {
        /// The name.
        name: String,
        /// The nearest name of a tool.
        meant: String,
    },
    /// It is the name of an MCP server.
    #[error("there is no tool {name:?}; for all tools of the MCP server {server:?} write {MCP_TOOLS}{server}__*")]
    Server {
        /// The name.
        name: String,
        /// The server.
        server: String,
    },
    /// It may be the name of a program.
    #[error("there is no tool {0:?}; for the program write bash({0} *)")]
    Program(String),
}

impl FromStr for ToolNames {
    type Err = ToolNameError;
    fn from_str(text: &str) -> Result<ToolNames, ToolNameError> {
        let text = text.trim();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-*?[]{},!".contains(letter);
        if text.is_empty() || !text.chars().all(fits) {
            return Err(ToolNameError::NotAName(text.into()));
        }
        Ok(ToolNames { text: text.into(), glob: Glob::word(own_tool_name(text))? })
    }
}

impl ToolNames {
    /// Whether a tool of this own name is meant.
    pub fn matches(&self, tool: &str) -> bool {
        self.glob.matches(tool)
    }

    /// The tool's own name, if it names just one.
    pub fn one(&self) -> Option<&str> {
        (!self.text.contains(['*', '?', '[', '{'])).then(|| own_tool_name(&self.text))
    }

    /// Holds it to the tools that there are: these, and all that Mainpath can have. Errors: it means none of them, and could mean
    /// none that a server brings; what may have been meant.
    pub fn check<'t>(&self, tools: impl IntoIterator<Item = &'t str>) -> Result<(), ToolNameError> {
        let known: Vec<&str> = tools.into_iter().chain(OWN_TOOLS).collect();
        self.check_server(&known)?;
        if self.text.starts_with(MCP_TOOLS) || known.iter().any(|tool| self.matches(tool)) {
            return Ok(());
        }
        let name = self.text.clone();
        Err(match self.near(known) {
            None => ToolNameError::Unknown { name },
            Some(meant) => ToolNameError::Misspelt { name, meant: meant.into() },
        })
    }

    /// Errors: it is the name of an MCP server, as others write it for all tools of the server.
    fn check_server(&self, known: &[&str]) -> Result<(), ToolNameError> {
        let server = self.one().and_then(|name| name.strip_prefix(MCP_TOOLS)).map(|rest| rest.trim_end_matches('_'));
        let is_server = |server: &&str| !server.is_empty() && !server.contains("__");
        match server.filter(is_server).filter(|_| !known.iter().any(|tool| self.matches(tool))) {
            None => Ok(()),
            Some(server) => Err(ToolNameError::Server { name: self.text.clone(), server: server.into() }),
        }
    }

    fn near<'t>(&self, known: Vec<&'t str>) -> Option<&'t str> {
        let near = known.into_iter().chain(TOOL_ALIASES.iter().map(|(alias, _)| *alias));
        let (distance, name) = near.map(|name| (strsim::damerau_levenshtein(name, &self.text), name)).min()?;
        let most = if self.text.len() < 5 { 1 } else { 2 };
        if distance <= most { Some(name) } else { foreign_tool_name(&self.text) }
    }

    /// Whether it may mean a tool whose name begins like this.
    fn may_begin(&self, prefix: &str) -> bool {
        let letters = self.text.split(['*', '?', '[', '{', '!']).next().unwrap_or_default();
        letters.starts_with(prefix) || letters.len() < self.text.len() && prefix.starts_with(letters)
    }
}

/// Holds a rule's pattern, such as `bash(git *)`, to the tools that there are: these, all that Mainpath can have, and those that a server
/// brings, whose names begin with one of `prefixes`. Errors: it names none of them; what may have been meant.
pub fn check_rule_tool(pattern: &str, tools: &[&str], prefixes: &[&str]) -> Result<(), ToolNameError> {
    let Some(names) = named(pattern) else { return Ok(()) };
    if prefixes.iter().any(|prefix| names.may_begin(prefix)) {
        return Ok(());
    }
    names.check_server(tools)?;
    if names.may_begin(MCP_TOOLS) {
        return Ok(());
    }
    let is_program = names.text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    names.check(tools.iter().copied()).map_err(|problem| match problem {
        ToolNameError::Unknown { name } if is_program => ToolNameError::Program(name),
        problem => problem,
    })
}

/// The same for rules of who may mean a tool that comes later: only a slip of the pen is told, the name of a tool that there is but for a
/// letter or two, and the name of an MCP server alone.
pub fn check_slip(pattern: &str, tools: &[&str]) -> Result<(), ToolNameError> {
    let Some(names) = named(pattern) else { return Ok(()) };
    names.check_server(tools)?;
    let known: Vec<&str> = tools.iter().copied().chain(OWN_TOOLS).collect();
    let is_known = known.iter().any(|tool| names.matches(tool));
    if !is_known && names.near(known).is_some() { check_rule_tool(pattern, tools, &[]) } else { Ok(()) }
}

/// The tools that a pattern names. What cannot be read is another check's to tell.
fn named(pattern: &str) -> Option<ToolNames> {
    pattern.split('(').next().unwrap_or_default().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_tools_own_or_its_alias_or_a_pattern_and_a_slip_of_the_pen_is_told() {
        let names = |text: &str| text.parse::<ToolNames>().unwrap();
        for (text, tool, fits) in [
            ("bash", "bash", true),
            ("execute_bash", "bash", true),
            ("write", "write_text_file", true),
            ("write", "edit_text_file", false),
            ("*_text_file", "edit_text_file", true),
            ("mcp__github__*", "mcp__github__list", true),
            ("mcp__github__*", "mcp__gitlab__list", false),
        ] {
            assert_eq!(names(text).matches(tool), fits, "{text} {tool}");
            assert_eq!(names(text).check(["process_stop"]), Ok(()), "{text}");
        }
        let wrong = |text: &str| names(text).check(["process_stop"]).unwrap_err().to_string();
        assert_eq!(wrong("bsh"), "there is no tool \"bsh\"; did you mean \"bash\"?");
        assert_eq!(wrong("WebSearch"), "there is no tool \"WebSearch\"; did you mean \"web_search\"?");
        assert_eq!(wrong("Read"), "there is no tool \"Read\"; did you mean \"read\"?");
        assert_eq!(wrong("proces_stop"), "there is no tool \"proces_stop\"; did you mean \"process_stop\"?");
        assert_eq!(
            wrong("nosuch"),
            "there is no tool \"nosuch\"; those of MCP servers are called mcp__SERVER__TOOL, and * stands for any letters"
        );
        assert!(wrong("nosuch*").starts_with("there is no tool \"nosuch*\""));
        assert_eq!((names("execute_bash").one(), names("b*").one()), (Some("bash"), None));
        for text in ["", "a b", "bash(x)", "[a"] {
            assert!(text.parse::<ToolNames>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_told_where_a_tool_may_come_later() {
        let told = |pattern: &str| check_slip(pattern, &["count_words"]);
        for (pattern, meant) in [("bsh(git *)", "bash"), ("count_word", "count_words")] {
            let name = pattern.split('(').next().unwrap();
            assert_eq!(told(pattern), Err(ToolNameError::Misspelt { name: name.into(), meant: meant.into() }));
        }
        for pattern in ["bash(git *)", "count_words", "later_tool(a=1)", "*"] {
            assert_eq!(told(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn a_rule_that_names_no_tool_is_told_and_a_program_by_the_rule_for_it() {
        let told = |pattern: &str| {
            check_rule_tool(pattern, &["process_stop", "count_words"], &["notes_"]).err().map(|error| error.to_string())
        };
        let program = |name: &str| Some(format!("there is no tool {name:?}; for the program write bash({name} *)"));
        for name in ["wc", "rm", "ssh", "docker-compose", "note"] {
            assert_eq!((told(name), told(&format!("{name}(*)"))), (program(name), program(name)));
        }
        assert_eq!(
            told("delete_file"),
            Some(
                "there is no tool \"delete_file\"; those of MCP servers are called \
                 mcp__SERVER__TOOL, and * stands for any letters"
                    .into()
            )
        );
        assert_eq!(
            told("proces_stop"),
            Some("there is no tool \"proces_stop\"; did you mean \"process_stop\"?".into())
        );
        for known in [
            "bash",
            "execute_bash(git *)",
            "web_fetch",
            "count_words(text=x)",
            "process_*",
            "*",
            "mcp__github__*",
            "m*",
            "*github*",
            "notes_read",
            "note*",
            "write(src/**)",
        ] {
            assert_eq!(told(known), None, "{known}");
        }
        assert!(told("nosuch*").is_some() && told("notesread").is_some());
    }

    #[test]
    fn the_name_of_a_server_alone_names_no_tool_wherever_a_rule_or_a_list_has_it() {
        let error = ToolNameError::Server { name: "mcp__note".into(), server: "note".into() };
        let told = "there is no tool \"mcp__note\"; for all tools of the MCP server \"note\" write mcp__note__*";
        assert_eq!(error.to_string(), told);
        let wrong = Err(error);
        assert_eq!(check_rule_tool("mcp__note", &[], &["notes_"]), wrong);
        assert_eq!(check_rule_tool("mcp__note(to=x)", &[], &[]), wrong);
        assert_eq!(check_slip("mcp__note", &["bash"]), wrong);
        assert_eq!("mcp__note".parse::<ToolNames>().unwrap().check(["bash"]), wrong);
        assert!(check_rule_tool("mcp__note__", &[], &[]).is_err());
        for known in ["mcp__note__*", "mcp__note__add", "mcp__note*", "mcp__*", "mcp__own"] {
            assert_eq!(check_rule_tool(known, &["mcp__own"], &[]), Ok(()), "{known}");
            assert_eq!(check_slip(known, &["mcp__own"]), Ok(()), "{known}");
        }
        assert_eq!(check_rule_tool("mcp__notes", &[], &["mcp__n"]), Ok(()));
    }
}
