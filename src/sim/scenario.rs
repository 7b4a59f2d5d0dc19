//! Scenarios: what orgs there are, and what happens to them.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::batch::{BatchFault, BatchFaultFile, BatchSettings};
use super::colleague::{Colleague, ColleagueFile};
use super::fault::{Fault, FaultFile};
use super::ids;
use super::latency::Latency;
use super::limits::LimitSettings;
use super::ramp::RampSettings;
use crate::model::{Money, Secret};

/// The scenarios that are built in, by name.
const BUILT_IN: [(&str, &str); 11] = [
    ("demo", include_str!("../../assets/scenarios/demo.toml")),
    ("calm", include_str!("../../assets/scenarios/calm.toml")),
    ("storm", include_str!("../../assets/scenarios/storm.toml")),
    ("colleague", include_str!("../../assets/scenarios/colleague.toml")),
    ("revoked-key", include_str!("../../assets/scenarios/revoked-key.toml")),
    ("slow-org", include_str!("../../assets/scenarios/slow-org.toml")),
    ("brownout", include_str!("../../assets/scenarios/brownout.toml")),
    ("spend-cap", include_str!("../../assets/scenarios/spend-cap.toml")),
    ("validation", include_str!("../../assets/scenarios/validation.toml")),
    ("wedge", include_str!("../../assets/scenarios/wedge.toml")),
    ("friday-night", include_str!("../../assets/scenarios/friday-night.toml")),
];

/// A scenario, checked.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    /// What should happen, in a line.
    pub summary: String,
    /// What `fandeck demo` does with it.
    pub demo: DemoHints,
    /// Its orgs.
    pub orgs: Vec<OrgSettings>,
    /// What any other key gets; `None` refuses it.
    pub(super) any_key: Option<Behaviour>,
}

/// An org that the scenario names.
#[derive(Debug, Clone)]
pub struct OrgSettings {
    /// Its name, in the statistics and for an operator.
    pub label: String,
    /// Its key. Not a secret by itself, but treated as one: users put their own in scenarios.
    pub key: Secret,
    /// `anthropic-organization-id`. Keys of one organization share its limits.
    pub organization: String,
    pub(super) behaviour: Behaviour,
    pub(super) colleagues: Vec<Colleague>,
}

/// How an org behaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Behaviour {
    pub(super) limits: LimitSettings,
    pub(super) latency: Latency,
    pub(super) ramp: Option<RampSettings>,
    pub(super) faults: Vec<Fault>,
    pub(super) batches: BatchSettings,
    pub(super) batch_faults: Vec<BatchFault>,
    /// What it may be billed before it is refused.
    pub(super) spend_limit: Option<Money>,
}

/// What a demo of a scenario should use where the operator gave nothing.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DemoHints {
    /// Number of requests, at least 1.
    pub requests: u32,
    /// Cap of every org, at least 1.
    pub cap: u32,
    /// Speed of the simulation's clock: simulated seconds a real second.
    pub time_scale: f64,
    /// Share of the requests that go into sub-batches, 0 to 1; the others take the sync path at the same time.
    pub batch_share: f64,
    /// Requests of a sub-batch, 1 to 100,000.
    pub sub_batch_size: u32,
    /// How many times faster than the rest batches live, at least 1: what takes hours at the API shows in a minute.
    pub batch_speed: f64,
}

impl Default for DemoHints {
    fn default() -> DemoHints {
        DemoHints { requests: 1_000, cap: 20, time_scale: 1.0, batch_share: 0.0, sub_batch_size: 100, batch_speed: 1.0 }
    }
}

/// Why a scenario cannot be used; the text names file, line, value and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to use scenario {file}: {line}{problem}", line = line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ScenarioError {
    file: String,
    line: Option<usize>,
    problem: String,
}

/// A scenario as written. Settings at the top hold for every org that does not say otherwise, and for any other key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScenarioFile {
    summary: String,
    #[serde(default)]
    any_key: bool,
    #[serde(default)]
    limits: LimitSettings,
    #[serde(default)]
    latency: Latency,
    ramp: Option<RampSettings>,
    #[serde(default)]
    batches: BatchSettings,
    spend_limit_usd: Option<f64>,
    #[serde(default)]
    faults: Vec<Spanned<FaultFile>>,
    #[serde(default)]
    batch_faults: Vec<Spanned<BatchFaultFile>>,
    #[serde(default)]
    orgs: Vec<Spanned<OrgFile>>,
    #[serde(default)]
    demo: DemoHints,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OrgFile {
    label: String,
    key: KeyFile,
    organization: Option<String>,
    limits: Option<LimitSettings>,
    latency: Option<Latency>,
    ramp: Option<RampSettings>,
    batches: Option<BatchSettings>,
    spend_limit_usd: Option<f64>,
    #[serde(default)]
    faults: Vec<Spanned<FaultFile>>,
    #[serde(default)]
    batch_faults: Vec<Spanned<BatchFaultFile>>,
    #[serde(default)]
    colleagues: Vec<Spanned<ColleagueFile>>,
}

