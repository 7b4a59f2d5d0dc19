//! The library from outside: the direction of its dependencies, and the engine against the simulated API on paused time.

mod structure;
