//! Batches that something goes wrong with.

use super::*;

#[test]
fn a_wedged_batch_shows_nothing_expires_after_a_day_and_its_rows_with_it() {
    let mut sim = ten_minutes("[[orgs.batch-faults]]\nkind = \"wedged\"\nat = 0.4\nfrom-batch = 2\nto-batch = 2");
    let (first, second) = (create(&mut sim, SECOND, 10), create(&mut sim, SECOND, 10));
    let later = SECOND * 36_000;
    assert_eq!(get(&mut sim, later, &first)["processing_status"], "ended");
    let wedged = get(&mut sim, later, &second);
    assert_eq!(
        (&wedged["processing_status"], &wedged["request_counts"]["processing"]),
        (&json!("in_progress"), &json!(10))
    );
    let true_view = &sim.batches(later)[1];
    assert_eq!((true_view.counts.processing, true_view.counts.succeeded), (6, 4));
    assert_eq!(true_view.faults, ["wedged"]);
    let expired = get(&mut sim, DAY + SECOND, &second);
    assert_eq!(
        (&expired["request_counts"]["succeeded"], &expired["request_counts"]["expired"]),
        (&json!(4), &json!(6))
    );
}

#[test]
fn a_wedged_batch_can_be_cancelled_unless_its_cancel_is_wedged_too() {
    let wedged = "[[orgs.batch-faults]]\nkind = \"wedged\"\nat = 0.4\n";
    let mut sim = ten_minutes(wedged);
    let batch = create(&mut sim, SECOND, 10);
    cancel(&mut sim, SECOND * 14_400, &batch);
    let ended = get(&mut sim, SECOND * 14_431, &batch);
    assert_eq!((&ended["request_counts"]["succeeded"], &ended["request_counts"]["canceled"]), (&json!(4), &json!(6)));

    let mut sim = ten_minutes(&format!("{wedged}[[orgs.batch-faults]]\nkind = \"cancel-wedged\"\n"));
    let batch = create(&mut sim, SECOND, 10);
    cancel(&mut sim, SECOND * 14_400, &batch);
    assert_eq!(get(&mut sim, SECOND * 80_000, &batch)["processing_status"], "canceling");
    assert_eq!(get(&mut sim, DAY + SECOND, &batch)["request_counts"]["expired"], 6);
}

#[test]
fn b9_a_slow_cancel_is_overtaken_by_the_end() {
    let mut sim = ten_minutes("[[orgs.batch-faults]]\nkind = \"cancel-slow\"\ntakes-s = 3600");
    let batch = create(&mut sim, SECOND, 10);
    cancel(&mut sim, SECOND * 300, &batch);
    let ended = get(&mut sim, SECOND * 602, &batch);
    assert_eq!((&ended["processing_status"], &ended["request_counts"]["succeeded"]), (&json!("ended"), &json!(10)));
    assert!(!ended["cancel_initiated_at"].is_null());
}

