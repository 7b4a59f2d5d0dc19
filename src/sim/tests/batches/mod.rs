//! Batches, from their creation to their results.

use super::*;

mod faults;

const DAY: Duration = Duration::from_secs(24 * 3_600);
const BATCHES: &str = "/v1/messages/batches";

/// An org whose batches take ten minutes and whose cancels take half a minute, and what a test adds to it.
fn ten_minutes(more: &str) -> Sim {
    one_org(&format!("batches = {{ p50-s = 600, p95-s = 600, cancel-s = 30 }}\n{more}"))
}

fn call_at(sim: &mut Sim, now: Duration, method: &Method, target: &str, body: &[u8]) -> SimResponse {
    let fate = sim.arrive(now, &SimRequest { method, target, headers: &head("ka"), body });
    answered(sim, now, fate)
}

fn rows(texts: &[String]) -> Vec<u8> {
    let row = |(at, text): (usize, &String)| {
        let params: Value = serde_json::from_slice(&body(text)).unwrap();
        json!({"custom_id": format!("row-{at}"), "params": params})
    };
    let rows: Vec<Value> = texts.iter().enumerate().map(row).collect();
    json!({"requests": rows}).to_string().into_bytes()
}

fn n_rows(n: usize) -> Vec<u8> {
    rows(&(0..n).map(|at| format!("question {at}")).collect::<Vec<_>>())
}

/// Creates a batch of `n` rows; gives its object.
fn create(sim: &mut Sim, now: Duration, n: usize) -> Value {
    let response = call_at(sim, now, &Method::POST, BATCHES, &n_rows(n));
    assert_eq!(response.status, 200, "{}", parsed(&response));
    parsed(&response)
}

fn path(batch: &Value) -> String {
    format!("{BATCHES}/{}", batch["id"].as_str().unwrap())
}

fn get(sim: &mut Sim, now: Duration, batch: &Value) -> Value {
    parsed(&call_at(sim, now, &Method::GET, &path(batch), b""))
}

fn cancel(sim: &mut Sim, now: Duration, batch: &Value) -> SimResponse {
    call_at(sim, now, &Method::POST, &format!("{}/cancel", path(batch)), b"")
}

fn download(sim: &mut Sim, now: Duration, batch: &Value) -> String {
    let response = call_at(sim, now, &Method::GET, &format!("{}/results", path(batch)), b"");
    assert_eq!(response.headers["content-type"], "application/x-jsonl");
    String::from_utf8(response.whole().to_vec()).unwrap()
}

