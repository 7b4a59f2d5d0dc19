//! The live screen in a pseudo-terminal: what the operator sees and presses, and how the terminal is given back.

use termlens::{Color, Key, MouseMode, Screen, Signal, Terminal, TerminalBuilder};

use crate::support::{DEADLINE, Place, Server, Watch, wait_for};

const BINARY: &str = env!("CARGO_BIN_EXE_fandeck");

/// Requests that last longer than any test looks at them: twenty minutes, with answers after 20 s.
pub(crate) const LONG: u32 = 4_000;

/// Three orgs.
const ORGS: &str = "[[orgs]]\nlabel = \"high-prio\"\nkey = \"sim-high-prio\"\n\
    [[orgs]]\nlabel = \"batch\"\nkey = \"sim-batch\"\n\
    [[orgs]]\nlabel = \"low-prio\"\nkey = \"sim-low-prio\"\n";

pub(crate) fn builder(place: &Place) -> TerminalBuilder {
    Terminal::builder()
        .size(120, 40)
        .timeout(DEADLINE)
        .env_clear()
        .envs(place.environment())
        .current_dir(place.path(""))
}

/// Writes the scenario of a demo; gives its path.
pub(crate) fn scenario(place: &Place, requests: u32) -> String {
    scenario_of(place, if requests == LONG { 20_000 } else { 40 })
}

/// The scenario with answers after so many milliseconds.
fn scenario_of(place: &Place, ms: u32) -> String {
    place.write("scenario.toml", format!("summary = \"a test\"\nlatency = {{ p50-ms = {ms}, p95-ms = {ms} }}\n{ORGS}"))
}

/// A demo on a screen.
fn demo(place: &Place, requests: u32) -> Terminal {
    demo_in(builder(place), place, requests)
}

fn demo_in(builder: TerminalBuilder, place: &Place, requests: u32) -> Terminal {
    demo_of(builder, place, requests, &scenario(place, requests))
}

fn demo_of(builder: TerminalBuilder, place: &Place, requests: u32, scenario: &str) -> Terminal {
    let n = requests.to_string();
    let run = place.text("run");
    let args = ["demo", "--scenario", scenario, "--requests", &n, "--run-dir", &run];
    builder.args(args).spawn(BINARY).unwrap()
}

fn is_live(screen: &Screen) -> bool {
    screen.alternate_screen() && ["high-prio", "batch", "low-prio", "quit"].iter().all(|text| screen.contains(text))
}

/// The terminal is as it was before, and readable.
#[track_caller]
pub(crate) fn given_back(screen: &Screen) {
    assert!(!screen.alternate_screen(), "{screen}");
    assert!(screen.cursor_visible(), "{screen}");
    assert_eq!(screen.mouse_mode(), MouseMode::None, "{screen}");
    assert!(!screen.bracketed_paste() && !screen.focus_events(), "{screen}");
    // The title's stack and the default colour of an underline, which this emulator does not model.
    let known = ["^[[22;2t", "^[[23;2t", "^[[59m"];
    assert!(screen.unsupported().iter().all(|sequence| known.contains(&sequence)), "{:?}", screen.unsupported());
}

/// Waits for the end: its exit code, and the terminal given back.
#[track_caller]
pub(crate) fn ends_with(mut terminal: Terminal, code: u32) -> Screen {
    let (status, screen) = terminal.ended();
    assert_eq!(status.code(), Some(code), "{status}\n{screen}");
    given_back(&screen);
    screen
}

#[test]
fn the_demo_shows_every_org_and_ends_with_a_summary_on_the_normal_screen() {
    let place = Place::new();
    let mut terminal = demo(&place, 120);
    terminal.shows(is_live);
    terminal.shows(|screen| screen.contains("succeeded 120") && screen.contains("press q"));
    terminal.send(Key::Char('q')).unwrap();
    let screen = ends_with(terminal, 0);
    let text = screen.full_text();
    for wanted in ["120 succeeded", "high-prio", "0, every request succeeded", "fandeck export"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn help_opens_and_closes_by_question_mark_and_f1_and_names_the_log_file() {
    let place = Place::new();
    let mut terminal = demo(&place, LONG);
    terminal.shows(is_live);
    for (open, close) in [(Key::Char('?'), Key::Esc), (Key::F(1), Key::Char('?'))] {
        terminal.send(open).unwrap();
        let all = [" help ", "pause-run", "run.logs/run.log"];
        terminal.shows(|screen| all.iter().all(|text| screen.contains(text)));
        terminal.send(close).unwrap();
        terminal.shows(|screen| !screen.contains("pause-run"));
    }
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn q_asks_what_to_do_esc_stays_and_s_stops_with_exit_4() {
    let place = Place::new();
    let mut terminal = demo(&place, LONG);
    terminal.shows(is_live);
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("leave?") && screen.contains("stop now"));
    terminal.send(Key::Esc).unwrap();
    terminal.shows(|screen| !screen.contains("leave?") && is_live(screen));
    // Enter alone destroys nothing: the button that stays has the focus.
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("leave?"));
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| !screen.contains("leave?") && is_live(screen));
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("leave?"));
    terminal.send(Key::Char('s')).unwrap();
    let text = ends_with(terminal, 4).full_text();
    assert!(text.contains("4, incomplete, can be resumed") && text.contains("fandeck resume"), "{text}");
}

