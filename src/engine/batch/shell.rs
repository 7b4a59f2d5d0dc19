//! The hands of the batch part: each thing to do is a task of its own, and is answered by one event, whatever happens; a
//! panic is answered by the alarm.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::UnboundedSender;

use crate::api::batches::{
    BatchFailure, BatchReply, BatchTransport, CreateOutcome, CreateReply, MessageBatch, Sink, read_row, upload,
};
use crate::engine::alarm::Alarm;
use crate::engine::clock::Clock;
use crate::engine::event::Event;
use crate::engine::worker::RunWork;
use crate::model::{ApiError, OrgId, RequestNo, RetryAfter, Scrubber, Trouble, Wall};
use crate::store::{Members, scratch_file};

use super::act::{BatchEvent, Happened, Harvest, ToDo};
use super::body;
use super::harvest::{self, Harvester};

/// Batches asked for on a page of the list, and pages that are read at the most: what an org creates in a day.
const PAGE: u32 = 100;
const PAGES: usize = 50;

/// The kind of the error that stands for an input which is not what was indexed.
pub(super) const INPUT_CHANGED: &str = "input-changed";

/// Bytes of results that are read to see whose they are.
const PEEK: usize = 4 << 20;

/// What the tasks of one run share.
pub(crate) struct Shell {
    pub(crate) transport: Arc<dyn BatchTransport>,
    pub(crate) events: UnboundedSender<Event>,
    pub(crate) work: Arc<RunWork>,
    pub(crate) clock: Clock,
    pub(crate) labels: Arc<[String]>,
    pub(crate) scrubber: Scrubber,
    /// The run's nonce.
    pub(crate) nonce: String,
    /// Its directory.
    pub(crate) dir: PathBuf,
}

