//! What people attach to a task: read, made to fit the model, or said in text for one that cannot see or hear.

use crate::app::App;
use crate::args::attachments::{AttachArgs, Attachments};
use crate::exit::Failure;
use crate::ui::text::{plain, short};
use mainpath::Logs;
use mainpath::media::{Attachment, Content, Kind, MOST_BYTES, Vendor, label, read};
use mainpath::providers::{Abilities, Registry, WireFormat};
use mainpath::types::{BlobHash, Event, EventKind, Part, Source, Spec};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

/// What the model takes. Of one that nobody described it is not known: its server will say.
fn abilities(registry: &Registry, model: &str) -> Abilities {
    let facts = registry.facts(model);
    if facts.known {
        facts.abilities
    } else {
        Abilities { vision: true, audio: true, document: true, ..facts.abilities }
    }
}

/// Whose limits a model has. What is compatible with a vendor's format keeps the vendor's limits.
fn vendor(registry: &Registry, model: &str) -> Vendor {
    let provider = model.trim().split(':').next().and_then(|name| registry.provider(name));
    match provider.map(|provider| provider.format) {
        Some(WireFormat::Anthropic) => Vendor::Anthropic,
        Some(WireFormat::Gemini) => Vendor::Gemini,
        // A script has no limits: any will do.
        Some(WireFormat::OpenaiChat | WireFormat::OpenaiResponses) | None => Vendor::OpenAi,
    }
}

/// What is to be said to a model beside the task.
#[derive(Debug, Default, PartialEq)]
pub struct Attached {
    /// The parts of the message, in the order in which they were named: images first.
    pub parts: Vec<Part>,
    /// A line for each, for people.
    pub lines: Vec<String>,
}

/// Reads what the command line names. Errors, before anything is begun: something cannot be attached, or the model does not
/// take it.
pub fn attach(registry: &Registry, args: &AttachArgs, model: &str) -> Result<Attached, Failure> {
    let mut attached = Attached::default();
    for (flag, named) in args.named() {
        let (part, line) =
            one(flag, named, model, abilities(registry, model), vendor(registry, model), args.attachments)?;
        attached.parts.push(part);
        attached.lines.push(line);
    }
    Ok(attached)
}

/// Errors: the rules of a run deny its agent a file that is attached.
pub fn check_allowed(app: &App, spec: &Spec, args: &AttachArgs) -> Result<(), Failure> {
    for (flag, named) in args.named() {
        // An address or a data: URL is no file.
        let Ok(file) = Path::new(named).canonicalize() else { continue };
        if app.host.denies_reading(spec, &file)? {
            let named = short(&named.to_string_lossy(), 80);
            return Err(Failure::usage(format!(
                "{flag} {named}: a rule denies reading this file; see mainpath policy list"
            )));
        }
    }
    Ok(())
}

fn one(
    flag: &str,
    named: &OsStr,
    model: &str,
    abilities: Abilities,
    vendor: Vendor,
    otherwise: Attachments,
) -> Result<(Part, String), Failure> {
    let bad = |why: String| Failure::usage(format!("{flag} {}: {why}", short(&named.to_string_lossy(), 80)));
    let mut attachment = read(named, MOST_BYTES).map_err(|problem| bad(problem.to_string()))?;
    if flag == "--image"
        && let Some(kind) = other_than_image(&mut attachment)
    {
        return Err(bad(format!("it is {kind}, not an image; use --file")));
    }
    if let Some(kind) = attachment.kind() {
        let (takes, what) = match kind {
            Kind::Image => (abilities.vision, "images"),
            Kind::Audio => (abilities.audio, "audio"),
            Kind::Document => (abilities.document, "documents"),
        };
        match (takes, otherwise) {
            (true, _) => {
                attachment = attachment.fit(&vendor.takes()).map_err(|problem| bad(problem.to_string()))?;
            }
            (false, Attachments::Text) => {
                let text = attachment.describe().map_err(|problem| bad(problem.to_string()))?;
                return Ok((Part::text(text), format!("{} as text", plain(&attachment.line()))));
            }
            (false, Attachments::Refuse) => {
                let how = "use another model, or --attachments text to send it as text";
                return Err(Failure::usage(format!("the model {model} does not accept {what}; {how}")));
            }
        }
    }
    let line = plain(&attachment.line());
    Ok((attachment.part(), line))
}