#[test]
fn q_then_d_lets_what_is_in_flight_finish_and_ends_with_4() {
    let place = Place::new();
    // What is in flight is waited for; as many requests as these last for ten minutes.
    let mut terminal = demo_of(builder(&place), &place, 20_000, &scenario_of(&place, 2_000));
    terminal.shows(is_live);
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("leave?"));
    terminal.send(Key::Char('d')).unwrap();
    let text = ends_with(terminal, 4).full_text();
    // Nothing was abandoned, so nothing may have been charged for nothing.
    assert!(!text.contains("possibly charged"), "{text}");
}

#[test]
fn t1_ctrl_c_and_signals_give_the_terminal_back_and_end_with_their_codes() {
    type End = fn(&mut Terminal) -> termlens::Result<()>;
    let ends: [(End, u32); 4] = [
        (|terminal| terminal.send(Key::Ctrl('c')), 130),
        (|terminal| terminal.signal(Signal::Term), 143),
        (|terminal| terminal.signal(Signal::Hup), 129),
        (|terminal| terminal.signal(Signal::Int), 130),
    ];
    for (end, code) in ends {
        let place = Place::new();
        let mut terminal = demo(&place, LONG);
        terminal.shows(is_live);
        end(&mut terminal).unwrap();
        let text = ends_with(terminal, code).full_text();
        assert!(text.contains(&format!("exit      {code}, ended by ")), "{text}");
        // What is known is on the disk.
        let status = place.run(&["status", &place.text("run")]).stdout;
        assert!(status.contains("incomplete"), "{status}");
    }
}

#[test]
fn t1_a_terminal_that_is_closed_ends_with_129_and_leaves_a_run_that_can_be_resumed() {
    let place = Place::new();
    let (scenario, run, code) = (scenario(&place, LONG), place.text("run"), place.text("code"));
    // The inner shell outlives the terminal, to tell the exit code.
    let script = format!(
        "(trap '' HUP; {BINARY} demo --scenario {scenario} --requests {LONG} --run-dir {run}; echo $? > {code}.new; \
         mv {code}.new {code}); true"
    );
    let mut terminal = builder(&place).env("PATH", "/usr/bin:/bin").args(["-c", &script]).spawn("sh").unwrap();
    terminal.shows(is_live);
    drop(terminal);
    let told = wait_for("the exit code", || std::fs::read_to_string(&code).ok());
    assert_eq!(told.trim(), "129");
    let status = place.run(&["status", &run]).stdout;
    assert!(status.contains("incomplete"), "{status}");
}

#[cfg(target_os = "linux")]
#[test]
fn t1_a_terminal_that_takes_nothing_does_not_keep_a_signal_from_ending_the_run() {
    let place = Place::new();
    let mut terminal = demo(&place, LONG);
    terminal.shows(is_live);
    // The screen takes Ctrl-S as a key; with this mode the terminal obeys it again, and stops.
    let tty = std::fs::read_link(format!("/proc/{}/fd/0", terminal.pid().unwrap())).unwrap();
    let stty = std::process::Command::new("stty").arg("-F").arg(&tty).arg("ixon").status().unwrap();
    assert!(stty.success());
    terminal.send(Key::Ctrl('s')).unwrap();
    terminal.signal(Signal::Term).unwrap();
    // What is left in the terminal that takes nothing is not waited for.
    let status = terminal.wait_exit().unwrap();
    assert_eq!(status.code(), Some(143), "{status}");
    let status = place.run(&["status", &place.text("run")]).stdout;
    assert!(status.contains("incomplete"), "{status}");
}

