use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::catalog::Catalog;

/// A file in the making.
#[derive(Default)]
struct File {
    text: String,
    /// Requests in it.
    n: usize,
}

impl File {
    fn push(&mut self, params: &Value) {
        writeln!(self.text, "{}", json!({"custom_id": format!("r{}", self.n), "params": params})).unwrap();
        self.n += 1;
    }

    fn ask(&mut self, model: &str, more: &Value) {
        let mut params = json!({"model": model, "max_tokens": 2_000, "messages": [{"role": "user", "content": "q"}]});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.push(&params);
    }

    fn audit_with(&self, change: impl FnOnce(&mut AuditFacts<'_>)) -> AuditReport {
        let catalog = Catalog::builtin();
        let mut facts = AuditFacts::assumed(&catalog, jiff::civil::date(2026, 11, 29), 1);
        change(&mut facts);
        audit(Path::new("in.jsonl"), self.text.as_bytes(), &facts, &mut |_| {}).unwrap()
    }

    fn audit(&self) -> AuditReport {
        self.audit_with(|_| {})
    }
}

/// So few that a short file has as good an order as a long one.
fn few_in_flight(facts: &mut AuditFacts<'_>) {
    facts.in_flight = [10; crate::model::Family::COUNT];
}

fn find<'r>(report: &'r AuditReport, kind: &str) -> &'r Finding {
    report.findings.iter().find(|finding| finding.kind == kind).unwrap_or_else(|| panic!("no {kind}: {report:#?}"))
}

fn kinds(report: &AuditReport) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.kind.as_str()).collect()
}

/// A text of about so many tokens.
fn text(tokens: usize, word: &str) -> String {
    word.repeat(tokens * 4 / word.len() + 1)[..tokens * 4].to_owned()
}

fn usd(finding: &Finding) -> f64 {
    match finding.figure {
        Figure::Usd(amount) => amount.usd(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_parameter_that_a_model_refuses_is_named_with_its_line_and_no_other_is() {
    let tools = json!([{"name": "grade", "input_schema": {}}]);
    let force = json!({"tools": tools, "tool_choice": {"type": "tool", "name": "grade"}});
    let prefill = json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "{"}]});
    let cases = [
        ("claude-sonnet-5-5", json!({"temperature": 0}), Some("sampling-refused")),
        ("claude-sonnet-5-5", json!({"temperature": 1.0, "top_p": 1}), None),
        ("claude-sonnet-5-5", json!({"temperature": null}), None),
        ("claude-opus-4-7", json!({"top_k": 5}), Some("sampling-refused")),
        ("claude-opus-4-6", json!({"temperature": 0, "top_p": 0.5}), None),
        ("claude-haiku-4-5", json!({"temperature": 0, "top_p": 0.5}), Some("temperature-and-top-p")),
        ("claude-haiku-4-5", json!({"temperature": 0}), None),
        ("claude-sonnet-5-5", force.clone(), Some("forced-tool-choice")),
        ("claude-haiku-5-5", force, None),
        ("claude-opus-4-6", prefill.clone(), Some("prefilled-answer")),
        ("claude-haiku-4-5", prefill, None),
        ("claude-opus-5-5", json!({"thinking": {"type": "disabled"}}), Some("thinking-type")),
        ("claude-sonnet-5-5", json!({"thinking": {"type": "between_tools"}}), None),
        ("claude-haiku-4-5", json!({"thinking": {"type": "adaptive"}}), Some("thinking-type")),
        ("claude-haiku-4-5", json!({"thinking": {"type": "enabled", "budget_tokens": 1_024}}), None),
        ("claude-haiku-4-5", json!({"thinking": {"type": "enabled", "budget_tokens": 1_023}}), Some("thinking-budget")),
        ("claude-haiku-4-5", json!({"thinking": {"type": "enabled", "budget_tokens": 2_000}}), Some("thinking-budget")),
        ("claude-haiku-4-5", json!({"max_tokens": 64_001}), Some("max-tokens-above-limit")),
        ("claude-haiku-4-5", json!({"max_tokens": 64_000}), None),
        ("claude-haiku-4-5", json!({"tool_choice": {"type": "auto"}}), Some("tool-missing")),
        (
            "claude-haiku-4-5",
            json!({"tools": tools, "tool_choice": {"type": "tool", "name": "x"}}),
            Some("tool-missing"),
        ),
        ("claude-haiku-5-5", json!({"max_tokens": 50}), Some("max-tokens-eaten-by-thinking")),
        ("claude-haiku-5-5", json!({"max_tokens": 50, "thinking": {"type": "disabled"}}), None),
        ("claude-haiku-4-5", json!({"max_tokens": 50}), None),
        ("claude-haiku-4-5", json!({"speed": "fast"}), Some("not-for-batches")),
        ("claude-nobody-1", json!({"temperature": 0}), Some("unknown-model")),
    ];
    for (model, more, expected) in cases {
        let mut file = File::default();
        file.ask("claude-opus-4-6", &json!({"max_tokens": 4_000}));
        file.ask(model, &more);
        let report = file.audit();
        let found: Vec<&Finding> =
            report.findings.iter().filter(|finding| finding.kind != "tools-never-vary").collect();
        match expected {
            Some(kind) => {
                assert_eq!(found.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), [kind], "{model} {more}");
                assert_eq!((found[0].n_lines, &found[0].lines[..]), (1, &[2][..]), "{model} {more}");
                assert!(!found[0].remedy.is_empty());
            }
            None => assert_eq!(found, Vec::<&Finding>::new(), "{model} {more}"),
        }
    }
}

