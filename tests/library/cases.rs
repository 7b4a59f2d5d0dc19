//! The cases of the field, as scenario files: what happens, what should come of it in words, and the ranges that must
//! hold. Each file of `cases/` is run in virtual time against the decisions of the real reducer.
//!
//! A file has three tables: `drive` (the load), `expect` (figures and their ranges, both ends included) and `scenario` (as
//! `fandeck simulate` takes it).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use fandeck::model::{Command, CommandOutcome, DispatchSettings, OrgId, RunSlot, RunStatus, Snapshot};
use toml::{Table, Value};

use super::weather::world::{Start, World};

/// One case, run to its end.
struct Ran {
    world: World,
    last: Snapshot,
    /// Conditions that each org was seen in, by label.
    seen: BTreeMap<String, Vec<&'static str>>,
}

fn number(table: &Table, name: &str) -> Option<f64> {
    match table.get(name)? {
        Value::Integer(n) => Some(*n as f64),
        Value::Float(n) => Some(*n),
        other => panic!("{name} = {other}: a number is wanted"),
    }
}

fn run(file: &str, drive: &Table, scenario: &Table) -> Ran {
    let mut world = World::new(&toml::to_string(scenario).unwrap_or_else(|error| panic!("{file}: {error}")));
    let seconds = |name: &str, usual: f64| Duration::from_secs_f64(number(drive, name).unwrap_or(usual));
    let settings = DispatchSettings {
        outage_limit: Some(seconds("outage-limit-s", 900.0)),
        procs: number(drive, "procs").unwrap_or(1.0) as u32,
        ..DispatchSettings::default()
    };
    let client = world.client(number(drive, "cap").unwrap_or(20.0) as u32, settings);
    let n = number(drive, "requests").unwrap_or(500.0) as u32;
    let start = Start { unattended: !drive.contains_key("attended"), look: drive.get("look").and_then(Value::as_str) };
    world.run_as(client, n, |_| 16, &start);
    let revive = number(drive, "revive-at-s").map(Duration::from_secs_f64);
    let mut revived = false;
    let mut seen: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    let end = seconds("at-most-s", 900.0);
    let step = Duration::from_millis(500);
    loop {
        let snapshot = world.snapshot(client);
        for org in &snapshot.orgs {
            let words = seen.entry(org.label.clone()).or_default();
            if !words.contains(&org.condition.word()) {
                words.push(org.condition.word());
            }
        }
        let now = world.now.span();
        if !world.clients[client].rested.is_empty() || now >= end {
            return Ran { last: snapshot, world, seen };
        }
        if revive.is_some_and(|at| at <= now) && !revived {
            revived = true;
            for ix in 0..snapshot.orgs.len() {
                command(&mut world, client, Command::ReviveOrg { org: OrgId(ix as u16) });
            }
        }
        world.until_rest(client, now + step);
    }
}

/// Gives a command and lets the world go on.
fn command(world: &mut World, client: usize, order: Command) -> CommandOutcome {
    let now = world.clocks();
    let (outcome, wanted) = world.clients[client].core.command(order, now);
    world.perform(client, wanted);
    world.step(client, Vec::new());
    outcome
}

/// A figure by its name; the last part may name an org.
fn figure(ran: &mut Ran, name: &str) -> f64 {
    let (what, of) = name.split_once('.').unwrap_or((name, ""));
    let org = ran.last.orgs.iter().position(|org| org.label == of);
    let run = &ran.last.runs[0];
    let client = &ran.world.clients[0];
    let all = |of: fn(&fandeck::model::snapshot::OrgTotals) -> u64| -> f64 {
        let totals = ran.last.orgs.iter().enumerate().filter(|(ix, _)| org.is_none_or(|org| org == *ix));
        totals.map(|(_, org)| of(&org.totals)).sum::<u64>() as f64
    };
    match what {
        "exit-code" => client.rested.values().map(|(_, code)| f64::from(*code)).next().unwrap_or(-1.0),
        "rest-s" => client.rested.values().map(|(at, _)| at.span().as_secs_f64()).next().unwrap_or(f64::INFINITY),
        "n-succeeded" => run.counts.succeeded as f64,
        "n-refused" => run.counts.refused as f64,
        "n-invalid" => run.counts.invalid as f64,
        "n-open" => run.counts.open() as f64,
        "n-in-flight" => run.counts.in_flight as f64,
        "n-possibly-charged" => run.n_possibly_charged as f64,
        "n-re-driven" => {
            run.re_driven.iter().filter(|(why, _)| of.is_empty() || why == of).map(|(_, n)| *n as f64).sum()
        }
        "n-sent" => all(|totals| totals.n_sent),
        "n-ok" => all(|totals| totals.n_ok),
        "n-429" => all(|totals| totals.n_429()),
        "n-429-ramp" => all(|totals| totals.n_429_ramp),
        "n-account" => all(|totals| totals.n_account),
        "peak" => org.map_or(0.0, |org| f64::from(client.peak[org])),
        "share" => org.map_or(0.0, |org| client.sum_of(org, 0, u64::MAX).ok as f64 / run.counts.succeeded as f64),
        "notices" => ran.last.notices.iter().filter(|notice| notice.kind == of).count() as f64,
        "colleague-429s" => {
            let now = ran.world.now.span();
            ran.world.sim.stats(now).orgs.iter().map(|org| org.colleague.n_429).sum::<u64>() as f64
        }
        "accepted-twice" => {
            let now = ran.world.now.span();
            ran.world.sim.stats(now).bodies_accepted_twice as f64
        }
        "was" => {
            let (label, word) = of.split_once('.').unwrap_or_else(|| panic!("{name}: was.LABEL.CONDITION"));
            f64::from(u8::from(ran.seen.get(label).is_some_and(|words| words.contains(&word))))
        }
        _ => panic!("there is no figure {name}"),
    }
}

