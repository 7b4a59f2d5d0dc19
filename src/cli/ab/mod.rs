//! `fandeck ab INPUT`: the same requests by the old way and by the fan-out, back to back, with the figures of both.
//!
//! The arms are runs like any other, each in a process, a directory and a connection pool of its own and without the answer
//! cache, so that neither profits from the other. An arm that was interrupted is gone on with, one that is finished is not
//! run again: the validation can be stopped anywhere and given the same command again.

mod args;
mod arm;
mod charter;
mod verdict;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Family, Money, OrgSpec, RunStatus};
use crate::report::format;
use crate::requests::Input;
use crate::store::{Last, RunDir, RunFile, save_file};

use super::failure::{Failure, Outcome};
use super::front::Front;
use super::gate::{tolerated, unauthorized};
use super::launch::index;
use super::options::{DriveArgs, PlanningArgs};
use super::out;
use super::price::Price;
use super::runtime::runtime;
use super::setup::Setup;
use super::signals::Signals;

use args::BaselineArg;
use arm::{Arm, Shape};

pub(crate) use args::AbArgs;
pub(crate) use arm::{end_with_validation, is_arm};

use charter::Charter;
use verdict::{ArmResult, Verdict};

/// Slots that a baseline may have: those that a cap may have.
const SLOTS: RangeInclusive<u32> = 1..=10_000;

/// Runs both arms, or says what they would cost.
pub(crate) fn ab(args: &AbArgs) -> Outcome {
    if args.input.as_os_str() == "-" {
        return Err(Failure::usage("both arms read the input: give a file, not -"));
    }
    if args.out.join(RunFile::NAME).exists() {
        let out = args.out.display();
        return Err(Failure::usage(format!(
            "{out} is the directory of a run: give another one for the validation with --out"
        )));
    }
    let input = index(&args.input)?;
    if !(args.target.is_finite() && args.target > 0.0) {
        return Err(Failure::usage(format!("--target {}: must be a number above 0", args.target)));
    }
    let setup = setup(args)?;
    let arms = arms(args, &setup)?;
    let family = input.models().first().map_or(Family::Other, |used| Family::of_model(&used.model));
    let slots = arms.each_ref().map(|arm| arm.slots(&setup.orgs, family, setup.dispatch.procs));
    let charter = Charter::of(&input, &arms, &slots);
    charter.admits(&args.out)?;
    let plans: Vec<Plan> = arms.iter().map(|arm| plan(arm, &input, &setup)).collect::<Result<_, _>>()?;
    tell(args, &input, &plans)?;
    let unpriced = input.models().iter().map(|used| used.model.as_str());
    let unpriced: Vec<&str> = unpriced.filter(|model| setup.catalog.card(model).is_none()).collect();
    if !admits(args, &plans, &unpriced, &setup)? {
        return Ok(0);
    }
    charter.save(&args.out)?;
    runtime()?.block_on(both(args, &input, &setup.orgs, arms.iter().zip(slots)))
}

/// Runs the arms that are not over, one after the other, and holds them against each other.
async fn both<'a>(
    args: &AbArgs,
    input: &Arc<Input>,
    orgs: &[OrgSpec],
    arms: impl Iterator<Item = (&'a Arm, u32)>,
) -> Outcome {
    // Listened to from before the first arm until the end: once they are, a signal ends nothing by itself any more, and one
    // that comes between the arms must not be lost.
    let mut signals = Signals::listen()?;
    let mut results = Vec::new();
    for (arm, slots) in arms {
        unchanged(args, input)?;
        let stopped = released(arm, &mut signals).await?;
        let is_over = begun(&arm.dir)?.is_some_and(|peek| peek.state.status == RunStatus::Finished);
        if let (Some(exit_code), false) = (stopped, is_over) {
            let name = arm.name;
            out::say(&format!("fandeck ab: stopped before the arm {name}; the same command goes on with it"));
            return Ok(exit_code);
        }
        let exit_code = if is_over { 0 } else { arm.run(args, &mut signals).await? };
        if begun(&arm.dir)?.is_none() {
            // It has said why.
            return Ok(exit_code);
        }
        let result = ArmResult::read(arm, slots, input)?;
        if !result.is_finished() {
            out::say(&format!(
                "fandeck ab: the arm {} ended with {exit_code} before its end; the same command goes on with it",
                arm.name
            ));
            return Ok(if exit_code == 0 { 4 } else { exit_code });
        }
        results.push(result);
    }
    let verdict = Verdict::new(input, args.target, results);
    let path = args.out.join("ab.json");
    save_file(&path, &verdict)?;
    if args.json {
        let json = serde_json::to_string(&verdict)
            .map_err(|error| Failure::internal(format!("failed to write the result: {error}")))?;
        out::print(&format!("{json}\n"))?;
    } else {
        out::print(&verdict.in_words())?;
    }
    out::say(&format!("fandeck ab: the result is in {}", path.display()));
    out::say(&rotate(orgs));
    Ok(verdict.exit_code)
}

