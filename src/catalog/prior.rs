//! What is assumed of a model family, and of batches, as long as nothing is measured.

use crate::model::Family;

/// What is assumed of a family: low, expected and high where it is three figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    /// Median latency of an answer, seconds.
    pub latency_p50_s: f64,
    /// Its 95th percentile.
    pub latency_p95_s: f64,
    /// Input tokens of a request.
    pub tokens_in: (f64, f64, f64),
    /// Output tokens of an answer.
    pub tokens_out: (f64, f64, f64),
    /// Where the figures are from.
    pub source: String,
}

/// What is assumed of batches.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchPrior {
    /// From the create of a sub-batch to its end, seconds: low, expected and high.
    pub duration_s: (f64, f64, f64),
    /// Where the figures are from.
    pub source: String,
}

/// All of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Priors {
    families: [Prior; Family::COUNT],
    batches: BatchPrior,
}

impl Default for Priors {
    /// What a catalog that says nothing works with.
    fn default() -> Priors {
        let prior = Prior {
            latency_p50_s: 2.0,
            latency_p95_s: 5.0,
            tokens_in: (120.0, 300.0, 1_000.0),
            tokens_out: (64.0, 160.0, 256.0),
            source: "no figures in the catalog".to_owned(),
        };
        let duration_s = (300.0, 3_600.0, 86_400.0);
        Priors {
            families: std::array::from_fn(|_| prior.clone()),
            batches: BatchPrior { duration_s, source: prior.source },
        }
    }
}

impl Priors {
    /// Takes what a catalog says; the rest stays.
    pub(super) fn take(&mut self, families: Vec<(Family, Prior)>, batches: Option<BatchPrior>) {
        for (family, prior) in families {
            self.families[family.ix()] = prior;
        }
        if let Some(batches) = batches {
            self.batches = batches;
        }
    }

    pub(super) fn of(&self, family: Family) -> &Prior {
        &self.families[family.ix()]
    }

    pub(super) fn batches(&self) -> &BatchPrior {
        &self.batches
    }
}
