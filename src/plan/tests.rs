use super::*;
use crate::catalog::Catalog;
use crate::model::{CostPref, Family, PathChoice, Route, Terms};

fn knobs(n: u64, model: &str) -> Knobs {
    let family = Family::of_model(model);
    let orgs = ["high-prio", "batch", "low-prio"].map(|label| OrgKnobs::unknown(label, family));
    Knobs::assumed(n, model, orgs.to_vec(), &Catalog::builtin())
}

#[test]
fn a_plan_survives_json() {
    let mut knobs = knobs(141_600, "claude-sonnet-4-5");
    knobs.latency.p50 = Figure::given(1.5);
    let plan = Plan::of(&knobs, &Catalog::builtin());
    let text = serde_json::to_string(&plan).unwrap();
    let back: Plan = serde_json::from_str(&text).unwrap();
    assert!(serde_json::to_string(&back).unwrap() == text, "{text}");
}

#[test]
fn the_figures_at_the_top_are_those_of_the_verdicts_route() {
    let catalog = Catalog::builtin();
    let mut knobs = knobs(141_600, "claude-sonnet-4-5");
    let plan = Plan::of(&knobs, &catalog);
    assert_eq!((plan.route, plan.rule, &plan.chosen), (Route::Sync, Rule::WedgeGuard, &plan.sync));
    knobs.path = PathChoice::Batch;
    let plan = Plan::of(&knobs, &catalog);
    assert_eq!((plan.route, &plan.chosen), (Route::Batch, &plan.batch));
    let half = plan.sync.cost_usd.unwrap().half();
    assert_eq!(plan.batch.cost_usd, Some(half));
}

#[test]
fn intervals_hold_their_middle() {
    for n in [0, 1, 10, 1_000, 1_000_000] {
        let plan = Plan::of(&knobs(n, "claude-haiku-4-5"), &Catalog::builtin());
        for view in [&plan.sync, &plan.batch] {
            assert!(view.wall_s_low <= view.wall_s && view.wall_s <= view.wall_s_high, "{n}: {view:?}");
            assert!(view.cost_usd_low <= view.cost_usd && view.cost_usd <= view.cost_usd_high, "{n}: {view:?}");
        }
    }
}

#[test]
fn a_plan_with_nothing_to_send_has_no_risks() {
    let plan = Plan::of(&knobs(0, "claude-haiku-4-5"), &Catalog::builtin());
    assert_eq!((plan.sync.risks, plan.batch.risks), (vec![], vec![]));
}

#[test]
fn the_table_marks_the_current_row_and_the_disagreement_on_sonnet_at_a_hundred_thousand() {
    let plan = Plan::of(&knobs(90_000, "claude-sonnet-4-5"), &Catalog::builtin());
    let row = plan.table.iter().find(|row| row.is_current).unwrap();
    assert_eq!(row.n, 100_000);
    assert_eq!((row.cost.route, row.cost.recipe, row.cost.disagrees), (Route::Batch, Some(Route::Sync), true));
    assert!(row.cost.why.contains("recipe"));
    assert!(!row.latency.disagrees && row.latency.why.is_empty());
    assert_eq!(plan.table.iter().filter(|row| row.is_current).count(), 1);
}

#[test]
fn a_model_that_nobody_knows_is_planned_without_a_price_and_said_so() {
    let plan = Plan::of(&knobs(1_000, "nobody-knows-1"), &Catalog::builtin());
    assert_eq!((plan.sync.cost_usd, plan.sync.n_unpriced), (None, 1_000));
    assert!(plan.notes.iter().any(|note| note.contains("nobody-knows-1 is not in the catalog")), "{:?}", plan.notes);
}

#[test]
fn what_is_billed_besides_tokens_is_in_the_cost_or_said_not_to_be() {
    let mut knobs = knobs(1_000, "claude-opus-5-5");
    let notes = |knobs: &Knobs| Plan::of(knobs, &Catalog::builtin()).notes.join(" | ");
    let plain = Group::plain("claude-opus-5-5", 900, knobs.tokens.clone());
    let terms = Terms { fast: true, us_inference: false };
    knobs.groups = vec![plain.clone(), Group { n: 100, terms, ..plain.clone() }];
    assert!(notes(&knobs).contains("100 of the requests ask for fast mode: the cost is at its prices"));
    assert!(!notes(&knobs).contains("search") && !notes(&knobs).contains("US"), "{}", notes(&knobs));
    knobs.groups = vec![Group { searches: 4_500, ..plain }];
    let said = "web searches are not in the cost: the requests may make 4,500, for $45.00 more";
    assert!(notes(&knobs).contains(said), "{}", notes(&knobs));
}

