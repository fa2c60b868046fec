//! What the model is shown of a command's output.

use crate::ToolContext;
use crate::output::Collector;
use crate::work::blocking;
use mainpath_types::Artifact;
use std::io;

/// What the model is shown of an output, secrets hidden.
#[derive(Default)]
pub(crate) struct Shown {
    pub text: String,
    pub notes: Vec<String>,
    /// The whole output, where the text is not all of it.
    pub artifacts: Vec<Artifact>,
}

/// Shows what was collected; what is too long for the model is kept whole as an artifact of this name.
pub(crate) async fn show(ctx: &ToolContext, name: &str, collector: Collector) -> Shown {
    let (text, shortened) = collector.shown(&|text| ctx.secrets.redact(text));
    let mut shown = Shown { text, ..Shown::default() };
    if !shortened {
        return shown;
    }
    let secrets = ctx.secrets.clone();
    let whole = blocking(move || collector.into_text(&|text| secrets.redact(text))).await;
    match whole.unwrap_or_else(|problem| Err(io::Error::other(problem))) {
        Ok((bytes, note)) => {
            shown.notes.extend(note);
            let size = bytes.len() as u64;
            match ctx.blobs.put(bytes).await {
                Ok(hash) => {
                    let media_type = "text/plain; charset=utf-8".into();
                    shown.artifacts.push(Artifact { name: name.into(), hash, bytes: size, media_type });
                }
                Err(error) => shown.notes.push(format!("the whole output could not be kept: {error}")),
            }
        }
        Err(error) => shown.notes.push(format!("the whole output could not be kept: {error}")),
    }
    shown
}

impl Shown {
    /// Puts the error output below the output, told apart.
    pub fn add_errors(&mut self, errors: Shown) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&format!("[stderr]\n{}", errors.text));
        self.notes.extend(errors.notes);
        self.artifacts.extend(errors.artifacts);
    }

    /// The text with the notes below it.
    pub fn with_notes(self) -> String {
        let mut text = self.text;
        for note in self.notes {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{note}]"));
        }
        text
    }
}
