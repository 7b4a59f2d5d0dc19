//! What requests will cost: tokens times the model's card, half of everything in batches. In exact money.

use serde::{Deserialize, Serialize};

use crate::catalog::{Card, Catalog};
use crate::model::Money;

use super::figure::End;
use super::knobs::{Group, Knobs, Tokens};

/// An estimate of cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Requests in it.
    pub n: u64,
    /// Requests whose model has no price in the catalog; they are left out of the sums.
    pub n_unpriced: u64,
    /// If few tokens are used.
    pub low: Money,
    /// As expected.
    pub expected: Money,
    /// If many are.
    pub high: Money,
}

impl Cost {
    /// The expected cost; `None` when no request has a price.
    pub fn priced(&self, money: Money) -> Option<Money> {
        (self.n == 0 || self.n_unpriced < self.n).then_some(money)
    }

    fn add(&mut self, end: End, money: Money) {
        match end {
            End::Low => self.low += money,
            End::Mid => self.expected += money,
            End::High => self.high += money,
        }
    }
}

/// What these requests cost, sent one by one or in batches.
pub(super) fn cost(groups: &[Group], batch: bool, catalog: &Catalog) -> Cost {
    let mut sum = Cost::default();
    for group in groups {
        sum.n += group.n;
        match catalog.card(&group.model) {
            Some(card) => End::ALL.into_iter().for_each(|end| sum.add(end, of_group(&card, group, batch, end))),
            None => sum.n_unpriced += group.n,
        }
    }
    sum
}

/// The requests of the knobs; where `n` is not all that the input has left, the same mix of them.
pub(crate) fn groups_of(knobs: &Knobs, n: u64) -> Vec<Group> {
    let in_input: u64 = knobs.groups.iter().map(|group| group.n).sum();
    if in_input == 0 {
        return vec![Group::plain(&knobs.model, n, knobs.tokens.clone())];
    }
    let mut groups = knobs.groups.clone();
    if in_input != n {
        let mut given = 0;
        let mut seen = 0;
        for group in &mut groups {
            // By running sums, so that the parts add up to `n` exactly.
            seen += group.n;
            let upto = (u128::from(n) * u128::from(seen) / u128::from(in_input)) as u64;
            group.n = upto - given;
            given = upto;
        }
    }
    groups
}

fn of_group(card: &Card, group: &Group, batch: bool, end: End) -> Money {
    // Which card a request is billed by depends on the length of its own prompt, not on the sum over the group.
    let one = prompt_of(&group.tokens, end);
    card.cost_at(&card.for_prompt(one, group.terms), &group.tokens.of(group.n, end), batch)
}

fn prompt_of(tokens: &Tokens, end: End) -> u64 {
    (tokens.limited_input(end) + tokens.cache_read).max(0.0).ceil() as u64
}

#[cfg(test)]
mod tests {
    use crate::model::{Terms, Usage};

    use super::super::figure::Figure;
    use super::*;

    fn judge(model: &str, n: u64, input: f64, output: f64) -> Group {
        Group::plain(model, n, Tokens::plain(Figure::given(input), Figure::given(output)))
    }

    fn shown(group: &Group, batch: bool) -> String {
        cost(std::slice::from_ref(group), batch, &Catalog::builtin()).expected.to_string()
    }

    #[test]
    fn a_judges_run_costs_to_the_cent_what_each_card_says() {
        // 100,000 requests of 300 tokens in and 200 out: 30 M in, 20 M out.
        for (model, sync, batch) in [
            ("claude-haiku-5-5", "$13.00", "$6.50"),
            ("claude-haiku-4-5", "$130.00", "$65.00"),
            ("claude-sonnet-5-5", "$260.00", "$130.00"),
            ("claude-sonnet-5", "$260.00", "$130.00"),
            ("claude-sonnet-4-6", "$390.00", "$195.00"),
            ("claude-sonnet-4-5", "$390.00", "$195.00"),
            ("claude-opus-5-5", "$520.00", "$260.00"),
            ("claude-opus-5", "$650.00", "$325.00"),
            ("claude-opus-4-8", "$650.00", "$325.00"),
            ("claude-opus-4-7", "$650.00", "$325.00"),
            ("claude-opus-4-6", "$650.00", "$325.00"),
            ("claude-opus-4-5", "$650.00", "$325.00"),
            ("claude-fable-5-2", "$1040.00", "$520.00"),
            ("claude-mythos-5-2", "$1040.00", "$520.00"),
            ("claude-fable-5-1", "$1300.00", "$650.00"),
            ("claude-mythos-5-1", "$1300.00", "$650.00"),
            ("claude-fable-5", "$1300.00", "$650.00"),
            ("claude-mythos-5", "$1300.00", "$650.00"),
        ] {
            let group = judge(model, 100_000, 300.0, 200.0);
            assert_eq!((shown(&group, false).as_str(), shown(&group, true).as_str()), (sync, batch), "{model}");
        }
    }