/// Results by what became of them.
fn kinds(results: &str) -> std::collections::BTreeMap<String, usize> {
    let mut kinds = std::collections::BTreeMap::new();
    for line in results.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        *kinds.entry(line["result"]["type"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    kinds
}

#[test]
fn a_batch_lives_as_documented_from_its_creation_to_its_results() {
    let mut sim = ten_minutes("");
    let batch = create(&mut sim, SECOND, 20);
    assert_eq!(batch["processing_status"], "in_progress");
    assert_eq!(batch["created_at"], "2025-01-29T12:42:58.000000+00:00");
    assert_eq!(batch["expires_at"], "2025-01-30T12:42:58.000000+00:00");
    for field in ["ended_at", "archived_at", "cancel_initiated_at", "results_url"] {
        assert!(batch[field].is_null(), "{field}");
    }
    let polled = call_at(&mut sim, SECOND * 300, &Method::GET, &path(&batch), b"");
    assert_eq!(polled.headers["retry-after"], "10");
    assert_eq!(parsed(&polled)["request_counts"]["processing"], 20, "nothing is counted before the end");
    let early = call_at(&mut sim, SECOND * 300, &Method::GET, &format!("{}/results", path(&batch)), b"");
    assert_eq!(error_of(&early).0, 404);
    assert!(parsed(&early)["error"]["message"].as_str().unwrap().ends_with("has no available results."));

    let ended = get(&mut sim, SECOND * 700, &batch);
    assert_eq!(ended["processing_status"], "ended");
    assert_eq!(ended["ended_at"], "2025-01-29T12:52:58.000000+00:00");
    assert_eq!(
        ended["request_counts"],
        json!({"processing": 0, "succeeded": 20, "errored": 0, "canceled": 0, "expired": 0})
    );
    assert_eq!(ended["results_url"], format!("{}/results", path(&batch)), "relative, as no host was named");

    let results = download(&mut sim, SECOND * 700, &batch);
    assert_eq!(results, download(&mut sim, SECOND * 900, &batch), "a second download is the same");
    let mut seen: Vec<String> = Vec::new();
    for line in results.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["custom_id"].as_str().unwrap();
        let at: usize = id.strip_prefix("row-").unwrap().parse().unwrap();
        let message = &line["result"]["message"];
        let params: Value = serde_json::from_slice(&body(&format!("question {at}"))).unwrap();
        let wanted = answer_for(params.to_string().as_bytes()).unwrap();
        assert_eq!(message["content"][0]["text"], wanted.text, "{id}");
        assert_eq!(message["usage"]["service_tier"], "batch");
        seen.push(id.to_owned());
    }
    assert!(!seen.is_sorted(), "in no order of theirs");
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

#[test]
fn the_url_of_the_results_points_at_the_host_that_was_asked() {
    let mut sim = ten_minutes("");
    let batch = create(&mut sim, SECOND, 1);
    let mut headers = head("ka");
    headers.insert("host", HeaderValue::from_static("127.0.0.1:8787"));
    let request = SimRequest { method: &Method::GET, target: &path(&batch), headers: &headers, body: b"" };
    let fate = sim.arrive(SECOND * 700, &request);
    let ended = parsed(&answered(&mut sim, SECOND * 700, fate));
    assert_eq!(ended["results_url"], format!("http://127.0.0.1:8787{}/results", path(&batch)));
}

#[test]
fn only_succeeded_rows_are_billed_and_at_half_the_price() {
    let texts: Vec<String> = (0..10).map(|at| format!("question {at}")).collect();
    let mut sync = one_org("");
    for text in &texts {
        ask(&mut sync, SECOND, text);
    }
    let mut batched = ten_minutes("");
    let batch = create(&mut batched, SECOND, 10);
    assert_eq!(batched.stats(SECOND * 300).cost_micro_usd, 0, "nothing is billed before the end");
    get(&mut batched, SECOND * 700, &batch);
    let (sync, batched) = (sync.stats(SECOND * 700), batched.stats(SECOND * 700));
    assert!(sync.cost_micro_usd > 1_000);
    assert!(
        batched.cost_micro_usd.abs_diff(sync.cost_micro_usd / 2) <= 1,
        "{} {}",
        batched.cost_micro_usd,
        sync.cost_micro_usd
    );
    assert_eq!((batched.bodies_accepted, batched.bodies_accepted_twice, batched.orgs[0].n_accepted), (10, 0, 10));
    assert_eq!(batched.orgs[0].cost_micro_usd, batched.cost_micro_usd);
}

#[test]
fn a_row_that_is_paid_on_both_paths_counts_as_accepted_twice() {
    let mut sim = ten_minutes("");
    create(&mut sim, SECOND, 3);
    // Params are written as the body is, so their bytes are the same on both paths.
    let params: Value = serde_json::from_slice(&body("question 1")).unwrap();
    let fate = send_as(&mut sim, SECOND, &head("ka"), params.to_string().as_bytes());
    answered(&mut sim, SECOND, fate);
    let stats = sim.stats(SECOND * 700);
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice, stats.bodies_seen_twice), (3, 1, 1));
}

#[test]
fn a_cancel_finishes_what_runs_and_frees_the_rest() {
    let mut sim = ten_minutes("");
    let batch = create(&mut sim, SECOND, 100);
    let canceling = parsed(&cancel(&mut sim, SECOND * 301, &batch));
    assert_eq!(canceling["processing_status"], "canceling");
    assert_eq!(canceling["cancel_initiated_at"], "2025-01-29T12:47:58.000000+00:00");
    let again = parsed(&cancel(&mut sim, SECOND * 310, &batch));
    assert_eq!(again["cancel_initiated_at"], canceling["cancel_initiated_at"]);
    let ended = get(&mut sim, SECOND * 332, &batch);
    assert_eq!(ended["processing_status"], "ended");
    let counts = &ended["request_counts"];
    assert_eq!((&counts["succeeded"], &counts["canceled"]), (&json!(55), &json!(45)));
    let results = kinds(&download(&mut sim, SECOND * 332, &batch));
    assert_eq!((results["succeeded"], results["canceled"]), (55, 45));
    assert_eq!(error_of(&cancel(&mut sim, SECOND * 340, &batch)).0, 400);
    assert_eq!(sim.stats(SECOND * 340).orgs[0].batches.n_canceled, 1);
}

