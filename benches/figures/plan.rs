//! What was planned against what a run then takes, with the limits that were measured on three shared orgs.
//!
//! `cargo bench --bench figures -- plan`. Two ways. First the dispatcher's own decisions against the simulated API in virtual
//! time, for 20,000 and 141,600 requests, bound by slots and bound by output tokens. Then the whole product over HTTP: a
//! pilot, the plan, the run; every span is a sixth of what it would be and every limit a minute six times as high, so
//! that it takes minutes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fandeck::catalog::Catalog;
use fandeck::model::DispatchSettings;
use fandeck::plan::{Figure, Knobs, Latency, Limits, OrgKnobs, Plan};
use serde_json::Value;

use crate::support::{FANDECK, Server, judge_line};
use crate::weather::world::World;

/// Requests, input and output tokens a minute for Sonnet 4.5.
const ORGS: [(&str, f64, f64, f64); 3] =
    [("high-prio", 30e3, 10e6, 1.0e6), ("batch", 90e3, 8e6, 0.8e6), ("low-prio", 30e3, 15e6, 1.2e6)];
const MODEL: &str = "claude-sonnet-4-5";
/// Latency of an answer, seconds.
const P50: f64 = 1.5;
const P95: f64 = 3.5;
/// How many times shorter the run over HTTP is.
const SCALE: f64 = 6.0;
/// Requests of a pilot.
const PILOT: u32 = 100;

pub(crate) fn print(args: &[String]) {
    let sizes: Vec<u32> = match args.first().and_then(|arg| arg.parse().ok()) {
        Some(n) => vec![n],
        None => vec![20_000, 141_600],
    };
    println!("in virtual time: the dispatcher's decisions, limits of three orgs");
    for n in &sizes {
        for cap in [100, 600] {
            virtual_time(*n, cap);
        }
    }
    println!("over HTTP: a pilot of {PILOT}, the plan, the run; times {SCALE} faster");
    for n in &sizes {
        over_http(*n);
    }
    println!("a whole plan, made {} times a second", plans_a_second());
}

fn scenario(scale: f64) -> String {
    let orgs = ORGS.map(|(label, rpm, itpm, otpm)| {
        format!(
            "[[orgs]]\nlabel = \"{label}\"\nkey = \"sim-{label}\"\nlimits = {{ rpm = {}, itpm = {}, otpm = {} }}\n",
            (rpm * scale) as u64,
            (itpm * scale) as u64,
            (otpm * scale) as u64
        )
    });
    format!(
        "summary = \"limits as measured\"\nlatency = {{ p50-ms = {}, p95-ms = {} }}\n{}",
        P50 * 1e3 / scale,
        P95 * 1e3 / scale,
        orgs.concat()
    )
}

fn virtual_time(n: u32, cap: u32) {
    let max_tokens = |no: u32| 8 + (no.wrapping_mul(2_654_435_761) >> 7) % 249;
    let settings = DispatchSettings::default();
    let mut world = World::new(&scenario(1.0));
    let client = world.client(cap, settings.clone());
    world.run(client, n, max_tokens);
    world.until_rest(client, Duration::from_secs(24 * 3_600));
    let took = world.clients[client].rested.values().next().unwrap().0.since(fandeck::model::Mono::ZERO).as_secs_f64();
    let snapshot = world.snapshot(client);
    let sum = |of: fn(&fandeck::model::snapshot::OrgTotals) -> u64| {
        snapshot.orgs.iter().map(|org| of(&org.totals)).sum::<u64>() as f64 / f64::from(n)
    };
    let orgs = ORGS.map(|(label, rpm, itpm, otpm)| OrgKnobs {
        label: label.to_owned(),
        cap,
        limits: Limits {
            requests: Some(Figure::given(rpm)),
            input_tokens: Some(Figure::given(itpm)),
            output_tokens: Some(Figure::given(otpm)),
        },
    });
    let mut knobs = Knobs::assumed(u64::from(n), MODEL, orgs.to_vec(), &Catalog::builtin());
    knobs.dispatch = settings;
    knobs.tokens.input = Figure::given(sum(|totals| totals.tokens_in));
    knobs.tokens.output = Figure::given(sum(|totals| totals.tokens_out));
    // The network of the experiment takes 30 ms, the disk 40.
    knobs.latency = Latency { p50: Figure::given(P50 + 0.03), p95: P95 + 0.03, mean: None };
    let plan = Plan::of(&knobs, &Catalog::builtin());
    println!(
        "  {n:>7} requests, cap {cap}: planned {:>7.1} s, bound by {:<13} took {took:>7.1} s   {:+.1} %",
        plan.sync.wall_s,
        plan.sync.binding.as_str(),
        (plan.sync.wall_s / took - 1.0) * 100.0
    );
}

