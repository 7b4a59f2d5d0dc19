//! The dispatcher's decisions against the simulated API in virtual time: a queue of events, no threads, no real clock.
//!
//! What decides is the reducer that the product runs; what answers is the core of the simulated API that `fandeck
//! simulate` serves. Between them are a network with a delay and a disk with a delay. An hour passes in seconds, and the
//! same seed gives the same figures.

mod beyond;
pub(crate) mod figures;
mod wire;
pub(crate) mod world;
