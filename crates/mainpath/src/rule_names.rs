//! Whether the rules of a run name tools that there are: a rule for a tool that there is not would hold for nothing.

use crate::agent::REACHING;
use crate::home::OPTIONAL;
use crate::rules::check_singles;
use crate::{Error, Home};
use mainpath_mcp::Servers;
use mainpath_policy::{Layer, Policy, ToolNames, check_rule_tool};
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
        check_singles(rules, |pattern| self.known(pattern)).map(drop)
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
        let others = policy.rules().iter().filter(|rule| rule.layer != Layer::Builtin);
        let narrow = others.flat_map(|rule| {
            let at = rule.place.as_ref().map(|(file, line)| format!("{file}, line {line}: ")).unwrap_or_default();
            rule.matches.iter().filter_map(|pattern| one_word(pattern)).map(move |hint| format!("{at}{hint}"))
        });
        wrong.chain(narrow).collect()
    }

    /// Whether a call such as `bash(ls)` is one of a tool that there is. Errors: it is none, and what may have been meant.
    pub fn check_call(&self, call: &str) -> Result<(), String> {
        self.known(call)
    }

    fn known(&self, pattern: &str) -> Result<(), String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).chain(REACHING).collect();
        let prefixes: Vec<&str> = self.prefixes.iter().map(String::as_str).collect();
        check_rule_tool(pattern, &names, &prefixes)
    }
}

/// What may have been meant by a pattern whose last word has a sign at its end: `bash(rm*)`, `bash(git push*)`, and `bash(git push:*)`, by which
/// another program means any arguments.
fn one_word(pattern: &str) -> Option<String> {
    let (tool, words) = pattern.strip_suffix(')')?.split_once('(')?;
    let names: ToolNames = tool.parse().ok()?;
    let begins = words.strip_suffix('*').filter(|words| !words.contains(['\'', '"', '\\']))?;
    let (plain, colon) = begins.strip_suffix(':').map_or((begins, ""), |plain| (plain, ":"));
    let last = plain.rsplit(char::is_whitespace).next().unwrap_or_default();
    // With several words, a dot or a slash is one of a file, and a joint begins a name.
    let is_only = last.len() == plain.len();
    let joint = |c: char| matches!(c, '-' | '_') || is_only && matches!(c, '.' | '/');
    let is_word = !last.is_empty()
        && last.chars().all(|c| c.is_alphanumeric() || joint(c))
        && (is_only || !last.ends_with(['-', '_']));
    (is_word && names.matches("bash")).then(|| {
        let what = if is_only { "is compared with a single word" } else { "compares its last sign within a single word" };
        let word = format!("{last}{colon}");
        format!("{pattern} {what} that begins with {word:?}, so it does not fit `{plain} x`; with any arguments write {tool}({plain} *)")
    })
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

#[cfg(test)]
mod tests {
    use super::one_word;

    #[test]
    fn a_pattern_of_one_word_is_pointed_out_where_arguments_may_have_been_meant() {
        let hint = "bash(rm*) is compared with a single word that begins with \"rm\", so it does not fit `rm x`; with any arguments write bash(rm *)";
        assert_eq!(one_word("bash(rm*)").as_deref(), Some(hint));
        assert!(
            one_word("execute_bash(./deploy*)").is_some_and(|hint| hint.ends_with("write execute_bash(./deploy *)"))
        );
        for (pattern, meant) in [
            ("bash(git push*)", "bash(git push *)"),
            ("bash(git push:*)", "bash(git push *)"),
            ("bash(npm run test:*)", "bash(npm run test *)"),
            ("execute_bash(cargo  publish*)", "execute_bash(cargo  publish *)"),
        ] {
            let hint = one_word(pattern).unwrap_or_default();
            assert!(hint.ends_with(&format!("with any arguments write {meant}")), "{pattern}: {hint}");
        }
        for clear in [
            "bash(rm *)",
            "bash(*)",
            "bash(cat src/*)",
            "bash(cargo test my_*)",
            "bash(ls 'a b*)",
            "bash",
            "read(src*)",
            "bash(rm)",
            "bash(r*m*)",
            "bash(git *push*)",
            "(",
        ] {
            assert_eq!(one_word(clear), None, "{clear}");
        }
    }
}
