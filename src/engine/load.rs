//! What a request is likely to take from the token limits, learnt from what answers were billed for.
//!
//! Input is taken in proportion to the length of the request's line, output in proportion to `max_tokens`. Both ratios
//! are kept per (organisation, family) and forget slowly, so that they follow an input whose second half differs from
//! its first. Single guesses may be far off; what pacing needs is that their sum over some dozens of calls is right.

use std::fmt;

use crate::model::{RequestNo, Usage};
use crate::requests::{Extras, Input};

/// Answers after which an old one has lost most of its weight.
const MEMORY: f64 = 200.0;

/// Tokens a byte before anything is known: text has about four bytes a token, and JSON around it.
const FIRST_INPUT_RATIO: f64 = 0.25;

/// Share of `max_tokens` that an answer has before anything is known.
const FIRST_OUTPUT_RATIO: f64 = 0.3;

/// A `max_tokens` above this says nothing more about the length of an answer: it is a bound that is never met.
const TELLING_MAX_TOKENS: u32 = 1_000;

/// The sizes of a run's requests, which its index knows.
pub(crate) trait Sizes: fmt::Debug + Send + Sync {
    /// Length of its line in bytes.
    fn bytes(&self, no: RequestNo) -> u32;
    /// Its `max_tokens`.
    fn max_tokens(&self, no: RequestNo) -> u32;
    /// Its model, by the index in the tariff.
    fn model(&self, _: RequestNo) -> u16 {
        0
    }
    /// What it asks for besides tokens at the usual prices.
    fn extras(&self, _: RequestNo) -> Extras {
        Extras::default()
    }
}

impl Sizes for Input {
    fn bytes(&self, no: RequestNo) -> u32 {
        self.len_of(no)
    }

    fn max_tokens(&self, no: RequestNo) -> u32 {
        self.max_tokens_of(no)
    }

    fn model(&self, no: RequestNo) -> u16 {
        self.model_ix(no)
    }

    fn extras(&self, no: RequestNo) -> Extras {
        self.extras_of(no)
    }
}

/// One call's guess, and what it was made from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Load {
    bytes: u32,
    telling: u32,
    /// Uncached input tokens.
    pub(crate) input: f64,
    /// Output tokens.
    pub(crate) output: f64,
}

/// A ratio of sums in which old terms fade.
#[derive(Debug, Clone, Copy, Default)]
struct Ratio {
    num: f64,
    den: f64,
}

impl Ratio {
    fn learn(&mut self, num: f64, den: f64) {
        let keep = 1.0 - 1.0 / MEMORY;
        self.num = self.num * keep + num;
        self.den = self.den * keep + den;
    }

    fn value(&self, before: f64) -> f64 {
        if self.den > 0.0 { self.num / self.den } else { before }
    }
}

/// What is known of one (organisation, family).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Estimates {
    input: Ratio,
    output: Ratio,
}

impl Estimates {
    /// What a request of this size will take.
    pub(crate) fn guess(&self, bytes: u32, max_tokens: u32) -> Load {
        let telling = max_tokens.clamp(1, TELLING_MAX_TOKENS);
        Load {
            bytes,
            telling,
            input: f64::from(bytes) * self.input.value(FIRST_INPUT_RATIO),
            output: f64::from(telling) * self.output.value(FIRST_OUTPUT_RATIO),
        }
    }

    /// Corrects the ratios by what an answer was billed for.
    pub(crate) fn learn(&mut self, load: &Load, usage: &Usage) {
        self.input.learn(limited_input(usage), f64::from(load.bytes.max(1)));
        self.output.learn(usage.output_tokens as f64, f64::from(load.telling.max(1)));
    }
}

/// Input tokens that count against the limit: what was read from the prompt cache does not.
pub(crate) fn limited_input(usage: &Usage) -> f64 {
    (usage.input_tokens + usage.cache_write_5m + usage.cache_write_1h) as f64
}

#[cfg(test)]
/// Requests of one size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uniform {
    pub(crate) bytes: u32,
    pub(crate) max_tokens: u32,
}

#[cfg(test)]
impl Sizes for Uniform {
    fn bytes(&self, _: RequestNo) -> u32 {
        self.bytes
    }

    fn max_tokens(&self, _: RequestNo) -> u32 {
        self.max_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_follow_what_answers_are_billed_for() {
        let mut estimates = Estimates::default();
        for _ in 0..50 {
            let load = estimates.guess(1_200, 4_096);
            let usage = Usage { input_tokens: 300, output_tokens: 80, cache_read: 5_000, ..Usage::default() };
            estimates.learn(&load, &usage);
        }
        let load = estimates.guess(2_400, 4_096);
        assert!((load.input - 600.0).abs() < 1.0, "{load:?}");
        assert!((load.output - 80.0).abs() < 1.0, "{load:?}");
    }

    #[test]
    fn the_sum_of_guesses_is_right_when_answers_vary_sixteenfold() {
        let mut estimates = Estimates::default();
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut guessed, mut billed) = (0.0, 0.0);
        for n in 0..2_000 {
            let output = rng.u64(20..320);
            let load = estimates.guess(900, 1_024);
            if n >= 200 {
                guessed += load.output;
                billed += output as f64;
            }
            estimates.learn(&load, &Usage { output_tokens: output, ..Usage::default() });
        }
        assert!((guessed / billed - 1.0f64).abs() < 0.05, "{}", guessed / billed);
    }
}
