//! Behaviour of the core, request by request.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use super::*;
use crate::model::Wall;

mod batches;
mod endpoints;
mod fuzz;
mod load;

const SECOND: Duration = Duration::from_secs(1);

/// 29 January 2025, 12:42:57 UTC.
const EPOCH: Wall = Wall(1_738_154_577_000);

fn sim(scenario: &str) -> Sim {
    Sim::new(Scenario::parse("test", scenario).unwrap(), 1, EPOCH, 1.0)
}

/// One org `a` with key `ka`, and what a test adds to it.
fn one_org(more: &str) -> Sim {
    sim(&format!("summary = \"test\"\n[[orgs]]\nlabel = \"a\"\nkey = \"ka\"\n{more}"))
}

fn head(key: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [("x-api-key", key), ("anthropic-version", "2023-06-01"), ("content-type", "application/json")]
    {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn body(text: &str) -> Vec<u8> {
    let message = json!({"role": "user", "content": text});
    json!({"model": "claude-haiku-4-5", "max_tokens": 512, "messages": [message]}).to_string().into_bytes()
}

fn send_as(sim: &mut Sim, now: Duration, headers: &HeaderMap, body: &[u8]) -> Fate {
    sim.arrive(now, &SimRequest { method: &Method::POST, target: "/v1/messages", headers, body })
}

fn send(sim: &mut Sim, now: Duration, text: &str) -> Fate {
    send_as(sim, now, &head("ka"), &body(text))
}

/// The answer, at the time for which it was announced.
fn answered(sim: &mut Sim, now: Duration, fate: Fate) -> SimResponse {
    match fate.ending {
        Ending::Answer { after } => sim.answer(now + after, fate.ticket),
        other => panic!("{other:?}"),
    }
}

fn ask(sim: &mut Sim, now: Duration, text: &str) -> SimResponse {
    let fate = send(sim, now, text);
    answered(sim, now, fate)
}

fn parsed(response: &SimResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

/// Status, error type and code of an answer.
fn error_of(response: &SimResponse) -> (u16, String, Option<String>) {
    let body = parsed(response);
    assert_eq!(body["type"], "error");
    assert_eq!(body["request_id"], response.headers["request-id"].to_str().unwrap());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    (response.status.as_u16(), text(&body["error"]["type"]).unwrap(), text(&body["error"]["details"]["error_code"]))
}

#[test]
fn an_answer_carries_its_digest_its_ids_and_all_limits() {
    let mut sim = one_org("organization = \"0f8fad5b-d9cb-469f-a165-70867728950e\"");
    let response = ask(&mut sim, SECOND, "hello");
    assert_eq!(response.status, 200);
    let message = parsed(&response);
    assert_eq!(message["content"][0]["text"], answer_for(&body("hello")).unwrap().text);
    assert!(message["id"].as_str().unwrap().starts_with("msg_01"));
    assert!(response.headers["request-id"].to_str().unwrap().starts_with("req_011C"));
    assert_eq!(response.headers["anthropic-organization-id"], "0f8fad5b-d9cb-469f-a165-70867728950e");
    assert_eq!(response.headers["content-type"], "application/json");
    for group in ["requests", "input-tokens", "output-tokens", "tokens"] {
        for figure in ["limit", "remaining", "reset"] {
            assert!(response.headers.contains_key(format!("anthropic-ratelimit-{group}-{figure}")), "{group} {figure}");
        }
    }
}

#[test]
fn both_styles_of_key_are_taken_and_no_other() {
    let mut sim = one_org("");
    let mut bearer = head("ka");
    bearer.remove("x-api-key");
    let missing = bearer.clone();
    bearer.insert("authorization", HeaderValue::from_static("Bearer ka"));
    let mut status = |headers: &HeaderMap| {
        let fate = send_as(&mut sim, SECOND, headers, &body("x"));
        answered(&mut sim, SECOND, fate)
    };
    assert_eq!(status(&bearer).status, 200);
    for headers in [missing, head("unknown"), head("")] {
        let response = status(&headers);
        assert_eq!(error_of(&response), (401, "authentication_error".to_owned(), None));
        assert_eq!(response.headers["x-should-retry"], "false");
        assert!(!response.headers.contains_key("anthropic-organization-id"));
    }
    let stats = sim.stats(SECOND);
    assert_eq!((stats.n_requests, stats.orgs[0].n_requests, stats.in_flight), (4, 1, 0));
}

#[test]
fn what_the_head_says_wrong_is_refused_before_the_body_is_read() {
    for (name, value, status, message) in [
        ("anthropic-version", "", 400, "anthropic-version: header is required"),
        ("anthropic-version", "2020-01-01", 400, "not a valid version"),
        ("anthropic-version", "2026-10-21", 200, ""),
        ("content-type", "", 400, "application/json"),
        ("content-type", "text/plain", 400, "application/json"),
        ("content-type", "Application/JSON; charset=utf-8", 200, ""),
        ("content-encoding", "gzip", 400, "gzip is not supported"),
    ] {
        let mut headers = head("ka");
        headers.remove(name);
        if !value.is_empty() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let mut sim = one_org("");
        let fate = send_as(&mut sim, SECOND, &headers, &body("x"));
        let response = answered(&mut sim, SECOND, fate);
        assert_eq!(response.status.as_u16(), status, "{name}: {value}");
        let said = parsed(&response)["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(message), "{name}: {value}: {said}");
    }
}

#[test]
fn each_path_has_its_method_and_its_answer() {
    let oversized = vec![b' '; MAX_BODY + 1];
    for (method, target, body, status) in [
        (Method::GET, "/v1/messages", b"".as_slice(), 405),
        (Method::POST, "/v1/models", b"{}", 405),
        (Method::POST, "/v1/nothing", b"{}", 404),
        (Method::GET, "/", b"", 404),
        (Method::GET, "/v1/models/", b"", 404),
        (Method::POST, "/v1/messages", &oversized, 413),
        (Method::POST, "/v1/messages", b"", 400),
        (Method::GET, "/v1/models", b"", 200),
        (Method::GET, "/v1/models?limit=2&after_id=claude-opus-5", b"", 200),
        (Method::GET, "/v1/models?limit=0", b"", 400),
        (Method::GET, "/v1/models?after_id=nothing", b"", 400),
        (Method::GET, "/v1/models/claude-haiku-4-5", b"", 200),
        (Method::GET, "/v1/models/gpt-9", b"", 404),
        (Method::GET, "/v1/messages/count_tokens", b"", 405),
        (Method::DELETE, "/v1/messages/batches", b"", 405),
        (Method::GET, "/v1/messages/batches", b"", 200),
        (Method::GET, "/v1/messages/batches?limit=1001", b"", 400),
        (Method::POST, "/v1/messages/batches/msgbatch_01x/results", b"", 405),
        (Method::GET, "/v1/messages/batches/msgbatch_01x/members", b"", 404),
    ] {
        let mut sim = one_org("");
        let fate = sim.arrive(SECOND, &SimRequest { method: &method, target, headers: &head("ka"), body });
        let response = answered(&mut sim, SECOND, fate);
        assert_eq!(response.status.as_u16(), status, "{method} {target}");
        assert_eq!(parsed(&response)["type"] == "error", status != 200, "{method} {target}");
    }
}

#[test]
fn any_key_is_an_org_of_its_own_where_the_scenario_says_so() {
    let mut sim = sim("summary = \"test\"\nany-key = true\nlimits = { rpm = 1, itpm = 1000, otpm = 1000 }");
    let mut status = |key: &str| {
        let fate = send_as(&mut sim, SECOND, &head(key), &body("x"));
        answered(&mut sim, SECOND, fate).status.as_u16()
    };
    assert_eq!([status("one"), status("two"), status("one")], [200, 200, 429]);
    let stats = sim.stats(SECOND);
    assert_eq!(stats.org("key-1").unwrap().n_status(429), 1);
    assert_eq!(stats.org("key-2").unwrap().n_status(200), 1);
    assert!(!serde_json::to_string(&stats).unwrap().contains("\"one\""));
}

#[test]
fn the_limiter_that_refuses_is_named_and_the_wait_it_asks_for_is_enough() {
    let mut sim = one_org("limits = { rpm = 60, itpm = 1000000, otpm = 40 }");
    assert_eq!(ask(&mut sim, SECOND, "first").status, 200);
    let refused = ask(&mut sim, SECOND, "second");
    assert_eq!(error_of(&refused), (429, "rate_limit_error".to_owned(), None));
    assert_eq!(refused.headers["x-should-retry"], "true");
    let message = parsed(&refused)["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("40 output tokens per minute"), "{message}");
    assert_eq!(refused.headers["anthropic-ratelimit-output-tokens-remaining"], "0");
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(ask(&mut sim, SECOND * u32::try_from(wait).unwrap() + SECOND, "second").status, 200);
}

#[test]
fn requests_per_minute_are_refused_at_the_arrival_and_output_is_counted_at_the_answer() {
    let mut sim =
        one_org("limits = { rpm = 2, itpm = 1000000, otpm = 50 }\nlatency = { p50-ms = 1000, p95-ms = 1000 }");
    let first = send(&mut sim, SECOND, "1");
    let second = send(&mut sim, SECOND, "2");
    assert_eq!(ask(&mut sim, SECOND, "3").status, 429, "two a minute");
    let first = answered(&mut sim, SECOND, first);
    let second = answered(&mut sim, SECOND, second);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "the overshoot is let through, once");
    let later = ask(&mut sim, SECOND * 62, "3");
    assert_eq!(later.status, 429, "and has to be made good: {}", parsed(&later)["error"]["message"]);
}

#[test]
fn keys_of_one_organization_share_its_limits() {
    let org = |label: &str| {
        format!("[[orgs]]\nlabel = \"{label}\"\nkey = \"k{label}\"\norganization = \"o\"\nlimits = {{ rpm = 1 }}\n")
    };
    let mut sim = sim(&format!("summary = \"test\"\n{}{}", org("a"), org("b")));
    let mut status = |key: &str| {
        let fate = send_as(&mut sim, SECOND, &head(key), &body("x"));
        answered(&mut sim, SECOND, fate).status.as_u16()
    };
    assert_eq!([status("ka"), status("kb")], [200, 429]);
}

#[test]
fn growth_that_is_too_sharp_gets_a_429_of_its_own_code() {
    let mut sim = one_org("ramp = { start-rps = 2, growth-per-minute = 2 }");
    assert_eq!([ask(&mut sim, SECOND, "1").status, ask(&mut sim, SECOND, "2").status], [200, 200]);
    let refused = ask(&mut sim, SECOND, "3");
    assert_eq!(error_of(&refused), (429, "rate_limit_error".to_owned(), Some("ramp_limit_exceeded".to_owned())));
    assert_eq!(refused.headers["retry-after"], "1");
}

#[test]
fn every_fault_that_answers_has_its_status_type_code_and_headers() {
    for (fault, status, kind, code, retry_after) in [
        ("kind = \"rate-limited\"\nretry-after = 7", 429, "rate_limit_error", None, Some("7")),
        ("kind = \"rate-limited\"", 429, "rate_limit_error", None, None),
        ("kind = \"rate-limited\"\nretry-after = \"-5\"", 429, "rate_limit_error", None, Some("-5")),
        ("kind = \"rate-limited\"\nretry-after = \"NaN\"", 429, "rate_limit_error", None, Some("NaN")),
        ("kind = \"rate-limited\"\nretry-after = 302539", 429, "rate_limit_error", None, Some("302539")),
        (
            "kind = \"rate-limited\"\nretry-after = \"date+30\"",
            429,
            "rate_limit_error",
            None,
            Some("Wed, 29 Jan 2025 12:43:28 GMT"),
        ),
        ("kind = \"ramp-limited\"\nretry-after = 2", 429, "rate_limit_error", Some("ramp_limit_exceeded"), Some("2")),
        ("kind = \"spend-limit\"", 429, "rate_limit_error", Some("enforced_spend_limit_reached"), None),
        ("kind = \"low-credit\"", 400, "invalid_request_error", None, None),
        ("kind = \"unauthorized\"", 401, "authentication_error", None, None),
        ("kind = \"forbidden\"", 403, "permission_error", None, None),
        ("kind = \"billing\"", 402, "billing_error", None, None),
        ("kind = \"overloaded\"", 529, "overloaded_error", None, None),
        ("kind = \"overloaded\"\nstatus = 500", 500, "overloaded_error", None, None),
        ("kind = \"overloaded\"\nstatus = 503", 503, "overloaded_error", None, None),
        ("kind = \"server-error\"", 500, "api_error", None, None),
        ("kind = \"server-error\"\nstatus = 503", 503, "api_error", None, None),
        ("kind = \"gateway-timeout\"", 504, "timeout_error", None, None),
        ("kind = \"invalid\"", 400, "invalid_request_error", None, None),
    ] {
        let mut sim = one_org(&format!("[[orgs.faults]]\n{fault}"));
        let response = ask(&mut sim, SECOND, "x");
        assert_eq!(error_of(&response), (status, kind.to_owned(), code.map(str::to_owned)), "{fault}");
        let sent = response.headers.get("retry-after").map(|value| value.to_str().unwrap());
        assert_eq!(sent, retry_after, "{fault}");
        assert_eq!(sim.stats(SECOND).bodies_accepted, 0, "{fault}");
    }
}

#[test]
fn a_storm_can_show_an_empty_bucket_or_no_limits_at_all() {
    let shown = ask(&mut one_org("[[orgs.faults]]\nkind = \"rate-limited\"\nlimiter = \"requests\""), SECOND, "x");
    assert_eq!(shown.headers["anthropic-ratelimit-requests-remaining"], "0");
    let bare = ask(&mut one_org("[[orgs.faults]]\nkind = \"rate-limited\"\nheaders = false"), SECOND, "x");
    assert!(!bare.headers.keys().any(|name| name.as_str().starts_with("anthropic-ratelimit")));
}

#[test]
fn a_storm_lasts_as_long_as_its_window() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"rate-limited\"\nfrom-s = 12\nto-s = 22");
    let statuses: Vec<u16> =
        [11, 12, 21, 22].map(|at| ask(&mut sim, SECOND * at, "x").status.as_u16()).into_iter().collect();
    assert_eq!(statuses, [200, 429, 429, 200]);
}

#[test]
fn l8_a_key_is_revoked_from_a_call_on() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"unauthorized\"\nfrom-call = 3");
    let statuses = [1, 2, 3, 4].map(|n| ask(&mut sim, SECOND, &format!("{n}")).status.as_u16());
    assert_eq!(statuses, [200, 200, 401, 401]);
}

