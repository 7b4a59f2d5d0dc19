//! The transport on paused time.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::super::{Scenario, answer_for};
use super::*;
use crate::model::Verdict;
use crate::model::{AccountTrouble, Family, LimitKind, OrgId, Secret};

fn org(key: &str) -> OrgSpec {
    OrgSpec {
        label: key.to_owned(),
        key_env: "KEY".to_owned(),
        key: Secret::new(key).unwrap(),
        base_url: "http://localhost".to_owned(),
        caps: [20; Family::COUNT],
    }
}

fn transport(scenario: &str, bearer: bool) -> (InProcess, Arc<SharedSim>) {
    let text = format!("summary = \"test\"\n[[orgs]]\nlabel = \"a\"\nkey = \"ka\"\n{scenario}");
    let sim = SharedSim::new(Scenario::parse("test", &text).unwrap(), 1, 1.0);
    let wire = WireSettings { bearer, ..WireSettings::default() };
    (InProcess::new(Arc::clone(&sim), &[org("ka"), org("unknown")], wire), sim)
}

fn call(org: u16) -> Call {
    let message = json!({"role": "user", "content": "hello"});
    let body = json!({"model": "claude-haiku-4-5", "max_tokens": 100, "messages": [message]}).to_string();
    Call { org: OrgId(org), body: Bytes::from(body), max_tokens: 100 }
}

fn trouble_of(reply: &Reply) -> Trouble {
    match &reply.verdict {
        Verdict::Trouble(trouble, _) => *trouble,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_after_its_latency_with_usage_and_limits() {
    let (transport, sim) = transport("latency = { p50-ms = 1500, p95-ms = 1500 }", false);
    let started = Instant::now();
    let pending = transport.call(call(0));
    let reply = pending.await;
    assert_eq!(started.elapsed(), Duration::from_millis(1_500));
    let answer = answer_for(&call(0).body).unwrap();
    let Verdict::Answered { refused: false, usage } = reply.verdict else { panic!("{:?}", reply.verdict) };
    assert_eq!((usage.input_tokens, usage.output_tokens), (answer.input_tokens, answer.output_tokens));
    assert!(reply.limits.requests.is_some() && reply.limits.tokens.is_some());
    assert!(reply.request_id.is_some() && reply.organization.is_some());
    assert_eq!(sim.stats().org("a").unwrap().in_flight_peak, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_held_back_comes_when_it_is_released_and_those_before_it_at_their_time() {
    let (transport, sim) = transport("latency = { p50-ms = 1500, p95-ms = 1500 }", false);
    sim.hold_from(2);
    transport.call(call(0)).await;
    let mut held = transport.call(call(0));
    assert!(tokio::time::timeout(Duration::from_secs(10), &mut held).await.is_err());
    let stats = sim.stats();
    assert_eq!((stats.n_messages, stats.in_flight), (2, 1));
    sim.release();
    assert!(matches!(held.await.verdict, Verdict::Answered { .. }));
    // What is released early takes its time all the same.
    sim.hold_from(1);
    let started = Instant::now();
    let mut early = transport.call(call(0));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut early).await.is_err());
    sim.release();
    early.await;
    assert!(started.elapsed() >= Duration::from_millis(1_500));
}

#[tokio::test(start_paused = true)]
async fn each_org_is_called_with_its_own_key_in_either_style() {
    for bearer in [false, true] {
        let (transport, _) = transport("", bearer);
        assert!(matches!(transport.call(call(0)).await.verdict, Verdict::Answered { .. }));
        assert_eq!(trouble_of(&transport.call(call(1)).await), Trouble::Account(AccountTrouble::Auth));
    }
}

#[tokio::test(start_paused = true)]
async fn faults_read_as_the_client_reads_them() {
    for (fault, trouble) in [
        ("kind = \"rate-limited\"\nretry-after = 3", Trouble::RateLimited(LimitKind::Steady)),
        ("kind = \"ramp-limited\"\nretry-after = 3", Trouble::RateLimited(LimitKind::Ramp)),
        ("kind = \"overloaded\"", Trouble::Overloaded),
        ("kind = \"overloaded\"\nstatus = 500", Trouble::Overloaded),
        ("kind = \"server-error\"", Trouble::Server),
        ("kind = \"html\"\nstatus = 503", Trouble::Server),
        ("kind = \"gateway-timeout\"", Trouble::Server),
        ("kind = \"spend-limit\"", Trouble::Account(AccountTrouble::SpendLimit)),
        ("kind = \"low-credit\"", Trouble::Account(AccountTrouble::Credit)),
        ("kind = \"reset-before\"", Trouble::Broken),
        ("kind = \"reset-after\"", Trouble::Broken),
        ("kind = \"cut-body\"", Trouble::Broken),
        ("kind = \"malformed-body\"", Trouble::Broken),
        ("kind = \"empty-body\"", Trouble::Broken),
        ("kind = \"hang\"", Trouble::Timeout),
    ] {
        let (transport, sim) = transport(&format!("[[orgs.faults]]\n{fault}"), false);
        let reply = transport.call(call(0)).await;
        assert_eq!(trouble_of(&reply), trouble, "{fault}");
        assert_eq!(sim.stats().in_flight, 0, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn l16_silence_ends_with_the_first_byte_timeout() {
    let (transport, _) = transport("[[orgs.faults]]\nkind = \"hang\"", false);
    let started = Instant::now();
    transport.call(call(0)).await;
    assert_eq!(started.elapsed(), WireSettings::default().first_byte(100));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_out_of_flight() {
    let (transport, sim) = transport("latency = { p50-ms = 1500, p95-ms = 1500 }", false);
    let pending = tokio::time::timeout(Duration::from_millis(10), transport.call(call(0)));
    assert!(pending.await.is_err());
    let stats = sim.stats();
    assert_eq!((stats.in_flight, stats.n_abandoned), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_runs_sixty_times_as_fast_makes_a_minute_of_a_second() {
    let text = "summary = \"t\"\nany-key = true\nlatency = { p50-ms = 60000, p95-ms = 60000 }";
    let sim = SharedSim::new(Scenario::parse("test", text).unwrap(), 1, 60.0);
    let transport = InProcess::new(Arc::clone(&sim), &[org("ka")], WireSettings::default());
    let started = Instant::now();
    assert!(matches!(transport.call(call(0)).await.verdict, Verdict::Answered { .. }));
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    assert_eq!(sim.now(), Duration::from_secs(60));
}
