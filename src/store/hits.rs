//! Answers that the cache has already: written into the journal before anything is sent, so that a hit is as durable as
//! an answer and the run directory is whole without the cache.

use super::cache::Cache;
use super::dir::RunDir;
use super::disk::RealDisk;
use super::error::StoreError;
use super::group::{Appender, Foreign};
use super::journal::{self, LineMeta};
use super::recovery::Last;
use super::stamp;
use crate::model::{Money, Outcome, RequestNo, Route, Usage};
use crate::requests::{Fingerprint, Input};

/// Bytes that are written and synced at once.
const GROUP: usize = 8 << 20;

/// Looks up every request without a terminal outcome and journals the answers found. `last` says where each request is,
/// and is `Cached` afterwards for those found; how many they were is returned. An answer that cannot be read is a miss.
///
/// # Errors
/// [`StoreError::Io`] about the journal, [`StoreError::Input`] about the input; what was journaled until then stays.
pub fn take_hits(
    dir: &RunDir,
    input: &Input,
    keys: &[Fingerprint],
    cache: &Cache,
    last: &mut [Last],
) -> Result<u64, StoreError> {
    let open: Vec<u32> = (0..input.len()).filter(|no| is_open(last, RequestNo(*no))).collect();
    let wanted: Vec<Fingerprint> = open.iter().filter_map(|no| keys.get(*no as usize).copied()).collect();
    let found = cache.lookup(&wanted);
    let mut journal = Appender::new(dir.journal_path(), Foreign::Refuse);
    let mut taken = Vec::new();
    let mut n = 0;
    for (no, key) in open.iter().zip(&wanted).zip(found).filter_map(|(hit, found)| found.then_some(hit)) {
        let Some(message) = cache.get(key) else { continue };
        let no = RequestNo(*no);
        let custom_id = input.read(no)?.custom_id;
        journal.waiting().extend_from_slice(&journal::line(&custom_id, &message, &meta(input, no)));
        taken.push(no);
        if journal.waiting().len() >= GROUP {
            n += commit(&mut journal, &mut taken, last)?;
        }
    }
    n += commit(&mut journal, &mut taken, last)?;
    Ok(n)
}

fn is_open(last: &[Last], no: RequestNo) -> bool {
    matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable))
}

fn meta(input: &Input, no: RequestNo) -> LineMeta<'static> {
    LineMeta {
        no,
        outcome: Outcome::Succeeded,
        org: None,
        path: Route::Cache,
        attempt: 0,
        request_id: None,
        latency_ms: 0,
        usage: Usage::default(),
        cost: Money::ZERO,
        crc: input.crc_of(no),
        at: stamp::now(),
    }
}

/// Makes what waits durable, and only then counts it.
fn commit(journal: &mut Appender, taken: &mut Vec<RequestNo>, last: &mut [Last]) -> Result<u64, StoreError> {
    let path = journal.path().to_owned();
    journal.commit(&RealDisk).map_err(std::io::Error::from).map_err(StoreError::io("write", &path))?;
    let n = taken.len() as u64;
    for no in taken.drain(..) {
        if let Some(last) = last.get_mut(no.ix()) {
            *last = Last::Cached;
        }
    }
    Ok(n)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bytes::Bytes;

    use super::super::cache::CacheEntry;
    use super::super::recovery::recover;
    use super::super::run_file::{InputFile, RunFile};
    use super::*;
    use crate::requests::fingerprints;

    #[test]
    fn d6_hits_are_in_the_journal_and_each_identical_request_takes_its_own_draw() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        for no in 0..3 {
            let params = r#"{"model":"claude-haiku-4-5","max_tokens":5,"messages":[{"role":"user","content":"same"}]}"#;
            writeln!(file, r#"{{"custom_id":"r{no}","params":{params}}}"#).unwrap();
        }
        let input = Input::index(&path, &mut |_| {}).unwrap();
        let keys = fingerprints(&input, &mut |_| {}).unwrap();
        let mut cache = Cache::open(&temp.path().join("cache")).unwrap();
        let answer = |n: u8| Bytes::from(format!(r#"{{"n":{n}}}"#));
        let mut entries: Vec<_> =
            [(0, 1), (2, 3)].map(|(ix, n)| CacheEntry { key: keys[ix], body: answer(n) }).into_iter().collect();
        cache.insert_many(&mut entries).unwrap();
        let run = RunFile {
            format: 1,
            fandeck: "0".to_owned(),
            run_id: "r".to_owned(),
            nonce: "n".to_owned(),
            created_at: stamp::now(),
            input: InputFile {
                named: String::new(),
                path,
                sha256: input.sha256().to_owned(),
                count: 3,
                bytes: input.bytes(),
                spooled: false,
            },
            path: Route::Sync,
            route_reason: "forced".to_owned(),
            models: vec![],
            orgs: vec![],
            plan: None,
            pilot: None,
            prices: None,
            settings: std::collections::BTreeMap::new(),
        };
        let dir = RunDir::create(&temp.path().join("run"), &run).unwrap();
        let mut last = vec![Last::Unsent; 3];
        assert_eq!(take_hits(&dir, &input, &keys, &cache, &mut last).unwrap(), 2);
        assert_eq!(last, [Last::Cached, Last::Unsent, Last::Cached]);
        assert_eq!(recover(&dir, &input, &mut |_| {}).unwrap().last, last);
        let text = std::fs::read_to_string(dir.journal_path()).unwrap();
        assert!(
            text.lines().nth(1).unwrap().contains(r#""r2","result":{"type":"succeeded","message":{"n":3}}"#),
            "{text}"
        );
        assert_eq!(take_hits(&dir, &input, &keys, &cache, &mut last).unwrap(), 0, "once is enough");
    }
}