#[test]
fn pages_of_the_edge_are_html_without_limits() {
    for status in [502, 503, 200] {
        let mut sim = one_org(&format!("[[orgs.faults]]\nkind = \"html\"\nstatus = {status}"));
        let response = ask(&mut sim, SECOND, "x");
        assert_eq!(response.status.as_u16(), status);
        assert_eq!(response.headers["content-type"], "text/html");
        assert!(response.body.starts_with(b"<html>"));
        assert_eq!(sim.stats(SECOND).bodies_accepted, 0);
    }
}

#[test]
fn connections_break_before_during_and_after_the_work_and_only_the_last_is_billed() {
    for (kind, after_ms, billed) in
        [("reset-before", 0, false), ("reset-during", 500, false), ("reset-after", 1_000, true)]
    {
        let latency = "latency = { p50-ms = 1000, p95-ms = 1000 }";
        let mut sim = one_org(&format!("{latency}\n[[orgs.faults]]\nkind = \"{kind}\""));
        let fate = send(&mut sim, SECOND, "x");
        assert_eq!(fate.ending, Ending::Reset { after: Duration::from_millis(after_ms), billed }, "{kind}");
        sim.gone(SECOND * 2, fate.ticket);
        let stats = sim.stats(SECOND * 2);
        assert_eq!((stats.n_reset, stats.n_abandoned, stats.in_flight), (1, 0, 0), "{kind}");
        assert_eq!(stats.bodies_accepted, u64::from(billed), "{kind}");
        assert_eq!(stats.orgs[0].tokens_out > 0, billed, "{kind}");
    }
}

