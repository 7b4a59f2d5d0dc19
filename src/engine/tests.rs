//! The reducer as a whole: promises that hold for any order of events, and the cases that need more than one controller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use crate::model::snapshot::Condition;
use crate::model::{
    AccountTrouble, ApiError, Bucket, Command, CommandOutcome, DispatchSettings, Family, LimitKind, Money, Mono, Now,
    OrgId, OrgSpec, Outcome, RateLimits, RequestNo, RetryAfter, Route, RunSlot, RunStatus, Secret, Trouble, Usage,
    Verdict, Wall,
};
use crate::store::Record;

use super::command::command;
use super::event::{Attempt, Effect, Event};
use super::load::Uniform;
use super::publish::Publisher;
use super::queue::{Place, Queue};
use super::reduce::reduce;
use super::state::{RunFacts, State};

/// A dispatcher without a shell: time moves when the test says so.
struct Desk {
    state: State,
    now: Now,
    /// Sent and not answered: (run, request, org, started).
    flying: Vec<(RunSlot, RequestNo, OrgId, Mono)>,
    unsynced: Vec<(RunSlot, RequestNo, Outcome)>,
    rested: Vec<(RunSlot, u8)>,
    /// Requests sent in all.
    sent: usize,
}

fn org(label: &str, cap: u32) -> OrgSpec {
    OrgSpec {
        label: label.to_owned(),
        key_env: format!("KEY_{label}"),
        key: Secret::new("a-test-key").unwrap(),
        base_url: "http://127.0.0.1:1".to_owned(),
        caps: [cap; Family::COUNT],
    }
}

fn facts(unattended: bool) -> RunFacts {
    RunFacts {
        run_id: "r".to_owned(),
        dir: "d".to_owned(),
        input: "i".to_owned(),
        path: Route::Sync,
        route_reason: "forced".to_owned(),
        model: "claude-haiku-4-5".to_owned(),
        unattended,
        prior_cost: Money::ZERO,
        prior_possibly_charged: 0,
        prior_wall: Duration::ZERO,
        prior_re_driven: BTreeMap::new(),
        prior_attempts: [0; 5],
    }
}

impl Desk {
    fn new(caps: &[u32], runs: &[usize], settings: DispatchSettings, unattended: bool) -> Desk {
        let orgs: Vec<OrgSpec> = caps.iter().enumerate().map(|(n, cap)| org(&format!("org-{n}"), *cap)).collect();
        let mut state = State::new(&orgs, settings, 1);
        for n in runs {
            let queue = Queue::new(vec![Place::Waiting; *n], |_| Family::Haiku);
            state.add_run(facts(unattended), queue, Arc::new(Uniform { bytes: 400, max_tokens: 16 }), Mono::ZERO);
        }
        let mut desk = Desk { state, now: Now::default(), flying: vec![], unsynced: vec![], rested: vec![], sent: 0 };
        desk.feed(vec![]);
        desk
    }

    fn headless(caps: &[u32], n: usize) -> Desk {
        Desk::new(caps, &[n], DispatchSettings::default(), true)
    }

    fn feed(&mut self, events: Vec<Event>) {
        let mut effects = Vec::new();
        reduce(&mut self.state, events, self.now, &mut effects);
        self.take(effects);
    }