/// What an attachment is that is no image. An address is an image because the person says so.
fn other_than_image(attachment: &mut Attachment) -> Option<&'static str> {
    match &mut attachment.content {
        Content::Address { kind, .. } => {
            *kind = Kind::Image;
            None
        }
        Content::Bytes { kind: Kind::Image, .. } => None,
        Content::Bytes { media_type, .. } => Some(media_type),
        Content::Text(_) => Some("text"),
    }
}

/// The sizes of the blobs that attachments lie in.
pub type Sizes = HashMap<BlobHash, u64>;

/// Looks up how large the attachments of messages are. A blob that is gone has no size.
pub async fn sizes(logs: &Logs, events: &[Event]) -> Sizes {
    let mut sizes = Sizes::new();
    let parts = events.iter().flat_map(|event| match &event.kind {
        EventKind::MessageQueued(data) => data.parts.as_slice(),
        EventKind::RewindRequested(data) => data.parts.as_deref().unwrap_or_default(),
        EventKind::ModelFinished(data) => data.parts.as_slice(),
        EventKind::CallResolved(data) => data.output.as_ref().map_or(&[][..], |output| &output.content),
        _ => &[],
    });
    for part in parts {
        let (Part::Image { source } | Part::Audio { source } | Part::Document { source, .. }) = part else { continue };
        if let Source::Blob { hash, .. } = source
            && !sizes.contains_key(hash)
            && let Ok(bytes) = logs.scoped().get_blob(hash).await
        {
            sizes.insert(hash.clone(), bytes.len() as u64);
        }
    }
    sizes
}

/// The line that stands for a part which is no text. `None` for all others.
pub fn line(part: &Part, sizes: &Sizes) -> Option<String> {
    let (kind, source, name) = match part {
        Part::Image { source } => (Kind::Image, source, None),
        Part::Audio { source } => (Kind::Audio, source, None),
        Part::Document { source, name, .. } => (Kind::Document, source, name.as_deref()),
        Part::Text { .. }
        | Part::StoredText { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => return None,
    };
    Some(plain(&match source {
        Source::Blob { hash, media_type } => label(kind.name(), media_type, sizes.get(hash).copied(), name),
        Source::Base64 { data, media_type } => label(kind.name(), media_type, Some(data.len() as u64 / 4 * 3), name),
        Source::Url { url } => label(kind.name(), url, None, name),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_limits_a_model_has_is_told_by_its_format() {
        let models = [
            "openai:gpt-5",
            "openai-compatible:http://h/v1#m",
            "anthropic:m",
            "anthropic-compatible:http://h#m",
            "gemini:m",
            "mistral:m",
            "scripted",
        ];
        use Vendor::*;
        let vendors = [OpenAi, OpenAi, Anthropic, Anthropic, Gemini, OpenAi, OpenAi];
        assert_eq!(models.map(|model| vendor(Registry::bundled(), model)), vendors);
    }

    #[test]
    fn a_model_that_nobody_described_is_given_what_there_is() {
        let takes = |model: &str| {
            let abilities = abilities(Registry::bundled(), model);
            (abilities.vision, abilities.audio, abilities.document)
        };
        assert_eq!(takes("openai-compatible:http://127.0.0.1:1/v1#nobody-knows"), (true, true, true));
        assert_eq!(takes("playback:t"), (true, true, true));
    }

    #[test]
    fn what_a_model_does_not_take_is_refused_or_named_and_what_it_takes_is_sent() {
        let url = OsStr::new("https://example.com/a.mp3");
        let deaf = Abilities { vision: true, document: true, ..Abilities::default() };
        let tried = |abilities: Abilities, otherwise: Attachments| {
            one("--file", url, "a:b", abilities, Vendor::OpenAi, otherwise)
        };
        let refused = tried(deaf, Attachments::Refuse).unwrap_err();
        let why = "the model a:b does not accept audio; use another model, or --attachments text to send it as text";
        assert_eq!((refused.exit, refused.message.as_str()), (crate::exit::Exit::Usage, why));
        let line = "[audio https://example.com/a.mp3]";
        let named = tried(deaf, Attachments::Text).unwrap();
        assert_eq!(named, (Part::text(format!("{line} (not shown here)")), format!("{line} as text")));
        let sent = tried(Abilities { audio: true, ..deaf }, Attachments::Text).unwrap();
        let source = Source::Url { url: "https://example.com/a.mp3".into() };
        assert_eq!(sent, (Part::Audio { source }, line.to_string()));
    }
}