impl Shell {
    /// Begins something. What has to do with the writer is the dispatcher's.
    pub(crate) fn begin(self: &Arc<Shell>, index: u32, what: ToDo) {
        let shell = Arc::clone(self);
        let alarm = Alarm::new(&self.events);
        match what {
            ToDo::KeepMembers { members } => {
                tokio::task::spawn_blocking(move || {
                    let _alarm = alarm;
                    let kept = Members::of(&shell.work.input, &members).save(&shell.dir, index);
                    shell.tell(index, Happened::MembersKept(kept.map_err(|error| error.to_string())));
                });
            }
            ToDo::Create { org, members } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let reply = shell.create(org, members).await;
                    shell.tell(index, Happened::Created(Box::new(reply)));
                });
            }
            ToDo::Poll { org, id } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let reply = shell.transport.retrieve(org, &id).await;
                    shell.tell(index, Happened::Polled(Box::new(reply)));
                });
            }
            ToDo::Cancel { org, id } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let reply = shell.transport.cancel(org, &id).await;
                    shell.tell(index, Happened::CancelAnswered(Box::new(reply)));
                });
            }
            ToDo::List { org, since } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let reply = shell.list(org, since).await;
                    shell.tell(index, Happened::Listed(Box::new(reply)));
                });
            }
            ToDo::Peek { org, batch } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let ours = shell.peek(org, &batch.id).await;
                    shell.tell(index, Happened::Peeked { batch, ours });
                });
            }
            ToDo::Harvest { org, id, members, began_at } => {
                tokio::spawn(async move {
                    let _alarm = alarm;
                    let result = Arc::clone(&shell).harvest(index, org, &id, members, began_at).await;
                    shell.tell(index, Happened::HarvestEnded(Box::new(result)));
                });
            }
            ToDo::KeepState(_) | ToDo::Permit(_) => {}
        }
    }

    /// The dispatcher is gone only when its runs have come to rest; then nobody waits for this.
    fn tell(&self, index: u32, what: Happened) -> bool {
        self.events.send(Event::Batch(Box::new(BatchEvent { run: self.work.slot, index, what }))).is_ok()
    }

    async fn create(self: &Arc<Shell>, org: OrgId, members: Arc<Vec<RequestNo>>) -> CreateReply {
        let shell = Arc::clone(self);
        let counted = Arc::clone(&members);
        let len = tokio::task::spawn_blocking(move || {
            body::len(&shell.work.input, &shell.nonce, &counted).map_err(|error| error.to_string())
        });
        let len = match len.await {
            Ok(Ok(len)) => len,
            Ok(Err(message)) => return unreadable(message),
            Err(error) => return unreadable(error.to_string()),
        };
        let (feeder, upload) = upload(len);
        let shell = Arc::clone(self);
        let feeding = tokio::task::spawn_blocking(move || {
            body::feed(&shell.work.input, &shell.nonce, &members, feeder).map_err(|error| error.to_string())
        });
        let reply = self.transport.create(org, upload).await;
        match (feeding.await, &reply.outcome) {
            (Ok(Err(message)), CreateOutcome::Refused(_)) => unreadable(message),
            _ => reply,
        }
    }

    /// The org's list from its newest batch back to one that is older than `since`.
    async fn list(&self, org: OrgId, since: Wall) -> BatchReply<Vec<MessageBatch>> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGES {
            let reply = self.transport.list(org, after.as_deref(), PAGE).await;
            let (retry_after, organization) = (reply.retry_after, reply.organization);
            let page = match reply.result {
                Ok(page) => page,
                Err(failure) => return BatchReply { result: Err(failure), retry_after, organization },
            };
            let old = page.data.last().and_then(|batch| batch.created_at).is_some_and(|at| at < since);
            let next = page.last_id.clone().or_else(|| page.data.last().map(|batch| batch.id.clone()));
            all.extend(page.data);
            if !page.has_more || old || next.is_none() || next == after {
                return BatchReply { result: Ok(all), retry_after, organization };
            }
            after = next;
        }
        // What lies further back was not seen, so that nothing can be said to be absent.
        let error = ApiError {
            kind: "list-too-long".to_owned(),
            message: format!("more than {} batches are newer than the intent", PAGES as u32 * PAGE),
            ..ApiError::default()
        };
        let failure = BatchFailure::Trouble(Trouble::Server, error);
        BatchReply { result: Err(failure), retry_after: RetryAfter::Absent, organization: None }
    }

    /// Whether the first result of a batch carries this run's nonce.
    async fn peek(&self, org: OrgId, id: &str) -> Option<bool> {
        let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
        let into = Arc::clone(&kept);
        let sink: Sink = Box::new(move |chunk| {
            let mut kept = into.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            kept.extend_from_slice(chunk);
            // One whole line is enough: the rest is not downloaded.
            let enough = memchr::memchr(b'\n', &kept).is_some() || kept.len() > PEEK;
            if enough { Err(std::io::Error::other("enough")) } else { Ok(()) }
        });
        let _ = self.transport.results(org, id, sink).await;
        let kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let line = kept.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
        let row = read_row(line.trim_ascii(), &self.scrubber).ok()?;
        Some(body::request_of(&self.nonce, &row.custom_id).is_some())
    }

    /// Downloads to a file of its own, then reads that: a download that breaks has touched nothing.
    async fn harvest(
        self: Arc<Shell>,
        index: u32,
        org: OrgId,
        id: &str,
        members: Arc<Vec<RequestNo>>,
        began_at: Option<Wall>,
    ) -> Result<Harvest, BatchFailure> {
        let disk =
            |error: std::io::Error| local("disk", format!("failed to keep results in {}: {error}", self.dir.display()));
        let (path, file) = scratch_file(&self.dir, &format!("harvest-{index:04}")).map_err(disk)?;
        let scratch = Scratch(path);
        let mut file = std::io::BufWriter::with_capacity(1 << 20, file);
        // The last block is written when the sink is dropped; what fails then shows in the length.
        let sink: Sink = Box::new(move |chunk| file.write_all(chunk));
        let downloaded = self.transport.results(org, id, sink).await.result?;
        let on_disk = std::fs::metadata(&scratch.0).map_err(disk)?.len();
        if on_disk != downloaded {
            return Err(local("disk", format!("{on_disk} bytes of {downloaded} were kept of the results")));
        }
        let shell = Arc::clone(&self);
        let merged = tokio::task::spawn_blocking(move || {
            let by = Harvester {
                work: &shell.work,
                scrubber: &shell.scrubber,
                nonce: &shell.nonce,
                org: shell.labels.get(org.ix()).map_or("", String::as_str),
                members: &members,
                began_at,
                now: shell.clock.now().wall,
            };
            harvest::read(&by, &scratch.0, &mut |rows, token| shell.tell(index, Happened::Rows { rows, token }))
        });
        match merged.await {
            Ok(Ok(harvest)) => Ok(harvest),
            Ok(Err(message)) => Err(local("harvest", message)),
            Err(error) => Err(local("harvest", error.to_string())),
        }
    }
}

/// A file that goes when it is not needed any more.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind goes when the run is opened next.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn local(kind: &str, message: String) -> BatchFailure {
    BatchFailure::Trouble(Trouble::Broken, ApiError { kind: kind.to_owned(), message, ..ApiError::default() })
}

/// The input is not what was indexed: nothing whole was sent.
fn unreadable(message: String) -> CreateReply {
    let error = ApiError { kind: INPUT_CHANGED.to_owned(), message, ..ApiError::default() };
    let outcome = CreateOutcome::Refused(BatchFailure::Invalid(error));
    CreateReply { outcome, retry_after: RetryAfter::Absent, organization: None }
}
