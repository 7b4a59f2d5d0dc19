//! The catalog as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::model::settings::PriceCard;
use crate::model::{Family, Money};

use super::card::{Card, LongPrompt};
use super::prior::{BatchPrior, Prior};
use super::takes::Takes;
use super::{CatalogError, ModelInfo};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CatalogFile {
    extras: Option<ExtrasFile>,
    #[serde(default)]
    models: Vec<ModelFile>,
    #[serde(default)]
    priors: BTreeMap<Family, PriorFile>,
    batches: Option<BatchPriorFile>,
}

/// What is billed beside tokens at the prices of a model.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ExtrasFile {
    us_inference: f64,
    web_search: f64,
}

/// What is assumed of a family.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PriorFile {
    latency_p50_s: f64,
    latency_p95_s: f64,
    tokens_in: [f64; 3],
    tokens_out: [f64; 3],
    source: String,
}

/// What is assumed of batches.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct BatchPriorFile {
    duration_s: [f64; 3],
    source: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ModelFile {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    family: Option<Family>,
    takes: Option<Takes>,
    price: PriceFile,
    long_prompt: Option<LongPromptFile>,
    fast: Option<PriceFile>,
    us_inference: Option<f64>,
    context_tokens: u32,
    max_output_tokens: u32,
    min_cacheable_tokens: Option<u32>,
    retires: Option<String>,
    cost_balance_n: Option<u64>,
    source: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct LongPromptFile {
    above_tokens: u64,
    price: PriceFile,
}

/// USD per million tokens.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PriceFile {
    input: f64,
    output: f64,
    #[serde(rename = "cache-write-5m")]
    cache_write_5m: f64,
    #[serde(rename = "cache-write-1h")]
    cache_write_1h: f64,
    cache_read: f64,
}

/// Above this a price is a slip of the decimal point.
const MAX_PRICE: f64 = 10_000.0;

/// A catalog as it was read.
pub(super) struct Read {
    pub(super) extras: Extras,
    pub(super) models: Vec<ModelInfo>,
    pub(super) priors: Vec<(Family, Prior)>,
    pub(super) batches: Option<BatchPrior>,
}

/// What every model bills besides, where its own entry does not say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extras {
    /// Factor of inference in the US, in thousandths.
    us_thousandths: u32,
    /// USD per million searches.
    web_search: Money,
}

impl Default for Extras {
    fn default() -> Extras {
        Extras { us_thousandths: 1_000, web_search: Money::ZERO }
    }
}

/// Reads a catalog. Without extras of its own, its models have those of the catalog that it is added to.
pub(super) fn read(text: &str, extras: Extras) -> Result<Read, CatalogError> {
    let file: CatalogFile = toml::from_str(text)?;
    let extras = file.extras.map_or(Ok(extras), ExtrasFile::resolve)?;
    let priors = file.priors.into_iter().map(|(family, prior)| Ok((family, prior.resolve(family)?)));
    Ok(Read {
        extras,
        models: file.models.into_iter().map(|model| model.resolve(extras)).collect::<Result<_, CatalogError>>()?,
        priors: priors.collect::<Result<_, CatalogError>>()?,
        batches: file.batches.map(BatchPriorFile::resolve).transpose()?,
    })
}

impl ExtrasFile {
    fn resolve(self) -> Result<Extras, CatalogError> {
        let fail = |what: String| CatalogError::Prior { of: "extras".to_owned(), what };
        if !(0.0..=MAX_PRICE).contains(&self.web_search) {
            let what =
                format!("web-search = {}: must be from 0 to {MAX_PRICE} USD per 1,000 searches", self.web_search);
            return Err(fail(what));
        }
        let web_search = Money::from_usd(self.web_search * 1_000.0);
        Ok(Extras { us_thousandths: thousandths(self.us_inference).map_err(fail)?, web_search })
    }
}

