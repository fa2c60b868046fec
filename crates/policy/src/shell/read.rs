//! From the parser's tree to the parts of a command line.

use super::folder::WorkFolders;
use super::inner::Inner;
use super::limits::is_small;
use super::operands;
use super::runners::{takes_commands, tells};
use super::text::{Found, find};
use super::variables::{Runs, is_number, is_telling, name, runs};
use super::word::{Reads, word};
use super::wrappers::{folder, inner};
use super::{File, Script, Simple, Word};
use rable::{Node, NodeKind};
use std::ops::Range;

/// The most simple commands of a line.
const MOST_COMMANDS: usize = 500;
/// How deep commands may stand in each other: in the tree, and as text that is read again.
const DEEPEST: u32 = 60;
const DEEPEST_TEXT: u32 = 6;
/// The most source that is read for one line, that of scripts in scripts included, in bytes.
const MOST_SOURCE: usize = 256 * 1024;

/// Takes a command line apart.
#[derive(Default)]
pub(super) struct Reader {
    script: Script,
    depth: u32,
    text_depth: u32,
    bytes: usize,
    /// Some literal text looks like a substitution.
    hides_commands: bool,
    /// Something evaluates the text of a variable, which runs substitutions in it.
    evaluates: bool,
    /// The folder changes on the way.
    moves: bool,
    /// Where the next command may run.
    folders: WorkFolders,
    /// The next command reads what another one prints.
    piped: bool,
}

/// What a command reads from its standard input, where the line says so.
enum Input {
    /// Nothing is said.
    Unknown,
    /// This text.
    Text(String),
    /// What another command prints.
    Pipe,
}

impl Reader {
    /// Reads a line of its own.
    pub fn line(&mut self, line: &str) {
        if line.contains('\0') {
            return self.unclear("it holds a NUL character".into());
        }
        self.source(line);
    }

    /// What was found.
    pub fn done(mut self) -> Script {
        if self.hides_commands && self.evaluates {
            self.unclear("quoted text looks like a command, and the line evaluates text".into());
        }
        if self.moves {
            let files = self.script.files.iter_mut().chain(&mut self.script.operands);
            files.filter(|file| !file.path.text.starts_with(['/', '~'])).for_each(|file| file.path.fixed = false);
        }
        if let Some(file) = self.script.runs_what_it_writes() {
            self.unclear(format!("it runs {file:?}, which it writes itself"));
        }
        self.script
    }

    /// Reads the source of a command that stands in another.
    fn source(&mut self, source: &str) {
        self.bytes += source.len();
        if self.bytes > MOST_SOURCE || self.text_depth > DEEPEST_TEXT || !is_small(source) {
            return self.unclear("it is too long or too deeply nested to be read".into());
        }
        match rable::parse(source, false) {
            Ok(nodes) => {
                self.text_depth += 1;
                nodes.iter().for_each(|node| self.node(node));
                self.text_depth -= 1;
            }
            Err(error) => {
                self.unclear(format!("it cannot be parsed: {}", error.message()));
                // A shell runs the lines before the one that it cannot read.
                let end = source.match_indices('\n').nth(error.line().saturating_sub(2)).map(|(at, _)| at);
                if let Some(before) = end.filter(|_| error.line() > 1).and_then(|end| source.get(..end)) {
                    self.source(before);
                }
            }
        }
    }

    fn taint(&mut self, why: String) {
        self.script.tainted.get_or_insert(why);
    }

