//! What an audit is told besides the lines: the models, how fast requests will go out, and what answers were like before.

use std::collections::HashMap;

use jiff::civil::Date;

use super::tally::Tally;
use crate::catalog::{Catalog, ModelInfo};
use crate::model::format::count;
use crate::model::{Family, Figure, Finding, Severity};

/// Models of one file that are told apart.
const MAX_MODELS: usize = 64;

/// See the module.
#[derive(Debug, Clone)]
pub struct AuditFacts<'a> {
    /// The models.
    pub catalog: &'a Catalog,
    /// The day of the run, for retirements.
    pub today: Date,
    /// Orgs that the requests will be spread over, at least 1. Each has a prompt cache of its own.
    pub orgs: u32,
    /// Requests that an org has in flight, by family; in the order of [`Family::ix`].
    pub in_flight: [u32; Family::COUNT],
    /// Requests of a sub-batch.
    pub sub_batch_size: u32,
    /// What finished runs say of the models' answers.
    pub observed: Vec<Observed>,
}

impl<'a> AuditFacts<'a> {
    /// With the polite caps, and nothing known of earlier answers.
    pub fn assumed(catalog: &'a Catalog, today: Date, orgs: u32) -> AuditFacts<'a> {
        AuditFacts {
            catalog,
            today,
            orgs: orgs.max(1),
            in_flight: Family::ALL.map(Family::default_cap),
            sub_batch_size: 1_000,
            observed: Vec::new(),
        }
    }
}

/// What earlier answers of a model were like.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The model's full id.
    pub model: String,
    /// Answers.
    pub n: u64,
    /// 99th percentile of their output tokens.
    pub output_p99: u32,
    /// The longest.
    pub output_max: u32,
}

/// A model of the file.
#[derive(Debug)]
pub(super) struct Model<'f> {
    /// As the requests name it.
    pub(super) name: String,
    /// What the catalog says of it.
    pub(super) info: Option<&'f ModelInfo>,
    /// Earlier answers of it.
    pub(super) observed: Option<&'f Observed>,
    /// Requests that name it.
    pub(super) lines: Tally,
    /// Orgs.
    pub(super) orgs: f64,
    /// Requests in flight on one org.
    pub(super) in_flight: f64,
    /// Requests a minute that one org answers, by Little's law.
    pub(super) per_minute: f64,
}

/// The models of the file so far.
#[derive(Debug)]
pub(super) struct Models<'f> {
    facts: &'f AuditFacts<'f>,
    known: Vec<Model<'f>>,
    numbers: HashMap<String, u8>,
    beyond: Tally,
}

impl<'f> Models<'f> {
    pub(super) fn new(facts: &'f AuditFacts<'f>) -> Models<'f> {
        Models { facts, known: Vec::new(), numbers: HashMap::new(), beyond: Tally::default() }
    }

    /// Counts a request and gives the number of its model; `None` when there are too many models already.
    pub(super) fn count(&mut self, name: &str, line: u64) -> Option<u8> {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.known.len() >= MAX_MODELS => {
                self.beyond.add(line);
                return None;
            }
            None => self.add(name),
        };
        self.known.get_mut(usize::from(number))?.lines.add(line);
        Some(number)
    }

    fn add(&mut self, name: &str) -> u8 {
        let facts = self.facts;
        let info = facts.catalog.lookup(name);
        let family = facts.catalog.family(name);
        let in_flight = f64::from(facts.in_flight[family.ix()].max(1));
        let id = info.map_or(name, |info| info.id.as_str());
        let number = self.known.len() as u8;
        self.known.push(Model {
            name: name.to_owned(),
            info,
            observed: facts.observed.iter().find(|observed| observed.model == id && observed.n > 0),
            lines: Tally::default(),
            orgs: f64::from(facts.orgs.max(1)),
            in_flight,
            per_minute: in_flight * 60.0 / facts.catalog.prior(family).latency_p50_s,
        });
        self.numbers.insert(name.to_owned(), number);
        number
    }

    pub(super) fn get(&self, number: u8) -> Option<&Model<'f>> {
        self.known.get(usize::from(number))
    }

    /// The models by number.
    pub(super) fn each(&self) -> impl Iterator<Item = (u8, &Model<'f>)> {
        self.known.iter().enumerate().map(|(number, model)| (number as u8, model))
    }

    pub(super) fn counts(&self) -> Vec<(String, u64)> {
        self.known.iter().map(|model| (model.name.clone(), model.lines.n)).collect()
    }

    /// What to say of requests whose model was one too many.
    pub(super) fn beyond(&self) -> Option<Finding> {
        self.beyond.finding(Severity::Note, "too-many-models", Figure::Requests(self.beyond.n), |n| {
            (
                format!("{} requests name models beyond the first {MAX_MODELS}; they were not audited", count(n)),
                "split the file by model".to_owned(),
            )
        })
    }
}
