//! What lies behind the screens, as badly as it may behave: anything may fail, be empty, or be huge.

use std::path::PathBuf;

use super::rng::Rng;
use crate::engine::EngineHandle;
use crate::model::browse::{Class, Page, Query, RequestDetail, RequestRow};
use crate::model::{CommandOutcome, Finding, Money, RequestNo, Snapshot};
use crate::report::fixtures;
use crate::tui::backstage::{Answer, Assessment, Attached, Driver, Errand, PilotTerms, Piloted, RunLimit, RunsFound};
use crate::tui::screens::planner::tests::draft;
use crate::tui::tests::runs_found;

/// Texts that people and programs write and no screen may stumble over.
pub(super) const TEXTS: [&str; 6] =
    ["judge", "", "日本語の識別子", "e\u{301}\u{1b}[31m\u{202e}\u{1F600}", "a\tb\r\nc\u{7}\u{0}", "مرحبا"];

pub(super) fn picture(rng: &mut Rng) -> Snapshot {
    let mut all: Vec<Snapshot> = fixtures::all().into_iter().map(|(_, snapshot)| snapshot).collect();
    // Sub-batches are what most can be destroyed of.
    all.extend(std::iter::repeat_n(fixtures::batches(), 8));
    let mut picture = all.swap_remove(rng.below(all.len()));
    if let Some(run) = picture.runs.first_mut()
        && rng.percent(20)
    {
        run.budget = Some(fixtures::budget());
    }
    if rng.percent(10) {
        picture.orgs.reverse();
    }
    picture
}

fn row(rng: &mut Rng, no: usize) -> RequestRow {
    RequestRow {
        no: RequestNo(no as u32),
        custom_id: format!("{}-{no}", rng.one(&TEXTS)),
        class: *rng.one(&Class::ALL),
        org: "high-prio".to_owned(),
        path: "sync".to_owned(),
        attempt: 1,
        request_id: "req_1".to_owned(),
        latency_ms: rng.next() % 1_000_000,
        tokens_in: rng.next() % 1_000_000,
        tokens_out: 5,
        cost: Money(rng.next() % 1_000_000_000),
        at: rng.one(&["2026-01-15T09:00:00.000Z", "", "日"]).to_string(),
        stop_reason: "end_turn".to_owned(),
        error: rng.one(&TEXTS).to_string(),
        excerpt: rng.one(&TEXTS).repeat(40),
    }
}

fn page(rng: &mut Rng, query: &Query) -> Page {
    let n_matched = *rng.one(&[0, 1, 7, 1_000_000]);
    let from = query.from.min(n_matched);
    let rows = (from..(from + query.rows).min(n_matched)).map(|no| row(rng, no)).collect();
    let read = if rng.percent(20) { 3 } else { 7 };
    Page { from, n_matched, rows, counts: [1, 2, 3, 4, 5], selected_at: None, read, size: 7, n_passed_over: 1 }
}

/// The answer to an errand; a handle and a picture when another run is shown from now on.
pub(super) fn answer(rng: &mut Rng, errand: &Errand, handle: &EngineHandle) -> Answer {
    let fails = rng.percent(15);
    let why = || "failed to read it: a reason that is longer than a small screen is wide, \u{1b}[2Jand rude".to_owned();
    let driver = *rng.one(&[Driver::Here, Driver::Here, Driver::Elsewhere, Driver::Nobody]);
    let attached = |driver| Attached { handle: handle.clone(), driver };
    match errand {
        Errand::ListRuns if rng.percent(10) => Answer::Runs(Ok(RunsFound::default())),
        Errand::ListRuns if fails => Answer::Runs(Err(why())),
        Errand::ListRuns => Answer::Runs(Ok(runs_found())),
        Errand::Requests { .. } if fails => Answer::Requests(Err(why())),
        Errand::Requests { query, .. } => Answer::Requests(Ok(page(rng, query))),
        Errand::Request { no, .. } => {
            let lines = TEXTS.map(|text| text.repeat(30)).to_vec();
            let detail = RequestDetail { row: row(rng, no.ix()), request: Ok(lines.clone()), answer: lines };
            Answer::Request(*no, if fails { Err(why()) } else { Ok(Box::new(detail)) })
        }
        Errand::Assess { .. } if fails => Answer::Assessed(Err(why())),
        Errand::Assess { dir, re_drive } => Answer::Assessed(Ok(Assessment {
            dir: dir.clone(),
            re_drive: *re_drive,
            input: rng.one(&TEXTS).to_string(),
            n_left: *rng.one(&[0, 1_200, u64::MAX]),
            in_batches: *rng.one(&[0, 1_100]),
            cost: "$4.10".to_owned(),
            orgs: vec![rng.one(&TEXTS).to_string(); 3],
            expected: rng.percent(50).then_some(Money(u64::MAX)),
            spent: *rng.one(&[Money::ZERO, Money::DOLLAR, Money(u64::MAX)]),
            max_cost: rng.percent(50).then_some(Money::DOLLAR),
            ended_at: *rng.one(&[None, Some(RunLimit::Cost(Money::ZERO)), Some(RunLimit::Attempts(7))]),
        })),
        Errand::Open { .. } | Errand::Resume { .. } | Errand::Demo | Errand::Launch(_) => {
            Answer::Attached(if fails { Err(why()) } else { Ok(attached(driver)) })
        }
        Errand::Pilot { .. } => Answer::Piloting(if fails { Err(why()) } else { Ok(attached(Driver::Here)) }),
        Errand::AssessPilot(order) => {
            let range = (Money::ZERO, Money(u64::MAX));
            let terms = PilotTerms { n: 40, expected: (!rng.percent(30)).then_some(Money::DOLLAR), range };
            Answer::PilotAssessed(order.clone(), if fails { Err(why()) } else { Ok(terms) })
        }
        Errand::Measure => {
            let piloted = Piloted { draft: Box::new(draft(Some("in.jsonl"))), said: Ok("measured".to_owned()) };
            Answer::Measured(if fails { Err(why()) } else { Ok(piloted) })
        }
        Errand::AuditInput => Answer::Audited(if fails { Err(why()) } else { Ok(Vec::<Finding>::new()) }),
        Errand::Export { .. } => Answer::Said(if fails { Err(why()) } else { Ok(why()) }),
        Errand::Report { .. } => Answer::Report(if fails { Err(why()) } else { Ok(TEXTS.join("\n").repeat(60)) }),
        Errand::Delete { dir, .. } => Answer::Deleted(if fails { Err(why()) } else { Ok(PathBuf::from(dir)) }),
    }
}

pub(super) fn outcome(rng: &mut Rng) -> CommandOutcome {
    let text = rng.one(&TEXTS).to_string();
    match rng.below(3) {
        0 => CommandOutcome::Done(text),
        1 => CommandOutcome::AlreadySo(text),
        _ => CommandOutcome::Refused(text),
    }
}
