//! What presses on an organisation: a colleague, or our own use. Both lower its headroom; they are told apart by what has
//! gone from its buckets and was not ours, so that the operator knows whom to talk to.

use std::time::Duration;

use crate::model::limits::Limiter;
use crate::model::{Level, Mono, Now, OrgId};

use super::event::Effect;
use super::pace::Pace;
use super::state::State;

/// Share of the refill from which on others' use counts as a colleague's.
const ACTIVE: f64 = 0.1;

/// Share below which a colleague counts as gone.
const GONE: f64 = 0.05;

/// Headroom has to rise this many times above the threshold before easing is over: the figure is coarse and flutters.
const OVER: f64 = 1.5;

/// Our own use counts as being at a limit for so long after the limit has held a call back.
const LINGERS: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Squeeze {
    /// Nothing does.
    #[default]
    Nothing,
    /// Our own use has reached this limit.
    OwnUse(Limiter),
    /// Somebody else uses this limit, and little is left.
    Colleague(Limiter),
}

impl Squeeze {
    /// What presses on a family now.
    fn of(pace: &Pace, before: Squeeze, threshold: f64, now: Mono) -> Squeeze {
        let eased = matches!(before, Squeeze::Colleague(_));
        if let Some((limiter, headroom)) = pace.tightest(now) {
            let (low, active) = if eased { (threshold * OVER, GONE) } else { (threshold, ACTIVE) };
            // What was gone before anything could be measured was not ours.
            let share = pace.level(limiter).and_then(|level| level.foreign_share(now)).unwrap_or(1.0);
            if headroom < low && share > active {
                return Squeeze::Colleague(limiter);
            }
        }
        let lingers = if matches!(before, Squeeze::OwnUse(_)) { LINGERS } else { Duration::ZERO };
        pace.binding(lingers, now).map_or(Squeeze::Nothing, Squeeze::OwnUse)
    }

    /// The one that matters more: a colleague.
    fn or(self, other: Squeeze) -> Squeeze {
        match (self, other) {
            (Squeeze::Colleague(_), _) | (Squeeze::OwnUse(_), Squeeze::Nothing | Squeeze::OwnUse(_)) => self,
            _ => other,
        }
    }
}

/// Looks at every organisation, and says when what presses on it has changed.
pub(super) fn look(state: &mut State, now: Now, effects: &mut Vec<Effect>) {
    let threshold = state.settings.easing_headroom;
    for ix in 0..state.orgs.len() {
        let pool_ix = state.orgs[ix].pool;
        let pool = &state.pools[pool_ix];
        // While it is closed, an empty bucket is no news.
        if pool.gate.closed_for(now.mono).is_some() {
            continue;
        }
        let before = pool.squeeze;
        let squeeze = pool
            .paces
            .iter()
            .fold(Squeeze::Nothing, |worst, pace| worst.or(Squeeze::of(pace, before, threshold, now.mono)));
        if squeeze == before {
            continue;
        }
        state.pools[pool_ix].squeeze = squeeze;
        if let Some((level, kind, text)) = told(state, ix, before, squeeze, now.mono) {
            state.note(level, kind, Some(OrgId(ix as u16)), text, now, effects);
        }
    }
}

/// The change in words; `None` when only the limiter changed.
fn told(
    state: &State,
    ix: usize,
    before: Squeeze,
    squeeze: Squeeze,
    now: Mono,
) -> Option<(Level, &'static str, String)> {
    let label = &state.orgs[ix].label;
    let pool = &state.pools[state.orgs[ix].pool];
    let figures = |limiter: Limiter| {
        let level = pool.paces.iter().filter_map(|pace| pace.level(limiter));
        let level = level.min_by(|a, b| a.headroom(now).total_cmp(&b.headroom(now)));
        level.map_or((1.0, None, 0.0), |level| (level.headroom(now), level.foreign_share(now), level.refill()))
    };
    let percent = |share: f64| share * 100.0;
    match (before, squeeze) {
        (Squeeze::Colleague(_), Squeeze::Colleague(_)) | (Squeeze::OwnUse(_), Squeeze::OwnUse(_)) => None,
        (_, Squeeze::Colleague(limiter)) => {
            let (headroom, share, _) = figures(limiter);
            let who = share.map_or("something else has used most".to_owned(), |share| {
                format!("a colleague uses about {:.0} %", percent(share))
            });
            let text = format!(
                "{label}: easing off: {who} of its {}, {:.0} % are left, below {:.0} %; our share gives way",
                limiter.as_str(),
                percent(headroom),
                percent(state.settings.easing_headroom)
            );
            Some((Level::Info, "easing", text))
        }
        (Squeeze::Colleague(limiter), _) => {
            let text = format!(
                "{label}: easing is over: {:.0} % of its {} left, and nobody else uses much of them",
                percent(figures(limiter).0),
                limiter.as_str()
            );
            Some((Level::Info, "easing-over", text))
        }
        (_, Squeeze::OwnUse(limiter)) => {
            let (headroom, _, refill) = figures(limiter);
            let text = format!(
                "{label}: our own use has reached the limit of its {}, {:.0} % are left: calls go out as fast as it \
                 refills, {refill:.0} a second",
                limiter.as_str(),
                percent(headroom)
            );
            Some((Level::Debug, "at-limit", text))
        }
        (Squeeze::OwnUse(limiter), Squeeze::Nothing) => {
            let text = format!("{label}: no longer at the limit of its {}", limiter.as_str());
            Some((Level::Debug, "at-limit-over", text))
        }
        (Squeeze::Nothing, Squeeze::Nothing) => None,
    }
}