#[test]
fn l16_a_hang_never_answers_and_a_cut_body_stops_in_its_middle() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"hang\"");
    let fate = send(&mut sim, SECOND, "x");
    assert_eq!(fate.ending, Ending::Hang);
    assert_eq!(sim.stats(SECOND * 99).in_flight, 1);
    sim.gone(SECOND * 99, fate.ticket);
    assert_eq!(sim.stats(SECOND * 99).in_flight, 0);

    let mut sim = one_org("[[orgs.faults]]\nkind = \"cut-body\"");
    let fate = send(&mut sim, SECOND, "x");
    let Ending::CutBody { at_bytes, .. } = fate.ending else { panic!("{:?}", fate.ending) };
    let response = sim.answer(SECOND, fate.ticket);
    assert!(at_bytes > 0 && at_bytes < response.body.len());
    assert_eq!(sim.stats(SECOND).n_cut, 1);
}

#[test]
fn bodies_of_a_200_can_be_malformed_or_empty_and_are_billed() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"malformed-body\"");
    let response = ask(&mut sim, SECOND, "x");
    assert_eq!(response.status, 200);
    assert!(serde_json::from_slice::<Value>(&response.body).is_err());
    assert_eq!(sim.stats(SECOND).bodies_accepted, 1);
    let wanted = answer_for(&body("x")).unwrap();
    let billed = sim.stats(SECOND).orgs[0].clone();
    assert_eq!((billed.tokens_in, billed.tokens_out), (wanted.input_tokens, wanted.output_tokens));
    let mut sim = one_org("[[orgs.faults]]\nkind = \"empty-body\"");
    let response = ask(&mut sim, SECOND, "x");
    assert_eq!((response.status.as_u16(), response.body.len()), (200, 0));
}

