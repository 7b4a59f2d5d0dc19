//! The catalog as it is written.

use serde::Deserialize;

use crate::model::settings::PriceCard;
use crate::model::{Family, Money};

use super::card::{Card, LongPrompt};
use super::takes::Takes;
use super::{CatalogError, ModelInfo};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CatalogFile {
    #[serde(default)]
    models: Vec<ModelFile>,
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
    context_tokens: u32,
    max_output_tokens: u32,
    min_cacheable_tokens: Option<u32>,
    retires: Option<String>,
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

/// Reads a catalog.
pub(super) fn read(text: &str) -> Result<Vec<ModelInfo>, CatalogError> {
    let file: CatalogFile = toml::from_str(text)?;
    file.models.into_iter().map(ModelFile::resolve).collect()
}

impl ModelFile {
    fn resolve(self) -> Result<ModelInfo, CatalogError> {
        let fail = |what: String| CatalogError::Model { model: self.id.clone(), what };
        let long_prompt = match &self.long_prompt {
            Some(long) => {
                let price = long.price.resolve().map_err(fail)?;
                Some(LongPrompt { above_tokens: long.above_tokens, price })
            }
            None => None,
        };
        let retires = self.retires.as_ref().map(|text| {
            text.parse().map_err(|_| fail(format!("retires = {text:?}: must be a date such as 2026-11-30")))
        });
        Ok(ModelInfo {
            family: self.family.unwrap_or_else(|| Family::of_model(&self.id)),
            takes: self.takes,
            card: Card { standard: self.price.resolve().map_err(fail)?, long_prompt },
            context_tokens: self.context_tokens,
            max_output_tokens: self.max_output_tokens,
            min_cacheable_tokens: self.min_cacheable_tokens,
            retires: retires.transpose()?,
            aliases: self.aliases,
            id: self.id,
        })
    }
}

impl PriceFile {
    fn resolve(&self) -> Result<PriceCard, String> {
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
        })
    }
}
