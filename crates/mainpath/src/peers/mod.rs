//! Other machines that run `mainpath serve`: agents there are started and followed by `agent://HOST/ID`, as if they were here.

mod begin;
mod config;
mod known;
mod routed;
mod server;

pub use routed::RoutedStore;
