//! x
pub mod args; pub mod failure; pub mod shell; pub mod out;
