//! A figure that a plan works with: a middle, an interval, and where it is from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::format;

/// Where a figure is from. What is measured and what is assumed is said wherever a figure is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Origin {
    /// Measured on real answers.
    Measured {
        /// By what: `pilot`, `history`, `headers`.
        by: String,
        /// On how many answers.
        n: u64,
        /// When last, RFC 3339.
        at: String,
    },
    /// Given by the operator or the configuration.
    Given,
    /// Made from the input: a size in bytes, a `max_tokens`.
    Estimated {
        /// How.
        how: String,
    },
    /// Assumed.
    Assumed {
        /// After what.
        source: String,
    },
}

impl Origin {
    /// Assumed after this.
    pub fn assumed(source: impl Into<String>) -> Origin {
        Origin::Assumed { source: source.into() }
    }

    /// Whether real answers stand behind it.
    pub fn is_measured(&self) -> bool {
        matches!(self, Origin::Measured { .. })
    }
}

/// `measured by pilot on 40 answers (2026-11-29T21:00:00Z)`, `given`, `assumed: …`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Measured { by, n, at } => write!(f, "measured by {by} on {} answers ({at})", format::count(*n)),
            Origin::Given => f.write_str("given"),
            Origin::Estimated { how } => write!(f, "estimated: {how}"),
            Origin::Assumed { source } => write!(f, "assumed: {source}"),
        }
    }
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The low end of the interval.
    pub low: f64,
    /// The middle, which is expected.
    pub mid: f64,
    /// The high end of the interval.
    pub high: f64,
    /// Where it is from.
    pub origin: Origin,
}

impl Figure {
    /// A figure without an interval, as an operator gives it.
    pub fn given(mid: f64) -> Figure {
        Figure { low: mid, mid, high: mid, origin: Origin::Given }
    }

    /// A figure with an interval of these shares of its middle.
    pub fn around(mid: f64, (low, high): (f64, f64), origin: Origin) -> Figure {
        Figure { low: mid * low, mid, high: mid * high, origin }
    }

    /// Of an end or of the middle.
    pub fn at(&self, end: End) -> f64 {
        match end {
            End::Low => self.low,
            End::Mid => self.mid,
            End::High => self.high,
        }
    }
}

/// Which end of the intervals a calculation works with. Low is what makes a run short and cheap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All goes well.
    Low,
    /// As expected.
    Mid,
    /// All goes badly.
    High,
}

impl End {
    /// All three, the low one first.
    pub const ALL: [End; 3] = [End::Low, End::Mid, End::High];
}
