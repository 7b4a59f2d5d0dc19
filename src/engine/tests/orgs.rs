//! What happens to orgs: limits, storms, parking, caps.

use super::*;

#[test]
fn an_org_that_has_not_answered_yet_is_sent_a_few_calls_only() {
    let mut desk = Desk::headless(&[100], 1_000);
    assert_eq!(desk.flying.len(), 4);
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    assert_eq!(desk.flying.len(), 25);
}

#[test]
fn no_more_calls_go_out_than_the_process_can_have_whatever_the_caps_are() {
    let mut desk = Desk::bare(&[100, 100], &[500], DispatchSettings::default(), true);
    assert_eq!(desk.state.cramped(RUN), None);
    desk.state.most_in_flight = 5;
    let told = desk.state.cramped(RUN).unwrap();
    assert!(told.contains("no more than 5 calls") && told.contains("the caps allow 200"), "{told}");
    desk.feed(vec![]);
    let mut both = [false; 2];
    for _ in 0..200 {
        desk.wait(Duration::from_secs(1));
        assert_eq!(desk.flying.len(), 5);
        both = [A, B].map(|org| both[org.ix()] || desk.flying_on(org) > 0);
        desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    }
    assert_eq!(both, [true, true]);
    desk.finish();
    assert_eq!(desk.counts().succeeded, 500);
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
    assert_eq!(desk.state.orgs.iter().map(crate::engine::state::OrgState::in_flight).sum::<u32>(), 0);
    assert_eq!(desk.rested, [(RUN, 0)]);
}

fn forbidden() -> Verdict {
    Verdict::Trouble(
        Trouble::Account(AccountTrouble::Permission),
        ApiError { status: Some(403), ..ApiError::default() },
    )
}

#[test]
fn one_request_that_every_org_refuses_parks_nobody_and_is_set_aside() {
    let mut desk = Desk::headless(&[4, 4], 60);
    desk.end_all(&ok());
    desk.sync();
    let poison = desk.flying[0].1;
    for _ in 0..200 {
        if !desk.rested.is_empty() {
            break;
        }
        desk.wait(Duration::from_millis(600));
        for _ in 0..desk.flying.len() {
            let verdict = if desk.flying[0].1 == poison { forbidden() } else { ok() };
            desk.end(0, verdict, RateLimits::default(), RetryAfter::Absent);
        }
        desk.sync();
    }
    assert_eq!((desk.counts().succeeded, desk.counts().re_drivable), (59, 1));
    assert_eq!((desk.notices("parked"), desk.notices("set-aside")), (0, 1));
    assert_eq!(desk.rested, [(RUN, 4)]);
}

#[test]
fn a_request_that_was_set_aside_is_sent_again_when_the_operator_says_so_and_no_other_is() {
    let mut desk = Desk::headless(&[4, 4], 60);
    desk.end_all(&ok());
    desk.sync();
    let poison = desk.flying[0].1;
    while desk.notices("set-aside") == 0 {
        desk.wait(Duration::from_millis(600));
        for _ in 0..desk.flying.len() {
            let verdict = if desk.flying[0].1 == poison { forbidden() } else { ok() };
            desk.end(0, verdict, RateLimits::default(), RetryAfter::Absent);
        }
        if desk.notices("set-aside") == 0 {
            desk.sync();
        }
    }
    assert!(desk.rested.is_empty(), "answers wait for the disk");
    let again = |no| Command::ReDriveRequest { run: RUN, no, seen: Outcome::ReDrivable };
    assert!(matches!(desk.command(again(poison)), CommandOutcome::Done(_)));
    assert!(matches!(desk.command(again(poison)), CommandOutcome::AlreadySo(_)), "once is enough");
    let other = RequestNo(u32::from(poison.0 == 0));
    assert!(matches!(desk.command(again(other)), CommandOutcome::AlreadySo(_)), "it has become something else");
    let seen = Command::ReDriveRequest { run: RUN, no: other, seen: Outcome::Succeeded };
    assert!(matches!(desk.command(seen), CommandOutcome::Refused(_)), "it was paid");
    assert!(matches!(desk.command(again(RequestNo(60))), CommandOutcome::Refused(_)));
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.counts().re_drivable, desk.rested[0].1), (60, 0, 0));
    assert!(matches!(desk.command(again(poison)), CommandOutcome::AlreadySo(_)));
}

#[test]
fn an_org_that_refuses_everybody_is_parked_although_it_worked_before() {
    let mut desk = Desk::headless(&[4, 4], 60);
    desk.end_all(&ok());
    desk.sync();
    for _ in 0..4 {
        desk.wait(Duration::from_secs(2));
        desk.end_all_of(A, &forbidden());
    }
    assert_eq!(desk.notices("parked"), 1);
    desk.finish();
    assert_eq!((desk.counts().succeeded, desk.rested[0].1), (60, 0));
}

#[test]
fn one_key_under_two_labels_has_one_window() {
    let orgs = [org("a", 10), OrgSpec { key: org("a", 10).key, ..org("b", 10) }];
    let state = State::new(&orgs, DispatchSettings::default(), 1);
    assert_eq!(state.orgs[0].pool, state.orgs[1].pool);
}

#[test]
fn l11_a_model_that_goes_away_in_the_middle_of_a_run_burns_no_request() {
    let mut desk = Desk::headless(&[10], 200);
    desk.end_all(&ok());
    desk.wait(Duration::from_secs(1));
    desk.end_all(&no_model());
    assert_eq!(desk.notices("parked"), 1);
    desk.finish();
    assert_eq!(desk.counts().invalid, 0);
    assert_eq!(desk.rested[0].1, 4, "to be resumed");
}

#[test]
fn l11_a_model_that_one_org_does_not_have_is_asked_of_the_others_once_they_have_answered_for_it() {
    let mut desk = Desk::headless(&[10, 10], 200);
    desk.end_all_of(A, &ok());
    desk.end_all_of(B, &no_model());
    desk.finish();
    let counts = desk.counts();
    assert_eq!((counts.invalid, counts.succeeded), (0, 200));
}
