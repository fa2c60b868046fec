//! Work that blocks, beside the tasks that must not.

use crate::store::{Fut, StoreError};

/// Runs on a thread where blocking is allowed.
pub(super) fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Fut<'static, Result<T, StoreError>> {
    Box::pin(async move {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(stopped) => Err(StoreError::io("finish, the program is ending", std::io::Error::other(stopped))),
        }
    })
}
