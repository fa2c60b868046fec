//! What is said of a server before it begins.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// What is said of a server before it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub address: SocketAddr,
    /// The names under which it is reached besides those of this machine, with or without a port.
    pub hosts: Vec<String>,
    /// The pages that may talk to it besides its own, such as `https://panel.example.com`.
    pub origins: Vec<String>,
    /// The folders that agents may work in; the first is where they work if nothing is said.
    pub workspaces: Vec<PathBuf>,
    /// The largest body, in bytes.
    pub max_body: usize,
    /// How many requests a key may make a second, and ten times as many at once; `None`: as many as it likes.
    pub rate: Option<NonZeroU32>,
    /// How many connections there may be at once.
    pub connections: usize,
    /// How many runs that broke off go on at once after a start.
    pub resumed_at_once: usize,
    /// How long what goes on may take to come to rest at the end.
    pub rest: Duration,
    /// Whether it may be reached from other machines without TLS.
    pub is_insecure: bool,
    /// Whether a server with TLS stands before it.
    pub is_behind_tls: bool,
}

impl Settings {
    /// The usual ones: port 8000 of this machine alone.
    pub fn usual(workspace: PathBuf) -> Settings {
        Settings {
            address: SocketAddr::from(([127, 0, 0, 1], 8000)),
            hosts: Vec::new(),
            origins: Vec::new(),
            workspaces: vec![workspace],
            max_body: 4 << 20,
            rate: NonZeroU32::new(200),
            connections: 16_384,
            resumed_at_once: 8,
            rest: Duration::from_secs(30),
            is_insecure: false,
            is_behind_tls: false,
        }
    }
}
