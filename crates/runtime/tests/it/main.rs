//! The runtime, driven as its users drive it: real stores, custom tools, a model that answers by what it is shown.

mod blobs;
mod cancelling;
mod crashes;
mod lying_store;
mod many;
mod parking;
mod replays;
mod support;
mod watching;
