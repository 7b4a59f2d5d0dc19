//! What an answer costs, exact to the pico-dollar.

use serde::{Deserialize, Serialize};

use crate::model::settings::PriceCard;
use crate::model::{Money, Usage};

/// The prices of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// For prompts of any length, or up to that of `long_prompt`.
    pub standard: PriceCard,
    /// For long prompts, at models that price them apart.
    pub long_prompt: Option<LongPrompt>,
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
    /// The prices of a request whose whole prompt has this many tokens.
    pub fn for_prompt(&self, prompt_tokens: u64) -> &PriceCard {
        match &self.long_prompt {
            Some(long) if prompt_tokens > long.above_tokens => &long.price,
            _ => &self.standard,
        }
    }

    /// What this usage costs: half of it in a batch.
    pub fn cost(&self, usage: &Usage, batch: bool) -> Money {
        self.cost_at(self.for_prompt(usage.prompt_tokens()), usage, batch)
    }

    /// What this usage of many requests costs at these prices, which are those of each of them: half of it in a batch.
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
    }
}
