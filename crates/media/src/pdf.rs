//! The text of PDF documents, for models that take none.

use crate::Problem;
use crate::guard::guarded;
use crate::problem::one_line;
use lopdf::{Document, Error, LoadOptions};

/// The most pages whose text is read.
pub const MOST_PAGES: usize = 1_000;

/// The most that one stream of a document may unfold to, in bytes.
const MOST_UNFOLDED: usize = 64 << 20;

/// The most text that is taken from a document, in bytes: some million tokens.
const MOST_TEXT: usize = 4 << 20;

/// How many pages a PDF says it has. `None` if it cannot be told.
pub fn pdf_pages(bytes: &[u8]) -> Option<u32> {
    let bytes = bytes.to_vec();
    let count = move || Document::load_metadata_mem(&bytes).map(|data| data.page_count).map_err(said);
    guarded(Problem::BadPdf, count).ok().filter(|pages| *pages > 0)
}

/// The text of a PDF, page by page, each under a line with its number. Pages after the first [`MOST_PAGES`] and text after
/// the first 4 MiB are left out, and the text says so. Errors: it is damaged or encrypted, or has no text.
pub fn pdf_text(bytes: &[u8]) -> Result<String, Problem> {
    let bytes = bytes.to_vec();
    guarded(Problem::BadPdf, move || text(&bytes))
}

fn text(bytes: &[u8]) -> Result<String, Problem> {
    let document = Document::load_mem_with_options(bytes, LoadOptions::with_max_decompressed_size(MOST_UNFOLDED));
    let document = document.map_err(said)?;
    // What could be decrypted without a password says no more that it is encrypted.
    if document.trailer.has(b"Encrypt") {
        return Err(Problem::EncryptedPdf);
    }
    let pages = document.get_pages();
    let mut text = String::new();
    let mut has_text = false;
    for page in pages.keys().take(MOST_PAGES) {
        // The rest of a page is worth having, if something of it cannot be read.
        let pieces = document.extract_text_chunks_with_limit(&[*page], MOST_UNFOLDED);
        let note = if pieces.iter().any(Result::is_err) { "[a part of this page cannot be read]\n" } else { "" };
        let said: String = pieces.into_iter().filter_map(Result::ok).collect();
        let said = said.trim();
        has_text |= !said.is_empty();
        text.push_str(&format!("[page {page}]\n{note}{said}\n\n"));
        if text.len() > MOST_TEXT {
            let end = (0..=MOST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            text.push_str("\n[the rest of the text is left out]\n\n");
            break;
        }
    }
    if pages.len() > MOST_PAGES {
        text.push_str(&format!("[{} more pages are left out]\n\n", pages.len() - MOST_PAGES));
    }
    if !has_text {
        return Err(Problem::NoText);
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}

fn said(error: Error) -> Problem {
    match error {
        Error::Decryption(_) | Error::InvalidPassword | Error::Unimplemented("encryption") => Problem::EncryptedPdf,
        other => Problem::BadPdf(one_line(&other)),
    }
}