#[test]
fn a_cost_that_is_more_than_can_be_counted_is_said_to_be() {
    let mut knobs = knobs(400_000_000, "claude-sonnet-4-5");
    let note = |knobs: &Knobs| Plan::of(knobs, &Catalog::builtin()).notes.join(" ");
    assert!(!note(&knobs).contains("more than can be counted"));
    knobs.tokens.output = Figure::given(1e6);
    assert!(note(&knobs).contains("more than can be counted"), "{}", note(&knobs));
}

#[test]
fn the_pace_is_that_of_the_mean_latency_where_it_was_measured() {
    let catalog = Catalog::builtin();
    let mut measured = knobs(50_000, "claude-sonnet-4-5");
    measured.latency = Latency { p50: Figure::given(1.5), p95: 3.0, mean: None };
    let by_percentiles = Plan::of(&measured, &catalog).sync.wall_s;
    // The mean of this very distribution, behind a median that is off by a third.
    measured.latency = Latency { p50: Figure::given(2.0), p95: 4.0, mean: Some(Figure::given(1.639)) };
    let by_mean = Plan::of(&measured, &catalog).sync.wall_s;
    assert!((by_mean / by_percentiles - 1.0).abs() < 0.01, "{by_mean} against {by_percentiles}");
}

/// Draws of a normal distribution, two by two (Box and Muller).
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

#[test]
fn a_plan_after_an_unlucky_pilot_of_the_usual_size_is_within_fifteen_percent() {
    let catalog = Catalog::builtin();
    let (p50, ratio) = (1.5_f64, 3.5_f64 / 1.5);
    let sigma = ratio.ln() / 1.644_853_6;
    let mut planned = knobs(141_600, "claude-sonnet-4-5");
    planned.latency = Latency { p50: Figure::given(p50), p95: p50 * ratio, mean: None };
    let truth = Plan::of(&planned, &catalog).sync.wall_s;
    let mut rng = fastrand::Rng::with_seed(7);
    let mut off: Vec<f64> = (0..300)
        .map(|_| {
            let mut draws: Vec<f64> = (0..100).map(|_| p50 * (sigma * normal(&mut rng)).exp()).collect();
            draws.sort_by(f64::total_cmp);
            let mean = draws.iter().sum::<f64>() / 100.0;
            planned.latency =
                Latency { p50: Figure::given(draws[50]), p95: draws[95], mean: Some(Figure::given(mean)) };
            (Plan::of(&planned, &catalog).sync.wall_s / truth - 1.0).abs()
        })
        .collect();
    off.sort_by(f64::total_cmp);
    // All but the unluckiest of a hundred.
    assert!(off[296] < 0.15, "{} and at the worst {}", off[296], off[299]);
}

#[test]
fn a_deadline_that_cannot_be_kept_names_the_nearest_plan_that_can() {
    let catalog = Catalog::builtin();
    let mut knobs = knobs(100_000, "claude-sonnet-4-5");
    knobs.deadline = Some(std::time::Duration::from_secs(300));
    let view = Plan::of(&knobs, &catalog).deadline.unwrap();
    let procs = view.procs_needed.unwrap();
    assert!(!view.is_kept && procs > 1, "{view:?}");
    assert!(view.words.contains(&format!("{procs} procs")), "{}", view.words);
    knobs.dispatch.procs = procs;
    assert!(Plan::of(&knobs, &catalog).deadline.unwrap().is_kept);
    knobs.dispatch.procs = procs - 1;
    assert!(!Plan::of(&knobs, &catalog).deadline.unwrap().is_kept);
    knobs.deadline = Some(std::time::Duration::from_secs(2));
    let view = Plan::of(&knobs, &catalog).deadline.unwrap();
    assert_eq!(view.procs_needed, None);
    assert!(view.words.contains("of the 100,000 can be done"), "{}", view.words);
}

#[test]
fn more_requests_and_fewer_lanes_never_take_less() {
    let catalog = Catalog::builtin();
    let mut before = 0.0;
    for n in (0..60).map(|step| 10_f64.powf(f64::from(step) / 10.0) as u64) {
        let wall = Plan::of(&knobs(n, "claude-sonnet-4-5"), &catalog).sync.wall_s;
        assert!(wall >= before - 0.5, "{n}: {wall} after {before}");
        before = wall;
    }
    let mut two = knobs(50_000, "claude-sonnet-4-5");
    let one = Plan::of(&two, &catalog).sync.wall_s;
    two.dispatch.procs = 2;
    assert!(Plan::of(&two, &catalog).sync.wall_s < one);
}

#[test]
fn nothing_to_send_takes_no_time_and_no_money() {
    let mut knobs = knobs(500, "claude-sonnet-4-5");
    knobs.n_cached = 500;
    knobs.policy.cost_pref = CostPref::Cost;
    let plan = Plan::of(&knobs, &Catalog::builtin());
    assert_eq!((plan.n_to_send, plan.route), (0, Route::Sync));
    assert!(plan.sync.wall_s.abs() < 1e-9);
    assert_eq!(plan.sync.cost_usd, Some(crate::model::Money::ZERO));
}
