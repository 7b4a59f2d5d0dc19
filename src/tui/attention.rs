//! What the operator is called for when he looks elsewhere, and what the terminal's title says.

use super::msg::Reaction;
use super::state::{UiState, shown_run};
use crate::model::snapshot::{Condition, RunView};
use crate::model::{RunStatus, Snapshot};
use crate::report::format;
use crate::report::text::harmless;

/// What was seen of the things that the operator is called for. More of one of them is a reason to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Called {
    /// A picture was seen; the first one calls for nothing.
    seen: bool,
    over: bool,
    holding: bool,
    stuck: usize,
    parked: usize,
}

impl Called {
    fn of(snapshot: &Snapshot) -> Called {
        let run = shown_run(snapshot);
        let waits = |condition: &Condition| matches!(condition, Condition::Parked { for_ms: None, .. });
        let subs = run.and_then(|run| run.batches.as_deref()).map(|batches| &batches.sub_batches);
        Called {
            seen: run.is_some(),
            over: run.is_some_and(|run| run.status.is_over()),
            holding: run.is_some_and(|run| run.status == RunStatus::Holding),
            stuck: subs.into_iter().flatten().filter(|sub| sub.question.is_some() || sub.stuck).count(),
            parked: snapshot.orgs.iter().filter(|org| waits(&org.condition)).count(),
        }
    }
}

/// Calls for what is new in a picture, and keeps the title up to date.
pub(super) fn look(ui: &mut UiState, snapshot: &Snapshot) -> Vec<Reaction> {
    let before = std::mem::replace(&mut ui.called, Called::of(snapshot));
    let mut reactions = Vec::new();
    let title = shown_run(snapshot).map_or("fandeck".to_owned(), title);
    if title != ui.title {
        ui.title.clone_from(&title);
        reactions.push(Reaction::Title(title));
    }
    if let Some(run) = shown_run(snapshot).filter(|_| before.seen)
        && let Some(what) = news(&before, &ui.called)
    {
        reactions.push(Reaction::Call(format!("{}: {what}", harmless(&run.input))));
    }
    reactions
}

fn news(before: &Called, now: &Called) -> Option<String> {
    if now.over && !before.over {
        Some("the run is over".to_owned())
    } else if now.holding && !before.holding {
        Some("the run holds: nothing can be sent".to_owned())
    } else if now.stuck > before.stuck {
        Some("a sub-batch is stuck".to_owned())
    } else if now.parked > before.parked {
        Some("an org is parked".to_owned())
    } else {
        None
    }
}

/// `61 % judge-input.jsonl · fandeck`; whole percents, so that it seldom changes.
fn title(run: &RunView) -> String {
    let state = match run.status {
        RunStatus::Running => String::new(),
        status => format!("{status} "),
    };
    let hundred = u128::from(run.counts.done()) * 100;
    let percent = hundred.checked_div(u128::from(run.counts.total)).unwrap_or(100);
    format!("{state}{} {} · fandeck", format::percent(percent as f64 / 100.0), harmless(&run.input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    fn calls(pictures: &[Snapshot]) -> Vec<String> {
        let mut ui = UiState::default();
        let all = pictures.iter().flat_map(|picture| look(&mut ui, picture)).collect::<Vec<_>>();
        all.into_iter()
            .filter_map(|reaction| match reaction {
                Reaction::Call(text) => Some(text),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn the_operator_is_called_once_for_what_is_new_and_never_for_what_was_there() {
        let busy = fixtures::busy();
        assert_eq!(calls(&[fixtures::finished(), fixtures::finished()]), [""; 0]);
        assert_eq!(calls(&[busy.clone(), fixtures::finished(), fixtures::finished()]).len(), 1);
        let parked = calls(&[busy.clone(), fixtures::parked_auth(), fixtures::parked_auth()]);
        assert_eq!(parked.len(), 1);
        assert!(parked[0].contains("parked"), "{parked:?}");
        assert!(calls(&[busy.clone(), fixtures::batches()])[0].contains("stuck"));
        assert!(calls(&[busy, fixtures::holding()])[0].contains("holds"));
    }

    #[test]
    fn the_title_is_told_only_when_it_changes() {
        let mut ui = UiState::default();
        let busy = fixtures::busy();
        assert!(matches!(&look(&mut ui, &busy)[..], [Reaction::Title(title)] if title.contains("61 %")));
        assert_eq!(look(&mut ui, &busy), []);
    }
}
