//! Work that takes its time: futures in boxes, and blocking work aside.

use crate::Problem;
use std::any::Any;
use std::pin::Pin;

/// A boxed future.
pub type Fut<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs blocking work aside, so that the other calls of the process go on meanwhile. A panic in it goes on here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Problem::new("interrupted", "Mainpath is shutting down; the call was not run.")),
        },
    }
}

/// What code that panicked said about it.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why")
}
