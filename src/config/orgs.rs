//! The orgs: from `[[orgs]]` of the config file, or from the three variables that everybody has set already.

use std::collections::BTreeMap;

use crate::model::{Family, Money, OrgSpec, Secret, suggest};

use super::env::Env;
use super::error::{ConfigError, Origin};
use super::rules;
use super::settings::{AbsentOrg, SettingLine};
use super::tree::{Given, Raw, Table};

/// Label and variable of each org that needs no config file.
const FROM_ENV: [(&str, &str); 3] =
    [("high-prio", "ANTHROPIC_API_KEY"), ("batch", "ANTHROPIC_BATCH_KEY"), ("low-prio", "ANTHROPIC_API_KEY_LOW_PRIO")];
/// Where requests go when nothing else is said.
const BASE_URL: &str = "https://api.anthropic.com";
/// The default base URL can be set by this variable, as in the official SDKs.
const BASE_URL_ENV: &str = "ANTHROPIC_BASE_URL";
/// A family's cap for every org, by the family's name in capitals at the end.
const CAP_ENV: &str = "EPS_API_CONC_";

/// The orgs that were found.
pub(super) struct Found {
    pub(super) orgs: Vec<OrgSpec>,
    /// The orgs without a key.
    pub(super) absent: Vec<AbsentOrg>,
    /// What a run may cost over an org, by label.
    pub(super) max_costs: BTreeMap<String, Money>,
}

/// A value and where it came from.
type Sourced<T> = (T, Origin);

/// An org before its key is looked up.
struct Draft {
    label: Sourced<String>,
    key_env: String,
    base_url: Sourced<String>,
    caps: [Sourced<u32>; Family::COUNT],
    max_cost: Option<Sourced<Money>>,
}

/// Finds the orgs and tells their settings.
pub(super) fn resolve(tables: Vec<Table>, env: &Env, lines: &mut Vec<SettingLine>) -> Result<Found, ConfigError> {
    let base_url = default_base_url(env)?;
    let mut drafts: Vec<Draft> = Vec::new();
    for table in tables {
        let draft = from_table(table, &base_url)?;
        if let Some(same) = drafts.iter().find(|known| known.label.0 == draft.label.0) {
            let (label, origin) = draft.label;
            let allowed = format!("unique, and {} has it already", same.label.1);
            return Err(Given::new(Raw::Bool(false), &format!("{label:?}"), origin).refuse("orgs.label", allowed));
        }
        drafts.push(draft);
    }
    if drafts.is_empty() {
        drafts.extend(FROM_ENV.map(|(label, key_env)| Draft {
            label: (label.to_owned(), Origin::Default),
            key_env: key_env.to_owned(),
            base_url: base_url.clone(),
            caps: default_caps(),
            max_cost: None,
        }));
    }
    let from_env = caps_from_env(env)?;
    let mut found = Found { orgs: Vec::new(), absent: Vec::new(), max_costs: BTreeMap::new() };
    for mut draft in drafts {
        for (family, cap) in &from_env {
            if let Some(slot) = draft.caps.get_mut(family.ix()) {
                slot.clone_from(cap);
            }
        }
        let key = key(&draft, env)?;
        tell(&draft, key.is_some(), lines);
        if let Some((max_cost, _)) = &draft.max_cost {
            found.max_costs.insert(draft.label.0.clone(), *max_cost);
        }
        match key {
            Some(key) => found.orgs.push(OrgSpec {
                label: draft.label.0,
                key_env: draft.key_env,
                key,
                base_url: draft.base_url.0,
                caps: draft.caps.map(|(cap, _)| cap),
            }),
            None => found.absent.push(AbsentOrg {
                label: draft.label.0,
                key_env: draft.key_env,
                base_url: draft.base_url.0,
            }),
        }
    }
    Ok(found)
}

/// The orgs that flags chose (all, when they chose none), and the first of them that has no key.
pub(super) fn chosen(
    orgs: Vec<OrgSpec>,
    absent: &[AbsentOrg],
    labels: &[String],
) -> Result<(Vec<OrgSpec>, Option<AbsentOrg>), ConfigError> {
    if labels.is_empty() {
        return Ok((orgs, None));
    }
    let mut without_key = None;
    for label in labels {
        let is_absent = absent.iter().find(|org| org.label == *label);
        if is_absent.is_none() && !orgs.iter().any(|org| org.label == *label) {
            let known: Vec<&str> =
                orgs.iter().map(|org| org.label.as_str()).chain(absent.iter().map(|org| org.label.as_str())).collect();
            let given = Given::new(Raw::Text(label.clone()), label, Origin::Flag("--orgs"));
            return Err(given.refuse("orgs", format!("labels of {}", known.join(", "))));
        }
        without_key = without_key.or(is_absent.cloned());
    }
    Ok((orgs.into_iter().filter(|org| labels.contains(&org.label)).collect(), without_key))
}