    fn command(&mut self, order: Command) -> CommandOutcome {
        let mut effects = Vec::new();
        let outcome = command(&mut self.state, order, self.now, &mut effects);
        self.take(effects);
        self.feed(vec![]);
        outcome
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { run, no, org, .. } => {
                    self.sent += 1;
                    self.flying.push((run, no, org, self.now.mono));
                }
                Effect::Record(record) => self.unsynced.push((record.run, record.no, record.outcome)),
                Effect::Abandon { run } => self.flying.retain(|(flying, ..)| *flying != run),
                Effect::Rest { run, exit_code } => self.rested.push((run, exit_code)),
                Effect::RecordReDrivable { .. } | Effect::Audit { .. } | Effect::Look { .. } | Effect::Batch(_) => {}
            }
        }
    }

    fn wait(&mut self, span: Duration) {
        self.now.mono = self.now.mono + span;
        self.now.wall = Wall(self.now.mono.0 as i64 / 1_000);
        self.feed(vec![]);
    }

    /// Ends the attempt at `ix` of those in flight.
    fn end(&mut self, ix: usize, verdict: Verdict, limits: RateLimits, retry_after: RetryAfter) {
        let (run, no, org, started) = self.flying.remove(ix);
        let outcome = verdict.outcome();
        let record = outcome.is_terminal().then(|| Record { run, no, outcome, line: Vec::new(), cache: None });
        let attempt = Attempt {
            run,
            no,
            org,
            started,
            latency: self.now.mono.since(started),
            verdict,
            limits,
            retry_after,
            organization: None,
            cost: Money(7),
            record,
        };
        self.feed(vec![Event::Attempted(Box::new(attempt))]);
    }

    fn end_all(&mut self, verdict: &Verdict) {
        for _ in 0..self.flying.len() {
            self.end(0, verdict.clone(), RateLimits::default(), RetryAfter::Absent);
        }
    }

    fn end_all_of(&mut self, org: OrgId, verdict: &Verdict) {
        let of_org = self.flying.iter().filter(|(.., flying, _)| *flying == org).count();
        for _ in 0..of_org {
            let ix = self.flying.iter().position(|(.., flying, _)| *flying == org).unwrap();
            self.end(ix, verdict.clone(), RateLimits::default(), RetryAfter::Absent);
        }
    }

    fn sync(&mut self) {
        let done = std::mem::take(&mut self.unsynced);
        let events = done.into_iter().map(|(run, no, outcome)| Event::Synced { run, done: vec![(no, outcome)] });
        self.feed(events.collect());
    }

    /// Answers and syncs everything until nothing is in flight, a second a step.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.rested.len() == self.state.runs.len() {
                return;
            }
            self.wait(Duration::from_secs(1));
            self.end_all(&ok());
            self.sync();
        }
        panic!("the run does not come to an end: {:?}", self.state.runs[0].queue.counts());
    }

    fn counts(&self) -> crate::model::Counts {
        self.state.runs[0].queue.counts()
    }

    fn flying_on(&self, org: OrgId) -> usize {
        self.flying.iter().filter(|(.., flying, _)| *flying == org).count()
    }

    fn condition(&mut self, org: usize) -> Condition {
        Publisher::default().picture(&mut self.state, self.now).orgs[org].condition.clone()
    }

    fn notices(&self, kind: &str) -> usize {
        self.state.notices.ring.iter().filter(|notice| notice.kind == kind).count()
    }
}

fn ok() -> Verdict {
    Verdict::Answered { refused: false, usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() } }
}

fn limited() -> Verdict {
    Verdict::Trouble(Trouble::RateLimited(LimitKind::Steady), ApiError::default())
}

fn overloaded() -> Verdict {
    Verdict::Trouble(Trouble::Overloaded, ApiError { kind: "overloaded_error".to_owned(), ..ApiError::default() })
}

fn unauthorised() -> Verdict {
    Verdict::Trouble(Trouble::Account(AccountTrouble::Auth), ApiError { status: Some(401), ..ApiError::default() })
}

fn no_model() -> Verdict {
    Verdict::Invalid(ApiError {
        status: Some(404),
        kind: "not_found_error".to_owned(),
        message: "model: claude-typo-9".to_owned(),
        code: None,
    })
}

const A: OrgId = OrgId(0);
const B: OrgId = OrgId(1);
const RUN: RunSlot = RunSlot(0);

#[test]
fn a_run_ends_when_every_outcome_is_durable_and_not_before() {
    let mut desk = Desk::headless(&[10], 3);
    desk.end_all(&ok());
    assert_eq!((desk.counts().succeeded, desk.counts().unsynced), (0, 3));
    assert!(desk.rested.is_empty());
    desk.sync();
    assert_eq!(desk.counts().succeeded, 3);
    assert_eq!(desk.rested, [(RUN, 0)]);
}

