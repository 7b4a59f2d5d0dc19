//! The console in a pseudo-terminal: the list of runs, going from run to run, panics, and what the terminal is sent.

use std::time::{Duration, Instant};

use termlens::{Key, Screen, Signal, Terminal};

use crate::screen::{LONG, builder, ends_with, given_back, scenario};
use crate::support::{DEADLINE, Place, Watch};

const BINARY: &str = env!("CARGO_BIN_EXE_fandeck");

fn console(place: &Place) -> Terminal {
    builder(place).spawn(BINARY).unwrap()
}

fn demo_in_console(place: &Place) -> Terminal {
    let mut terminal = console(place);
    terminal.shows(|screen| screen.contains("No runs yet"));
    terminal.send(Key::Char('d')).unwrap();
    terminal.shows(is_live);
    terminal
}

fn is_live(screen: &Screen) -> bool {
    ["high-prio", "low-prio", "succeeded", "in flight"].iter().all(|text| screen.contains(text))
}

#[test]
fn a_newcomer_is_led_to_the_demo_stops_it_and_goes_on_with_it_in_one_console() {
    let place = Place::new();
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("No runs yet") && screen.contains("No key is set"));
    // With nothing running, leaving asks nothing; this one stays.
    terminal.send(Key::Char('d')).unwrap();
    terminal.shows(|screen| is_live(screen) && screen.contains("running"));
    terminal.send(Key::Char('1')).unwrap();
    terminal.shows(|screen| screen.contains("it is driven here"));
    // Deleting what is driven is refused; going on with it too.
    terminal.send(Key::Char('D')).unwrap();
    terminal.shows(|screen| screen.contains("this console drives it"));
    terminal.send(Key::Enter).unwrap();
    terminal.shows(is_live);
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("leave?"));
    terminal.send(Key::Char('s')).unwrap();
    let text = ends_with(terminal, 4).full_text();
    assert!(text.contains("fandeck resume"), "{text}");
    // The next console finds it, and goes on with it after a question.
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("incomplete") && screen.contains("r goes on with"));
    terminal.send(Key::Char('r')).unwrap();
    terminal.shows(|screen| screen.contains("go on with the run?") && screen.contains("simulated"));
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| !screen.contains("go on with the run?"));
    terminal.send(Key::Char('r')).unwrap();
    terminal.shows(|screen| screen.contains("go on with the run?"));
    terminal.send(Key::Char('y')).unwrap();
    terminal.shows(|screen| is_live(screen) && screen.contains("running"));
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn a_console_without_a_run_leaves_at_once_by_q_and_by_ctrl_c() {
    for key in [Key::Char('q'), Key::Ctrl('c')] {
        let place = Place::new();
        let mut terminal = console(&place);
        terminal.shows(|screen| screen.contains("No runs yet"));
        terminal.send(key).unwrap();
        ends_with(terminal, 0);
    }
}

#[test]
fn a_run_made_elsewhere_is_found_reported_exported_and_deleted() {
    let place = Place::new();
    let (scenario, dir) = (scenario(&place, 40), place.text("elsewhere"));
    assert_eq!(
        place.run(&["demo", "--headless", "--scenario", &scenario, "--requests", "40", "--run-dir", &dir]).code,
        0
    );
    // A demo is not kept among the runs; a run is.
    std::fs::create_dir_all(place.path("data/fandeck/runs")).unwrap();
    std::os::unix::fs::symlink(&dir, place.path("data/fandeck/runs/elsewhere-1")).unwrap();
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("finished") && screen.contains("100.0 %"));
    terminal.send(Key::Char('i')).unwrap();
    terminal.shows(|screen| screen.contains("in 1 session") && screen.contains("40 succeeded"));
    terminal.send(Key::Esc).unwrap();
    terminal.shows(|screen| !screen.contains("in 1 session"));
    terminal.send(Key::Char('e')).unwrap();
    terminal.shows(|screen| screen.contains("written:"));
    assert_eq!(std::fs::read_to_string(place.path("elsewhere.jsonl")).unwrap().lines().count(), 40);
    // Opened without being driven, it can be left at once.
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| screen.contains("FINISHED: every request succeeded"));
    terminal.send(Key::Char('1')).unwrap();
    terminal.shows(|screen| screen.contains("e exports the results"));
    terminal.send(Key::Char('D')).unwrap();
    terminal.shows(|screen| screen.contains("delete the run?") && screen.contains("40 results"));
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| !screen.contains("delete the run?"));
    assert!(place.path("elsewhere/run.json").exists(), "Enter alone destroys nothing");
    terminal.send(Key::Char('D')).unwrap();
    terminal.shows(|screen| screen.contains("delete the run?"));
    terminal.send(Key::Char('y')).unwrap();
    terminal.shows(|screen| screen.contains("deleted:") && screen.contains("No runs yet"));
    assert!(!place.path("elsewhere").exists());
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
}

