//! Keys of one organisation draw from one pool: its limits are the organisation's, not the key's.

use crate::model::{Family, Level, Now, OrgId};

use super::event::Effect;
use super::state::State;

/// An answer has told which organisation a key belongs to.
pub(super) fn told(state: &mut State, org: OrgId, organization: String, now: Now, effects: &mut Vec<Effect>) {
    let own = state.orgs[org.ix()].pool;
    if state.pools[own].organization.as_deref() == Some(organization.as_str()) {
        return;
    }
    let other = state.pools.iter().position(|pool| pool.organization.as_deref() == Some(organization.as_str()));
    let Some(other) = other else {
        state.pools[own].organization = Some(organization);
        return;
    };
    for family in Family::ALL {
        let moved = state.orgs[org.ix()].in_flight[family.ix()];
        if let Some(window) = &mut state.pools[own].windows[family.ix()] {
            window.in_flight = window.in_flight.saturating_sub(moved);
        }
        if moved > 0 {
            state.orgs[org.ix()].pool = other;
            state.window_mut(org, family, now.mono).in_flight += moved;
            state.orgs[org.ix()].pool = own;
        }
    }
    if let Some((span, why)) = state.pools[own].gate.closed_for(now.mono) {
        state.pools[other].gate.close(span, why, now.mono);
    }
    state.orgs[org.ix()].pool = other;
    let first = state.orgs.iter().find(|o| o.pool == other && o.id != org).map(|o| o.label.clone());
    let text = format!(
        "{}: its key belongs to the organisation of {}: both share one window",
        state.orgs[org.ix()].label,
        first.unwrap_or_default()
    );
    state.note(Level::Warn, "shared-organisation", Some(org), text, now, effects);
}
