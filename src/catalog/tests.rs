use super::*;
use crate::model::Terms;
use crate::model::settings::PriceCard;

/// Input, output, five-minute write, one-hour write, read in USD per million tokens; context and largest answer in
/// thousands of tokens; shortest cacheable prefix.
type Row = (&'static str, [f64; 5], u32, u32, Option<u32>);

/// Haiku 5.5's long-prompt card is apart.
const TABLE: [Row; 18] = [
    ("claude-haiku-5-5", [0.10, 0.50, 0.125, 0.20, 0.01], 1_000, 128, Some(512)),
    ("claude-haiku-4-5-20251001", [1.0, 5.0, 1.25, 2.0, 0.10], 200, 64, Some(4_096)),
    ("claude-sonnet-5-5", [2.0, 10.0, 2.50, 4.0, 0.10], 1_000, 128, Some(512)),
    ("claude-sonnet-5", [2.0, 10.0, 2.50, 4.0, 0.20], 1_000, 128, Some(1_024)),
    ("claude-sonnet-4-6", [3.0, 15.0, 3.75, 6.0, 0.30], 1_000, 128, Some(1_024)),
    ("claude-sonnet-4-5-20250929", [3.0, 15.0, 3.75, 6.0, 0.30], 200, 64, Some(1_024)),
    ("claude-opus-5-5", [4.0, 20.0, 5.0, 8.0, 0.20], 1_000, 128, Some(512)),
    ("claude-opus-5", [5.0, 25.0, 6.25, 10.0, 0.50], 1_000, 128, Some(512)),
    ("claude-opus-4-8", [5.0, 25.0, 6.25, 10.0, 0.50], 1_000, 128, Some(1_024)),
    ("claude-opus-4-7", [5.0, 25.0, 6.25, 10.0, 0.50], 1_000, 128, Some(2_048)),
    ("claude-opus-4-6", [5.0, 25.0, 6.25, 10.0, 0.50], 1_000, 128, Some(4_096)),
    ("claude-opus-4-5-20251101", [5.0, 25.0, 6.25, 10.0, 0.50], 200, 64, Some(4_096)),
    ("claude-fable-5-2", [8.0, 40.0, 10.0, 16.0, 0.20], 1_000, 128, None),
    ("claude-mythos-5-2", [8.0, 40.0, 10.0, 16.0, 0.20], 1_000, 128, None),
    ("claude-fable-5-1", [10.0, 50.0, 12.50, 20.0, 0.25], 1_000, 128, Some(512)),
    ("claude-mythos-5-1", [10.0, 50.0, 12.50, 20.0, 0.25], 1_000, 128, Some(512)),
    ("claude-fable-5", [10.0, 50.0, 12.50, 20.0, 1.0], 1_000, 128, Some(512)),
    ("claude-mythos-5", [10.0, 50.0, 12.50, 20.0, 1.0], 1_000, 128, Some(512)),
];

const MILLION_EACH: Usage = Usage {
    input_tokens: 1_000_000,
    output_tokens: 1_000_000,
    cache_write_5m: 1_000_000,
    cache_write_1h: 1_000_000,
    cache_read: 1_000_000,
    web_searches: 0,
    terms: Terms { fast: false, us_inference: false },
};

fn a_thousand_times_fewer(usage: Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens / 1_000,
        output_tokens: usage.output_tokens / 1_000,
        cache_write_5m: usage.cache_write_5m / 1_000,
        cache_write_1h: usage.cache_write_1h / 1_000,
        cache_read: usage.cache_read / 1_000,
        ..usage
    }
}

fn prices(price: &PriceCard) -> [Money; 5] {
    [price.input, price.output, price.cache_write_5m, price.cache_write_1h, price.cache_read]
}

