//! What a results file may hold, and what becomes of each row.

use super::*;
use crate::support::finished;

/// A run whose batches have this fault.
fn with_rows(fault: &str) -> (Server, Place, Ended) {
    let server = server([&format!("[[orgs.batch-faults]]\n{fault}\n"); 3]);
    let place = place(&server, 3_600.0);
    let ended = start(&place).end();
    (server, place, ended)
}

#[test]
fn b6_expired_rows_are_sent_again_and_told_apart_from_errored_ones() {
    let (server, place, ended) = with_rows("kind = \"row-expired\"\nrows = 0.4");
    let line = check_books(&server, &place, &ended);
    let expired: u64 = sub_batches(&place).iter().map(|sub| sub["tally"]["n_expired"].as_u64().unwrap()).sum();
    assert!(expired > 0, "{line}");
    assert_eq!(line["re_driven"]["expired"], expired, "{line}");
    assert_eq!(line["re_driven"]["server-error"], Value::Null, "{line}");
}

#[test]
fn b7_rows_that_failed_for_credit_park_their_org_and_go_to_the_others() {
    let poor = "[[orgs.batch-faults]]\nkind = \"row-errored\"\nrows = 0.5\nerror = \"low-credit\"\n";
    let server = server([poor, "", ""]);
    let place = place(&server, 3_600.0);
    let ended = start(&place).end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &REQUESTS.into()), "{line}");
    assert!(ended.stdout.contains("high-prio: parked"), "{}", ended.stdout);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
}

#[test]
fn b8_a_status_that_no_document_names_is_shown_raw_and_polled_on() {
    let unknown = format!("[[orgs.batch-faults]]\nkind = \"unknown-status\"\nfor-s = {LATER_S}\nto-batch = 1\n");
    let server = server([&unknown; 3]);
    let place = place(&server, 3_600.0);
    let mut running = start(&place);
    let told = running.line("an unknown status", |line| line.contains("unknown-status"));
    assert!(told.contains("finalizing"), "{told}");
    wait_for("every org to be asked", || server.stats().orgs.iter().all(|org| org.batches.n_polls > 0).then_some(()));
    later(&server);
    check_books(&server, &place, &running.end());
    assert!(events(&place).contains("unknown-status"));
}

#[test]
fn b10_b12_counts_stay_at_zero_until_the_end_and_rows_are_joined_by_id_whatever_their_order() {
    let (server, place, ended) = with_rows("kind = \"slow\"\nfactor = 1.5");
    check_books(&server, &place, &ended);
    // No line told of a progress that nobody can see.
    let told: Vec<&str> = ended.stdout.lines().filter(|line| line.contains("in-progress")).collect();
    assert!(told.iter().all(|line| !line.contains("\"processing\"")), "{told:?}");
    let export = place.export(&place.text("run"), &["--with-meta"]);
    for (no, line) in export.iter().enumerate() {
        assert_eq!((&line["custom_id"], &line["fandeck"]["no"]), (&format!("r-{no}").into(), &no.into()));
    }
}

#[test]
fn b19_rows_that_the_api_calls_invalid_are_kept_apart_listed_and_not_sent_again() {
    let (server, place, ended) = with_rows("kind = \"row-errored\"\nrows = 0.2\nerror = \"invalid\"");
    let line = finished(&ended);
    assert_eq!(ended.code, 3, "{line}");
    let n_invalid = line["n_invalid"].as_u64().unwrap();
    assert!(n_invalid > 0);
    assert_eq!(line["n_succeeded"], REQUESTS as u64 - n_invalid);
    let stats = server.stats();
    assert_eq!((stats.n_messages, stats.bodies_accepted_twice), (1, 0), "the pilot only");
    assert!(events(&place).contains("were called invalid"));
    let export = place.export(&place.text("run"), &[]);
    assert_eq!(export.iter().filter(|line| line["result"]["type"] == "errored").count() as u64, n_invalid);
}

#[test]
fn b20_cut_lines_are_named_by_their_offset_and_missing_ids_are_downloaded_again_and_then_sent_again() {
    under_each(&["kind = \"line-cut\"\nrows = 0.1", "kind = \"line-missing\"\nrows = 0.1"], |fault| {
        let (server, place, ended) = with_rows(fault);
        let line = finished(&ended);
        assert_eq!((ended.code, &line["n_succeeded"]), (0, &REQUESTS.into()), "{line}");
        let missing: u64 = sub_batches(&place).iter().map(|sub| sub["tally"]["n_missing"].as_u64().unwrap()).sum();
        assert!(missing > 0);
        // Only what had no result that could be read was sent again.
        assert_eq!(server.stats().bodies_accepted_twice, missing, "{line}");
        let downloads: u64 = server.stats().orgs.iter().map(|org| org.batches.n_downloads).sum();
        assert!(downloads > SUB_BATCHES, "{downloads}");
        let events = events(&place);
        assert_eq!(events.contains("the first at byte"), fault.contains("cut"), "{events}");
    });
}

#[test]
fn rows_that_come_twice_or_are_of_nobody_change_nothing() {
    under_each(&["kind = \"line-duplicate\"\nrows = 0.5", "kind = \"line-alien\"\nrows = 0.5"], |fault| {
        let (server, place, ended) = with_rows(fault);
        check_books(&server, &place, &ended);
        assert!(events(&place).contains("odd-rows"));
    });
}
