//! From what a server's tool returned to what the model sees.

use crate::clean;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_media::{Vendor, fit_image};
use mainpath_tools::{Schema, ToolContext};
use mainpath_types::{Artifact, Decision, Part, Source, ToolOutput};
use rmcp::model::{ContentBlock, ResourceContents};
use serde_json::Value;

/// Characters of texts that the model sees; the whole lies in an artifact.
const SHOWN: usize = 30_000;
/// Images, sounds and other files of one result.
const FILES: usize = 16;
/// The media types of sound that models take.
const SOUNDS: [&str; 6] = ["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/flac"];

/// The verdict on reading a resource that is a file of this machine.
pub(crate) fn judge_resource(ctx: &ToolContext, uri: &str) -> Decision {
    let path =
        reqwest::Url::parse(uri).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    path.map_or(Decision::Allow, |path| ctx.judge_found(&path.to_string_lossy()))
}

/// A result that is being put together.
pub(crate) struct Gathered<'a> {
    ctx: &'a ToolContext,
    parts: Vec<Part>,
    artifacts: Vec<Artifact>,
    files: usize,
}

impl<'a> Gathered<'a> {
    /// Nothing yet.
    pub fn new(ctx: &'a ToolContext) -> Gathered<'a> {
        Gathered { ctx, parts: Vec::new(), artifacts: Vec::new(), files: 0 }
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.parts.push(Part::text(clean::seen(text)));
    }

    /// A piece of content.
    pub async fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&text.text),
            ContentBlock::Image(image) => self.file("image", &image.mime_type, &image.data).await,
            ContentBlock::Audio(audio) => self.file("sound", &audio.mime_type, &audio.data).await,
            ContentBlock::Resource(embedded) => self.resource(embedded.resource).await,
            ContentBlock::ResourceLink(link) if judge_resource(self.ctx, &link.uri) == Decision::Deny => {
                self.text("[1 resource left out by rules]");
            }
            ContentBlock::ResourceLink(link) => {
                let about = [link.title, link.description, link.mime_type].into_iter().flatten();
                let about: String = about.map(|about| format!(", {}", clean::line(&about, 300))).collect();
                let (uri, name) = (clean::line(&link.uri, 2_000), clean::line(&link.name, 200));
                self.text(&format!("[resource {uri}: {name}{about}]"));
            }
            _ => self.text("[a piece of a kind that is not known here]"),
        }
    }

    /// The content of a resource, unless rules deny or ask about the file that it is.
    pub async fn resource(&mut self, resource: ResourceContents) {
        let uri = match &resource {
            ResourceContents::TextResourceContents { uri, .. } | ResourceContents::BlobResourceContents { uri, .. } => {
                uri
            }
            _ => "",
        };
        if judge_resource(self.ctx, uri) != Decision::Allow {
            return self.text("[1 resource left out by rules]");
        }
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.text(&format!("[resource {}]\n{text}", clean::line(&uri, 2_000)));
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                self.text(&format!("[resource {}]", clean::line(&uri, 2_000)));
                self.file("file", mime_type.as_deref().unwrap_or("application/octet-stream"), &blob).await;
            }
            _ => self.text("[a resource of a kind that is not known here]"),
        }
    }

    /// What a result says in JSON, unless a text has said it already; and whether the server keeps to what it promised.
    pub fn structured(&mut self, value: &Value, promised: Option<&Schema>) {
        // Many servers say a text once more as the only field of an object.
        let only = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.values().next()?.as_str());
        let said = self.parts.iter().any(|part| match part {
            Part::Text { text } => {
                Some(text.as_str()) == only || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
            }
            _ => false,
        });
        if !said {
            self.text(&serde_json::to_string_pretty(value).unwrap_or_default());
        }
        if let Some(promised) = promised {
            let wrong = promised.violations(value);
            if !wrong.is_empty() {
                self.text(&format!("[this is not what the tool's own schema promises: {}]", wrong.join("; ")));
            }
        }
    }

    /// Bytes: for the model if it can look at them or hear them, else for people.
    async fn file(&mut self, kind: &str, media_type: &str, data: &str) {
        let media_type = clean::line(media_type, 100).to_ascii_lowercase();
        self.files += 1;
        if self.files > FILES {
            if self.files == FILES + 1 {
                self.text(&format!("[more than {FILES} files were left out]"));
            }
            return;
        }
        let Ok(bytes) = STANDARD.decode(data) else {
            return self.text(&format!("[a {kind} ({media_type}) that is not base64]"));
        };
        if media_type.starts_with("image/") {
            // The narrowest limits: the log must stay one that any model can be asked with.
            let raw = bytes.clone();
            let fitted = tokio::task::spawn_blocking(move || fit_image(raw, &Vendor::Anthropic.takes())).await;
            match fitted {
                Ok(Ok((bytes, media_type))) => {
                    let source = Source::Base64 { data: STANDARD.encode(bytes), media_type: media_type.into() };
                    return self.parts.push(Part::Image { source });
                }
                Ok(Err(problem)) => self.text(&format!("[the image cannot be shown: {problem}]")),
                Err(_) => self.text("[the image cannot be shown]"),
            }
        } else if SOUNDS.contains(&media_type.as_str()) {
            let source = Source::Base64 { data: STANDARD.encode(bytes), media_type };
            return self.parts.push(Part::Audio { source });
        }
        self.keep(kind, media_type, bytes).await;
    }

    async fn keep(&mut self, kind: &str, media_type: String, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        match self.ctx.blobs.put(bytes).await {
            Ok(hash) => {
                self.text(&format!("[{kind} {media_type}, {size} bytes: kept as an artifact]"));
                let name = format!("{kind} {}", self.artifacts.len() + 1);
                self.artifacts.push(Artifact { name, hash, bytes: size, media_type });
            }
            Err(error) => self.text(&format!("[{kind} {media_type}, {size} bytes: could not be kept: {error}]")),
        }
    }

    /// The output: its texts cut where they are too long, and the whole of them kept then.
    pub async fn finish(mut self, error: Option<&str>) -> ToolOutput {
        let long: usize = self.parts.iter().map(chars).sum();
        if long > SHOWN {
            let whole = mainpath_types::text_of(&self.parts);
            let whole = self.ctx.secrets.redact(&whole);
            let mut left = SHOWN;
            for part in &mut self.parts {
                let Part::Text { text } = part else { continue };
                // Nothing is cut before it is redacted: half a secret would not be known any more.
                *text = self.ctx.secrets.redact(text);
                let length = text.chars().count();
                if length > left {
                    *text = text.chars().take(left).collect();
                }
                left = left.saturating_sub(length);
            }
            self.parts.retain(|part| !matches!(part, Part::Text { text } if text.is_empty()));
            self.text(&format!("[{} more characters were left out]", long - SHOWN));
            self.keep("whole text", "text/plain; charset=utf-8".into(), whole.into_bytes()).await;
        }
        if self.parts.is_empty() {
            self.text("[no output]");
        }
        ToolOutput {
            content: self.parts,
            artifacts: self.artifacts,
            error: error.map(String::from),
            ..ToolOutput::default()
        }
    }
}