#[test]
fn the_built_in_catalog_is_read_whole_and_holds_the_published_figures() {
    let catalog = Catalog::default().with_overrides(BUILTIN).unwrap();
    assert_eq!(catalog.models(), Catalog::builtin().models());
    let ids: Vec<&str> = catalog.models().iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, TABLE.map(|row| row.0));
    for (id, usd, context, output, cacheable) in TABLE {
        let model = catalog.lookup(id).unwrap();
        assert_eq!(prices(&model.card.standard), usd.map(Money::from_usd), "{id}");
        assert_eq!((model.context_tokens, model.max_output_tokens), (context * 1_000, output * 1_000), "{id}");
        assert_eq!(model.min_cacheable_tokens, cacheable, "{id}");
        assert_eq!(model.family, Family::of_model(id), "{id}");
    }
}

/// What the published migration guides say of each generation.
#[test]
fn each_generation_takes_the_parameters_that_its_guide_names() {
    let catalog = Catalog::builtin();
    let takes = |id: &str| catalog.lookup(id).unwrap().takes.clone().unwrap();
    for model in catalog.models() {
        let takes = model.takes.as_ref().unwrap();
        let old = model.id.contains("-4-5");
        assert_eq!(takes.prefill, old, "{}: prefilled answers went with 4.6", model.id);
        assert_eq!(takes.sampling == Sampling::One, old, "{}", model.id);
        assert_eq!(takes.sampling == Sampling::Both, model.id.ends_with("4-6"), "{}", model.id);
        assert_eq!(
            takes.thinks_by_default(),
            !model.id.contains("-4-"),
            "{}: the 5 series thinks by default",
            model.id
        );
    }
    for (id, forced) in [("claude-fable-5", true), ("claude-fable-5-1", false), ("claude-opus-5-5", false)] {
        assert_eq!(takes(id).forced_tools, forced, "{id}");
    }
    assert_eq!(takes("claude-sonnet-5-5").thinking, [ThinkingType::Adaptive, ThinkingType::BetweenTools]);
    assert_eq!(takes("claude-haiku-5-5").thinking, [ThinkingType::Adaptive, ThinkingType::Disabled]);
    assert_eq!(takes("claude-sonnet-4-5").thinking, [ThinkingType::Disabled, ThinkingType::Enabled]);
}

#[test]
fn cache_writes_cost_the_same_multiples_of_input_everywhere() {
    for model in Catalog::builtin().models() {
        let cards = [Some(model.card.standard), model.card.long_prompt.map(|long| long.price), model.card.fast];
        let in_us = |price: PriceCard| [price, price.scaled(model.card.us_thousandths)];
        for price in cards.into_iter().flatten().flat_map(in_us) {
            assert_eq!(price.cache_write_5m.0 * 4, price.input.0 * 5, "{}", model.id);
            assert_eq!(price.cache_write_1h.0, price.input.0 * 2, "{}", model.id);
            for exact in prices(&price) {
                assert_eq!(exact.half().0 % 1_000_000, 0, "{}: a token of half price is whole pico-dollars", model.id);
            }
        }
    }
}

#[test]
fn a_million_tokens_of_each_kind_cost_the_sum_of_the_card_and_half_of_it_in_a_batch() {
    let catalog = Catalog::builtin();
    for (id, usd, ..) in TABLE {
        // Short prompts, so that Haiku 5.5 bills by its first card: a thousand tokens of each kind.
        let usage = a_thousand_times_fewer(MILLION_EACH);
        let dollars: f64 = usd.iter().sum::<f64>() / 1_000.0;
        assert_eq!(catalog.cost(id, &usage, false), Money::from_usd(dollars), "{id}");
        assert_eq!(catalog.cost(id, &usage, true), Money::from_usd(dollars / 2.0), "{id}");
    }
}