fn from_table(mut table: Table, default_base_url: &Sourced<String>) -> Result<Draft, ConfigError> {
    let (label, key_env, base_url) = (table.take("label"), table.take("key-env"), table.take("base-url"));
    let (insecure, max_cost) = (table.take("allow-insecure-http"), table.take("max-cost-usd"));
    let mut caps = table.take_table("caps")?;
    table.finish()?;
    let label = required(&table, "label", label, "the org's name on screen and on disk")?;
    let key_env = required(&table, "key-env", key_env, "the environment variable that holds the key")?;
    let check = |given: &Given, name: &str, rule: fn(&Raw) -> rules::Checked<String>| {
        rule(&given.raw).map_err(|allowed| given.refuse(&table.name(name), allowed))
    };
    let allow_insecure = match &insecure {
        Some(given) => {
            rules::yes_or_no(&given.raw).map_err(|allowed| given.refuse(&table.name("allow-insecure-http"), allowed))?
        }
        None => false,
    };
    let max_cost = match max_cost {
        Some(given) => {
            let usd = rules::usd(&given.raw).map_err(|allowed| given.refuse(&table.name("max-cost-usd"), allowed))?;
            Some((usd, given.origin))
        }
        None => None,
    };
    let base_url = match base_url {
        Some(given) => (checked_base_url(&given, "orgs.base-url", allow_insecure)?, given.origin),
        None => default_base_url.clone(),
    };
    Ok(Draft {
        label: (check(&label, "label", rules::label)?, label.origin),
        key_env: check(&key_env, "key-env", rules::key_env)?,
        base_url,
        caps: caps_from_table(&mut caps)?,
        max_cost,
    })
}

fn required(table: &Table, key: &str, given: Option<Given>, hint: &'static str) -> Result<Given, ConfigError> {
    given.ok_or_else(|| ConfigError::Missing { origin: table.origin().clone(), name: table.name(key), hint })
}

fn checked_base_url(given: &Given, name: &str, allow_insecure_http: bool) -> Result<String, ConfigError> {
    rules::base_url(&given.raw, allow_insecure_http).map_err(|allowed| {
        // What stands before an @ is a password, whatever else is wrong with the URL.
        let shown = if given.shown.contains('@') { "(hidden)" } else { &given.shown };
        Given { shown: shown.to_owned(), ..given.clone() }.refuse(name, allowed)
    })
}

fn default_base_url(env: &Env) -> Result<Sourced<String>, ConfigError> {
    match env.given(BASE_URL_ENV) {
        Some(given) => Ok((checked_base_url(&given, BASE_URL_ENV, false)?, given.origin)),
        None => Ok((BASE_URL.to_owned(), Origin::Default)),
    }
}

fn default_caps() -> [Sourced<u32>; Family::COUNT] {
    Family::ALL.map(|family| (family.default_cap(), Origin::Default))
}

fn caps_from_table(table: &mut Table) -> Result<[Sourced<u32>; Family::COUNT], ConfigError> {
    let mut caps = default_caps();
    for (slot, family) in caps.iter_mut().zip(Family::ALL) {
        if let Some(given) = table.take(family.as_str()) {
            let name = table.name(family.as_str());
            *slot = (rules::cap(&given.raw).map_err(|allowed| given.refuse(&name, allowed))?, given.origin);
        }
    }
    table.finish()?;
    Ok(caps)
}

/// A variable that names no family is refused: a cap that is quietly not applied is paid for by colleagues.
fn caps_from_env(env: &Env) -> Result<Vec<(Family, Sourced<u32>)>, ConfigError> {
    env.with_prefix(CAP_ENV)
        .map(|(end, value)| {
            let name = format!("{CAP_ENV}{end}");
            let origin = Origin::Env(name.clone());
            let Some(family) = Family::ALL.into_iter().find(|family| family.as_str().eq_ignore_ascii_case(end)) else {
                let hint = suggest::hint(end, &Family::ALL.map(Family::as_str));
                return Err(ConfigError::UnknownKey { origin, name: format!("family {end}"), hint });
            };
            // What is no integer of this size is refused by the rule as text.
            let raw = value.parse().map_or_else(|_| Raw::Text(value.to_owned()), Raw::Int);
            let given = Given::new(raw, &format!("{value:?}"), origin);
            let cap = rules::cap(&given.raw).map_err(|allowed| given.refuse(&name, allowed))?;
            Ok((family, (cap, given.origin)))
        })
        .collect()
}

/// The key of an org; `None` when its variable is not set or blank.
fn key(draft: &Draft, env: &Env) -> Result<Option<Secret>, ConfigError> {
    let Some(text) = env.get(&draft.key_env) else { return Ok(None) };
    if text.starts_with(['"', '\'']) {
        return Err(ConfigError::QuotedKey { key_env: draft.key_env.clone() });
    }
    // White space in the middle is a line break or a second key that was pasted along.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigError::BadKey { key_env: draft.key_env.clone() });
    }
    Ok(Secret::new(text))
}

fn tell(draft: &Draft, has_key: bool, lines: &mut Vec<SettingLine>) {
    let mut line = |name: &str, value: String, origin: &Origin| {
        lines.push(SettingLine { name: format!("orgs.{}.{name}", draft.label.0), value, origin: origin.clone() });
    };
    let state = if has_key { "set" } else { "absent" };
    line("key-env", format!("{} ({state})", draft.key_env), &draft.label.1);
    line("base-url", draft.base_url.0.clone(), &draft.base_url.1);
    if let Some((max_cost, origin)) = &draft.max_cost {
        line("max-cost-usd", max_cost.usd().to_string(), origin);
    }
    for (family, (cap, origin)) in Family::ALL.iter().zip(&draft.caps) {
        line(&format!("caps.{family}"), cap.to_string(), origin);
    }
}