/// The factor of inference in the US.
fn thousandths(factor: f64) -> Result<u32, String> {
    match factor {
        factor if (1.0..=10.0).contains(&factor) => Ok((factor * 1_000.0).round() as u32),
        _ => Err(format!("us-inference = {factor}: must be from 1 to 10")),
    }
}

impl PriorFile {
    fn resolve(self, family: Family) -> Result<Prior, CatalogError> {
        let fail = |what: String| CatalogError::Prior { of: family.to_string(), what };
        if !(self.latency_p50_s > 0.0 && self.latency_p95_s >= self.latency_p50_s && self.latency_p95_s <= 3_600.0) {
            return Err(fail("latency must be 0 < latency-p50-s <= latency-p95-s <= 3600".to_owned()));
        }
        Ok(Prior {
            latency_p50_s: self.latency_p50_s,
            latency_p95_s: self.latency_p95_s,
            tokens_in: in_order("tokens-in", self.tokens_in).map_err(fail)?,
            tokens_out: in_order("tokens-out", self.tokens_out).map_err(fail)?,
            source: self.source,
        })
    }
}

impl BatchPriorFile {
    fn resolve(self) -> Result<BatchPrior, CatalogError> {
        let fail = |what: String| CatalogError::Prior { of: "batches".to_owned(), what };
        Ok(BatchPrior { duration_s: in_order("duration-s", self.duration_s).map_err(fail)?, source: self.source })
    }
}

/// Low, expected and high, as they must be.
fn in_order(name: &str, [low, mid, high]: [f64; 3]) -> Result<(f64, f64, f64), String> {
    let fine = low > 0.0 && low <= mid && mid <= high && high <= 1e9;
    fine.then_some((low, mid, high))
        .ok_or_else(|| format!("{name} must be [low, expected, high], above 0 and in order"))
}

impl ModelFile {
    fn resolve(self, extras: Extras) -> Result<ModelInfo, CatalogError> {
        let fail = |what: String| CatalogError::Model { model: self.id.clone(), what };
        let price = |price: &PriceFile| price.resolve(extras.web_search).map_err(fail);
        let long_prompt = match &self.long_prompt {
            Some(long) => Some(LongPrompt { above_tokens: long.above_tokens, price: price(&long.price)? }),
            None => None,
        };
        let card = Card {
            standard: price(&self.price)?,
            long_prompt,
            fast: self.fast.as_ref().map(price).transpose()?,
            us_thousandths: self.us_inference.map_or(Ok(extras.us_thousandths), thousandths).map_err(fail)?,
        };
        let retires = self.retires.as_ref().map(|text| {
            text.parse().map_err(|_| fail(format!("retires = {text:?}: must be a date such as 2026-11-30")))
        });
        Ok(ModelInfo {
            family: self.family.unwrap_or_else(|| Family::of_model(&self.id)),
            takes: self.takes,
            card,
            context_tokens: self.context_tokens,
            max_output_tokens: self.max_output_tokens,
            min_cacheable_tokens: self.min_cacheable_tokens,
            retires: retires.transpose()?,
            cost_balance_n: self.cost_balance_n,
            source: self.source,
            aliases: self.aliases,
            id: self.id,
        })
    }
}

impl PriceFile {
    fn resolve(&self, web_search: Money) -> Result<PriceCard, String> {
        let price = |name: &str, usd: f64| match usd {
            usd if (0.0..=MAX_PRICE).contains(&usd) => Ok(Money::from_usd(usd)),
            _ => Err(format!("{name} = {usd}: must be from 0 to {MAX_PRICE} USD per million tokens")),
        };
        Ok(PriceCard {
            input: price("input", self.input)?,
            output: price("output", self.output)?,
            cache_write_5m: price("cache-write-5m", self.cache_write_5m)?,
            cache_write_1h: price("cache-write-1h", self.cache_write_1h)?,
            cache_read: price("cache-read", self.cache_read)?,
            web_search,
        })
    }
}
