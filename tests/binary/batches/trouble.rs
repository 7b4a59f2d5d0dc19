//! What goes wrong while sub-batches are at the API.

use super::*;
use crate::support::finished;

fn faulty(fault: &str) -> [String; 3] {
    let fault = format!("[[orgs.faults]]\n{fault}\n");
    [fault.clone(), fault.clone(), fault]
}

/// A run under faults of every org that have no effect on what comes of it.
#[track_caller]
fn bears(fault: &str) -> (Server, Place) {
    let faults = faulty(fault);
    let server = server([&faults[0], &faults[1], &faults[2]]);
    let place = place(&server, 3_600.0);
    check_books(&server, &place, &start(&place).end());
    (server, place)
}

#[test]
fn b17_polls_that_fail_are_tolerated() {
    bears("kind = \"server-error\"\non = \"batch-retrieve\"\nto-call = 2");
}

#[test]
fn b17_polls_that_are_answered_by_a_page_of_html_are_tolerated() {
    bears("kind = \"html\"\nstatus = 200\non = \"batch-retrieve\"\nto-call = 2");
}

#[test]
fn b20_a_download_that_breaks_off_is_begun_anew_and_nothing_is_paid_or_kept_twice() {
    let (_, place) = bears("kind = \"cut-body\"\non = \"batch-results\"\nto-call = 1");
    assert!(events(&place).contains("download-broke"));
}

#[test]
fn l10_a_key_that_is_revoked_midway_leaves_its_sub_batches_resumable_and_the_others_finish() {
    // After the first calls of `batch` its key is not taken any more, neither for polls nor for results.
    let revoked =
        "[[orgs.faults]]\nkind = \"unauthorized\"\non = [\"batch-retrieve\", \"batch-results\"]\nto-call = 3\n";
    let server = server(["", revoked, ""]);
    let place = place(&server, 3_600.0);
    let ended = start(&place).end();
    let line = finished(&ended);
    assert_eq!(ended.code, 4, "{line}\n{}", ended.stderr);
    assert_eq!(ended.stdout.matches("batch: parked").count(), 1, "{}", ended.stdout);
    let waiting: Vec<Value> = sub_batches(&place).into_iter().filter(|sub| sub["status"] != "harvested").collect();
    assert!(!waiting.is_empty() && waiting.iter().all(|sub| sub["org"] == "batch"), "{waiting:?}");
    assert_eq!(line["n_unsent"], 25 * waiting.len(), "{line}");
    // Each resume asks once; the fourth call finds the key taken again.
    let mut last = resume(&place);
    while last.code == 4 {
        last = resume(&place);
    }
    check_books(&server, &place, &last);
}

#[test]
fn b9_a_cancel_that_comes_too_late_harvests_everything_and_sends_nothing_again() {
    // Its cancel never has an effect, and it ends by itself.
    let late = format!("{LONG_ONCE}[[orgs.batch-faults]]\nkind = \"cancel-wedged\"\nto-batch = 1\n");
    let server = server([&late, "", ""]);
    let place = place(&server, 1.5);
    let running = start(&place);
    wait_for("its cancel to be taken", || has(&place, "canceling"));
    later(&server);
    let line = check_books(&server, &place, &running.end());
    assert_eq!(line["sub_batches"]["stuck_canceled"], 1, "{line}");
    assert!(events(&place).contains("The cancel came too late: nothing is sent again, which saved $"));
    assert_eq!(server.stats().org("high-prio").unwrap().batches.rows.canceled, 0);
}

#[test]
fn cancels_that_fail_are_looked_at_and_sent_again() {
    let faults = [
        "kind = \"server-error\"\nto-call = 2",
        "kind = \"invalid\"\nto-call = 1",
        "kind = \"reset-after\"\nto-call = 1",
    ];
    under_each(&faults, |fault| {
        let fault = format!("{WEDGED_ONCE}[[orgs.faults]]\n{fault}\non = \"batch-cancel\"\n");
        let server = server([&fault, "", ""]);
        let place = place(&server, 3.0);
        let line = check_books(&server, &place, &start(&place).end());
        assert!(line["sub_batches"]["stuck_canceled"].as_u64().unwrap() >= 1, "{line}");
    });
}

#[test]
fn a_cancel_made_elsewhere_is_left_by_an_unattended_run_which_says_so() {
    let server = server([WEDGED_ONCE, "", ""]);
    let place = place(&server, 3_600.0);
    let running = start(&place);
    let theirs = wedged(&place);
    server.cancel(theirs["batch_id"].as_str().unwrap(), KEYS[0].2);
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!(ended.code, 4, "{line}");
    assert!(ended.stdout.contains("canceled by somebody else, not by this run"), "{}", ended.stdout);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
    assert_eq!(resume(&place).code, 4, "a plain resume sends nothing of it");
    let dir = place.text("run");
    let again = place.run(&[&["resume", &dir, "--re-drive", "--yes"][..], &OPTIONS, &SPLIT].concat());
    check_books(&server, &place, &again);
}
