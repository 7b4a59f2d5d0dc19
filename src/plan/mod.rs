//! Route, capacity and cost, as pure functions.

pub mod projection;

pub use projection::{Projection, Shape, project};
