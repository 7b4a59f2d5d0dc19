//! A refusal that names the account may be about one request: a firewall that dislikes a prompt, a model that the key may
//! not use. An org that answers others is not parked for it at once, and a request that is refused twice by orgs that
//! answer others is set aside, so that one of a million does not stop the rest.

use crate::model::{AccountTrouble, ApiError, Level, Now, OrgId, RequestNo, RunSlot, Trouble};

use super::event::Effect;
use super::state::State;

/// Whether an org says that it has no such model, of a model that this run was answered by: it was retired in the middle of
/// the run, or is another org's only. The request is as right as those that were answered.
pub(super) fn lost_its_model(state: &State, run: RunSlot, no: RequestNo, error: &ApiError) -> bool {
    let run = &state.runs[run.ix()];
    error.status == Some(404) && error.kind == "not_found_error" && run.ledger.has_answered(run.sizes.model(no))
}

/// Refusals in a row, with no answer between them, that are the org's after all.
const STRIKES: u32 = 3;

/// Whether this trouble of an org may be the request's: the org has answered others, and has not refused several in a row.
pub(super) fn is_the_requests(state: &State, org: OrgId, account: AccountTrouble) -> bool {
    let org = &state.orgs[org.ix()];
    let may_be = matches!(account, AccountTrouble::Permission | AccountTrouble::Endpoint);
    may_be && org.proven && org.parked.is_none() && org.strikes + 1 < STRIKES
}

/// Sends the request once more, and sets it aside when it was refused like that before.
#[expect(clippy::too_many_arguments, reason = "all of one attempt; bundling them would only rename the list")]
pub(super) fn of_a_request(
    state: &mut State,
    run: RunSlot,
    no: RequestNo,
    org: OrgId,
    account: AccountTrouble,
    error: ApiError,
    now: Now,
    effects: &mut Vec<Effect>,
) {
    state.orgs[org.ix()].strikes += 1;
    let trouble = Trouble::Account(account);
    let label = &state.orgs[org.ix()].label;
    let queue = &mut state.runs[run.ix()].queue;
    if queue.redrives().failed_by_account(no) {
        let text = format!(
            "{label}: request {} (from 0) was refused again by an org that answers others: {error}; set aside; send it \
             again from the requests screen, or by a resume",
            no.0
        );
        queue.set_aside(no, org, trouble, error.clone());
        let attempts = queue.redrives().failed_attempts(no);
        // Into the journal at once: an operator who looks for it finds it, and may send it again.
        effects.push(Effect::RecordReDrivable { run, no, org, attempts, trouble, error });
        state.note(Level::Warn, "set-aside", None, text, now, effects);
    } else {
        let text = format!("{label}: one request was refused, others are answered: {error}; trying it once more");
        let wait = state.settings.backoff_min;
        queue.failed(no, org, trouble, error, now.mono + wait);
        state.note(Level::Info, "request-refused", Some(org), text, now, effects);
    }
}
