//! The writer on a disk that fails at will.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use super::*;
use crate::model::{RunStatus, Wall};
use crate::requests::{Input, fingerprints};
use crate::store::disk::AppendFile;
use crate::store::journal;
use crate::store::tests::{MESSAGE, input_of, line_of, run_file};
use crate::store::{Last, recover};

/// What the next operations on the disk come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// So many bytes are written, then the disk is full.
    FullAfter(usize),
    /// The write works, the sync does not, and what was written is gone.
    SyncLoses,
    /// It cannot be opened.
    Open,
    /// The program itself is wrong.
    Panic,
}

/// Faults in the order in which they are met; none are left: all is well.
type Plan = Arc<Mutex<VecDeque<Fault>>>;

struct FaultyDisk(Plan);

struct FaultyFile {
    plan: Plan,
    file: Box<dyn AppendFile>,
    before: u64,
}

fn met(plan: &Plan, is: impl Fn(Fault) -> bool) -> Option<Fault> {
    let mut plan = plan.lock().unwrap();
    let fault = plan.front().copied().filter(|&fault| is(fault))?;
    plan.pop_front();
    Some(fault)
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        if met(&self.0, |fault| fault == Fault::Open).is_some() {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(Box::new(FaultyFile { plan: Arc::clone(&self.0), file: RealDisk.open(path)?, before: 0 }))
    }
}

impl AppendFile for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn ends_line(&self, len: u64) -> io::Result<bool> {
        self.file.ends_line(len)
    }
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.before = at;
        assert!(met(&self.plan, |fault| fault == Fault::Panic).is_none(), "a panic was asked for");
        if let Some(Fault::FullAfter(n)) = met(&self.plan, |fault| matches!(fault, Fault::FullAfter(_))) {
            self.file.write_at(at, &bytes[..n.min(bytes.len())])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_at(at, bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        if met(&self.plan, |fault| fault == Fault::SyncLoses).is_some() {
            self.file.cut(self.before)?;
            return Err(io::Error::from_raw_os_error(5));
        }
        self.file.sync()
    }
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.file.cut(len)
    }
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }
    fn put_back(&mut self, path: &Path, len: u64) -> io::Result<()> {
        self.file.put_back(path, len)
    }
}

/// A run with its writer.
struct Rig {
    temp: tempfile::TempDir,
    input: Input,
    writer: Writer,
    events: Receiver<StoreEvent>,
}

const NOW: WriterSettings = WriterSettings { group: Duration::ZERO, retry: Duration::from_millis(1) };

impl Rig {
    fn new(faults: &[Fault], settings: WriterSettings, cache: Option<Cache>) -> Rig {
        let temp = tempfile::tempdir().unwrap();
        let input = input_of(&temp.path().join("in.jsonl"), &[("a", "1"), ("b", "2"), ("c", "3")]);
        let dir = RunDir::create(&temp.path().join("run"), &run_file(&input)).unwrap();
        let (sender, events) = channel();
        let disk = FaultyDisk(Arc::new(Mutex::new(faults.iter().copied().collect())));
        let writer = spawn_on(Box::new(disk), dir, RunSlot(3), cache, settings, move |event| {
            let _ = sender.send(event);
        })
        .unwrap();
        Rig { temp, input, writer, events }
    }

    fn record(&self, no: u32, outcome: Outcome) -> Record {
        let line = line_of(&self.input, no, outcome);
        Record { run: RunSlot(3), no: RequestNo(no), outcome, line, cache: None }
    }

    fn send(&self, no: u32) {
        self.writer.send(Job::Record(self.record(no, Outcome::Succeeded)));
    }

    fn journal(&self) -> Vec<u8> {
        std::fs::read(self.path(journal::NAME)).unwrap_or_default()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.temp.path().join("run").join(name)
    }

