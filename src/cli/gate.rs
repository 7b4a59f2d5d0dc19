//! The gate before money is spent: what it will cost is said, and asked, or refused when nobody is there to ask.

use std::io::{self, BufRead, Write};
use std::path::Path;

use crate::model::{RequestNo, Route};
use crate::plan::Projection;
use crate::report::format;
use crate::store::Last;

use super::failure::Failure;
use super::front::Front;
use super::launch::{Indexed, in_words, projection};
use super::out;
use super::setup::Setup;

/// Before a new run: always asks on a screen.
pub(crate) fn before_run(
    indexed: &Indexed,
    last: &[Last],
    setup: &Setup,
    front: Front,
    dir: &Path,
    path: Route,
) -> Result<(), Failure> {
    let projection = projection(&indexed.input, last, &setup.catalog, path);
    if front != Front::Screen {
        return unattended(indexed, &projection, setup);
    }
    let n_cached = last.iter().filter(|last| **last == Last::Cached).count() as u64;
    let orgs: Vec<&str> = setup.orgs.iter().map(|org| org.label.as_str()).collect();
    out::say(&format!(
        "{} requests, {} of them cached, {} to send over {}\nprojected cost {}\nrun directory {}",
        format::count(u64::from(indexed.input.len())),
        format::count(n_cached),
        format::count(projection.n),
        orgs.join(", "),
        in_words(&projection),
        dir.display()
    ));
    ask(&projection)
}

/// Before a run goes on: what was agreed to once is asked again only when what is left is dear.
pub(crate) fn before_resume(
    indexed: &Indexed,
    last: &[Last],
    setup: &Setup,
    front: Front,
    path: Route,
) -> Result<(), Failure> {
    let projection = projection(&indexed.input, last, &setup.catalog, path);
    if front != Front::Screen {
        return unattended(indexed, &projection, setup);
    }
    if projection.expected <= setup.confirm_above {
        return Ok(());
    }
    out::say(&format!("{} requests are left\nprojected cost {}", format::count(projection.n), in_words(&projection)));
    ask(&projection)
}

/// Without a screen: goes on when the figure is small, and refuses when it is not or when there is none.
fn unattended(indexed: &Indexed, projection: &Projection, setup: &Setup) -> Result<(), Failure> {
    if projection.n_unpriced > 0 {
        let models: Vec<&str> = indexed
            .input
            .models()
            .iter()
            .map(|used| used.model.as_str())
            .filter(|model| setup.catalog.card(model).is_none())
            .collect();
        let first = (0..indexed.input.len()).map(RequestNo).find(|no| models.contains(&indexed.input.model_of(*no)));
        return Err(Failure::usage(format!(
            "the cost cannot be projected: no price is known for the model of {} requests ({}; the first is on line {}); \
             mend the name if it is misspelt, else launch with --yes",
            format::count(projection.n_unpriced),
            models.join(", "),
            first.map_or(0, |no| indexed.input.line_of(no))
        )));
    }
    if projection.expected > setup.confirm_above {
        return Err(Failure::usage(format!(
            "projected cost {} is above confirm-above-usd ({}); launch with --yes",
            in_words(projection),
            format::money(setup.confirm_above)
        )));
    }
    Ok(())
}

fn ask(projection: &Projection) -> Result<(), Failure> {
    if projection.n == 0 || asks("Launch? [y/N] ") {
        return Ok(());
    }
    Err(Failure::usage("not launched; nothing was sent"))
}

fn asks(question: &str) -> bool {
    let mut err = io::stderr().lock();
    let mut answer = String::new();
    let asked = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    let answered = asked.and_then(|()| io::stdin().lock().read_line(&mut answer));
    answered.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
