use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::{DispatchSettings, Family, Money, WireSettings};

use super::*;

fn resolve_all(text: &str, env: &[(&str, &str)], flags: &Overrides) -> Result<Settings, ConfigError> {
    let file = ConfigText { path: PathBuf::from("/conf/config.toml"), text: text.to_owned() };
    Settings::resolve(Some(&file), &env.iter().copied().collect(), &Paths::under("/u"), flags)
}

fn resolve(text: &str, env: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    resolve_all(text, env, &Overrides::default())
}

fn defaults() -> Settings {
    Settings::resolve(None, &Env::default(), &Paths::under("/u"), &Overrides::default()).unwrap()
}

fn origin(settings: &Settings, name: &str) -> String {
    settings.explain().iter().find(|line| line.name == name).map(|line| line.origin.to_string()).unwrap_or_default()
}

fn value<'s>(settings: &'s Settings, name: &str) -> &'s str {
    settings.explain().iter().find(|line| line.name == name).map_or("", |line| &line.value)
}

/// What the sample says when the settings in comments are said too.
fn sample_in_full() -> String {
    let is_setting = |line: &str| line.starts_with(|c: char| c.is_ascii_lowercase() || c == '[');
    SAMPLE
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| is_setting(rest)).unwrap_or(line).to_owned() + "\n")
        .collect()
}

#[test]
fn without_anything_every_value_is_the_default() {
    let settings = defaults();
    assert_eq!(settings.dispatch, DispatchSettings::default());
    assert_eq!(settings.wire, WireSettings::default());
    assert_eq!(settings.cache_dir, Path::new("/u/cache"));
    assert_eq!(settings.runs_dir, Path::new("/u/runs"));
    assert_eq!(settings.log_dir, Path::new("/u/logs"));
    assert!(settings.use_cache);
    assert_eq!(settings.group_commit, Duration::from_millis(10));
    assert_eq!(settings.confirm_above_usd, Money::from_usd(50.0));
    assert_eq!(settings.batch.stuck_after, Some(Duration::from_secs(4 * 3_600)));
    assert!(settings.orgs.is_empty());
    assert!(settings.explain().iter().all(|line| line.origin == Origin::Default));
}

#[test]
fn the_sample_equals_the_defaults() {
    let sample = resolve(SAMPLE, &[]).unwrap();
    let plain = |settings: &Settings| -> Vec<(String, String)> {
        settings.explain().iter().map(|line| (line.name.clone(), line.value.clone())).collect()
    };
    assert_eq!(plain(&sample), plain(&defaults()));
    assert_eq!((sample.dispatch, sample.wire), (DispatchSettings::default(), WireSettings::default()));
}

#[test]
fn the_sample_shows_every_setting_and_what_it_shows_in_comments_is_valid() {
    let text = sample_in_full();
    let full = resolve(&text, &[("ANTHROPIC_API_KEY", "k-123456")]).unwrap();
    for line in full.explain() {
        let from_env_or_fixed = matches!(line.name.as_str(), "stuck-after" | "log-dir");
        assert_ne!(line.origin == Origin::Default, !from_env_or_fixed, "{} is not in the sample", line.name);
    }
    let org = &full.orgs[0];
    assert_eq!((org.label.as_str(), org.base_url.as_str()), ("high-prio", "https://api.anthropic.com"));
    assert_eq!(org.caps, Family::ALL.map(Family::default_cap));
    assert_eq!(full.wire.ca_file.as_deref(), Some(Path::new("/conf/company-ca.pem")));
    assert_eq!(full.cache_dir, Path::new("/u/home/.cache/fandeck"));
}

