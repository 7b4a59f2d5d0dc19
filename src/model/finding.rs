//! What an audit of an input found: values that every frontend shows alike.

use serde::{Deserialize, Serialize};

use super::format;
use super::money::Money;

/// How much a finding matters, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know; nothing to do.
    Note,
    /// Money or time that can be saved.
    Advice,
    /// Money that is lost, or answers that will be cut.
    Warning,
    /// Requests that the API will refuse.
    Error,
}

impl Severity {
    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Advice => "advice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// The number that says how large a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "unit", content = "value")]
pub enum Figure {
    /// Money that is saved or lost.
    Usd(Money),
    /// Tokens.
    Tokens(u64),
    /// Bytes.
    Bytes(u64),
    /// Requests.
    Requests(u64),
}

/// `$12.35`, `5,120 tokens`, `1.5 MiB`, `3 requests`.
impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match *self {
            Figure::Usd(amount) => format::money(amount),
            Figure::Tokens(n) => format!("{} tokens", format::count(n)),
            Figure::Bytes(n) => format::bytes(n),
            Figure::Requests(1) => "1 request".to_owned(),
            Figure::Requests(n) => format!("{} requests", format::count(n)),
        };
        f.pad(&text)
    }
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What kind it is: stable, kebab-case.
    pub kind: String,
    /// What there is, for people; may change.
    pub text: String,
    /// How many lines it is about.
    pub n_lines: u64,
    /// The first of them, 1-based.
    pub lines: Vec<u64>,
    /// How large it is.
    pub figure: Figure,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    /// The lines in words: `line 7`, `lines 1, 2, 3 and 97 more`.
    pub fn where_at(&self) -> String {
        let first: Vec<String> = self.lines.iter().map(|line| format::count(*line)).collect();
        let noun = if self.n_lines == 1 { "line" } else { "lines" };
        match self.n_lines.saturating_sub(self.lines.len() as u64) {
            0 => format!("{noun} {}", first.join(", ")),
            more => format!("{noun} {} and {} more", first.join(", "), format::count(more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_first_and_then_counted() {
        let finding = |n_lines, lines: &[u64]| Finding {
            severity: Severity::Note,
            kind: String::new(),
            text: String::new(),
            n_lines,
            lines: lines.to_vec(),
            figure: Figure::Requests(n_lines),
            remedy: String::new(),
        };
        assert_eq!(finding(1, &[7]).where_at(), "line 7");
        assert_eq!(finding(2, &[7, 1_200]).where_at(), "lines 7, 1,200");
        assert_eq!(finding(5_000, &[1, 2, 3]).where_at(), "lines 1, 2, 3 and 4,997 more");
    }

    #[test]
    fn a_figure_says_its_unit_in_words_and_in_json() {
        assert_eq!(Figure::Usd(Money::from_usd(12.345)).to_string(), "$12.35");
        assert_eq!(Figure::Requests(1).to_string(), "1 request");
        assert_eq!(serde_json::to_string(&Figure::Tokens(5_120)).unwrap(), r#"{"unit":"tokens","value":5120}"#);
        assert!(Severity::Error > Severity::Warning);
    }
}