#[test]
fn a_forced_tool_and_thinking_do_not_go_together_at_any_model() {
    let mut file = File::default();
    file.ask(
        "claude-opus-4-6",
        &json!({"tools": [{"name": "t"}], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}}),
    );
    assert_eq!(find(&file.audit(), "forced-tool-choice-with-thinking").severity, Severity::Error);
}

#[test]
fn a_model_at_the_end_of_its_life_is_an_error_a_warning_or_a_note_by_the_day() {
    let mut file = File::default();
    file.ask("claude-sonnet-4-5", &json!({}));
    let severity = |day| {
        let report = file.audit_with(|facts| facts.today = day);
        report.findings.first().map(|finding| (finding.kind.clone(), finding.severity))
    };
    let is = |kind: &str, severity| Some((kind.to_owned(), severity));
    assert_eq!(severity(jiff::civil::date(2026, 11, 30)), is("retired-model", Severity::Error));
    assert_eq!(severity(jiff::civil::date(2026, 11, 29)), is("retiring-model", Severity::Warning));
    assert_eq!(severity(jiff::civil::date(2026, 6, 1)), is("retiring-model", Severity::Note));
}

#[test]
fn d12_bad_lines_are_named_counted_and_passed_over() {
    let mut file = File::default();
    file.ask("claude-haiku-4-5", &json!({"temperature": 0.5, "top_p": 0.5}));
    file.text = format!("\u{feff}{}not json\n\n{{\"custom_id\":\"x\"}}\n[]\n\u{1}\n{}", file.text, file.text);
    let report = file.audit();
    assert_eq!((report.n_lines, report.n_requests), (7, 2));
    let bad = find(&report, "bad-lines");
    assert_eq!((bad.severity, bad.n_lines, &bad.lines[..]), (Severity::Error, 4, &[2, 4, 5, 6][..]));
    assert!(bad.text.contains("line 2: not JSON"), "{}", bad.text);
    assert_eq!(find(&report, "temperature-and-top-p").lines, [1, 7]);
    assert_eq!(find(&report, "duplicate-requests").lines, [7]);
}

/// 2,000 tokens of rules before 1,000 questions at 3 USD a million: 6 USD of them. In flight at the start: 100, which write
/// at 3.75; the others read at 0.30.
#[test]
fn a_shared_system_prompt_is_worth_a_breakpoint_and_the_saving_is_what_the_price_card_says() {
    let mut file = File::default();
    for no in 0..1_000 {
        file.ask(
            "claude-sonnet-4-6",
            &json!({"system": text(2_000, "rules "), "messages": [{"role": "user", "content": format!("case {no}")}]}),
        );
    }
    let report = file.audit();
    let found = find(&report, "cacheable-prefix");
    let expected = 900.0 * 2_000.0 * (3.0 - 0.3) / 1e6 - 100.0 * 2_000.0 * (3.75 - 3.0) / 1e6;
    assert!((usd(found) - expected).abs() < 1e-9, "{} {expected}", usd(found));
    assert_eq!((found.severity, found.n_lines, &found.lines[..]), (Severity::Advice, 1_000, &[1][..]));
    for words in ["1,000 requests", "a prefix that is the same", "the system prompt", "2,000 tokens", "90 %", "use 2"] {
        assert!(found.text.contains(words), "{words}: {}", found.text);
    }
    assert!(found.remedy.contains("cache_control"));
    assert_eq!(kinds(&report), ["cacheable-prefix"]);
}

