//! `read_text_file`.

use crate::output::{LONGEST_SECRET, boundary};
use crate::words::count;
use crate::work::blocking;
use crate::workspace::Place;
use crate::{Fut, Problem, Secrets, Tool, ToolContext, ToolDoc, Touches, Workspace};
use mainpath_types::{EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Read;
use std::num::NonZeroU32;
use tokio_util::sync::CancellationToken;

/// Lines shown where the call does not say.
const LINES: u32 = 2_000;
/// Bytes shown at most.
const BYTES: usize = 256 * 1024;
/// Bytes of one line shown at most.
const LINE_BYTES: usize = 4_000;
/// Files up to this size are read on the spot; handing them to another thread would cost more.
const SMALL: i64 = 256 * 1024;
/// So much of a file is read at once, at least and at most.
const SMALLEST_PIECE: usize = 1024;
const LARGEST_PIECE: usize = 64 * 1024;

/// Reads a text file, by lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadTextFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArgs {
    /// The file, relative to the workspace.
    path: String,
    /// The first line to show, counted from 1.
    offset: Option<NonZeroU32>,
    /// How many lines to show; 2000 by default.
    limit: Option<NonZeroU32>,
}

impl Tool for ReadTextFile {
    type Args = ReadArgs;
    const NAME: &'static str = "read_text_file";

    fn describe(&self) -> ToolDoc {
        let text = "Reads a text file of the workspace. Shows up to 2000 lines and 256 KiB at once, exactly as they are, \
                    without line numbers; the last line says how to read on. Very long lines are cut.";
        ToolDoc::new(text, EffectClass::ReadOnly)
    }

    fn touches(&self, args: &ReadArgs) -> Touches {
        Touches::reading(&args.path)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: ReadArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let small = || -> Result<_, Problem> {
                let place = ctx.place(&args.path)?;
                let (_, stat) = ctx.workspace.open(&place)?;
                Ok((place, stat.st_size <= SMALL))
            };
            let (place, small) = match small() {
                Ok(found) => found,
                Err(problem) => return problem.into(),
            };
            let (workspace, cancel, secrets) = (ctx.workspace.clone(), ctx.cancel.clone(), ctx.secrets.clone());
            let work = move || read(&workspace, &place, &args, &cancel, &*secrets);
            let shown = if small { work() } else { blocking(work).await.unwrap_or_else(Err) };
            match shown {
                Ok(Some(output)) => output,
                Ok(None) => ctx.stopped(),
                Err(problem) => problem.into(),
            }
        })
    }
}

/// Shows the lines that are asked for; `None` when stopped.
fn read(
    workspace: &Workspace,
    place: &Place,
    args: &ReadArgs,
    cancel: &CancellationToken,
    secrets: &dyn Secrets,
) -> Result<Option<ToolOutput>, Problem> {
    let (mut file, stat) = workspace.open(place)?;
    let first = args.offset.map_or(1, |n| n.get().into());
    let limit = args.limit.map_or(u64::from(LINES), |n| n.get().into());
    let redact = |text: &str| secrets.redact(text);
    let mut lines = Lines::new(first, limit, &redact);
    // Most files are small.
    let size = usize::try_from(stat.st_size).unwrap_or(LARGEST_PIECE);
    let mut buffer = vec![0; size.saturating_add(1).clamp(SMALLEST_PIECE, LARGEST_PIECE)];
    let mut start = Vec::new();
    while !lines.full || lines.after.len() < LONGEST_SECRET {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let got = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Problem::new("io", format!("{:?} cannot be read: {error}.", place.path))),
        };
        let bytes = &buffer[..got];
        if start.is_empty() {
            start.extend_from_slice(&bytes[..got.min(512)]);
        }
        if bytes.contains(&0) && !lines.full {
            return Err(binary(place, &start, stat.st_size));
        }
        lines.take(bytes);
    }
    lines.end();
    if let Some(line) = lines.invalid {
        return Err(not_utf8(place, &start, stat.st_size, line));
    }
    if start.is_empty() {
        return Ok(Some(ToolOutput::text("[the file is empty]")));
    }
    if lines.shown == 0 {
        let text = format!("{:?} has {}; line {first} is past its end.", place.path, count(lines.seen, "line"));
        return Err(Problem::new("out_of_range", text));
    }
    let last = first + lines.shown - 1;
    let range = if lines.full || first > 1 { format!(", lines {first}-{last}") } else { String::new() };
    let mut text = lines.hidden(secrets);
    if lines.full {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let size = count(stat.st_size.unsigned_abs(), "byte");
        text.push_str(&format!("[lines {first}-{last} of a file of {size}; read on with offset={}]", last + 1));
    }
    let title = format!("{}{range}", place.path);
    let remember = format!("Read {title}; read it again if its text is needed.");
    Ok(Some(ToolOutput { title: Some(title), long_term_memory: Some(remember), ..ToolOutput::text(text) }))
}

