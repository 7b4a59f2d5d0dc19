//! Parking: an org takes no work until a time, or until the operator revives it.

use crate::model::snapshot::ParkReason;
use crate::model::{AccountTrouble, ApiError, Level, Now, OrgId};

use super::event::Effect;
use super::state::{OrgState, Parked, State};

/// Parks an org for trouble of its account: waiting does not heal it.
pub(super) fn for_account(
    state: &mut State,
    org: OrgId,
    account: AccountTrouble,
    error: &ApiError,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    let OrgState { label, key_env, host, .. } = &state.orgs[org.ix()];
    let remedy = match account {
        AccountTrouble::Auth => format!("check the key in {key_env}"),
        AccountTrouble::Permission => format!("the key in {key_env} may not use this model or endpoint"),
        AccountTrouble::Billing | AccountTrouble::Credit => "see Plans & Billing of that organisation".to_owned(),
        AccountTrouble::SpendLimit => "raise the spend limit, or wait for the month's turn".to_owned(),
        AccountTrouble::OnHold => "ask the organisation's administrator".to_owned(),
        AccountTrouble::Endpoint => format!("{host} does not answer like the Anthropic API: check base-url"),
    };
    let text = format!(
        "{label}: parked: {}: {error}; its requests go to the others, unburned; {remedy}, then revive it",
        account.as_str()
    );
    park(state, org, Parked { why: ParkReason::Account(account), until: None }, text, now, effects);
}

/// Parks an org, and says so once.
pub(super) fn park(state: &mut State, org: OrgId, parked: Parked, text: String, now: Now, effects: &mut Vec<Effect>) {
    let standing = &mut state.orgs[org.ix()].parked;
    let said = standing.is_some();
    // An account's trouble outlasts any time; of two times the later one counts.
    match standing {
        Some(Parked { until: None, .. }) => {}
        Some(Parked { until: Some(old), .. }) if parked.until.is_some_and(|new| new <= *old) => {}
        _ => *standing = Some(parked),
    }
    if !said {
        state.note(Level::Warn, "parked", Some(org), text, now, effects);
    }
}

/// Orgs whose parking time is over come back with a probe.
pub(super) fn unpark_in_time(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    for ix in 0..state.orgs.len() {
        let org = &mut state.orgs[ix];
        if org.parked.is_some_and(|parked| parked.until.is_some_and(|until| until <= now.mono)) {
            org.parked = None;
            org.breaker.probe(now.mono);
            let text = format!("{}: its parking time is over: one probe goes out", org.label);
            state.note(Level::Info, "unparked", Some(OrgId(ix as u16)), text, now, effects);
        }
    }
}