    fn kind(&mut self, kind: &NodeKind) {
        match kind {
            NodeKind::Command { assignments, words, redirects } => self.command(assignments, words, redirects),
            NodeKind::Pipeline { commands, .. } => {
                let from = self.script.commands.len();
                for (at, command) in commands.iter().enumerate() {
                    let here = self.script.commands.len();
                    self.piped = at > 0 && matches!(command.kind, NodeKind::Command { .. });
                    self.node(command);
                    self.flow(from..here, here..self.script.commands.len());
                    self.piped = false;
                }
            }
            NodeKind::List { items } => items.iter().for_each(|item| self.node(&item.command)),
            NodeKind::If { condition, then_body, else_body, redirects } => {
                self.node(condition);
                self.node(then_body);
                if let Some(body) = else_body {
                    self.node(body);
                }
                self.redirects(redirects);
            }
            NodeKind::While { condition, body, redirects } | NodeKind::Until { condition, body, redirects } => {
                self.node(condition);
                self.node(body);
                self.redirects(redirects);
            }
            NodeKind::For { var, words, body, redirects } | NodeKind::Select { var, words, body, redirects } => {
                self.assigns(var);
                for node in words.iter().flatten() {
                    let value = word(self, node);
                    self.script.values.push(value.text);
                }
                self.node(body);
                self.redirects(redirects);
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                self.evaluates = true;
                [init, cond, incr].into_iter().for_each(|text| self.text(text, true));
                self.node(body);
                self.redirects(redirects);
            }
            NodeKind::Case { word: subject, patterns, redirects } => {
                word(self, subject);
                for case in patterns {
                    for pattern in &case.patterns {
                        word(self, pattern);
                    }
                    case.body.iter().for_each(|body| self.node(body));
                }
                self.redirects(redirects);
            }
            NodeKind::Function { body, .. } => self.node(body),
            NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
                self.node(body);
                self.redirects(redirects);
            }
            NodeKind::Coproc { command, .. } => self.node(command),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => self.node(pipeline),
            NodeKind::ArithmeticCommand { redirects, raw_content, .. } => {
                self.evaluates = true;
                self.text(raw_content, true);
                self.redirects(redirects);
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.node(body);
                self.redirects(redirects);
            }
            NodeKind::UnaryTest { op, operand } => {
                self.evaluates |= matches!(op.as_str(), "-v" | "-R");
                self.node(operand);
            }
            NodeKind::BinaryTest { op, left, right } => {
                self.evaluates |= op.starts_with('-');
                self.node(left);
                self.node(right);
            }
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.node(left);
                self.node(right);
            }
            NodeKind::CondNot { operand: inner } | NodeKind::CondParen { inner } => self.node(inner),
            NodeKind::CondTerm { value, .. } => {
                // Here the parser leaves the quotes in.
                let is_quoted = value.contains(['\'', '\\']) || value.contains("$\"");
                let plain = value.replace(['\'', '\\', '"'], "");
                self.hides_commands |= is_quoted && (plain.contains("$(") || plain.contains('`'));
                self.text(value, true);
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => self.unclear("it holds something that is not known here".into()),
        }
    }

    /// A simple command: what it sets, what it runs, what it redirects.
    fn command(&mut self, assignments: &[Node], words: &[Node], redirects: &[Node]) {
        let piped = std::mem::take(&mut self.piped) && redirects.is_empty();
        let from = self.script.commands.len();
        for node in assignments {
            let set = word(self, node);
            self.evaluates |= name(&set.text).len() < set.text.find('=').unwrap_or_default();
            // `x=([y]=1)`: so are the indices of its elements.
            self.evaluates |= set.text.contains("]=");
            self.assigns(&set.text);
        }
        let words: Vec<Word> = words.iter().map(|node| word(self, node)).collect();
        let input = if piped { Input::Pipe } else { self.redirects(redirects) };
        let here = self.script.commands.len();
        self.simple(words, input);
        self.flow(from..here, here..self.script.commands.len());
    }

    /// A program with its arguments, and what it runs in turn.
    fn simple(&mut self, mut words: Vec<Word>, input: Input) {
        // `time -- evil`: the keyword takes the end of options.
        if words.first().is_some_and(|word| word.fixed && word.text == "--") {
            words.remove(0);
        }
        let Some(program) = words.first() else { return };
        if self.script.commands.len() >= MOST_COMMANDS || self.depth >= DEEPEST {
            return self.unclear("it is too long or too deeply nested to be read".into());
        }
        if !program.fixed {
            self.unclear(format!("the program {:?} is not written out", program.text));
        }
        let simple = Simple { words, folders: self.folders.clone() };
        self.shell_word(&simple);
        let inner = inner(&simple.words);
        if let Some(folder) = folder(&simple.words) {
            self.folders.enter(&[folder]);
        }
        let name = simple.program();
        if let Input::Text(text) = &input
            && takes_commands(name)
            && tells(name, text)
        {
            self.unclear(format!("what {name} runs is not told apart"));
        }
        let touched = operands::files(&simple, !matches!(input, Input::Unknown));
        self.script.operands.extend(touched.operands);
        self.script.files.extend(touched.outputs.into_iter().filter(|file| !is_device(&file.path)));
        self.script.commands.push(simple);
        self.depth += 1;
        for part in inner {
            match part {
                Inner::Command(words) => self.simple(words, Input::Unknown),
                Inner::Script(source) => self.source(&source),
                Inner::Input => match &input {
                    Input::Text(source) => self.source(source),
                    Input::Unknown | Input::Pipe => self.unclear("a shell runs what it reads".into()),
                },
                Inner::Unclear(why) => self.unclear(why),
            }
        }
        self.depth -= 1;
    }

    /// What a builtin of the shell does to the shell itself.
    fn shell_word(&mut self, simple: &Simple) {
        let Some((program, rest)) = simple.words.split_first() else { return };
        match program.text.as_str() {
            "cd" | "pushd" => {
                self.moves = true;
                self.folders.enter(rest);
            }
            "popd" => self.moves = true,
            "alias" | "hash" | "enable" | "shopt" | "set" if !simple.is_harmless() => {
                if renames(&program.text, rest) {
                    self.unclear(format!("{:?} gives names another meaning", simple.text()));
                }
                self.taint(format!("{:?} changes what names mean", simple.text()));
            }
            "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "mapfile" | "readarray" | "printf"
            | "getopts" | "let" | "unset" | "test" | "[" | "env" | "sudo" | "doas" | "wait" => {
                let makes_array = program.text == "readonly"
                    && rest.iter().any(|word| word.text.starts_with('-') && word.text.contains(['a', 'A']));
                let names_variable = program.text == "wait"
                    && rest.iter().any(|word| word.text.starts_with('-') && word.text.contains('p'));
                self.evaluates |= makes_array || names_variable;
                self.evaluates |= matches!(
                    program.text.as_str(),
                    "let" | "declare" | "typeset" | "local" | "read" | "unset" | "mapfile" | "readarray" | "getopts"
                ) || rest
                    .iter()
                    .any(|word| word.text == "-v" || word.text.starts_with('-') && word.text.len() == 3);
                rest.iter().for_each(|word| self.assigns(&word.text));
            }
            _ => {}
        }
    }

    /// The files of redirections, and the commands in what they hold. Gives what is put into standard input.
    fn redirects(&mut self, redirects: &[Node]) -> Input {
        let mut input = Input::Unknown;
        for redirect in redirects {
            match &redirect.kind {
                NodeKind::HereDoc { content, quoted, fd, .. } => {
                    self.script.has_text = true;
                    self.script.values.push(content.clone());
                    if !quoted {
                        // The parser loses the text behind `((…))`, `[[ … ]]` and `for ((…))`.
                        if content.is_empty() {
                            self.unclear("the text of a here-document cannot be told".into());
                        }
                        self.text(content, false);
                    }
                    let is_literal = *quoted || !content.contains(['$', '`', '\\']);
                    if *fd <= 0 {
                        input = if is_literal { Input::Text(content.clone()) } else { Input::Unknown };
                    }
                }
                NodeKind::Redirect { op, target, fd, varfd, .. } => {
                    if let Some(variable) = varfd {
                        self.assigns(variable);
                        self.evaluates |= variable.contains('[');
                        self.text(variable, true);
                        self.hides_commands |= variable.contains("$(") || variable.contains('`');
                    }
                    self.script.has_text |= op == "<<<";
                    let target = word(self, target);
                    if op == "<<<" {
                        self.script.values.push(target.text.clone());
                    }
                    let is_input = *fd <= 0 && op.starts_with('<');
                    match op.as_str() {
                        "<<<" if is_input && target.fixed => input = Input::Text(target.text),
                        "<<<" if is_input => input = Input::Unknown,
                        "<<<" => {}
                        op => {
                            if is_input {
                                input = Input::Unknown;
                            }
                            self.file(op, target);
                        }
                    }
                }
                _ => self.unclear("it holds something that is not known here".into()),
            }
        }
        input
    }

    fn file(&mut self, op: &str, path: Word) {
        let is_number = path.fixed && path.text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        if op.contains('&') && !op.starts_with("&>") && (is_number || op.starts_with('<')) {
            return;
        }
        if path.text.starts_with("/dev/tcp/") || path.text.starts_with("/dev/udp/") {
            self.unclear(format!("{:?} is a connection, not a file", path.text));
        }
        if is_device(&path) {
            return;
        }
        self.script.files.push(File { path, write: op != "<", whole: false });
    }

    fn flow(&mut self, from: Range<usize>, to: Range<usize>) {
        if from.is_empty() || to.is_empty() {
            return;
        }
        let commands = |range: &Range<usize>| self.script.commands.get(range.clone()).unwrap_or_default();
        let printed =
            |name: &str| commands(&from).iter().flat_map(|simple| &simple.words).any(|word| tells(name, &word.text));
        let told = commands(&to).iter().map(Simple::program).find(|name| takes_commands(name) && printed(name));
        if let Some(why) = told.map(|name| format!("what {name} runs is not told apart")) {
            self.unclear(why);
        }
        self.script.flows.push((from, to));
    }
}

