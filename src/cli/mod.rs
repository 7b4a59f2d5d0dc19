//! x
pub mod args;
pub mod failure;
pub mod out;
pub mod shell;
