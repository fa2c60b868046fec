//! What vendors take, as data.
//!
//! Sources. Anthropic: the pages "Vision" and "PDF support" of platform.claude.com/docs. OpenAI: the page "Images and vision"
//! of developers.openai.com/api/docs; `openai` 3.54.0, `chat_completion_content_part_input_audio_param.py`. Google: the pages
//! "Audio understanding" and "Document understanding" of ai.google.dev/gemini-api/docs, and "Supported input files" of
//! firebase.google.com/docs. These pages change without a version: what a vendor refuses in spite of this, its error says.

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
    /// The most pages of a document; `None` where no number is published.
    pub pages: Option<u32>,
}

/// The image formats of Chat Completions and Messages.
const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];

impl Vendor {
    /// What this vendor takes.
    pub fn takes(self) -> Takes {
        match self {
            // 20 MB an image; a square of 2,048 pixels is what high detail is scaled down to first.
            Vendor::OpenAi => Takes {
                images: IMAGES,
                image_edge: 2_048,
                image_bytes: 20_000_000,
                audio: &["audio/wav", "audio/mpeg"],
                pages: None,
            },
            // 8,000 pixels are the most, but what is longer than 1,568 is scaled down; 5 MiB of base64 an image.
            Vendor::Anthropic => Takes {
                images: IMAGES,
                image_edge: 1_568,
                image_bytes: 5 * 1024 * 1024 / 4 * 3,
                audio: &[],
                pages: Some(600),
            },
            // 20 MB a request with everything in it, base64 included.
            Vendor::Gemini => Takes {
                images: &["image/png", "image/jpeg", "image/webp"],
                image_edge: 3_072,
                image_bytes: 14_000_000,
                audio: &["audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"],
                pages: Some(1_000),
            },
        }
    }
}
