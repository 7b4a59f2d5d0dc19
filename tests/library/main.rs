//! The library from outside: the direction of its dependencies, and the engine against the simulated API on paused time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod cases;
mod must_hold;
mod shell;
mod structure;
mod weather;
