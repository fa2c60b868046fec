//! The runtime, driven as its users drive it.
