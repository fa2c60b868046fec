//! The machines of the configuration, as a store that reaches them.

use super::routed::RoutedStore;
use super::server::PeerServer;
use crate::Error;
use crate::home::Home;
use mainpath_net::{Api, Client};
use mainpath_store::Store;
use mainpath_tools::host_of;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Home {
    /// A store that also reaches the traces of other machines. `None`: none is configured. Errors: one cannot be used.
    pub(crate) fn routed(&self, here: Arc<dyn Store>) -> Result<Option<Arc<RoutedStore>>, Error> {
        let peers = &self.config.peers;
        if peers.is_empty() {
            return Ok(None);
        }
        let client = Client::new(&self.config.net);
        let mut servers = BTreeMap::new();
        for (name, peer) in peers {
            let wrong = |why: String| self.wrong_in(&["peers", name], &Error::failed(format!("[peers.{name}]: {why}")));
            let host = host_of(&peer.address()).map_err(|_| wrong("url has no host that an id can name".into()))?;
            let api = Api::new(&client, &peer.url, &peer.key, &|name| self.secret(name));
            let api = api.map_err(|error| wrong(error.to_string()))?;
            if servers.insert(host.clone(), Arc::new(PeerServer::new(host, api))).is_some() {
                return Err(wrong("another peer has the same host and port".into()));
            }
        }
        Ok(Some(Arc::new(RoutedStore::new(here, servers))))
    }
}