/// A key on its way into a [`Secret`].
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct KeyFile(Secret);

impl TryFrom<String> for KeyFile {
    type Error = &'static str;
    fn try_from(text: String) -> Result<KeyFile, &'static str> {
        Secret::new(&text).map(KeyFile).ok_or("key: write the key that the org is called with; it is not empty")
    }
}

/// A problem and the byte of the text that it is about.
type Problem = (Option<usize>, String);

impl Scenario {
    /// Names of the scenarios that are built in, with what happens in each.
    pub fn built_in() -> impl Iterator<Item = (&'static str, String)> {
        BUILT_IN.iter().map(|(name, text)| (*name, Scenario::parse(name, text).unwrap_or_default().summary))
    }

    /// A built-in scenario by name, else the file at that path.
    ///
    /// # Errors
    /// No such name or file, or a file that does not hold a scenario.
    pub fn load(name_or_path: &str) -> Result<Scenario, ScenarioError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
            return Scenario::parse(name, text);
        }
        let text = std::fs::read_to_string(Path::new(name_or_path)).map_err(|error| {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            let problem = format!("{error}; give the path of a scenario file or one of {}", names.join(", "));
            ScenarioError { file: name_or_path.to_owned(), line: None, problem }
        })?;
        Scenario::parse(name_or_path, &text)
    }

    /// A scenario from the text of a file; `file` is its name for errors.
    ///
    /// # Errors
    /// Text that is not TOML, unknown keys, values out of range.
    pub fn parse(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let written: Result<ScenarioFile, Problem> =
            toml::from_str(text).map_err(|error| (error.span().map(|span| span.start), error.message().to_owned()));
        written.and_then(ScenarioFile::resolve).map_err(|(at, problem)| {
            let line = at.map(|at| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count());
            ScenarioError { file: file.to_owned(), line, problem }
        })
    }

    /// Whether keys that it does not name are taken too.
    pub fn takes_any_key(&self) -> bool {
        self.any_key.is_some()
    }

    /// Any key is accepted and every answer comes at once, every batch ends at once: what load tests measure against.
    pub fn instant() -> Scenario {
        Scenario {
            summary: "every answer comes at once".to_owned(),
            any_key: Some(Behaviour {
                limits: LimitSettings {
                    rpm: 100_000_000,
                    itpm: 100_000_000_000,
                    otpm: 100_000_000_000,
                    batch_rpm: 100_000_000,
                    batch_queue: 100_000_000,
                    count_tokens_rpm: 100_000_000,
                },
                batches: BatchSettings { p50_s: 0.0, p95_s: 0.0, cancel_s: 0.0, ..BatchSettings::default() },
                ..Behaviour::default()
            }),
            ..Scenario::default()
        }
    }
}

impl ScenarioFile {
    fn resolve(self) -> Result<Scenario, Problem> {
        let common = Behaviour {
            limits: self.limits,
            latency: self.latency,
            ramp: self.ramp,
            faults: resolve_all(&self.faults, FaultFile::resolve)?,
            batches: self.batches,
            batch_faults: resolve_all(&self.batch_faults, BatchFaultFile::resolve)?,
            spend_limit: self.spend_limit_usd.map(spend_limit).transpose().map_err(|problem| (None, problem))?,
        };
        check(&common, None)?;
        let orgs: Vec<OrgSettings> = self.orgs.iter().map(|org| resolve_org(org, &common)).collect::<Result<_, _>>()?;
        check_orgs(&self.orgs, &orgs)?;
        if orgs.is_empty() && !self.any_key {
            return Err((None, "no key is accepted: write [[orgs]] or any-key = true".to_owned()));
        }
        let demo = self.demo;
        let sizes = 1..=100_000;
        if !(0.0..=1.0).contains(&demo.batch_share)
            || !sizes.contains(&demo.sub_batch_size)
            || !(1.0..=1e6).contains(&demo.batch_speed)
        {
            let problem = "demo: batch-share is in 0..=1, sub-batch-size in 1..=100000, batch-speed in 1..=1000000";
            return Err((None, problem.to_owned()));
        }
        if demo.requests == 0 || demo.cap == 0 || !(demo.time_scale > 0.0 && demo.time_scale <= 1e6) {
            return Err((None, "demo: requests and cap are at least 1, time-scale is in 0..=1000000".to_owned()));
        }
        Ok(Scenario { summary: self.summary, demo, orgs, any_key: self.any_key.then_some(common) })
    }
}

