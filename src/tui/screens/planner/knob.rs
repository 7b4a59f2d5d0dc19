//! The knobs, in their order.

/// A knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Knob {
    /// How many requests; that of the input when there is one.
    N,
    /// The model.
    Model,
    /// What matters.
    CostPref,
    /// Which path is asked for.
    Path,
    /// By when it must be done.
    Deadline,
    /// Lanes per key.
    Procs,
    /// Requests of a sub-batch.
    SubBatchSize,
    /// Input tokens of a request.
    TokensIn,
    /// Output tokens of a request.
    TokensOut,
    /// An org, by its position: whether it is used.
    Org(usize),
}

impl Knob {
    /// The first.
    pub const FIRST: Knob = Knob::N;

    /// Those that are there without any org.
    const FIXED: [Knob; 9] = [
        Knob::N,
        Knob::Model,
        Knob::CostPref,
        Knob::Path,
        Knob::Deadline,
        Knob::Procs,
        Knob::SubBatchSize,
        Knob::TokensIn,
        Knob::TokensOut,
    ];

    /// All of them, with so many orgs.
    pub fn all(n_orgs: usize) -> impl Iterator<Item = Knob> {
        Knob::FIXED.into_iter().chain((0..n_orgs).map(Knob::Org))
    }

    /// Its name; that of an org is its label.
    pub fn name(self) -> &'static str {
        match self {
            Knob::N => "requests",
            Knob::Model => "model",
            Knob::CostPref => "cost-pref",
            Knob::Path => "path",
            Knob::Deadline => "deadline",
            Knob::Procs => "procs",
            Knob::SubBatchSize => "sub-batch",
            Knob::TokensIn => "tokens in",
            Knob::TokensOut => "tokens out",
            Knob::Org(_) => "org",
        }
    }

    /// Whether it has so few values that there is nothing to type.
    pub fn is_switch(self) -> bool {
        matches!(self, Knob::CostPref | Knob::Path | Knob::Org(_))
    }
}
