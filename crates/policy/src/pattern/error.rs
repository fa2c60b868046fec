//! Why a text is not a pattern, and why no call can match one.

use crate::glob::GlobError;

/// The longest pattern with its tool, in bytes.
pub(super) const LONGEST: usize = 4_000;

/// Why a text is not a pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is empty.
    #[error("the rule is empty; it looks like bash(git status) or write(src/**)")]
    Empty,
    /// It has a control character.
    #[error("the rule {0:?} holds a control character")]
    Control(String),
    /// It is too long.
    #[error("the rule is longer than {LONGEST} bytes")]
    TooLong,
    /// Its parenthesis is not closed.
    #[error("the rule {0:?} lacks its closing )")]
    Unclosed(String),
    /// Nothing is between its parentheses.
    #[error("the rule {text:?} says nothing between its parentheses; {name} alone is every call of it")]
    NoWords {
        /// The pattern.
        text: String,
        /// The name of the tool.
        name: String,
    },
    /// It does not begin with a tool's name.
    #[error("{0:?} is not a tool's name; a rule looks like bash(git status) or write(src/**)")]
    NotAName(String),
    /// No tool has this name, and one has nearly the same.
    #[error("there is no tool {name:?}; did you mean {meant:?}?")]
    Misspelt {
        /// The name.
        name: String,
        /// The nearest name of a tool.
        meant: &'static str,
    },
    /// It names its tool as another program does.
    #[error("the rule {text:?} is in the spelling of another program; write {instead}")]
    Foreign {
        /// The pattern.
        text: String,
        /// The patterns that mean the same here.
        instead: String,
    },
    /// One of its words has a wildcard that cannot be read.
    #[error(transparent)]
    Glob(#[from] GlobError),
    /// It has more than one `|`, or a side of it without a command.
    #[error("{0:?} is not a command; a pattern has at most one |, with a command on both sides")]
    NotACommand(String),
    /// A quotation is not closed.
    #[error("{text:?} lacks a closing {quote}")]
    Unquoted {
        /// The words.
        text: String,
        /// The quotation mark.
        quote: char,
    },
    /// Nothing follows a backslash.
    #[error("{0:?} ends in a backslash")]
    Backslash(String),
    /// A path has a `..` step.
    #[error("{0:?} holds a .. step, which no resolved path has")]
    Climbs(String),
    /// This build compares no addresses.
    #[error("{0:?} is a rule for addresses: this program lacks the feature http of mainpath")]
    NoAddresses(String),
    /// It is not an address.
    #[error("{0:?} is not an address; it looks like GET https://api.example.com/v1/**")]
    NotAnAddress(String),
    /// A word before an address is not a method.
    #[error("{word:?} is not an HTTP method{}", question(*meant))]
    NotAMethod {
        /// The word.
        word: String,
        /// The nearest method.
        meant: Option<&'static str>,
    },
    /// An address has a query.
    #[error("{text:?} can never match: an address is compared without its query; write {instead}")]
    Query {
        /// The pattern.
        text: String,
        /// The address without its query.
        instead: String,
    },
    /// No call can match it.
    #[error("{text:?} can never match: {why}")]
    NeverMatches {
        /// The pattern.
        text: String,
        /// The cause.
        why: Box<NeverMatches>,
    },
}

/// Why no call can match a pattern, and what to write instead. `written` is the tool's name as the pattern has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeverMatches {
    /// A command is written as an argument.
    #[error("a command is written alone: {written}({command})")]
    NamedCommand {
        /// The tool.
        written: String,
        /// The command.
        command: String,
    },
    /// A variable is set before a command.
    #[error("a variable set before a command is not one of its words; write {written}({command})")]
    Variable {
        /// The tool.
        written: String,
        /// The command without it.
        command: String,
    },
    /// A program is followed by `:*`.
    #[error("no program is called {program:?} and a colon; with any arguments write {written}({program} *)")]
    Colon {
        /// The tool.
        written: String,
        /// The program.
        program: String,
    },
    /// It lists several commands.
    #[error("a pattern is about one command; write {0}")]
    List(String),
    /// The program is a word of the shell.
    #[error("{0:?} is a word of the shell, not a program; write a rule for the command after it")]
    Keyword(String),
    /// A word separates commands.
    #[error(
        "a command line is judged command by command, so no command contains {0:?}; write one rule for each \
         command, or quote the word"
    )]
    Separator(String),
    /// A word redirects.
    #[error("a redirection such as {word:?} is not part of a command; write {tool}(FILE), or quote the word")]
    Redirection {
        /// The word.
        word: String,
        /// The tool that is judged in its place.
        tool: &'static str,
    },
    /// A word has a command in it.
    #[error(
        "a command inside another, as in {0:?}, is judged on its own; write one rule for each command, or quote the word"
    )]
    Substitution(String),
    /// A path is written as an argument.
    #[error("the path is written alone: {written}({path})")]
    NamedPath {
        /// The tool.
        written: String,
        /// The path.
        path: String,
    },
    /// It compares the content of a file that is read.
    #[error("what a file contains is not known before it is read; write {0}(PATH), such as {0}(src/**)")]
    ContentOfRead(String),
    /// It compares an argument of a file tool that cannot be compared.
    #[error("{written} has no {argument:?} to compare; the text that is written is {written}(content=…)")]
    FileArgument {
        /// The tool.
        written: String,
        /// The argument.
        argument: String,
    },
    /// An address is given to a file tool.
    #[error("{0:?} is an address, not a file; write web_fetch({0}) or http_request({0})")]
    AddressAsPath(String),
    /// A path ends in a slash.
    #[error("no path ends in a slash; write {written}({folder}/**) for all that is in the folder")]
    Slash {
        /// The tool.
        written: String,
        /// The path without the slash.
        folder: String,
    },
    /// The path is `.`.
    #[error("write {0}(**) for everything in the workspace")]
    Workspace(String),
    /// The path begins with the home of a user by name.
    #[error("{0:?} cannot be resolved; write ~/ for your home, or the absolute path")]
    Home(String),
    /// A path has an empty step or a `.` step.
    #[error("{0:?} has an empty step or a . step, which no resolved path has; leave it out")]
    Step(String),
    /// A tool that is compared by its arguments is given words.
    #[error("{written} is compared by its arguments; write {written}(NAME=VALUE), such as {written}(text=*{words}*)")]
    Words {
        /// The tool.
        written: String,
        /// The words.
        words: String,
    },
}

/// The question for the nearest known name.
pub(crate) fn question(meant: Option<&str>) -> String {
    meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default()
}
