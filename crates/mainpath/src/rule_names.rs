//! Whether the rules of a run name tools that there are: a rule for a tool that there is not would hold for nothing.

use crate::agent::REACHING;
use crate::home::OPTIONAL;
use crate::rules::{check_singles, narrow};
use crate::{Error, Home};
use mainpath_mcp::Servers;
use mainpath_policy::{Layer, Policy, ToolNameError, check_rule_tool, check_spelling};
use mainpath_tools::Tools;
use mainpath_types::RunRules;
use std::path::Path;

/// The names that rules may have of tools in a workspace.
pub struct RuleNames {
    names: Vec<String>,
    /// How the names begin of the tools of MCP servers that have a prefix of their own.
    prefixes: Vec<String>,
}

impl RuleNames {
    /// Those of these tools, of all that can be switched on, and of the MCP servers of the workspace and of a run's file.
    pub fn new(home: &Home, tools: &Tools, workspace: &Path, run_file: Option<&Path>) -> RuleNames {
        // What is wrong with a file of servers is told where they are connected.
        let read = Servers::read(&home.config.mcp, &home.config_file, workspace, run_file);
        let servers = read.map(|read| read.servers).unwrap_or_default();
        RuleNames {
            names: known(home, tools),
            prefixes: servers.iter().map(|server| server.prefix()).filter(|prefix| !prefix.is_empty()).collect(),
        }
    }

    /// Checks the rules and breakpoints that a caller gives one by one. Errors: the list of one that names no tool, and what may have been
    /// meant.
    pub fn check(&self, rules: &RunRules) -> Result<(), Error> {
        check_singles(rules, |pattern| self.known(pattern).and_then(|()| check_spelling(pattern))).map(drop)
    }

    /// The rules of files that name no tool, and those of anybody that mean a command of one word where arguments may have been meant, in
    /// a line each: file, line, and what may have been meant.
    pub fn warnings(&self, policy: &Policy) -> Vec<String> {
        let of_people = policy.rules().iter().filter(|rule| rule.layer != Layer::Builtin);
        let placed = of_people.filter_map(|rule| rule.place.as_ref().map(|place| (rule, place)));
        let wrong = placed.flat_map(|(rule, (file, line))| {
            let problems = rule.matches.iter().filter_map(|pattern| self.known(pattern).err());
            problems.map(move |problem| format!("{file}, line {line}: {problem}"))
        });
        wrong.chain(narrow(policy)).collect()
    }

    /// Whether a call such as `bash(ls)` is one of a tool that there is. Errors: it is none, and what may have been meant.
    pub fn check_call(&self, call: &str) -> Result<(), ToolNameError> {
        self.known(call)
    }

    fn known(&self, pattern: &str) -> Result<(), ToolNameError> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).chain(REACHING).collect();
        let prefixes: Vec<&str> = self.prefixes.iter().map(String::as_str).collect();
        check_rule_tool(pattern, &names, &prefixes)
    }
}

/// The tools that an installation has and could have.
fn known(home: &Home, tools: &Tools) -> Vec<String> {
    let mut names = tools.names();
    names.extend(optional(home));
    names
}

/// Those that it could have: also those that cannot be used just now.
pub(crate) fn optional(home: &Home) -> Vec<String> {
    let external = home.config.tools.external.iter().map(|tool| tool.name.clone());
    OPTIONAL.iter().map(|tool| tool.name.into()).chain(external).collect()
}
