//! The wire: how a request goes out and what an answer means.

pub mod transport;

pub use transport::{Call, Reply, Transport};
