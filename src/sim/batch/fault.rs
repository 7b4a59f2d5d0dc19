//! What goes wrong with a batch: with its progress, its cancel, its rows, or the file of its results.

use std::time::Duration;

use serde::Deserialize;

use super::super::fault::window;

/// A fault of an org's batches.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sim) struct BatchFault {
    /// Share of the batches that it strikes.
    share: f64,
    /// When a batch has to be created for it.
    from: Duration,
    to: Duration,
    /// Which batches of the org, counted from 1; both ends included.
    from_batch: u64,
    to_batch: u64,
    what: BatchStrike,
}

/// What a fault does to a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::sim) enum BatchStrike {
    /// Stops for ever when this share of its rows is done.
    Wedged { at: f64 },
    /// Takes so many times as long.
    Slow { factor: f64 },
    /// Its cancel takes so long; `None` never ends it.
    Cancel { takes: Option<Duration> },
    /// Retrieving it and its results answers 404 in this span after its creation.
    NotFound { after: Duration, until: Duration },
    /// Shows a status that no document names in this span after its creation.
    UnknownStatus { after: Duration, until: Duration },
    /// A share of its rows fails.
    RowErrored { share: f64, error: RowError },
    /// A share of its rows expires.
    RowExpired { share: f64 },
    /// A share of its lines is left out of the results.
    LineMissing { share: f64 },
    /// A share of its lines comes twice.
    LineDuplicate { share: f64 },
    /// For a share of its lines another one follows, with an id that nobody sent.
    LineAlien { share: f64 },
    /// A share of its lines ends in the middle.
    LineCut { share: f64 },
}

/// The error of a row that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sim) enum RowError {
    #[default]
    ServerError,
    Overloaded,
    RateLimited,
    LowCredit,
    Invalid,
}

impl RowError {
    /// `error.type` and `error.message`.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            RowError::ServerError => ("api_error", "Internal server error"),
            RowError::Overloaded => ("overloaded_error", "Overloaded"),
            RowError::RateLimited => ("rate_limit_error", "This request would exceed your organization's rate limit."),
            RowError::LowCredit => (
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade \
                 or purchase credits.",
            ),
            RowError::Invalid => {
                ("invalid_request_error", "messages: the simulated API was asked to refuse this request")
            }
        }
    }
}

/// A fault as written in a scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::sim) struct BatchFaultFile {
    kind: Kind,
    share: Option<f64>,
    from_s: Option<f64>,
    to_s: Option<f64>,
    from_batch: Option<u64>,
    to_batch: Option<u64>,
    /// Share of the rows of a batch.
    rows: Option<f64>,
    at: Option<f64>,
    factor: Option<f64>,
    takes_s: Option<f64>,
    after_s: Option<f64>,
    for_s: Option<f64>,
    error: Option<RowError>,
}

/// Names of the faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Wedged,
    Slow,
    CancelSlow,
    CancelWedged,
    NotFound,
    UnknownStatus,
    RowErrored,
    RowExpired,
    LineMissing,
    LineDuplicate,
    LineAlien,
    LineCut,
}

impl BatchFault {
    /// Whether it strikes this batch. The draw is made in any case, so that the later ones stay where they are.
    pub(super) fn strikes(&self, now: Duration, number: u64, rng: &mut fastrand::Rng) -> Option<BatchStrike> {
        let drawn = rng.f64() < self.share;
        let about = (self.from..self.to).contains(&now) && (self.from_batch..=self.to_batch).contains(&number);
        (drawn && about).then_some(self.what)
    }
}

impl BatchStrike {
    /// Its name in a scenario.
    pub(super) fn name(&self) -> &'static str {
        match self {
            BatchStrike::Wedged { .. } => "wedged",
            BatchStrike::Slow { .. } => "slow",
            BatchStrike::Cancel { takes: Some(_) } => "cancel-slow",
            BatchStrike::Cancel { takes: None } => "cancel-wedged",
            BatchStrike::NotFound { .. } => "not-found",
            BatchStrike::UnknownStatus { .. } => "unknown-status",
            BatchStrike::RowErrored { .. } => "row-errored",
            BatchStrike::RowExpired { .. } => "row-expired",
            BatchStrike::LineMissing { .. } => "line-missing",
            BatchStrike::LineDuplicate { .. } => "line-duplicate",
            BatchStrike::LineAlien { .. } => "line-alien",
            BatchStrike::LineCut { .. } => "line-cut",
        }
    }
}

impl BatchFaultFile {
    /// The fault, or what is wrong with it and what to write instead.
    pub(in crate::sim) fn resolve(self) -> Result<BatchFault, String> {
        self.refuse_what_does_not_belong()?;
        let share = a_share("share", self.share.unwrap_or(1.0))?;
        let (from, to) = window(self.from_s, self.to_s)?;
        let (from_batch, to_batch) = (self.from_batch.unwrap_or(1), self.to_batch.unwrap_or(u64::MAX));
        if from_batch == 0 || to_batch < from_batch {
            return Err(
                "from-batch and to-batch: batches are counted from 1, and the first is not after the last".to_owned()
            );
        }
        Ok(BatchFault { share, from, to, from_batch, to_batch, what: self.strike()? })
    }

