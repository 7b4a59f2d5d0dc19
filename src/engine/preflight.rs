//! The look at each org before the first wave: does its key work, does it have the models that are asked for, and how long
//! an answer may be.
//!
//! It asks the endpoint of models, which costs nothing, of all orgs at once, and lets each org go as soon as it has
//! answered. An org that does not answer in [`PATIENCE`], or does not have the endpoint, is let go too: then its first
//! requests tell, a few at a time. Only what is certain has consequences: a 401 parks the org, a model that is missing
//! keeps that family's requests away from it, and what no org can do at all stops the run before anything was sent.

use std::time::Duration;

use crate::api::{Finding, Sight};
use crate::model::{AccountTrouble, Family, Level, Mono, Now, OrgId, RequestNo, RunSlot};
use crate::requests::Input;
use crate::store::Last;

use super::event::Effect;
use super::state::{OrgState, State};
use super::{organisation, park, stop};

/// Longest time that a run waits for an org. The others do not wait with it, so that it may be as long as a first handshake
/// through a slow proxy, or on a busy machine, takes: what is not waited for cannot keep a wrong model from being sent.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most models that are asked about; an input that names more is not looked at.
const MOST_MODELS: usize = 8;

/// What a run wants of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Want {
    pub(crate) run: RunSlot,
    pub(crate) model: String,
    pub(crate) family: Family,
    /// Requests that name it.
    pub(crate) n: u64,
    /// Their smallest `max_tokens`.
    pub(crate) least_tokens: u32,
    /// Their largest.
    pub(crate) most_tokens: u32,
}

/// What an org said about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing yet.
    Asked,
    /// It has it; its longest answer.
    Has(Option<u32>),
    /// It does not have it.
    Lacks,
    /// It did not say, and will not be waited for.
    Untold,
}

/// A look that is under way.
#[derive(Debug)]
pub(crate) struct Preflight {
    until: Mono,
    wants: Vec<Want>,
    /// By want, then by org.
    known: Vec<Vec<Known>>,
}

impl Preflight {
    /// When it is given up.
    pub(crate) fn until(&self) -> Mono {
        self.until
    }

    /// Whether an org has not answered yet.
    pub(crate) fn is_looking(&self, org: OrgId) -> bool {
        self.known.iter().any(|of| of.get(org.ix()) == Some(&Known::Asked))
    }
}

/// What a run's open requests want, by model; `run` is for the caller to set.
pub(crate) fn wants(input: &Input, last: &[Last]) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for no in (0..input.len()).map(RequestNo) {
        if !matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable)) {
            continue;
        }
        let (model, tokens) = (input.model_of(no), input.max_tokens_of(no));
        if let Some(want) = wants.iter_mut().find(|want| want.model == model) {
            want.n += 1;
            want.least_tokens = want.least_tokens.min(tokens);
            want.most_tokens = want.most_tokens.max(tokens);
            continue;
        }
        wants.push(Want {
            run: RunSlot(0),
            model: model.to_owned(),
            family: input.family_of(no),
            n: 1,
            least_tokens: tokens,
            most_tokens: tokens,
        });
        // One more than is looked at says that it is too many.
        if wants.len() > MOST_MODELS {
            break;
        }
    }
    wants
}

/// Begins to look, when there is something to look at.
pub(crate) fn begin(state: &mut State, wants: Vec<Want>, now: Now, effects: &mut Vec<Effect>) {
    if wants.is_empty() || wants.len() > MOST_MODELS || state.orgs.is_empty() {
        return;
    }
    for (model, want) in wants.iter().enumerate() {
        for org in &state.orgs {
            effects.push(Effect::Look { org: org.id, model, name: want.model.clone() });
        }
    }
    let known = wants.iter().map(|_| vec![Known::Asked; state.orgs.len()]).collect();
    state.preflight = Some(Preflight { until: now.mono + PATIENCE, wants, known });
}

/// An org has answered.
pub(super) fn looked(state: &mut State, org: OrgId, model: usize, sight: Sight, now: Now, effects: &mut Vec<Effect>) {
    let Sight { organization, at, finding } = sight;
    for part in state.batches.iter_mut().flatten() {
        part.clock.heard(at, now.mono);
    }
    if let Some(organization) = organization {
        organisation::told(state, org, organization, now, effects);
    }
    if let Finding::Unauthorized(error) = &finding {
        park::for_account(state, org, AccountTrouble::Auth, error, now, effects);
    }
    let known = match finding {
        Finding::Model { max_tokens } => Known::Has(max_tokens),
        Finding::NoSuchModel => Known::Lacks,
        Finding::Unauthorized(_) | Finding::Untold => Known::Untold,
    };
    let Some(preflight) = &mut state.preflight else { return };
    if let Some(slot) = preflight.known.get_mut(model).and_then(|of| of.get_mut(org.ix())) {
        *slot = known;
    }
    bar(state, org);
    conclude(state, now, effects);
}

