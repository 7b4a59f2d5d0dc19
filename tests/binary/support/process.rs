//! A process that is watched while it runs, and never outlives its test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{DEADLINE, wait_for};

/// A process that runs.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    stdout: String,
    stderr: Option<JoinHandle<String>>,
}

/// What a process left.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; 128 and the number for a signal that killed it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    /// Starts a command, whose standard input is as the command says.
    pub(crate) fn spawn(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
                let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
        let mut pipe = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        Running { child, lines, stdout: String::new(), stderr: Some(stderr) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on standard output that `wanted` wants; gives it.
    #[track_caller]
    pub(crate) fn line(&mut self, what: &str, mut wanted: impl FnMut(&str) -> bool) -> String {
        // One for all of them: a run that goes on talking of something else must not keep the test waiting for ever.
        let until = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.stdout.push_str(&line);
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with {what} ({error}) in:\n{}", self.stdout),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Kills it with SIGKILL and reaps it.
    pub(crate) fn kill(mut self) -> Ended {
        self.child.kill().unwrap();
        self.end()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        // A run that goes on telling its progress hangs as well.
        let until = Instant::now() + 2 * DEADLINE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => self.stdout.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it hangs, after:\n{}", self.stdout),
            }
        }
        let status = wait_for("the end of the process", || self.child.try_wait().unwrap());
        let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|number| 128 + number);
        Ended {
            code: status.code().or(by_signal).unwrap(),
            stdout: std::mem::take(&mut self.stdout),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, most of the time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Checks the exit code and that standard error holds these texts.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not in:\n{}", self.stderr);
        }
    }
}
