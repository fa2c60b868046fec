//! The bytes of images, sound and documents: they lie in blobs, and come back as base64 when a request is encoded.

use crate::prompt::gone::{Gone, gone_line};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_store::{ScopedStore, StoreError};
use mainpath_types::{Part, Source};

/// Puts bytes that lie in blobs back in their places, those in tool results included. Errors: a blob cannot be read, or is gone
/// where that is one.
pub(crate) async fn load(store: ScopedStore<'_>, parts: &mut [Part], gone: &mut Gone) -> Result<(), StoreError> {
    for part in parts {
        let what = lost(part);
        match part {
            Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => {
                let Source::Blob { hash, media_type } = source else { continue };
                match gone.get(store, hash).await? {
                    Some(bytes) => {
                        let data = STANDARD.encode(bytes);
                        *source = Source::Base64 { data, media_type: std::mem::take(media_type) };
                    }
                    None => *part = gone_line(&what),
                }
            }
            Part::ToolResult { content, .. } => Box::pin(load(store, content, gone)).await?,
            Part::Text { .. } | Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    Ok(())
}

/// What an attachment is called where it is gone.
fn lost(part: &Part) -> String {
    let kind = |source: &Source| match source {
        Source::Blob { media_type, .. } | Source::Base64 { media_type, .. } => media_type.clone(),
        Source::Url { url } => url.clone(),
    };
    match part {
        Part::Image { source } => format!("An image ({})", kind(source)),
        Part::Audio { source } => format!("A sound ({})", kind(source)),
        Part::Document { source, name: Some(name), .. } => format!("The document {name:?} ({})", kind(source)),
        Part::Document { source, name: None, .. } => format!("A document ({})", kind(source)),
        _ => String::new(),
    }
}

/// Puts bytes into blobs. What is no base64 has no bytes and stays as it is.
pub(crate) async fn offload(store: ScopedStore<'_>, parts: &mut [Part]) -> Result<(), StoreError> {
    for part in parts {
        if let Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } = part
            && let Source::Base64 { data, media_type } = source
            && let Ok(bytes) = STANDARD.decode(&*data)
        {
            let hash = store.put_blob(bytes).await?;
            *source = Source::Blob { hash, media_type: std::mem::take(media_type) };
        }
    }
    Ok(())
}
