//! From what a person names to a part of a message.

use crate::image::check_image;
use crate::kind::{Kind, guess, is_known, sniff};
use crate::problem::shown_size;
use crate::{Problem, Takes, fit_image, pdf_pages, pdf_text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_types::{Part, Source};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most that is attached unless the caller says otherwise, in bytes.
pub const MOST_BYTES: u64 = 20_000_000;

/// Something to attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the file that it came from.
    pub name: Option<String>,
    /// What it is.
    pub content: Content,
}

/// What an attachment is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An image, sound or document.
    Bytes {
        /// Which of them.
        kind: Kind,
        /// What its bytes say it is.
        media_type: &'static str,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Text.
    Text(String),
    /// Something on the web, for the vendor to fetch. Nobody has looked at it.
    Address {
        /// What it seems to be.
        kind: Kind,
        /// Where.
        url: String,
    },
}

/// Reads what a person names: an address (`http://…`, `https://…`), a `data:` URL, base64 behind its media type
/// (`image/png;base64,…`), else a path. What it is, is told by its bytes, whatever its name or media type says; an address is
/// taken as it is. Errors: nothing is there, it is larger than `most` bytes, or of a kind that no model takes.
pub fn read(named: &OsStr, most: u64) -> Result<Attachment, Problem> {
    let text = named.to_str().unwrap_or_default();
    if is_address(text) {
        let host = text.split_once("://").map_or("", |(_, rest)| rest);
        if host.is_empty()
            || host.starts_with(['/', '?', '#', ':'])
            || text.chars().any(|c| c.is_whitespace() || c.is_control())
        {
            return Err(Problem::BadAddress);
        }
        return Ok(Attachment { name: None, content: Content::Address { kind: guess(text), url: text.into() } });
    }
    let (name, bytes) = match inline(text) {
        Some(inline) => (None, decode(inline?, most)?),
        None => {
            let path = Path::new(named);
            (path.file_name().map(|name| name.to_string_lossy().into_owned()), read_file(path, most)?)
        }
    };
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    let content = match sniff(&bytes) {
        Some((kind, media_type)) => Content::Bytes { kind, media_type, bytes },
        None => Content::Text(as_text(bytes)?),
    };
    Ok(Attachment { name, content })
}

/// Looks at base64 that somebody else gave a media type: whether its bytes are of that type, as far as that can be told, and whether
/// an image can be decoded. Types that vendors take and nobody here knows are let through. Errors: what is wrong with it.
pub fn check(media_type: &str, encoded: &str) -> Result<(), Problem> {
    let bytes = decode(encoded, u64::MAX)?;
    if bytes.is_empty() {
        return Err(Problem::Empty);
    }
    let said = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let said = if said == "image/jpg" { "image/jpeg".into() } else { said };
    let shows = ["image/", "audio/", "application/pdf"].iter().any(|kind| said.starts_with(kind));
    match sniff(&bytes) {
        Some((Kind::Image, found)) if found == said => check_image(bytes, found),
        // Sound has several names for each format.
        Some((kind, found)) if found == said || kind == Kind::Audio && said.starts_with("audio/") => Ok(()),
        Some((_, found)) => Err(Problem::OtherType { said, found }),
        None if shows && as_text(bytes).is_ok() => Err(Problem::OtherType { said, found: "text" }),
        None if is_known(&said) => Err(Problem::OtherType { said, found: "of no known kind" }),
        None => Ok(()),
    }
}

fn is_address(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// The base64 of a `data:` URL, or of base64 behind its media type; `None` for what is neither.
fn inline(text: &str) -> Option<Result<&str, Problem>> {
    let is_data = text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    let data = if is_data { text.get(5..).unwrap_or_default() } else { text };
    match data.split_once(";base64,") {
        Some((media_type, encoded)) if is_data || media_type.matches('/').count() == 1 => Some(Ok(encoded)),
        _ if is_data => Some(Err(Problem::BadData)),
        _ => None,
    }
}

fn decode(encoded: &str, most: u64) -> Result<Vec<u8>, Problem> {
    if encoded.len() as u64 / 4 * 3 > most {
        return Err(Problem::TooLarge(most));
    }
    STANDARD.decode(encoded.trim()).map_err(|error| Problem::BadBase64(error.to_string()))
}

/// Reads a regular file. Nothing else is waited for: opening a pipe does not block, and is refused then.
fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, Problem> {
    let unreadable = |error: Errno| Problem::Unreadable(std::io::Error::from(error).to_string());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return Err(Problem::Missing),
        // A socket, or a device without a driver.
        Err(Errno::NXIO) => return Err(Problem::NotAFile("a device")),
        Err(error) => return Err(unreadable(error)),
    };
    match FileType::from_raw_mode(fstat(&file).map_err(unreadable)?.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Problem::NotAFile("a folder")),
        FileType::Fifo => return Err(Problem::NotAFile("a pipe")),
        _ => return Err(Problem::NotAFile("a device")),
    }
    let mut bytes = Vec::new();
    // Read, not asked for its size: a file can grow.
    let read = File::from(file).take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| Problem::Unreadable(error.to_string()))?;
    if bytes.len() as u64 > most { Err(Problem::TooLarge(most)) } else { Ok(bytes) }
}

