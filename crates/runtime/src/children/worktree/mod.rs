//! Folders of their own for children that write side by side: worktrees of git.
//!
//! A worktree is made of the last commit of the parent's repository and, on top of it, of what its files hold now: tracked and untracked,
//! but for what git ignores. The parent's files, index, branches and stash stay as they are: everything goes through an index beside
//! them. Of a repository nothing is run, neither hooks nor filters; where it wants that, there is no worktree.
//!
//! | file | what it is |
//! |---|---|
//! | `place.rs` | where worktrees and what is known of them lie |
//! | `repository.rs` | whether a folder can be copied, and what git says of it |
//! | `make.rs` | making one |
//! | `collect.rs` | what was changed in it, as a patch |
//! | `remove.rs` | removing it |

mod collect;
mod make;
mod place;
mod remove;
mod repository;

pub(crate) use collect::{Changes, collect};
pub(crate) use make::make;
pub(crate) use place::Place;
pub use place::Worktrees;
pub(crate) use remove::remove;
pub(crate) use repository::Repository;

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
    fn refused(why: impl Into<String>) -> Problem {
        Problem::Refused(why.into())
    }
}

/// Blocking work with files, aside.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?;
    Ok(done?)
}
