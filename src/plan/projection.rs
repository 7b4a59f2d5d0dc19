//! What the requests that are still to be sent will cost, before any of them is sent.
//!
//! Nothing is measured yet, so the token counts are assumptions, and the result is an interval with a middle.

use crate::catalog::Catalog;
use crate::model::{Money, Usage};

/// Bytes of a request's JSON to an input token, for English text with its JSON around it. Models since 4.7 make about a
/// third more tokens of the same text; the interval covers that.
const BYTES_PER_TOKEN: u64 = 4;

/// Output tokens of a judge-like answer, as measured on the runs that the defaults come from (64 to 256).
const OUTPUT_TOKENS: u64 = 160;

/// What is known of a request before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape<'a> {
    /// Its model id.
    pub model: &'a str,
    /// Length of its JSON, in bytes.
    pub bytes: u64,
    /// Its `max_tokens`.
    pub max_tokens: u32,
}

/// An estimate of cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    /// Requests in it.
    pub n: u64,
    /// Requests whose model has no price in the catalog; they are left out of the sums.
    pub n_unpriced: u64,
    /// If answers are short.
    pub low: Money,
    /// As assumed.
    pub expected: Money,
    /// If every answer is as long as `max_tokens` allows, on a tokenizer that makes more tokens.
    pub high: Money,
}

impl Projection {
    /// The same over Message Batches, which cost half of everything. The pilots, at most some dozens, are left out of account.
    pub fn by_batch(self) -> Projection {
        Projection { low: self.low.half(), expected: self.expected.half(), high: self.high.half(), ..self }
    }
}

/// Projects the cost of sending these requests over the Messages API.
pub fn project<'a>(shapes: impl IntoIterator<Item = Shape<'a>>, catalog: &Catalog) -> Projection {
    let mut sum = Projection::default();
    let mut card: Option<(&str, Option<crate::catalog::Card>)> = None;
    for shape in shapes {
        sum.n += 1;
        if card.as_ref().is_none_or(|(model, _)| *model != shape.model) {
            card = Some((shape.model, catalog.card(shape.model)));
        }
        let Some((_, Some(card))) = &card else {
            sum.n_unpriced += 1;
            continue;
        };
        let input = shape.bytes / BYTES_PER_TOKEN;
        let limit = u64::from(shape.max_tokens);
        let cost =
            |input_tokens, output_tokens| card.cost(&Usage { input_tokens, output_tokens, ..Usage::default() }, false);
        sum.low += cost(input * 3 / 4, limit.min(OUTPUT_TOKENS / 4));
        sum.expected += cost(input, limit.min(OUTPUT_TOKENS));
        sum.high += cost(input * 3 / 2, limit);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(model: &str) -> Shape<'_> {
        Shape { model, bytes: 4_000, max_tokens: 1_000 }
    }

    #[test]
    fn the_middle_is_a_quarter_of_the_bytes_in_and_a_judges_answer_out() {
        let projection = project(vec![shape("claude-haiku-4-5"); 10], &Catalog::builtin());
        // 1,000 tokens at 1 USD and 160 at 5 USD per million, ten times.
        assert_eq!(projection.expected, Money::from_usd(0.018));
        assert!(projection.low < projection.expected && projection.expected < projection.high);
        // 1,500 tokens at 1 USD and 1,000 at 5 USD, ten times.
        assert_eq!(projection.high, Money::from_usd(0.065));
        let by_batch = projection.by_batch();
        assert_eq!(
            (by_batch.n, by_batch.expected, by_batch.high),
            (10, Money::from_usd(0.009), Money::from_usd(0.0325))
        );
    }

    #[test]
    fn a_model_without_a_price_is_counted_and_not_guessed() {
        let projection = project([shape("claude-haiku-4-5"), shape("nobody-knows-1")], &Catalog::builtin());
        assert_eq!((projection.n, projection.n_unpriced), (2, 1));
        assert!(projection.expected > Money::ZERO);
    }
}
