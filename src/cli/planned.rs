//! From settings, work and history to the knobs of a plan.

use std::path::Path;
use std::time::Duration;

use crate::catalog::Catalog;
use crate::config::Settings;
use crate::model::{BatchSettings, DispatchSettings, OrgSpec, PathChoice, RoutePolicy, Wall};
use crate::plan::{Figure, Group, Knobs, OrgKnobs, Plan, Tokens};
use crate::store::stamp;

use super::history;
use super::options::PathArg;
use super::setup::Setup;
use super::work::Work;

/// What a plan is made with besides the work.
pub(crate) struct Ground<'s> {
    /// Labels, caps for a family, and hosts of the orgs.
    pub orgs: Vec<PlannedOrg>,
    /// Windows and lanes.
    pub dispatch: &'s DispatchSettings,
    /// Sub-batches.
    pub batch: &'s BatchSettings,
    /// Preferences.
    pub policy: RoutePolicy,
    /// Prices and assumptions.
    pub catalog: &'s Catalog,
    /// Where earlier runs are written down.
    pub history: Option<&'s Path>,
}

/// An org as a plan sees it.
pub(crate) struct PlannedOrg {
    label: String,
    host: String,
    /// `None` for an org without a key, of which only the label is known.
    caps: Option<[u32; crate::model::Family::COUNT]>,
}

/// What the operator asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    /// Which path.
    pub path: PathChoice,
    /// From now.
    pub deadline: Option<Duration>,
    /// Input tokens of a request.
    pub tokens_in: Option<f64>,
    /// Output tokens of a request.
    pub tokens_out: Option<f64>,
}

impl PlannedOrg {
    /// Its label.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Whether there is a key for it.
    pub(crate) fn has_key(&self) -> bool {
        self.caps.is_some()
    }

    fn of(spec: &OrgSpec) -> PlannedOrg {
        PlannedOrg { label: spec.label.clone(), host: host_of(&spec.base_url), caps: Some(spec.caps) }
    }
}

/// The host of a base URL, as the history knows it.
fn host_of(base_url: &str) -> String {
    base_url.split("://").nth(1).unwrap_or(base_url).to_owned()
}

impl<'s> Ground<'s> {
    /// Of a run over orgs that have keys.
    pub(crate) fn of_setup(setup: &'s Setup) -> Ground<'s> {
        Ground {
            orgs: setup.orgs.iter().map(PlannedOrg::of).collect(),
            dispatch: &setup.dispatch,
            batch: &setup.batch,
            policy: setup.policy,
            catalog: &setup.catalog,
            history: setup.history_dir.as_deref(),
        }
    }

    /// Of settings alone: keys are not needed to plan. When no org has one, all of the configuration are planned with.
    pub(crate) fn of_settings(settings: &'s Settings, catalog: &'s Catalog, chosen: &[String]) -> Ground<'s> {
        let mut orgs: Vec<PlannedOrg> = settings.orgs.iter().map(PlannedOrg::of).collect();
        let nobody = orgs.is_empty();
        let wanted = |label: &str| if chosen.is_empty() { nobody } else { chosen.iter().any(|one| one == label) };
        let absent = settings.absent_orgs().iter().filter(|org| wanted(&org.label));
        orgs.extend(absent.map(|org| PlannedOrg {
            label: org.label.clone(),
            host: host_of(&org.base_url),
            caps: None,
        }));
        Ground {
            orgs,
            dispatch: &settings.dispatch,
            batch: &settings.batch,
            policy: settings.policy,
            catalog,
            history: Some(&settings.cache_dir),
        }
    }

    /// The caps of an org, by family, as this run would have them.
    pub(crate) fn caps_of(&self, org: &PlannedOrg) -> [u32; crate::model::Family::COUNT] {
        let own = org.caps.unwrap_or(crate::model::Family::ALL.map(crate::model::Family::default_cap));
        own.map(|cap| self.dispatch.cap.unwrap_or(cap))
    }

