//! Settings: what is wrong with them is said before anything is sent.

use crate::support::{Place, Server, json_lines};

#[test]
fn l15_without_a_key_the_variables_that_were_looked_at_are_named() {
    let server = Server::calm();
    let mut place = Place::new();
    place.set("ANTHROPIC_BASE_URL", &server.url);
    let input = place.requests(2);
    let names = ["ANTHROPIC_API_KEY", "ANTHROPIC_BATCH_KEY", "ANTHROPIC_API_KEY_LOW_PRIO"];
    place.run(&["run", &input, "--json"]).refused(2, &names);
    place.set("ANTHROPIC_API_KEY", " \t ");
    place.run(&["run", &input, "--json"]).refused(2, &names);
    // One good key is enough, and the blank one is no org.
    place.set("ANTHROPIC_BATCH_KEY", crate::support::KEYS[1].2);
    let ended = place.run(&["run", &input, "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let orgs = crate::support::finished(&ended)["orgs"].as_array().unwrap().len();
    assert_eq!((orgs, place.runs().len()), (1, 1));
    place.run(&["run", &input, "--orgs", "high-prio"]).refused(2, &["high-prio", "ANTHROPIC_API_KEY"]);
    place.run(&["run", &input, "--orgs", "nobody"]).refused(2, &["nobody", "high-prio"]);
}

#[test]
fn a_mistake_in_the_config_file_is_named_with_file_line_value_and_what_is_allowed() {
    let server = Server::calm();
    let place = Place::at(&server);
    let input = place.requests(2);
    for (line, texts) in [
        ("[dispatch]\nprocz = 2", &["config.toml:3", "procz", "procs"][..]),
        ("[dispatch]\nprocs = 0", &["config.toml:3", "procs", "0", "1 to 64"]),
        ("confirm-above-usd = nan", &["config.toml:2", "confirm-above-usd", "nan", "from 0 to 1000000"]),
        ("[dispatch]\ncut = inf", &["config.toml:3", "cut", "inf", "above 0 and below 1"]),
        ("[dispatch]\nramp = \"soon\"", &["config.toml:3", "ramp", "soon", "a duration such as"]),
        ("[dispatch]\nramp = 30", &["config.toml:3", "ramp", "30", "a duration such as"]),
        ("[store]\ngroup-commit = \"1h\"", &["config.toml:3", "group-commit", "200ms"]),
        ("[dispatch", &["config.toml:2", "not valid TOML"]),
        ("[wire]\nca-file = \"/no/such.pem\"", &["/no/such.pem", "wire.ca-file", "No such file"]),
        ("[[orgs]]\nlabel = \"a\"", &["config.toml:2", "key-env", "missing"]),
    ] {
        place.config(&format!("# a comment\n{line}\n"));
        let ended = place.run(&["run", &input, "--json"]);
        ended.refused(2, texts);
        let check = place.run(&["config", "--check"]);
        assert_eq!((check.code, &check.stderr), (2, &ended.stderr), "{line}");
    }
    place.config("");
    let named = place.run(&["run", &input, "--config", &place.text("no.toml")]);
    named.refused(2, &["no.toml"]);
    assert_eq!((server.stats().n_messages, place.runs()), (0, Vec::new()));
}

#[test]
fn an_option_that_would_be_heard_by_nobody_is_refused() {
    let place = Place::new();
    for option in [&["--read-only"][..], &["--json"], &["--config", "none.toml"]] {
        for command in ["demo", "runs", "config"] {
            place.run(&[option, &[command]].concat()).refused(2, &[option[0], command]);
        }
    }
}

#[test]
fn a_mistake_in_the_environment_or_in_a_flag_is_named_with_its_value_and_what_is_allowed() {
    let server = Server::calm();
    let input = Place::new();
    let input_file = input.requests(2);
    for (name, value, allowed) in [
        ("EPS_BATCH_STUCK_HOURS", "nan", "hours"),
        ("EPS_BATCH_STUCK_HOURS", "four", "hours"),
        ("EPS_API_CONC_SONNET", "0", "1 to 10000"),
        ("EPS_API_CONC_SONNET", "inf", "1 to 10000"),
        ("ANTHROPIC_BASE_URL", "ftp://example.org", "http"),
    ] {
        let mut place = Place::at(&server);
        place.set(name, value);
        place.run(&["run", &input_file, "--json"]).refused(2, &[name, value, allowed]);
    }
    let mut place = Place::at(&server);
    place.set("EPS_API_CONC_SONET", "10");
    place.run(&["run", &input_file]).refused(2, &["EPS_API_CONC_SONET", "did you mean sonnet?"]);
    let place = Place::at(&server);
    for (flag, value, allowed) in
        [("--procs", "0", "1 to 64"), ("--cap", "20000", "1 to 10000"), ("--cap", "x", "--cap")]
    {
        place.run(&["run", &input_file, "--json", flag, value]).refused(2, &[flag, value, allowed]);
    }
    place.run(&["run", &input_file, "--path", "carrier-pigeon"]).refused(2, &["--path"]);
    place.run(&["run"]).refused(2, &["INPUT"]);
    place.run(&["launch"]).refused(2, &["launch"]);
    for blank in ["", "  "] {
        let mut place = Place::at(&server);
        place.set("EPS_BATCH_STUCK_HOURS", blank);
        assert_eq!(place.run(&["config", "--check"]).code, 0);
    }
    assert_eq!(server.stats().n_messages, 0);
}

#[test]
fn every_setting_is_shown_with_its_origin_and_the_sample_is_what_holds_without_it() {
    let server = Server::calm();
    let mut place = Place::at(&server);
    place.set("EPS_API_CONC_HAIKU", "7");
    let shown = place.run(&["config"]).stdout;
    let row = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("orgs.batch.caps.haiku").contains('7') && row("orgs.batch.caps.haiku").contains("EPS_API_CONC_HAIKU"));
    assert!(row("dispatch.ramp").contains("config.toml:3"), "{}", row("dispatch.ramp"));
    assert!(row("dispatch.floor").ends_with("default"));
    let settings = json_lines(&place.run(&["config", "--json"]).stdout);
    assert_eq!(settings.len(), shown.lines().count());
    let without = {
        place.config("");
        place.run(&["config", "--json"]).stdout
    };
    let values = |text: &str| -> Vec<String> {
        json_lines(text).iter().map(|line| format!("{} {}", line["name"], line["value"])).collect()
    };
    place.config(&place.run(&["config", "--default"]).stdout);
    assert_eq!(values(&place.run(&["config", "--json"]).stdout), values(&without));
}
