//! What pictures say of the time before them.

use super::*;

fn picture(desk: &mut Desk) -> crate::model::Snapshot {
    Publisher::default().picture(&mut desk.state, desk.now)
}

#[test]
fn the_course_of_an_org_shows_its_answers_429s_failures_cuts_and_window_second_by_second() {
    let mut desk = Desk::headless(&[100], 1_000);
    desk.wait(Duration::from_millis(1_500));
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    desk.wait(Duration::from_secs(1));
    desk.end(0, overloaded(), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, limited(), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, limited(), RateLimits::default(), RetryAfter::Absent);
    let window = picture(&mut desk).orgs[0].window();
    desk.wait(Duration::from_millis(600));
    let course = picture(&mut desk).orgs[0].course.clone();
    let told: Vec<_> = course.steps.iter().map(|s| (s.answered, s.failed, s.limited, s.cuts)).collect();
    assert_eq!((course.step_s, told), (1, vec![(0, 0, 0, 0), (2, 0, 0, 0), (0, 1, 2, 1)]));
    assert_eq!(course.steps[2].window, window);
}

#[test]
fn the_course_of_a_run_counts_what_is_durable_and_dates_what_was_paid() {
    let mut desk = Desk::headless(&[100], 4);
    desk.wait(Duration::from_millis(500));
    for _ in 0..3 {
        desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    }
    picture(&mut desk);
    desk.wait(Duration::from_secs(1));
    desk.sync();
    desk.wait(Duration::from_secs(1));
    desk.end_all(&ok());
    desk.sync();
    let told = |desk: &mut Desk| -> Vec<_> {
        picture(desk).runs[0].course.steps.iter().map(|step| (step.done, step.cost.0)).collect()
    };
    assert_eq!(told(&mut desk), vec![(0, 21), (3, 21)]);
    desk.now.mono = desk.now.mono + Duration::from_secs(50);
    assert_eq!(told(&mut desk), vec![(0, 21), (3, 21)], "it stands still once the run is over");
}

#[test]
fn latencies_of_answers_are_counted_by_their_bucket_and_failures_are_not() {
    let mut desk = Desk::headless(&[100], 100);
    desk.wait(Duration::from_millis(700));
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    desk.end(0, limited(), RateLimits::default(), RetryAfter::Absent);
    let latencies = picture(&mut desk).orgs[0].latencies.clone();
    let full: Vec<_> = latencies.counts.iter().enumerate().filter(|(_, n)| **n > 0).collect();
    assert_eq!(full, vec![(crate::model::series::Latencies::bucket_of(700), &1)]);
    assert!((690..=720).contains(&latencies.p99_ms), "{}", latencies.p99_ms);
}

#[test]
fn a_latency_beyond_all_bounds_counts_as_the_longest_and_takes_no_room() {
    let mut desk = Desk::headless(&[100], 100);
    desk.now.mono = desk.now.mono + Duration::from_secs(40_000);
    desk.end(0, ok(), RateLimits::default(), RetryAfter::Absent);
    let org = &picture(&mut desk).orgs[0];
    assert_eq!(org.latencies.n(), 1);
    assert!(org.latency_p50_ms >= 3_500_000, "{}", org.latency_p50_ms);
}

#[test]
fn a_limiter_says_when_its_bucket_is_full_again() {
    let mut desk = Desk::headless(&[100], 100);
    let bucket = Bucket { limit: 6_000, remaining: 4_500, reset_in: None };
    desk.end(0, ok(), RateLimits { requests: Some(bucket), ..RateLimits::default() }, RetryAfter::Absent);
    let limiter = picture(&mut desk).orgs[0].limiters[0].clone();
    // A quarter of a minute's worth is missing; what was sent meanwhile is counted, too.
    assert!((15_000..=20_000).contains(&limiter.full_in_ms), "{limiter:?}");
}
