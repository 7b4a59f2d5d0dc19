//! Runs that are killed at every edge of the life of a sub-batch, and go on. The faults hold a sub-batch where it is to be
//! killed, so that the kill comes there and nowhere else.

use super::*;
use crate::support::finished;

/// Seconds after which a sub-batch is stuck, where one is to be canceled.
const STUCK_S: f64 = 3.0;

/// Kills a run when `there` sees what it waits for, and goes on with it. What holds a sub-batch there is over then.
#[track_caller]
fn killed_when<T>(orgs: [&str; 3], stuck_s: f64, what: &str, mut there: impl FnMut(&Server, &Place) -> Option<T>) {
    let server = server(orgs);
    let mut place = place(&server, stuck_s);
    let running = start(&place);
    wait_for(what, || there(&server, &place));
    assert_eq!(running.kill().code, 137);
    later(&server);
    place.set("EPS_BATCH_STUCK_HOURS", &(STUCK_S / 3_600.0).to_string());
    check_books(&server, &place, &resume(&place));
}

/// How often an endpoint was called, by all orgs.
fn calls(server: &Server, endpoint: &str) -> u64 {
    let stats = serde_json::to_value(server.stats()).unwrap();
    let orgs = stats["orgs"].as_array().unwrap();
    orgs.iter().map(|org| org["calls"][endpoint].as_u64().unwrap_or(0)).sum()
}

/// The same, when the state says that a sub-batch is there; nothing is canceled before.
#[track_caller]
fn killed_at(orgs: [&str; 3], status: &str) {
    killed_when(orgs, 3_600.0, status, |_, place| has(place, status));
}

/// An endpoint fails until [`later`].
fn failing(endpoint: &str) -> String {
    format!("[[orgs.faults]]\nkind = \"server-error\"\non = \"{endpoint}\"\nto-s = {LATER_S}\n")
}

/// The first call to an endpoint takes minutes; its work is done when it arrives.
fn slow(endpoint: &str) -> String {
    format!("[[orgs.faults]]\nkind = \"slow\"\nfactor = 10000\non = \"{endpoint}\"\nto-call = 1\n")
}

#[test]
fn b11_a_run_that_is_killed_before_any_intent_plans_anew() {
    // The pilot is what it waits for.
    let pilots = format!("[[orgs.faults]]\nkind = \"hang\"\non = \"messages\"\nto-s = {LATER_S}\n");
    killed_when([&pilots; 3], 3_600.0, "the pilot", |server, place| {
        assert!(sub_batches(place).is_empty());
        (server.stats().n_messages > 0).then_some(())
    });
}

#[test]
fn b11_a_run_that_is_killed_after_the_intent_of_a_create_that_never_arrived_creates_it_once() {
    let lost = "[[orgs.faults]]\nkind = \"hang\"\non = \"batch-create\"\nto-call = 1\n";
    killed_when([lost; 3], 3_600.0, "a create that hangs", |server, place| {
        let intents = sub_batches(place).iter().filter(|sub| sub["status"] == "creating").count();
        (calls(server, "batch-create") == 3 && intents == 3).then_some(())
    });
}

#[test]
fn b5_b11_a_run_that_is_killed_between_a_create_and_its_answer_adopts_what_was_created() {
    let slow = slow("batch-create");
    killed_when([&slow; 3], 3_600.0, "three batches without an answer", |server, place| {
        (created(server) == 3 && sub_batches(place).iter().all(|sub| sub["status"] == "creating")).then_some(())
    });
}

#[test]
fn b11_a_run_that_is_killed_while_it_looks_for_a_lost_create_looks_on() {
    let lost = "[[orgs.faults]]\nkind = \"reset-after\"\non = \"batch-create\"\nto-call = 1\n";
    let lost = format!("{lost}{}", failing("batch-list"));
    killed_at([&lost; 3], "adrift");
}

#[test]
fn b11_a_run_that_is_killed_while_sub_batches_are_in_progress_goes_on_with_them() {
    killed_at([WEDGED_ONCE, "", ""], "in-progress");
}

#[test]
fn b11_a_run_that_is_killed_after_the_intent_to_cancel_cancels_again() {
    let lost = format!("{WEDGED_ONCE}[[orgs.faults]]\nkind = \"hang\"\non = \"batch-cancel\"\nto-call = 1\n");
    killed_when([&lost, "", ""], STUCK_S, "a cancel that hangs", |server, place| {
        (calls(server, "batch-cancel") == 1 && has(place, "cancel-requested").is_some()).then_some(())
    });
}

#[test]
fn b11_a_run_that_is_killed_between_a_cancel_and_its_answer_cancels_again_without_harm() {
    let slow = format!("{WEDGED_ONCE}{}", slow("batch-cancel"));
    killed_when([&slow, "", ""], STUCK_S, "a cancel without an answer", |server, place| {
        let taken = server.stats().org("high-prio").is_some_and(|org| org.batches.n_canceled > 0);
        (taken && has(place, "cancel-requested").is_some()).then_some(())
    });
}

#[test]
fn b11_a_run_that_is_killed_while_a_sub_batch_is_canceling_waits_for_its_end() {
    let slow = "[[orgs.batch-faults]]\nkind = \"cancel-slow\"\ntakes-s = 30000\nto-batch = 1\n";
    let wedged = format!("{WEDGED_ONCE}{slow}");
    killed_when([&wedged, "", ""], STUCK_S, "canceling", |_, place| has(place, "canceling"));
}

#[test]
fn b11_a_run_that_is_killed_when_a_sub_batch_has_ended_harvests_it_first() {
    let late = failing("batch-results");
    killed_at([&late; 3], "ended");
}

#[test]
fn b11_a_run_that_is_killed_while_it_harvests_harvests_again_and_pays_nothing_again() {
    let slow = slow("batch-results");
    killed_at([&slow; 3], "harvesting");
}

#[test]
fn b11_a_run_that_is_killed_after_a_harvest_goes_on_with_the_others() {
    killed_at([WEDGED_ONCE, "", ""], "harvested");
}

#[test]
fn b11_results_that_were_archived_while_nobody_looked_are_left_to_the_operator_over_every_kill() {
    let server = server([LONG_ONCE; 3]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    three_in_progress(&place);
    running.kill();
    server.skip(Duration::from_secs(30 * 86_400));
    let ended = resume(&place);
    let line = finished(&ended);
    assert_eq!(ended.code, 4, "{line}");
    assert!(events(&place).contains("archived"));
    let archived = 3 * 25;
    assert_eq!(
        (&line["n_succeeded"], server.stats().bodies_accepted_twice),
        (&(REQUESTS as u64 - archived).into(), 0),
        "{line}"
    );
    // A plain resume sends nothing of it: it may have been paid, and it was.
    assert_eq!(resume(&place).code, 4);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
    let dir = place.text("run");
    let again = place.run(&[&["resume", &dir, "--re-drive", "--yes"][..], &OPTIONS, &SPLIT].concat());
    assert_eq!(finished(&again)["n_succeeded"], REQUESTS, "{}", again.stderr);
    assert_eq!(server.stats().bodies_accepted_twice, archived);
}