#[test]
fn a_prefix_below_the_minimum_of_the_model_is_said_to_be_inert() {
    for (model, tokens, inert) in
        [("claude-haiku-4-5", 4_095, true), ("claude-haiku-4-5", 4_096, false), ("claude-haiku-5-5", 600, false)]
    {
        let mut file = File::default();
        for no in 0..100 {
            let messages = json!([{"role": "user", "content": format!("case {no}")}]);
            file.ask(model, &json!({"system": text(tokens, "rules "), "messages": messages}));
        }
        let kind = if inert { "prefix-too-short-to-cache" } else { "cacheable-prefix" };
        assert_eq!(kinds(&file.audit_with(few_in_flight))[0], kind, "{model} {tokens}");
    }
}

#[test]
fn a_rubric_and_transcripts_that_every_ten_requests_share_are_two_breakpoints() {
    let mut file = File::default();
    for no in 0..1_000 {
        let transcript = format!("{} {}", no % 100, text(600, "said "));
        let content =
            json!([{"type": "text", "text": transcript}, {"type": "text", "text": format!("criterion {no}")}]);
        file.ask(
            "claude-sonnet-4-6",
            &json!({"system": text(1_200, "rules "), "messages": [{"role": "user", "content": content}]}),
        );
    }
    let report = file.audit_with(few_in_flight);
    let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.kind == "cacheable-prefix").collect();
    assert_eq!(found.len(), 2, "{report:#?}");
    assert!(
        found
            .iter()
            .any(|finding| finding.text.contains("100 prefixes") && finding.text.contains("block 1 of the messages"))
    );
    // Each transcript is written once and read nine times, 100 lines apart.
    let expected = 100.0 * 600.0 * (9.0 * 2.7 - 0.75) / 1e6;
    let inner = found.iter().find(|finding| finding.text.contains("100 prefixes")).unwrap();
    assert!((usd(inner) - expected).abs() < expected * 0.01, "{} {expected}", usd(inner));
}

#[test]
fn an_order_that_loses_hits_is_told_and_what_it_would_save_to_change_it() {
    // Ten requests for each of 100 documents: next to each other, all ten are in flight before the first answer.
    let file = |of: fn(u32) -> u32, n: u32| {
        let mut file = File::default();
        for no in 0..n {
            let document = format!("{} {}", of(no), text(1_100, "page "));
            file.ask(
                "claude-opus-4-8",
                &json!({"system": document, "messages": [{"role": "user", "content": format!("question {no}")}]}),
            );
        }
        file
    };
    let report = file(|no| no / 10, 1_000).audit();
    let found = find(&report, "order-loses-hits");
    assert!(found.text.contains("in flight together"), "{}", found.text);
    assert!(!kinds(&report).contains(&"cacheable-prefix"), "{report:#?}");
    // 1,000 - 100 reads of 1,100 tokens, at 5 USD a million instead of 0.5, against 100 writes.
    let expected = 1_100.0 * (900.0 * 4.5 - 100.0 * 1.25) / 1e6;
    assert!((usd(found) - expected).abs() < expected * 0.01, "{} {expected}", usd(found));
    // 400 documents in turn: the next use comes after six minutes at 69 requests a minute.
    let slow = |facts: &mut AuditFacts<'_>| facts.in_flight = [4; crate::model::Family::COUNT];
    let report = file(|no| no % 400, 1_600).audit_with(slow);
    let hour = find(&report, "cacheable-prefix");
    assert!(hour.remedy.contains("1h"), "{}", hour.remedy);
    let found = find(&report, "order-loses-hits");
    assert!(found.text.contains("400 lines apart, about 6 minutes at 69 requests a minute"), "{}", found.text);
}

