//! The planner screen, prefilled: from an input or a number to a draft with everything that is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::plan::{Knobs, Latency, Tokens};
use crate::tui::screens::planner::{Draft, Learnt, OrgChoice};

use super::console::PlannedRun;
use super::drive::Shown;
use super::failure::Outcome;
use super::kept_index::KeptIndex;
use super::launch::Indexed;
use super::logging::Logging;
use super::planned::{Asked, Ground, today};
use super::run::{RunArgs, expected_open};
use super::runtime::to_the_end;
use super::setup::Setup;
use super::work::Work;
use super::{console, front::Front};

/// What the planner is opened with.
pub(crate) struct Planned {
    /// The plan in the making.
    pub draft: Draft,
    /// The run that it can be launched as; `None` for a plan of nothing but numbers.
    pub run: Option<PlannedRun>,
}

/// `fandeck run INPUT` on a terminal: the plan of the input, to be changed and launched.
pub(crate) fn before_run(args: &RunArgs, kept: &KeptIndex, indexed: &Indexed, asked: &Asked, setup: &Setup) -> Outcome {
    let open = expected_open(indexed);
    let work = Work::of_input(&indexed.input, &open, &setup.catalog);
    let model = work.model().unwrap_or_default().to_owned();
    let named = args.input.display().to_string();
    let mut draft = draft(&Ground::of_setup(setup), &work, &model, asked, Some(named), &setup.catalog);
    draft.confirm_above = setup.confirm_above;
    draft.max_cost = setup.limits.max_cost;
    let logging = Logging::start(Front::Screen, &setup.log_dir, "console".as_ref(), setup.scrubber.clone())?;
    let shown =
        Shown { front: Front::Screen, show: args.drive.show.clone(), config: args.drive.planning.config.clone() };
    let planned = Planned { draft, run: Some(PlannedRun::new(args.clone(), Some(kept.clone()))) };
    to_the_end(console::show(console::Opening::Plan(Box::new(planned)), &shown, &logging))
}

/// A draft of this work, with what is measured of every model of the catalog.
pub(crate) fn draft(
    ground: &Ground<'_>,
    work: &Work,
    model: &str,
    asked: &Asked,
    input: Option<String>,
    catalog: &Arc<Catalog>,
) -> Draft {
    let knobs = ground.knobs(work, model, asked);
    let names = catalog.models().iter().map(|info| info.aliases.first().unwrap_or(&info.id).clone());
    let alone = Work::of_number(1);
    let mut learnt: BTreeMap<String, Learnt> =
        names.map(|name| (name.clone(), measured(&ground.knobs(&alone, &name, &Asked::default())))).collect();
    // Of the input itself more is known: how long its requests are.
    let mut own = measured(&knobs);
    if input.is_some() {
        own.tokens = Some(knobs.tokens.clone());
    }
    learnt.insert(model.to_owned(), own);
    let orgs = ground.orgs.iter().map(|org| OrgChoice {
        label: org.label().to_owned(),
        caps: ground.caps_of(org),
        chosen: true,
        has_key: org.has_key(),
    });
    let orgs = orgs.collect();
    let mut draft = Draft::new(input, knobs, orgs, learnt, Arc::clone(catalog));
    draft.today = Some(today());
    draft.replan();
    draft
}

/// What of these knobs was measured.
fn measured(knobs: &Knobs) -> Learnt {
    let tokens: Option<&Tokens> = Some(&knobs.tokens).filter(|tokens| tokens.input.origin.is_measured());
    let latency: Option<&Latency> = Some(&knobs.latency).filter(|latency| latency.p50.origin.is_measured());
    let limits = knobs.orgs.iter().filter(|org| !org.limits.is_empty());
    Learnt {
        tokens: tokens.cloned(),
        latency: latency.cloned(),
        limits: limits.map(|org| (org.label.clone(), org.limits.clone())).collect(),
    }
}
