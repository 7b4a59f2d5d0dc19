//! A plan in the making: the knobs, what is known, and the plan that follows from both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::Catalog;
use crate::model::{CostPref, Family, Finding, Money, PathChoice, Severity};
use crate::plan::{Figure, Group, Knobs, Latency, Limits, OrgKnobs, Plan, Tokens};

use super::entry;
use super::knob::Knob;
use super::ladder;

/// Most requests that a run can hold.
const MOST_REQUESTS: u64 = u32::MAX as u64;
/// Most lanes per key.
const MOST_PROCS: u64 = 64;
/// Most requests of a sub-batch.
const LARGEST_SUB_BATCH: u64 = 100_000;

/// What can be shown beside the routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Panel {
    /// The decision table.
    #[default]
    Table,
    /// Wall-clock and cost against the number of requests.
    Chart,
    /// What every rule said.
    Rules,
    /// The figures behind the plan and where they are from.
    Figures,
    /// What the audit of the input found.
    Audit,
}

impl Panel {
    /// All of them, in their order.
    pub const ALL: [Panel; 5] = [Panel::Table, Panel::Chart, Panel::Rules, Panel::Figures, Panel::Audit];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Panel::Table => "table",
            Panel::Chart => "chart",
            Panel::Rules => "rules",
            Panel::Figures => "figures",
            Panel::Audit => "audit",
        }
    }

    pub(super) fn next(self) -> Panel {
        ladder::next(&Panel::ALL, self, true)
    }

    pub(super) fn previous(self) -> Panel {
        ladder::next(&Panel::ALL, self, false)
    }
}

/// An org that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct OrgChoice {
    /// Its label.
    pub label: String,
    /// Its polite caps by family, in the order of [`Family::ix`].
    pub caps: [u32; Family::COUNT],
    /// Whether requests go to it.
    pub chosen: bool,
}

/// What is known of a model from measurement or from the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Learnt {
    /// Tokens of a request.
    pub tokens: Option<Tokens>,
    /// How long an answer takes.
    pub latency: Option<Latency>,
    /// The orgs' limits, by label.
    pub limits: BTreeMap<String, Limits>,
}

/// What the audit of the input came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Audited {
    /// There is no input.
    #[default]
    NoInput,
    /// There is one, and nobody has read it yet.
    Due,
    /// It is being read.
    Reading,
    /// What was found, the worst first.
    Found(Vec<Finding>),
    /// It cannot be read; in words.
    Failed(String),
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The input, as the operator named it; `None` for a plan of nothing but numbers.
    pub input: Option<String>,
    /// The orgs that can be chosen.
    pub orgs: Vec<OrgChoice>,
    /// What is known, by model.
    pub learnt: BTreeMap<String, Learnt>,
    /// The knobs as they are set.
    pub knobs: Knobs,
    /// The deadline that the plan was opened with, from then.
    pub(super) given_deadline: Option<Duration>,
    /// The requests by what they cost, as the input has them.
    groups: Vec<Group>,
    /// The model that most of the input names.
    pub(super) model_of_input: String,
    /// The plan of these knobs.
    pub plan: Plan,
    /// The models.
    pub catalog: Arc<Catalog>,
    /// What the audit found.
    pub audited: Audited,
    /// The knob that keys turn.
    pub focus: Knob,
    /// The panel that is shown.
    pub panel: Panel,
    /// Lines that it is scrolled down.
    pub scroll: usize,
    /// A launch that is projected to cost more is agreed to by typing its dollars.
    pub confirm_above: Money,
}

impl Draft {
    /// A draft of these knobs. Orgs that the knobs do not name are not chosen.
    pub fn new(
        input: Option<String>,
        knobs: Knobs,
        orgs: Vec<OrgChoice>,
        learnt: BTreeMap<String, Learnt>,
        catalog: Arc<Catalog>,
    ) -> Draft {
        let plan = Plan::of(&knobs, &catalog);
        Draft {
            audited: if input.is_some() { Audited::Due } else { Audited::NoInput },
            given_deadline: knobs.deadline,
            groups: knobs.groups.clone(),
            model_of_input: knobs.model.clone(),
            // The number of requests of an input cannot be turned.
            focus: if input.is_some() { Knob::Model } else { Knob::FIRST },
            panel: Panel::default(),
            scroll: 0,
            confirm_above: Money(u64::MAX),
            input,
            orgs,
            learnt,
            knobs,
            plan,
            catalog,
        }
    }