#[test]
fn flags_go_before_the_environment_before_the_file_before_the_default() {
    let text = "[dispatch]\nprocs = 2\nfloor = 8\n[store]\ncache-dir = \"c\"\n[[orgs]]\nlabel = \"a\"\nkey-env = \"A\"\ncaps = { sonnet = 7, opus = 8 }\n";
    let flags = Overrides {
        procs: Some(3),
        cap: Some(30),
        cache_dir: Some(PathBuf::from("here")),
        no_cache: true,
        ..Overrides::default()
    };
    let settings = resolve_all(text, &[("A", "k-123456"), ("EPS_API_CONC_SONNET", "9")], &flags).unwrap();
    assert_eq!((settings.dispatch.procs, settings.dispatch.cap, settings.dispatch.floor), (3, Some(30), 8));
    assert_eq!((settings.cache_dir.as_path(), settings.use_cache), (Path::new("here"), false));
    assert_eq!(settings.orgs[0].caps, [9, 120, 8, 40, 40]);
    for (name, expected) in [
        ("dispatch.procs", "--procs"),
        ("dispatch.cap", "--cap"),
        ("dispatch.floor", "/conf/config.toml:3"),
        ("dispatch.ramp", "default"),
        ("store.cache-dir", "--cache-dir"),
        ("store.cache", "--no-cache"),
        ("orgs.a.caps.sonnet", "environment variable EPS_API_CONC_SONNET"),
        ("orgs.a.caps.opus", "/conf/config.toml:9"),
        ("orgs.a.caps.haiku", "default"),
    ] {
        assert_eq!(origin(&settings, name), expected, "{name}");
    }
    let by_file = resolve(text, &[]).unwrap();
    assert_eq!((by_file.dispatch.procs, by_file.cache_dir.as_path()), (2, Path::new("/conf/c")));
}

#[test]
fn an_outage_is_waited_out_for_ever_on_screen_and_a_quarter_of_an_hour_headless() {
    let limit = |text: &str, headless| {
        resolve_all(text, &[], &Overrides { headless, ..Overrides::default() }).unwrap().dispatch.outage_limit
    };
    assert_eq!(limit("", false), None);
    assert_eq!(limit("", true), Some(Duration::from_secs(900)));
    assert_eq!(limit("[dispatch]\noutage-limit = \"none\"", true), None);
    assert_eq!(limit("[dispatch]\noutage-limit = \"1h30m\"", false), Some(Duration::from_secs(5_400)));
}

#[test]
fn l15_orgs_come_from_the_variables_that_are_set_and_not_blank() {
    let env = [
        ("ANTHROPIC_API_KEY", " k-123456\n"),
        ("ANTHROPIC_BATCH_KEY", " \t"),
        ("ANTHROPIC_BASE_URL", "http://localhost:9/"),
    ];
    let settings = resolve("", &env).unwrap();
    let [org] = settings.require_orgs().unwrap() else { panic!("{:?}", settings.orgs) };
    assert_eq!((org.label.as_str(), org.key_env.as_str()), ("high-prio", "ANTHROPIC_API_KEY"));
    assert_eq!(org.key.expose(), "k-123456");
    assert_eq!(org.base_url, "http://localhost:9");
    assert_eq!(value(&settings, "orgs.batch.key-env"), "ANTHROPIC_BATCH_KEY (absent)");
    assert_eq!(value(&settings, "orgs.high-prio.key-env"), "ANTHROPIC_API_KEY (set)");
    assert_eq!(origin(&settings, "orgs.high-prio.base-url"), "environment variable ANTHROPIC_BASE_URL");
}

#[test]
fn l15_no_key_at_all_names_the_variables_looked_at_when_keys_are_needed() {
    let text = |settings: Settings| settings.require_orgs().unwrap_err().to_string();
    assert_eq!(
        text(resolve("", &[("ANTHROPIC_API_KEY", "  ")]).unwrap()),
        "no API key found: looked at ANTHROPIC_API_KEY, ANTHROPIC_BATCH_KEY, ANTHROPIC_API_KEY_LOW_PRIO; set one of them, or name another variable as key-env of an [[orgs]] in the config file"
    );
    let file = "[[orgs]]\nlabel = \"a\"\nkey-env = \"TEAM_A\"\n";
    assert!(text(resolve(file, &[("ANTHROPIC_API_KEY", "k-123456")]).unwrap()).contains("looked at TEAM_A;"));
}

#[test]
fn flags_choose_orgs_by_label() {
    let env = [("ANTHROPIC_API_KEY", "k-123456"), ("ANTHROPIC_API_KEY_LOW_PRIO", "k-654321")];
    let with = |labels: &[&str]| {
        let orgs = labels.iter().map(|label| (*label).to_owned()).collect();
        resolve_all("", &env, &Overrides { orgs, ..Overrides::default() })
    };
    let labels = |settings: &Settings| settings.orgs.iter().map(|org| org.label.clone()).collect::<Vec<String>>();
    assert_eq!(labels(&with(&[]).unwrap()), ["high-prio", "low-prio"]);
    assert_eq!(labels(&with(&["low-prio"]).unwrap()), ["low-prio"]);
    assert_eq!(
        with(&["low-prio", "batch"]).unwrap().require_orgs().unwrap_err().to_string(),
        "org batch was asked for, and its key is absent: set ANTHROPIC_BATCH_KEY"
    );
    assert_eq!(
        with(&["lowprio"]).unwrap_err().to_string(),
        "--orgs lowprio: must be labels of high-prio, low-prio, batch"
    );
}