#[test]
fn an_org_that_has_not_answered_yet_is_sent_a_few_calls_only() {
    let mut desk = Desk::headless(&[100], 1_000);
    assert_eq!(desk.flying.len(), 4);
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    assert_eq!(desk.flying.len(), 25);
}

#[test]
fn l1_a_storm_longer_than_any_retry_count_fails_nothing() {
    let mut desk = Desk::headless(&[20], 50);
    for _ in 0..300 {
        desk.wait(Duration::from_secs(2));
        desk.end_all(&limited());
    }
    let counts = desk.counts();
    assert_eq!((counts.invalid, counts.refused, counts.open()), (0, 0, 50));
    assert!(counts.re_drivable > 0);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 50);
    assert_eq!(desk.rested, [(RUN, 0)]);
}

#[test]
fn l4_while_an_org_is_closed_by_retry_after_nothing_goes_out_and_the_screen_counts_down() {
    let mut desk = Desk::headless(&[20], 100);
    desk.end_all(&ok());
    let secs = |n| RetryAfter::After(Duration::from_secs(n));
    desk.wait(Duration::from_secs(1));
    desk.end(0, limited(), RateLimits::default(), secs(171));
    desk.end(0, limited(), RateLimits::default(), secs(1));
    desk.end_all(&ok());
    let sent = desk.sent;
    desk.wait(Duration::from_secs(170));
    assert_eq!(desk.sent, sent);
    assert!(matches!(desk.condition(0), Condition::BackingOff { for_ms: 1_000, .. }), "{:?}", desk.condition(0));
    desk.wait(Duration::from_secs(2));
    assert!(desk.sent > sent);
}

#[test]
fn l5_an_org_parked_for_days_hands_its_queue_to_the_others() {
    let mut desk = Desk::headless(&[10, 10], 30);
    desk.end_all(&ok());
    desk.wait(Duration::from_secs(1));
    let first = desk.flying.iter().position(|(.., org, _)| *org == A).unwrap();
    desk.end(first, limited(), RateLimits::default(), RetryAfter::After(Duration::from_secs(302_539)));
    assert!(matches!(desk.condition(0), Condition::Parked { for_ms: Some(302_539_000), .. }));
    desk.end_all_of(A, &ok());
    desk.finish();
    assert_eq!(desk.counts().succeeded, 30);
}

#[test]
fn l6_when_every_org_cools_the_earliest_goes_first_and_nothing_fails() {
    let mut desk = Desk::headless(&[10, 10], 60);
    desk.end_all(&ok());
    desk.wait(Duration::from_secs(1));
    for (org, secs) in [(A, 30), (B, 10)] {
        let ix = desk.flying.iter().position(|(.., flying, _)| *flying == org).unwrap();
        desk.end(ix, limited(), RateLimits::default(), RetryAfter::After(Duration::from_secs(secs)));
    }
    desk.end_all(&ok());
    assert_eq!(desk.flying.len(), 0);
    desk.wait(Duration::from_secs(11));
    assert!(desk.flying_on(B) > 0 && desk.flying_on(A) == 0);
    assert_eq!(desk.counts().invalid, 0);
}

#[test]
fn l7_an_overloaded_org_is_probed_and_comes_back() {
    let mut desk = Desk::headless(&[40], 200);
    desk.end_all(&ok());
    desk.wait(Duration::from_secs(1));
    while !desk.flying.is_empty() {
        desk.end_all(&overloaded());
    }
    assert_eq!(desk.notices("breaker-open"), 1);
    assert_eq!(desk.flying.len(), 0);
    desk.wait(Duration::from_secs(3));
    assert_eq!(desk.flying.len(), 1, "one probe");
    assert_eq!(desk.condition(0), Condition::Probing);
    desk.end_all(&ok());
    assert_eq!(desk.notices("breaker-closed"), 1);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 200);
}

#[test]
fn l8_a_revoked_key_parks_its_org_once_and_the_others_finish_unburned() {
    let mut desk = Desk::headless(&[10, 10], 80);
    desk.end_all(&ok());
    desk.wait(Duration::from_secs(1));
    desk.end_all_of(A, &unauthorised());
    assert_eq!(desk.notices("parked"), 1);
    assert_eq!(desk.counts().re_drivable, 0, "unburned");
    assert_eq!(desk.flying_on(A), 0);
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.rested[0].1), (80, 0));
}