#[test]
fn haiku_5_5_bills_the_whole_request_by_the_length_of_its_whole_prompt() {
    let card = Catalog::builtin().card("claude-haiku-5-5").unwrap();
    let usage = |input_tokens, cache_read| Usage { input_tokens, cache_read, output_tokens: 1_000, ..Usage::default() };
    // 60,000 x 0.10 + 40,000 x 0.01 + 1,000 x 0.50 dollars a million.
    assert_eq!(card.cost(&usage(60_000, 40_000), false), Money::from_usd(0.0069));
    // 60,001 x 0.50 + 40,000 x 0.05 + 1,000 x 2.50 dollars a million: one token more, five times the price.
    assert_eq!(card.cost(&usage(60_001, 40_000), false), Money::from_usd(0.034_500_5));
    assert_eq!(card.cost(&usage(60_001, 40_000), true), Money::from_usd(0.017_250_25));
    let all = card.cost(&MILLION_EACH, false);
    assert_eq!(all, Money::from_usd(0.50 + 2.50 + 0.625 + 1.00 + 0.05));
    assert_eq!(prices(&card.long_prompt.unwrap().price), [0.50, 2.50, 0.625, 1.00, 0.05].map(Money::from_usd));
}

#[test]
fn fast_mode_has_its_own_prices_and_inference_in_the_us_costs_a_tenth_more_from_4_6_on() {
    let catalog = Catalog::builtin();
    let tokens = Usage { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Usage::default() };
    let cost = |model: &str, fast, us_inference, batch| {
        catalog.cost(model, &Usage { terms: Terms { fast, us_inference }, ..tokens }, batch)
    };
    for (model, usual, fast) in
        [("claude-opus-5", 30.0, 60.0), ("claude-opus-4-8", 30.0, 60.0), ("claude-opus-5-5", 24.0, 48.0)]
    {
        assert_eq!(cost(model, false, false, false), Money::from_usd(usual), "{model}");
        assert_eq!(cost(model, true, false, false), Money::from_usd(fast), "{model}");
        assert_eq!(cost(model, false, true, true), Money::from_usd(usual * 0.55), "{model}: in a batch");
        assert_eq!(cost(model, true, true, false), Money::from_usd(fast * 1.1), "{model}");
    }
    let sonnet = cost("claude-sonnet-4-6", true, false, false);
    assert_eq!(sonnet, Money::from_usd(36.0), "no fast prices are known: twice the others");
    for model in catalog.models() {
        let wanted = if model.id.contains("-4-5") { 1_000 } else { 1_100 };
        assert_eq!(model.card.us_thousandths, wanted, "{}", model.id);
        assert_eq!(
            model.card.fast.is_some(),
            ["claude-opus-5", "claude-opus-4-8", "claude-opus-5-5"].contains(&model.id.as_str())
        );
        if let Some(fast) = model.card.fast {
            assert_eq!(fast, model.card.standard.scaled(2_000), "{}: cache multiples stack", model.id);
        }
    }
    let cached = Usage { cache_read: 1_000_000, terms: Terms { fast: true, us_inference: true }, ..Usage::default() };
    assert_eq!(catalog.cost("claude-opus-5-5", &cached, false), Money::from_usd(0.44));
}

#[test]
fn a_search_costs_a_cent_also_in_a_batch_and_also_in_the_us() {
    let catalog = Catalog::builtin();
    let terms = Terms { fast: true, us_inference: true };
    for usage in [Usage { web_searches: 3, ..Usage::default() }, Usage { web_searches: 3, terms, ..Usage::default() }] {
        for batch in [false, true] {
            assert_eq!(catalog.cost("claude-haiku-4-5", &usage, batch), Money::from_usd(0.03));
        }
    }
    let dearer = Catalog::builtin().with_overrides(&format!(
        "[extras]\nus-inference = 1.5\nweb-search = 20\n{}",
        OVERRIDE.replace("02-29", "02-28")
    ));
    let dearer = dearer.unwrap();
    let usage = Usage { web_searches: 1, output_tokens: 1_000_000, terms, ..Usage::default() };
    // Twice 2 USD in fast mode, times 1.5, and two cents.
    assert_eq!(dearer.cost("mine", &usage, false), Money::from_usd(6.02));
    let plain = Catalog::builtin().with_overrides(&OVERRIDE.replace("02-29", "02-28")).unwrap();
    assert_eq!(plain.cost("mine", &usage, false), Money::from_usd(4.41), "the built-in extras are for it, too");
    let fail = |text: &str| Catalog::builtin().with_overrides(text).unwrap_err().to_string();
    assert!(fail("[extras]\nus-inference = 0.9\nweb-search = 1").contains("us-inference = 0.9: must be from 1 to 10"));
    assert!(fail("[extras]\nus-inference = 1\nweb-search = nan").contains("web-search = NaN: must be from 0"));
}

