//! What an answer costs, exact to the pico-dollar.

use serde::{Deserialize, Serialize};

use crate::model::settings::PriceCard;
use crate::model::{Money, Terms, Usage};

/// Fast mode at a model of which no fast prices are known, in thousandths of its other prices: all that are published are
/// twice those. The books then hold too much rather than too little.
const FAST_THOUSANDTHS: u32 = 2_000;

/// The prices of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// For prompts of any length, or up to that of `long_prompt`.
    pub standard: PriceCard,
    /// For long prompts, at models that price them apart.
    pub long_prompt: Option<LongPrompt>,
    /// In fast mode, for prompts of any length; `None` when they are not known.
    #[serde(default)]
    pub fast: Option<PriceCard>,
    /// Factor of inference in the US, in thousandths.
    #[serde(default = "no_surcharge")]
    pub us_thousandths: u32,
}

/// As runs recorded it before there was one.
fn no_surcharge() -> u32 {
    1_000
}

/// Prices of long prompts. The whole request is billed by them, not what is over the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPrompt {
    /// Prompts with more tokens than this, cached ones included.
    pub above_tokens: u64,
    /// Their prices.
    pub price: PriceCard,
}

impl Card {
    /// The prices of a request whose whole prompt has this many tokens, on these terms.
    pub fn for_prompt(&self, prompt_tokens: u64, terms: Terms) -> PriceCard {
        let usual = match &self.long_prompt {
            Some(long) if prompt_tokens > long.above_tokens => long.price,
            _ => self.standard,
        };
        let at_speed = match (terms.fast, self.fast) {
            (false, _) => usual,
            (true, Some(fast)) => fast,
            (true, None) => usual.scaled(FAST_THOUSANDTHS),
        };
        if terms.us_inference { at_speed.scaled(self.us_thousandths) } else { at_speed }
    }

    /// What this usage costs; see [`Card::cost_at`].
    pub fn cost(&self, usage: &Usage, batch: bool) -> Money {
        self.cost_at(&self.for_prompt(usage.prompt_tokens(), usage.terms), usage, batch)
    }

    /// What this usage of many requests costs at these prices, which are those of each of them. In a batch all tokens cost
    /// half, and searches the same.
    pub fn cost_at(&self, price: &PriceCard, usage: &Usage, batch: bool) -> Money {
        // Each price is halved, not the sum, as the API bills it; all of them stay exact.
        let of = |tokens: u64, price: Money| match (tokens, batch) {
            (0, _) => Money::ZERO,
            (tokens, true) => Money::for_tokens(tokens, price.half()),
            (tokens, false) => Money::for_tokens(tokens, price),
        };
        of(usage.input_tokens, price.input)
            + of(usage.output_tokens, price.output)
            + of(usage.cache_write_5m, price.cache_write_5m)
            + of(usage.cache_write_1h, price.cache_write_1h)
            + of(usage.cache_read, price.cache_read)
            + Money::for_tokens(usage.web_searches, price.web_search)
    }
}
