//! What is said of constant texts that share their block with something that varies.

use super::blocks::Section;
use super::caching::{MIN_TOKENS, prices};
use super::facts::{Model, Models};
use super::heads::{Heads, Kind};
use super::prefixes::min_tokens;
use super::reads::{Plan, Reads};
use super::tokens;
use crate::model::format::count;
use crate::model::{Figure, Finding, Money, Severity};

/// All findings about such texts.
pub(super) fn findings(heads: &Heads, models: &Models<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for kind in heads.kinds.iter().filter(|kind| kind.differ.n > 0) {
        if let Some(model) = models.get(kind.model) {
            findings.extend(constant_head(kind, model));
            findings.extend(varying_head(kind, model));
        }
    }
    findings
}

/// What caching the texts of a kind up to `until` saves beyond what stands before `from`, USD.
fn saving(kind: &Kind, model: &Model<'_>, from: u64, until: u64) -> Option<f64> {
    let (base, tokens) = (tokens(from), tokens(until));
    let min = min_tokens(model);
    if tokens < min {
        return None;
    }
    let mut reads = Reads::default();
    reads.add(Plan::FiveMinutes, kind.lines.n as f64, kind.gap(), tokens as f64, model);
    let base = if base < min { 0.0 } else { base as f64 };
    let saving = reads.saving(prices(model, Plan::FiveMinutes, tokens as f64)?, base);
    (saving > 0.0).then_some(saving)
}

/// The constant text stands first: it only has to be split off.
fn constant_head(kind: &Kind, model: &Model<'_>) -> Option<Finding> {
    let head = kind.head as u64;
    if tokens(head) < MIN_TOKENS {
        return None;
    }
    let saving = saving(kind, model, kind.before_bytes, kind.before_bytes + head)?;
    let place = kind.section.name();
    kind.lines.finding(Severity::Advice, "constant-head", Figure::Usd(Money::from_usd(saving)), |n| {
        (
            format!(
                "{} requests begin {place} with the same {} bytes (about {} tokens), and what varies follows in the same \
                 block, where no breakpoint can stand",
                count(n),
                count(head),
                count(tokens(head))
            ),
            format!(
                "split {place} into two blocks, the constant text first with \"cache_control\": {{\"type\": \"ephemeral\"}}{}",
                match kind.section {
                    Section::System => "",
                    Section::Message => ", or move the constant text into system",
                }
            ),
        )
    })
}

/// Something that varies stands before the constant text and keeps all of it out of the cache.
fn varying_head(kind: &Kind, model: &Model<'_>) -> Option<Finding> {
    let (head, tail) = (kind.head as u64, kind.tail as u64);
    if tokens(tail) < MIN_TOKENS {
        return None;
    }
    let from = if tokens(head) < MIN_TOKENS { kind.before_bytes } else { kind.before_bytes + head };
    let saving = saving(kind, model, from, kind.before_bytes + head + tail)?;
    let place = kind.section.name();
    kind.differ.finding(Severity::Advice, "varies-before-constant", Figure::Usd(Money::from_usd(saving)), |n| {
        (
            format!(
                "{place} varies from byte {} on in {} requests, before {} bytes (about {} tokens) that are always the same: \
                 nothing from there on can be read from the cache",
                count(head + 1),
                count(n),
                count(tail),
                count(tokens(tail))
            ),
            "move what varies (an id, a date) behind what stays the same, and put the breakpoint between".to_owned(),
        )
    })
}