#[test]
fn prices_that_a_run_recorded_before_extras_were_priced_are_read() {
    let mut written = serde_json::to_value(Catalog::builtin().card("claude-opus-5").unwrap()).unwrap();
    let card = written.as_object_mut().unwrap();
    card.remove("fast").unwrap();
    card.remove("us_thousandths").unwrap();
    card["standard"].as_object_mut().unwrap().remove("web-search").unwrap();
    let card: Card = serde_json::from_value(written).unwrap();
    assert_eq!((card.fast, card.us_thousandths, card.standard.web_search), (None, 1_000, Money::ZERO));
}

#[test]
fn worked_examples_come_out_to_the_cent() {
    let catalog = Catalog::builtin();
    let judge = Usage { input_tokens: 1_200, output_tokens: 150, ..Usage::default() };
    let times = |model: &str, usage: &Usage, batch, n: u64| Money(catalog.cost(model, usage, batch).0 * n).to_string();
    // 100,000 judgements: 120 M tokens in at 1 USD, 15 M out at 5 USD.
    assert_eq!(times("claude-haiku-4-5", &judge, false, 100_000), "$195.00");
    assert_eq!(times("claude-haiku-4-5", &judge, true, 100_000), "$97.50");
    // A rubric of 4,000 tokens, read from the cache at half of 0.10 USD: batch and cache stack.
    let cached = Usage { input_tokens: 200, output_tokens: 150, cache_read: 4_000, ..Usage::default() };
    assert_eq!(times("claude-sonnet-5-5", &cached, false, 10_000), "$23.00");
    assert_eq!(times("claude-sonnet-5-5", &cached, true, 10_000), "$11.50");
    let first = Usage { input_tokens: 200, output_tokens: 150, cache_write_1h: 4_000, ..Usage::default() };
    assert_eq!(times("claude-opus-4-8", &first, false, 100), "$4.47");
}

#[test]
fn models_are_found_by_id_alias_and_date() {
    let catalog = Catalog::builtin();
    let id = |name| catalog.lookup(name).map(|model| model.id.as_str());
    assert_eq!(id("claude-haiku-4-5"), Some("claude-haiku-4-5-20251001"));
    assert_eq!(id("claude-haiku-4-5-20251001"), Some("claude-haiku-4-5-20251001"));
    assert_eq!(id("claude-haiku-4-5-20260101"), Some("claude-haiku-4-5-20251001"));
    assert_eq!(id("claude-sonnet-5-20260909"), Some("claude-sonnet-5"));
    assert_eq!(id("claude-sonnet-5-2026"), None);
    assert_eq!(id("gpt-9"), None);
    assert_eq!(id(""), None);
}

#[test]
fn a_model_without_a_price_costs_nothing_and_says_so() {
    let catalog = Catalog::builtin();
    assert_eq!(catalog.card("gpt-9"), None);
    assert_eq!(catalog.cost("gpt-9", &MILLION_EACH, false), Money::ZERO);
}

#[test]
fn models_that_retire_say_when() {
    let catalog = Catalog::builtin();
    let retiring: Vec<(String, String)> =
        catalog.models().iter().filter_map(|model| Some((model.id.clone(), model.retires?.to_string()))).collect();
    let expected = [("claude-sonnet-4-5-20250929", "2026-11-30"), ("claude-opus-4-5-20251101", "2027-01-22")];
    assert_eq!(retiring, expected.map(|(id, day)| (id.to_owned(), day.to_owned())));
}

const OVERRIDE: &str = r#"
[[models]]
id = "claude-haiku-4-5-20251001"
price = { input = 0.9, output = 4.5, cache-write-5m = 1.0, cache-write-1h = 1.8, cache-read = 0.09 }
context-tokens = 200_000
max-output-tokens = 64_000

