//! The books against what the simulated API billed, budgets, and the gate before a launch.

use std::fs;

use fandeck::sim::Place as Endpoint;
use serde_json::{Value, json};

use crate::support::{KEYS, Place, Server, finished, last_json, request, wait_for, with_prefix};

fn state(place: &Place, run: &str) -> Value {
    serde_json::from_slice(&fs::read(place.path(run).join("state.json")).unwrap()).unwrap()
}

/// As [`state`], once it is there.
fn state_of(place: &Place, run: &str) -> Option<Value> {
    serde_json::from_slice(&fs::read(place.path(run).join("state.json")).ok()?).ok()
}

/// Millionths of a dollar, as the API counts them. Half of one, which batches and inference in the US often come to, is
/// rounded up there; a sum of floating-point numbers may lie a hair below it.
fn micro(usd: f64) -> i64 {
    (usd * 1e6 + 1e-6).round() as i64
}

/// Requests that cost the same at the most: where one does not fit into a budget any more, none does.
fn alike(place: &Place, n: usize) -> String {
    let line = |no: usize| request(&format!("r-{no:03}"), &format!("judge case {no:03}"));
    place.write("in.jsonl", (0..n).map(line).collect::<String>())
}

/// Sum of a field over lines of the books of runs; those of an org, or all.
fn sum(books: &[&Value], lines: &str, field: &str, org: Option<&str>) -> f64 {
    let all = books.iter().flat_map(|books| books[lines].as_array().unwrap());
    all.filter(|line| org.is_none_or(|org| line["org"] == org)).map(|line| line[field].as_f64().unwrap()).sum()
}

const QUICK: &str = "latency = { p50-ms = 900, p95-ms = 1800 }\nbatches = { p50-s = 60, p95-s = 120, cancel-s = 30 }\n";

const ROWS: &str = "[[orgs.batch-faults]]\nkind = \"row-errored\"\nrows = 0.1\n[[orgs.batch-faults]]\nkind = \"row-expired\"\nrows = 0.1\n";

#[test]
fn the_books_equal_what_the_api_billed_with_caching_batches_refusals_and_re_drives() {
    let unbilled = "[[orgs.faults]]\nkind = \"overloaded\"\nshare = 0.1\n[[orgs.faults]]\nkind = \"rate-limited\"\nshare = 0.03\nretry-after = 1\n\
                    [[orgs.faults]]\nkind = \"refusal\"\nshare = 0.1\n[[orgs.faults]]\nkind = \"reset-before\"\nshare = 0.03\n";
    let org = format!("{unbilled}{ROWS}");
    let server = Server::faster(QUICK, [&org; 3], 60.0);
    let place = Place::at(&server);
    let input = with_prefix(&place, 120);
    for (dir, path) in [("sync", "sync"), ("batch", "batch")] {
        let dir = place.text(dir);
        let ended = place.run(&[
            "run",
            &input,
            "--run-dir",
            &dir,
            "--path",
            path,
            "--sub-batch-size",
            "20",
            "--poll-every",
            "1s",
            "--yes",
            "--json",
            "--no-cache",
        ]);
        assert!([0, 3].contains(&ended.code), "{}", ended.stderr);
    }
    let (sync, batch) = (state(&place, "sync"), state(&place, "batch"));
    let books = [&sync["books"], &batch["books"]];
    let stats = server.stats();
    assert_eq!(micro(sum(&books, "settled", "cost_usd", None)), stats.cost_micro_usd as i64);
    for (label, ..) in KEYS {
        let org = stats.org(label).unwrap();
        let of = |field| sum(&books, "settled", field, Some(label));
        assert_eq!(micro(of("cost_usd")), org.cost_micro_usd as i64, "{label}");
        assert_eq!(of("cache_read") as u64, org.tokens_cache_read, "{label}");
        assert_eq!((of("cache_write_5m") + of("cache_write_1h")) as u64, org.tokens_cache_written, "{label}");
    }
    assert!(sum(&books, "settled", "cache_read", None) > 0.0);
    let kinds: Vec<_> = books.iter().flat_map(|books| books["settled"].as_array().unwrap()).collect();
    assert!(kinds.iter().any(|line| line["outcome"] == "refused"));
    assert!(kinds.iter().any(|line| line["path"] == "batch") && kinds.iter().any(|line| line["path"] == "sync"));
    assert!(sum(&books, "re_driven", "attempts", None) > 0.0);
}

