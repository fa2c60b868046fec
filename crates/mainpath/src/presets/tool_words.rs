//! The tools that presets name, also by the words that other programs have for them.
//!
//! Claude Code's tools: <https://code.claude.com/docs/en/settings> ("Tools available to Claude").

use super::preset::{Preset, Remark};
use mainpath_policy::{Folders, Policy, RuleProblem, ToolNameError, ToolNames};
use mainpath_types::{Decision, MCP_TOOLS, foreign_tool_name, own_tool_name};

/// What other programs have and Mainpath has not.
const NOT_HERE: [&str; 18] = [
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "ReadMcpResourceTool",
    "SendMessage",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "ToolSearch",
];

/// Which list a word stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Allowed,
    Denied,
}

/// A word of a list of tools, such as `Read` or `Bash(git *)`.
pub(super) struct Word<'a> {
    pub list: List,
    pub text: &'a str,
    /// The line that it stands in.
    pub line: usize,
}

/// Puts a word into a preset. `known`: the names of the tools that there are and could be. Gives what of it is not supported.
/// Errors: it names no tool.
pub(super) fn add(preset: &mut Preset, word: &Word<'_>, known: &[String]) -> Result<Option<Remark>, Remark> {
    let remark = |text: String| Remark { line: Some(word.line), text };
    let unnamed = |error: ToolNameError| remark(error.to_string());
    let unread = |error: RuleProblem| remark(error.to_string());
    let (name, inner) = match word.text.split_once('(') {
        None => (word.text, None),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| remark(format!("{:?} lacks its closing )", word.text)))?;
            (name, Some(inner.trim()).filter(|inner| !matches!(*inner, "" | "*" | "**")))
        }
    };
    if NOT_HERE.contains(&name) {
        if word.list == List::Allowed {
            // A list of tools narrows, also where none of them exists here.
            preset.tools.get_or_insert_default();
        }
        return Ok(Some(remark(format!("there is no tool like {name} here; left out"))));
    }
    let own = match foreign_tool_name(name) {
        Some(own) => own.to_string(),
        // A server of Claude Code stands for all its tools.
        None if name.starts_with(MCP_TOOLS) && name.matches("__").count() == 1 => format!("{name}__*"),
        None => {
            let names: ToolNames = name.parse().map_err(unnamed)?;
            names.check(known.iter().map(String::as_str)).map_err(unnamed)?;
            own_tool_name(name).to_string()
        }
    };
    match (word.list, inner) {
        (List::Allowed, None) => push(preset.tools.get_or_insert_default(), own),
        (List::Denied, None) => push(&mut preset.denied_tools, own),
        (List::Allowed, Some(command)) if own == "bash" => {
            let command = prefix(command);
            check(&format!("bash({command})")).map_err(unread)?;
            push(preset.tools.get_or_insert_default(), own);
            push(&mut preset.commands, command);
        }
        (List::Allowed, Some(_)) if own == "agent" => {
            preset.tools.get_or_insert_default();
            return Ok(Some(remark(format!("{}: which agents may be started cannot be said; left out", word.text))));
        }
        (List::Allowed, Some(_)) => {
            let deny = "deny what it may not do";
            return Err(remark(format!(
                "{}: only bash can be allowed for some calls; name {own} and {deny}",
                word.text
            )));
        }
        (List::Denied, Some(inner)) => {
            let rule = format!("{own}({})", if own == "bash" { prefix(inner) } else { inner.into() });
            check(&rule).map_err(unread)?;
            push(&mut preset.denied_tools, rule);
        }
    }
    Ok(None)
}

/// `git push:*`, as Claude Code writes the beginning of a command, as a pattern.
fn prefix(command: &str) -> String {
    command.strip_suffix(":*").map_or_else(|| command.to_string(), |begin| format!("{begin} *"))
}

fn check(rule: &str) -> Result<(), RuleProblem> {
    Policy::new(Folders::default()).add_rule(Decision::Deny, rule).map_err(|error| error.problem)
}

fn push(list: &mut Vec<String>, name: String) {
    if !list.contains(&name) {
        list.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[(List, &str)]) -> (Preset, Vec<String>) {
        let (mut preset, mut told) = (Preset::default(), Vec::new());
        for (list, text) in words {
            match add(&mut preset, &Word { list: *list, text, line: 1 }, &["count_words".into()]) {
                Ok(None) => {}
                Ok(Some(note)) => told.push(note.text),
                Err(fault) => told.push(format!("! {}", fault.text)),
            }
        }
        (preset, told)
    }

    #[test]
    fn the_words_of_other_programs_mean_the_tools_that_do_the_same() {
        let allowed =
            ["Read", "Edit", "MultiEdit", "Bash(git *)", "Bash(npm run test:*)", "mcp__github", "count_words", "g*"];
        let denied = ["Write", "Bash(rm:*)", "WebFetch", "Read(secrets/**)", "task"];
        let words =
            allowed.map(|text| (List::Allowed, text)).into_iter().chain(denied.map(|text| (List::Denied, text)));
        let (preset, told) = read(&words.collect::<Vec<_>>());
        let expected = Preset {
            tools: Some(
                ["read_text_file", "edit_text_file", "bash", "mcp__github__*", "count_words", "g*"]
                    .map(String::from)
                    .into(),
            ),
            denied_tools: ["write_text_file", "bash(rm *)", "web_fetch", "read_text_file(secrets/**)", "agent"]
                .map(String::from)
                .into(),
            commands: ["git *", "npm run test *"].map(String::from).into(),
            ..Preset::default()
        };
        assert_eq!((preset, told), (expected, vec![]));
    }

    #[test]
    fn a_list_of_tools_that_do_not_exist_here_allows_none() {
        for name in NOT_HERE {
            let (preset, told) = read(&[(List::Allowed, name)]);
            assert_eq!((preset.tools, told.len()), (Some(vec![]), 1), "{name}");
            assert_eq!(read(&[(List::Denied, name)]).0.tools, None, "{name}");
        }
    }

    #[test]
    fn what_is_no_tool_is_told_and_what_is_left_out_never_becomes_all() {
        let (preset, told) = read(&[
            (List::Allowed, "NotebookEdit"),
            (List::Allowed, "Agent(worker)"),
            (List::Allowed, "raed"),
            (List::Allowed, "Write(src/**)"),
            (List::Allowed, "Bash(git *"),
            (List::Allowed, "a b"),
        ]);
        assert_eq!(preset, Preset { tools: Some(vec![]), ..Preset::default() });
        assert_eq!(
            told,
            [
                "there is no tool like NotebookEdit here; left out",
                "Agent(worker): which agents may be started cannot be said; left out",
                "! there is no tool \"raed\"; did you mean \"read\"?",
                "! Write(src/**): only bash can be allowed for some calls; name write_text_file and deny what it may not do",
                "! \"Bash(git *\" lacks its closing )",
                "! \"a b\" is not a tool's name, nor a pattern for names such as mcp__github__*",
            ]
        );
    }
}
