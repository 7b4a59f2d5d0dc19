//! Looking for runs on disks that may not answer: a dead network mount holds whoever looks into it for ever.
//!
//! A look that has stood at one directory for longer than [`PATIENCE`] is left to itself, and another one begins that passes
//! that directory over: the operator gets the list of everything else, with a row that says which one does not answer. It is
//! looked into again when it has answered after all. When the directory of the runs itself is silent there is no list, and
//! that is said.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::report::format;
use crate::tui::backstage::{RunRow, RunsFound};

use super::lock;

/// How long a directory may take to answer. The slowest disk that works is faster by far.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Where a look is, and since when.
type At = Arc<Mutex<(PathBuf, Instant)>>;

/// What a look comes to.
type Found = Result<RunsFound, String>;

/// A look that goes on.
struct Look {
    at: At,
    done: JoinHandle<Found>,
}

/// The looks that go on.
#[derive(Default)]
pub(super) struct Looking {
    /// The one that is waited for; kept here between two calls.
    current: Mutex<Option<Look>>,
    /// Those that were left to themselves.
    silent: Mutex<Vec<Look>>,
}

impl Looking {
    /// The runs as `list` finds them; it is called on a thread where it may take its time, and says before each directory that
    /// it looks into it. `place` is where it begins.
    pub(super) async fn list<L>(&self, place: &Path, list: L) -> Found
    where
        L: Fn(&mut dyn FnMut(&Path) -> bool) -> Found + Clone + Send + 'static,
    {
        loop {
            let kept = lock(&self.current).take();
            let mut look = kept.unwrap_or_else(|| self.begin(place, list.clone()));
            let in_time = tokio::time::timeout(PATIENCE, &mut look.done).await;
            if let Ok(done) = in_time {
                let found =
                    done.unwrap_or_else(|error| Err(format!("internal error: the look was broken off: {error}")));
                return found.map(|found| RunsFound { rows: self.with_silent(found.rows), ..found });
            }
            let (at, since) = lock(&look.at).clone();
            if since.elapsed() < PATIENCE {
                // It is slow, and gets on.
                *lock(&self.current) = Some(look);
            } else if at == place {
                *lock(&self.current) = Some(look);
                return Err(silence(&at, since));
            } else {
                lock(&self.silent).push(look);
            }
        }
    }

    fn begin<L>(&self, place: &Path, list: L) -> Look
    where
        L: Fn(&mut dyn FnMut(&Path) -> bool) -> Found + Send + 'static,
    {
        let at: At = Arc::new(Mutex::new((place.to_owned(), Instant::now())));
        let mut silent = lock(&self.silent);
        silent.retain(|look| !look.done.is_finished());
        let passed_over: Vec<PathBuf> = silent.iter().map(|look| lock(&look.at).0.clone()).collect();
        let told = Arc::clone(&at);
        let done = tokio::task::spawn_blocking(move || {
            list(&mut |dir| {
                let looks = !passed_over.iter().any(|silent| silent == dir);
                if looks {
                    *lock(&told) = (dir.to_owned(), Instant::now());
                }
                looks
            })
        });
        Look { at, done }
    }

    /// The rows, and one for each directory that does not answer.
    fn with_silent(&self, mut rows: Vec<RunRow>) -> Vec<RunRow> {
        for look in lock(&self.silent).iter().filter(|look| !look.done.is_finished()) {
            let (at, since) = lock(&look.at).clone();
            // A link is read where it lies; only to follow it is to wait.
            let dir = std::fs::read_link(&at).unwrap_or_else(|_| at.clone());
            rows.push(RunRow { facts: Err(silence(&dir, since)), dir });
        }
        rows
    }
}

