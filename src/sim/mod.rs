//! The simulated API.
