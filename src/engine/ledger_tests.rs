use super::*;
use crate::catalog::Catalog;
use crate::model::Money;
use crate::requests::Extras;

const A: OrgId = OrgId(0);

fn tariff() -> Tariff {
    let model = "claude-haiku-4-5";
    vec![(model.to_owned(), Catalog::builtin().card(model))]
}

fn ledger(prior: Books) -> Ledger {
    Ledger::new(vec!["a".to_owned(), "b".to_owned()], tariff(), prior)
}

fn answer(org: OrgId, cost: u64) -> Answer {
    let usage = Usage { input_tokens: 10, output_tokens: 5, cache_read: 100, ..Usage::default() };
    Answer { org, path: Route::Sync, model: 0, outcome: Outcome::Succeeded, usage, cost: Money(cost) }
}

#[test]
fn the_most_that_a_request_costs_is_its_bytes_at_the_dearest_and_its_longest_answer() {
    // 976 tokens at 1 USD, 1,000 at 5 USD per million.
    let plain = Extras::default();
    assert_eq!(most("claude-haiku-4-5", plain, false), Money::from_usd(0.005_976));
    assert_eq!(most("claude-haiku-4-5", plain, true), Money::from_usd(0.002_988));
    // 1,024 tokens more for what the API adds; 2 USD for an hour's cache write.
    let on = |adds, caches| most("claude-haiku-4-5", plain.of_prompt(adds, caches), false);
    assert_eq!(on(true, false), Money::from_usd(0.007));
    assert_eq!(on(false, true), Money::from_usd(0.006_952));
    assert_eq!(on(true, true), Money::from_usd(0.009));
    assert_eq!(most("nobody-knows-it", plain, false), Money::ZERO, "a model without a price");
}

/// The most that a request of 976 bytes with a `max_tokens` of 1,000 costs.
fn most(model: &str, extras: Extras, batch: bool) -> Money {
    #[derive(Debug)]
    struct One(Extras);
    impl Sizes for One {
        fn bytes(&self, _: RequestNo) -> u32 {
            976
        }
        fn max_tokens(&self, _: RequestNo) -> u32 {
            1_000
        }
        fn extras(&self, _: RequestNo) -> Extras {
            self.0
        }
    }
    at_most(&vec![(model.to_owned(), Catalog::builtin().card(model))], &One(extras), RequestNo(0), batch)
}

#[test]
fn fast_mode_the_us_and_searches_are_reserved_as_they_are_billed() {
    let on = |fast, us_inference, searches| Extras::new(Terms { fast, us_inference }, searches).of_prompt(true, true);
    let opus = |extras, batch| most("claude-opus-5", extras, batch);
    // 2,000 tokens at 10 USD for an hour's cache write, 1,000 at 25 USD per million; twice that in fast mode.
    assert_eq!(opus(on(false, false, 0), false), Money::from_usd(0.045));
    assert_eq!(opus(on(true, false, 0), false), Money::from_usd(0.09));
    assert_eq!(opus(on(true, true, 0), false), Money::from_usd(0.099));
    assert_eq!(opus(on(false, true, 0), true), Money::from_usd(0.024_75));
    assert_eq!(opus(on(false, false, 5), false), Money::from_usd(0.095));
    assert_eq!(opus(on(false, false, 5), true), Money::from_usd(0.0725), "searches are not halved");
}

