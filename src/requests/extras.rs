//! What a request asks for that is billed beside its tokens, or at other prices: fast mode, inference in the US, and
//! searches of the server's own tool; and whether its prompt may have more tokens than its text, or be written to the prompt
//! cache. It is kept with each request in two bytes, so that what a request costs at the most is known without reading it again.

use crate::model::Terms;

/// Searches that a tool without `max_uses` is taken to make at the most: the API pauses a turn after ten rounds of its own
/// tools (`pause_turn`; page on stop reasons). A round may search more than once, so this is an assumption.
pub(super) const SEARCHES_WITHOUT_MAX_USES: u64 = 10;

const FAST: u16 = 1 << 15;
const US_INFERENCE: u16 = 1 << 14;
const ADDS: u16 = 1 << 13;
const CACHES: u16 = 1 << 12;
const MAX_SEARCHES: u16 = CACHES - 1;

/// What a request asks for besides tokens at the usual prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extras(u16);

impl Extras {
    /// Of these terms, with so many searches at the most; above 4,095 they are taken for that.
    pub(crate) fn new(terms: Terms, searches: u64) -> Extras {
        let searches = u16::try_from(searches).unwrap_or(u16::MAX).min(MAX_SEARCHES);
        Extras(searches | flag(terms.fast, FAST) | flag(terms.us_inference, US_INFERENCE))
    }

    /// As it is, with a prompt to which the API may add, and which may be written to the prompt cache.
    pub(crate) fn of_prompt(self, adds: bool, caches: bool) -> Extras {
        Extras(self.0 | flag(adds, ADDS) | flag(caches, CACHES))
    }

    /// By which prices its tokens are billed.
    pub fn terms(self) -> Terms {
        Terms { fast: self.0 & FAST != 0, us_inference: self.0 & US_INFERENCE != 0 }
    }

    /// How many searches it may make: the sum of `max_uses`, where it has one.
    pub fn searches(self) -> u64 {
        u64::from(self.0 & MAX_SEARCHES)
    }

    /// Its prompt may have tokens that are not in its text, such as the API's own prompt for tools: it is not of plain text alone.
    pub fn adds_to_prompt(self) -> bool {
        self.0 & ADDS != 0
    }

    /// Its prompt may be written to the prompt cache, which costs more than reading it.
    pub fn writes_cache(self) -> bool {
        self.0 & CACHES != 0
    }
}

fn flag(is_set: bool, bit: u16) -> u16 {
    if is_set { bit } else { 0 }
}