#[test]
fn live_counts_follow_the_progress_and_always_sum_up() {
    let mut sim = one_org("batches = { p50-s = 600, p95-s = 600, counts = \"live\" }");
    let batch = create(&mut sim, SECOND, 100);
    for (at, succeeded) in [(1, 0), (301, 50), (601, 100)] {
        let counts = get(&mut sim, SECOND * at, &batch)["request_counts"].clone();
        assert_eq!(counts["succeeded"], succeeded);
        assert_eq!(counts["processing"], 100 - succeeded);
    }
}

#[test]
fn pages_list_the_newest_first_in_both_directions() {
    let mut sim = ten_minutes("");
    let mut ids: Vec<String> =
        (1..=5).map(|at| create(&mut sim, SECOND * at, 1)["id"].as_str().unwrap().to_owned()).collect();
    ids.reverse();
    let mut page = |query: &str| {
        let page = parsed(&call_at(&mut sim, SECOND * 9, &Method::GET, &format!("{BATCHES}{query}"), b""));
        let listed: Vec<String> =
            page["data"].as_array().unwrap().iter().map(|b| b["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(page["first_id"], json!(listed.first()));
        assert_eq!(page["last_id"], json!(listed.last()));
        (listed, page["has_more"] == true)
    };
    assert_eq!(page(""), (ids.clone(), false));
    assert_eq!(page("?limit=2"), (ids[..2].to_vec(), true));
    assert_eq!(page(&format!("?limit=2&after_id={}", ids[1])), (ids[2..4].to_vec(), true));
    assert_eq!(page(&format!("?limit=2&before_id={}", ids[3])), (ids[1..3].to_vec(), true));
    assert_eq!(page(&format!("?before_id={}", ids[0])), (Vec::new(), false));
}

#[test]
fn a_batch_that_has_ended_can_be_deleted_and_is_gone() {
    let mut sim = ten_minutes("");
    let batch = create(&mut sim, SECOND, 1);
    let early = call_at(&mut sim, SECOND * 2, &Method::DELETE, &path(&batch), b"");
    assert!(parsed(&early)["error"]["message"].as_str().unwrap().starts_with("In progress batches cannot be deleted."));
    let deleted = parsed(&call_at(&mut sim, SECOND * 700, &Method::DELETE, &path(&batch), b""));
    assert_eq!(deleted, json!({"id": batch["id"], "type": "message_batch_deleted"}));
    let gone = call_at(&mut sim, SECOND * 701, &Method::GET, &path(&batch), b"");
    assert_eq!(
        parsed(&gone)["error"]["message"],
        format!("Message Batch {} not found.", batch["id"].as_str().unwrap())
    );
    assert_eq!(parsed(&call_at(&mut sim, SECOND * 702, &Method::GET, BATCHES, b""))["data"], json!([]));
}

#[test]
fn results_are_archived_after_29_days() {
    let mut sim = ten_minutes("");
    let batch = create(&mut sim, SECOND, 1);
    let archived = get(&mut sim, DAY * 30, &batch);
    assert!(archived["results_url"].is_null() && archived["archived_at"].is_string());
    let results = call_at(&mut sim, DAY * 30, &Method::GET, &format!("{}/results", path(&batch)), b"");
    assert_eq!(error_of(&results).0, 404);
}

#[test]
fn b15_a_full_queue_is_a_429_until_rows_are_processed() {
    let mut sim = ten_minutes("limits = { batch-queue = 150 }");
    create(&mut sim, SECOND, 100);
    let full = call_at(&mut sim, SECOND, &Method::POST, BATCHES, &n_rows(100));
    assert_eq!(error_of(&full), (429, "rate_limit_error".to_owned(), None));
    assert!(full.headers.contains_key("retry-after"));
    create(&mut sim, SECOND * 400, 100);
    assert_eq!(sim.stats(SECOND * 400).orgs[0].batches.n_created, 2);
}

#[test]
fn requests_to_batches_have_a_limit_and_headers_of_their_own() {
    let mut sim = ten_minutes("limits = { batch-rpm = 2, rpm = 1 }");
    let list = |sim: &mut Sim| call_at(sim, SECOND, &Method::GET, BATCHES, b"");
    let first = list(&mut sim);
    assert_eq!(first.headers["anthropic-ratelimit-requests-limit"], "2");
    assert!(!first.headers.contains_key("anthropic-ratelimit-tokens-limit"));
    list(&mut sim);
    let refused = list(&mut sim);
    assert_eq!((refused.status.as_u16(), refused.headers["retry-after"].to_str().unwrap()), (429, "30"));
    assert_eq!(ask(&mut sim, SECOND, "messages have their own").status, 200);
}

#[test]
fn b18_batches_are_seen_with_keys_of_their_organisation_only() {
    let org = |label: &str, organization: &str| {
        format!("[[orgs]]\nlabel = \"{label}\"\nkey = \"k{label}\"\norganization = \"{organization}\"\n")
    };
    let mut sim = sim(&format!("summary = \"t\"\n{}{}{}", org("a", "o"), org("b", "o"), org("c", "other")));
    let batch = create(&mut sim, SECOND, 1);
    let mut status = |key: &str| {
        let request = SimRequest { method: &Method::GET, target: &path(&batch), headers: &head(key), body: b"" };
        let fate = sim.arrive(SECOND, &request);
        answered(&mut sim, SECOND, fate).status.as_u16()
    };
    assert_eq!([status("ka"), status("kb"), status("kc")], [200, 200, 404]);
}

#[test]
fn spans_and_dates_of_batches_are_told_in_the_clients_time() {
    let text = "summary = \"t\"\nbatches = { p50-s = 600, p95-s = 600 }\n[[orgs]]\nlabel = \"a\"\nkey = \"ka\"\n";
    let mut sim = Sim::new(Scenario::parse("t", text).unwrap(), 1, EPOCH, 600.0);
    let batch = create(&mut sim, Duration::ZERO, 1);
    assert_eq!(batch["expires_at"], "2025-01-29T12:45:21.000000+00:00", "a day in 144 seconds");
    let polled = call_at(&mut sim, SECOND * 300, &Method::GET, &path(&batch), b"");
    assert_eq!(polled.headers["retry-after"], "1");
    assert_eq!(get(&mut sim, SECOND * 601, &batch)["processing_status"], "ended");
}

#[test]
fn a_shared_prefix_is_written_by_one_row_and_read_by_most_others() {
    let mut sim = ten_minutes("");
    let system = json!([{"type": "text", "text": "Be fair. ".repeat(4_000), "cache_control": {"type": "ephemeral", "ttl": "1h"}}]);
    let row = |at: usize| {
        let mut params: Value = serde_json::from_slice(&body(&format!("question {at}"))).unwrap();
        params["system"] = system.clone();
        json!({"custom_id": format!("{at}"), "params": params})
    };
    let rows: Vec<Value> = (0..50).map(row).collect();
    let batch =
        parsed(&call_at(&mut sim, SECOND, &Method::POST, BATCHES, json!({"requests": rows}).to_string().as_bytes()));
    let results = download(&mut sim, SECOND * 700, &batch);
    let usage = |line: &str| serde_json::from_str::<Value>(line).unwrap()["result"]["message"]["usage"].clone();
    let read = results.lines().filter(|line| usage(line)["cache_read_input_tokens"].as_u64() > Some(0)).count();
    let written = results
        .lines()
        .filter(|line| usage(line)["cache_creation"]["ephemeral_1h_input_tokens"].as_u64() > Some(0))
        .count();
    assert!((25..50).contains(&read), "{read}");
    assert_eq!(read + written, 50);
}