    fn lines(&self, numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|&no| line_of(&self.input, no, Outcome::Succeeded)).collect()
    }

    fn next(&self) -> StoreEvent {
        self.events.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    fn blocked(&self) -> String {
        match self.next() {
            StoreEvent::Blocked { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }
}

fn synced(numbers: &[u32]) -> StoreEvent {
    StoreEvent::Synced {
        run: RunSlot(3),
        done: numbers.iter().map(|&no| (RequestNo(no), Outcome::Succeeded)).collect(),
    }
}

#[test]
fn what_comes_within_the_time_of_a_group_is_synced_and_reported_together() {
    let rig = Rig::new(&[], WriterSettings { group: Duration::from_secs(3_600), ..NOW }, None);
    rig.send(0);
    rig.send(2);
    let (sender, ack) = channel();
    rig.writer.send(Job::Flush(Box::new(move || sender.send(()).unwrap())));
    ack.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(rig.events.try_recv(), Ok(synced(&[0, 2])), "reported before the acknowledgement");
    assert_eq!(rig.journal(), rig.lines(&[0, 2]));
}

#[test]
fn closing_writes_what_waits_and_gives_the_directory_back() {
    let rig = Rig::new(&[], WriterSettings { group: Duration::from_secs(3_600), ..NOW }, None);
    rig.send(1);
    rig.writer.send(Job::Audit(AuditEvent {
        at: Wall(0),
        kind: "run-started".to_owned(),
        org: None,
        text: "started".to_owned(),
        data: None,
    }));
    let mut state = StateFile::fresh(&run_file(&rig.input));
    rig.writer.send(Job::State(Box::new(state.clone())));
    state.status = RunStatus::Incomplete;
    rig.writer.send(Job::State(Box::new(state)));
    let closed = rig.writer.close();
    assert_eq!((closed.n_unsynced, &closed.trouble), (0, &None));
    let found = recover(&closed.dir, &rig.input, &mut |_| {}).unwrap();
    assert_eq!(found.last, [Last::Unsent, Last::Succeeded, Last::Unsent]);
    let events = std::fs::read_to_string(closed.dir.path().join("events.jsonl")).unwrap();
    assert_eq!(events, "{\"at\":\"1970-01-01T00:00:00.000Z\",\"kind\":\"run-started\",\"text\":\"started\"}\n");
    assert_eq!(StateFile::load(closed.dir.path()).unwrap().unwrap().status, RunStatus::Incomplete);
}

/// Sends two outcomes over a disk with these faults, and returns the message of the block. Everything must be there in
/// the end, nothing reported before it was.
fn heals(faults: &[Fault]) -> String {
    let rig = Rig::new(faults, NOW, None);
    rig.send(0);
    let message = rig.blocked();
    rig.send(1);
    let mut done = Vec::new();
    let mut healed = 0;
    while done.len() < 2 || healed == 0 {
        match rig.next() {
            StoreEvent::Synced { done: some, .. } => {
                done.extend(some.iter().map(|(no, _)| no.0));
                assert!(rig.journal().starts_with(&rig.lines(&done)), "reported before it was written");
            }
            StoreEvent::Healed => healed += 1,
            StoreEvent::Blocked { message, .. } => panic!("said twice: {message}"),
        }
    }
    assert_eq!((done, healed), (vec![0, 1], 1));
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
    assert_eq!(rig.writer.close().n_unsynced, 0);
    message
}

#[test]
fn d4_a_full_disk_blocks_keeps_everything_and_heals_without_a_torn_line() {
    for written in [0, 1, 100, 100_000] {
        let message = heals(&[Fault::FullAfter(written), Fault::FullAfter(written + 1), Fault::FullAfter(0)]);
        assert!(message.contains("results.jsonl") && message.contains("free some space"), "{message}");
    }
}

#[test]
fn d4_after_a_failed_fsync_everything_is_written_again() {
    let message = heals(&[Fault::SyncLoses, Fault::SyncLoses, Fault::FullAfter(7), Fault::SyncLoses]);
    assert!(message.contains("nothing is lost, and it is tried again"), "{message}");
}

#[test]
fn a_journal_that_cannot_be_opened_blocks_and_heals() {
    let message = heals(&[Fault::Open, Fault::Open]);
    assert!(message.contains("name a directory on a writable file system"), "{message}");
}

#[test]
fn d4_closing_on_a_full_disk_says_what_is_lost_and_does_not_hang() {
    let rig = Rig::new(&[Fault::FullAfter(3); 50], WriterSettings { retry: Duration::from_secs(3_600), ..NOW }, None);
    rig.send(0);
    rig.blocked();
    rig.send(1);
    let closed = rig.writer.close();
    assert_eq!(closed.n_unsynced, 2);
    let trouble = closed.trouble.unwrap();
    assert!(trouble.contains("free some space") && !trouble.contains("nothing is lost"), "{trouble}");
    // What the last try left behind is cut off, so that the lines can be appended once there is space.
    let found = recover(&closed.dir, &rig.input, &mut |_| {}).unwrap();
    assert_eq!((found.counts().unsent, found.torn), (3, None));
    std::fs::write(closed.dir.journal_path(), &closed.unwritten).unwrap();
    let found = recover(&closed.dir, &rig.input, &mut |_| {}).unwrap();
    assert_eq!(found.last, [Last::Succeeded, Last::Succeeded, Last::Unsent]);
}

#[test]
fn t1_a_panic_of_the_writer_is_told_and_what_it_had_not_written_is_handed_back() {
    let rig = Rig::new(&[Fault::Panic], NOW, None);
    rig.send(0);
    assert!(rig.blocked().contains("the writer of"), "it is no trouble that passes");
    rig.send(1);
    rig.send(2);
    let lines = rig.lines(&[0, 1, 2]);
    let closed = rig.writer.close();
    assert_eq!((closed.n_unsynced, closed.unwritten == lines), (3, true));
    assert!(closed.trouble.is_some_and(|trouble| trouble.contains("internal error")));
}

#[test]
fn a_journal_that_is_deleted_under_the_run_is_noticed_and_put_back_whole() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    std::fs::remove_file(rig.path(journal::NAME)).unwrap();
    rig.send(1);
    let message = rig.blocked();
    assert!(message.contains("it was moved, deleted or replaced under the run"), "{message}");
    assert_eq!([rig.next(), rig.next()], [synced(&[1]), StoreEvent::Healed]);
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
}

#[test]
fn a_vanished_directory_blocks_until_it_is_back() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    let (here, there) = (rig.temp.path().join("run"), rig.temp.path().join("elsewhere"));
    std::fs::rename(&here, &there).unwrap();
    rig.send(1);
    rig.blocked();
    std::fs::rename(&there, &here).unwrap();
    assert_eq!([rig.next(), rig.next()], [synced(&[1]), StoreEvent::Healed]);
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
}

