//! The input: a streaming index, the validation of every line, and the fingerprints of the requests.
//!
//! The file is read once, front to back; what stays in memory is an entry of 24 bytes and a slot of 12 bytes
//! in the id map per request. Request bytes are read again at the moment they are sent, and a checksum says whether
//! the file was edited meanwhile: a retry sends the same bytes or none.

mod audit;
mod canonical;
mod error;
mod extras;
mod fingerprint;
mod ids;
mod index;
mod indexer;
pub(crate) mod lines;
mod numbering;
mod scan;
mod shape;
mod shapes;
mod spool;
mod tags;

pub use audit::{AuditFacts, AuditReport, Observed, audit, audit_file};
pub use error::{InputError, Problem, ProblemKind, ProblemReport, ReadError};
pub use extras::Extras;
pub use fingerprint::{Fingerprint, fingerprints, keep_local};
pub use ids::{IdMap, id_hash};
pub use index::{Input, ModelUse, RequestLine};
pub use lines::MAX_LINE;
pub(crate) use scan::member;
pub(crate) use scan::skip_value;
pub use shapes::{ShapeUse, shapes};
pub use spool::spool;
pub use tags::{Tags, key_of};

#[cfg(test)]
mod fingerprint_tests;
#[cfg(test)]
mod tests;
