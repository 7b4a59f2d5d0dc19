//! The directory of a run: made, taken, refused, listed, and its state.

use super::*;

#[test]
fn a_new_run_is_private_and_can_be_opened_and_seen() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    assert_eq!(std::fs::metadata(&place.dir).unwrap().permissions().mode() & 0o777, 0o700);
    let (owned, run, state) = RunDir::open(&place.dir).unwrap();
    assert_eq!(run, run_file(&place.input));
    assert_eq!((state.status, state.counts.unsent), (RunStatus::Planned, 4));
    let peek = RunDir::peek(&place.dir).unwrap();
    assert_eq!(peek.owner.map(|owner| owner.pid), Some(std::process::id()));
    drop(owned);
    assert_eq!(RunDir::peek(&place.dir).unwrap().owner, None);
}

#[test]
fn d3_a_second_console_is_told_who_owns_the_run() {
    let place = Place::new();
    let _owned = RunDir::open(&place.dir).unwrap();
    let err = RunDir::open(&place.dir).unwrap_err();
    assert!(err.to_string().contains(&format!("is owned by process {}", std::process::id())), "{err}");
    assert!(matches!(RunDir::claim(&place.dir), Err(StoreError::Owned { .. })));
}

#[test]
fn a_directory_is_taken_when_its_run_sent_nothing_and_refused_when_it_did() {
    let place = Place::new();
    std::fs::write(place.dir.join("events.jsonl"), "{}\n").unwrap();
    drop(RunDir::create(&place.dir, &run_file(&place.input)).unwrap());
    assert!(!place.dir.join("events.jsonl").exists());
    place.write("x");
    let err = RunDir::create(&place.dir, &run_file(&place.input)).unwrap_err();
    assert!(err.to_string().contains("go on with it by `fandeck resume "), "{err}");
}

#[test]
fn a_directory_of_somebody_else_is_refused_and_left_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("thesis.tex"), "").unwrap();
    let err = RunDir::claim(temp.path()).unwrap_err();
    assert!(err.to_string().contains("holds thesis.tex"), "{err}");
    assert!(matches!(RunDir::open(temp.path()), Err(StoreError::NotARun(_))));
    assert!(matches!(RunDir::peek(&temp.path().join("none")), Err(StoreError::NotARun(_))));
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_spooled_input_survives_the_start_of_its_run() {
    let temp = tempfile::tempdir().unwrap();
    let claim = RunDir::claim(&temp.path().join("run")).unwrap();
    crate::requests::spool(request("a", "1").as_bytes(), &claim.spool_path()).unwrap();
    let input = Input::index(&claim.spool_path(), &mut |_| {}).unwrap();
    let mut run = run_file(&input);
    run.input.spooled = true;
    let dir = claim.start(&run).unwrap();
    assert_eq!(input.path(), dir.path().join("input.jsonl"));
    assert!(input.path().exists());
}

#[test]
fn d5_a_corrupt_state_is_refused_and_a_missing_one_is_made_anew() {
    let place = Place::new();
    let path = place.dir.join("state.json");
    std::fs::write(&path, "{\"format\":1,").unwrap();
    let err = RunDir::open(&place.dir).unwrap_err();
    assert!(matches!(&err, StoreError::Corrupt { path: named, .. } if *named == path), "{err}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"format\":1,");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(RunDir::open(&place.dir).unwrap().2, StateFile::fresh(&run_file(&place.input)));
}

#[test]
fn the_state_survives_being_written_and_tolerates_fields_of_later_versions() {
    let place = Place::new();
    let mut state = StateFile::fresh(&run_file(&place.input));
    state.cost = Money(1_234_567_890_123);
    state.reason = Some("all orgs parked".to_owned());
    state.exit_code = Some(4);
    let totals = OrgTotals { n_ok: 3, cost: Money(7), ..OrgTotals::default() };
    state.orgs = vec![OrgState { label: "high-prio".to_owned(), window: 5, totals }];
    state.save(&place.dir).unwrap();
    assert_eq!(StateFile::load(&place.dir).unwrap(), Some(state.clone()));
    let text = std::fs::read_to_string(place.dir.join("state.json")).unwrap();
    std::fs::write(place.dir.join("state.json"), text.replacen('{', "{\"later\":[1],", 1)).unwrap();
    assert_eq!(StateFile::load(&place.dir).unwrap(), Some(state));
}

#[test]
fn runs_are_listed_newest_first_and_broken_ones_last() {
    let temp = tempfile::tempdir().unwrap();
    let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1")]);
    let data = temp.path().join("runs");
    assert!(list_runs(&data).unwrap().is_empty());
    for (name, at) in [("x", 1), ("y", 3), ("z", 2)] {
        drop(RunDir::create(&data.join(name), &RunFile { created_at: Wall(at), ..run_file(&input) }).unwrap());
    }
    std::fs::write(data.join("x/run.json"), "?").unwrap();
    std::fs::write(data.join("note.txt"), "").unwrap();
    std::fs::create_dir(data.join("other")).unwrap();
    let listed = list_runs(&data).unwrap();
    let names: Vec<_> = listed.iter().map(|run| run.dir.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["y", "z", "x"]);
    assert!(matches!(listed[2].run, Err(StoreError::Corrupt { .. })));
}
