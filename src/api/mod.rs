//! The wire: how a request goes out and what an answer means.
//!
//! ```text
//! Call ──► http ──► status, headers, body ──► reply::read ──► Reply
//!           │                                   ├ headers     rate limits, retry-after, ids
//!           ├ base_url   where it goes          ├ message     is it whole, is it usable, what is billed
//!           ├ body       limits while reading   ├ classify    whose fault an error is
//!           └ failure    no answer, in words    ├ error_body  errors, in words
//!                                               └ json_line   fit for the journal
//!                                               └ stream      long answers: asked for as streams, put together
//! org, model ──► http ──► look: what an org is and has, at no cost
//! ```
//!
//! Message Batches go beside it, by the same client and the same judgement of errors: [`batches`].
//!
//! Everything right of `http` is pure. The simulated API in the same process enters at [`reply::read`].

pub mod base_url;
pub mod batches;
mod body;
mod classify;
mod error_body;
mod failure;
mod headers;
mod http;
mod json_line;
pub(crate) mod look;
mod message;
mod patience;
pub mod reply;
pub(crate) mod stream;
pub mod transport;

pub use self::http::{HttpTransport, WireError};
pub use look::{Finding, Sight};
pub use transport::{Call, Reply, Transport};
