//! The input: index, validation, fingerprint.
