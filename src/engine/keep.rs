//! `state.json` as the state says it: what is kept of a run between sessions, besides its journal.

use crate::model::Snapshot;
use crate::store::{OrgState, StateFile};

/// The state file of the run at `ix`. `template` is the file that the session began with; orgs of earlier sessions that
/// this one does not use stay as they were.
pub(super) fn state_file(template: &StateFile, picture: &Snapshot, ix: usize, exit_code: Option<u8>) -> StateFile {
    let mut file = template.clone();
    let Some(run) = picture.runs.get(ix) else { return file };
    file.status = run.status;
    file.counts = run.counts;
    file.cost = run.cost;
    file.attempts = run.attempts;
    file.re_driven = run.re_driven.iter().cloned().collect();
    file.n_possibly_charged = run.n_possibly_charged;
    file.wall_ms = run.wall_ms;
    file.session_wall_ms = run.session_wall_ms;
    file.updated_at = picture.at;
    file.heartbeat_at = picture.at;
    file.reason.clone_from(&run.reason);
    file.exit_code = exit_code;
    for org in &picture.orgs {
        let kept = OrgState { label: org.label.clone(), window: org.window(), totals: org.totals };
        match file.orgs.iter_mut().find(|old| old.label == org.label) {
            Some(old) => *old = kept,
            None => file.orgs.push(kept),
        }
    }
    file
}