#[test]
fn stuck_hours_are_read_as_the_promise_says() {
    let hours = |text: &str| resolve("", &[("EPS_BATCH_STUCK_HOURS", text)]).map(|settings| settings.batch.stuck_after);
    let four = Some(Duration::from_secs(4 * 3_600));
    for (text, expected) in [
        ("", four),
        ("  ", four),
        ("4.0", four),
        ("0.5", Some(Duration::from_secs(1_800))),
        ("1e300", Some(Duration::from_secs(366 * 86_400))),
        ("0", None),
        ("-1", None),
        ("-1e300", None),
    ] {
        assert_eq!(hours(text), Ok(expected), "{text:?}");
    }
}

/// Lines of the file, variables, flags; and the whole text of the error.
#[test]
fn errors_name_the_place_the_value_and_what_is_allowed() {
    let org = |rest: &str| format!("[[orgs]]\nlabel = \"a\"\nkey-env = \"A\"\n{rest}\n");
    let at = |line: usize, rest: &str| format!("/conf/config.toml:{line}: {rest}");
    for (text, expected) in [
        ("[dispatch\n".to_owned(), at(1, "not valid TOML: unclosed table, expected `]`")),
        ("\n[dispatch]\nprocs = 0".to_owned(), at(3, "dispatch.procs = 0: must be an integer from 1 to 64")),
        ("[dispatch]\nprocs = 2.0".to_owned(), at(2, "dispatch.procs = 2.0: must be an integer from 1 to 64")),
        (
            "[dispatch]\ncap = 99999999999999999999".to_owned(),
            at(2, "dispatch.cap = 99999999999999999999: must be an integer from 1 to 10000"),
        ),
        ("[dispatch]\nfloor = \"4\"".to_owned(), at(2, "dispatch.floor = \"4\": must be an integer from 1 to 1000")),
        (
            "[dispatch]\nfuse = -1".to_owned(),
            at(2, "dispatch.fuse = -1: must be an integer from 0 to 1000; 0 turns the fuse off"),
        ),
        ("[dispatch]\nstart-share = 1.5".to_owned(), at(2, "dispatch.start-share = 1.5: must be a number from 0 to 1")),
        ("[dispatch]\nstart-share = nan".to_owned(), at(2, "dispatch.start-share = nan: must be a number from 0 to 1")),
        (
            "[dispatch]\neasing-headroom = inf".to_owned(),
            at(2, "dispatch.easing-headroom = inf: must be a number from 0 to 1"),
        ),
        ("[dispatch]\ncut = 1".to_owned(), at(2, "dispatch.cut = 1: must be a number above 0 and below 1")),
        (
            "confirm-above-usd = -inf".to_owned(),
            at(1, "confirm-above-usd = -inf: must be an amount in USD from 0 to 1000000"),
        ),
        (
            "[dispatch]\nramp = 30".to_owned(),
            at(2, "dispatch.ramp = 30: must be a duration such as 90s, 1h30m or 2d, from 1s to 1h"),
        ),
        (
            "[dispatch]\nramp = \"soon\"".to_owned(),
            at(2, "dispatch.ramp = \"soon\": must be a duration such as 90s, 1h30m or 2d, from 1s to 1h"),
        ),
        (
            "[dispatch]\npark-after = \"59s\"".to_owned(),
            at(2, "dispatch.park-after = \"59s\": must be a duration such as 90s, 1h30m or 2d, from 1m to 1day"),
        ),
        (
            "[dispatch]\noutage-limit = \"never\"".to_owned(),
            at(
                2,
                "dispatch.outage-limit = \"never\": must be a duration such as 90s, 1h30m or 2d, from 1s to 7days; or none, to wait for ever",
            ),
        ),
        (
            "[dispatch]\nbackoff-min = \"2m\"".to_owned(),
            at(2, "dispatch.backoff-min = 2m: must be at most dispatch.backoff-max, which is 1m"),
        ),
        (
            "[dispatch]\nbackoff-max = \"500ms\"".to_owned(),
            at(2, "dispatch.backoff-max = 500ms: must be at least dispatch.backoff-min, which is 1s"),
        ),
        (
            "[wire]\nconnect-timeout = \"2m\"".to_owned(),
            at(2, "wire.connect-timeout = 2m: must be at most wire.first-byte-timeout, which is 1m"),
        ),
        (
            "[wire]\nversion = \"latest\"".to_owned(),
            at(2, "wire.version = \"latest\": must be the date of a version of the API, such as \"2023-06-01\""),
        ),
        ("[wire]\nbearer = \"yes\"".to_owned(), at(2, "wire.bearer = \"yes\": must be true or false")),
        (
            "[wire]\nbetas = [\"a,b\"]".to_owned(),
            at(2, "wire.betas = [\"a,b\"]: must be a list of beta names, such as [\"context-1m-2025-08-07\"]"),
        ),
        ("[wire]\nca-file = \"\"".to_owned(), at(2, "wire.ca-file = \"\": must be a path")),
        (
            "[store]\ngroup-commit = \"201ms\"".to_owned(),
            at(2, "store.group-commit = \"201ms\": must be a duration such as 90s, 1h30m or 2d, from 1ms to 200ms"),
        ),
        ("store = 1".to_owned(), at(1, "store = 1: must be a table: [store]")),
        ("orgs = 1".to_owned(), at(1, "orgs = 1: must be tables, each under [[orgs]]")),
        ("dispach = 1".to_owned(), at(1, "unknown key dispach: did you mean dispatch?")),
        ("\n[dispatch]\nprocss = 1".to_owned(), at(3, "unknown key dispatch.procss: did you mean procs?")),
        (
            "[store]\ntheme = \"dark\"".to_owned(),
            at(2, "unknown key store.theme: the keys here are cache-dir, cache, runs-dir, group-commit"),
        ),
        (org("lable = 1"), at(4, "unknown key orgs.lable: did you mean label?")),
        (org("caps = { sonet = 1 }"), at(4, "unknown key orgs.caps.sonet: did you mean sonnet?")),
        (org("caps = { sonnet = 0 }"), at(4, "orgs.caps.sonnet = 0: must be an integer from 1 to 10000")),
        (
            org("base-url = \"api.example\""),
            at(
                4,
                "orgs.base-url = \"api.example\": must be an http or https URL with a host, such as https://api.anthropic.com",
            ),
        ),
        (
            org("base-url = \"https://me:pw@host\""),
            at(
                4,
                "orgs.base-url = (hidden): must be without user name and password: the key goes in a header of its own",
            ),
        ),
        (
            org("base-url = \"http://10.0.0.1\""),
            at(
                4,
                "orgs.base-url = \"http://10.0.0.1\": must be https, or a loopback host: over plain http the key travels in clear text (allow-insecure-http = true in [[orgs]] overrides this)",
            ),
        ),
        (
            org("base-url = \"https://host/v1\""),
            at(4, "orgs.base-url = \"https://host/v1\": must be without /v1, which is appended to it"),
        ),
        (org(&org("")), at(5, "orgs.label = \"a\": must be unique, and /conf/config.toml:2 has it already")),
        (
            "\n[[orgs]]\nkey-env = \"A\"".to_owned(),
            at(2, "orgs.label is missing: the org's name on screen and on disk"),
        ),
        (
            "[[orgs]]\nlabel = \"a\"".to_owned(),
            at(1, "orgs.key-env is missing: the environment variable that holds the key"),
        ),
        (
            "[[orgs]]\nlabel = \"A B\"\nkey-env = \"A\"".to_owned(),
            at(2, "orgs.label = \"A B\": must be 1 to 32 characters of a-z, 0-9 and -"),
        ),
        (
            "[[orgs]]\nlabel = \"a\"\nkey-env = \"sk-ant-api03-zzz\"".to_owned(),
            at(
                3,
                "orgs.key-env = \"[key]\": must be the name of the environment variable that holds the key (not the key itself)",
            ),
        ),
    ] {
        assert_eq!(resolve(&text, &[]).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn errors_in_the_environment_name_the_variable() {
    let hours = "a number of hours such as 4.0; 0 or less turns the escape off";
    for (name, value, expected) in [
        ("EPS_BATCH_STUCK_HOURS", "four", format!("environment variable EPS_BATCH_STUCK_HOURS = \"four\": must be {hours}")),
        ("EPS_BATCH_STUCK_HOURS", "nan", format!("environment variable EPS_BATCH_STUCK_HOURS = \"nan\": must be {hours}")),
        ("EPS_BATCH_STUCK_HOURS", "-inf", format!("environment variable EPS_BATCH_STUCK_HOURS = \"-inf\": must be {hours}")),
        ("EPS_API_CONC_SONNET", "0", "environment variable EPS_API_CONC_SONNET = \"0\": must be an integer from 1 to 10000".to_owned()),
        ("EPS_API_CONC_SONNET", "1.5", "environment variable EPS_API_CONC_SONNET = \"1.5\": must be an integer from 1 to 10000".to_owned()),
        ("EPS_API_CONC_SONET", "5", "environment variable EPS_API_CONC_SONET: unknown key family SONET: did you mean sonnet?".to_owned()),
        ("ANTHROPIC_BASE_URL", "http://me:pw@10.0.0.1", "environment variable ANTHROPIC_BASE_URL = (hidden): must be without user name and password: the key goes in a header of its own".to_owned()),
        ("ANTHROPIC_API_KEY", "\"k-123\"", "environment variable ANTHROPIC_API_KEY: the key stands in quotes, and they would be sent with it: take them off".to_owned()),
        ("ANTHROPIC_API_KEY", "'k-123'", "environment variable ANTHROPIC_API_KEY: the key stands in quotes, and they would be sent with it: take them off".to_owned()),
        ("ANTHROPIC_API_KEY", "k-123 456", "environment variable ANTHROPIC_API_KEY: the key holds a character that an HTTP header cannot carry: copy it again".to_owned()),
    ] {
        assert_eq!(resolve("", &[(name, value)]).unwrap_err().to_string(), expected);
    }
}

#[test]
fn errors_in_flags_name_the_flag_and_lower_values_are_checked_all_the_same() {
    let fail = |text: &str, flags: Overrides| resolve_all(text, &[], &flags).unwrap_err().to_string();
    let procs = |n| Overrides { procs: Some(n), ..Overrides::default() };
    assert_eq!(fail("", procs(65)), "--procs 65: must be an integer from 1 to 64");
    assert_eq!(
        fail("", Overrides { cap: Some(0), ..Overrides::default() }),
        "--cap 0: must be an integer from 1 to 10000"
    );
    assert_eq!(
        fail("", Overrides { cache_dir: Some(PathBuf::new()), ..Overrides::default() }),
        "--cache-dir \"\": must be a path"
    );
    assert_eq!(
        fail("[dispatch]\nprocs = 0", procs(2)),
        "/conf/config.toml:2: dispatch.procs = 0: must be an integer from 1 to 64"
    );
}

#[test]
fn plain_http_to_another_machine_can_be_allowed_org_by_org() {
    let text =
        "[[orgs]]\nlabel = \"a\"\nkey-env = \"A\"\nbase-url = \"http://10.0.0.1/\"\nallow-insecure-http = true\n";
    assert_eq!(resolve(text, &[("A", "k-123456")]).unwrap().orgs[0].base_url, "http://10.0.0.1");
}

#[test]
fn no_key_is_in_what_is_told_or_debugged() {
    let env: Env = [("ANTHROPIC_API_KEY", "k-123456")].into_iter().collect();
    let settings = Settings::resolve(None, &env, &Paths::under("/u"), &Overrides::default()).unwrap();
    let told = serde_json::to_string(settings.explain()).unwrap();
    assert!(!format!("{told} {settings:?} {env:?}").contains("123456"));
    assert!(told.contains(r#"{"name":"dispatch.procs","value":"1","origin":"default"}"#));
}

#[test]
fn the_users_file_may_be_missing_and_a_named_one_may_not() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::under(&dir.path().display().to_string());
    assert_eq!(ConfigText::load(None, &paths), Ok(None));
    let named = dir.path().join("named.toml");
    assert_eq!(
        ConfigText::load(Some(&named), &paths).unwrap_err().to_string(),
        format!("failed to read the config file {}: No such file or directory (os error 2)", named.display())
    );
    std::fs::write(&paths.config_file, "[dispatch]\n").unwrap();
    assert_eq!(ConfigText::load(None, &paths).unwrap().unwrap().text, "[dispatch]\n");
}