/// Runs a case; gives what does not hold.
fn broken(path: &Path) -> Vec<String> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("# "), "{file} says first what should happen");
    let case: Table = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
    let table = |name: &str| case.get(name).and_then(Value::as_table).unwrap_or_else(|| panic!("{file} has no {name}"));
    let mut ran = run(&file, table("drive"), table("scenario"));
    let expect = table("expect");
    let mut out = Vec::new();
    for (name, range) in expect {
        let Some([least, most]) = range.as_array().map(Vec::as_slice) else {
            panic!("{file}: {name}: [least, most] is wanted");
        };
        let bound = |value: &Value| value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap();
        let (least, most): (f64, f64) = (bound(least), bound(most));
        let is = figure(&mut ran, name);
        if !(least..=most).contains(&is) {
            out.push(format!("{file}: {name} is {is}, must be in {least}..={most}"));
        }
    }
    out.extend(always(&file, &ran));
    out
}

/// What holds in every case.
fn always(file: &str, ran: &Ran) -> Vec<String> {
    let run = &ran.last.runs[0];
    let mut out = Vec::new();
    if run.counts.done() + run.counts.open() != run.counts.total {
        out.push(format!("{file}: requests are lost: {:?}", run.counts));
    }
    if run.status.is_over() && run.counts.in_flight + run.counts.unsynced > 0 {
        out.push(format!("{file}: over with work in flight: {:?}", run.counts));
    }
    for org in &ran.last.orgs {
        let slots: u32 = org.in_flight();
        if run.status.is_over() && slots > 0 {
            out.push(format!("{file}: {} leaks {slots} slots", org.label));
        }
    }
    out
}

#[test]
fn every_case_of_the_field_comes_out_right() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/cases");
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 18, "{} cases", files.len());
    let broken: Vec<String> = files.iter().flat_map(|file| broken(file)).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn an_org_is_drained_and_revived_by_hand_and_the_run_goes_on_meanwhile() {
    let org = |label: &str| format!("[[orgs]]\nlabel = \"{label}\"\nkey = \"key-{label}\"\n");
    let text = format!("summary = \"x\"\nlatency = {{ p50-ms = 1500, p95-ms = 3000 }}\n{}{}", org("a"), org("b"));
    let mut world = World::new(&text);
    let client = world.client(10, DispatchSettings::default());
    world.run(client, 400, |_| 16);
    world.until(Duration::from_secs(10));
    let drain = Command::PauseOrg { org: OrgId(0) };
    assert!(matches!(command(&mut world, client, drain), CommandOutcome::Done(_)));
    assert_eq!(world.snapshot(client).orgs[0].condition.word(), "draining");
    world.until(Duration::from_secs(30));
    let snapshot = world.snapshot(client);
    assert_eq!(snapshot.orgs[0].condition.word(), "paused");
    assert!(snapshot.orgs[0].in_flight() == 0 && snapshot.orgs[1].in_flight() > 0);
    assert!(matches!(command(&mut world, client, drain), CommandOutcome::AlreadySo(_)));
    assert!(matches!(command(&mut world, client, Command::ReviveOrg { org: OrgId(0) }), CommandOutcome::Done(_)));
    world.until_rest(client, Duration::from_secs(600));
    let snapshot = world.snapshot(client);
    assert_eq!((snapshot.runs[0].status, snapshot.runs[0].counts.succeeded), (RunStatus::Finished, 400));
    assert!(snapshot.orgs[0].totals.n_ok > 50 && world.clients[client].sent[&RunSlot(0)] == 400);
}