/// Faults as written, resolved; a problem is placed where the fault begins.
fn resolve_all<F: Clone, T>(
    written: &[Spanned<F>],
    resolve: impl Fn(F) -> Result<T, String>,
) -> Result<Vec<T>, Problem> {
    written
        .iter()
        .map(|one| resolve(one.get_ref().clone()).map_err(|problem| (Some(one.span().start), problem)))
        .collect()
}

fn spend_limit(usd: f64) -> Result<Money, String> {
    if (0.0..=1e6).contains(&usd) {
        Ok(Money::from_usd(usd))
    } else {
        Err(format!("spend-limit-usd = {usd}: write dollars between 0 and 1000000"))
    }
}

fn resolve_org(written: &Spanned<OrgFile>, common: &Behaviour) -> Result<OrgSettings, Problem> {
    let at = Some(written.span().start);
    let org = written.get_ref();
    let fine = (1..=32).contains(&org.label.len())
        && org.label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !fine {
        return Err((at, format!("label = \"{}\": write 1 to 32 of a-z, 0-9 and -", org.label)));
    }
    // An org's own faults come first: the first of several that strike wins.
    let mut faults = resolve_all(&org.faults, FaultFile::resolve)?;
    faults.extend_from_slice(&common.faults);
    let mut batch_faults = resolve_all(&org.batch_faults, BatchFaultFile::resolve)?;
    batch_faults.extend_from_slice(&common.batch_faults);
    let own_limit = org.spend_limit_usd.map(spend_limit).transpose().map_err(|problem| (at, problem))?;
    let behaviour = Behaviour {
        limits: org.limits.unwrap_or(common.limits),
        latency: org.latency.unwrap_or(common.latency),
        ramp: org.ramp.or(common.ramp),
        faults,
        batches: org.batches.unwrap_or(common.batches),
        batch_faults,
        spend_limit: own_limit.or(common.spend_limit),
    };
    check(&behaviour, at)?;
    let colleagues = resolve_all(&org.colleagues, ColleagueFile::resolve)?;
    let organization = match &org.organization {
        Some(id) if http::HeaderValue::from_str(id).is_ok() && !id.is_empty() => id.clone(),
        Some(_) => return Err((at, "organization: write a UUID".to_owned())),
        None => {
            let name = super::bodies::identity(&super::answer::digest(org.label.as_bytes()));
            ids::organization(&mut ids::rng(0, name, 0))
        }
    };
    Ok(OrgSettings { label: org.label.clone(), key: org.key.0.clone(), organization, behaviour, colleagues })
}

/// Figures above this are not limits of anything, and sums of them must not overflow.
const MAX_LIMIT: u64 = 1_000_000_000_000;

fn check(behaviour: &Behaviour, at: Option<usize>) -> Result<(), Problem> {
    let LimitSettings { rpm, itpm, otpm, batch_rpm, batch_queue, count_tokens_rpm } = behaviour.limits;
    let all = [rpm, itpm, otpm, batch_rpm, batch_queue, count_tokens_rpm];
    if all.iter().any(|limit| !(1..=MAX_LIMIT).contains(limit)) {
        return Err((at, format!("limits: each of them is between 1 and {MAX_LIMIT}")));
    }
    let problem = behaviour
        .latency
        .problem()
        .or_else(|| behaviour.ramp.and_then(|ramp| ramp.problem()))
        .or_else(|| behaviour.batches.problem());
    problem.map_or(Ok(()), |problem| Err((at, problem)))
}