#[test]
fn t1_ctrl_c_works_inside_dialogs_and_text_fields() {
    for keys in [&["q"][..], &["?"], &["?", "/", "c"]] {
        let place = Place::new();
        let mut terminal = demo(&place, LONG);
        terminal.shows(is_live);
        for key in keys {
            terminal.send_str(key).unwrap();
        }
        terminal.shows(|screen| screen.contains("leave?") || screen.contains(" help "));
        terminal.send(Key::Ctrl('c')).unwrap();
        ends_with(terminal, 130);
    }
}

#[test]
fn t2_no_size_and_no_storm_of_sizes_breaks_the_screen() {
    let place = Place::new();
    let mut terminal = demo(&place, LONG);
    terminal.shows(is_live);
    for (columns, rows) in [(2, 2), (300, 100), (3, 90), (200, 2), (79, 23), (41, 11)] {
        terminal.resize(columns, rows).unwrap();
    }
    terminal.resize(38, 9).unwrap();
    terminal.shows(|screen| screen.contains("needs 40×10, has 38×9"));
    // Below the smallest size the way out still works, and says how.
    terminal.send(Key::Char('q')).unwrap();
    terminal.shows(|screen| screen.contains("Esc stay"));
    terminal.resize(100, 30).unwrap();
    terminal.shows(|screen| screen.contains("leave?") && screen.contains("high-prio"));
    terminal.resize(40, 10).unwrap();
    terminal.shows(|screen| screen.contains("leave?"));
    terminal.send(Key::Esc).unwrap();
    terminal.shows(|screen| !screen.contains("leave?") && screen.contains("low-prio"));
    terminal.resize(120, 40).unwrap();
    terminal.shows(is_live);
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn t2_a_key_that_is_pressed_in_the_moment_of_a_resize_is_not_lost() {
    let place = Place::new();
    let mut terminal = demo(&place, LONG);
    terminal.shows(is_live);
    for columns in 121..136 {
        terminal.resize(columns, 40).unwrap();
        terminal.send(Key::Char('?')).unwrap();
        terminal.shows(|screen| screen.contains("pause-run"));
        terminal.resize(columns, 41).unwrap();
        terminal.send(Key::Esc).unwrap();
        terminal.shows(|screen| !screen.contains("pause-run"));
    }
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

/// Cells with a colour of their own, and cells that stand out without one.
fn coloured_and_marked(screen: &Screen) -> (usize, usize) {
    let (mut coloured, mut marked) = (0, 0);
    for row in 0..screen.rows() {
        for column in 0..screen.cols() {
            let style = screen.cell(row, column).unwrap().style();
            coloured += usize::from(style.fg != Color::Default || style.bg != Color::Default);
            marked += usize::from(style.bold || style.reverse);
        }
    }
    (coloured, marked)
}

#[test]
fn t4_no_color_writes_no_colour_and_still_shows_what_is_selected_and_an_empty_one_means_colour() {
    for (value, wants_colour) in [("1", false), ("", true)] {
        let place = Place::new();
        let mut terminal = demo_in(builder(&place).env("NO_COLOR", value), &place, LONG);
        let screen = terminal.shows(is_live);
        let (coloured, marked) = coloured_and_marked(&screen);
        assert_eq!(coloured > 0, wants_colour, "NO_COLOR={value:?}: {coloured} cells");
        assert!(marked > 0, "NO_COLOR={value:?}");
        terminal.send(Key::Ctrl('c')).unwrap();
        ends_with(terminal, 130);
    }
}

#[test]
fn the_modes_of_the_line_are_given_back_too() {
    let place = Place::new();
    for (requests, end) in [(60, None), (LONG, Some(Key::Ctrl('c')))] {
        let scenario = scenario(&place, requests);
        let script = format!(
            "{BINARY} demo --scenario {scenario} --requests {requests} --run-dir {}; echo code $?; stty -a; read line",
            place.text(&requests.to_string())
        );
        let mut terminal = builder(&place).env("PATH", "/usr/bin:/bin").args(["-c", &script]).spawn("sh").unwrap();
        terminal.shows(is_live);
        if end.is_none() {
            terminal.shows(|screen| screen.contains("press q"));
        }
        terminal.send(end.unwrap_or(Key::Char('q'))).unwrap();
        let screen = terminal.shows(|screen| screen.contains("code ") && screen.contains("echoke"));
        let text = screen.full_text();
        let modes: Vec<&str> = text.split_whitespace().collect();
        for mode in ["icanon", "echo", "isig", "opost", "icrnl"] {
            assert!(modes.contains(&mode), "{mode}: {text}");
        }
        given_back(&screen);
        terminal.send(Key::Enter).unwrap();
        terminal.wait_exit().unwrap();
    }
}

#[test]
fn t5_ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_the_screen_back() {
    let place = Place::new();
    let scenario = scenario(&place, LONG);
    let builder = builder(&place).env("PATH", "/usr/bin:/bin").env("PS1", "ready> ");
    let mut terminal = builder.args(["--norc", "--noprofile", "-i"]).spawn("bash").unwrap();
    // Only a shell that asks for a command takes one.
    let asks = |screen: &Screen| !screen.alternate_screen() && screen.text().trim_end().ends_with("ready>");
    terminal.shows(asks);
    terminal
        .send_str(&format!("{BINARY} demo --scenario {scenario} --requests {LONG} --run-dir {}\r", place.text("run")))
        .unwrap();
    terminal.shows(is_live);
    terminal.send(Key::Ctrl('z')).unwrap();
    let screen = terminal.shows(|screen| asks(screen) && screen.contains("Stopped"));
    // The prompt of the shell takes pastes in brackets by itself.
    assert!(screen.cursor_visible() && screen.mouse_mode() == MouseMode::None);
    terminal.send_str("fg\r").unwrap();
    terminal.shows(is_live);
    terminal.send(Key::Char('?')).unwrap();
    terminal.shows(|screen| screen.contains("pause-run"));
    terminal.send(Key::Ctrl('c')).unwrap();
    terminal.shows(|screen| asks(screen) && screen.contains("exit      130"));
    terminal.send_str("exit\r").unwrap();
    terminal.wait_exit().unwrap();
}

#[test]
fn a_run_on_a_terminal_opens_the_planner_asks_shows_the_run_and_stays_until_the_operator_leaves() {
    let server = Server::slow(40);
    let place = Place::at(&server);
    let input = place.requests(40);
    let planner = || {
        let mut terminal = builder(&place).args(["run", &input]).spawn(BINARY).unwrap();
        terminal.shows(|screen| screen.contains("40 to send") && screen.contains("wall-clock"));
        terminal
    };
    let mut terminal = planner();
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| screen.contains("launch?") && screen.contains("route  sync"));
    terminal.send(Key::Char('n')).unwrap();
    terminal.shows(|screen| !screen.contains("launch?"));
    terminal.send(Key::Char('q')).unwrap();
    ends_with(terminal, 0);
    assert_eq!((server.stats().n_messages, place.runs()), (0, Vec::new()));
    let mut terminal = planner();
    terminal.send(Key::Enter).unwrap();
    terminal.shows(|screen| screen.contains("launch?"));
    terminal.send(Key::Char('y')).unwrap();
    terminal.shows(is_live);
    wait_for("all answers", || (server.stats().bodies_accepted == 40).then_some(()));
    terminal.shows(|screen| screen.contains("finished"));
    terminal.send(Key::Char('q')).unwrap();
    let text = ends_with(terminal, 0).full_text();
    assert!(text.contains("40 succeeded"), "{text}");
}

#[test]
fn pausing_stops_sending_and_space_again_goes_on() {
    // Three minutes for all of them.
    let server = Server::slow(1_000);
    let place = Place::at(&server);
    place.requests(2_000);
    let mut terminal = builder(&place).args(["run", "in.jsonl", "--yes", "--cap", "4"]).spawn(BINARY).unwrap();
    terminal.shows(is_live);
    wait_for("requests", || (server.stats().n_messages > 0).then_some(()));
    terminal.send(Key::Char(' ')).unwrap();
    // Nothing is on its way to the server either.
    terminal.shows(|screen| screen.contains("PAUSED") && screen.contains("▒ in flight 0 "));
    wait_for("quiet", || (server.stats().in_flight == 0).then_some(()));
    let at_rest = server.stats().n_messages;
    terminal.send(Key::Char(' ')).unwrap();
    wait_for("more requests", || (server.stats().n_messages > at_rest).then_some(()));
    terminal.send(Key::Ctrl('c')).unwrap();
    ends_with(terminal, 130);
}

#[test]
fn t3_a_terminal_that_is_dumb_or_of_a_ci_gets_lines() {
    for (name, value) in [("TERM", "dumb"), ("CI", "true")] {
        let place = Place::new();
        let mut terminal = demo_in(builder(&place).env(name, value), &place, 40);
        let (status, screen) = terminal.ended();
        assert_eq!(status.code(), Some(0));
        given_back(&screen);
        let (coloured, marked) = coloured_and_marked(&screen);
        assert_eq!((coloured, marked, screen.repaints()), (0, 0, 0));
        assert!(screen.full_text().contains("40 succeeded"), "{screen}");
    }
}