#[test]
fn l9_with_every_key_revoked_a_headless_run_ends_at_once_and_can_be_resumed() {
    let mut desk = Desk::headless(&[10, 10], 80);
    desk.end_all(&ok());
    desk.sync();
    desk.wait(Duration::from_secs(1));
    desk.end_all(&unauthorised());
    desk.sync();
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert_eq!(desk.state.runs[0].status, RunStatus::Incomplete);
}

#[test]
fn l9_keys_that_never_worked_are_a_problem_of_the_set_up() {
    let mut desk = Desk::headless(&[10, 10], 80);
    desk.end_all(&unauthorised());
    assert_eq!(desk.rested, [(RUN, 2)]);
    assert_eq!(desk.counts().unsent, 80);
}

#[test]
fn on_screen_a_run_with_every_org_parked_holds_until_one_is_revived() {
    let mut desk = Desk::new(&[10], &[20], DispatchSettings::default(), false);
    desk.end_all(&unauthorised());
    assert_eq!(desk.state.runs[0].status, RunStatus::Holding);
    desk.wait(Duration::from_secs(3_600));
    assert_eq!(desk.flying.len(), 0);
    assert!(matches!(desk.command(Command::ReviveOrg { org: A }), CommandOutcome::Done(_)));
    assert_eq!(desk.flying.len(), 1, "one probe first");
    desk.finish();
    assert_eq!(desk.counts().succeeded, 20);
}

#[test]
fn l11_a_wrong_model_stops_the_run_after_the_first_few() {
    let mut desk = Desk::headless(&[100, 100, 100], 1_000_000);
    desk.end_all(&no_model());
    desk.sync();
    while !desk.flying.is_empty() {
        desk.end_all(&no_model());
        desk.sync();
    }
    assert!(desk.sent <= 20, "{} were sent", desk.sent);
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert!(desk.state.runs[0].reason.as_ref().unwrap().contains("claude-typo-9"));
}

#[test]
fn a_blown_fuse_waits_for_the_operator_on_screen_and_does_not_blow_twice() {
    let mut desk = Desk::new(&[100], &[1_000], DispatchSettings::default(), false);
    for _ in 0..5 {
        desk.end(0, no_model(), RateLimits::default(), RetryAfter::Absent);
    }
    assert_eq!(desk.state.runs[0].status, RunStatus::Paused);
    desk.command(Command::ResumeRun { run: RUN });
    desk.end_all(&no_model());
    assert_eq!(desk.state.runs[0].status, RunStatus::Running);
}

#[test]
fn requests_that_are_wrong_in_different_ways_blow_no_fuse() {
    let mut desk = Desk::headless(&[100], 40);
    let wrong = |what: &str| {
        Verdict::Invalid(ApiError {
            status: Some(400),
            kind: "invalid_request_error".to_owned(),
            message: what.to_owned(),
            code: None,
        })
    };
    desk.end(0, wrong("messages: too long"), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, wrong("tools.0: unknown"), RateLimits::default(), RetryAfter::Absent);
    for _ in 0..6 {
        desk.end(0, wrong("tools.0: unknown"), RateLimits::default(), RetryAfter::Absent);
    }
    desk.finish();
    assert_eq!((desk.counts().invalid, desk.rested[0].1), (8, 3));
}

#[test]
fn l12_low_headroom_shrinks_the_window_moves_the_share_and_comes_back_by_itself() {
    let mut desk = Desk::headless(&[40, 40], 5_000);
    desk.end_all(&ok());
    for _ in 0..60 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&ok());
        desk.sync();
    }
    let before = desk.flying_on(A);
    let five_percent = RateLimits {
        requests: Some(Bucket { limit: 1_000, remaining: 50, reset_in: Some(Duration::from_secs(57)) }),
        ..RateLimits::default()
    };
    for _ in 0..3 {
        desk.wait(Duration::from_millis(300));
        for _ in 0..desk.flying_on(A) {
            let ix = desk.flying.iter().position(|(.., org, _)| *org == A).unwrap();
            desk.end(ix, ok(), five_percent, RetryAfter::Absent);
        }
    }
    assert!(desk.flying_on(A) * 2 <= before, "{} of {before}", desk.flying_on(A));
    assert!(matches!(desk.condition(0), Condition::Easing { .. }));
    assert_eq!(desk.notices("easing"), 1);
    desk.end_all_of(A, &ok());
    desk.wait(Duration::from_secs(60));
    assert_eq!(desk.flying_on(A), before, "back without traffic");
}

