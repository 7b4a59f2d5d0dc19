//! From settings, input and history to the knobs of a plan; and from a plan to the route of a run.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::config::Settings;
use crate::model::{BatchSettings, DispatchSettings, Money, OrgSpec, PathChoice, RequestNo, RoutePolicy, Terms, Wall};
use crate::plan::{Figure, Group, Knobs, OrgKnobs, Origin, Plan, Tokens};
use crate::requests::Input;
use crate::store::{Last, stamp};

use super::history;
use super::options::PathArg;
use super::setup::Setup;

/// Bytes of a request's JSON to an input token: English text with its JSON around it has about four. Models since 4.7
/// make about a third more tokens of the same text.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Low and high ends of that, as shares of the middle.
const INPUT_INTERVAL: (f64, f64) = (0.75, 1.5);

/// What is to be sent.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Requests in all.
    pub n_total: u64,
    /// Of them: answered already.
    pub n_done: u64,
    /// What is left, by model, speed and place, and by the length of its prompt where prices depend on it.
    pub groups: Vec<Group>,
    /// Bytes of a request that is left, in the mean.
    pub bytes: Option<f64>,
    /// The model of its first request, which names one also when nothing is left.
    pub first_model: Option<String>,
    /// SHA-256 of the input.
    pub sha256: Option<String>,
}

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

/// What a group is made from.
#[derive(Default)]
struct Sums {
    n: u64,
    bytes: u64,
    output: [u64; 3],
    searches: u64,
}

impl Work {
    /// So many requests of a model, of which nothing else is known.
    pub(crate) fn of_number(n: u64) -> Work {
        Work { n_total: n, ..Work::default() }
    }

    /// What is left of an input.
    pub(crate) fn of_input(input: &Input, last: &[Last], catalog: &Catalog) -> Work {
        let mut sums: HashMap<(&str, bool, Terms), Sums> = HashMap::new();
        let mut known: HashMap<&str, (Option<u64>, [u64; 3])> = HashMap::new();
        let mut work = Work {
            n_total: u64::from(input.len()),
            first_model: input.models().first().map(|used| used.model.clone()),
            sha256: Some(input.sha256().to_owned()),
            ..Work::default()
        };
        let (mut n, mut bytes) = (0_u64, 0_u64);
        for no in (0..input.len()).map(RequestNo) {
            if !matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable)) {
                work.n_done += 1;
                continue;
            }
            let model = input.model_of(no);
            let (long, output) = *known.entry(model).or_insert_with(|| facts(model, catalog));
            let len = u64::from(input.len_of(no));
            let is_long = long.is_some_and(|above| len as f64 / BYTES_PER_TOKEN > above as f64);
            let extras = input.extras_of(no);
            let sum = sums.entry((model, is_long, extras.terms())).or_default();
            sum.searches += extras.searches();
            let limit = u64::from(input.max_tokens_of(no));
            sum.n += 1;
            sum.bytes += len;
            // At the worst an answer is as long as it may be.
            for (sum, tokens) in sum.output.iter_mut().zip([output[0], output[1], u64::MAX]) {
                *sum += tokens.min(limit);
            }
            n += 1;
            bytes += len;
        }
        work.bytes = (n > 0).then(|| bytes as f64 / n as f64);
        work.groups = sums.into_iter().map(|((model, _, terms), sums)| group(model, terms, &sums)).collect();
        work.groups.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.model.cmp(&b.model)));
        work
    }

    /// The model of most of what is left; of an input that has nothing left, its first one.
    pub(crate) fn model(&self) -> Option<&str> {
        self.groups.first().map(|group| &group.model).or(self.first_model.as_ref()).map(String::as_str)
    }
}

/// From how many tokens on a model prices a prompt as a long one, and how long its answers are assumed to be.
fn facts(model: &str, catalog: &Catalog) -> (Option<u64>, [u64; 3]) {
    let (low, mid, high) = catalog.prior(catalog.family(model)).tokens_out;
    let above = catalog.card(model).and_then(|card| card.long_prompt).map(|long| long.above_tokens);
    (above, [low, mid, high].map(|tokens| tokens as u64))
}

fn group(model: &str, terms: Terms, sums: &Sums) -> Group {
    let n = sums.n.max(1) as f64;
    let input = sums.bytes as f64 / n / BYTES_PER_TOKEN;
    let how = Origin::Estimated { how: "a token every 4 bytes of the request".to_owned() };
    let [low, mid, high] = sums.output.map(|sum| sum as f64 / n);
    let origin = Origin::assumed("answers of judge runs, at most max_tokens");
    let tokens = Tokens::plain(Figure::around(input, INPUT_INTERVAL, how), Figure { low, mid, high, origin });
    Group { terms, searches: sums.searches, ..Group::plain(model, sums.n, tokens) }
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

/// Where a run was when its plan was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// The session that it is the plan of, counted from 1.
    pub session: u32,
    /// What the run had cost before.
    pub spent_usd: Money,
    /// How long it had been running before, in milliseconds; 0 in files of versions that did not keep it.
    #[serde(default)]
    pub wall_ms: u64,
}

impl Made {
    /// Before the run began.
    pub(crate) const FIRST: Made = Made { session: 1, spent_usd: Money::ZERO, wall_ms: 0 };

    /// Of the plan that a `run.json` keeps; of those of earlier versions the first session is taken.
    pub(crate) fn of_record(plan: &serde_json::Value) -> Made {
        plan.get("made").and_then(|made| serde_json::from_value(made.clone()).ok()).unwrap_or(Made::FIRST)
    }
}

/// The plan as `run.json` keeps it: without what depends on nothing of this run, and with where the run was when the plan
/// was made, since it is a plan of the rest.
pub(crate) fn for_the_record(plan: &Plan, made: Made) -> Option<serde_json::Value> {
    let mut value = serde_json::to_value(plan).ok()?;
    let object = value.as_object_mut()?;
    object.remove("table");
    object.remove("chart");
    object.insert("made".to_owned(), serde_json::to_value(made).ok()?);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_planned_by_the_speed_and_place_that_they_ask_for() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let search = r#""tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}],"#;
        let more = ["", r#""speed":"fast","#, search, r#""speed":"fast","inference_geo":"us","#, ""];
        let line = |(no, more): (usize, &str)| {
            format!(
                r#"{{"custom_id":"r-{no}","params":{{{more}"model":"claude-opus-5-5","max_tokens":9,"messages":[{{"role":"user","content":"x"}}]}}}}"#
            )
        };
        std::fs::write(&path, more.into_iter().enumerate().map(line).collect::<Vec<_>>().join("\n")).unwrap();
        let input = Input::index(&path, &mut |_| {}).unwrap();
        let last = vec![Last::Unsent; 5];
        let mut work = Work::of_input(&input, &last, &Catalog::builtin());
        work.groups.sort_by_key(|group| group.terms);
        let groups: Vec<_> = work.groups.iter().map(|group| (group.terms, group.n, group.searches)).collect();
        let on = |fast, us_inference| Terms { fast, us_inference };
        assert_eq!(groups, [(on(false, false), 3, 2), (on(true, false), 1, 0), (on(true, true), 1, 0)]);
    }
}
