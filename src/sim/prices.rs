//! What the simulated API bills: usage at the prices of the built-in catalog.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::models::{self, Model};
use crate::catalog::{Card, Catalog};
use crate::model::{Money, Usage};

/// The card of every simulated model. Read once: a simulation is made for every test.
static CARDS: LazyLock<HashMap<&'static str, Card>> = LazyLock::new(|| {
    let catalog = Catalog::builtin();
    models::all().iter().filter_map(|model| Some((model.id, catalog.card(model.id)?))).collect()
});

/// What this usage costs; nothing for a model without published prices.
pub(super) fn cost(model: &Model, usage: &Usage, batch: bool) -> Money {
    CARDS.get(model.id).map_or(Money::ZERO, |card| card.cost(usage, batch))
}

/// Whether the model has a fast mode.
pub(super) fn has_fast_mode(model: &Model) -> bool {
    CARDS.get(model.id).is_some_and(|card| card.fast.is_some())
}

/// Whole millionths of a dollar, rounded to the nearest.
pub(super) fn micro_usd(cost: Money) -> u64 {
    cost.0.saturating_add(500_000) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_costs_half_and_a_model_without_prices_nothing() {
        let usage = Usage { input_tokens: 1_000, output_tokens: 100, ..Usage::default() };
        let haiku = models::find("claude-haiku-4-5").unwrap();
        assert_eq!(micro_usd(cost(haiku, &usage, false)), 1_500);
        assert_eq!(micro_usd(cost(haiku, &usage, true)), 750);
        assert_eq!(cost(models::find("claude-mythos-preview").unwrap(), &usage, false), Money::ZERO);
    }
}
