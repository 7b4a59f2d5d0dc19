//! What the system allows a process: a run makes do with it, and says so.

use std::process::{Command, Stdio};

use crate::support::{Place, Running, Server};

#[test]
fn a_process_that_may_open_few_files_sends_few_calls_at_once_and_says_so() {
    let server = Server::slow(30);
    let place = Place::at(&server);
    place.requests(200);
    let script = "ulimit -n 90; exec \"$0\" run in.jsonl --yes --headless --run-dir run --cap 30";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_fandeck")]).env_clear().envs(place.environment());
    command.env("PATH", "/usr/bin:/bin").current_dir(place.path("")).stdin(Stdio::null());
    let ended = Running::spawn(command).end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("no more than 13 calls go out at once, although the caps allow 90"), "{ended:?}");
    let stats = server.stats();
    assert_eq!((stats.n_messages, stats.bodies_accepted), (200, 200));
    assert!(stats.in_flight_peak <= 13, "{}", stats.in_flight_peak);
}