#[test]
fn l13_after_a_cut_no_call_starts_until_in_flight_is_below_the_new_window() {
    let mut desk = Desk::headless(&[20], 5_000);
    desk.end_all(&ok());
    for _ in 0..40 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&ok());
    }
    assert_eq!(desk.flying.len(), 20);
    desk.wait(Duration::from_millis(10));
    desk.end(0, limited(), RateLimits::default(), RetryAfter::Now);
    desk.wait(Duration::from_millis(2_100));
    let sent = desk.sent;
    for _ in 0..9 {
        desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    }
    assert_eq!((desk.sent, desk.flying.len()), (sent, 10));
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    assert_eq!(desk.flying.len(), 10);
}

#[test]
fn l14_a_failing_request_holds_no_slot_while_it_waits() {
    let mut desk = Desk::headless(&[1], 2);
    assert_eq!(desk.flying[0].1, RequestNo(0));
    desk.end(0, overloaded(), RateLimits::default(), RetryAfter::Absent);
    assert_eq!(desk.flying[0].1, RequestNo(1));
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 2);
}

#[test]
fn l19_a_refusal_is_a_class_of_its_own() {
    let mut desk = Desk::headless(&[4], 2);
    desk.end(
        0,
        Verdict::Answered { refused: true, usage: Usage::default() },
        RateLimits::default(),
        RetryAfter::Absent,
    );
    desk.finish();
    assert_eq!((desk.counts().refused, desk.counts().succeeded, desk.rested[0].1), (1, 1, 3));
}

#[test]
fn an_outage_is_waited_out_up_to_the_limit_and_then_the_run_ends_resumable() {
    let settings = DispatchSettings { outage_limit: Some(Duration::from_secs(900)), ..DispatchSettings::default() };
    let mut desk = Desk::new(&[10], &[100], settings, true);
    desk.end_all(&ok());
    desk.sync();
    for second in 0..1_000 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&Verdict::Trouble(Trouble::Connect, ApiError::default()));
        if !desk.rested.is_empty() {
            assert!(second >= 900, "{second}");
            assert_eq!(desk.rested, [(RUN, 4)]);
            return;
        }
    }
    panic!("still waiting");
}

#[test]
fn an_api_that_was_never_heard_of_ends_a_headless_run_within_a_minute_as_a_set_up_problem() {
    let mut desk = Desk::headless(&[10, 10], 100);
    for _ in 0..60 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&Verdict::Trouble(Trouble::Connect, ApiError::default()));
    }
    assert_eq!(desk.rested, [(RUN, 2)]);
}

#[test]
fn a_full_disk_stops_admission_and_goes_on_when_it_heals() {
    let mut desk = Desk::headless(&[4], 20);
    desk.feed(vec![Event::StoreBlocked { run: RUN, message: "no space".to_owned() }]);
    let sent = desk.sent;
    desk.end_all(&ok());
    assert_eq!(desk.sent, sent);
    desk.feed(vec![Event::StoreHealed { run: RUN }]);
    assert!(desk.sent > sent);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 20);
}

#[test]
fn d4_a_stop_does_not_wait_for_a_disk_that_takes_nothing() {
    let mut desk = Desk::new(&[4], &[20], DispatchSettings::default(), false);
    desk.end_all(&ok());
    desk.feed(vec![Event::StoreBlocked { run: RUN, message: "no space".to_owned() }]);
    desk.command(Command::DrainRun { run: RUN });
    desk.end_all(&ok());
    assert_eq!(desk.rested, [], "a drain waits for the disk");
    desk.command(Command::StopRun { run: RUN });
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert_eq!(desk.counts().succeeded, 0, "nothing is done that is not durable");
}