#[test]
fn read_only_refuses_to_resume_to_delete_and_to_start_and_says_why() {
    let place = Place::new();
    let mut terminal = builder(&place).args(["--read-only"]).spawn(BINARY).unwrap();
    terminal.shows(|screen| screen.contains("No runs yet") && screen.contains("read-only"));
    terminal.send(Key::Char('d')).unwrap();
    terminal.shows(|screen| screen.contains("started with --read-only"));
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
}

#[test]
fn t1_a_panic_gives_the_terminal_back_ends_with_1_and_leaves_a_run_that_can_be_resumed() {
    for (place_of_panic, n) in [("worker", 400), ("dispatcher", 400), ("screen", LONG)] {
        let place = Place::new();
        let (scenario, dir) = (scenario(&place, n), place.text("run"));
        let args = ["demo", "--scenario", &scenario, "--requests", &n.to_string(), "--run-dir", &dir];
        let mut terminal = builder(&place).env("FANDECK_PANIC", place_of_panic).args(args).spawn(BINARY).unwrap();
        if place_of_panic == "screen" {
            terminal.shows(is_live);
            terminal.send(Key::Char('1')).unwrap();
        } else if terminal.wait_until(|screen| screen.contains("press q")).is_ok() {
            // A dispatcher that panics before there is a screen leaves one that says so, and that is left by a key.
            terminal.send(Key::Char('q')).unwrap();
        }
        let (status, screen) = terminal.ended();
        assert_eq!(status.code(), Some(1), "{status}");
        given_back(&screen);
        let text = screen.full_text();
        assert!(text.contains("fandeck resume"), "{text}");
        assert!(
            text.contains(
                &format!("a panic of a {place_of_panic}")
                    .replace("a screen", "the screen")
                    .replace("a dispatcher", "the dispatcher")
            ),
            "{text}"
        );
        let status = place.run(&["status", &dir]).stdout;
        assert!(status.contains("go on") && !status.contains("finished"), "{status}");
    }
}

#[test]
fn t1_a_run_without_a_screen_survives_a_panic_of_an_attempt_and_ends_when_the_dispatcher_panics() {
    for (place_of_panic, code, answers) in [("worker", 0, 60), ("dispatcher", 1, 0)] {
        let mut place = Place::new();
        place.set("FANDECK_PANIC", place_of_panic);
        let (scenario, dir) = (scenario(&place, 60), place.text("run"));
        let args = ["demo", "--headless", "--scenario", &scenario, "--requests", "60", "--run-dir", &dir];
        let ended = place.run(&args);
        assert_eq!(ended.code, code, "{}{}", ended.stdout, ended.stderr);
        let words = if code == 0 { "1 possibly charged" } else { "Go on with: fandeck resume" };
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(words), "{}{}", ended.stdout, ended.stderr);
        let journal = std::fs::read_to_string(place.path("run/results.jsonl")).unwrap_or_default();
        assert_eq!(journal.lines().count(), answers);
    }
}

#[test]
fn t1_a_hang_up_of_the_console_leaves_its_run_resumable() {
    let place = Place::new();
    let mut terminal = demo_in_console(&place);
    terminal.signal(Signal::Hup).unwrap();
    terminal.wait_exit().unwrap();
    let runs = place.run(&["runs"]).stdout;
    assert!(runs.contains("incomplete"), "{runs}");
}

/// A run that is looked at for long.
fn long_run(place: &Place) -> Terminal {
    let (scenario, dir) = (scenario(place, LONG), place.text("run"));
    let args = ["demo", "--scenario", &scenario, "--requests", &LONG.to_string(), "--run-dir", &dir];
    let mut terminal = builder(place).args(args).spawn(BINARY).unwrap();
    terminal.shows(is_live);
    terminal
}

/// For how many seconds the run has gone on by its own clock, which is the one that frames are paced by.
fn elapsed(screen: &Screen) -> Option<u64> {
    let text = screen.text();
    let span = text.split("elapsed ").nth(1)?.split_whitespace().next()?.strip_suffix('s')?;
    let (minutes, seconds) = span.split_once('m').unwrap_or(("0", span));
    Some(minutes.parse::<u64>().ok()? * 60 + seconds.parse::<u64>().ok()?)
}

