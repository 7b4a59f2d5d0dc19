//! fandeck.

pub mod api;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod engine;
pub mod model;
pub mod plan;
pub mod report;
pub mod requests;
pub mod sim;
pub mod store;
pub mod tui;
