//! Route, capacity and cost, as pure functions.