#[test]
fn keys_of_one_organisation_share_one_window() {
    let mut desk = Desk::headless(&[10, 10], 500);
    for of in [A, B] {
        let ix = desk.flying.iter().position(|(.., org, _)| *org == of).unwrap();
        let (run, no, org, started) = desk.flying.remove(ix);
        desk.feed(vec![Event::Attempted(Box::new(Attempt {
            run,
            no,
            org,
            started,
            latency: Duration::ZERO,
            verdict: ok(),
            limits: RateLimits::default(),
            retry_after: RetryAfter::Absent,
            organization: Some("one-and-the-same".to_owned()),
            cost: Money::ZERO,
            record: None,
        }))]);
    }
    assert_eq!(desk.notices("shared-organisation"), 1);
    for _ in 0..100 {
        desk.wait(Duration::from_secs(1));
        desk.end_all(&ok());
        desk.sync();
        assert!(desk.flying.len() <= 10, "{}", desk.flying.len());
    }
    assert!(desk.state.pools[0].windows[Family::Haiku.ix()].as_ref().is_some_and(|window| window.limit() == 10));
}

#[test]
fn stopping_abandons_what_is_in_flight_counts_it_and_is_said_once() {
    let mut desk = Desk::new(&[10], &[50], DispatchSettings::default(), false);
    desk.end_all(&ok());
    desk.sync();
    let in_flight = desk.flying.len() as u64;
    assert!(matches!(desk.command(Command::StopRun { run: RUN }), CommandOutcome::Done(_)));
    assert_eq!(desk.state.runs[0].possibly_charged, in_flight);
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert!(matches!(desk.command(Command::StopRun { run: RUN }), CommandOutcome::AlreadySo(_)));
    assert_eq!(desk.state.orgs[0].in_flight(), 0);
}

#[test]
fn draining_finishes_what_is_in_flight_and_sends_nothing_more() {
    let mut desk = Desk::new(&[10], &[50], DispatchSettings::default(), false);
    desk.command(Command::DrainRun { run: RUN });
    let sent = desk.sent;
    desk.end_all(&ok());
    desk.sync();
    assert_eq!((desk.sent, desk.rested.clone()), (sent, vec![(RUN, 4)]));
    assert_eq!(desk.counts().succeeded, 4);
}

#[test]
fn a_cap_above_the_polite_one_needs_to_be_confirmed_and_a_stale_one_is_refused() {
    let mut desk = Desk::headless(&[10], 500);
    let order = |seen, cap, above_polite| Command::SetCap { org: A, family: Family::Haiku, seen, cap, above_polite };
    assert!(matches!(desk.command(order(10, 11, false)), CommandOutcome::Refused(_)));
    assert!(matches!(desk.command(order(9, 5, false)), CommandOutcome::Refused(_)));
    assert!(matches!(desk.command(order(10, 5, false)), CommandOutcome::Done(_)));
    assert!(matches!(desk.command(order(10, 5, false)), CommandOutcome::AlreadySo(_)));
    assert!(matches!(desk.command(order(5, 10, false)), CommandOutcome::Done(_)));
    assert!(matches!(desk.command(order(10, 12, true)), CommandOutcome::Done(_)));
}

#[test]
fn two_runs_share_a_window_and_neither_starves() {
    let mut desk = Desk::new(&[10], &[300, 300], DispatchSettings::default(), true);
    let mut done = [0, 0];
    for _ in 0..40 {
        desk.wait(Duration::from_secs(1));
        assert!(desk.flying.len() <= 10);
        for (run, ..) in &desk.flying {
            done[run.ix()] += 1;
        }
        desk.end_all(&ok());
        desk.sync();
    }
    let [a, b]: [i32; 2] = done;
    assert!((a - b).abs() <= 40, "{a} and {b}");
}

