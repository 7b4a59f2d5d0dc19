//! What becomes of runs: their ends, holds, fuses, outages.

use crate::api::{Finding, Sight};
use crate::engine::preflight::{self, Want};

use super::*;

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
fn what_is_answered_and_not_on_the_disk_yet_is_no_wait_for_a_re_drive() {
    let mut desk = Desk::headless(&[10], 3);
    desk.end_all(&ok());
    for _ in 0..2 {
        crate::engine::waits::look(&mut desk.state, desk.now.mono);
        desk.now.mono = desk.now.mono + Duration::from_secs(1);
    }
    let waited = desk.state.runs[0].waited.ms();
    assert!(waited.contains_key("in-flight") && !waited.contains_key("retry"), "{waited:?}");
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
    desk.feed(vec![Event::StoreBlocked { run: RUN, message: "no space".to_owned(), for_good: false }]);
    let sent = desk.sent;
    desk.end_all(&ok());
    assert_eq!(desk.sent, sent);
    desk.feed(vec![Event::StoreHealed { run: RUN }]);
    assert!(desk.sent > sent);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 20);
}

#[test]
fn d4_a_drain_waits_for_a_disk_that_takes_nothing_and_the_second_stop_does_not() {
    let mut desk = Desk::new(&[4], &[20], DispatchSettings::default(), false);
    desk.end_all(&ok());
    desk.feed(vec![Event::StoreBlocked { run: RUN, message: "no space".to_owned(), for_good: false }]);
    desk.command(Command::DrainRun { run: RUN });
    desk.end_all(&ok());
    assert_eq!(desk.rested, [], "a drain waits for the disk");
    desk.command(Command::StopRun { run: RUN });
    assert_eq!(desk.rested, [], "so does a stop, which says so");
    desk.command(Command::StopRun { run: RUN });
    assert_eq!(desk.rested, [(RUN, 4)]);
    assert_eq!(desk.counts().succeeded, 0, "nothing is done that is not durable");
}

#[test]
fn d4_a_run_that_is_stopped_while_the_disk_is_full_waits_for_it_until_it_is_stopped_again() {
    let stopped = |unattended| {
        let mut desk = Desk::new(&[10], &[50], DispatchSettings::default(), unattended);
        desk.end_all(&ok());
        desk.feed(vec![Event::StoreBlocked { run: RUN, message: "no space".to_owned(), for_good: false }]);
        let CommandOutcome::Done(text) = desk.command(Command::StopRun { run: RUN }) else { panic!("refused") };
        assert!(text.contains(" answers in memory are not on the disk") && desk.rested.is_empty(), "{text}");
        desk.end_all(&ok());
        assert_eq!(desk.rested, [], "what was in flight has ended, and is not on the disk");
        desk
    };
    let mut desk = stopped(true);
    desk.sync();
    assert_eq!((desk.rested.clone(), desk.counts().succeeded), (vec![(RUN, 4)], desk.sent as u64));
    let mut desk = stopped(false);
    assert!(matches!(desk.command(Command::StopRun { run: RUN }), CommandOutcome::Done(_)));
    assert_eq!((desk.rested.clone(), desk.counts().unsynced), (vec![(RUN, 4)], desk.sent as u64));
}

#[test]
fn d3_a_run_that_has_lost_its_directory_for_good_ends_by_itself_when_unattended_and_at_the_first_stop_else() {
    let lost = || vec![Event::StoreBlocked { run: RUN, message: "taken".to_owned(), for_good: true }];
    let mut desk = Desk::headless(&[10], 50);
    desk.end_all(&ok());
    desk.feed(lost());
    desk.end_all(&ok());
    assert_eq!(desk.rested, [(RUN, 4)]);
    let mut desk = Desk::new(&[10], &[50], DispatchSettings::default(), false);
    desk.end_all(&ok());
    desk.feed(lost());
    assert!(desk.rested.is_empty());
    desk.command(Command::StopRun { run: RUN });
    assert_eq!(desk.rested, [(RUN, 4)]);
}

