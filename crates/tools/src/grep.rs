//! `grep`.

use crate::output::{SHOWN, boundary};
use crate::unread::{Unread, shown};
use crate::walk::{Choice, Over, Walk, Watch, late};
use crate::words::count;
use crate::work::blocking;
use crate::workspace::Place;
use crate::{FoundCheck, Fut, Problem, Tool, ToolContext, ToolDoc, Touches, Workspace};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use mainpath_types::{EffectClass, ToolOutput};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::{self, Read};

/// Matching lines shown at most.
const LINES: u64 = 500;
/// Characters of one line shown at most.
const LINE_CHARS: usize = 400;
/// Of these, before the match.
const BEFORE: usize = 100;
/// Lines of context at most.
const CONTEXT: u8 = 20;
/// A compiled pattern takes no more memory than this, in bytes; its time grows with it.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// Files with longer lines, in bytes, are not searched.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Finds lines by a regular expression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArgs {
    /// The regular expression, matched line by line, in the syntax of Rust's regex; `(?i)` at its start ignores case.
    pattern: String,
    /// The file or folder to look in, relative to the workspace; the whole workspace by default.
    path: Option<String>,
    /// Which files, by a pattern as for glob, such as `*.rs`, `src/**/*.ts` or `!*.lock`.
    glob: Option<String>,
    /// Lines to show before and after each match; none by default.
    #[schemars(range(max = 20))]
    context: Option<u8>,
}

impl Tool for Grep {
    type Args = GrepArgs;
    const NAME: &'static str = "grep";

    fn describe(&self) -> ToolDoc {
        let text = "Finds lines in files of the workspace by a regular expression. Shows each file's path, then its lines as \
                    NUMBER:LINE (context as NUMBER-LINE), up to 500 matching lines. Hidden files, binary files and what \
                    .gitignore or .ignore name are left out: to look there, give the file or folder as `path`. Links are not \
                    followed.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn touches(&self, args: &GrepArgs) -> Touches {
        Touches::reading(args.path.as_deref().unwrap_or("."))
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: GrepArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let (workspace, watch, secrets) =
                (ctx.workspace.clone(), Watch::new(ctx.cancel.clone()), ctx.secrets.clone());
            let place = ctx.place(args.path.as_deref().unwrap_or("."));
            let check = ctx.check_found.clone();
            let work = move || find(&workspace, &place?, &args, watch, check, &|text| secrets.redact(text));
            match blocking(work).await.unwrap_or_else(Err) {
                Ok(Some(output)) => output,
                Ok(None) => ctx.stopped(),
                Err(problem) => problem.into(),
            }
        })
    }
}

/// `None`: stopped.
fn find(
    workspace: &Workspace,
    place: &Place,
    args: &GrepArgs,
    watch: Watch,
    check: FoundCheck,
    redact: &dyn Fn(&str) -> String,
) -> Result<Option<ToolOutput>, Problem> {
    let choice = args.glob.as_ref().map(|glob| Choice::new(glob, place, Grep::NAME, "glob")).transpose()?;
    let mut search = Search::new(args, watch.clone(), redact)?;
    let ended = match workspace.folder(place) {
        Err(Errno::NOTDIR) => search.file(workspace, place),
        _ => {
            let mut walk = Walk::begin(workspace, place, watch)?.choosing(choice).reading(check);
            let ended = search.files(workspace, &mut walk);
            search.notes.extend(walk.notes());
            ended
        }
    };
    match ended {
        Ok(()) => {}
        Err(Over::Stopped) => return Ok(None),
        Err(Over::Late) => search.notes.push(late()),
    }
    Ok(Some(search.report(args)))
}