#[test]
fn b3_a_batch_can_be_unknown_for_a_while_and_is_listed_all_the_same() {
    let mut sim = ten_minutes("[[orgs.batch-faults]]\nkind = \"not-found\"\nafter-s = 5\nfor-s = 20");
    let batch = create(&mut sim, SECOND, 1);
    let mut status = |at: u64| call_at(&mut sim, SECOND * u32::try_from(at).unwrap(), &Method::GET, &path(&batch), b"");
    assert_eq!(status(2).status, 200);
    let missing = status(10);
    assert_eq!(error_of(&missing).0, 404);
    assert_eq!(missing.headers["x-should-retry"], "false");
    assert_eq!(status(27).status, 200);
    let listed = parsed(&call_at(&mut sim, SECOND * 28, &Method::GET, BATCHES, b""));
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

#[test]
fn b8_a_status_that_no_document_names_can_be_shown() {
    let mut sim = ten_minutes("[[orgs.batch-faults]]\nkind = \"unknown-status\"\nfor-s = 60");
    let batch = create(&mut sim, SECOND, 1);
    assert_eq!(get(&mut sim, SECOND * 30, &batch)["processing_status"], "finalizing");
    assert_eq!(get(&mut sim, SECOND * 90, &batch)["processing_status"], "in_progress");
}

#[test]
fn b6_b7_b19_rows_fail_and_expire_and_params_that_are_wrong_come_out_at_the_end() {
    let mut sim = ten_minutes(
        "[[orgs.batch-faults]]\nkind = \"row-errored\"\nrows = 0.2\nerror = \"low-credit\"\n\
         [[orgs.batch-faults]]\nkind = \"row-expired\"\nrows = 0.2\n",
    );
    let batch = create(&mut sim, SECOND, 400);
    let ended = get(&mut sim, SECOND * 700, &batch);
    let count = |kind: &str| usize::try_from(ended["request_counts"][kind].as_u64().unwrap()).unwrap();
    assert!((50..110).contains(&count("errored")) && (40..100).contains(&count("expired")), "{ended}");
    let results = download(&mut sim, SECOND * 700, &batch);
    let by_kind = kinds(&results);
    assert_eq!(
        (by_kind["errored"], by_kind["expired"], by_kind["succeeded"]),
        (count("errored"), count("expired"), count("succeeded"))
    );
    assert!(results.contains("Your credit balance is too low"));
    assert_eq!(sim.stats(SECOND * 700).bodies_accepted, count("succeeded") as u64);

    let mut sim = ten_minutes("");
    let wrong = json!({"requests": [{"custom_id": "a", "params": {"model": "claude-9", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}}]});
    let batch = parsed(&call_at(&mut sim, SECOND, &Method::POST, BATCHES, wrong.to_string().as_bytes()));
    let line: Value = serde_json::from_str(&download(&mut sim, SECOND * 700, &batch)).unwrap();
    assert_eq!(line["result"]["error"]["error"]["type"], "not_found_error");
    assert_eq!(line["result"]["error"]["error"]["message"], "model: claude-9");
    assert_eq!(sim.stats(SECOND * 700).cost_micro_usd, 0);
}

#[test]
fn lines_go_missing_come_twice_come_from_nowhere_and_are_cut() {
    for (kind, check) in [
        (
            "line-missing",
            (|lines: usize, strange: usize, broken: usize| lines < 100 && strange == 0 && broken == 0)
                as fn(usize, usize, usize) -> bool,
        ),
        ("line-duplicate", |lines, strange, broken| lines > 100 && strange == 0 && broken == 0),
        ("line-alien", |lines, strange, broken| lines == 100 + strange && strange > 0 && broken == 0),
        ("line-cut", |lines, strange, broken| lines == 100 && strange == 0 && broken > 0),
    ] {
        let mut sim = ten_minutes(&format!("[[orgs.batch-faults]]\nkind = \"{kind}\"\nrows = 0.2"));
        let batch = create(&mut sim, SECOND, 100);
        assert_eq!(get(&mut sim, SECOND * 700, &batch)["request_counts"]["succeeded"], 100, "{kind}");
        let results = download(&mut sim, SECOND * 700, &batch);
        let parsed: Vec<Option<Value>> = results.lines().map(|line| serde_json::from_str(line).ok()).collect();
        let strange =
            parsed.iter().flatten().filter(|line| line["custom_id"].as_str().unwrap().starts_with("alien")).count();
        let broken = parsed.iter().filter(|line| line.is_none()).count();
        assert!(check(parsed.len(), strange, broken), "{kind}: {} {strange} {broken}", parsed.len());
    }
}

#[test]
fn b4_the_answer_to_a_create_can_be_lost_although_the_batch_exists() {
    for (fault, lost) in [("kind = \"reset-after\"", true), ("kind = \"server-error\"\nprocessed = true", false)] {
        let mut sim = ten_minutes(&format!("[[orgs.faults]]\n{fault}\non = \"batch-create\""));
        let request = SimRequest { method: &Method::POST, target: BATCHES, headers: &head("ka"), body: &n_rows(3) };
        let fate = sim.arrive(SECOND, &request);
        assert_eq!(matches!(fate.ending, Ending::Reset { billed: true, .. }), lost, "{fault}");
        if lost {
            sim.gone(SECOND, fate.ticket);
        } else {
            assert_eq!(error_of(&answered(&mut sim, SECOND, fate)).0, 500);
        }
        let listed = parsed(&call_at(&mut sim, SECOND * 2, &Method::GET, BATCHES, b""));
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{fault}");
    }
}

#[test]
fn b17_polls_fail_without_touching_the_batch() {
    let mut sim = ten_minutes("[[orgs.faults]]\nkind = \"server-error\"\non = \"batch-retrieve\"\nto-call = 2");
    let batch = create(&mut sim, SECOND, 1);
    let statuses =
        [1, 2, 3].map(|at| call_at(&mut sim, SECOND * (1 + at), &Method::GET, &path(&batch), b"").status.as_u16());
    assert_eq!(statuses, [500, 500, 200]);
}

#[test]
fn a_revoked_key_is_refused_at_every_endpoint() {
    let mut sim = ten_minutes("[[orgs.faults]]\nkind = \"unauthorized\"\nfrom-call = 3");
    let batch = create(&mut sim, SECOND, 1);
    assert_eq!(ask(&mut sim, SECOND, "x").status, 200);
    assert_eq!(call_at(&mut sim, SECOND, &Method::GET, &path(&batch), b"").status, 401);
    assert_eq!(call_at(&mut sim, SECOND, &Method::POST, BATCHES, &n_rows(1)).status, 401);
    assert_eq!(ask(&mut sim, SECOND, "x").status, 401);
}

#[test]
fn money_that_is_spent_is_spent_for_messages_and_batches() {
    let mut sim = ten_minutes("spend-limit-usd = 0.0005");
    while ask(&mut sim, SECOND, "x").status == 200 {}
    let refused = ask(&mut sim, SECOND, "y");
    assert_eq!(error_of(&refused).2.as_deref(), Some("enforced_spend_limit_reached"));
    assert!(!refused.headers.contains_key("retry-after"));
    assert_eq!(error_of(&call_at(&mut sim, SECOND, &Method::POST, BATCHES, &n_rows(1))).0, 429);
    let spent = sim.stats(SECOND).cost_micro_usd;
    assert!((500..1_500).contains(&spent), "{spent}");
}
