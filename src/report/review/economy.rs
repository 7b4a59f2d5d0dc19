//! What follows from the books: what was paid for what, and what was saved.

use serde::Serialize;

use crate::model::books::{Books, Settled};
use crate::model::settings::PriceCard;
use crate::model::{Money, Outcome, Route, Terms};

/// The price card of a model at a prompt of this many tokens, on these terms; `None` when its prices are not known.
pub type Prices<'p> = dyn Fn(&str, u64, Terms) -> Option<PriceCard> + 'p;

/// Money by the class of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ByClass {
    /// Uncached input.
    #[serde(rename = "input_usd")]
    pub input: Money,
    /// Output.
    #[serde(rename = "output_usd")]
    pub output: Money,
    /// Written to the prompt cache.
    #[serde(rename = "cache_write_usd")]
    pub cache_write: Money,
    /// Read from the prompt cache.
    #[serde(rename = "cache_read_usd")]
    pub cache_read: Money,
    /// Web searches.
    #[serde(rename = "web_search_usd")]
    pub web_search: Money,
}

/// What follows from the books.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Economy {
    /// What all answers cost.
    #[serde(rename = "spent_usd")]
    pub spent: Money,
    /// What attempts without an answer cost at the most.
    #[serde(rename = "in_doubt_usd")]
    pub in_doubt: Money,
    /// What the usable answers cost: what was needed.
    #[serde(rename = "needed_usd")]
    pub needed: Money,
    /// `spent / needed`.
    pub amplification: Option<f64>,
    /// `(spent + in doubt) / needed`: the most that it can be.
    pub amplification_at_most: Option<f64>,
    /// `spent` by price class. A resumed run with prompts above a model's threshold is split by the standard card.
    pub by_class: ByClass,
    /// What reading from the prompt cache saved, less what writing to it cost more. Negative when it did not pay.
    pub prompt_cache_saved_usd: f64,
    /// What answers in batches would have cost more on the sync path.
    #[serde(rename = "batches_saved_usd")]
    pub batches_saved: Money,
    /// What answers from our own cache would have cost, at the mean of the others.
    #[serde(rename = "answer_cache_saved_usd")]
    pub answer_cache_saved: Money,
}

impl Economy {
    /// From the books, with the number of answers that our own cache gave.
    pub fn new(books: &Books, n_cached: u64, prices: &Prices<'_>) -> Economy {
        let spent = books.spent();
        let in_doubt = books.doubt().1;
        let of = |wanted: &dyn Fn(&Settled) -> bool| -> (u64, Money) {
            let lines = books.settled.iter().filter(|line| wanted(line));
            lines.fold((0, Money::ZERO), |(n, cost), line| (n + line.n, cost + line.cost))
        };
        let (n_needed, needed) = of(&|line| line.outcome == Outcome::Succeeded);
        let ratio = |paid: Money| (needed > Money::ZERO).then(|| paid.0 as f64 / needed.0 as f64);
        let mut by_class = ByClass::default();
        let mut saved = 0.0;
        let mut batches_saved = Money::ZERO;
        for line in &books.settled {
            let card = prices(&line.model, line.tokens.prompt_tokens() / line.n.max(1), line.tokens.terms);
            let class = by_class_of(line, card.as_ref());
            by_class.input += class.input;
            by_class.output += class.output;
            by_class.cache_write += class.cache_write;
            by_class.cache_read += class.cache_read;
            by_class.web_search += class.web_search;
            if line.path == Route::Batch {
                // All else is billed by half there.
                batches_saved += line.cost - class.web_search;
            }
            saved += card.map_or(0.0, |card| cache_saved(line, &card));
        }
        Economy {
            spent,
            in_doubt,
            needed,
            amplification: ratio(spent),
            amplification_at_most: ratio(spent + in_doubt),
            by_class,
            prompt_cache_saved_usd: saved,
            batches_saved,
            answer_cache_saved: Money(needed.0.checked_div(n_needed).unwrap_or(0).saturating_mul(n_cached)),
        }
    }
}