impl Reads for Reader {
    fn node(&mut self, node: &Node) {
        if self.depth >= DEEPEST || self.script.commands.len() >= MOST_COMMANDS {
            return self.unclear("it is too long or too deeply nested to be read".into());
        }
        self.depth += 1;
        self.kind(&node.kind);
        self.depth -= 1;
    }

    fn text(&mut self, text: &str, process: bool) {
        if !text.contains(['$', '`', '<', '>']) {
            return;
        }
        for found in find(text, process) {
            match found {
                Found::Command(source) => self.source(&source),
                Found::Sum(source) => {
                    self.evaluates = true;
                    self.text(&source, process);
                }
                Found::Unclear(source) => {
                    self.unclear(format!("what runs in {source:?} cannot be told"));
                    self.source(&source);
                }
            }
        }
    }

    fn unclear(&mut self, why: String) {
        if self.script.unclear.len() < 10 && !self.script.unclear.contains(&why) {
            self.script.unclear.push(why);
        }
    }

    fn evaluates(&mut self) {
        self.evaluates = true;
    }

    fn assigns(&mut self, text: &str) {
        let variable = name(text);
        self.script.values.extend(text.split_once('=').map(|(_, value)| value.to_string()));
        self.evaluates |= is_number(variable);
        self.folders.finds_anywhere |= variable == "PATH";
        self.folders.unknown |= matches!(variable, "CDPATH" | "HOME");
        if matches!(variable, "BASH_ALIASES" | "BASH_CMDS") {
            self.unclear(format!("setting {variable} gives names another meaning"));
        }
        match runs(text) {
            Runs::Nothing => {}
            Runs::Command(source) => self.source(source),
            Runs::Unclear => self.unclear(format!("what is run because of {variable} cannot be told")),
        }
        if is_telling(variable) {
            self.taint(format!("it sets {variable}, which changes what commands do"));
        }
    }

    fn hides_commands(&mut self) {
        self.hides_commands = true;
    }
}

/// Returns true if a path is what every process has, or `-`, and no file.
fn is_device(path: &Word) -> bool {
    path.fixed && matches!(path.text.as_str(), "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin")
}

/// Whether a builtin may make a name run something else (bash 5.2): `alias NAME=VALUE`, `hash -p FILE NAME`, `enable -f FILE NAME`.
fn renames(builtin: &str, words: &[Word]) -> bool {
    let option = |letter: char| {
        let has = |word: &Word| !word.fixed || word.text.starts_with('-') && word.text.contains(letter);
        words.iter().any(has)
    };
    match builtin {
        "alias" => words.iter().any(|word| !word.fixed || word.text.contains('=')),
        "hash" => option('p'),
        "enable" => option('f'),
        _ => false,
    }
}
