//! Starts processes within bounds: the launcher, which dies with its owner, and the cage around what it starts.
//!
//! **This crate owns** the bounds of a process: which files it may change and see, which network it has, how much of the
//! machine it may use, and that nothing of it outlives its owner. **Its caller owns** the decision what those bounds are, what
//! the command is, and what its output means.
//!
//! What never happens here:
//! - no process that should be in a cage runs outside one: where the cage cannot be made, nothing is started
//!   ([`How::Refused`]);
//! - no process survives its owner, its owner's wish that it end, or the end of the command that it belongs to;
//! - nothing in a cage has a privilege, gains one, or can make a namespace or a mount;
//! - nothing in a cage sees Mainpath's own files;
//! - nothing that a command has written makes git, a shell or an editor of its user run something: see [`Planted`].
//!
//! # A cage
//! On Linux: fresh user, mount, PID, IPC and network namespaces (`sys.rs`, `inside.rs`); a tree of mounts in which the machine
//! is read-only, homes and sockets are hidden and the workspace is writable (`tree.rs`, `home.rs`, `guard.rs`); no
//! capabilities; Landlock over the mounts; a filter of system calls (`seccomp.rs`); limits (`limits.rs`). On macOS a Seatbelt
//! profile (`seatbelt.rs`).
//!
//! | `Confinement::files` | the workspace | the rest | homes, sockets of services |
//! |---|---|---|---|
//! | read-only | read-only | read-only | hidden |
//! | workspace-write | writable, but for what git, shells and editors run | read-only | hidden |
//! | full | writable | as outside | homes as outside; sockets under `/run` hidden |
//!
//! In each of them temporary files, terminals and shared memory are the cage's own (in `full`: all but `/tmp`), `/proc` shows
//! its own processes, and no capability of root is left.

mod aside;
mod cage;
mod ended;
mod error;
mod forecast;
mod gitconfig;
mod guard;
mod handover;
mod here;
mod home;
mod init;
mod inside;
mod launch;
mod launcher;
mod limits;
mod own_home;
mod owner_program;
mod plan;
mod planted;
mod pool;
mod ready;
mod search;
mod seatbelt;
mod seccomp;
mod secret_names;
mod short_text;
mod sockets;
mod supervise;
mod support;
mod sys;
mod tree;

pub use cage::{Cage, is_system};
pub use ended::{Ended, How};
pub use error::OwnerProgramError;
pub use here::run_here;
pub use launch::{launcher_exit, launcher_main};
pub use launcher::{Launcher, Process, Running, Talking};
pub use own_home::{home_below, is_home};
pub use owner_program::{OwnerProgram, shell_words};
pub use planted::Planted;
pub use seatbelt::profile;
pub use secret_names::{is_secret_name, secret_variables};
pub use supervise::GracePeriods;
pub use support::{Part, Support};
