//! The binary: parse, hooks, run, exit code.

fn main() {}
