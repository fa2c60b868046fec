//! The parser: bytes in, news out, within limits.

use crate::decoder::{Decoder, NotUtf8};
use crate::error::{Error, Problem};
use crate::grammar::{Grammar, Sign};
use crate::paths::Paths;
use crate::watch::{News, Watch};

/// How much of a text is read. What exceeds a limit is an [`Error`], never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most arrays and objects in one another. By default 127, which is as many as `serde_json` reads.
    pub depth: usize,
    /// The most bytes of the whole text, blanks included. By default 16 MiB.
    pub total: usize,
    /// The most bytes, as written, of one value that a subscription ends at. By default 4 MiB.
    pub value: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 127, total: 16 << 20, value: 4 << 20 }
    }
}

/// Reads one JSON text piece by piece and tells each subscription about its values.
#[derive(Clone, Debug)]
pub struct Parser {
    limits: Limits,
    decoder: Decoder,
    grammar: Grammar,
    watch: Watch,
    /// The bytes of all whole characters that were taken.
    offset: usize,
    value_end: Option<usize>,
    failed: Option<Error>,
}

impl Parser {
    /// A parser that has read nothing.
    pub fn new(paths: Paths, limits: Limits) -> Parser {
        Parser {
            limits,
            decoder: Decoder::default(),
            grammar: Grammar::new(limits.depth),
            watch: Watch::new(paths, limits.value),
            offset: 0,
            value_end: None,
            failed: None,
        }
    }

    /// Takes the next bytes, cut anywhere, and tells what they bring: text of the string under way at the latest when the
    /// piece ends, a whole value with its last character (a number, which has no last character, with what follows it).
    ///
    /// # Errors
    /// The first [`Error`] of the text, after the news of all that precedes it; then the same one for ever. A caller
    /// that expects something behind the value, such as prose or a fence, looks at
    /// [`value_end`](Parser::value_end).
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(News<'_>)) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let outcome = self.read(bytes, each);
        self.watch.tell(self.grammar.levels(), each);
        self.failed = outcome.err();
        outcome
    }

    /// The text ends here, which may complete a number.
    ///
    /// # Errors
    /// The value is not complete, or the [`Error`] that [`push`](Parser::push) met.
    pub fn finish(mut self, each: &mut dyn FnMut(News<'_>)) -> Result<(), Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.decoder.held() > 0 {
            return Err(self.error(Problem::NotUtf8));
        }
        if self.grammar.number_ends(None) {
            self.end_value(each);
        }
        if self.grammar.is_complete() {
            return Ok(());
        }
        Err(self.error(Problem::Unfinished { expected: self.grammar.expected() }))
    }

    /// Whether the value is complete, so that nothing but blanks may follow it.
    pub fn is_complete(&self) -> bool {
        self.value_end.is_some()
    }

    /// How many bytes, from the first that was pushed, end with the last one of the value, once it is complete. So a
    /// caller that tolerates what follows a value can cut it off; the value's news stay true when what follows is an
    /// error.
    pub fn value_end(&self) -> Option<usize> {
        self.value_end
    }

    fn read(&mut self, bytes: &[u8], each: &mut dyn FnMut(News<'_>)) -> Result<(), Error> {
        let room = self.limits.total - self.offset - self.decoder.held();
        let mut allowed = &bytes[..bytes.len().min(room)];
        loop {
            let run = self.plain_run(allowed);
            if !run.is_empty() {
                self.watch.keep(run);
                self.watch.text(run, self.grammar.levels().len());
                self.offset += run.len();
                allowed = &allowed[run.len()..];
            }
            match self.decoder.next(&mut allowed) {
                Ok(Some(character)) => self.take(character, each).map_err(|problem| self.error(problem))?,
                Ok(None) if bytes.len() <= room => return Ok(()),
                Ok(None) => {
                    let limit = self.limits.total;
                    return Err(Error { offset: limit, problem: Problem::TooLong { limit } });
                }
                Err(NotUtf8) => return Err(self.error(Problem::NotUtf8)),
            }
        }
    }

    /// The beginning of these bytes that only carries on a string value, which is most of what a model writes. To take it at
    /// once changes nothing but the time.
    fn plain_run<'b>(&self, bytes: &'b [u8]) -> &'b str {
        if !self.grammar.is_in_plain_text() || self.decoder.held() > 0 {
            return "";
        }
        let end = bytes.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')).unwrap_or(bytes.len());
        let text = bytes[..end].utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let mut end = text.len().min(self.watch.room());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }

    fn take(&mut self, character: char, each: &mut dyn FnMut(News<'_>)) -> Result<(), Problem> {
        if self.grammar.number_ends(Some(character)) {
            self.end_value(each);
        }
        let depth = self.grammar.levels().len();
        let sign = self.grammar.step(character)?;
        if matches!(sign, Sign::Opens | Sign::Begins) {
            self.watch.begins(&self.grammar.levels()[..depth]);
        }
        if self.watch.room() < character.len_utf8() {
            return Err(Problem::ValueTooLong { limit: self.limits.value });
        }
        self.watch.keep(character.encode_utf8(&mut [0; 4]));
        self.offset += character.len_utf8();
        match sign {
            Sign::Within | Sign::Opens | Sign::Begins => {}
            Sign::KeyBegins => self.watch.key_begins(),
            Sign::KeyText(character) => self.watch.key_text(character),
            Sign::Text(character) => self.watch.text(character.encode_utf8(&mut [0; 4]), depth),
            Sign::Ends => self.end_value(each),
        }
        Ok(())
    }

    fn end_value(&mut self, each: &mut dyn FnMut(News<'_>)) {
        self.watch.ends(self.grammar.levels(), each);
        if self.grammar.is_complete() {
            self.value_end = Some(self.offset);
        }
    }

    fn error(&self, problem: Problem) -> Error {
        Error { offset: self.offset, problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asked_for_takes_no_memory() {
        let paths = Paths::new(["$.answer", "$.steps[*].title"]).unwrap();
        let mut parser = Parser::new(paths, Limits::default());
        let long = "long ".repeat(100_000);
        let numbers = "1,".repeat(100_000);
        let mut told = 0;
        let text = format!(
            "{{\"{long}\":[{numbers}[],\"{long}\"],\"steps\":[{numbers}{{\"text\":\"{long}\",\"title\":\"t\"}}],\"answer\":42}}"
        );
        for piece in text.as_bytes().chunks(1000) {
            parser.push(piece, &mut |_| told += 1).unwrap();
        }
        assert_eq!(told, 3);
        assert!(parser.watch.capacity() < 100, "{} bytes", parser.watch.capacity());
    }
}
