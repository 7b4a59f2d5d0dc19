//! What leaves a journal: exports and rows; and that any line that goes in reads back.

use proptest::prelude::*;

use super::*;

#[test]
fn export_is_in_the_order_of_the_input_and_each_id_stands_once() {
    let place = Place::new();
    let lines = place.lines(&[
        (3, Outcome::ReDrivable),
        (2, Outcome::Succeeded),
        (0, Outcome::Refused),
        (3, Outcome::Succeeded),
    ]);
    // The last line is still being written: it is not taken.
    let torn = &line_of(&place.input, 1, Outcome::Succeeded)[..30];
    place.write([lines.concat(), torn.to_vec()].concat());
    let text = |at: usize| Some(String::from_utf8(lines[at].clone()).unwrap().trim_end().to_owned());
    assert_eq!(place.exported(), [text(2), None, text(1), text(3)]);
}

#[test]
fn without_the_block_a_line_is_a_row_of_the_api() {
    let place = Place::new();
    let line = line_of(&place.input, 1, Outcome::Succeeded);
    let (head, tail) = without_meta(line.trim_ascii_end());
    let message = std::str::from_utf8(MESSAGE).unwrap();
    let expected = format!(r#"{{"custom_id":"b \"é\"","result":{{"type":"succeeded","message":{message}}}}}"#);
    assert_eq!(String::from_utf8([head, tail].concat()).unwrap(), expected);
}

#[test]
fn a_line_without_a_block_of_ours_is_left_whole() {
    for line in [
        r#"{"custom_id":"a","result":{"message":{"x":1,"fandeck":{"y":1}}}}"#,
        r#"{"custom_id":"a","result":{"x":",\"fandeck\":{}"}}"#,
        "",
        ",\"fandeck\":",
    ] {
        assert_eq!(without_meta(line.as_bytes()), (line.as_bytes(), &b""[..]));
    }
}

#[test]
fn a_row_has_what_a_table_wants() {
    let place = Place::new();
    let line = line_of(&place.input, 1, Outcome::Succeeded);
    let row = Row::parse(&line).unwrap();
    assert_eq!((&*row.custom_id, &*row.text, &*row.stop_reason), ("b \"é\"", "aé,b", "end_turn"));
    assert_eq!((row.input_tokens, row.output_tokens, row.latency_ms), (13, 44, 1_234));
    assert_eq!((&*row.model, &*row.org, &*row.path), ("m-1", "high-prio", "sync"));
    assert_eq!((row.outcome, row.cost), (Some(Outcome::Succeeded), Money(123_000_000)));
    let line = line_of(&place.input, 0, Outcome::Invalid);
    let row = Row::parse(&line).unwrap();
    assert_eq!((&*row.error_type, &*row.error_message, &*row.text), ("api_error", "no", ""));
    let expired = Row::parse(br#"{"custom_id":"a","result":{"type":"expired"}}"#).unwrap();
    assert_eq!(expired.outcome, Some(Outcome::ReDrivable));
    assert_eq!(Row::parse(b"{}"), None);
}

#[test]
fn an_error_without_words_of_the_api_has_its_shape_all_the_same() {
    let place = Place::new();
    let error =
        ApiError { kind: "timeout".to_owned(), message: "no \"byte\"\nin 60 s".to_owned(), ..ApiError::default() };
    let meta = meta(&place.input, RequestNo(0), Outcome::ReDrivable);
    for (body, kind) in [(journal::error_body(&error), "timeout"), (Vec::new(), "unknown")] {
        let line = journal::line("a", &body, &meta);
        assert_eq!(Row::parse(&line).unwrap().error_type, kind);
    }
}

proptest! {
    #[test]
    fn any_line_is_one_line_of_json_that_reads_back(
        id in any::<String>(), text in any::<String>(), org in "[a-z0-9-]{1,9}", request_id in any::<Option<String>>(),
        extras in (any::<u32>(), any::<bool>(), any::<bool>()), numbers in (any::<u32>(), any::<u32>(), any::<u64>(), 0..u64::MAX / 2, any::<u32>()), pico in 0..1_000_000_000_000_000_u64, pretty in any::<bool>(),
    ) {
        let body = serde_json::json!({"content": [{"type": "text", "text": text}]});
        let body = if pretty { serde_json::to_vec_pretty(&body) } else { serde_json::to_vec(&body) }.unwrap();
        let (no, attempt, latency_ms, tokens_in, crc) = numbers;
        let cache_read = u64::from(crc);
        let terms = Terms { fast: extras.1, us_inference: extras.2 };
        let usage =
            Usage { input_tokens: tokens_in, cache_read, web_searches: extras.0.into(), terms, ..Usage::default() };
        let meta = LineMeta {
            no: RequestNo(no), outcome: Outcome::Refused, org: Some(&org), path: Route::Batch, attempt,
            request_id: request_id.as_deref(), latency_ms, usage, cost: Money(pico), crc, at: Wall(0),
        };
        let line = journal::line(&id, &body, &meta);
        prop_assert_eq!(memchr::memchr(b'\n', &line), Some(line.len() - 1));
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        prop_assert_eq!(&value["custom_id"], &id);
        prop_assert_eq!(&value["result"]["message"]["content"][0]["text"], &text);
        let block = &value["fandeck"];
        prop_assert_eq!((&block["no"], &block["crc"]), (&no.into(), &crc.into()));
        prop_assert_eq!((&block["latency_ms"], &block["tokens_in"]), (&latency_ms.into(), &(tokens_in + cache_read).into()));
        prop_assert_eq!(&block["request_id"], &serde_json::json!(request_id));
        prop_assert_eq!(journal::JournalLine::parse(&line).unwrap().usage(), usage);
        let row = Row::parse(&line).unwrap();
        prop_assert_eq!((row.text.into_owned(), row.cost), (text, Money(pico)));
        let (head, tail) = without_meta(&line);
        let bare: serde_json::Value = serde_json::from_slice(&[head, tail].concat()).unwrap();
        prop_assert_eq!(bare.as_object().unwrap().len(), 2);
    }
}
