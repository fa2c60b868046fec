//! The bytes of images, sound and documents: they lie in blobs, and come back as base64 when a request is encoded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_store::{Scope, Store, StoreError};
use mainpath_types::*;

/// Puts bytes that lie in blobs back in their places, those in tool results included. Errors: a blob is missing.
pub(crate) async fn load(store: &dyn Store, scope: &Scope, parts: &mut [Part]) -> Result<(), StoreError> {
    for part in parts {
        match part {
            Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } => {
                if let Source::Blob { hash, media_type } = source {
                    let data = STANDARD.encode(store.get_blob(scope, hash).await?);
                    *source = Source::Base64 { data, media_type: std::mem::take(media_type) };
                }
            }
            Part::ToolResult { content, .. } => Box::pin(load(store, scope, content)).await?,
            Part::Text { .. } | Part::StoredText { .. } | Part::Thinking { .. } | Part::ToolCall { .. } => {}
        }
    }
    Ok(())
}

/// Puts bytes into blobs. What is no base64 has no bytes and stays as it is.
pub(crate) async fn offload(store: &dyn Store, scope: &Scope, parts: &mut [Part]) -> Result<(), StoreError> {
    for part in parts {
        if let Part::Image { source } | Part::Audio { source } | Part::Document { source, .. } = part
            && let Source::Base64 { data, media_type } = source
            && let Ok(bytes) = STANDARD.decode(&*data)
        {
            let hash = store.put_blob(scope, bytes).await?;
            *source = Source::Blob { hash, media_type: std::mem::take(media_type) };
        }
    }
    Ok(())
}