/// Checks the number of frames between two of them. The test may have been held up between the frames and their being
/// looked at, so that no clock of its own is asked.
#[track_caller]
fn at_most_twenty_a_second(first: &Screen, last: &Screen) {
    let n = last.repaints() - first.repaints();
    // Both figures are rounded down, and keys may be a few frames ahead.
    let seconds = elapsed(last).unwrap() - elapsed(first).unwrap() + 1;
    assert!(n > 0 && n <= 20 * seconds + 6, "{n} frames in less than {seconds} s");
}

#[test]
fn t9_a_busy_screen_draws_at_most_twenty_frames_a_second() {
    let place = Place::new();
    let mut terminal = long_run(&place);
    let first = terminal.shows(|screen| elapsed(screen).is_some());
    let last = terminal.shows(|screen| elapsed(screen) >= elapsed(&first).map(|seconds| seconds + 3));
    at_most_twenty_a_second(&first, &last);
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn t9_a_key_that_is_held_draws_at_most_twenty_frames_a_second() {
    let place = Place::new();
    let mut terminal = long_run(&place);
    let first = terminal.shows(|screen| elapsed(screen).is_some());
    let (mut last, start) = (first.clone(), Instant::now());
    // Each of them changes the picture, and they come faster than any keyboard repeats.
    while elapsed(&last) < elapsed(&first).map(|seconds| seconds + 3) {
        terminal.send(Key::Down).unwrap();
        terminal.send(Key::Char('?')).unwrap();
        terminal.send(Key::Char('?')).unwrap();
        terminal.wait_frame_for(|_| true, Duration::from_millis(15)).ok();
        last = terminal.shows(|screen| elapsed(screen).is_some());
        assert!(start.elapsed() < DEADLINE, "{last}");
    }
    at_most_twenty_a_second(&first, &last);
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn t9_nothing_is_written_while_nothing_changes() {
    let place = Place::new();
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("No runs yet"));
    terminal.send(Key::Char('?')).unwrap();
    let before = terminal.wait_frame(|screen| screen.contains("open-run")).unwrap().repaints();
    // Keys without a meaning here are looked at, and draw the same picture; so do the looks at the disk meanwhile.
    for _ in 0..200 {
        terminal.send(Key::Char('~')).unwrap();
        terminal.send(Key::Char('@')).unwrap();
    }
    terminal.send(Key::Esc).unwrap();
    let after = terminal.wait_frame(|screen| !screen.contains("open-run")).unwrap().repaints();
    assert_eq!(after - before, 1);
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
}

#[test]
fn a_console_whose_look_at_the_disk_hangs_names_the_directory_and_is_left_all_the_same() {
    let place = Place::new();
    let run = place.path("data/fandeck/runs/hangs");
    let made = ["demo", "--headless", "--scenario", &scenario(&place, 2), "--requests", "2", "--run-dir"];
    assert_eq!(place.run(&[&made[..], &[&run.display().to_string()]].concat()).code, 0);
    // Opened for reading, it waits for a writer, as a file of a server that is gone waits for that.
    std::fs::remove_file(run.join("lock")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(run.join("lock")).status().unwrap();
    assert!(made.success());
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("/runs/hangs") && screen.contains("does not answer"));
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
}

#[test]
fn a_theme_and_a_keymap_of_ones_own_are_used_and_a_wrong_one_is_refused_with_its_line() {
    let place = Place::new();
    place.write("config/fandeck/keys.toml", "quit = [\"Q\"]\n");
    place.more_config("[screen]\nkeymap = \"keys.toml\"\ntheme = \"mono\"\n");
    let mut terminal = console(&place);
    terminal.shows(|screen| screen.contains("Q quit"));
    terminal.send(Key::Char('q')).unwrap();
    terminal.send(Key::Char('Q')).unwrap();
    ends_with(terminal, 0);
    place.write("config/fandeck/keys.toml", "\nquitt = [\"Q\"]\n");
    for args in [&[][..], &["config", "--check"]] {
        let mut terminal = builder(&place).args(args).spawn(BINARY).unwrap();
        let (status, screen) = terminal.ended();
        let text = screen.full_text();
        assert_eq!(status.code(), Some(2), "{text}");
        assert!(text.replace(['\n', ' '], "").contains("keys.toml:2:unknownactionquitt:didyoumeanquit?"), "{text}");
    }
}
