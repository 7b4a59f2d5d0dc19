//! D4: a disk that is full. Answers are kept, nothing more is sent, and when there is space again all of it is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Place, Running, Server, Watch, finished, json_lines, wait_for};

/// A file system of one megabyte; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    /// `None` where this user may not mount one.
    fn mount(at: &Path) -> Option<Small> {
        fs::create_dir(at).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=1m", "fandeck-test"]).arg(at);
        let mounted = command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then(|| Small(at.to_owned()))
    }

    /// To the last byte.
    fn fill(&self) {
        // It takes what it can, and says that this is not all.
        let _ = fs::write(self.0.join("ballast"), vec![b'x'; 2_000_000]);
    }

    fn free(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

/// A place with a small disk in it; `None`, and said, where this user may not mount one.
#[expect(clippy::print_stderr, reason = "a test that was left out is to be seen")]
fn small_disk() -> Option<(Place, Server, Small)> {
    let server = Server::calm();
    let place = Place::at(&server);
    let small = Small::mount(&place.path("small"));
    if small.is_none() {
        eprintln!("not tested: this user may not mount a tmpfs");
    }
    Some((place, server, small?))
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: a process that failed to end may still have a file there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// How many answers there is space for, and how many requests are out when the disk becomes full: answers that are larger than
/// the little that may become free again when a state replaces the one before.
const BEFORE: u64 = 30;
const OUT: u64 = 3 * 4;

/// Fills the disk of a run whose first answers are written and whose next ones are out, and lets those come.
#[track_caller]
fn fill_under(server: &Server, small: &Small) {
    server.wait_for_messages(BEFORE + OUT);
    small.fill();
    server.release();
}

/// Waits until a run says that the disk takes nothing, and that nothing is in flight: the server alone does not know of what
/// is on its way.
#[track_caller]
fn at_rest_while_blocked(running: &mut Running) {
    running.line("progress while blocked, with nothing in flight", |line| {
        line.contains("\"progress\"")
            && line.contains("\"store_trouble\":\"failed to write")
            && line.contains("\"n_in_flight\":0,")
    });
}

#[test]
fn d4_a_full_disk_stops_sending_and_loses_nothing_and_freed_space_lets_it_go_on() {
    let Some((place, server, small)) = small_disk() else { return };
    server.hold_from(BEFORE + 1);
    let (input, dir) = (place.requests(300), place.text("small/run"));
    let mut running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "4"]);
    fill_under(&server, &small);
    let blocked = running.line("trouble of the store", |line| line.contains("store-blocked"));
    assert!(blocked.contains("failed to write") && blocked.contains("free some space"), "{blocked}");
    // What is in flight ends, and no more is sent. The plain truth is in the progress lines, too.
    at_rest_while_blocked(&mut running);
    let at_rest = server.stats().n_messages;
    assert!(at_rest < 300);
    at_rest_while_blocked(&mut running);
    assert_eq!(server.stats().n_messages, at_rest);

    small.free();
    let ended = running.end();
    let line = finished(&ended);
    assert_eq!((ended.code, &line["n_succeeded"]), (0, &300.into()), "{line}");
    assert_eq!(place.export(&dir, &[]).len(), 300);
    let stats = server.stats();
    assert_eq!((stats.n_messages, stats.bodies_accepted_twice), (300, 0));
}

