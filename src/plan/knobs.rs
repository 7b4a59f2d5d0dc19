//! What a plan is made from: everything that an operator can turn, and everything that is known.

use std::time::Duration;

use crate::catalog::{Catalog, Prior};
use crate::model::{BatchSettings, DispatchSettings, Family, PathChoice, RoutePolicy, Terms, Usage};

use super::figure::{End, Figure, Origin};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Knobs {
    /// Requests of the input.
    pub n_total: u64,
    /// Of them: answered from the cache, or done by an earlier session.
    pub n_cached: u64,
    /// The model, as requests name it.
    pub model: String,
    /// Which path is asked for.
    pub path: PathChoice,
    /// What the route's rules work by.
    pub policy: RoutePolicy,
    /// From now; `None` when there is none.
    pub deadline: Option<Duration>,
    /// The orgs to send over.
    pub orgs: Vec<OrgKnobs>,
    /// Lanes, windows and easing.
    pub dispatch: DispatchSettings,
    /// Sub-batches: their size, how many may be open, when one is stuck.
    pub batch: BatchSettings,
    /// Tokens of a request.
    pub tokens: Tokens,
    /// How long an answer takes.
    pub latency: Latency,
    /// How long a sub-batch takes, seconds.
    pub sub_batch_s: Figure,
    /// What the client itself can do.
    pub client: ClientCeiling,
    /// The requests by what they cost, when an input is known. Empty: all are of `model` and of the shape of `tokens`.
    pub groups: Vec<Group>,
}

/// An org.
#[derive(Debug, Clone, PartialEq)]
pub struct OrgKnobs {
    /// Its label.
    pub label: String,
    /// Its polite cap for the model's family, one lane.
    pub cap: u32,
    /// Its limits for the model.
    pub limits: Limits,
}

/// The limits of an org for a model, units a minute; `None` where none is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Requests.
    pub requests: Option<Figure>,
    /// Uncached input tokens.
    pub input_tokens: Option<Figure>,
    /// Output tokens.
    pub output_tokens: Option<Figure>,
}

impl Limits {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.requests.is_none() && self.input_tokens.is_none() && self.output_tokens.is_none()
    }
}

/// Tokens of a request, in the mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Tokens {
    /// Uncached input.
    pub input: Figure,
    /// Output, thinking included.
    pub output: Figure,
    /// Written to the prompt cache for five minutes.
    pub cache_write_5m: f64,
    /// Written to the prompt cache for an hour.
    pub cache_write_1h: f64,
    /// Read from the prompt cache.
    pub cache_read: f64,
}

impl Tokens {
    /// Input and output, without a prompt cache.
    pub fn plain(input: Figure, output: Figure) -> Tokens {
        Tokens { input, output, cache_write_5m: 0.0, cache_write_1h: 0.0, cache_read: 0.0 }
    }

    /// The tokens of `n` requests, rounded to whole ones.
    pub(crate) fn of(&self, n: u64, end: End) -> Usage {
        let times = |mean: f64| (mean.max(0.0) * n as f64).round() as u64;
        Usage {
            input_tokens: times(self.input.at(end)),
            output_tokens: times(self.output.at(end)),
            cache_write_5m: times(self.cache_write_5m),
            cache_write_1h: times(self.cache_write_1h),
            cache_read: times(self.cache_read),
            ..Usage::default()
        }
    }

    /// What counts against the limit of input tokens: reads from the prompt cache do not.
    pub(crate) fn limited_input(&self, end: End) -> f64 {
        self.input.at(end) + self.cache_write_5m + self.cache_write_1h
    }
}

/// How long an answer takes: log-normal, by its median and its 95th percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// Median, seconds.
    pub p50: Figure,
    /// 95th percentile, seconds.
    pub p95: f64,
    /// Mean, seconds, where it was measured: the pace hangs on it, and a few dozen answers tell it better than they tell
    /// the percentiles that it would follow from.
    pub mean: Option<Figure>,
}

/// What the client can do at the most, whatever the API allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClientCeiling {
    /// Requests a second in all.
    Total(f64),
    /// Requests a minute per lane and org: the Python dispatcher's, which this is the parameter for.
    PerLane(f64),
}

impl Default for ClientCeiling {
    /// About two thirds of what was measured on two cores that the server shared, with journal and fsync on.
    fn default() -> ClientCeiling {
        ClientCeiling::Total(4_000.0)
    }
}

/// Requests of an input that are priced alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Their model.
    pub model: String,
    /// How many.
    pub n: u64,
    /// The tokens of one, in the mean.
    pub tokens: Tokens,
    /// The speed and place that they ask for.
    pub terms: Terms,
    /// How many web searches they may make, all together; not in their cost.
    pub searches: u64,
}

impl Group {
    /// Requests at the usual prices, without searches.
    pub fn plain(model: &str, n: u64, tokens: Tokens) -> Group {
        Group { model: model.to_owned(), n, tokens, terms: Terms::default(), searches: 0 }
    }
}

impl Knobs {
    /// For so many requests of a model over these orgs, with all else as the catalog assumes it.
    pub fn assumed(n: u64, model: &str, orgs: Vec<OrgKnobs>, catalog: &Catalog) -> Knobs {
        let prior = catalog.prior(Catalog::family(catalog, model));
        Knobs {
            n_total: n,
            n_cached: 0,
            model: model.to_owned(),
            path: PathChoice::Auto,
            policy: RoutePolicy::default(),
            deadline: None,
            orgs,
            dispatch: DispatchSettings::default(),
            batch: BatchSettings::default(),
            tokens: Tokens::assumed(prior),
            latency: Latency::assumed(prior),
            sub_batch_s: assumed_sub_batch(catalog),
            client: ClientCeiling::default(),
            groups: Vec::new(),
        }
    }

    /// The requests that are left to send.
    pub fn n_to_send(&self) -> u64 {
        self.n_total.saturating_sub(self.n_cached)
    }
}

impl Tokens {
    /// As the catalog assumes them.
    pub fn assumed(prior: &Prior) -> Tokens {
        let figure = |(low, mid, high): (f64, f64, f64)| Figure {
            low,
            mid,
            high,
            origin: Origin::assumed(prior.source.clone()),
        };
        Tokens::plain(figure(prior.tokens_in), figure(prior.tokens_out))
    }
}

impl Latency {
    /// As the catalog assumes it: half as long again, or two thirds of it, would surprise nobody.
    pub fn assumed(prior: &Prior) -> Latency {
        let p50 = Figure::around(prior.latency_p50_s, (0.67, 1.5), Origin::assumed(prior.source.clone()));
        Latency { p50, p95: prior.latency_p95_s, mean: None }
    }
}

/// How long a sub-batch takes as long as none was seen.
pub fn assumed_sub_batch(catalog: &Catalog) -> Figure {
    let prior = catalog.batches();
    let (low, mid, high) = prior.duration_s;
    Figure { low, mid, high, origin: Origin::assumed(prior.source.clone()) }
}

impl OrgKnobs {
    /// An org of which nothing is known but its cap.
    pub fn unknown(label: &str, family: Family) -> OrgKnobs {
        OrgKnobs { label: label.to_owned(), cap: family.default_cap(), limits: Limits::default() }
    }
}
