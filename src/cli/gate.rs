//! The gate before money is spent: what it will cost is said, and asked, or refused when nobody is there to ask.

use std::io::{self, BufRead, Write};

use crate::model::books::Limits;
use crate::model::{Money, RequestNo, Route};
use crate::plan::Cost;
use crate::report::format;
use crate::store::Last;

use super::failure::Failure;
use super::front::Front;
use super::launch::Indexed;
use super::out;
use super::price::Price;
use super::setup::Setup;

/// What an authorised cost may be passed by: a projection is no promise.
const AUTHORIZED_TIMES: (u64, u64) = (3, 2);

/// What no `--yes` overrides: a cost far above the authorised one, and a budget that cannot be kept. `spent` is what the run
/// has cost before.
pub(crate) fn refuses(
    indexed: &Indexed,
    last: &[Last],
    setup: &Setup,
    spent: Money,
    path: Route,
) -> Result<(), Failure> {
    let price = Price::of(&indexed.input, last, setup, path);
    let cost = &price.cost;
    if cost.n_unpriced > 0 && limits_cost(&setup.limits) {
        return Err(Failure::usage(format!(
            "a budget cannot be kept: no price is known for the model of {} requests ({}); take the budget away, or give the \
             model a price",
            format::count(cost.n_unpriced),
            unpriced(indexed, setup).join(", ")
        )));
    }
    let Some(authorized) = setup.authorized else { return Ok(()) };
    if cost.n_unpriced > 0 {
        return Err(Failure::usage(unauthorized(authorized, cost.n_unpriced, &unpriced(indexed, setup))));
    }
    if spent + cost.expected <= tolerated(authorized) {
        return Ok(());
    }
    let before =
        if spent > Money::ZERO { format!(", and {} is spent already", format::money(spent)) } else { String::new() };
    Err(Failure::usage(format!(
        "projected cost {}{before}: more than 1.5 times the authorised {}; nothing was sent. Have more authorised, or send less",
        price.in_words(),
        format::money(authorized)
    )))
}

/// What a projection may come to when this was authorised.
pub(crate) fn tolerated(authorized: Money) -> Money {
    let (times, of) = AUTHORIZED_TIMES;
    Money(authorized.0.saturating_mul(times) / of)
}

/// Why requests whose cost nobody knows are not within what was authorised, in words.
pub(crate) fn unauthorized(authorized: Money, n: u64, models: &[&str]) -> String {
    format!(
        "the cost cannot be held against the authorised {}: no price is known for the model of {} requests ({}); give the \
         model a price, or take --authorized-cost away and launch with --yes",
        format::money(authorized),
        format::count(n),
        models.join(", ")
    )
}

/// Two amounts in words that differ, as the amounts do.
fn apart(one: Money, other: Money) -> [String; 2] {
    let texts = [one, other].map(format::money);
    if one == other || texts[0] != texts[1] {
        texts
    } else {
        [one, other].map(|amount| format!("${:.6}", amount.usd()))
    }
}

fn limits_cost(limits: &Limits) -> bool {
    limits.max_cost.is_some() || limits.per_day.is_some() || !limits.of_orgs.is_empty()
}

/// What a budget below the projection means, in words; nothing when there is none.
fn budget_in_words(cost: &Cost, limits: &Limits) -> String {
    match limits.max_cost {
        Some(limit) if limit < cost.expected => format!(
            "\nbudget {}: it will probably be used up before the end, and the run then ends incomplete",
            format::money(limit)
        ),
        Some(limit) => format!("\nbudget {}", format::money(limit)),
        None => String::new(),
    }
}

/// Before a new run without a screen; on one, the planner asks.
pub(crate) fn before_run(
    indexed: &Indexed,
    last: &[Last],
    setup: &Setup,
    front: Front,
    path: Route,
) -> Result<(), Failure> {
    let price = Price::of(&indexed.input, last, setup, path);
    if !front.is_attended() {
        return unattended(indexed, &price, setup);
    }
    ask(&price, setup, &format!("to send, path {path}"))
}

/// Before a run goes on: what was agreed to once is asked again only when what is left is dear.
pub(crate) fn before_resume(
    indexed: &Indexed,
    last: &[Last],
    setup: &Setup,
    front: Front,
    path: Route,
) -> Result<(), Failure> {
    let price = Price::of(&indexed.input, last, setup, path);
    if !front.is_attended() {
        return unattended(indexed, &price, setup);
    }
    if price.cost.expected <= setup.confirm_above {
        return Ok(());
    }
    ask(&price, setup, "are left")
}

