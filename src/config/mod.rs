//! Files, environment and flags, resolved to settings with the origin of every value.