[[models]]
id = "my-gateway-model"
aliases = ["mine"]
family = "opus"
price = { input = 1, output = 2, cache-write-5m = 0, cache-write-1h = 0, cache-read = 0 }
context-tokens = 1
max-output-tokens = 1
retires = "2027-02-29"
"#;

#[test]
fn overrides_replace_a_model_as_a_whole_and_add_new_ones() {
    let catalog = Catalog::builtin().with_overrides(&OVERRIDE.replace("02-29", "02-28")).unwrap();
    assert_eq!(catalog.models().len(), TABLE.len() + 1);
    assert_eq!(catalog.lookup("claude-haiku-4-5-20251001").unwrap().card.standard.input, Money::from_usd(0.9));
    assert_eq!(catalog.lookup("claude-haiku-4-5"), catalog.lookup("claude-haiku-4-5-20251001"));
    assert_eq!(catalog.lookup("mine").unwrap().family, Family::Opus);
}

#[test]
fn a_catalog_that_makes_no_sense_is_refused_with_the_place() {
    let fail = |text: &str| Catalog::builtin().with_overrides(text).unwrap_err().to_string();
    assert_eq!(
        fail(OVERRIDE),
        "failed to read the catalog: model my-gateway-model: retires = \"2027-02-29\": must be a date such as 2026-11-30"
    );
    for (price, shown) in [("-1.0", "-1"), ("nan", "NaN"), ("inf", "inf"), ("10001.0", "10001")] {
        assert_eq!(
            fail(&OVERRIDE.replace("input = 0.9", &format!("input = {price}"))),
            format!(
                "failed to read the catalog: model claude-haiku-4-5-20251001: input = {shown}: must be from 0 to 10000 USD per million tokens"
            )
        );
    }
    assert!(fail("[[models]]\nid = \"x\"\nprize = 1").contains("unknown field `prize`"));
}

#[test]
fn every_family_has_a_prior_with_a_source_and_some_models_a_balance() {
    let catalog = Catalog::builtin();
    for family in Family::ALL {
        let prior = catalog.prior(family);
        assert!(!prior.source.is_empty() && prior.source != "no figures in the catalog", "{family}");
    }
    assert_eq!(catalog.lookup("claude-sonnet-4-5").unwrap().cost_balance_n, Some(200_000));
    assert_eq!(catalog.lookup("claude-opus-5-5").unwrap().cost_balance_n, None);
}

#[test]
fn a_prior_can_be_overridden_and_one_that_makes_no_sense_is_refused() {
    let text = "[priors.opus]\nlatency-p50-s = 9\nlatency-p95-s = 20\ntokens-in = [1, 2, 3]\ntokens-out = [4, 5, 6]\nsource = \"ours\"";
    let catalog = Catalog::builtin().with_overrides(text).unwrap();
    assert_eq!(catalog.prior(Family::Opus).tokens_out, (4.0, 5.0, 6.0));
    assert_eq!(catalog.prior(Family::Haiku), Catalog::builtin().prior(Family::Haiku));
    let fail = |text: &str| Catalog::builtin().with_overrides(text).unwrap_err().to_string();
    assert_eq!(
        fail(&text.replace("[1, 2, 3]", "[3, 2, 1]")),
        "failed to read the catalog: what is assumed of opus: tokens-in must be [low, expected, high], above 0 and in order"
    );
    assert!(fail(&text.replace("= 9", "= nan")).contains("what is assumed of opus: latency must be"));
}

#[test]
fn a_retired_model_is_said_to_be_and_one_that_will_retire_says_when() {
    let catalog = Catalog::builtin();
    let sonnet = catalog.lookup("claude-sonnet-4-5").unwrap();
    let day = |text: &str| text.parse().unwrap();
    assert!(sonnet.retirement(day("2026-11-29")).unwrap().ends_with("is deprecated and retires on 2026-11-30"));
    assert!(sonnet.retirement(day("2026-11-30")).unwrap().contains("was retired on 2026-11-30"));
    assert_eq!(catalog.lookup("claude-haiku-5-5").unwrap().retirement(day("2030-01-01")), None);
}