#[test]
fn a_journal_that_is_replaced_is_never_written_over() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    let path = rig.path(journal::NAME);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    rig.send(1);
    rig.blocked();
    assert_eq!(rig.journal(), b"somebody else's");
    std::fs::remove_file(&path).unwrap();
    assert_eq!([rig.next(), rig.next()], [synced(&[1]), StoreEvent::Healed]);
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
}

#[test]
fn a_lock_file_that_is_removed_under_the_run_is_put_back_and_the_run_goes_on() {
    let rig = Rig::new(&[], NOW, None);
    std::fs::remove_file(rig.path("lock")).unwrap();
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    assert!(matches!(RunDir::open(&rig.temp.path().join("run")), Err(StoreError::Owned { .. })));
}

#[test]
fn d3_a_run_whose_directory_another_process_took_writes_nothing_more_even_when_that_one_has_left() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    std::fs::remove_file(rig.path("lock")).unwrap();
    let other = RunDir::open(&rig.temp.path().join("run")).unwrap();
    rig.send(1);
    let message = rig.blocked();
    assert!(message.contains("another process took the directory"), "{message}");
    assert!(!message.contains("nothing is lost"), "{message}");
    drop(other);
    let state = StateFile { sessions: 77, ..StateFile::fresh(&run_file(&rig.input)) };
    rig.writer.send(Job::State(Box::new(state)));
    let (journal, state) = (rig.path(journal::NAME), rig.path("state.json"));
    let (lines, Rig { writer, temp: _temp, .. }) = (rig.lines(&[0]), rig);
    assert_eq!(writer.close().n_unsynced, 1);
    assert_eq!(std::fs::read(journal).unwrap(), lines);
    assert!(!std::fs::read_to_string(state).unwrap().contains("77"));
}

#[test]
fn a5_a_journal_that_is_cut_in_place_is_noticed_and_gets_no_hole() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    let file = std::fs::OpenOptions::new().write(true).open(rig.path(journal::NAME)).unwrap();
    file.set_len(5).unwrap();
    rig.send(1);
    let message = rig.blocked();
    assert!(message.contains("was cut to 5 bytes") && !message.contains("nothing is lost"), "{message}");
    assert_eq!(rig.journal(), &rig.lines(&[0])[..5]);
    std::fs::write(rig.path(journal::NAME), rig.lines(&[0])).unwrap();
    assert_eq!([rig.next(), rig.next()], [synced(&[1]), StoreEvent::Healed]);
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
}

