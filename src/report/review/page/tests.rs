use std::collections::BTreeMap;

use super::*;
use crate::model::books::{Books, Doubtful, ReDriven, Settled};
use crate::model::{Money, Outcome, Route, Usage, Wall};
use crate::report::finished::RunFinished;
use crate::report::fixtures;
use crate::report::review::{
    ByClass, Decision, Economy, Latency, OrgTrouble, PlanAgainstActual, Segment, SubBatchSpan, Throughput, text,
};

/// A review in which every text that comes from outside is an attempt to break out of the page.
fn hostile() -> Review {
    let evil = || "</title><script>alert(1)</script>\" onload='x' \u{202e}&".to_owned();
    let snapshot = fixtures::finished();
    let mut run = RunFinished::from((&snapshot, &snapshot.runs[0], 3));
    (run.run_id, run.input, run.route_reason) = (evil(), evil(), evil());
    let tokens = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    let (org, model, outcome) = (evil(), evil(), Outcome::Succeeded);
    let books = Books {
        settled: vec![Settled { org, path: Route::Sync, model, outcome, n: 5, tokens, cost: Money::from_usd(1.5) }],
        doubtful: vec![Doubtful {
            org: evil(),
            path: Route::Sync,
            model: evil(),
            cause: evil(),
            n: 2,
            at_most: Money::from_usd(0.1),
        }],
        re_driven: vec![ReDriven { cause: evil(), attempts: 3, answered: 2, cost: Money::from_usd(0.2) }],
        ..Books::default()
    };
    Review {
        event: "run-report".to_owned(),
        economy: Economy {
            spent: Money::from_usd(1.5),
            in_doubt: Money::from_usd(0.1),
            needed: Money::from_usd(1.5),
            amplification: Some(1.0),
            amplification_at_most: Some(1.067),
            by_class: ByClass { output: Money::from_usd(1.5), ..ByClass::default() },
            prompt_cache_saved_usd: -0.01,
            batches_saved: Money::ZERO,
            answer_cache_saved: Money::ZERO,
        },
        plan: PlanAgainstActual::new((Some(100.0), Some(1.0)), (205.0, 28.4)),
        run,
        sessions: 2,
        live: false,
        standing: evil(),
        as_of: None,
        n_in_journal: u64::MAX,
        n_later: 0,
        time_ms: BTreeMap::from([("queue".to_owned(), 60_000), ("rate-limited".to_owned(), 20_000)]),
        throughput: Throughput {
            from_ms: 1_796_000_000_000,
            step_s: 5,
            done: vec![1, 0, 7],
            resumed_ms: vec![1_796_000_010_000],
        },
        latencies: vec![Latency {
            org: evil(),
            path: Route::Sync,
            n: 5,
            p50_ms: 700,
            p90_ms: 900,
            p95_ms: 1_500,
            p99_ms: 2_000,
            max_ms: 2_100,
        }],
        orgs: vec![OrgTrouble {
            label: evil(),
            n_429_steady: 4,
            n_429_ramp: 1,
            n_overloaded: 0,
            n_5xx: 0,
            n_transport: 2,
            n_account: 0,
        }],
        books,
        decisions: BTreeMap::from([(evil(), 3)]),
        decided: vec![Decision { at: Wall(1_796_000_000_000), kind: evil(), org: None, text: evil() }],
        sub_batches: vec![SubBatchSpan {
            index: 0,
            org: evil(),
            n_requests: 10,
            status: "harvested".to_owned(),
            took_ms: Some(300_000),
            stuck: true,
        }],
        stuck_fires: 1,
        segments: vec![Segment {
            key: Some(1),
            name: evil(),
            n: 5,
            n_succeeded: 5,
            n_refused: 0,
            n_invalid: 0,
            n_cached: 0,
            tokens_in_p50: 100,
            tokens_in_p95: 120,
            tokens_out_p50: 20,
            tokens_out_p95: 22,
            cost: Money::from_usd(1.5),
            per_success: Money::from_usd(0.3),
        }],
        by: Some(evil()),
    }
}

/// The names of the elements that are open at the end of a page; what is wrong with its nesting.
fn unbalanced(page: &str) -> Vec<String> {
    const VOID: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open: Vec<String> = Vec::new();
    for tag in page.split('<').skip(1) {
        let inside = tag.split('>').next().unwrap();
        let name: String =
            inside.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric() || *c == '!').collect();
        if VOID.contains(&name.as_str()) || inside.ends_with('/') {
            continue;
        }
        if inside.starts_with('/') {
            if open.pop().as_deref() != Some(name.as_str()) {
                open.push(format!("unexpected end of {name}"));
                return open;
            }
        } else {
            open.push(name);
        }
    }
    open
}