#[test]
fn l19_refusals_and_empty_answers_have_no_content() {
    for (kind, stop_reason) in [("refusal", "refusal"), ("empty-answer", "end_turn")] {
        let mut sim = one_org(&format!("[[orgs.faults]]\nkind = \"{kind}\""));
        let message = parsed(&ask(&mut sim, SECOND, "x"));
        assert_eq!(message["content"], json!([]), "{kind}");
        assert_eq!(message["stop_reason"], stop_reason);
        assert_eq!(message["usage"]["output_tokens"], 1);
    }
}

#[test]
fn a_slow_period_multiplies_the_latency() {
    let slow = "[[orgs.faults]]\nkind = \"slow\"\nfactor = 10\nfrom-s = 5\nto-s = 10";
    let mut sim = one_org(&format!("latency = {{ p50-ms = 100, p95-ms = 100 }}\n{slow}"));
    let after = |fate: &Fate| match fate.ending {
        Ending::Answer { after } => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(after(&send(&mut sim, SECOND, "x")), Duration::from_millis(100));
    assert_eq!(after(&send(&mut sim, SECOND * 6, "x")), Duration::from_secs(1));
}

/// Everything that a run of 300 requests shows.
fn transcript(seed: u64, order: impl Iterator<Item = u32>) -> Vec<(u32, String)> {
    let scenario = "summary = \"test\"\nlatency = { p50-ms = 100, p95-ms = 300 }\n[[faults]]\nkind = \"overloaded\"\n\
                    share = 0.2\n[[orgs]]\nlabel = \"a\"\nkey = \"ka\"";
    let mut sim = Sim::new(Scenario::parse("test", scenario).unwrap(), seed, EPOCH, 1.0);
    let mut seen: Vec<(u32, String)> = order
        .map(|n| {
            let fate = send(&mut sim, SECOND, &format!("request {n}"));
            let ending = fate.ending;
            let response = answered(&mut sim, SECOND, fate);
            let id = parsed(&response)["id"].as_str().unwrap_or_default().to_owned();
            (n, format!("{ending:?} {} {id}", response.status))
        })
        .collect();
    seen.sort();
    seen
}

#[test]
fn the_same_seed_gives_the_same_run_whatever_the_order_of_arrival() {
    let forwards = transcript(7, 0..300);
    assert_eq!(forwards, transcript(7, (0..300).rev()));
    assert_ne!(forwards, transcript(8, 0..300));
    let refused = forwards.iter().filter(|(_, seen)| seen.contains("529")).count();
    assert!((30..90).contains(&refused), "{refused}");
}

#[test]
fn a_body_that_was_struck_by_a_fault_is_drawn_anew_when_it_comes_again() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"overloaded\"\nshare = 0.5");
    let statuses: Vec<u16> = (0..40).map(|_| ask(&mut sim, SECOND, "the same").status.as_u16()).collect();
    assert!(statuses.contains(&200) && statuses.contains(&529), "{statuses:?}");
    let stats = sim.stats(SECOND);
    assert_eq!((stats.distinct_bodies, stats.bodies_seen_twice), (1, 1));
    assert_eq!((stats.bodies_accepted, stats.bodies_accepted_twice), (1, 1));
}

