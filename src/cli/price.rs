//! What it will cost to send what is left, for everything that asks or refuses before money is spent. It is the plan's cost,
//! of one route: a gate and a plan never name two figures for the same requests.

use crate::model::Route;
use crate::plan::{Cost, Knobs, cost_of};
use crate::report::format;
use crate::requests::Input;
use crate::store::Last;

use super::planned::{Asked, Ground};
use super::setup::Setup;
use super::work::Work;

/// A cost, and how sure it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    /// Of all that is left.
    pub cost: Cost,
    /// Whether the tokens of a request are measured.
    is_measured: bool,
}

impl Price {
    /// Of sending the requests that are open, on this path.
    pub(crate) fn of(input: &Input, last: &[Last], setup: &Setup, path: Route) -> Price {
        let work = Work::of_input(input, last, &setup.catalog);
        let model = work.model().unwrap_or_default().to_owned();
        let knobs = Ground::of_setup(setup).knobs(&work, &model, &Asked::default());
        Price::of_knobs(&knobs, path, setup)
    }

    fn of_knobs(knobs: &Knobs, path: Route, setup: &Setup) -> Price {
        let cost = cost_of(knobs, path, knobs.n_to_send(), &setup.catalog);
        let tokens = &knobs.tokens;
        Price { cost, is_measured: tokens.input.origin.is_measured() && tokens.output.origin.is_measured() }
    }

    /// `$1.20 (between $0.80 and $4.10; token counts are assumed)`.
    pub(crate) fn in_words(&self) -> String {
        self.in_words_as(&format::money(self.cost.expected))
    }

    /// The same, with what is expected as it is written elsewhere in the sentence.
    pub(crate) fn in_words_as(&self, expected: &str) -> String {
        let cost = &self.cost;
        let mut text = format!(
            "{expected} (between {} and {}; token counts are {})",
            format::money(cost.low),
            format::money(cost.high),
            if self.is_measured { "measured" } else { "assumed" }
        );
        if cost.n_unpriced > 0 {
            text.push_str(&format!(", without {} requests whose model has no price", format::count(cost.n_unpriced)));
        }
        text
    }
}