#[test]
fn the_books_equal_what_the_api_billed_for_fast_mode_inference_in_the_us_and_searches() {
    let server = Server::faster(QUICK, [""; 3], 60.0);
    let place = Place::at(&server);
    let search = json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]);
    let line = |no: usize| {
        let content = format!("case {no}");
        let mut params = json!({
            "model": "claude-opus-5", "max_tokens": 2_048, "messages": [{"role": "user", "content": content}],
            "inference_geo": if no.is_multiple_of(2) { "us" } else { "global" },
        });
        if no < 12 {
            params["speed"] = json!("fast");
        } else if no.is_multiple_of(3) {
            params["tools"] = search.clone();
        }
        format!("{}\n", json!({"custom_id": format!("r-{no}"), "params": params}))
    };
    let run = |name: &str, range: std::ops::Range<usize>| {
        let input = place.write(&format!("{name}.jsonl"), range.map(line).collect::<String>());
        let dir = place.text(name);
        // With a limit, an answer that costs more than was reserved for it is said.
        let limit = ["--max-cost", "50"];
        let args =
            ["run", &input, "--run-dir", &dir, "--path", name, "--poll-every", "1s", "--yes", "--json", "--no-cache"];
        let ended = place.run(&[&args[..], &limit].concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(!ended.stdout.contains("an answer cost"), "none was dearer than was reserved: {}", ended.stdout);
        state(&place, name)
    };
    let (sync, batch) = (run("sync", 0..36), run("batch", 36..60));
    let books = [&sync["books"], &batch["books"]];
    let lines: Vec<_> = books.iter().flat_map(|books| books["settled"].as_array().unwrap()).collect();
    assert!(lines.iter().any(|line| line["fast"] == true && line["us_inference"] == true));
    assert!(lines.iter().any(|line| line["path"] == "batch" && line["web_searches"].as_u64() > Some(0)));
    assert_eq!(micro(sum(&books, "settled", "cost_usd", None)), server.stats().cost_micro_usd as i64);
}

#[test]
fn answers_that_were_billed_and_lost_are_within_the_column_of_doubt() {
    let lost =
        "[[orgs.faults]]\nkind = \"reset-after\"\nshare = 0.06\n[[orgs.faults]]\nkind = \"cut-body\"\nshare = 0.04\n";
    let server = Server::with("", [lost; 3]);
    let place = Place::at(&server);
    let dir = place.text("run");
    let ended = place.run(&["run", &with_prefix(&place, 150), "--run-dir", &dir, "--yes", "--json", "--no-cache"]);
    assert!([0, 4].contains(&ended.code), "{}", ended.stderr);
    let state = state(&place, "run");
    let books = [&state["books"]];
    let stats = server.stats();
    let spent = micro(sum(&books, "settled", "cost_usd", None));
    let doubt = micro(sum(&books, "doubtful", "at_most_usd", None));
    let billed = stats.cost_micro_usd as i64;
    assert_eq!(sum(&books, "doubtful", "n", None) as u64, stats.n_reset + stats.n_cut);
    assert!(spent < billed && billed <= spent + doubt, "{spent} + {doubt}, billed {billed}");
    assert_eq!(state["n_possibly_charged"].as_u64(), Some(stats.n_reset + stats.n_cut));
}

#[test]
fn a_run_ends_incomplete_within_its_budget_and_a_higher_one_goes_on() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(120), place.text("run"));
    let ended =
        place.run(&["run", &input, "--run-dir", &dir, "--json", "--no-cache", "--cap", "4", "--max-cost", "0.02"]);
    let line = finished(&ended);
    assert_eq!(ended.code, 4, "{line}");
    let (done, billed) = (line["n_succeeded"].as_u64().unwrap(), server.stats().cost_micro_usd);
    assert!(done > 10 && done < 120, "{line}");
    assert!(billed <= 20_000, "{billed}");
    assert!(ended.stdout.contains("max-cost of $0.02"), "{}", ended.stdout);
    // The limit belongs to the run: a resume without one has the old one, and sends nothing.
    let again = place.run(&["resume", &dir, "--json", "--no-cache"]);
    assert_eq!((again.code, server.stats().cost_micro_usd), (4, billed), "{}", again.stderr);
    let higher = place.run(&["resume", &dir, "--json", "--no-cache", "--max-cost", "5"]);
    assert_eq!((higher.code, &finished(&higher)["n_succeeded"]), (0, &120.into()), "{}", higher.stderr);
    place.run(&["resume", &dir, "--max-cost", "nan"]).refused(2, &["max-cost", "USD"]);
}

