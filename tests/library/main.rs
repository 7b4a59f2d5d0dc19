//! The library from outside: the direction of its dependencies, and the engine against the simulated API on paused time.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod must_hold;
mod structure;
mod weather;
