//! What is known about models: family, prices, limits, retirement.
//!
//! The data is `assets/catalog.toml`, with its sources; it is built into the program and can be overridden model by
//! model. A model that is not in it can be used all the same: its cost counts as zero, and [`Catalog::card`] says that
//! there is no price.

mod card;
mod file;
mod prior;
mod takes;

use std::collections::HashMap;

use jiff::civil::Date;

use crate::model::{Family, Money, Usage};

pub use card::{Card, LongPrompt};
pub use prior::{BatchPrior, Prior};
pub use takes::{Sampling, Takes, ThinkingType};

/// The catalog that the program is built with.
const BUILTIN: &str = include_str!("../../assets/catalog.toml");

/// Why a catalog cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// It is not TOML, or has other keys or types. The text shows the place.
    #[error("failed to read the catalog: {0}")]
    Format(#[from] toml::de::Error),
    /// A value of a model makes no sense.
    #[error("failed to read the catalog: model {model}: {what}")]
    Model {
        /// The model's id.
        model: String,
        /// What must be otherwise.
        what: String,
    },
    /// What is assumed of a family or of batches, or billed of all models, makes no sense.
    #[error("failed to read the catalog: what is assumed of {of}: {what}")]
    Prior {
        /// The family, `batches` or `extras`.
        of: String,
        /// What must be otherwise.
        what: String,
    },
}

/// A model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// Its full id.
    pub id: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its family.
    pub family: Family,
    /// Which parameters it accepts; `None` when that is not known.
    pub takes: Option<Takes>,
    /// Its prices.
    pub card: Card,
    /// The longest prompt and answer together, in tokens.
    pub context_tokens: u32,
    /// The largest `max_tokens`.
    pub max_output_tokens: u32,
    /// The shortest prefix that can be cached, in tokens; `None` when it is not known.
    pub min_cacheable_tokens: Option<u32>,
    /// The day from which it answers 404; `None` when no day was announced.
    pub retires: Option<Date>,
    /// Requests of the usual shape from which batches were found to be worth their wait; `None` when nobody measured it.
    pub cost_balance_n: Option<u64>,
    /// Where its figures are from, when that is not the source at the head of the catalog.
    pub source: Option<String>,
}

impl ModelInfo {
    /// What an operator has to know of its retirement on a day; `None` when nothing.
    pub fn retirement(&self, today: Date) -> Option<String> {
        let day = self.retires?;
        Some(if day <= today {
            format!("{} was retired on {day}: every call will answer 404", self.id)
        } else {
            format!("{} is deprecated and retires on {day}", self.id)
        })
    }
}

/// Models by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalog {
    models: Vec<ModelInfo>,
    by_name: HashMap<String, usize>,
    priors: prior::Priors,
    extras: file::Extras,
}

impl Catalog {
    /// The catalog that the program is built with.
    pub fn builtin() -> Catalog {
        // A test reads the same text, so that a program with a catalog that cannot be read is never built and shipped.
        Catalog::default().with_overrides(BUILTIN).unwrap_or_default()
    }

    /// This catalog with the models of a TOML text (the form of `assets/catalog.toml`) added. A model that was there
    /// before is replaced as a whole; a name that two models claim goes to the later one. Its `extras` are for its own models
    /// and those of later texts.
    ///
    /// # Errors
    /// The text is not such a catalog.
    pub fn with_overrides(mut self, text: &str) -> Result<Catalog, CatalogError> {
        let read = file::read(text, self.extras)?;
        self.extras = read.extras;
        self.priors.take(read.priors, read.batches);
        for model in read.models {
            match self.models.iter().position(|known| known.id == model.id) {
                Some(at) => self.replace(at, model),
                None => self.add(model),
            }
        }
        Ok(self)
    }

    fn add(&mut self, model: ModelInfo) {
        self.name(self.models.len(), &model);
        self.models.push(model);
    }

    fn replace(&mut self, at: usize, model: ModelInfo) {
        self.by_name.retain(|_, named| *named != at);
        self.name(at, &model);
        if let Some(slot) = self.models.get_mut(at) {
            *slot = model;
        }
    }

    fn name(&mut self, at: usize, model: &ModelInfo) {
        // An id with a date answers to its undated form too, so that an override of its price reaches both.
        let names = model.aliases.iter().map(String::as_str).chain(without_date(&model.id)).chain([model.id.as_str()]);
        for name in names {
            self.by_name.insert(name.to_owned(), at);
        }
    }

    /// All models, in the order of the files.
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// What an operator has to know of the retirement of these models on a day, each model once.
    pub fn retirements<'m>(&self, models: impl Iterator<Item = &'m str>, today: Date) -> Vec<String> {
        let mut said: Vec<String> = models.filter_map(|model| self.lookup(model)?.retirement(today)).collect();
        said.sort_unstable();
        said.dedup();
        said
    }

    /// The model of an id, an alias, or either with a date at its end (`claude-haiku-5-5-20261007`).
    pub fn lookup(&self, model: &str) -> Option<&ModelInfo> {
        let at = self.by_name.get(model).or_else(|| self.by_name.get(without_date(model)?))?;
        self.models.get(*at)
    }

    /// What is assumed of a family as long as nothing is measured.
    pub fn prior(&self, family: Family) -> &Prior {
        self.priors.of(family)
    }

    /// What is assumed of batches as long as nothing is measured.
    pub fn batches(&self) -> &BatchPrior {
        self.priors.batches()
    }

    /// The family of a model: the catalog's, and by substring for a model that is not in it.
    pub fn family(&self, model: &str) -> Family {
        self.lookup(model).map_or_else(|| Family::of_model(model), |info| info.family)
    }

    /// The prices of a model; `None` when they are not known. Resolve once and keep: the card costs nothing to copy.
    pub fn card(&self, model: &str) -> Option<Card> {
        self.lookup(model).map(|info| info.card)
    }

    /// What an answer of this model costs; nothing when its prices are not known.
    pub fn cost(&self, model: &str, usage: &Usage, batch: bool) -> Money {
        self.card(model).map_or(Money::ZERO, |card| card.cost(usage, batch))
    }
}

/// `name-20251001` without the date; `None` when there is none.
fn without_date(model: &str) -> Option<&str> {
    let (name, date) = model.rsplit_once('-')?;
    (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests;