/// The orgs and limits of the configuration; the answer cache is off.
fn setup(args: &AbArgs) -> Result<Setup, Failure> {
    let planning = PlanningArgs {
        config: args.config.clone(),
        orgs: args.orgs.clone(),
        no_cache: true,
        // Those of the fan-out: wrong ones are refused before the baseline is paid for.
        cap: args.cap,
        procs: args.procs,
        ..PlanningArgs::default()
    };
    let drive = DriveArgs { planning, authorized_cost: args.authorized_cost, ..DriveArgs::default() };
    Setup::for_a_run(&drive, Front::Plain)
}

/// Both arms are to be held over the same requests, and an arm can take hours.
fn unchanged(args: &AbArgs, input: &Input) -> Result<(), Failure> {
    if index(&args.input)?.sha256() == input.sha256() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} was changed since the first arm began: the arms would not be over the same requests; put it back as it was and give \
         the same command again, or begin anew in another directory with --out",
        args.input.display()
    )))
}

/// Waits until nobody runs an arm: the process of a validation that was killed ends its arm after it, not with it. Gives the
/// exit code of a signal that came before.
async fn released(arm: &Arm, signals: &mut Signals) -> Result<Option<u8>, Failure> {
    let mut said = false;
    loop {
        let came = signals.came().await;
        let owner = begun(&arm.dir)?.and_then(|peek| peek.owner);
        let (None, Some(owner)) = (came, owner) else { return Ok(came) };
        if !std::mem::replace(&mut said, true) {
            out::say(&format!("fandeck ab: the arm {} is still run by {owner}; waiting for its end", arm.name));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The two arms, the old way first.
fn arms(args: &AbArgs, setup: &Setup) -> Result<[Arm; 2], Failure> {
    let labels: Vec<String> = setup.orgs.iter().map(|org| org.label.clone()).collect();
    if !SLOTS.contains(&args.baseline_slots) {
        let (least, most) = (SLOTS.start(), SLOTS.end());
        return Err(Failure::usage(format!(
            "--baseline-slots {}: must be a whole number from {least} to {most}",
            args.baseline_slots
        )));
    }
    let one = match &args.baseline_org {
        Some(label) if labels.contains(label) => label.clone(),
        Some(label) => {
            let known = labels.join(", ");
            return Err(Failure::usage(format!("--baseline-org {label}: must be one of {known}")));
        }
        None => labels.first().cloned().unwrap_or_default(),
    };
    let shape = match args.baseline {
        BaselineArg::OneOrg => Shape::Sync { cap: Some(args.baseline_slots), procs: Some(1) },
        BaselineArg::LegacyBatch => Shape::Batch,
    };
    let fan_out = Shape::Sync { cap: args.cap, procs: args.procs };
    Ok([
        Arm { name: "baseline", dir: args.out.join("baseline"), orgs: vec![one], shape },
        Arm { name: "fan-out", dir: args.out.join("fan-out"), orgs: labels, shape: fan_out },
    ])
}

/// What an arm will take.
struct Plan {
    name: &'static str,
    slots: u32,
    /// Of what is left of it.
    price: Price,
    spent: Money,
    /// At the least, by the latency that is assumed of the family; `None` in batches.
    wall_s: Option<f64>,
}

fn plan(arm: &Arm, input: &Arc<Input>, setup: &Setup) -> Result<Plan, Failure> {
    let (last, spent) = match begun(&arm.dir)? {
        None => (vec![Last::Unsent; input.len() as usize], Money::ZERO),
        Some(peek) => {
            if let Some(other) = arm.differs(&peek.run, input) {
                return Err(Failure::usage(format!(
                    "{} holds an arm {other}; name another directory with --out",
                    arm.dir.display()
                )));
            }
            (arm.outcomes(input)?, peek.state.books.spent())
        }
    };
    let price = Price::of(input, &last, setup, arm.path());
    let family = input.models().first().map_or(Family::Other, |used| Family::of_model(&used.model));
    let slots = arm.slots(&setup.orgs, family, setup.dispatch.procs);
    let latency = setup.catalog.prior(family).latency_p50_s;
    let wall_s = (arm.shape != Shape::Batch).then(|| price.cost.n as f64 * latency / f64::from(slots.max(1)));
    Ok(Plan { name: arm.name, slots, price, spent, wall_s })
}

/// The run of an arm, if it was begun.
fn begun(dir: &Path) -> Result<Option<crate::store::RunPeek>, Failure> {
    match RunDir::peek(dir) {
        Ok(peek) => Ok(Some(peek)),
        Err(crate::store::StoreError::NotARun(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tell(args: &AbArgs, input: &Input, plans: &[Plan]) -> Result<(), Failure> {
    let n = format::count(u64::from(input.len()));
    out::say(&format!("fandeck ab: {n} requests of {}, by both arms", args.input.display()));
    for plan in plans {
        if plan.price.cost.n == 0 {
            out::say(&format!("  {:<9} is done: {}", plan.name, format::money(plan.spent)));
            continue;
        }
        let left = if plan.price.cost.n < u64::from(input.len()) {
            format!(", {} of it left", format::count(plan.price.cost.n))
        } else {
            String::new()
        };
        let wall = plan.wall_s.map_or("in batches, up to 24 h".to_owned(), |s| {
            format!("{} slots, at least {}", plan.slots, format::span((s * 1e3) as u64))
        });
        let cost = plan.price.in_words();
        out::say(&format!("  {:<9} {wall}; projected cost {cost}{left}", plan.name));
    }
    Ok(())
}

/// Whether the arms are run: not without `--confirm`. Refuses what is far above what was authorised, or dear and
/// unauthorised.
fn admits(args: &AbArgs, plans: &[Plan], unpriced: &[&str], setup: &Setup) -> Result<bool, Failure> {
    // What is done is held against each other again, at no cost.
    if plans.iter().all(|plan| plan.price.cost.n == 0) {
        return Ok(true);
    }
    let total: Money = plans.iter().map(|plan| plan.price.cost.expected + plan.spent).sum();
    if plans.iter().any(|plan| plan.price.cost.n_unpriced > 0) && !args.yes {
        return Err(Failure::usage("the cost cannot be projected: a model has no price; launch with --confirm --yes"));
    }
    if let Some(authorized) = setup.authorized {
        let n_unpriced = plans.iter().map(|plan| plan.price.cost.n_unpriced).sum();
        if n_unpriced > 0 {
            return Err(Failure::usage(unauthorized(authorized, n_unpriced, unpriced)));
        }
        if total > tolerated(authorized) {
            return Err(Failure::usage(format!(
                "projected cost of both arms {}: more than 1.5 times the authorised {}; nothing was sent",
                format::money(total),
                format::money(authorized)
            )));
        }
    }
    if !args.confirm {
        out::say(&format!(
            "fandeck ab: nothing was sent: both arms together are projected at {}; --confirm runs them",
            format::money(total)
        ));
        return Ok(false);
    }
    if total > setup.confirm_above && setup.authorized.is_none() && !args.yes {
        return Err(Failure::usage(format!(
            "projected cost of both arms {} is above confirm-above-usd ({}); state what was authorised with \
             --authorized-cost, or launch with --yes",
            format::money(total),
            format::money(setup.confirm_above)
        )));
    }
    Ok(true)
}

/// What is to be done about the keys afterwards.
fn rotate(orgs: &[OrgSpec]) -> String {
    let mut variables: Vec<&str> = orgs.iter().map(|org| org.key_env.as_str()).collect();
    variables.dedup();
    format!(
        "fandeck ab: rotate the keys that were shared for this validation ({}), in the console of each organisation",
        variables.join(", ")
    )
}

/// Where both arms are.
pub(crate) fn default_out() -> PathBuf {
    PathBuf::from("fandeck-ab")
}
