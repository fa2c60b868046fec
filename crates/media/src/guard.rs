//! Decoders beside the program: one that panics, or that does not come to an end, is an error like any other.

use crate::Problem;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a decoder may take. What is worth attaching takes a small part of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A decoder's stack, in bytes: parsers of nested formats go deep.
const STACK: usize = 16 << 20;

/// Does the work in a thread of its own. A late one is left behind, and ends with the process.
pub(crate) fn guarded<T: Send + 'static>(
    broken: fn(String) -> Problem,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let (send, receive) = channel();
    let work = move || {
        // Nobody listens any more: it was late.
        let _ = send.send(work());
    };
    let thread = std::thread::Builder::new().name("decoder".into()).stack_size(STACK);
    let _detached = thread.spawn(work).map_err(|error| Problem::Unreadable(error.to_string()))?;
    match receive.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(RecvTimeoutError::Timeout) => Err(Problem::TooSlow(PATIENCE.as_secs())),
        Err(RecvTimeoutError::Disconnected) => Err(broken("its decoder gave up".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_that_panics_is_an_error() {
        let done: Result<(), Problem> = guarded(Problem::BadPdf, || panic!("on purpose"));
        assert_eq!(done, Err(Problem::BadPdf("its decoder gave up".into())));
        assert_eq!(guarded(Problem::BadPdf, || Ok(1)), Ok(1));
    }
}