#[test]
fn prefixes_that_are_used_a_few_times_lose_their_hits_to_the_caches_of_several_orgs() {
    let mut file = File::default();
    for no in 0..400 {
        let document = format!("{} {}", no % 100, text(1_100, "page "));
        file.ask(
            "claude-opus-4-8",
            &json!({"system": document, "messages": [{"role": "user", "content": format!("question {no}")}]}),
        );
    }
    assert!(!kinds(&file.audit_with(few_in_flight)).contains(&"orgs-lose-hits"));
    let report = file.audit_with(|facts| {
        few_in_flight(facts);
        facts.orgs = 3;
    });
    let found = find(&report, "orgs-lose-hits");
    assert!(found.text.contains("4.0 times") && found.remedy.contains("--orgs"), "{found:?}");
}

#[test]
fn breakpoints_behind_what_changes_are_a_loss_and_those_in_place_are_said_to_work() {
    let mark = json!({"type": "ephemeral"});
    let mut good = File::default();
    let mut bad = File::default();
    for no in 0..1_000 {
        let rules = json!([{"type": "text", "text": text(2_000, "rules "), "cache_control": mark}]);
        good.ask(
            "claude-sonnet-4-6",
            &json!({"system": rules, "messages": [{"role": "user", "content": format!("{no}")}]}),
        );
        bad.ask(
            "claude-sonnet-4-6",
            &json!({"cache_control": mark, "system": text(2_000, "rules "), "messages": [{"role": "user", "content": format!("{no}")}]}),
        );
    }
    let report = good.audit();
    assert_eq!((kinds(&report), report.findings[0].severity), (vec!["cached-prefix"], Severity::Note));
    let report = bad.audit();
    let lost = find(&report, "breakpoint-never-read");
    assert_eq!((lost.severity, lost.n_lines), (Severity::Warning, 1_000));
    assert!((usd(lost) - 1_000.0 * 2_000.0 * 0.75 / 1e6).abs() < 0.01, "{}", usd(lost));
    assert!(kinds(&report).contains(&"cacheable-prefix"));
    let mut early = File::default();
    early.ask("claude-haiku-4-5", &json!({"system": [{"type": "text", "text": "short", "cache_control": mark}]}));
    assert_eq!(kinds(&early.audit()), ["breakpoint-too-early"]);
}

#[test]
fn what_varies_in_a_constant_text_is_found_at_its_byte() {
    let (mut head, mut tail) = (File::default(), File::default());
    for no in 0..500 {
        let rubric = text(2_000, "grade ");
        head.ask(
            "claude-sonnet-4-6",
            &json!({"messages": [{"role": "user", "content": format!("{rubric}{no:04} is the case")}]}),
        );
        tail.ask("claude-sonnet-4-6", &json!({"system": format!("It is {no:04}. {rubric}")}));
    }
    let report = head.audit();
    let found = find(&report, "constant-head");
    assert!(found.text.contains("8,0") && found.remedy.contains("split the first message"), "{found:?}");
    assert_eq!(found.n_lines, 500);
    let report = tail.audit();
    let found = find(&report, "varies-before-constant");
    assert!(found.text.contains("the system prompt varies from byte 8 on in 499 requests"), "{}", found.text);
    assert_eq!(found.lines[0], 2);
}

#[test]
fn duplicates_are_the_same_request_in_any_spelling() {
    let mut file = File::default();
    file.ask("claude-haiku-4-5", &json!({}));
    file.text += "{\"params\": {\"messages\": [{\"content\": \"\\u0071\", \"role\": \"user\"}], \"max_tokens\": 2000, \"model\": \"claude-haiku-4-5\"}, \"custom_id\": \"z\"}\n";
    file.ask("claude-haiku-4-5", &json!({"max_tokens": 2_001}));
    let report = file.audit();
    let found = find(&report, "duplicate-requests");
    assert_eq!((found.n_lines, &found.lines[..]), (1, &[2][..]));
}

