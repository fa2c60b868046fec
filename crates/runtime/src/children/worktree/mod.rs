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
//! | `left_out.rs` | what no patch can hold |
//! | `remove.rs` | removing it |
//! | `problem.rs` | why there is none |

mod collect;
mod left_out;
mod make;
mod place;
mod problem;
mod remove;
mod repository;

pub(crate) use collect::{Changes, collect};
pub(crate) use make::make;
pub(crate) use place::Place;
pub use place::Worktrees;
pub(crate) use problem::Problem;
pub(crate) use remove::remove;
pub(crate) use repository::Repository;