/// Picks the lines that are shown out of a stream of bytes, in bounded memory.
struct Lines<'a> {
    /// Hides secrets in a line before it is cut.
    redact: &'a dyn Fn(&str) -> String,
    first: u64,
    limit: u64,
    /// Lines begun so far, the shown ones included.
    seen: u64,
    shown: u64,
    /// The current line's bytes, as far as they are kept, and its whole length.
    line: Vec<u8>,
    length: u64,
    text: String,
    /// What lies right before the shown lines, and right behind them: a secret of several lines may reach into these.
    before: Vec<u8>,
    after: Vec<u8>,
    /// There is more than is shown.
    full: bool,
    /// The first shown line that is not UTF-8.
    invalid: Option<u64>,
}

impl<'a> Lines<'a> {
    fn new(first: u64, limit: u64, redact: &'a dyn Fn(&str) -> String) -> Lines<'a> {
        let line = Vec::new();
        Lines {
            redact,
            first,
            limit,
            seen: 0,
            shown: 0,
            line,
            length: 0,
            text: String::new(),
            before: Vec::new(),
            after: Vec::new(),
            full: false,
            invalid: None,
        }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.full {
            // A further line begins, so what was shown was not all.
            if self.length == 0 && self.shown == self.limit {
                self.full = true;
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
            bytes = rest;
            if self.length == 0 {
                self.seen += 1;
            }
            self.length += piece.len() as u64;
            if self.seen < self.first {
                self.before.extend_from_slice(&piece[piece.len().saturating_sub(LONGEST_SECRET)..]);
                if self.before.len() > 4 * LONGEST_SECRET {
                    self.before.drain(..self.before.len() - LONGEST_SECRET);
                }
            } else {
                let room = (LINE_BYTES + LONGEST_SECRET + 4).saturating_sub(self.line.len());
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            if end.is_some() {
                self.finish(true);
            }
        }
        let room = LONGEST_SECRET - self.after.len();
        self.after.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The shown text without the secrets that lie in it, wholly or in part.
    fn hidden(&self, secrets: &dyn Secrets) -> String {
        let before = String::from_utf8_lossy(&self.before);
        let text = [&before, self.text.as_str(), &String::from_utf8_lossy(&self.after)].concat();
        secrets.redact_part(&text, before.len()..before.len() + self.text.len())
    }

    fn end(&mut self) {
        if self.length > 0 && !self.full {
            self.finish(false);
        }
    }

    fn finish(&mut self, ended: bool) {
        let (line, length) = (std::mem::take(&mut self.line), std::mem::take(&mut self.length));
        if self.seen < self.first {
            return;
        }
        let cut = length > line.len() as u64 || line.len() > LINE_BYTES + 1;
        let whole = length == line.len() as u64;
        let (valid, broken) = valid_part(&line, !whole);
        if broken {
            self.invalid.get_or_insert(self.seen);
        }
        let cut_line = cut.then(|| cut_off(&(self.redact)(valid), whole));
        let kept = cut_line.as_deref().unwrap_or(valid);
        if !self.text.is_empty() && self.text.len() + kept.len() > BYTES {
            self.full = true;
            self.after.extend_from_slice(&line[..line.len().min(LONGEST_SECRET)]);
            return;
        }
        self.shown += 1;
        self.text.push_str(kept);
        if cut {
            self.text.push_str(&format!("[… line {} cut: it has {} bytes]", self.seen, length - u64::from(ended)));
            if ended {
                self.text.push('\n');
            }
        }
    }
}

/// The part of a redacted long line that is shown. The end of what is not the whole line may hold the beginning of a
/// secret, so it is not shown in any case.
fn cut_off(line: &str, whole: bool) -> String {
    let unsure = if whole { 0 } else { LONGEST_SECRET };
    line[..boundary(line, line.len().saturating_sub(unsure).min(LINE_BYTES))].to_string()
}

/// The longest valid UTF-8 at the start, and whether anything but a character that the cut went through follows.
fn valid_part(bytes: &[u8], cut: bool) -> (&str, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            (text, !(cut && error.error_len().is_none()))
        }
    }
}

fn binary(place: &Place, start: &[u8], size: i64) -> Problem {
    let size = count(size.unsigned_abs(), "byte");
    let text = format!("{:?} is not text: it is {}, {size} long.", place.path, kind(&place.path, start));
    Problem::new("binary", text)
}

fn not_utf8(place: &Place, start: &[u8], size: i64, line: u64) -> Problem {
    if magic(start).is_some() {
        return binary(place, start, size);
    }
    let text = format!(
        "{:?} is not UTF-8 text: line {line} holds other bytes; if it is text in another encoding, convert it first, \
         for example with iconv.",
        place.path
    );
    Problem::new("not_utf8", text)
}

fn kind(path: &str, start: &[u8]) -> String {
    if let Some(kind) = magic(start) {
        return kind.into();
    }
    match path.rsplit_once('.') {
        Some((_, extension)) if extension.len() <= 8 && extension.chars().all(|c| c.is_ascii_alphanumeric()) => {
            format!("a binary file of type .{extension}")
        }
        _ => "a binary file".into(),
    }
}

/// What the first bytes say a file is. The signatures are those of the formats' own specifications.
fn magic(start: &[u8]) -> Option<&'static str> {
    const KINDS: [(usize, &[u8], &str); 22] = [
        (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (0, b"\xff\xd8\xff", "a JPEG image"),
        (0, b"GIF8", "a GIF image"),
        (8, b"WEBP", "a WebP image"),
        (8, b"WAVE", "a WAV recording"),
        (0, b"BM", "a BMP image"),
        (0, b"%PDF-", "a PDF document"),
        (0, b"PK\x03\x04", "a ZIP archive (also the form of .docx, .xlsx, .jar)"),
        (0, b"\x1f\x8b", "gzip data"),
        (0, b"\xfd7zXZ\0", "xz data"),
        (0, b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (0, b"BZh", "bzip2 data"),
        (257, b"ustar", "a tar archive"),
        (0, b"\x7fELF", "an ELF program or library"),
        (0, b"\0asm", "a WebAssembly module"),
        (0, b"SQLite format 3\0", "an SQLite database"),
        (0, b"\xca\xfe\xba\xbe", "a Java class or a macOS program"),
        (4, b"ftyp", "an MP4 film or sound"),
        (0, b"ID3", "an MP3 recording"),
        (0, b"OggS", "an Ogg recording"),
        (0, b"\xff\xfe", "UTF-16 text; convert it first, for example with iconv -f UTF-16"),
        (0, b"\xfe\xff", "UTF-16 text; convert it first, for example with iconv -f UTF-16"),
    ];
    let known = |(at, bytes, _): &&(usize, &[u8], &str)| start.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
    KINDS.iter().find(known).map(|(_, _, kind)| *kind)
}