/// Text is UTF-8, and no text has a zero in it.
fn as_text(bytes: Vec<u8>) -> Result<String, Problem> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or(Problem::Unknown)
}

impl Attachment {
    /// What it is for a model; `None` for text, which every model takes.
    pub fn kind(&self) -> Option<Kind> {
        match &self.content {
            Content::Bytes { kind, .. } | Content::Address { kind, .. } => Some(*kind),
            Content::Text(_) => None,
        }
    }

    /// The attachment as the vendor takes it: see [`fit_image`]. Errors: it cannot be made to fit.
    pub fn fit(mut self, takes: &Takes) -> Result<Attachment, Problem> {
        match &mut self.content {
            Content::Bytes { kind: Kind::Image, media_type, bytes } => {
                (*bytes, *media_type) = fit_image(std::mem::take(bytes), takes)?;
            }
            Content::Bytes { kind: Kind::Audio, media_type, .. } if !takes.audio.contains(media_type) => {
                return Err(Problem::NotTaken(media_type, takes.audio.join(", ")));
            }
            Content::Bytes { kind: Kind::Document, bytes, .. } => {
                if let (Some(pages), Some(most)) = (pdf_pages(bytes), takes.pages)
                    && pages > most
                {
                    return Err(Problem::TooManyPages(pages, most));
                }
            }
            Content::Bytes { .. } | Content::Text(_) | Content::Address { .. } => {}
        }
        Ok(self)
    }

    /// The part of a message that it is.
    pub fn part(self) -> Part {
        let (kind, source, pages) = match self.content {
            Content::Text(text) => return Part::text(with_heading(&heading(self.name.as_deref()), &text)),
            Content::Address { kind, url } => (kind, Source::Url { url }, None),
            Content::Bytes { kind, media_type, bytes } => {
                let pages = if kind == Kind::Document { pdf_pages(&bytes) } else { None };
                (kind, Source::Base64 { data: STANDARD.encode(bytes), media_type: media_type.into() }, pages)
            }
        };
        match kind {
            Kind::Image => Part::Image { source },
            Kind::Audio => Part::Audio { source },
            Kind::Document => Part::Document { source, name: self.name, pages },
        }
    }

    /// What it is in text, for a model that takes no such thing: the text of a PDF, and of everything else a line that names
    /// it. A PDF without text says so. Errors: a PDF is damaged or encrypted.
    pub fn describe(&self) -> Result<String, Problem> {
        let line = self.line();
        match &self.content {
            Content::Text(text) => Ok(with_heading(&heading(self.name.as_deref()), text)),
            Content::Bytes { kind: Kind::Document, bytes, .. } => match pdf_text(bytes) {
                Ok(text) => Ok(with_heading(&line, &text)),
                Err(Problem::NoText) => Ok(format!("{line} (it has no text that could be shown here)")),
                Err(other) => Err(other),
            },
            Content::Bytes { .. } | Content::Address { .. } => Ok(format!("{line} (not shown here)")),
        }
    }

    /// One line that names it.
    pub fn line(&self) -> String {
        let name = self.name.as_deref();
        match &self.content {
            Content::Bytes { kind, media_type, bytes } => {
                label(kind.name(), media_type, Some(bytes.len() as u64), name)
            }
            Content::Text(text) => label("file", "text/plain", Some(text.len() as u64), name),
            Content::Address { kind, url } => label(kind.name(), url, None, name),
        }
    }
}

fn heading(name: Option<&str>) -> String {
    format!("[file {}]", name.unwrap_or("without a name"))
}

fn with_heading(heading: &str, text: &str) -> String {
    format!("{heading}\n{text}")
}

/// How an attachment is named in one line: `[image image/png 34 kB]`. `what` is its media type or its address.
pub fn label(kind: &str, what: &str, bytes: Option<u64>, name: Option<&str>) -> String {
    let size = bytes.map(|bytes| format!(" {}", shown_size(bytes))).unwrap_or_default();
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    format!("[{kind} {what}{size}{name}]")
}
