//! Endpoints other than batches and plain messages: streams, counts of tokens, keys that mean trouble.

use super::*;

fn post(sim: &mut Sim, key: &str, target: &str, body: &Value) -> SimResponse {
    let body = body.to_string();
    let request = SimRequest { method: &Method::POST, target, headers: &head(key), body: body.as_bytes() };
    let fate = sim.arrive(SECOND, &request);
    answered(sim, SECOND, fate)
}

fn streamed() -> Value {
    let mut streamed: Value = serde_json::from_slice(&body("hello")).unwrap();
    streamed["stream"] = json!(true);
    streamed
}

#[test]
fn a_stream_begins_early_and_spreads_its_events_over_the_rest_of_the_latency() {
    let mut sim = one_org("latency = { p50-ms = 1000, p95-ms = 1000 }");
    let fate = send_as(&mut sim, SECOND, &head("ka"), streamed().to_string().as_bytes());
    assert_eq!(fate.ending, Ending::Answer { after: Duration::from_millis(200) });
    let response = answered(&mut sim, SECOND, fate);
    assert_eq!(response.headers["content-type"], "text/event-stream; charset=utf-8");
    let Delivery::Paced { ends, over } = &response.delivery else { panic!("{:?}", response.delivery) };
    assert_eq!(*over, Duration::from_millis(800));
    assert_eq!(ends.last(), Some(&response.body.len()));
    assert_eq!(sim.stats(SECOND).bodies_accepted, 1);
}

#[test]
fn a_stream_can_fail_after_its_200_and_a_plain_answer_fails_before_it() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"error-in-stream\"");
    let response = post(&mut sim, "ka", "/v1/messages", &streamed());
    assert_eq!(response.status, 200);
    let text = String::from_utf8(response.body.to_vec()).unwrap();
    assert!(text.contains("event: error\ndata: {\"type\":\"error\"") && !text.contains("message_stop"), "{text}");
    assert_eq!(error_of(&ask(&mut sim, SECOND, "x")).0, 529);
}

#[test]
fn an_error_of_a_stream_that_was_refused_is_plain_json() {
    let mut sim = one_org("[[orgs.faults]]\nkind = \"overloaded\"");
    let response = post(&mut sim, "ka", "/v1/messages", &streamed());
    assert_eq!(error_of(&response).0, 529);
    assert_eq!(response.headers["content-type"], "application/json");
}

#[test]
fn tokens_are_counted_as_the_answer_bills_them_and_without_max_tokens() {
    let mut sim = one_org("limits = { count-tokens-rpm = 2 }");
    let mut count: Value = serde_json::from_slice(&body("hello")).unwrap();
    let with = post(&mut sim, "ka", "/v1/messages/count_tokens", &count);
    assert_eq!(parsed(&with)["error"]["message"], "max_tokens: Extra inputs are not permitted");
    count.as_object_mut().unwrap().remove("max_tokens");
    let counted = post(&mut sim, "ka", "/v1/messages/count_tokens", &count);
    let billed = parsed(&ask(&mut sim, SECOND, "hello"))["usage"]["input_tokens"].clone();
    assert_eq!(parsed(&counted), json!({"input_tokens": billed}));
    assert_eq!(counted.headers["anthropic-ratelimit-requests-limit"], "2");
    assert_eq!(post(&mut sim, "ka", "/v1/messages/count_tokens", &count).status, 429, "it has a limit of its own");
    count["model"] = json!("claude-9");
    let mut sim = one_org("");
    assert_eq!(error_of(&post(&mut sim, "ka", "/v1/messages/count_tokens", &count)).0, 404);
}

#[test]
fn keys_that_mean_trouble_get_it_wherever_any_key_is_taken() {
    let mut sim = sim("summary = \"t\"\nany-key = true");
    let hello: Value = serde_json::from_slice(&body("hello")).unwrap();
    for (key, status) in [
        ("sim-401-invalid", 401),
        ("sim-403", 403),
        ("sim-429", 429),
        ("sim-500", 500),
        ("sim-529", 529),
        ("sim-x", 200),
    ] {
        assert_eq!(post(&mut sim, key, "/v1/messages", &hello).status.as_u16(), status, "{key}");
        let request =
            SimRequest { method: &Method::GET, target: "/v1/messages/batches", headers: &head(key), body: b"" };
        let fate = sim.arrive(SECOND, &request);
        assert_eq!(answered(&mut sim, SECOND, fate).status.as_u16(), status, "{key}");
    }
    let limited = post(&mut sim, "sim-429", "/v1/messages", &hello);
    assert_eq!(limited.headers["retry-after"], "5");
    assert_eq!(post(&mut one_org(""), "sim-429", "/v1/messages", &hello).status, 401, "elsewhere they are strangers");
}

#[test]
fn what_was_read_from_the_cache_counts_neither_as_input_nor_against_its_limit() {
    let mut sim = one_org("limits = { itpm = 60000 }\nlatency = { p50-ms = 10, p95-ms = 10 }");
    let system = json!([{"type": "text", "text": "Be fair. ".repeat(10_000), "cache_control": {"type": "ephemeral"}}]);
    let ask = |sim: &mut Sim, at: Duration, text: &str| {
        let mut request: Value = serde_json::from_slice(&body(text)).unwrap();
        request["system"] = system.clone();
        let fate = send_as(sim, at, &head("ka"), request.to_string().as_bytes());
        answered(sim, at, fate)
    };
    let first = ask(&mut sim, SECOND, "one");
    let left = |response: &SimResponse| {
        response.headers["anthropic-ratelimit-input-tokens-remaining"].to_str().unwrap().to_owned()
    };
    assert_eq!(left(&first), "37000", "22,500 tokens were written");
    let second = ask(&mut sim, SECOND * 2, "two");
    assert_eq!(left(&second), "38000", "a second has refilled, and nothing was taken");
    let usage = &parsed(&second)["usage"];
    assert!(
        usage["input_tokens"].as_u64() < Some(100) && usage["cache_read_input_tokens"].as_u64() > Some(22_000),
        "{usage}"
    );
    let stats = sim.stats(SECOND * 3);
    assert_eq!(stats.orgs[0].tokens_cache_read, stats.orgs[0].tokens_cache_written);
}

#[test]
fn a_lost_500_is_billed_where_the_scenario_says_so() {
    for (processed, accepted) in [("", 0), ("\nprocessed = true", 1)] {
        let mut sim = one_org(&format!("[[orgs.faults]]\nkind = \"gateway-timeout\"{processed}"));
        assert_eq!(error_of(&ask(&mut sim, SECOND, "x")).0, 504);
        assert_eq!(sim.stats(SECOND).bodies_accepted, accepted);
    }
}