    #[test]
    fn cache_and_batch_discounts_stack_with_each_models_own_price_of_a_read() {
        // 10,000 requests: 200 in, 150 out, 4,000 read from the cache, and in the mean 4 written for an hour.
        for (model, sync, batch) in [
            // 2 M in x 2.00 + 1.5 M out x 10.00 + 40 M read x 0.10 + 0.04 M written x 4.00
            ("claude-sonnet-5-5", "$23.16", "$11.58"),
            // the same but for reads: 40 M x 0.20
            ("claude-sonnet-5", "$27.16", "$13.58"),
            // 2 x 10.00 + 1.5 x 50.00 + 40 x 0.25 + 0.04 x 20.00
            ("claude-fable-5-1", "$105.80", "$52.90"),
            // 2 x 0.10 + 1.5 x 0.50 + 40 x 0.01 + 0.04 x 0.20
            ("claude-haiku-5-5", "$1.36", "$0.68"),
        ] {
            let mut group = judge(model, 10_000, 200.0, 150.0);
            group.tokens.cache_read = 4_000.0;
            group.tokens.cache_write_1h = 4.0;
            assert_eq!((shown(&group, false).as_str(), shown(&group, true).as_str()), (sync, batch), "{model}");
        }
    }

    #[test]
    fn haiku_5_5_takes_the_card_of_each_requests_own_prompt() {
        // 1,000 x 100,000 in x 0.10 + 1,000 x 100 out x 0.50, and one token more: five times the price.
        assert_eq!(shown(&judge("claude-haiku-5-5", 1_000, 100_000.0, 100.0), false), "$10.05");
        assert_eq!(shown(&judge("claude-haiku-5-5", 1_000, 100_001.0, 100.0), false), "$50.25");
        assert_eq!(shown(&judge("claude-haiku-5-5", 1_000, 100_001.0, 100.0), true), "$25.13");
        // The sum over the group is far above the threshold, and no request is.
        assert_eq!(shown(&judge("claude-haiku-5-5", 1_000_000, 300.0, 200.0), false), "$130.00");
    }

    #[test]
    fn requests_in_fast_mode_or_the_us_are_projected_at_their_prices() {
        let on = |fast, us_inference| Group {
            terms: Terms { fast, us_inference },
            ..judge("claude-opus-5-5", 100_000, 300.0, 200.0)
        };
        assert_eq!(shown(&on(true, false), false), "$1040.00");
        assert_eq!(
            (shown(&on(false, true), false), shown(&on(false, true), true)),
            ("$572.00".into(), "$286.00".into())
        );
        assert_eq!(shown(&on(true, true), false), "$1144.00");
    }

    #[test]
    fn the_cost_of_a_group_is_what_its_requests_cost_one_by_one() {
        let catalog = Catalog::builtin();
        let usage = Usage { input_tokens: 317, output_tokens: 89, ..Usage::default() };
        for model in catalog.models() {
            let one = catalog.cost(&model.id, &usage, true);
            let group = judge(&model.id, 123_457, 317.0, 89.0);
            assert_eq!(cost(&[group], true, &catalog).expected, Money(one.0 * 123_457), "{}", model.id);
        }
    }

    #[test]
    fn a_model_without_a_price_is_counted_and_not_guessed() {
        let groups = [judge("claude-haiku-4-5", 10, 300.0, 200.0), judge("nobody-knows-1", 5, 300.0, 200.0)];
        let cost = cost(&groups, false, &Catalog::builtin());
        assert_eq!((cost.n, cost.n_unpriced), (15, 5));
        assert!(cost.priced(cost.expected).is_some_and(|money| money > Money::ZERO));
        let none = super::cost(&groups[1..], false, &Catalog::builtin());
        assert_eq!(none.priced(none.expected), None);
    }

    #[test]
    fn a_part_of_an_input_is_the_same_mix_and_adds_up() {
        let mut knobs = Knobs::assumed(1_000, "claude-haiku-4-5", Vec::new(), &Catalog::builtin());
        knobs.groups = vec![judge("claude-haiku-4-5", 3, 1.0, 1.0), judge("claude-opus-5", 4, 1.0, 1.0)];
        for n in [0, 1, 6, 7, 8, 100_001] {
            let groups = groups_of(&knobs, n);
            assert_eq!(groups.iter().map(|group| group.n).sum::<u64>(), n);
        }
        assert_eq!(groups_of(&knobs, 700)[0].n, 300);
    }
}