/// What must not be the same in two orgs, and what must.
fn check_orgs(written: &[Spanned<OrgFile>], orgs: &[OrgSettings]) -> Result<(), Problem> {
    let (mut labels, mut keys) = (HashSet::new(), HashSet::new());
    for (org, span) in orgs.iter().zip(written.iter().map(Spanned::span)) {
        if !labels.insert(org.label.as_str()) {
            return Err((Some(span.start), format!("label = \"{}\": another org has this label", org.label)));
        }
        if !keys.insert(org.key.expose()) {
            return Err((Some(span.start), format!("key of \"{}\": another org has this key", org.label)));
        }
        let first = orgs.iter().find(|other| other.organization == org.organization);
        if first.is_some_and(|first| first.behaviour.limits != org.behaviour.limits) {
            let problem = "limits: keys of one organization share its limits, so write the same for each".to_owned();
            return Err((Some(span.start), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Scenario::parse("x.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn every_built_in_scenario_is_one_and_begins_with_what_an_operator_sees() {
        for (name, text) in BUILT_IN {
            let scenario = Scenario::load(name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!scenario.summary.is_empty(), "{name}");
            assert!(text.starts_with("# "), "{name} begins with a comment");
            assert!(text.contains("operator"), "{name} says what an operator should see");
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_line_and_the_keys_that_are_known() {
        let text = "summary = \"x\"\nany-key = true\n[limits]\nrpn = 5\n";
        let problem = problem(text);
        assert!(problem.starts_with("failed to use scenario x.toml: line 4: unknown field `rpn`"), "{problem}");
        assert!(problem.contains("`rpm`, `itpm`, `otpm`"), "{problem}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_line_and_remedy() {
        let org = "[[orgs]]\nlabel = \"a\"\nkey = \"k1\"\n";
        for (text, line, remedy) in [
            ("summary = \"x\"".to_owned(), "", "any-key = true"),
            (format!("summary = \"x\"\n{org}{org}"), "line 5: ", "another org has this label"),
            (format!("summary = \"x\"\n{org}{}", org.replace("\"a\"", "\"b\"")), "line 5: ", "has this key"),
            (format!("summary = \"x\"\n{}", org.replace("\"a\"", "\"A b\"")), "line 2: ", "a-z, 0-9 and -"),
            (format!("summary = \"x\"\n{}", org.replace("k1", " ")), "line 4: ", "not empty"),
            (format!("summary = \"x\"\n{org}limits = {{ rpm = 0 }}"), "line 2: ", "between 1 and"),
            (format!("summary = \"x\"\n{org}batches = {{ p50-s = 9, p95-s = 1 }}"), "line 2: ", "p50-s <= p95-s"),
            (format!("summary = \"x\"\n{org}spend-limit-usd = -1.0"), "line 2: ", "between 0 and 1000000"),
            (format!("summary = \"x\"\n{org}[[orgs.batch-faults]]\nkind = \"line-cut\"\n"), "line 5: ", "needs rows"),
            (format!("summary = \"x\"\n{org}latency = {{ p50-ms = 9, p95-ms = 1 }}"), "line 2: ", "p50-ms <= p95-ms"),
            (format!("summary = \"x\"\n{org}[[orgs.faults]]\nkind = \"slow\"\n"), "line 5: ", "needs factor"),
            (
                format!("summary = \"x\"\n{org}[[orgs.colleagues]]\nto-s = 1\nrps = 0\ntokens-in = 1\ntokens-out = 1"),
                "line 5: ",
                "rps",
            ),
            (format!("summary = \"x\"\n{org}[demo]\ntime-scale = 0.0"), "", "time-scale"),
            (format!("summary = \"x\"\n{org}[demo]\nbatch-share = 1.5"), "", "batch-share"),
            ("summary = ".to_owned(), "line 1: ", ""),
        ] {
            let problem = problem(&text);
            assert!(problem.contains(&format!("x.toml: {line}")) && problem.contains(remedy), "{text}\n{problem}");
        }
    }

    #[test]
    fn a_name_that_is_no_scenario_is_refused_with_the_names_that_are() {
        let problem = Scenario::load("hurricane").unwrap_err().to_string();
        assert!(problem.contains("hurricane") && problem.contains("storm, colleague"), "{problem}");
    }

    #[test]
    fn keys_of_one_organization_have_one_set_of_limits() {
        let text = "summary = \"x\"\n[[orgs]]\nlabel = \"a\"\nkey = \"k1\"\norganization = \"o\"\n[[orgs]]\nlabel = \"b\"\n\
                    key = \"k2\"\norganization = \"o\"\nlimits = { rpm = 5 }\n";
        assert!(problem(text).contains("share its limits"));
        assert!(Scenario::parse("x", &text.replace("limits = { rpm = 5 }", "")).is_ok());
    }

    #[test]
    fn no_key_is_shown_by_debug() {
        let text = "summary = \"x\"\n[[orgs]]\nlabel = \"a\"\nkey = \"very-secret\"\n";
        assert!(!format!("{:?}", Scenario::parse("x", text)).contains("very-secret"));
    }
}
