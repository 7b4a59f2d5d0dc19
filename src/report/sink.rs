//! Lines on their way to a reader that may be slow, blocked or gone.
//!
//! A thread of its own writes, because a blocked pipe must not block a thread that carries requests. What a blocked
//! reader does not take is dropped and counted; the last lines are never dropped.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines that may wait for the reader: at the usual pace, about an hour of them.
const QUEUE: usize = 1_024;

/// How long the reader may take nothing before the last lines are given up: longer than a busy machine keeps a thread waiting.
const LAST_LINES: Duration = Duration::from_secs(10);

/// Takes lines without ever waiting, but for [`Sink::close`].
#[derive(Debug)]
pub struct Sink {
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    /// Lines that the reader has taken.
    taken: Arc<AtomicU64>,
    dropped: u64,
    patience: Duration,
}

impl Sink {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(out: impl Write + Send + 'static) -> std::io::Result<Sink> {
        let (lines, queue) = sync_channel(QUEUE);
        let taken = Arc::<AtomicU64>::default();
        let count = Arc::clone(&taken);
        let writer =
            std::thread::Builder::new().name("report".to_owned()).spawn(move || write_all(out, &queue, &count))?;
        Ok(Sink { lines: Some(lines), writer: Some(writer), taken, dropped: 0, patience: LAST_LINES })
    }

    /// Hands in a line, without its line end. Dropped when the reader is blocked; nothing when it has gone.
    pub fn line(&mut self, line: String) {
        let Some(lines) = &self.lines else { return };
        match lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.dropped += 1,
            Err(TrySendError::Disconnected(_)) => self.lines = None,
        }
    }

    /// Lines that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes these last lines and waits until the reader has taken everything, or has gone. One that takes nothing for some
    /// seconds is left alone: it must not keep a process that has ended its work.
    pub async fn close(mut self, last: Vec<String>) {
        let (Some(lines), Some(writer)) = (self.lines.take(), self.writer.take()) else { return };
        let (told, done) = std::sync::mpsc::channel();
        // Not a task of the runtime: that waits for its blocking tasks before the process may end.
        let end = std::thread::Builder::new().name("last lines".to_owned()).spawn(move || {
            for line in last {
                if lines.send(line).is_err() {
                    break;
                }
            }
            drop(lines);
            // A writer that panicked has nothing more to write.
            drop(writer.join());
            let _ = told.send(());
        });
        if end.is_ok() {
            let (taken, patience) = (self.taken, self.patience);
            // In the time of the reader, which is real whatever the clock of the runtime. An error is the end of the wait.
            let _ = tokio::task::spawn_blocking(move || wait(&done, &taken, patience)).await;
        }
    }
}

/// Waits until all is done, or nothing has been taken for so long.
fn wait(done: &Receiver<()>, taken: &AtomicU64, patience: Duration) {
    let mut before = taken.load(Ordering::Relaxed);
    while done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
        let now = taken.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}

/// Writes until the lines or the reader end. An error is the end of the reader: nothing can be said to it any more, and
/// the run goes on.
fn write_all(mut out: impl Write, queue: &Receiver<String>, taken: &AtomicU64) {
    while let Ok(mut line) = queue.recv() {
        line.push('\n');
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
        taken.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io;
    use std::sync::Mutex;

    /// Keeps what was written, for tests.
    #[derive(Debug, Clone, Default)]
    pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A pipe whose reader has gone.
    pub(crate) struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Blocks until the other side of the channel is dropped.
    struct Blocked(std::sync::mpsc::Receiver<()>, Kept);

    impl Write for Blocked {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_arrive_in_order_and_the_last_ones_too() {
        let kept = Kept::default();
        let mut sink = Sink::new(kept.clone()).unwrap();
        sink.line("one".into());
        sink.line("two".into());
        sink.close(vec!["three".into()]).await;
        assert_eq!(kept.text(), "one\ntwo\nthree\n");
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_ends_the_output_quietly() {
        let mut sink = Sink::new(Gone).unwrap();
        for _ in 0..5_000 {
            sink.line("line".into());
        }
        sink.close(vec!["last".into()]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_does_not_keep_the_process() {
        let (_never, wait) = std::sync::mpsc::channel();
        let mut sink = Sink::new(Blocked(wait, Kept::default())).unwrap();
        sink.patience = Duration::from_millis(1);
        for n in 0..QUEUE + 100 {
            sink.line(n.to_string());
        }
        sink.close(vec!["last".into()]).await;
    }

    #[tokio::test]
    async fn a_blocked_reader_costs_lines_and_no_time_and_still_gets_the_last_line() {
        let (unblock, wait) = std::sync::mpsc::channel();
        let kept = Kept::default();
        let mut sink = Sink::new(Blocked(wait, kept.clone())).unwrap();
        for n in 0..QUEUE + 100 {
            sink.line(n.to_string());
        }
        assert!(sink.dropped() >= 99, "{}", sink.dropped());
        drop(unblock);
        sink.close(vec!["last".into()]).await;
        assert!(kept.text().ends_with("\nlast\n"));
    }
}
