//! The dispatcher.

pub mod handle;

pub use handle::EngineHandle;