#[test]
fn the_org_with_more_room_takes_more_and_no_slot_leaks() {
    let mut desk = Desk::headless(&[30, 6], 400);
    desk.end_all(&ok());
    let mut by_org = [0, 0];
    for _ in 0..200 {
        desk.wait(Duration::from_millis(500));
        for org in [A, B] {
            by_org[org.ix()] += desk.flying_on(org);
        }
        desk.end_all(&ok());
        desk.sync();
    }
    assert!(by_org[0] > by_org[1]);
    assert_eq!(desk.state.orgs.iter().map(super::state::OrgState::in_flight).sum::<u32>(), 0);
    assert_eq!(desk.rested, [(RUN, 0)]);
}

fn verdict(kind: u8) -> (Verdict, RetryAfter) {
    match kind {
        0..=5 => (ok(), RetryAfter::Absent),
        6 => (limited(), RetryAfter::Absent),
        7 => (limited(), RetryAfter::After(Duration::from_secs(3))),
        8 => (overloaded(), RetryAfter::Absent),
        9 => (Verdict::Trouble(Trouble::Timeout, ApiError::default()), RetryAfter::Absent),
        10 => (no_model(), RetryAfter::Absent),
        11 => (unauthorised(), RetryAfter::Absent),
        _ => (Verdict::Answered { refused: true, usage: Usage::default() }, RetryAfter::Absent),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever happens in whatever order: no request is lost or in two places, nothing is sent past a window or to an
    /// org that takes no work, and what the counters say adds up.
    #[test]
    fn any_order_of_events_keeps_the_promises(
        caps in prop::collection::vec(1u32..30, 1..4),
        runs in prop::collection::vec(1usize..60, 1..3),
        unattended in any::<bool>(),
        steps in prop::collection::vec((0u8..20, 0usize..64, 0u8..13, 0u64..4_000), 1..250),
    ) {
        let mut desk = Desk::new(&caps, &runs, DispatchSettings::default(), unattended);
        for (step, ix, kind, millis) in steps {
            let sent = desk.sent;
            match step {
                0..=9 if !desk.flying.is_empty() => {
                    let (verdict, retry_after) = verdict(kind);
                    let ix = ix % desk.flying.len();
                    desk.end(ix, verdict, RateLimits::default(), retry_after);
                }
                10..=12 => desk.sync(),
                13 => { desk.command(Command::ReviveOrg { org: OrgId((ix % caps.len()) as u16) }); }
                14 => { desk.command(Command::PauseRun { run: RunSlot((ix % runs.len()) as u16) }); }
                15 => { desk.command(Command::ResumeRun { run: RunSlot((ix % runs.len()) as u16) }); }
                16 if ix == 0 => { desk.command(Command::StopRun { run: RUN }); }
                17 => { desk.command(Command::PauseOrg { org: OrgId((ix % caps.len()) as u16) }); }
                _ => desk.wait(Duration::from_millis(millis)),
            }
            for run in &desk.state.runs {
                let counts = run.queue.counts();
                prop_assert_eq!(counts.done() + counts.open(), counts.total);
                prop_assert_eq!(counts.in_flight, desk.flying.iter().filter(|(r, ..)| *r == run.slot).count() as u64);
                prop_assert!(!run.status.is_over() || counts.in_flight + counts.unsynced == 0);
            }
            let mut unique: Vec<_> = desk.flying.iter().map(|(run, no, ..)| (*run, *no)).collect();
            unique.sort();
            unique.dedup();
            prop_assert_eq!(unique.len(), desk.flying.len(), "a request is in flight twice");
            for (org, cap) in desk.state.orgs.iter().zip(&caps) {
                let window = desk.state.pools[org.pool].windows[Family::Haiku.ix()].as_ref();
                let in_flight = desk.flying_on(org.id) as u32;
                prop_assert_eq!(in_flight, org.in_flight());
                prop_assert!(in_flight <= *cap);
                let sent_now = desk.sent > sent && desk.flying.last().is_some_and(|(.., last, _)| *last == org.id);
                if sent_now {
                    prop_assert!(in_flight <= window.map_or(0, |w| w.limit()), "sent past the window");
                    prop_assert!(org.parked.is_none() && !org.paused, "sent to an org that takes no work");
                }
            }
        }
    }
}
