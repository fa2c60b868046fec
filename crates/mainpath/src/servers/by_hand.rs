//! The MCP servers that a host is given by hand.

use super::caged::{Caged, redact};
use crate::Error;
use mainpath_mcp::{Around, Entry, Mcp, SEARCH_ABOVE, Servers, State, Times};
use mainpath_runtime::Vault;
use mainpath_sandbox::Launcher;
use mainpath_tools::Tools;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What servers of a host by hand are started with.
pub(crate) struct ByHand<'a> {
    /// The tools among which theirs are put.
    pub tools: &'a Tools,
    /// How processes are started.
    pub launcher: Launcher,
    /// The secrets, which no server is given.
    pub vault: &'a Vault,
    /// Mainpath's own folders.
    pub protected: Vec<PathBuf>,
}

/// Connects to all of them, in cages around the current folder. `None` if there are none. Errors: what is wrong with an entry, or why a
/// server cannot be used.
pub(crate) async fn start_all(servers: Vec<(String, Entry)>, with: ByHand<'_>) -> Result<Option<Mcp>, Error> {
    if servers.is_empty() {
        return Ok(None);
    }
    let servers = Servers::given(servers, Path::new("this host")).map_err(|error| Error::invalid(error.to_string()))?;
    let workspace = std::env::current_dir()?;
    let starter = Arc::new(Caged::new(with.launcher, with.vault, &workspace, with.protected));
    let around = Around {
        workspace,
        variables: Arc::new(|name| std::env::var(name).ok()),
        starter,
        redact: redact(with.vault),
        times: Times::default(),
    };
    let mcp = Mcp::start(with.tools.clone(), servers, SEARCH_ABOVE, around, &|_| true, |_| {}).await;
    for server in mcp.states() {
        if let State::Failed(why) = &server.state {
            return Err(Error::failed(format!("the MCP server {:?} cannot be used: {why}", server.name)));
        }
    }
    Ok(Some(mcp))
}