    /// Labels of the orgs that are planned with and have no key.
    pub(crate) fn without_key(&self) -> Vec<&str> {
        self.orgs.iter().filter(|org| org.caps.is_none()).map(|org| org.label.as_str()).collect()
    }

    /// The knobs for this work: what was given, else measured, else assumed.
    pub(crate) fn knobs(&self, work: &Work, model: &str, asked: &Asked) -> Knobs {
        let family = self.catalog.family(model);
        let orgs = self.orgs.iter().map(|org| {
            let own = org.caps.map_or(family.default_cap(), |caps| caps[family.ix()]);
            let cap = self.dispatch.cap.unwrap_or(own);
            OrgKnobs { cap, ..OrgKnobs::unknown(&org.label, family) }
        });
        let mut knobs = Knobs::assumed(work.n_total, model, orgs.collect(), self.catalog);
        knobs.n_cached = work.n_done;
        knobs.path = asked.path;
        knobs.policy = self.policy;
        knobs.deadline = asked.deadline;
        knobs.dispatch = self.dispatch.clone();
        knobs.batch = self.batch.clone();
        knobs.groups.clone_from(&work.groups);
        if let Some(mean) = mean(&work.groups) {
            knobs.tokens = mean;
        }
        give(&mut knobs, asked);
        if let Some(dir) = self.history {
            let hosts: Vec<String> = self.orgs.iter().map(|org| org.host.clone()).collect();
            let measured = history::look_up(dir, model, &hosts, self.catalog);
            measured.apply(&mut knobs, &hosts, work.sha256.as_deref(), work.bytes);
        }
        knobs
    }

    /// The plan for this work.
    pub(crate) fn plan(&self, work: &Work, model: &str, asked: &Asked) -> Plan {
        let mut plan = Plan::of(&self.knobs(work, model, asked), self.catalog);
        let models = work.groups.iter().map(|group| group.model.as_str()).chain([model]);
        plan.notes.extend(self.catalog.retirements(models, today()));
        let without_key = self.without_key();
        if !without_key.is_empty() {
            plan.notes.push(format!("planned as if there were keys for {}", without_key.join(", ")));
        }
        plan
    }
}

/// What the operator gave goes before all else, for every request alike.
fn give(knobs: &mut Knobs, asked: &Asked) {
    for tokens in knobs.groups.iter_mut().map(|group| &mut group.tokens).chain([&mut knobs.tokens]) {
        if let Some(input) = asked.tokens_in {
            tokens.input = Figure::given(input);
        }
        if let Some(output) = asked.tokens_out {
            tokens.output = Figure::given(output);
        }
    }
}

/// The tokens of a request in the mean over all groups.
fn mean(groups: &[Group]) -> Option<Tokens> {
    let n: u64 = groups.iter().map(|group| group.n).sum();
    let first = groups.first().filter(|_| n > 0)?;
    let over = |of: &dyn Fn(&Tokens) -> f64| {
        groups.iter().map(|group| of(&group.tokens) * group.n as f64).sum::<f64>() / n as f64
    };
    let figure = |of: &dyn Fn(&Tokens) -> &Figure| Figure {
        low: over(&|tokens| of(tokens).low),
        mid: over(&|tokens| of(tokens).mid),
        high: over(&|tokens| of(tokens).high),
        origin: of(&first.tokens).origin.clone(),
    };
    Some(Tokens::plain(figure(&|tokens| &tokens.input), figure(&|tokens| &tokens.output)))
}

/// Today in UTC, as retirements are announced.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::tz::TimeZone::UTC.to_datetime(jiff::Timestamp::now()).date()
}

/// How long it is until a deadline; nothing when it has passed.
pub(crate) fn until(deadline: Option<Wall>) -> Option<Duration> {
    let left = deadline?.0 - stamp::now().0;
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

impl From<PathArg> for PathChoice {
    fn from(path: PathArg) -> PathChoice {
        match path {
            PathArg::Auto => PathChoice::Auto,
            PathArg::Sync => PathChoice::Sync,
            PathArg::Batch => PathChoice::Batch,
        }
    }
}
