//! The recipe table, row by row, with the ceiling of the client that it was made for as the parameter.

use super::*;
use crate::catalog::Catalog;
use crate::model::Family;

/// Requests a minute per process and key that the table was made with.
const PYTHON: ClientCeiling = ClientCeiling::PerLane(1_500.0);

const SONNET: &str = "claude-sonnet-4-5";
const HAIKU: &str = "claude-haiku-4-5";
const OPUS: &str = "claude-opus-4-8";

/// Limits as measured: requests, input and output tokens a minute of each org; zero is one that nobody knows.
fn limits(family: Family) -> [(f64, f64, f64); 3] {
    match family {
        Family::Sonnet => [(30e3, 10e6, 1.0e6), (90e3, 8e6, 0.8e6), (30e3, 15e6, 1.2e6)],
        Family::Haiku => [(30e3, 0.0, 1.2e6), (4e3, 8e6, 0.8e6), (30e3, 24e6, 2.4e6)],
        _ => [(150e3, 60e6, 10e6), (4e3, 10e6, 2e6), (150e3, 120e6, 12e6)],
    }
}

fn knobs(model: &str, recipe: &recipe::Recipe, procs: u32) -> Knobs {
    let family = Family::of_model(model);
    let figure = |limit: f64| (limit > 0.0).then(|| Figure::given(limit));
    let orgs =
        limits(family).into_iter().take(recipe.orgs).enumerate().map(|(no, (requests, input, output))| OrgKnobs {
            label: format!("org-{no}"),
            cap: recipe.cap,
            limits: Limits { requests: figure(requests), input_tokens: figure(input), output_tokens: figure(output) },
        });
    let mut knobs = Knobs::assumed(recipe.n, model, orgs.collect(), &Catalog::builtin());
    knobs.dispatch.procs = procs;
    knobs.client = PYTHON;
    if model == SONNET {
        // As the row of a million says: about 250 output tokens a call.
        knobs.tokens.output = Figure::given(250.0);
    }
    knobs
}

fn wall(knobs: &Knobs) -> f64 {
    Plan::of(knobs, &Catalog::builtin()).sync.wall_s
}

/// A row that the model does not reproduce, why, and what reproduces it.
struct Exception {
    model: &'static str,
    n: u64,
    why: &'static str,
    with: fn(&mut Knobs),
}

const ALL_AT_ONCE: &str =
    "the table sends all at once; fandeck sends an org four calls until it has answered, and then grows";
const FASTER_LANE: &str =
    "the row implies more than 1,500/min a lane: 3,070 were measured for a process alone on a key";

const EXCEPTIONS: [Exception; 9] = [
    Exception { model: SONNET, n: 10, why: ALL_AT_ONCE, with: |knobs| knobs.dispatch.floor = 10 },
    Exception {
        model: SONNET,
        n: 10_000,
        why: "six lanes of 1,500 are 9,000/min, 67 s; the row's 90 to 120 s are the 1,030/min a lane that the run over \
              three orgs came to (3,089/min)",
        with: |knobs| knobs.client = ClientCeiling::PerLane(1_030.0),
    },
    Exception { model: HAIKU, n: 100, why: FASTER_LANE, with: |knobs| knobs.client = ClientCeiling::PerLane(3_070.0) },
    Exception {
        model: HAIKU,
        n: 1_000,
        why: "10 to 15 s are 1,333 to 2,000/min a lane before the first and the last answers, which the table leaves out",
        with: |knobs| knobs.client = ClientCeiling::PerLane(1_800.0),
    },
    Exception {
        model: HAIKU,
        n: 100_000,
        why: FASTER_LANE,
        with: |knobs| knobs.client = ClientCeiling::PerLane(3_070.0),
    },
    Exception { model: OPUS, n: 10, why: ALL_AT_ONCE, with: |knobs| knobs.dispatch.floor = 10 },
    Exception {
        model: OPUS,
        n: 100,
        why: "the table sends all at once and counts rounds at the median; the last of forty answers takes twice that",
        with: |knobs| {
            knobs.dispatch.floor = 40;
            knobs.latency.p95 = knobs.latency.p50.mid;
        },
    },
    Exception {
        model: OPUS,
        n: 10_000,
        why: "240 slots over 300 to 600 s are 7 to 14 s a call, not the 3 to 4 s of the table: a process that carried more \
              slots slowed down (p50 of 17 s at 800)",
        with: |knobs| slower(knobs, 8.0),
    },
    Exception {
        model: OPUS,
        n: 100_000,
        why: "480 slots over 45 to 90 min are 13 to 26 s a call; as for 10,000, and more so",
        with: |knobs| slower(knobs, 15.0),
    },
];

fn slower(knobs: &mut Knobs, p50: f64) {
    knobs.latency = Latency { p50: Figure::given(p50), p95: p50 * 2.0, mean: None };
}

fn rows() -> impl Iterator<Item = (&'static str, &'static recipe::Recipe, (f64, f64))> {
    [SONNET, HAIKU, OPUS]
        .into_iter()
        .flat_map(|model| recipe::of(Family::of_model(model)).iter().map(move |row| (model, row)))
        .filter_map(|(model, row)| Some((model, row, row.wall_s?)))
}

/// Wall-clocks with the fewest and with the most processes of the row.
fn walls(model: &str, row: &recipe::Recipe, with: fn(&mut Knobs)) -> [f64; 2] {
    [row.procs.0, row.procs.1].map(|procs| {
        let mut knobs = knobs(model, row, procs);
        with(&mut knobs);
        wall(&knobs)
    })
}

#[test]
fn the_recipe_table_is_reproduced_but_for_the_exceptions_that_are_named() {
    for (model, row, (low, high)) in rows() {
        let within = |walls: [f64; 2]| walls.iter().any(|wall| (low..=high).contains(wall));
        let plain = walls(model, row, |_| {});
        match EXCEPTIONS.iter().find(|exception| exception.model == model && exception.n == row.n) {
            None => assert!(within(plain), "{model}, {}: {plain:?} is not within {low} to {high} s", row.n),
            Some(exception) => {
                assert!(!within(plain), "{model}, {}: no exception any more ({}): {plain:?}", row.n, exception.why);
                let explained = walls(model, row, exception.with);
                let why = exception.why;
                assert!(within(explained), "{model}, {}: {explained:?} within {low} to {high} s: {why}", row.n);
            }
        }
    }
}

#[test]
fn a_million_are_bound_by_output_tokens_and_a_thousand_by_the_client_as_the_table_says() {
    let binding = |model: &'static str, n: u64| {
        let row = recipe::of(Family::of_model(model)).iter().find(|row| row.n == n).unwrap();
        Plan::of(&knobs(model, row, row.procs.1), &Catalog::builtin()).sync.binding
    };
    assert_eq!(binding(SONNET, 1_000_000), Binding::OutputTokens);
    assert_eq!(binding(HAIKU, 1_000_000), Binding::OutputTokens);
    assert_eq!(binding(SONNET, 1_000), Binding::Client);
    assert_eq!(binding(SONNET, 10_000), Binding::Client);
    assert_eq!(binding(SONNET, 10), Binding::Latency);
}