/// Waits no longer when the time is over.
pub(super) fn in_time(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    let Some(preflight) = &mut state.preflight else { return };
    if preflight.until > now.mono {
        return;
    }
    for slot in preflight.known.iter_mut().flatten().filter(|known| **known == Known::Asked) {
        *slot = Known::Untold;
    }
    conclude(state, now, effects);
}

/// Keeps a family away from an org that has none of the family's models.
fn bar(state: &mut State, org: OrgId) {
    let State { preflight: Some(preflight), orgs, .. } = state else { return };
    for family in Family::ALL {
        let mut of_family =
            preflight.wants.iter().zip(&preflight.known).filter(|(want, _)| want.family == family).peekable();
        let lacks_all =
            of_family.peek().is_some() && of_family.all(|(_, known)| known.get(org.ix()) == Some(&Known::Lacks));
        orgs[org.ix()].barred[family.ix()] = lacks_all;
    }
}

/// When every org has answered: says what was found, and stops the runs that cannot succeed.
fn conclude(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    if state.preflight.as_ref().is_none_or(|preflight| preflight.known.iter().flatten().any(|k| *k == Known::Asked)) {
        return;
    }
    let Some(Preflight { wants, known, .. }) = state.preflight.take() else { return };
    for (want, known) in wants.iter().zip(&known) {
        let only = wants.iter().filter(|other| other.run == want.run).count() == 1;
        if let Some(trouble) = trouble(state, want, known) {
            tell(state, want, only, trouble, now, effects);
        }
    }
}

/// What a model's requests will run into.
struct Found {
    text: String,
    /// None of them can succeed.
    hopeless: bool,
}

fn trouble(state: &State, want: &Want, known: &[Known]) -> Option<Found> {
    let takes_work = |org: &&OrgState| org.parked.is_none();
    let of = |org: &OrgState| known.get(org.id.ix()).copied().unwrap_or(Known::Untold);
    let orgs: Vec<&OrgState> = state.orgs.iter().filter(takes_work).collect();
    let lacking: Vec<&str> = orgs.iter().filter(|org| of(org) == Known::Lacks).map(|org| org.label.as_str()).collect();
    if !lacking.is_empty() {
        let hopeless = lacking.len() == orgs.len();
        let text = if hopeless {
            format!("no org has the model {}", want.model)
        } else {
            format!("{} has no model {}: its requests go to the others", lacking.join(", "), want.model)
        };
        return Some(Found { text, hopeless });
    }
    let longest = orgs.iter().filter_map(|org| match of(org) {
        Known::Has(longest) => longest,
        _ => None,
    });
    let longest = longest.max()?;
    if want.least_tokens > longest {
        let text = format!("every request asks for max_tokens of more than the {longest} that {} has", want.model);
        Some(Found { text, hopeless: true })
    } else if want.most_tokens > longest {
        let text = format!("some requests ask for max_tokens of more than the {longest} that {} has", want.model);
        Some(Found { text: format!("{text}: they will be called invalid"), hopeless: false })
    } else {
        None
    }
}

fn tell(state: &mut State, want: &Want, only: bool, found: Found, now: Now, effects: &mut Vec<Effect>) {
    let fuse = state.settings.fuse > 0;
    if found.hopeless && only && fuse {
        stop::blow(state, want.run, &found.text, "preflight", now, effects);
        return;
    }
    let mut text = found.text;
    if found.hopeless {
        text.push_str(&format!(": its {} requests will not succeed", want.n));
        // They are to be told so by the API, one by one, as the operator wants it.
        for org in &mut state.orgs {
            org.barred[want.family.ix()] = false;
        }
    }
    state.note(Level::Warn, "preflight", None, text, now, effects);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_org_is_waited_for_until_it_has_answered_for_every_model() {
        let known = vec![vec![Known::Has(None), Known::Asked], vec![Known::Asked, Known::Untold]];
        let preflight = Preflight { until: Mono::ZERO, wants: Vec::new(), known };
        assert!(preflight.is_looking(OrgId(0)) && preflight.is_looking(OrgId(1)) && !preflight.is_looking(OrgId(2)));
    }
}
