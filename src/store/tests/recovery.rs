//! What a journal says after a crash, an edit, or years in other hands.

use super::*;

#[test]
fn the_last_line_of_an_id_wins_and_the_sums_count_every_line() {
    let place = Place::new();
    let lines = place.lines(&[
        (3, Outcome::ReDrivable),
        (0, Outcome::Succeeded),
        (1, Outcome::Refused),
        (3, Outcome::Succeeded),
        (2, Outcome::Invalid),
    ]);
    place.write(lines.concat());
    let found = place.recover();
    assert_eq!(found.last, [Last::Succeeded, Last::Refused, Last::Invalid, Last::Succeeded]);
    assert_eq!((found.n_lines, found.books.spent()), (5, Money(246_000_000)));
    // The line that is to be sent again was not billed.
    let lines: Vec<_> = found.books.settled.iter().map(|line| (line.outcome, line.n, line.cost)).collect();
    let paid = (Outcome::Succeeded, 2, Money(246_000_000));
    assert_eq!(lines, [paid, (Outcome::Refused, 1, Money::ZERO), (Outcome::Invalid, 1, Money::ZERO)]);
    assert_eq!(found.books.n_succeeded("high-prio"), 2);
    assert_eq!(found.books.settled[0].tokens.cache_read, 20);
    assert_eq!(
        found.books.by_day.clone().into_iter().collect::<Vec<_>>(),
        [("2026-11-30".to_owned(), Money(246_000_000))]
    );
    let counts = found.counts();
    assert_eq!((counts.succeeded, counts.refused, counts.invalid, counts.unsent, counts.total), (2, 1, 1, 0, 4));
}

#[test]
fn d1_a_journal_cut_at_any_byte_keeps_what_was_whole_and_can_be_appended_to() {
    let place = Place::new();
    // Short lines: every cut costs some fsyncs.
    let order = [1, 3];
    let lines = order.map(|no| {
        let id = place.input.read(RequestNo(no)).unwrap().custom_id;
        journal::line(&id, "{\"é\":[1]}".as_bytes(), &meta(&place.input, RequestNo(no), Outcome::Succeeded))
    });
    let whole = lines.concat();
    for cut in 0..=whole.len() {
        place.write(&whole[..cut]);
        // A line that lacks nothing but its line end is whole: its answer was paid.
        let mut ends = 0;
        let n_whole = lines
            .iter()
            .take_while(|line| {
                ends += line.len();
                ends <= cut + 1
            })
            .count();
        let found = place.recover();
        for (at, &no) in order.iter().enumerate() {
            assert_eq!(found.last_of(RequestNo(no)) != Last::Unsent, at < n_whole, "cut at {cut}");
        }
        let kept = lines[..n_whole].concat();
        assert_eq!(std::fs::read(place.journal()).unwrap(), kept, "cut at {cut}");
        let tail = &whole[kept.len().min(cut)..cut];
        match &found.torn {
            None => assert!(tail.is_empty(), "cut at {cut}"),
            Some(torn) => {
                assert_eq!((torn.offset, torn.bytes), (kept.len() as u64, tail.len() as u64));
                assert_eq!(std::fs::read(&torn.kept).unwrap(), tail, "cut at {cut}");
                std::fs::remove_file(&torn.kept).unwrap();
            }
        }
        // Appending works, and nothing is torn the second time.
        place.write([kept, line_of(&place.input, 0, Outcome::Succeeded)].concat());
        let again = place.recover();
        assert_eq!((again.last_of(RequestNo(0)), again.n_bad, again.torn), (Last::Succeeded, 0, None));
    }
}

#[test]
fn d1_a_tail_of_zeros_or_noise_is_cut_even_with_line_ends_in_it() {
    let place = Place::new();
    let good = line_of(&place.input, 0, Outcome::Succeeded);
    for tail in [&b"\0\0\0\0"[..], b"\0\n\0\0\n", b"{\"custom_id\":\"a\"\nxx", b"\xff\xfe\n", b"   "] {
        place.write([&good, tail].concat());
        let found = place.recover();
        let torn = found.torn.unwrap();
        assert_eq!(std::fs::read(torn.kept).unwrap(), tail);
        assert_eq!((found.len, found.n_bad), (good.len() as u64, 0));
        assert_eq!(std::fs::read(place.journal()).unwrap(), good);
    }
    let kept = std::fs::read_dir(&place.dir)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("results.torn-"));
    assert_eq!(kept.count(), 5);
}

#[test]
fn a_bad_line_in_the_middle_is_reported_by_offset_and_kept() {
    let place = Place::new();
    let good = place.lines(&[(0, Outcome::Succeeded), (1, Outcome::Succeeded)]);
    let content = [&good[0], &b"{\"half\n"[..], b"\r\n", b"{\"json\":\"but no line\"}\n", &good[1]].concat();
    place.write(&content);
    let found = place.recover();
    assert_eq!((found.n_bad, found.n_lines, found.torn), (2, 2, None));
    assert_eq!(found.bad_offsets, [good[0].len() as u64, good[0].len() as u64 + 9]);
    assert_eq!(std::fs::read(place.journal()).unwrap(), content);
}

#[test]
fn rows_of_another_origin_are_joined_by_id() {
    let place = Place::new();
    place.write(concat!(
        r#"{"custom_id":"d","result":{"type":"succeeded","message":{}}}"#, "\r\n",
        r#"{"custom_id":"a","result":{"type":"expired"}}"#, "\n",
        r#"{"custom_id":"b \"\u00e9\"","result":{"type":"errored","error":{}},"fandeck":{"no":3,"outcome":"invalid","new":[1]}}"#, "\n",
        r#"{"custom_id":"stranger","result":{"type":"succeeded","message":{}},"fandeck":{"no":0}}"#, "\n",
    ));
    let found = place.recover();
    assert_eq!(found.last, [Last::ReDrivable, Last::Invalid, Last::Unsent, Last::Succeeded]);
    assert_eq!((found.n_alien, found.n_bad), (1, 0));
}

#[test]
fn a_run_without_a_journal_has_sent_nothing() {
    let place = Place::new();
    let found = place.recover();
    assert_eq!((found.counts().unsent, found.len, found.torn), (4, 0, None));
}

#[test]
fn d2_after_an_edit_an_outcome_holds_only_for_the_text_that_it_was_paid_for() {
    let place = Place::new();
    let outcomes = [0, 1, 2, 3].map(|no| (no, Outcome::Succeeded));
    place.write(place.lines(&outcomes).concat());
    assert_eq!(compare_input(&place.dir, &run_file(&place.input), &place.input).unwrap(), None);
    // One is the same but stands elsewhere, one was edited, two are gone, two are new.
    let path = place.input.path().to_owned();
    let before = run_file(&place.input);
    let edited = input_of(&path, &[("new", "9"), ("d", "4"), ("a", "1 edited"), ("newer", "9")]);
    let change = compare_input(&place.dir, &before, &edited).unwrap().unwrap();
    let expected = InputChange { n_before: 4, n_now: 4, n_same: 1, n_changed: 1, n_gone: 2 };
    assert_eq!((change, change.n_new()), (expected, 2));
    let (dir, ..) = RunDir::open(&place.dir).unwrap();
    let found = recover(&dir, &edited, &mut |_| {}).unwrap();
    assert_eq!(found.last, [Last::Unsent, Last::Succeeded, Last::Unsent, Last::Unsent]);
    assert_eq!((found.n_changed, found.n_alien), (1, 2));
}
