//! Every figure behind a plan, with where it is from; and what has to be said about the model.

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::model::Money;
use crate::model::format::count;

use super::figure::{Figure, Origin};
use super::knobs::{ClientCeiling, Group, Knobs};

/// A figure as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assumption {
    /// Its name: `latency-p50`, `tokens-in`, `high-prio.output-tokens`.
    pub name: String,
    /// Its unit: `s`, `tokens`, `/min`.
    pub unit: String,
    /// The figure.
    #[serde(flatten)]
    pub figure: Figure,
    /// Where it is from, in words.
    pub words: String,
}

impl Assumption {
    fn new(name: impl Into<String>, unit: &str, figure: &Figure) -> Assumption {
        Assumption {
            name: name.into(),
            unit: unit.to_owned(),
            words: figure.origin.to_string(),
            figure: figure.clone(),
        }
    }
}

pub(super) fn of(knobs: &Knobs) -> Vec<Assumption> {
    let mut all = vec![
        Assumption::new("tokens-in", "tokens", &knobs.tokens.input),
        Assumption::new("tokens-out", "tokens", &knobs.tokens.output),
        Assumption::new("latency-p50", "s", &knobs.latency.p50),
        Assumption::new("sub-batch", "s", &knobs.sub_batch_s),
    ];
    if let Some(mean) = &knobs.latency.mean {
        // Beside the median.
        all.insert(3, Assumption::new("latency-mean", "s", mean));
    }
    let tokens = &knobs.tokens;
    for (name, mid) in [
        ("cache-write-5m", tokens.cache_write_5m),
        ("cache-write-1h", tokens.cache_write_1h),
        ("cache-read", tokens.cache_read),
    ] {
        if mid > 0.0 {
            let figure = Figure { low: mid, mid, high: mid, origin: tokens.input.origin.clone() };
            all.push(Assumption::new(name, "tokens", &figure));
        }
    }
    for org in &knobs.orgs {
        let limits = [
            ("requests", &org.limits.requests),
            ("input-tokens", &org.limits.input_tokens),
            ("output-tokens", &org.limits.output_tokens),
        ];
        for (name, figure) in limits {
            if let Some(figure) = figure {
                all.push(Assumption::new(format!("{}.{name}", org.label), "/min", figure));
            }
        }
    }
    let (ceiling, unit) = match knobs.client {
        ClientCeiling::Total(per_s) => (per_s, "/s"),
        ClientCeiling::PerLane(per_min) => (per_min, "/min per lane and org"),
    };
    let origin = Origin::assumed("the client on two cores, journal and fsync on, with some reserve");
    all.push(Assumption::new("client", unit, &Figure { origin, ..Figure::given(ceiling) }));
    all
}

pub(super) fn notes(knobs: &Knobs, catalog: &Catalog) -> Vec<String> {
    let mut notes = Vec::new();
    if knobs.orgs.is_empty() {
        notes.push("no org is chosen: nothing can be sent".to_owned());
    }
    let mut models: Vec<&str> = knobs.groups.iter().map(|group| group.model.as_str()).collect();
    models.push(&knobs.model);
    models.sort_unstable();
    models.dedup();
    for model in &models {
        if catalog.lookup(model).is_none() {
            notes.push(format!(
                "{model} is not in the catalog: it has no price, and what is assumed is of no model; add it to a catalog file"
            ));
        }
    }
    if models.len() > 1 {
        notes.push(format!(
            "the input mixes {} models: cost is by the model of each request, wall-clock as if all were {}",
            models.len(),
            knobs.model
        ));
    }
    notes.extend(besides(knobs, catalog));
    notes
}

/// What requests ask for besides tokens at the usual prices, and whether it is in their cost.
fn besides(knobs: &Knobs, catalog: &Catalog) -> Vec<String> {
    let n = |wanted: &dyn Fn(&Group) -> bool| -> u64 {
        knobs.groups.iter().filter(|group| wanted(group)).map(|group| group.n).sum()
    };
    let asked =
        [(n(&|group| group.terms.fast), "fast mode"), (n(&|group| group.terms.us_inference), "inference in the US")];
    let of_terms = asked
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} of the requests ask for {what}: the cost is at its prices", count(n)));
    let searches: u64 = knobs.groups.iter().map(|group| group.searches).sum();
    let price = |group: &Group| {
        let card = catalog.card(&group.model)?;
        Some(Money::for_tokens(group.searches, card.standard.web_search))
    };
    let of_searches = (searches > 0).then(|| {
        let most: Money = knobs.groups.iter().filter_map(price).sum();
        format!("web searches are not in the cost: the requests may make {}, for {most} more", count(searches))
    });
    of_terms.chain(of_searches).collect()
}