#[test]
fn a_run_that_is_killed_again_and_again_stays_within_its_budgets() {
    let server = Server::slow(30);
    let place = Place::at(&server);
    let (input, dir) = (place.requests(400), place.text("run"));
    let limits = ["--yes", "--json", "--no-cache", "--max-requests", "60", "--max-cost", "0.05"];
    for session in 0..4 {
        let begin = if session == 0 { vec!["run", &input, "--run-dir", &dir] } else { vec!["resume", &dir] };
        let before = server.stats().n_messages;
        let mut running = place.start(&[&begin[..], &limits[..]].concat());
        if session < 3 {
            // Some calls go out; or it ends by itself, because nothing is left of the budget.
            wait_for("some calls", || (server.stats().n_messages > before + 10 || running.has_ended()).then_some(()));
            running.kill();
        } else {
            assert_eq!(running.end().code, 4);
        }
    }
    let stats = server.stats();
    assert!(stats.n_messages > 10 && stats.n_messages <= 60, "{}", stats.n_messages);
    assert!(stats.cost_micro_usd <= 50_000, "{}", stats.cost_micro_usd);
    let state = state(&place, "run");
    let books = [&state["books"]];
    let (spent, doubt) = (sum(&books, "settled", "cost_usd", None), sum(&books, "doubtful", "at_most_usd", None));
    let causes = state["books"]["doubtful"].as_array().unwrap();
    assert!(causes.iter().all(|line| line["cause"] != "unknown"), "{causes:?}");
    assert!(micro(spent + doubt) <= 50_000 && micro(spent + doubt) >= stats.cost_micro_usd as i64, "{spent} + {doubt}");
}

/// The API answers none of the calls, so that what was out when the run was killed is what the API has got.
#[test]
fn d1_what_a_kill_leaves_in_doubt_is_what_was_out_and_nothing_when_nothing_was() {
    let server = Server::slow(600_000);
    let place = Place::at(&server);
    let (input, dir) = (place.requests(400), place.text("run"));
    let limits = ["--yes", "--json", "--no-cache", "--cap", "4", "--max-cost", "5"];
    let mut n_out: u64 = 0;
    for session in 0..2 {
        let begin = if session == 0 { vec!["run", &input, "--run-dir", &dir] } else { vec!["resume", &dir] };
        let running = place.start(&[&begin[..], &limits[..]].concat());
        // As many as the caps allow: none goes out between this look and the kill.
        n_out += 3 * 4;
        server.wait_for_messages(n_out);
        wait_for("a state that says so", || (state(&place, "run")["n_begun_at_most"] == n_out).then_some(()));
        running.kill();
    }
    // Nothing more may be sent: the last session takes the books on, and ends.
    let limit = n_out.to_string();
    assert_eq!(place.run(&["resume", &dir, "--json", "--no-cache", "--max-requests", &limit]).code, 4);
    assert_eq!(server.stats().n_messages, n_out);
    let state = state(&place, "run");
    let books = [&state["books"]];
    assert_eq!((sum(&books, "doubtful", "n", None) as u64, state["n_possibly_charged"].as_u64()), (n_out, Some(n_out)));
}

#[test]
fn what_other_runs_have_in_doubt_counts_for_the_day() {
    let lost = "[[orgs.faults]]\nkind = \"reset-after\"\nshare = 0.2\n";
    let server = Server::with("", [lost; 3]);
    let place = Place::at(&server);
    place.more_config("[budget]\nper-day-usd = 0.015\n");
    let input = alike(&place, 60);
    let mut dirs = Vec::new();
    // The second finds the day used up: it sends nothing.
    for code in [4, 2] {
        let ended = place.run(&["run", &input, "--json", "--no-cache", "--yes", "--cap", "4"]);
        let line = finished(&ended);
        assert_eq!(ended.code, code, "{line}");
        dirs.push(line["run_dir"].as_str().unwrap().to_owned());
    }
    let read = |dir: &String| -> Value {
        serde_json::from_slice(&fs::read(std::path::Path::new(dir).join("state.json")).unwrap()).unwrap()
    };
    let states: Vec<Value> = dirs.iter().map(read).collect();
    let books: Vec<&Value> = states.iter().map(|state| &state["books"]).collect();
    let (spent, doubt) = (sum(&books, "settled", "cost_usd", None), sum(&books, "doubtful", "at_most_usd", None));
    assert!(doubt > 0.0 && micro(spent + doubt) <= 15_000, "{spent} + {doubt}");
    assert!(server.stats().cost_micro_usd <= 15_000);
}

