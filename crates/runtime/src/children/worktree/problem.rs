//! Why there is no worktree.

use mainpath_tools::GitProblem;

/// Why a folder cannot be copied, or what was changed in a copy cannot be told: for the parent's model, to follow "because".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// As it is.
    #[error("{0}")]
    Refused(String),
    /// git could not do it.
    #[error(transparent)]
    Git(#[from] GitProblem),
    /// A file could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Problem {
    pub(super) fn refused(why: impl Into<String>) -> Problem {
        Problem::Refused(why.into())
    }
}

/// Blocking work with files, aside.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?;
    Ok(done?)
}
