//! The run directory and the cache.