#[test]
fn nothing_from_outside_is_markup_and_every_element_is_closed() {
    let page = page(&hostile());
    assert_eq!(unbalanced(&page), Vec::<String>::new());
    for bad in ["<script", "\" onload", "\u{202e}", "alert(1)</"] {
        assert!(!page.contains(bad), "{bad}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn the_page_needs_no_network_follows_the_theme_and_has_every_chart() {
    let page = page(&hostile());
    for outside in ["http://", "https://", "src=", "@import", "url(", "<link", "<img"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("default-src 'none'"));
    let headings = [
        "Where the time went",
        "Plan and what came of it",
        "Throughput",
        "Latency",
        "Cost",
        "Orgs",
        "Sub-batches",
        "Decisions",
        "By ",
    ];
    for heading in headings {
        assert!(page.contains(&format!("<h2>{heading}")), "{heading}");
    }
    // Latency, cost twice, sub-batches, segments; and throughput.
    assert_eq!((page.matches("class=\"bars\"").count(), page.matches("<svg ").count()), (5, 1));
}

#[test]
fn the_gap_between_two_sessions_is_shaded_and_told() {
    let page = page(&hostile());
    assert_eq!(page.matches("class=\"gap\" x=\"1.00\" y=\"0\" width=\"1.00\"").count(), 1);
    assert!(page.contains("A session began at 2026-"), "{page}");
}

#[test]
fn what_a_chart_draws_can_be_read_as_text() {
    let page = page(&hostile());
    // Time with its share, a column of the throughput, percentiles, money by org and class, a sub-batch, a segment.
    for figure in ["75.0 %", "1m00s", ">7</td>", "p50 700ms · p99 2.0s", "$1.50 · 5 answers", "5m00s · stuck, canceled"]
    {
        assert!(page.contains(figure), "{figure}");
    }
    // What is drawn and nothing else is kept from those to whom the page is read.
    assert_eq!(page.matches("aria-hidden").count(), page.matches("class=\"bar\"").count() + 3);
}

#[test]
fn a_text_from_outside_stands_apart_from_ours_and_is_cut_when_it_is_a_novel() {
    let mut review = hostile();
    review.segments[0].name = "\u{5e9}".repeat(5_000);
    let page = page(&review);
    assert!(page.contains(&format!("<bdi>{}…</bdi>", "\u{5e9}".repeat(160))));
    review.segments[0].name = " ".to_owned();
    assert!(super::page(&review).contains("<bdi>&quot; &quot;</bdi>"));
}

#[test]
fn a_sub_batch_that_has_not_ended_is_on_the_page() {
    let mut review = hostile();
    review.sub_batches[0].took_ms = None;
    review.sub_batches[0].status = "in-progress".to_owned();
    let page = page(&review);
    assert!(page.contains("1 without an end") && page.contains("in-progress"));
}

#[test]
fn a_run_that_has_done_nothing_has_a_page_too() {
    let mut review = hostile();
    review.books = Books::default();
    review.throughput = Throughput::default();
    (review.latencies, review.sub_batches, review.segments) = (Vec::new(), Vec::new(), Vec::new());
    (review.decided, review.plan) = (Vec::new(), None);
    review.time_ms.clear();
    let page = page(&review);
    assert_eq!(unbalanced(&page), Vec::<String>::new());
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn a_run_that_is_not_over_has_no_exit_code_and_all_figures_are_of_one_moment() {
    let mut review = hostile();
    (review.live, review.run.exit_code, review.standing) = (true, None, "running (process 7 on here)".to_owned());
    (review.as_of, review.n_later) = (Some(Wall(1_796_000_000_000)), 1_234);
    let note = "the run goes on: every figure is of 2026-11-30 00:53:20 UTC";
    assert!(text(&review).contains(note), "{}", text(&review));
    assert!(page(&review).contains(note) && page(&review).contains("none yet: it goes on"));
    let line = serde_json::to_value(&review.run).unwrap();
    assert_eq!(line.get("exit_code"), Some(&serde_json::Value::Null));

    (review.live, review.run.exit_code) = (false, Some(4));
    let cut_off = text(&review);
    assert!(cut_off.contains("cut off: every figure is of its last word at 2026-11-30 00:53:20 UTC; the journal holds 1,234 outcomes more, which a resume counts"), "{cut_off}");
    assert!(page(&review).contains("4, incomplete, can be resumed"));
}

#[test]
fn of_many_segments_the_text_has_the_dearest_and_the_others_and_says_where_the_rest_is() {
    let mut review = hostile();
    let one = review.segments.remove(0);
    let named = |no: u64| Segment { key: Some(no), name: format!("s-{no}"), ..one.clone() };
    review.segments = (0..60).map(named).collect();
    review.segments.push(Segment { key: None, name: "(others)".to_owned(), ..one.clone() });
    let told = text(&review);
    assert!(told.contains("s-49 ") && !told.contains("s-50 ") && told.contains("(others)"), "{told}");
    assert!(told.ends_with("and 10 more between these; --html FILE or --json --full has them\n"), "{told}");
}

#[test]
fn the_text_names_what_its_ratios_are_of_and_cuts_no_heading() {
    let mut review = hostile();
    review.plan = Some(PlanAgainstActual {
        wall_s: Some(23.0),
        cost_usd: Some(2.08),
        actual_wall_s: 90.2,
        actual_cost_usd: 0.29,
        wall_ratio: Some(3.92),
        cost_ratio: Some(0.14),
    });
    review.by = Some("metadata.user_id".to_owned());
    for segment in &mut review.segments {
        segment.name = "short".to_owned();
    }
    let text = text(&review);
    assert!(text.contains("$2.08; it took 392 % of the planned time and 14 % of the planned cost"), "{text}");
    assert!(text.contains("metadata.user_id "), "{text}");
}

#[test]
fn the_text_says_the_same_without_control_characters() {
    let text = text(&hostile());
    for words in ["queue", "p95", "429 steady", "in doubt", "re-driven", "paid/need", "per usable", "canceled as stuck"]
    {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(!text.contains('\u{202e}'));
}
