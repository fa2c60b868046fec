//! What vendors take, as data.
//!
//! Sources, read 2026-11: Anthropic's documentation, pages "Vision" and "PDF support" (platform.claude.com/docs); OpenAI's,
//! pages "Images and vision" and "Audio" (platform.openai.com/docs), and `openai` 3.54.0, `InputAudio.format`; Google's, "Image
//! understanding", "Document understanding" and "Audio understanding" (ai.google.dev/gemini-api/docs) and "Supported input
//! files" (firebase.google.com/docs).

/// Whose rules a request must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// OpenAI, and everybody who speaks its formats.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
}

/// What a vendor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The media types of images.
    pub images: &'static [&'static str],
    /// The longest edge of an image in pixels. A longer one would be scaled down by the vendor, or refused.
    pub image_edge: u32,
    /// The largest image in bytes, before it becomes base64.
    pub image_bytes: usize,
    /// The media types of sound.
    pub audio: &'static [&'static str],
    /// The most pages of a document.
    pub pages: u32,
}

/// The image formats of Chat Completions and Messages.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];

impl Vendor {
    /// What this vendor takes.
    pub fn takes(self) -> Takes {
        match self {
            // 50 MB a request; a square of 2,048 is what high detail begins with.
            Vendor::OpenAi => Takes {
                images: IMAGES,
                image_edge: 2_048,
                image_bytes: 20_000_000,
                audio: &["audio/wav", "audio/mpeg"],
                pages: 1_000,
            },
            // 8,000 pixels are the most, but what is longer than 1,568 is scaled down; 5 MiB of base64 an image.
            Vendor::Anthropic => Takes {
                images: IMAGES,
                image_edge: 1_568,
                image_bytes: 5 * 1024 * 1024 / 4 * 3,
                audio: &[],
                pages: 600,
            },
            // 20 MB a request with everything in it, base64 included.
            Vendor::Gemini => Takes {
                images: &["image/png", "image/jpeg", "image/webp"],
                image_edge: 3_072,
                image_bytes: 14_000_000,
                audio: &["audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"],
                pages: 1_000,
            },
        }
    }
}