#[test]
fn the_peak_of_each_key_is_kept() {
    let mut sim = sim("summary = \"test\"\nany-key = true");
    let flights: Vec<Fate> = (0..5).map(|n| send_as(&mut sim, SECOND, &head("one"), &body(&format!("{n}")))).collect();
    let other = send_as(&mut sim, SECOND, &head("two"), &body("x"));
    for fate in flights {
        answered(&mut sim, SECOND, fate);
    }
    sim.gone(SECOND, other.ticket);
    let stats = sim.stats(SECOND);
    assert_eq!((stats.in_flight_peak, stats.in_flight, stats.n_abandoned), (6, 0, 1));
    assert_eq!((stats.orgs[0].in_flight_peak, stats.orgs[1].in_flight_peak), (5, 1));
}

#[test]
fn a_colleague_empties_the_bucket_that_we_share_and_its_429s_are_counted_apart() {
    let colleague = "[[orgs.colleagues]]\nfrom-s = 10\nto-s = 20\nrps = 10\ntokens-in = 1\ntokens-out = 100";
    let mut sim = one_org(&format!("limits = {{ otpm = 6000 }}\n{colleague}"));
    assert_eq!(ask(&mut sim, SECOND * 9, "before").status, 200);
    let during = ask(&mut sim, SECOND * 19, "during");
    assert_eq!(during.status, 429);
    let stats = sim.stats(SECOND * 60);
    let colleague = stats.orgs[0].colleague;
    assert_eq!(colleague.n_wanted, 100);
    assert!(colleague.n_429 > 10 && colleague.tokens_got < colleague.tokens_wanted, "{colleague:?}");
    assert_eq!(stats.orgs[0].n_requests, 2);
    assert_eq!(ask(&mut sim, SECOND * 81, "after").status, 200);
}