#[test]
fn sessions_add_up_through_the_books() {
    let mut first = ledger(Books::default());
    first.reserve(A, Money(50));
    first.release(A, Money(50));
    first.settle(answer(A, 7), Wall(0));
    first.reserve(OrgId(1), Money(40));
    first.release(OrgId(1), Money(40));
    first.doubt(OrgId(1), Route::Sync, 0, "timeout", Money(40), Wall(0));
    first.failed("timeout");
    let text = serde_json::to_string(&first.books()).unwrap();
    let kept: Books = serde_json::from_str(&text).unwrap();
    assert_eq!(kept, first.books());

    // The next session has other orgs, in another order.
    let mut second = Ledger::new(vec!["b".to_owned()], tariff(), kept);
    assert_eq!((second.spent(), second.in_doubt(), second.n_sent()), (Money(7), (1, Money(40)), 2));
    assert_eq!(second.org(A).doubt, Money(40), "the only org is b");
    second.settle(answer(A, 5), Wall(0));
    second.answered_again("timeout", Money(5));
    let books = second.books();
    assert_eq!((books.spent(), books.doubt()), (Money(12), (1, Money(40))));
    assert_eq!(books.re_driven, [ReDriven { cause: "timeout".to_owned(), attempts: 1, answered: 1, cost: Money(5) }]);
    let by_org: Vec<_> =
        books.settled.iter().map(|line| (line.org.as_str(), line.cost, line.tokens.cache_read)).collect();
    assert_eq!(by_org, [("a", Money(7), 100), ("b", Money(5), 100)]);
}

#[test]
fn answers_on_other_terms_are_a_line_of_their_own_and_searches_add_up() {
    let on = |terms, web_searches, cost| {
        let plain = answer(A, cost);
        Answer { usage: Usage { terms, web_searches, ..plain.usage }, ..plain }
    };
    let fast = Terms { fast: true, us_inference: false };
    let mut first = ledger(Books::default());
    for answer in [on(Terms::default(), 1, 1), on(fast, 2, 10), on(fast, 3, 10)] {
        first.settle(answer, Wall(0));
    }
    let text = serde_json::to_string(&first.books()).unwrap();
    let mut second = ledger(serde_json::from_str(&text).unwrap());
    second.settle(on(fast, 0, 10), Wall(0));
    let of = |line: &Settled| (line.tokens.terms, line.n, line.tokens.web_searches, line.cost);
    let books = second.books();
    let lines: Vec<_> = books.settled.iter().map(of).collect();
    assert_eq!(lines, [(Terms::default(), 1, 1, Money(1)), (fast, 3, 5, Money(30))]);
    let mut recovered = Books::default();
    for answer in [on(fast, 2, 10), on(Terms::default(), 0, 1), on(fast, 3, 10)] {
        recovered.settle("a", Route::Sync, "m", answer.outcome, &answer.usage, answer.cost);
    }
    assert_eq!(
        recovered.settled.iter().map(of).collect::<Vec<_>>(),
        [(fast, 2, 5, Money(20)), (Terms::default(), 1, 0, Money(1))]
    );
}

#[test]
fn books_that_were_written_before_terms_were_kept_are_read() {
    let mut kept = ledger(Books::default());
    kept.settle(answer(A, 7), Wall(0));
    let text = serde_json::to_string(&kept.books()).unwrap();
    for name in ["web_searches", "fast", "us_inference"] {
        assert!(!text.contains(name), "{name} is written only where there is something to say: {text}");
    }
    assert_eq!(serde_json::from_str::<Books>(&text).unwrap(), kept.books());
}

#[test]
fn a_day_ends_at_midnight_utc_and_earlier_sessions_of_it_count() {
    let day = |n: i64| Wall(n * DAY_MS + 1);
    let mut ledger = ledger(Books { by_day: [("1970-01-03".to_owned(), Money(100))].into(), ..Books::default() });
    ledger.settle(answer(A, 1), day(1));
    ledger.settle(answer(A, 2), day(2));
    ledger.settle(answer(A, 3), day(2));
    assert_eq!(ledger.committed_on_day_of(day(1)), Money(1));
    assert_eq!(ledger.committed_on_day_of(day(2)), Money(105));
    assert_eq!(ledger.committed_on_day_of(day(3)), Money::ZERO);
    let by_day: Vec<_> = ledger.books().by_day.into_iter().collect();
    assert_eq!(by_day, [("1970-01-02".to_owned(), Money(1)), ("1970-01-03".to_owned(), Money(105))]);
}
