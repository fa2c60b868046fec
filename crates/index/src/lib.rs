//! A cache.
