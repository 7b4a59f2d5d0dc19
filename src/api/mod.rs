//! The wire: how a request goes out and what an answer means.

mod classify;
mod error_body;
mod headers;
mod json_line;
mod message;
pub mod reply;
pub mod transport;

pub use transport::{Call, Reply, Transport};
