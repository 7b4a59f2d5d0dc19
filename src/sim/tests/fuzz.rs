//! Requests of every kind, right and wrong.

use proptest::prelude::*;

use super::*;

/// A header's value: often a good one, sometimes anything that a header may hold.
fn value(good: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        6 => proptest::sample::select(good).prop_map(|value| Some(value.to_owned())),
        1 => Just(None),
        2 => "[ -~]{0,20}".prop_map(Some),
    ]
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just("/v1/messages".to_owned()),
        2 => Just("/v1/messages/count_tokens".to_owned()),
        4 => Just("/v1/messages/batches".to_owned()),
        2 => "/v1/(models|messages/batches)(/[a-z0-9_-]{0,12})?(/(results|cancel))?(\\?(limit|after_id|before_id)=[ -~]{0,6})?",
        1 => "/[!-~]{0,30}",
    ]
}

/// Batches that are nearly right.
fn batch_body() -> impl Strategy<Value = Vec<u8>> {
    let junk = proptest::sample::select(&["null", "-1", "{}", "[]", "\"a b\"", "\"\"", "1e99", "\"\\ud800\""][..]);
    let good = String::from_utf8(body("row")).unwrap();
    let id = prop_oneof![3 => "[a-c]".prop_map(|id| format!("\"{id}\"")), 1 => junk.clone().prop_map(str::to_owned)];
    let params = prop_oneof![3 => Just(good), 1 => junk.prop_map(str::to_owned)];
    let extra = proptest::sample::select(&["", "", "", ",\"x\":1", ",\"custom_id\":\"a\""][..]);
    let row = (id, params, extra)
        .prop_map(|(id, params, extra)| format!("{{\"custom_id\":{id},\"params\":{params}{extra}}}"));
    (proptest::collection::vec(row, 0..4), 0usize..2_000).prop_map(|(rows, cut)| {
        let body = format!("{{\"requests\":[{}]}}", rows.join(","));
        // Some of them are cut off.
        if cut < body.len() / 4 { body.as_bytes()[..cut].to_vec() } else { body.into_bytes() }
    })
}

fn some_body() -> impl Strategy<Value = Vec<u8>> {
    let junk = proptest::sample::select(&["null", "-1", "{}", "[]", "[{}]", "\"x\"", "1e99", "[1]", "true"][..]);
    let field = proptest::sample::select(&["model", "max_tokens", "messages", "system", "stream", "top_k", "x"][..]);
    prop_oneof![
        Just(body("good")),
        proptest::collection::vec(any::<u8>(), 0..80),
        (field, junk).prop_map(|(field, junk)| {
            let mut changed: Value = serde_json::from_slice(&body("changed")).unwrap();
            changed[field] = serde_json::from_str(junk).unwrap();
            changed.to_string().into_bytes()
        }),
        (0usize..90).prop_map(|cut| body("cut off")[..cut].to_vec()),
        batch_body(),
        (1usize..300).prop_map(|depth| "[".repeat(depth).into_bytes()),
    ]
}

proptest! {
    #[test]
    fn every_request_is_answered_and_every_error_has_the_apis_shape(
        method in proptest::sample::select(vec![Method::POST, Method::GET, Method::DELETE, Method::OPTIONS]),
        target in target(),
        key in value(&["ka"]),
        bearer in value(&["Bearer ka"]),
        version in value(&["2023-06-01", "2026-10-21"]),
        content_type in value(&["application/json"]),
        body in some_body(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("x-api-key", key), ("authorization", bearer), ("anthropic-version", version), ("content-type", content_type)]
        {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(&value).unwrap());
            }
        }
        let mut sim = one_org("");
        let fate = sim.arrive(SECOND, &SimRequest { method: &method, target: &target, headers: &headers, body: &body });
        let response = answered(&mut sim, SECOND, fate);
        if response.status == 200 {
            let body = response.whole();
            if !body.starts_with(b"event: ") {
                prop_assert!(serde_json::from_slice::<Value>(&body).is_ok());
            }
        } else {
            let (status, kind, _) = error_of(&response);
            prop_assert!((400..500).contains(&status));
            prop_assert!(kind.ends_with("_error"));
        }
        prop_assert_eq!(sim.stats(SECOND).in_flight, 0);
    }
}