    /// Makes the plan again.
    fn replan(&mut self) {
        self.plan = Plan::of(&self.knobs, &self.catalog);
    }

    /// The last knob.
    pub(super) fn last_knob(&self) -> Knob {
        Knob::all(self.orgs.len()).last().unwrap_or(Knob::FIRST)
    }

    /// Moves to another knob, and stops at the ends.
    pub(super) fn move_focus(&mut self, by: isize) {
        let knobs: Vec<Knob> = Knob::all(self.orgs.len()).collect();
        let at = knobs.iter().position(|knob| *knob == self.focus).unwrap_or(0);
        let to = at.saturating_add_signed(by).min(knobs.len().saturating_sub(1));
        self.focus = knobs.get(to).copied().unwrap_or(Knob::FIRST);
    }

    /// Shows a panel from its first line.
    pub(super) fn show(&mut self, panel: Panel) {
        self.panel = panel;
        self.scroll = 0;
    }

    /// Whether the knob in focus can be turned.
    ///
    /// # Errors
    /// Why not.
    pub fn may_change(&self) -> Result<(), String> {
        match (self.focus, &self.input) {
            (Knob::N, Some(input)) => Err(format!("the number of requests is that of {input}")),
            _ => Ok(()),
        }
    }

    /// Turns the knob in focus by a step.
    pub(super) fn turn(&mut self, up: bool) {
        let knobs = &mut self.knobs;
        match self.focus {
            Knob::N => knobs.n_total = ladder::step(knobs.n_total, up).clamp(1, MOST_REQUESTS),
            Knob::Model => return self.turn_model(up),
            Knob::CostPref => knobs.policy.cost_pref = ladder::next(CostPref::ALL, knobs.policy.cost_pref, up),
            Knob::Path => knobs.path = ladder::next(PathChoice::ALL, knobs.path, up),
            Knob::Deadline => knobs.deadline = ladder::deadline(knobs.deadline, up),
            Knob::Procs => {
                let procs = if up { knobs.dispatch.procs + 1 } else { knobs.dispatch.procs.saturating_sub(1) };
                knobs.dispatch.procs = procs.clamp(1, MOST_PROCS as u32);
            }
            Knob::SubBatchSize => {
                knobs.batch.size = ladder::step(u64::from(knobs.batch.size), up).clamp(1, LARGEST_SUB_BATCH) as u32;
            }
            Knob::TokensIn => return self.set_tokens(Knob::TokensIn, ladder::tenth(self.knobs.tokens.input.mid, up)),
            Knob::TokensOut => {
                return self.set_tokens(Knob::TokensOut, ladder::tenth(self.knobs.tokens.output.mid, up));
            }
            Knob::Org(ix) => return self.toggle_org(ix),
        }
        self.replan();
    }

    fn turn_model(&mut self, up: bool) {
        let names = entry::models("", &self.catalog);
        let current = entry::models(&self.knobs.model, &self.catalog).first().copied().unwrap_or_default();
        let next = ladder::next(&names, current, up).to_owned();
        self.set_model(&next);
    }

    /// Takes what was typed for the knob in focus.
    ///
    /// # Errors
    /// It makes no sense there; what does.
    pub(super) fn enter(&mut self, text: &str) -> Result<(), String> {
        let number = |range| entry::number(text, range);
        match self.focus {
            Knob::N => self.knobs.n_total = number((1, MOST_REQUESTS))?,
            Knob::Model => {
                let found = entry::models(text, &self.catalog).first().map(|name| (*name).to_owned());
                // A model that the catalog does not know can be planned with; the plan says what is not known of it.
                let model = found.unwrap_or_else(|| text.trim().to_owned());
                if text.trim().is_empty() {
                    return Err("type a part of the model's name, such as haiku-5".to_owned());
                }
                self.set_model(&model);
            }
            Knob::CostPref => {
                self.knobs.policy.cost_pref = word(text, CostPref::ALL, CostPref::of_word, CostPref::as_str)?;
            }
            Knob::Path => self.knobs.path = word(text, PathChoice::ALL, PathChoice::of_word, PathChoice::as_str)?,
            Knob::Deadline => self.knobs.deadline = entry::deadline(text)?,
            Knob::Procs => self.knobs.dispatch.procs = number((1, MOST_PROCS))? as u32,
            Knob::SubBatchSize => self.knobs.batch.size = number((1, LARGEST_SUB_BATCH))? as u32,
            Knob::TokensIn | Knob::TokensOut => {
                let tokens = number((1, 10_000_000))?;
                self.set_tokens(self.focus, tokens as f64);
            }
            Knob::Org(ix) => self.toggle_org(ix),
        }
        self.replan();
        Ok(())
    }

