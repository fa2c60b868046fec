//! The wire formats that the model server speaks, told apart by the path of the request.

use super::{Answer, anthropic, chat, gemini, responses};
use serde_json::Value;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's generateContent.
    Gemini,
}

/// Checks path, headers and body of a request; the first rule that it breaks, in words.
type Check = fn(&str, &[(String, String)], &Value) -> Result<(), String>;

/// What the server knows of a format.
pub(super) struct Wire {
    pub(super) check: Check,
    /// The whole HTTP response with an answer.
    pub(super) render: fn(answer: &Answer, streamed: bool) -> Vec<u8>,
}

impl Format {
    /// The format that is spoken at this path, with or without a query.
    pub fn of_path(path: &str) -> Option<Format> {
        let path = path.split('?').next().unwrap_or_default();
        let ends = [
            ("/chat/completions", Format::Chat),
            ("/responses", Format::Responses),
            ("/messages", Format::Anthropic),
            (":generateContent", Format::Gemini),
            (":streamGenerateContent", Format::Gemini),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, format)| format)
    }

    /// Checks a request to this format's address.
    ///
    /// # Errors
    /// The first rule that it breaks, in words.
    pub fn check(self, path: &str, headers: &[(String, String)], body: &Value) -> Result<(), String> {
        (self.wire().check)(path, headers, body)
    }

    /// The whole HTTP response with an answer.
    pub fn render(self, answer: &Answer, streamed: bool) -> Vec<u8> {
        (self.wire().render)(answer, streamed)
    }

    /// Whether a request asks for a stream: by its path at Gemini, by a field elsewhere.
    pub(super) fn is_streamed(self, path: &str, body: &Value) -> bool {
        match self {
            Format::Gemini => path.contains(":streamGenerateContent"),
            Format::Chat | Format::Responses | Format::Anthropic => body["stream"] == true,
        }
    }

    /// What stands before the address in a model's name, and what follows the server's address in the base that the
    /// vendor's own SDK would be given.
    pub(super) fn name_and_base(self) -> (&'static str, &'static str) {
        match self {
            Format::Chat => ("openai-compatible", "/v1"),
            Format::Responses => ("openai-responses", "/v1"),
            Format::Anthropic => ("anthropic-compatible", ""),
            Format::Gemini => ("gemini-compatible", ""),
        }
    }

    fn wire(self) -> Wire {
        match self {
            Format::Chat => Wire { check: chat::check, render: chat::render },
            Format::Responses => Wire { check: responses::check, render: responses::render },
            Format::Anthropic => Wire { check: anthropic::check, render: anthropic::render },
            Format::Gemini => Wire { check: gemini::check, render: gemini::render },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_server::{Behaviour, ModelServer, Reply};

    #[test]
    fn a_server_has_a_name_for_every_format() {
        let server = ModelServer::start(Behaviour::new(|_| Reply::Close)).unwrap();
        let addr = server.addr();
        assert_eq!(server.model(), format!("openai-compatible:http://{addr}/v1#test-model"));
        assert_eq!(server.model_of(Format::Responses), format!("openai-responses:http://{addr}/v1#test-model"));
        assert_eq!(server.model_of(Format::Anthropic), format!("anthropic-compatible:http://{addr}#test-model"));
        assert_eq!(server.model_of(Format::Gemini), format!("gemini-compatible:http://{addr}#test-model"));
    }

    #[test]
    fn a_path_says_the_format() {
        let format = |path: &str| Format::of_path(path);
        assert_eq!(format("/v1/chat/completions?api-version=1"), Some(Format::Chat));
        assert_eq!(format("/v1/responses"), Some(Format::Responses));
        assert_eq!(format("/v1/messages?beta=true"), Some(Format::Anthropic));
        assert_eq!(format("/v1beta/models/m:generateContent"), Some(Format::Gemini));
        assert_eq!(format("/v1beta/models/m:streamGenerateContent?alt=sse"), Some(Format::Gemini));
        assert_eq!(format("/v1/models"), None);
    }
}