/// Without a screen: goes on when the figure is small, and refuses when it is not or when there is none.
fn unattended(indexed: &Indexed, price: &Price, setup: &Setup) -> Result<(), Failure> {
    let cost = &price.cost;
    if cost.n_unpriced > 0 {
        let models = unpriced(indexed, setup);
        let first = (0..indexed.input.len()).map(RequestNo).find(|no| models.contains(&indexed.input.model_of(*no)));
        return Err(Failure::usage(format!(
            "the cost cannot be projected: no price is known for the model of {} requests ({}; the first is on line {}); \
             mend the name if it is misspelt, else launch with --yes",
            format::count(cost.n_unpriced),
            models.join(", "),
            first.map_or(0, |no| indexed.input.line_of(no))
        )));
    }
    if cost.expected > setup.confirm_above {
        let [projected, above] = apart(cost.expected, setup.confirm_above);
        return Err(Failure::usage(format!(
            "projected cost {} is above confirm-above-usd ({above}); launch with --yes",
            price.in_words_as(&projected)
        )));
    }
    Ok(())
}

/// The models of an input that have no price.
fn unpriced<'i>(indexed: &'i Indexed, setup: &Setup) -> Vec<&'i str> {
    let models = indexed.input.models().iter().map(|used| used.model.as_str());
    models.filter(|model| setup.catalog.card(model).is_none()).collect()
}

/// Says what is to be agreed to, and asks for a `y`; for the figure itself when it is dear, so that nobody launches it by habit.
fn ask(price: &Price, setup: &Setup, which: &str) -> Result<(), Failure> {
    let cost = &price.cost;
    out::say(&format!(
        "{} requests {which}\nprojected cost {}{}",
        format::count(cost.n),
        price.in_words(),
        budget_in_words(cost, &setup.limits)
    ));
    if cost.n == 0 {
        return Ok(());
    }
    let launch = if cost.expected > setup.confirm_above {
        let figure = figure(cost.expected);
        let question = format!(
            "That is above confirm-above-usd ({}). To launch, type the projected dollars, {figure}: ",
            format::money(setup.confirm_above)
        );
        answer(&question).is_some_and(|answer| is_figure(&answer, &figure))
    } else {
        answer("Launch? [y/N] ").is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
    };
    if launch { Ok(()) } else { Err(Failure::usage("not launched; nothing was sent")) }
}

/// Whole dollars, as they are to be typed.
fn figure(cost: Money) -> String {
    cost.0.div_ceil(Money::DOLLAR.0).to_string()
}

fn is_figure(answer: &str, figure: &str) -> bool {
    let plain = |text: &str| text.trim().trim_start_matches('$').replace(',', "");
    plain(answer) == figure
}

/// What is typed in answer to a question on the terminal; `None` when nobody can be asked.
pub(crate) fn answer(question: &str) -> Option<String> {
    let mut err = io::stderr().lock();
    let mut answer = String::new();
    err.write_all(question.as_bytes()).and_then(|()| err.flush()).ok()?;
    io::stdin().lock().read_line(&mut answer).ok()?;
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_amounts_that_differ_are_written_so_that_it_is_seen() {
        let usd = Money::from_usd;
        assert_eq!(apart(usd(5.814), usd(5.81)), ["$5.814000", "$5.810000"]);
        assert_eq!(apart(usd(5.82), usd(5.81)), ["$5.82", "$5.81"]);
        assert_eq!(apart(usd(5.81), usd(5.81)), ["$5.81", "$5.81"]);
    }

    #[test]
    fn one_and_a_half_times_what_was_authorised_is_tolerated_to_the_pico_dollar() {
        assert_eq!(tolerated(Money::from_usd(4.0)), Money::from_usd(6.0));
        assert_eq!(
            (tolerated(Money::ZERO), tolerated(Money(1)), tolerated(Money(3))),
            (Money::ZERO, Money(1), Money(4))
        );
    }

    #[test]
    fn a_dear_run_is_launched_by_its_figure_and_by_nothing_else() {
        let wanted = figure(Money::from_usd(1_196.2));
        assert_eq!(wanted, "1197");
        for typed in ["1197\n", " $1,197 ", "1197"] {
            assert!(is_figure(typed, &wanted), "{typed:?}");
        }
        for typed in ["y\n", "", "yes", "1196", "11970"] {
            assert!(!is_figure(typed, &wanted), "{typed:?}");
        }
    }
}