#[test]
fn a5_bytes_that_another_process_appended_are_noticed_and_not_written_over() {
    let rig = Rig::new(&[], NOW, None);
    rig.send(0);
    assert_eq!(rig.next(), synced(&[0]));
    let len = rig.journal().len() as u64;
    std::fs::write(rig.path(journal::NAME), [&*rig.journal(), b"somebody else's"].concat()).unwrap();
    rig.send(1);
    let message = rig.blocked();
    assert!(message.contains("appended 15 bytes") && message.contains(&format!("truncate -s {len}")), "{message}");
    assert!(rig.journal().ends_with(b"somebody else's"));
    std::fs::OpenOptions::new().write(true).open(rig.path(journal::NAME)).unwrap().set_len(len).unwrap();
    assert_eq!([rig.next(), rig.next()], [synced(&[1]), StoreEvent::Healed]);
    assert_eq!(rig.journal(), rig.lines(&[0, 1]));
}

#[test]
fn an_audit_trail_that_is_emptied_under_the_run_goes_on_without_a_hole() {
    let rig = Rig::new(&[], NOW, None);
    let event = || AuditEvent { at: Wall(0), kind: "k".to_owned(), org: None, text: "t".to_owned(), data: None };
    let flush = |rig: &Rig| {
        let (sender, ack) = channel();
        rig.writer.send(Job::Flush(Box::new(move || sender.send(()).unwrap())));
        ack.recv_timeout(Duration::from_secs(30)).unwrap();
    };
    rig.writer.send(Job::Audit(event()));
    flush(&rig);
    std::fs::write(rig.path("events.jsonl"), "").unwrap();
    rig.writer.send(Job::Audit(event()));
    flush(&rig);
    assert_eq!(std::fs::read_to_string(rig.path("events.jsonl")).unwrap().lines().count(), 1);
    assert!(rig.events.try_recv().is_err());
}

#[test]
fn an_audit_trail_with_a_torn_end_gets_a_line_end_first() {
    let rig = Rig::new(&[], NOW, None);
    std::fs::write(rig.path("events.jsonl"), "{\"torn\"").unwrap();
    let event = AuditEvent { at: Wall(0), kind: "k".to_owned(), org: None, text: "t".to_owned(), data: None };
    rig.writer.send(Job::Audit(event));
    let closed = rig.writer.close();
    let events = std::fs::read_to_string(closed.dir.path().join("events.jsonl")).unwrap();
    assert_eq!(events.lines().count(), 2);
    assert!(events.starts_with("{\"torn\"\n{\"at\""), "{events}");
}

#[test]
fn only_answers_that_succeeded_enter_the_cache_and_only_once_they_are_durable() {
    let caches = tempfile::tempdir().unwrap();
    let cache = Cache::open(caches.path()).unwrap();
    let rig = Rig::new(&[], NOW, Some(cache.again().unwrap()));
    let keys = fingerprints(&rig.input, &mut |_| {}).unwrap();
    for (no, outcome) in [(0, Outcome::Succeeded), (1, Outcome::Refused), (2, Outcome::Succeeded)] {
        let body = bytes::Bytes::from_static(MESSAGE);
        let entry = CacheEntry { key: keys[no as usize], body };
        rig.writer.send(Job::Record(Record { cache: Some(entry), ..rig.record(no, outcome) }));
    }
    assert_eq!(rig.writer.close().n_unsynced, 0);
    assert_eq!(cache.lookup(&keys), [true, false, true]);
    assert_eq!(cache.get(&keys[2]).as_deref(), Some(MESSAGE));
}

#[test]
fn d6_answers_that_a_dead_process_did_not_cache_are_carried_over_on_resume() {
    let caches = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(caches.path()).unwrap();
    let rig = Rig::new(&[], NOW, None);
    let keys = fingerprints(&rig.input, &mut |_| {}).unwrap();
    rig.writer.send(Job::Record(rig.record(2, Outcome::Succeeded)));
    rig.writer.send(Job::Record(rig.record(1, Outcome::Invalid)));
    let Rig { writer, input, temp: _temp, .. } = rig;
    let closed = writer.close();
    let found = recover(&closed.dir, &input, &mut |_| {}).unwrap();
    let carried = |cache: &mut Cache| crate::store::backfill(closed.dir.path(), &input, &found, &keys, cache).unwrap();
    assert_eq!(carried(&mut cache), 1);
    assert_eq!(carried(&mut cache), 0);
    assert_eq!(cache.lookup(&keys), [false, false, true]);
    assert_eq!(cache.get(&keys[2]).as_deref(), Some(MESSAGE));
}