/// A line by price class; what rounding and other cards leave over goes to the output, so that the sum is exact.
fn by_class_of(line: &Settled, card: Option<&PriceCard>) -> ByClass {
    let Some(card) = card else { return ByClass { output: line.cost, ..ByClass::default() } };
    let halved = |cost: Money| if line.path == Route::Batch { cost.half() } else { cost };
    let of = |tokens: u64, price: Money| halved(Money::for_tokens(tokens, price));
    let mut rest = line.cost;
    let mut take = |cost: Money| {
        let taken = cost.min(rest);
        rest = rest - taken;
        taken
    };
    let tokens = &line.tokens;
    let web_search = take(Money::for_tokens(tokens.web_searches, card.web_search));
    let input = take(of(tokens.input_tokens, card.input));
    let writes = of(tokens.cache_write_5m, card.cache_write_5m) + of(tokens.cache_write_1h, card.cache_write_1h);
    let cache_write = take(writes);
    let cache_read = take(of(tokens.cache_read, card.cache_read));
    ByClass { input, output: rest, cache_write, cache_read, web_search }
}

/// What the prompt cache saved on a line, in USD.
fn cache_saved(line: &Settled, card: &PriceCard) -> f64 {
    let usd = |tokens: u64, price: Money| tokens as f64 * price.usd() / 1e6;
    let tokens = &line.tokens;
    let without = usd(tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h, card.input);
    let with = usd(tokens.cache_read, card.cache_read)
        + usd(tokens.cache_write_5m, card.cache_write_5m)
        + usd(tokens.cache_write_1h, card.cache_write_1h);
    (without - with) * if line.path == Route::Batch { 0.5 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Usage;

    fn card() -> PriceCard {
        let usd = Money::from_usd;
        PriceCard {
            input: usd(1.0),
            output: usd(5.0),
            cache_write_5m: usd(1.25),
            cache_write_1h: usd(2.0),
            cache_read: usd(0.1),
            web_search: usd(10_000.0),
        }
    }

    fn settled(path: Route, outcome: Outcome, tokens: Usage) -> Settled {
        let model = "claude-haiku-4-5".to_owned();
        let of = |n, price| Money::for_tokens(n, price);
        let whole = of(tokens.input_tokens, card().input)
            + of(tokens.output_tokens, card().output)
            + of(tokens.cache_write_5m, card().cache_write_5m)
            + of(tokens.cache_read, card().cache_read);
        let tokens_cost = if path == Route::Batch { whole.half() } else { whole };
        let cost = tokens_cost + of(tokens.web_searches, card().web_search);
        Settled { org: "a".to_owned(), path, model, outcome, n: 1, tokens, cost }
    }

    #[test]
    fn classes_add_up_to_what_was_spent_and_savings_are_named() {
        let tokens = Usage {
            input_tokens: 100,
            output_tokens: 50,
            cache_write_5m: 1_000,
            cache_read: 9_000,
            web_searches: 1,
            ..Usage::default()
        };
        let lines = [
            settled(Route::Sync, Outcome::Succeeded, tokens),
            settled(Route::Batch, Outcome::Succeeded, tokens),
            settled(Route::Sync, Outcome::Refused, tokens),
        ];
        let books = Books { settled: lines.to_vec(), ..Books::default() };
        let economy = Economy::new(&books, 10, &|_, _, _| Some(card()));
        let ByClass { input, output, cache_write, cache_read, web_search } = economy.by_class;
        assert_eq!(input + output + cache_write + cache_read + web_search, economy.spent);
        assert_eq!(web_search, Money::from_usd(0.03), "a cent each, also in a batch");
        // 250 tokens of input at 1 USD, 125 of output at 5, per million: two whole and one at half the price.
        assert_eq!((input, output), (Money::from_usd(0.000_25), Money::from_usd(0.000_625)));
        assert_eq!(economy.needed, lines[0].cost + lines[1].cost);
        let of = |lines: &[Settled]| lines.iter().map(|line| line.cost.usd()).sum::<f64>();
        assert!((economy.amplification.unwrap() - of(&lines) / of(&lines[..2])).abs() < 1e-9);
        assert_eq!(economy.batches_saved, lines[1].cost - Money::from_usd(0.01), "no half of a search");
        // 9,000 at 0.9 USD less, 1,000 at 0.25 more, two and a half times.
        assert!((economy.prompt_cache_saved_usd - 2.5 * (0.0081 - 0.00025)).abs() < 1e-9);
        assert_eq!(economy.answer_cache_saved, Money((lines[0].cost + lines[1].cost).0 / 2 * 10));
    }

    #[test]
    fn without_a_usable_answer_there_is_no_amplification() {
        let economy = Economy::new(&Books::default(), 3, &|_, _, _| None);
        assert_eq!((economy.amplification, economy.answer_cache_saved), (None, Money::ZERO));
    }
}
