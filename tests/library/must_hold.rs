//! The promises of the dispatcher in bad weather, each with its floor, in virtual time.

use super::weather::figures::all;

/// The load that is promised for; a debug build is slow, and the benchmark shows the same figures at all of it.
const PROMISED: f64 = if cfg!(debug_assertions) { 0.5 } else { 1.0 };

fn holds(ix: usize) {
    holds_at(ix, PROMISED);
}

fn holds_at(ix: usize, load: f64) {
    let experiment = &all()[ix];
    let broken: Vec<String> = (experiment.run)(load)
        .iter()
        .filter(|figure| !figure.holds())
        .map(|figure| format!("{}: {:.4}, must be {:?}", figure.what, figure.is, figure.must))
        .collect();
    assert!(broken.is_empty(), "{}:\n{}", experiment.what, broken.join("\n"));
}

#[test]
fn a_request_limit_is_used_and_hardly_ever_met() {
    holds(0);
}

#[test]
fn an_output_token_limit_is_used_and_hardly_ever_met() {
    holds(1);
}

#[test]
fn l12_a_colleague_is_not_pushed_into_429s_and_what_is_left_is_used() {
    holds(2);
}

#[test]
fn two_dispatchers_on_one_key_come_to_equal_shares() {
    holds(3);
}

#[test]
fn l1_a_storm_of_five_minutes_is_not_amplified_and_loses_nothing() {
    holds(4);
}

#[test]
fn an_org_that_fails_half_of_its_calls_gets_little_work() {
    holds(5);
}

#[test]
fn three_more_runs_exceed_no_cap_and_starve_nobody() {
    holds(6);
}

#[test]
fn limits_of_other_kinds_and_an_api_without_headers_are_used_as_well() {
    (8..all().len()).for_each(|ix| holds_at(ix, 0.25));
}

#[test]
fn l8_l9_an_org_dies_and_the_rest_finish_all_die_and_the_run_stops_resumable() {
    holds(7);
}