    fn strike(&self) -> Result<BatchStrike, String> {
        Ok(match self.kind {
            Kind::Wedged => BatchStrike::Wedged { at: a_share("at", self.at.unwrap_or(0.4))? },
            Kind::Slow => match self.factor {
                Some(factor) if factor.is_finite() && (0.0..=1e4).contains(&factor) => BatchStrike::Slow { factor },
                _ => return Err("kind = \"slow\" needs factor, between 0 and 10000".to_owned()),
            },
            Kind::CancelSlow => match self.takes_s.map(Duration::try_from_secs_f64) {
                Some(Ok(takes)) => BatchStrike::Cancel { takes: Some(takes) },
                _ => return Err("kind = \"cancel-slow\" needs takes-s, a number of seconds".to_owned()),
            },
            Kind::CancelWedged => BatchStrike::Cancel { takes: None },
            Kind::NotFound => {
                let (after, until) = self.span()?;
                BatchStrike::NotFound { after, until }
            }
            Kind::UnknownStatus => {
                let (after, until) = self.span()?;
                BatchStrike::UnknownStatus { after, until }
            }
            Kind::RowErrored => BatchStrike::RowErrored { share: self.rows()?, error: self.error.unwrap_or_default() },
            Kind::RowExpired => BatchStrike::RowExpired { share: self.rows()? },
            Kind::LineMissing => BatchStrike::LineMissing { share: self.rows()? },
            Kind::LineDuplicate => BatchStrike::LineDuplicate { share: self.rows()? },
            Kind::LineAlien => BatchStrike::LineAlien { share: self.rows()? },
            Kind::LineCut => BatchStrike::LineCut { share: self.rows()? },
        })
    }

    fn rows(&self) -> Result<f64, String> {
        a_share("rows", self.rows.ok_or("this kind of fault needs rows, a share of the rows between 0 and 1")?)
    }

    /// A span after the creation of a batch.
    fn span(&self) -> Result<(Duration, Duration), String> {
        let length = self.for_s.ok_or("this kind of fault needs for-s, a number of seconds")?;
        let after = self.after_s.unwrap_or(0.0);
        window(Some(after), Some(after + length)).map_err(|_| "after-s and for-s: write numbers of seconds".to_owned())
    }

    /// A key that its kind ignores is a mistake that would go unseen.
    fn refuse_what_does_not_belong(&self) -> Result<(), String> {
        use Kind::{
            CancelSlow, LineAlien, LineCut, LineDuplicate, LineMissing, NotFound, RowErrored, RowExpired, Slow,
            UnknownStatus, Wedged,
        };
        let of_rows = [RowErrored, RowExpired, LineMissing, LineDuplicate, LineAlien, LineCut];
        let belongs = [
            (self.rows.is_some(), "rows", of_rows.as_slice(), "faults of rows and lines"),
            (self.at.is_some(), "at", &[Wedged], "wedged"),
            (self.factor.is_some(), "factor", &[Slow], "slow"),
            (self.takes_s.is_some(), "takes-s", &[CancelSlow], "cancel-slow"),
            (self.after_s.is_some(), "after-s", &[NotFound, UnknownStatus], "not-found and unknown-status"),
            (self.for_s.is_some(), "for-s", &[NotFound, UnknownStatus], "not-found and unknown-status"),
            (self.error.is_some(), "error", &[RowErrored], "row-errored"),
        ];
        match belongs.iter().find(|(given, _, kinds, _)| *given && !kinds.contains(&self.kind)) {
            Some((_, key, _, named)) => Err(format!("{key} does not belong to this kind of fault; it is for {named}")),
            None => Ok(()),
        }
    }
}

fn a_share(key: &str, share: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err(format!("{key} = {share}: write a share between 0 and 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Result<BatchFault, String> {
        toml::from_str::<BatchFaultFile>(text).map_err(|error| error.to_string())?.resolve()
    }

    #[test]
    fn a_fault_strikes_its_batches_only() {
        let fault = fault("kind = \"wedged\"\nfrom-batch = 3\nto-batch = 3\nfrom-s = 10").unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut strikes = |s, number| fault.strikes(Duration::from_secs(s), number, &mut rng);
        assert_eq!(strikes(10, 3), Some(BatchStrike::Wedged { at: 0.4 }));
        assert_eq!([strikes(10, 2), strikes(10, 4), strikes(9, 3)], [None; 3]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_remedy() {
        for (text, remedy) in [
            ("kind = \"slow\"", "needs factor"),
            ("kind = \"wedged\"\nrows = 0.5", "it is for faults of rows"),
            ("kind = \"wedged\"\nat = 2", "between 0 and 1"),
            ("kind = \"line-cut\"", "needs rows"),
            ("kind = \"row-expired\"\nrows = -1", "between 0 and 1"),
            ("kind = \"cancel-slow\"\ntakes-s = -1", "takes-s"),
            ("kind = \"not-found\"", "needs for-s"),
            ("kind = \"not-found\"\nfor-s = 0", "numbers of seconds"),
            ("kind = \"wedged\"\nfrom-batch = 0", "counted from 1"),
            ("kind = \"lost\"", "expected one of"),
        ] {
            let problem = fault(text).unwrap_err();
            assert!(problem.contains(remedy), "{text}: {problem}");
        }
    }
}
