//! The frontends without a screen.