fn over_http(n: u32) {
    let dir = tempfile::tempdir().unwrap();
    let (input, run) = (dir.path().join("input.jsonl"), dir.path().join("run"));
    let lines: Vec<String> = (0..n).map(|no| judge_line(no).replace("claude-haiku-4-5", MODEL)).collect();
    std::fs::write(&input, lines.join("\n") + "\n").unwrap();
    let (world, config) = (dir.path().join("limits.toml"), dir.path().join("config.toml"));
    std::fs::write(&world, scenario(SCALE)).unwrap();
    let ramp = (30e3 / SCALE) as u64;
    std::fs::write(&config, format!("[dispatch]\nramp = \"{ramp}ms\"\n")).unwrap();
    let server =
        Server::start(Command::new(FANDECK).args(["simulate", "--listen", "127.0.0.1:0", "--scenario"]).arg(&world));
    let fandeck = |args: &[&std::ffi::OsStr]| -> Value { json_line(dir.path(), &server.url, &config, args) };
    let planned = fandeck(&[
        "plan".as_ref(),
        input.as_ref(),
        "--pilot".as_ref(),
        PILOT.to_string().as_ref(),
        "--run-dir".as_ref(),
        run.as_ref(),
        "--cap".as_ref(),
        "100".as_ref(),
    ]);
    let done = fandeck(&["report".as_ref(), run.as_ref()]);
    let finished = fandeck(&["resume".as_ref(), run.as_ref(), "--cap".as_ref(), "100".as_ref()]);
    assert_eq!(finished["n_succeeded"], n);
    let took = finished["session_wall_s"].as_f64().unwrap();
    let cost = finished["cost_usd"].as_f64().unwrap() - done["cost_usd"].as_f64().unwrap();
    let figure = |name: &str| planned[name].as_f64().unwrap();
    println!(
        "  {n:>7} requests: planned {:>7.1} s ({:.1} to {:.1}), {}, took {took:>7.1} s   {:+.1} %",
        figure("wall_s"),
        figure("wall_s_low"),
        figure("wall_s_high"),
        planned["binding"].as_str().unwrap(),
        (figure("wall_s") / took - 1.0) * 100.0
    );
    println!(
        "          {} planned ${:>8.2} (${:.2} to ${:.2}), cost ${cost:>8.2}   {:+.2} %",
        " ".repeat(6),
        figure("cost_usd"),
        figure("cost_usd_low"),
        figure("cost_usd_high"),
        (figure("cost_usd") / cost - 1.0) * 100.0
    );
}

/// Runs the product, and reads the last line that it prints.
fn json_line(home: &Path, url: &str, config: &Path, args: &[&std::ffi::OsStr]) -> Value {
    let mut command = Command::new(FANDECK);
    command.args(args).arg("--json");
    if args[0] != "report" {
        command.arg("--yes").arg("--config").arg(config);
    }
    let output = command
        .env_clear()
        .env("HOME", home.join("home"))
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sim-high-prio")
        .env("ANTHROPIC_BATCH_KEY", "sim-batch")
        .env("ANTHROPIC_API_KEY_LOW_PRIO", "sim-low-prio")
        .stderr(std::process::Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

fn plans_a_second() -> u64 {
    let catalog = Catalog::builtin();
    let orgs = ORGS.map(|(label, rpm, itpm, otpm)| OrgKnobs {
        label: label.to_owned(),
        cap: 100,
        limits: Limits {
            requests: Some(Figure::given(rpm)),
            input_tokens: Some(Figure::given(itpm)),
            output_tokens: Some(Figure::given(otpm)),
        },
    });
    let mut knobs = Knobs::assumed(141_600, MODEL, orgs.to_vec(), &catalog);
    knobs.deadline = Some(Duration::from_secs(600));
    let started = Instant::now();
    let mut n = 0_u64;
    while started.elapsed() < Duration::from_secs(1) {
        std::hint::black_box(Plan::of(std::hint::black_box(&knobs), &catalog));
        n += 1;
    }
    n
}