    /// Plans with another model: what is known of it, else what is assumed of its family. The requests of the input keep
    /// their sizes.
    pub fn set_model(&mut self, model: &str) {
        let prior = self.catalog.prior(self.catalog.family(model));
        let learnt = self.learnt.get(model).cloned().unwrap_or_default();
        let is_of_input = self.input.is_some() && model == self.model_of_input;
        self.knobs.tokens = match learnt.tokens {
            Some(tokens) => tokens,
            None if self.input.is_some() => self.knobs.tokens.clone(),
            None => Tokens::assumed(prior),
        };
        self.knobs.latency = learnt.latency.unwrap_or_else(|| Latency::assumed(prior));
        self.knobs.groups = match is_of_input {
            true => self.groups.clone(),
            false => self.groups.iter().map(|group| Group { model: model.to_owned(), ..group.clone() }).collect(),
        };
        self.knobs.model = model.to_owned();
        self.choose_orgs();
        self.replan();
    }

    /// Plans with other tokens. All requests have them from then on.
    fn set_tokens(&mut self, knob: Knob, tokens: f64) {
        let figure = Figure::given(tokens);
        match knob {
            // The whole prompt, none of it cached.
            Knob::TokensIn => self.knobs.tokens = Tokens::plain(figure, self.knobs.tokens.output.clone()),
            _ => self.knobs.tokens.output = figure,
        }
        self.knobs.groups.clear();
        self.replan();
    }

    fn toggle_org(&mut self, ix: usize) {
        if let Some(org) = self.orgs.get_mut(ix) {
            org.chosen = !org.chosen;
        }
        self.choose_orgs();
        self.replan();
    }

    /// Puts the chosen orgs into the knobs, with their caps and limits for the model.
    fn choose_orgs(&mut self) {
        let family = self.catalog.family(&self.knobs.model);
        let limits = self.learnt.get(&self.knobs.model).map(|learnt| &learnt.limits);
        let org = |org: &OrgChoice| OrgKnobs {
            label: org.label.clone(),
            cap: org.caps[family.ix()],
            limits: limits.and_then(|limits| limits.get(&org.label)).cloned().unwrap_or_default(),
        };
        self.knobs.orgs = self.orgs.iter().filter(|org| org.chosen).map(org).collect();
    }

    /// The orgs that are chosen, by label.
    pub fn chosen_orgs(&self) -> Vec<String> {
        self.orgs.iter().filter(|org| org.chosen).map(|org| org.label.clone()).collect()
    }

    /// The whole dollars that are to be typed to launch; `None` when a word is enough.
    pub fn dollars_to_type(&self) -> Option<String> {
        let cost = self.plan.chosen.cost_usd.filter(|cost| *cost > self.confirm_above)?;
        Some(cost.0.div_ceil(Money::DOLLAR.0).to_string())
    }

    /// Requests that the API will refuse, as far as the audit knows.
    pub(super) fn refusals(&self) -> u64 {
        let Audited::Found(findings) = &self.audited else { return 0 };
        findings.iter().filter(|one| one.severity == Severity::Error).map(|one| one.n_lines).max().unwrap_or(0)
    }

    /// The limits of an org for the model, as far as they are known.
    pub fn limits_of(&self, org: &OrgChoice) -> Option<&Limits> {
        let limits = self.learnt.get(&self.knobs.model)?.limits.get(&org.label)?;
        (!limits.is_empty()).then_some(limits)
    }
}

/// A word among those that a choice knows.
fn word<T: Copy>(text: &str, all: &[T], of: fn(&str) -> Option<T>, name: fn(T) -> &'static str) -> Result<T, String> {
    of(text.trim()).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|value| name(*value)).collect();
        format!("{text:?} is none of {}", words.join(", "))
    })
}