/// What was found so far.
struct Search<'a> {
    searcher: Searcher,
    matcher: RegexMatcher,
    watch: Watch,
    redact: &'a dyn Fn(&str) -> String,
    text: String,
    lines: u64,
    shown: u64,
    files: u64,
    files_shown: u64,
    binary: u64,
    unread: Unread,
    notes: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(args: &GrepArgs, watch: Watch, redact: &'a dyn Fn(&str) -> String) -> Result<Search<'a>, Problem> {
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).crlf(true).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let matcher = builder.build(&args.pattern).map_err(|error| {
            let why: String = error.to_string().chars().take(1_000).collect();
            Problem::new("invalid_arguments", format!("Wrong arguments for grep: `pattern`: {why}"))
        })?;
        let context = args.context.unwrap_or(0).min(CONTEXT).into();
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST_LINE))
            .build();
        Ok(Search {
            searcher,
            matcher,
            watch,
            redact,
            text: String::new(),
            lines: 0,
            shown: 0,
            files: 0,
            files_shown: 0,
            binary: 0,
            unread: Unread::default(),
            notes: Vec::new(),
        })
    }

    fn files(&mut self, workspace: &Workspace, walk: &mut Walk<'_>) -> Result<(), Over> {
        while let Some(place) = walk.next_file()? {
            self.file(workspace, &place)?;
        }
        Ok(())
    }

    fn file(&mut self, workspace: &Workspace, place: &Place) -> Result<(), Over> {
        let file = match workspace.open(place) {
            Ok((file, _)) => file,
            Err(problem) => {
                self.unread.problem(place.relative(), &problem);
                return Ok(());
            }
        };
        let full = self.shown >= LINES || self.text.len() >= SHOWN;
        let mut hits = Hits {
            matcher: &self.matcher,
            redact: self.redact,
            lines_left: if full { 0 } else { LINES - self.shown },
            chars_left: SHOWN.saturating_sub(self.text.len()),
            text: String::new(),
            lines: 0,
            shown: 0,
            is_binary: false,
        };
        let from = Watched { file, watch: &self.watch };
        let searched = self.searcher.search_reader(&self.matcher, from, &mut hits);
        // What was found before the end of the time counts.
        let ended = self.watch.check();
        if let (Err(error), Ok(())) = (searched, ended) {
            self.unread.add(place.relative(), error);
        }
        if hits.is_binary {
            self.binary += 1;
            return ended;
        }
        if hits.lines > 0 {
            self.files += 1;
            self.lines += hits.lines;
        }
        if hits.shown > 0 {
            self.files_shown += 1;
            self.shown += hits.shown;
            let gap = if self.text.is_empty() { "" } else { "\n" };
            self.text.push_str(&format!("{gap}{}\n{}", shown(place.relative()), hits.text));
        }
        ended
    }

    fn report(mut self, args: &GrepArgs) -> ToolOutput {
        let mut notes = Vec::new();
        if self.lines > self.shown {
            let more = count(self.lines - self.shown, "matching line");
            let files = match self.files - self.files_shown {
                0 => String::new(),
                files => format!(", {} of them with all of theirs", count(files, "file")),
            };
            notes.push(format!("… and {more} more{files}; narrow it by a longer pattern, `path` or `glob`"));
        }
        if self.lines == 0 {
            notes.push("no line matches".into());
        }
        if self.binary > 0 {
            notes.push(format!("{} skipped", count(self.binary, "binary file")));
        }
        notes.extend(self.unread.note());
        notes.append(&mut self.notes);
        for note in notes {
            self.text.push_str(&format!("[{note}]\n"));
        }
        let found = format!("{} in {}", count(self.lines, "line"), count(self.files, "file"));
        let remember = format!("Searched for {}: {found}.", args.pattern);
        let title = Some(args.pattern.clone());
        ToolOutput { title, long_term_memory: Some(remember), ..ToolOutput::text(self.text.trim_end()) }
    }
}

/// A file that cannot be read any more once the search is over.
struct Watched<'a> {
    file: std::fs::File,
    watch: &'a Watch,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.watch.check().map_err(|_| io::Error::other("the search is over"))?;
        self.file.read(buffer)
    }
}

/// What was found in one file.
struct Hits<'a> {
    matcher: &'a RegexMatcher,
    redact: &'a dyn Fn(&str) -> String,
    lines_left: u64,
    chars_left: usize,
    text: String,
    lines: u64,
    shown: u64,
    is_binary: bool,
}

impl Hits<'_> {
    fn is_full(&self) -> bool {
        self.shown >= self.lines_left || self.text.len() >= self.chars_left
    }

    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        // Nothing is cut before it is redacted: half a secret would not be known any more.
        let line = (self.redact)(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']));
        let line = cut(&line, self.matcher);
        self.text.push_str(&format!("{}{mark}{line}\n", number.unwrap_or(0)));
    }
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        if !self.is_full() {
            self.push(found.line_number(), ':', found.bytes());
            self.shown += 1;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // The lines after the last match that is shown still belong to it.
        if self.lines == self.shown && self.text.len() < self.chars_left {
            self.push(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.text.is_empty() && !self.is_full() {
            self.text.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// The part of a long line around its first match.
fn cut(line: &str, matcher: &RegexMatcher) -> String {
    if line.chars().count() <= LINE_CHARS {
        return line.into();
    }
    let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
    let begin = boundary(line, at.saturating_sub(BEFORE));
    let part: String = line[begin..].chars().take(LINE_CHARS).collect();
    let before = if begin > 0 { "…" } else { "" };
    let after = if begin + part.len() < line.len() { "…" } else { "" };
    format!("{before}{part}{after} [line of {}]", count(line.len() as u64, "byte"))
}