#[test]
fn max_tokens_is_held_against_what_was_observed() {
    let mut file = File::default();
    for max_tokens in [100, 300, 20_000] {
        file.ask("claude-haiku-4-5", &json!({"max_tokens": max_tokens}));
    }
    let model = "claude-haiku-4-5-20251001".to_owned();
    let seen = Observed { model, n: 5_000, output_p99: 250, output_max: 900 };
    let report = file.audit_with(|facts| facts.observed = vec![seen]);
    assert_eq!(find(&report, "max-tokens-below-observed").lines, [1]);
    assert_eq!(find(&report, "max-tokens-far-above-observed").lines, [3]);
}

#[test]
fn too_many_breakpoints_and_prompts_beyond_the_context_are_errors() {
    let mark = json!({"type": "ephemeral"});
    let block = json!({"type": "text", "text": "a", "cache_control": mark});
    let mut file = File::default();
    let content = json!([block, block, block, block, block]);
    file.ask("claude-haiku-4-5", &json!({"messages": [{"role": "user", "content": content}]}));
    file.ask("claude-haiku-4-5", &json!({"system": text(200_100, "long ")}));
    let report = file.audit();
    assert_eq!(find(&report, "too-many-breakpoints").lines, [1]);
    let long = find(&report, "prompt-too-long");
    assert_eq!((&long.lines[..], long.figure), (&[2][..], Figure::Tokens(200_100)));
}

#[test]
fn sub_batches_that_their_size_would_cut_are_told_and_so_are_rows_that_hardly_fit() {
    let mut file = File::default();
    for no in 0..20 {
        file.ask("claude-haiku-5-5", &json!({"system": format!("{no}{}", text(50_000, "long "))}));
    }
    let report = file.audit_with(|facts| facts.sub_batch_size = 2_000);
    assert!(!kinds(&report).contains(&"sub-batches-cut-by-size"), "fewer than a sub-batch");
    let mut sizes = limits::Sizes::default();
    let line = format!(
        r#"{{"custom_id":"a","params":{{"model":"m","max_tokens":9,"messages":[{}]}}}}"#,
        "7,".repeat(9_000_000) + "7"
    );
    let usable = shape::Usable {
        custom_id: "a".into(),
        model: "m".into(),
        max_tokens: 9,
        extras: crate::requests::Extras::default(),
    };
    let row = Row::of(1, line.as_bytes(), usable).unwrap();
    (0..16).for_each(|_| sizes.take(&row));
    let catalog = Catalog::builtin();
    let mut facts = AuditFacts::assumed(&catalog, jiff::civil::date(2026, 11, 29), 1);
    facts.sub_batch_size = 16;
    let found: Vec<String> = sizes.findings(&facts, 16).into_iter().map(|finding| finding.kind).collect();
    assert_eq!(found, ["large-for-a-batch", "sub-batches-cut-by-size"]);
}

#[test]
fn an_empty_file_and_any_bytes_are_audited_without_a_panic() {
    let catalog = Catalog::builtin();
    let facts = AuditFacts::assumed(&catalog, jiff::civil::date(2026, 11, 29), 3);
    let empty = audit(Path::new("x"), &b""[..], &facts, &mut |_| {}).unwrap();
    assert_eq!((empty.n_lines, empty.findings.len()), (0, 0));
    let mut rng = fastrand::Rng::with_seed(7);
    let good = r#"{"custom_id":"a","params":{"model":"claude-haiku-4-5","max_tokens":9,"tools":[{"name":"t"}],"system":[{"type":"text","text":"s"}],"thinking":{"type":"enabled"},"messages":[{"role":"user","content":"q"}]}}"#;
    let mut file = Vec::new();
    for _ in 0..5_000 {
        let mut bytes = good.as_bytes().to_vec();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..bytes.len());
            match rng.u8(..3) {
                0 => bytes[at] = *rng.choice(br#"{}[]",:\0an"#).unwrap_or(&0),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *rng.choice(br#"{}[]",:\0an"#).unwrap_or(&0)),
            }
        }
        file.extend(bytes);
        file.push(b'\n');
    }
    let report = audit(Path::new("x"), &file[..], &facts, &mut |_| {}).unwrap();
    assert!(report.n_requests > 100 && find(&report, "bad-lines").n_lines > 1_000);
}