fn chars(part: &Part) -> usize {
    if let Part::Text { text } = part { text.chars().count() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_policy::{Attempt, Grant};
    use mainpath_sandbox::Launcher;
    use mainpath_tools::Workspace;
    use mainpath_types::{CallId, Confinement, EffectClass, Seq, Verdict, text_of};
    use std::sync::Arc;

    /// The context of a call in a folder where rules deny `secret.txt` and ask about `key.pem`.
    fn context(folder: &std::path::Path) -> ToolContext {
        let verdict = Verdict { decision: Decision::Allow, rule: "test".into(), reason: String::new() };
        let (trace, call) = ("t1".parse().unwrap(), CallId { seq: Seq(1), index: 0 });
        let of = Attempt { trace: &trace, call, number: 1, tool: "x", effect: EffectClass::ReadOnly };
        let grant = Grant::issue(of, Confinement::default(), &verdict, false).unwrap();
        let workspace = Arc::new(Workspace::new(folder, vec![]).unwrap());
        let mut ctx = ToolContext::new(workspace, grant, Launcher::new("/bin/false", vec![]));
        ctx.check_found = Arc::new(|fact| match fact.relative.as_deref() {
            Some("secret.txt") => Decision::Deny,
            Some("key.pem") => Decision::Ask,
            _ => Decision::Allow,
        });
        ctx
    }

    #[tokio::test]
    async fn a_resource_that_is_a_denied_file_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let ctx = context(folder.path());
        let at = |name: &str| format!("file://{}/{name}", folder.path().canonicalize().unwrap().display());
        let mut gathered = Gathered::new(&ctx);
        for name in ["secret.txt", "%73ecret.txt", "./x/../secret.txt", "key.pem", "open.txt"] {
            gathered.resource(ResourceContents::text(format!("TOP {name}"), at(name))).await;
        }
        gathered.resource(ResourceContents::text("TOP", "demo://secret.txt")).await;
        let shown = text_of(&gathered.finish(None).await.content);
        assert_eq!(shown.matches("[1 resource left out by rules]").count(), 4, "{shown}");
        assert_eq!(shown.matches("TOP").count(), 2, "{shown}");
    }
}