#[test]
fn stopping_abandons_what_is_in_flight_counts_it_and_is_said_once() {
    let mut desk = Desk::new(&[10], &[50], DispatchSettings::default(), false);
    desk.end_all(&ok());
    desk.sync();
    let in_flight = desk.flying.len() as u64;
    assert!(matches!(desk.command(Command::StopRun { run: RUN }), CommandOutcome::Done(_)));
    assert_eq!(desk.state.runs[0].ledger.in_doubt().0, in_flight);
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

/// A run of 100 requests over two orgs that are being looked at.
fn looked_at() -> Desk {
    let mut desk = Desk::bare(&[10, 10], &[100], DispatchSettings::default(), true);
    let want = Want {
        run: RUN,
        model: "claude-haiku-4-5".to_owned(),
        family: Family::Haiku,
        n: 100,
        least_tokens: 16,
        most_tokens: 16,
    };
    let mut effects = Vec::new();
    preflight::begin(&mut desk.state, vec![want], desk.now, &mut effects);
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Look { .. })).count(), 2);
    desk.feed(vec![]);
    assert_eq!(desk.sent, 0, "nobody is sent anything before it has shown itself");
    desk
}

fn saw(desk: &mut Desk, org: OrgId, finding: Finding) {
    desk.feed(vec![Event::Looked { org, model: 0, sight: Box::new(Sight { organization: None, at: None, finding }) }]);
}

#[test]
fn an_org_goes_as_soon_as_it_has_shown_itself_and_a_silent_one_is_not_waited_for_long() {
    let mut desk = looked_at();
    saw(&mut desk, A, Finding::Model { max_tokens: Some(64_000) });
    assert_eq!((desk.flying_on(A), desk.flying_on(B)), (4, 0));
    desk.wait(Duration::from_secs(5));
    assert_eq!(desk.flying_on(B), 4);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 100);
}

#[test]
fn an_org_without_the_model_is_sent_none_of_its_requests() {
    let mut desk = looked_at();
    saw(&mut desk, A, Finding::NoSuchModel);
    saw(&mut desk, B, Finding::Untold);
    assert_eq!(desk.notices("preflight"), 1);
    desk.finish();
    assert_eq!((desk.state.orgs[0].totals.n_sent, desk.counts().succeeded), (0, 100));
}

#[test]
fn l9_a_key_that_does_not_work_is_known_before_the_first_wave_and_nothing_is_sent() {
    let mut desk = looked_at();
    saw(&mut desk, A, Finding::Unauthorized(ApiError::default()));
    assert!(matches!(desk.condition(0), Condition::Parked { .. }));
    saw(&mut desk, B, Finding::Unauthorized(ApiError::default()));
    assert_eq!((desk.sent, desk.rested.clone()), (0, vec![(RUN, 2)]));
}

#[test]
fn when_the_last_org_with_the_model_is_parked_the_run_holds_and_ends() {
    let mut desk = looked_at();
    saw(&mut desk, A, Finding::NoSuchModel);
    saw(&mut desk, B, Finding::Model { max_tokens: None });
    desk.end_all(&unauthorised());
    assert_eq!(desk.rested, vec![(RUN, 2)]);
    assert!(desk.state.runs[0].reason.as_ref().unwrap().contains("org-0: without the model"));
}

#[test]
fn a_pilot_that_meets_a_429_with_more_than_one_in_ten_is_ended_before_it_sends_another_call() {
    for (pilot, n_limited, ends) in [(Some(100), 11, true), (Some(100), 10, false), (None, 11, false)] {
        let mut desk = Desk::bare(&[100], &[100], DispatchSettings::default(), false);
        desk.state.runs[0].facts.pilot = pilot;
        desk.feed(vec![]);
        let mut sent = 0;
        for _ in 0..n_limited {
            while desk.flying.is_empty() {
                desk.wait(Duration::from_secs(1));
            }
            sent = desk.sent;
            desk.end(0, limited(), RateLimits::default(), RetryAfter::Absent);
        }
        desk.end_all(&ok());
        desk.sync();
        if ends {
            assert_eq!((desk.sent, desk.rested.clone()), (sent, vec![(RUN, 4)]));
            assert!(desk.state.runs[0].reason.as_ref().unwrap().contains("no room"));
        } else {
            desk.finish();
            assert_eq!((desk.rested.clone(), desk.counts().succeeded), (vec![(RUN, 0)], 100));
        }
    }
}
