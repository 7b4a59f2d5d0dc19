//! Faults, drawn and written.

use super::*;

fn fault(text: &str) -> Result<Fault, String> {
    toml::from_str::<FaultFile>(text).map_err(|error| error.to_string())?.resolve()
}

#[test]
fn a_fault_strikes_inside_its_window_and_its_calls_only() {
    let fault = fault("kind = \"unauthorized\"\nfrom-s = 10\nto-s = 20\nfrom-call = 5\nto-call = 6").unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut hit = |s, call| fault.strikes(Duration::from_secs(s), &calls(call), &mut rng);
    assert!(hit(10, 5) && hit(19, 6));
    assert!(!hit(9, 5) && !hit(20, 5) && !hit(10, 4) && !hit(10, 7));
}

fn calls(messages: u64) -> Calls {
    let mut calls = Calls::default();
    calls.0[Place::Messages.ix()] = messages;
    calls
}

#[test]
fn a_fault_strikes_where_it_says_and_trouble_of_the_account_everywhere() {
    let places = |text: &str| {
        let places = fault(text).unwrap().places;
        Place::ALL.into_iter().filter(|place| places.has(*place)).collect::<Vec<_>>()
    };
    assert_eq!(places("kind = \"hang\""), [Place::Messages]);
    assert_eq!(places("kind = \"unauthorized\""), Place::ALL);
    assert_eq!(places("kind = \"hang\"\non = \"batches\""), Place::BATCHES);
    assert_eq!(places("kind = \"hang\"\non = [\"batch-create\", \"models\"]"), [Place::Models, Place::BatchCreate]);
}

#[test]
fn calls_to_the_places_of_a_fault_are_counted_together_and_no_others() {
    let fault = fault("kind = \"hang\"\non = [\"batch-create\", \"batch-list\"]\nfrom-call = 3").unwrap();
    let mut counted = calls(100);
    let mut rng = fastrand::Rng::with_seed(1);
    for place in [Place::BatchCreate, Place::BatchList, Place::BatchCreate] {
        assert!(!fault.strikes(Duration::ZERO, &counted, &mut rng));
        counted.note(place);
    }
    assert!(fault.strikes(Duration::ZERO, &counted, &mut rng));
}

#[test]
fn a_share_strikes_about_so_many() {
    let faults = [fault("kind = \"overloaded\"\nshare = 0.1").unwrap()];
    let mut rng = fastrand::Rng::with_seed(7);
    let hits = (1..=10_000)
        .filter(|call| draw(&faults, Place::Messages, Duration::ZERO, &calls(*call), &mut rng).1.is_some())
        .count();
    assert!((900..1_100).contains(&hits), "{hits}");
}

#[test]
fn slowness_multiplies_and_the_first_other_fault_wins() {
    let faults =
        ["kind = \"slow\"\nfactor = 2", "kind = \"hang\"", "kind = \"slow\"\nfactor = 3", "kind = \"invalid\""]
            .map(|text| fault(text).unwrap());
    let drawn = draw(&faults, Place::Messages, Duration::ZERO, &calls(1), &mut fastrand::Rng::with_seed(1));
    assert_eq!(drawn, (6.0, Some(&Strike::Hang)));
}

#[test]
fn every_form_of_retry_after_is_understood() {
    for (text, wanted) in [
        ("5", RetryAfterSetting::Seconds(5, 5)),
        ("[3, 8]", RetryAfterSetting::Seconds(3, 8)),
        ("\"date+30\"", RetryAfterSetting::Date(30)),
        ("\"NaN\"", RetryAfterSetting::Verbatim("NaN".to_owned())),
        ("\"-1\"", RetryAfterSetting::Verbatim("-1".to_owned())),
    ] {
        let fault = fault(&format!("kind = \"ramp-limited\"\nretry-after = {text}")).unwrap();
        assert_eq!(fault.what, Strike::RampLimited { retry_after: wanted });
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_the_remedy() {
    for (text, remedy) in [
        ("kind = \"slow\"", "needs factor"),
        ("kind = \"hang\"\nfactor = 2", "it is for slow"),
        ("kind = \"hang\"\nshare = 2", "between 0 and 1"),
        ("kind = \"hang\"\nshare = nan", "between 0 and 1"),
        ("kind = \"hang\"\nfrom-s = 5\nto-s = 5", "after from-s"),
        ("kind = \"hang\"\nfrom-s = -1", "not negative"),
        ("kind = \"hang\"\nfrom-call = 0", "counted from 1"),
        ("kind = \"html\"\nstatus = 429", "one of [502"),
        ("kind = \"rate-limited\"\nretry-after = [8, 3]", "[least, most]"),
        ("kind = \"rate-limited\"\nretry-after = true", "seconds, [least, most]"),
        ("kind = \"hang\"\nprocessed = true", "it is for overloaded"),
        ("kind = \"hang\"\non = \"nowhere\"", "batch-create"),
        ("kind = \"explode\"", "expected one of"),
    ] {
        let problem = fault(text).unwrap_err();
        assert!(problem.contains(remedy), "{text}: {problem}");
    }
}
