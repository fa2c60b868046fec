//! A limit on what one message of a server may hold.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// The longest message, in bytes. HTTP bodies have the same limit (rmcp 3.9, `MAX_JSON_RESPONSE_SIZE`).
pub(crate) const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// A stream of lines that fails when a line is too long. Whoever reads it gives the connection up then: the answer that
/// somebody waits for would never come otherwise.
pub(crate) struct Bounded<R> {
    inner: R,
    line: usize,
}

impl<R> Bounded<R> {
    pub fn new(inner: R) -> Bounded<R> {
        Bounded { inner, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        self.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => read.len() - at - 1,
            None => self.line + read.len(),
        };
        if self.line > MESSAGE_BYTES {
            return Poll::Ready(Err(io::Error::other("a message is too long")));
        }
        done
    }
}
