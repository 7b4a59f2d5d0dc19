//! The real binary against the simulated API, which is served from this process: what scripts and operators rely on.
//!
//! Every test has directories and a server of its own. Nothing waits for a time to pass: tests wait for a state, with a
//! deadline that only a hang reaches.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod accounts;
mod audit;
mod batches;
mod choices;
mod configuration;
mod console;
mod crash;
mod directories;
mod disk;
mod input;
mod limits;
mod money;
mod pipes;
mod plan;
mod planner;
mod runs;
mod screen;
mod secrets;
mod signals;
mod support;
mod validation;
