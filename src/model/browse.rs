//! Requests of a run as an operator browses them: what is asked for, and the page that comes back.
//!
//! A run may have a million of them, so a screen never holds more than a page. Texts are as the journal has them; whoever
//! shows them makes them harmless.

use super::ids::RequestNo;
use super::money::Money;
use super::outcome::Outcome;

/// Where a request has come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Answered by the cache.
    Cached,
    /// Answered.
    Succeeded,
    /// Answered, billed, and not usable.
    Refused,
    /// Called wrong by the API.
    Invalid,
    /// To be sent again.
    ReDrivable,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 5] = [Class::Cached, Class::Succeeded, Class::Refused, Class::Invalid, Class::ReDrivable];

    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Cached => "cached",
            other => other.outcome().as_str(),
        }
    }

    /// The outcome.
    pub fn outcome(self) -> Outcome {
        match self {
            Class::Cached | Class::Succeeded => Outcome::Succeeded,
            Class::Refused => Outcome::Refused,
            Class::Invalid => Outcome::Invalid,
            Class::ReDrivable => Outcome::ReDrivable,
        }
    }
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As in the input.
    #[default]
    Input,
    /// The newest outcome first.
    Newest,
}

impl Order {
    /// The word that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Input => "input order",
            Order::Newest => "newest first",
        }
    }
}

/// Which requests, and which part of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Only those of a class.
    pub class: Option<Class>,
    /// Only those that every word matches: `class:`, `org:` and `error:` look there, `id:` in the id, and a word without a
    /// colon in all of them. Ids as they are written, the others whatever the case.
    pub text: String,
    /// What comes first.
    pub order: Order,
    /// The first row wanted, counted from 0 among those that match.
    pub from: usize,
    /// So many rows.
    pub rows: usize,
    /// The request whose position is to be told.
    pub selected: Option<RequestNo>,
    /// Take the rows around the selected request instead, which is to stand so many rows below the first one.
    pub around: Option<usize>,
}

/// A part of the requests that match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Position of the first row.
    pub from: usize,
    /// The rows.
    pub rows: Vec<RequestRow>,
    /// How many requests match.
    pub n_matched: usize,
    /// How many there are of each class, in the order of [`Class::ALL`].
    pub counts: [u64; 5],
    /// Position of the selected request; `None` when it does not match.
    pub selected_at: Option<usize>,
    /// Bytes of the journal that are read.
    pub read: u64,
    /// Bytes of the journal. More than `read` while it is being read for the first time.
    pub size: u64,
    /// Lines that are not about a request of the run.
    pub n_passed_over: u64,
}

impl Page {
    /// The row at a position among those that match.
    pub fn row(&self, at: usize) -> Option<&RequestRow> {
        self.rows.get(at.checked_sub(self.from)?)
    }

    /// Whether the journal is read to its end.
    pub fn is_complete(&self) -> bool {
        self.read >= self.size
    }
}

/// A request in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    /// Its position in the input.
    pub no: RequestNo,
    /// The user's id.
    pub custom_id: String,
    /// Where it came to rest.
    pub class: Class,
    /// Label of the org; empty for the cache.
    pub org: String,
    /// `sync`, `batch` or `cache`.
    pub path: String,
    /// Which attempt it was, from 1; 0 for the cache.
    pub attempt: u32,
    /// The API's name of the call; empty when none is known.
    pub request_id: String,
    /// How long the call took, in milliseconds.
    pub latency_ms: u64,
    /// Tokens of the whole prompt.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// What it cost.
    pub cost: Money,
    /// When the answer was there, RFC 3339.
    pub at: String,
    /// Why the answer ended.
    pub stop_reason: String,
    /// `error.type`; empty for an answer.
    pub error: String,
    /// The beginning of the answer's text, or of the error's message.
    pub excerpt: String,
}

/// A request in full.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestDetail {
    /// What its row says.
    pub row: RequestRow,
    /// Its line of the input, or why it cannot be shown.
    pub request: Result<Vec<String>, String>,
    /// Its answer or error, as the API gave it.
    pub answer: Vec<String>,
}