#[test]
fn runs_at_once_stay_within_the_day_wherever_they_are_killed_and_deleted_ones_included() {
    let server = Server::slow(30);
    let place = Place::at(&server);
    place.more_config("[budget]\nper-day-usd = 0.06\n");
    let input = alike(&place, 400);
    let common = ["--json", "--no-cache", "--yes", "--cap", "4", "--orgs"];
    let start = |dir: &str, orgs: &str| {
        place.start(&[&["run", &input, "--run-dir", &place.text(dir)], &common[..], &[orgs]].concat())
    };
    // Both have something out before either is answered: neither finds the day used up by the other.
    server.hold_from(1);
    let (killed, other) = (start("one", "high-prio,batch"), start("two", "low-prio"));
    let is_out = |org: &str| server.stats().org(org).is_some_and(|org| org.calls.contains_key(&Endpoint::Messages));
    wait_for("calls of both", || (is_out("high-prio") && is_out("low-prio")).then_some(()));
    server.release();
    wait_for("calls of the first", || state_of(&place, "one").filter(|one| one["counts"]["succeeded"] != 0));
    killed.kill();
    // What it left behind is counted although nothing of its directory is there any more.
    fs::remove_dir_all(place.path("one")).unwrap();
    assert_eq!(other.end().code, 4);
    assert_eq!(start("three", "batch").end().code, 2);
    assert!(server.stats().cost_micro_usd <= 60_000, "{}", server.stats().cost_micro_usd);
    // It was used up, but for what the one that was killed had out (12 calls at the worst) and what the next may cost.
    assert!(server.stats().cost_micro_usd >= 15_000, "{}", server.stats().cost_micro_usd);
}

#[test]
fn attempts_and_time_can_be_limited_and_a_past_deadline_is_refused() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(30), place.text("run"));
    let ended = place.run(&["run", &input, "--run-dir", &dir, "--json", "--max-requests", "7"]);
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"], server.stats().n_messages), (4, &7.into(), 7), "{line}");
    place.run(&["resume", &dir, "--deadline", "2020-01-01T00:00:00Z"]).refused(2, &["--deadline", "lies in the past"]);
    let ended = place.run(&["resume", &dir, "--json", "--max-requests", "1000", "--deadline", "1h"]);
    assert_eq!(finished(&ended)["n_succeeded"], 30);
}

#[test]
fn a_projection_far_above_the_authorised_cost_is_refused_whatever_is_said() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(30);
    for more in [&[][..], &["--yes"]] {
        let ended = place.run(&[&["run", &input, "--json", "--authorized-cost", "0.000001"][..], more].concat());
        ended.refused(2, &["projected cost $", "1.5 times the authorised", "nothing was sent"]);
    }
    assert_eq!(server.stats().n_requests, 0);
    assert_eq!(place.run(&["run", &input, "--json", "--authorized-cost", "5"]).code, 0);
}

#[test]
fn a_budget_for_a_model_without_a_price_is_refused() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(3);
    let text = fs::read_to_string(&input).unwrap().replace("claude-haiku-4-5", "claude-nobody-9");
    let input = place.write("nobody.jsonl", text);
    place.run(&["run", &input, "--yes", "--max-cost", "5"]).refused(2, &["a budget cannot be kept", "claude-nobody-9"]);
    let authorized = place.run(&["run", &input, "--yes", "--authorized-cost", "5"]);
    authorized.refused(2, &["cannot be held against the authorised $5.00", "claude-nobody-9"]);
}

#[test]
fn at_80_percent_a_run_without_a_screen_moves_the_rest_to_batches_when_the_policy_says_so() {
    let server = Server::faster(QUICK, ["", "", ""], 60.0);
    let place = Place::at(&server);
    place.more_config("[budget]\nat-80-percent = \"batch\"\n");
    let dir = place.text("run");
    let ended = place.run(&[
        "run",
        &place.requests(200),
        "--run-dir",
        &dir,
        "--json",
        "--no-cache",
        "--cap",
        "3",
        "--sub-batch-size",
        "4",
        "--poll-every",
        "1s",
        "--max-cost",
        "0.05",
    ]);
    let line = finished(&ended);
    assert!(line["sub_batches"]["created"].as_u64().unwrap() > 0, "{}", ended.stdout);
    let settled = state(&place, "run")["books"]["settled"].clone();
    let paths: Vec<&str> = settled.as_array().unwrap().iter().map(|line| line["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"sync") && paths.contains(&"batch"), "{settled}");
    assert!(server.stats().cost_micro_usd <= 50_000);
    assert_eq!(last_json(&place.run(&["report", &dir, "--json"]).stdout)["cost_usd"], line["cost_usd"]);
}
