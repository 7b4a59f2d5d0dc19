//! What an operator asks of a plan: which path, what matters, by when. The words of the command line and of the files.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest that a Message Batch may take: it expires 24 hours after it was created.
pub const BATCH_SLA_S: u64 = 24 * 3_600;

/// Which path is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathChoice {
    /// As the rules decide.
    #[default]
    Auto,
    /// Messages API fan-out.
    Sync,
    /// Message Batches.
    Batch,
}

/// What matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostPref {
    /// Time, whatever it costs.
    Latency,
    /// Both.
    #[default]
    Balanced,
    /// Money, whatever it takes.
    Cost,
}

/// Where the guard against a wedged sub-batch applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WedgeGuard {
    /// Nowhere.
    Off,
    /// To the balanced preference.
    #[default]
    Balanced,
    /// To the balanced and the cost preference.
    Always,
}

/// The number of requests from which batches are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crossover {
    /// The same for every model.
    Requests(u64),
    /// The cost-balance point of the model in the catalog; where it has none, [`Crossover::DEFAULT`].
    PerModel,
}

impl Crossover {
    /// The routing constant of the dispatcher that fandeck succeeds.
    pub const DEFAULT: u64 = 20_000;
}

impl Default for Crossover {
    fn default() -> Crossover {
        Crossover::Requests(Crossover::DEFAULT)
    }
}

/// What the rules of the route work by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RoutePolicy {
    /// What matters.
    pub cost_pref: CostPref,
    /// From how many requests on batches are considered.
    pub crossover: Crossover,
    /// Where the guard applies.
    pub wedge_guard: WedgeGuard,
    /// Sub-batches of a run above which the guard sends it the sync path, at least 1.
    pub max_batch_passes: u64,
}

impl Default for RoutePolicy {
    fn default() -> RoutePolicy {
        RoutePolicy {
            cost_pref: CostPref::Balanced,
            crossover: Crossover::default(),
            wedge_guard: WedgeGuard::Balanced,
            max_batch_passes: 3,
        }
    }
}

/// The words of a choice, in their order.
macro_rules! words {
    ($choice:ident: $($word:literal = $value:ident),+) => {
        impl $choice {
            /// All of them.
            pub const ALL: &'static [$choice] = &[$($choice::$value),+];

            /// The word that users see and type.
            pub fn as_str(self) -> &'static str {
                match self { $($choice::$value => $word),+ }
            }

            /// The choice of a word; `None` for any other word.
            pub fn of_word(word: &str) -> Option<$choice> {
                Self::ALL.iter().copied().find(|choice| choice.as_str() == word)
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words!(PathChoice: "auto" = Auto, "sync" = Sync, "batch" = Batch);
words!(CostPref: "latency" = Latency, "balanced" = Balanced, "cost" = Cost);
words!(WedgeGuard: "off" = Off, "balanced" = Balanced, "always" = Always);

impl fmt::Display for Crossover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crossover::Requests(n) => write!(f, "{n}"),
            Crossover::PerModel => f.write_str("per-model"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_its_choice_and_no_other_word_does() {
        for pref in CostPref::ALL {
            assert_eq!(CostPref::of_word(pref.as_str()), Some(*pref));
        }
        assert_eq!(PathChoice::of_word("batch"), Some(PathChoice::Batch));
        assert_eq!(WedgeGuard::of_word("always"), Some(WedgeGuard::Always));
        assert_eq!(CostPref::of_word("cheap"), None);
        assert_eq!(CostPref::of_word("Cost"), None);
    }
}