fn silence(dir: &Path, since: Instant) -> String {
    let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    format!("{} does not answer since {}: is it on a network disk that is gone?", dir.display(), format::span(ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    /// A disk with these directories, of which one does not answer before it is told to.
    struct Disk {
        dirs: Vec<&'static str>,
        dead: &'static str,
        reached: UnboundedSender<()>,
        answers: Mutex<Receiver<()>>,
    }

    fn disk(
        dirs: &[&'static str],
        dead: &'static str,
    ) -> (Arc<Disk>, UnboundedReceiver<()>, std::sync::mpsc::Sender<()>) {
        let (reached, at_dead) = unbounded_channel();
        let (answer, answers) = channel();
        (Arc::new(Disk { dirs: dirs.to_vec(), dead, reached, answers: Mutex::new(answers) }), at_dead, answer)
    }

    impl Disk {
        fn list(&self, look: &mut dyn FnMut(&Path) -> bool) -> Found {
            let mut rows = Vec::new();
            for dir in self.dirs.iter().map(Path::new) {
                if look(dir) {
                    self.look_into(dir);
                    rows.push(RunRow { dir: dir.to_owned(), facts: Err("it answers".to_owned()) });
                }
            }
            Ok(RunsFound { rows, ..RunsFound::default() })
        }

        fn look_into(&self, dir: &Path) {
            if dir == Path::new(self.dead) {
                self.reached.send(()).unwrap();
                // Whoever waits for a test that is over waits no more.
                let _ = lock(&self.answers).recv();
            }
        }
    }

    fn said(found: &Found) -> Vec<String> {
        let rows = found.as_ref().unwrap().rows.iter();
        rows.map(|row| format!("{} {}", row.dir.display(), row.facts.as_ref().unwrap_err())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_directory_that_does_not_answer_is_named_and_holds_up_no_other() {
        let (disk, mut at_dead, answer) = disk(&["/runs/a", "/mnt/dead", "/runs/b"], "/mnt/dead");
        let looking = Arc::new(Looking::default());
        let list = {
            let disk = Arc::clone(&disk);
            move |look: &mut dyn FnMut(&Path) -> bool| disk.list(look)
        };
        let asked = tokio::spawn({
            let (looking, list) = (Arc::clone(&looking), list.clone());
            async move { looking.list(Path::new("/runs"), list).await }
        });
        at_dead.recv().await.unwrap();
        tokio::time::advance(PATIENCE).await;
        let rows = said(&asked.await.unwrap());
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert_eq!(rows[..2], ["/runs/a it answers", "/runs/b it answers"]);
        assert!(rows[2].starts_with("/mnt/dead /mnt/dead does not answer since "), "{rows:?}");
        // A further look does not wait for it again, and finds it when it answers.
        let rows = said(&looking.list(Path::new("/runs"), list.clone()).await);
        assert_eq!(rows.len(), 3, "{rows:?}");
        answer.send(()).unwrap();
        drop(answer);
        let left = lock(&looking.silent).pop().unwrap();
        left.done.await.unwrap().unwrap();
        let rows = said(&looking.list(Path::new("/runs"), list).await);
        assert!(rows.contains(&"/mnt/dead it answers".to_owned()) && rows.len() == 3, "{rows:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_place_itself_does_not_answer_that_is_said_each_time_and_looked_at_once() {
        let (disk, mut at_dead, answer) = disk(&["/runs"], "/runs");
        let looking = Arc::new(Looking::default());
        for time in 0..2 {
            let asked = tokio::spawn({
                let (looking, disk) = (Arc::clone(&looking), Arc::clone(&disk));
                async move { looking.list(Path::new("/runs"), move |look| disk.list(look)).await }
            });
            if time == 0 {
                at_dead.recv().await.unwrap();
            } else {
                // It has begun to wait before time passes.
                tokio::task::yield_now().await;
            }
            tokio::time::advance(PATIENCE).await;
            let why = asked.await.unwrap().unwrap_err();
            assert!(why.starts_with("/runs does not answer since "), "{why}");
        }
        assert!(at_dead.try_recv().is_err(), "no second thread is given to it");
        drop(answer);
    }
}