#[test]
fn d4_a_run_that_is_stopped_while_the_disk_is_full_waits_for_it_and_the_second_signal_keeps_the_answers_elsewhere() {
    let Some((place, server, small)) = small_disk() else { return };
    server.hold_from(BEFORE + 1);
    let (input, dir) = (place.requests(300), place.text("small/run"));
    let mut running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "4"]);
    fill_under(&server, &small);
    running.line("trouble of the store", |line| line.contains("store-blocked"));
    at_rest_while_blocked(&mut running);
    let rows = || fs::read_to_string(place.path("small/run/results.jsonl")).unwrap_or_default().lines().count();
    running.signal(rustix::process::Signal::TERM);
    running.line("what is waited for", |line| line.contains("run-stopping") && line.contains("are not on the disk"));
    // A second signal that comes at once is the same wish, so it is given until it is taken.
    let asked = std::time::Instant::now();
    wait_for("a wish of its own", || (asked.elapsed() > std::time::Duration::from_millis(600)).then_some(()));
    running.signal(rustix::process::Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    assert!(ended.stderr.contains("give the signal again to leave"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("nothing is lost"), "{}", ended.stderr);
    let rescued = place.files().into_iter().find(|(path, _)| path.to_string_lossy().contains("fandeck-rescued-run-"));
    let (rescued, lines) = rescued.unwrap();
    assert!(ended.stderr.contains(&format!("cat {} >> {dir}/results.jsonl", rescued.display())), "{}", ended.stderr);
    let last = json_lines(&ended.stdout).pop().unwrap();
    assert_eq!(last["event"], "run-finished", "{last}");

    small.free();
    let (before, sent) = (rows(), server.stats().n_messages);
    let n_rescued = lines.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!((before + n_rescued) as u64, sent, "{before} in the journal, and the others rescued");
    let resumed = place.run(&["resume", &dir, "--json", "--no-cache"]);
    let line = finished(&resumed);
    assert_eq!(resumed.code, 0, "{line}");
    assert!(
        resumed.stderr.contains(&format!("kept in {} are in the journal", rescued.display())),
        "{}",
        resumed.stderr
    );
    assert_eq!((place.export(&dir, &[]).len(), server.stats().bodies_accepted_twice), (300, 0));
    assert!(!rescued.exists());
}

#[test]
fn d4_on_the_screen_a_full_disk_is_a_banner_that_goes_when_there_is_space_again() {
    let Some((place, server, small)) = small_disk() else { return };
    server.hold_from(BEFORE + 1);
    place.requests(300);
    let args = ["run", "in.jsonl", "--run-dir", "small/run", "--yes", "--cap", "4"];
    let mut terminal = crate::screen::builder(&place).args(args).spawn(env!("CARGO_BIN_EXE_fandeck")).unwrap();
    fill_under(&server, &small);
    terminal.shows(|screen| screen.contains("DISK: ") && screen.contains("free some space"));
    small.free();
    terminal.shows(|screen| screen.contains("finished") && !screen.contains("DISK: "));
    terminal.send(termlens::Key::Char('q')).unwrap();
    crate::screen::ends_with(terminal, 0);
    assert_eq!(place.export(&place.text("small/run"), &[]).len(), 300);
}

#[test]
fn d4_a_directory_that_is_moved_away_is_waited_for_and_nothing_is_lost() {
    let server = Server::calm();
    let place = Place::at(&server);
    let (input, dir) = (place.requests(150), place.text("run"));
    // Some answers come before the directory goes, and the others afterwards.
    server.hold_from(16);
    let mut running = place.start(&["run", &input, "--run-dir", &dir, "--json", "--cap", "5"]);
    running.line("the start", |line| line.contains("run-started"));
    wait_for("answers in the journal", || {
        fs::metadata(place.path("run/results.jsonl")).ok().filter(|meta| meta.len() > 0).map(drop)
    });
    fs::rename(place.path("run"), place.path("elsewhere")).unwrap();
    server.release();
    running.line("trouble of the store", |line| line.contains("notice") && line.contains("store-blocked"));
    wait_for("quiet", || (server.stats().in_flight == 0).then_some(()));
    let at_rest = server.stats().n_messages;
    fs::rename(place.path("elsewhere"), place.path("run")).unwrap();
    let ended = running.end();
    assert_eq!((ended.code, at_rest < 150), (0, true), "{}", ended.stderr);
    assert_eq!(place.export(&dir, &[]).len(), 150);
    assert_eq!(server.stats().bodies_accepted_twice, 0);
}

#[test]
fn d4_a_disk_that_is_full_from_the_start_is_left_as_it_was() {
    let Some((place, server, small)) = small_disk() else { return };
    fs::create_dir(small.0.join("run")).unwrap();
    small.fill();
    let (input, dir) = (place.requests(3), place.text("small/run"));
    place.run(&["run", &input, "--run-dir", &dir, "--json"]).refused(2, &["free some space"]);
    assert_eq!((fs::read_dir(&dir).unwrap().count(), server.stats().n_messages), (0, 0));
}
