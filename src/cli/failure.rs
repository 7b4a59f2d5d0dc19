//! Why a command ended early, in words and as an exit code.

use std::fmt::Display;

use crate::store::StoreError;

/// A failure that the user can mend: printed as it is, without a backtrace.
#[derive(Debug)]
pub(crate) struct Failure {
    /// As in the contract of exit codes.
    pub exit_code: u8,
    /// One or more lines, complete: what failed, on what, and the remedy.
    pub message: String,
}

impl Failure {
    /// Exit 2: usage, configuration or input; nothing was sent.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure { exit_code: 2, message: message.to_string() }
    }

    /// Exit 5: somebody else owns the run directory.
    pub(crate) fn owned(message: impl Display) -> Failure {
        Failure { exit_code: 5, message: message.to_string() }
    }

    /// Exit 1: a fault of fandeck itself.
    pub(crate) fn internal(message: impl Display) -> Failure {
        Failure { exit_code: 1, message: format!("internal error: {message}") }
    }
}

/// A failure of the store is one that the user can mend: the directory is another's, or is not as it should be.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Owned { .. } | StoreError::Copied { .. } => Failure::owned(error),
            _ => Failure::usage(error),
        }
    }
}

/// What a command comes to: an exit code, or a failure.
pub(crate) type Outcome = Result<u8, Failure>;
