//! The cache, whole and damaged.

use bytes::Bytes;

use super::*;
use crate::requests::Fingerprint;

fn key(n: u8) -> Fingerprint {
    [n; 32]
}

fn entry(n: u8, text: &'static str) -> CacheEntry {
    CacheEntry { key: key(n), body: Bytes::from_static(text.as_bytes()) }
}

fn filled() -> (tempfile::TempDir, Cache) {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    cache.insert_many(&mut [entry(9, "nine"), entry(1, "one"), entry(200, "")]).unwrap();
    (dir, cache)
}

#[test]
fn answers_are_found_by_their_keys_in_the_order_asked() {
    let (dir, cache) = filled();
    drop(cache);
    let cache = Cache::open(dir.path()).unwrap();
    assert_eq!(cache.lookup(&[key(200), key(2), key(1), key(1), key(9)]), [true, false, true, true, true]);
    assert_eq!(cache.get(&key(9)).as_deref(), Some(&b"nine"[..]));
    assert_eq!(cache.get(&key(200)).as_deref(), Some(&b""[..]));
    assert_eq!((cache.get(&key(2)), cache.count().unwrap()), (None, 3));
}

#[test]
fn a_newer_answer_replaces_an_older_one() {
    let (_dir, mut cache) = filled();
    cache.insert_many(&mut [entry(1, "uno")]).unwrap();
    assert_eq!((cache.get(&key(1)).as_deref(), cache.count().unwrap()), (Some(&b"uno"[..]), 3));
}

#[test]
fn keys_that_begin_alike_never_give_each_others_answer() {
    let (_dir, mut cache) = filled();
    let mut twin = entry(1, "other");
    twin.key[31] = 0;
    assert_eq!(cache.get(&twin.key), None);
    cache.insert_many(&mut [twin.clone()]).unwrap();
    assert_eq!((cache.get(&twin.key).as_deref(), cache.get(&key(1))), (Some(&b"other"[..]), None));
}

#[test]
fn d8_a_foreign_file_is_refused_with_the_remedy_and_left_alone() {
    for content in [&b"not a database, but long enough to look at: ".repeat(30)[..], b"\0\0\0\0"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Cache::NAME);
        std::fs::write(&path, content).unwrap();
        let err = Cache::open(dir.path()).unwrap_err();
        assert!(err.to_string().contains("answers.sqlite is not a cache of fandeck; name another directory"), "{err}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

#[test]
fn d8_a_database_of_another_program_or_of_a_newer_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(Cache::NAME);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE photos (id INTEGER)").unwrap();
    assert!(matches!(Cache::open(dir.path()), Err(CacheError::Foreign(_))));
    let (dir, cache) = filled();
    drop(cache);
    let newer = rusqlite::Connection::open(dir.path().join(Cache::NAME)).unwrap();
    newer.execute_batch("PRAGMA user_version = 2").unwrap();
    assert!(matches!(Cache::open(dir.path()), Err(CacheError::Newer { schema: 2, .. })));
}

#[test]
fn d8_a_truncated_file_is_refused_or_missed_at_any_length() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    let mut entries: Vec<_> = (0..200).map(|n| CacheEntry { key: key(n), body: Bytes::from(vec![n; 900]) }).collect();
    cache.insert_many(&mut entries).unwrap();
    drop(cache);
    let path = dir.path().join(Cache::NAME);
    let whole = std::fs::read(&path).unwrap();
    let keys: Vec<_> = (0..=255).map(key).collect();
    for len in (1..whole.len()).step_by(3_001) {
        std::fs::write(&path, &whole[..len]).unwrap();
        match Cache::open(dir.path()) {
            Err(CacheError::Foreign(_) | CacheError::Damaged { .. }) => {}
            Err(other) => panic!("{len}: {other}"),
            Ok(cache) => {
                cache.lookup(&keys);
                for n in 0..=255 {
                    assert!(cache.get(&key(n)).is_none_or(|body| body == vec![n; 900]), "{len}");
                }
            }
        }
    }
}

#[test]
fn d8_a_row_whose_bytes_changed_is_a_miss() {
    let (_dir, cache) = filled();
    let raw = rusqlite::Connection::open(cache.path()).unwrap();
    raw.execute("UPDATE answers SET message = x'00' WHERE message = CAST('nine' AS BLOB)", []).unwrap();
    raw.execute("UPDATE answers SET message = 'text' WHERE message = CAST('one' AS BLOB)", []).unwrap();
    assert_eq!([9, 1, 200].map(|n| cache.get(&key(n)).is_some()), [false, false, true]);
}

#[test]
fn two_connections_write_at_the_same_time_and_lose_nothing() {
    let (_dir, cache) = filled();
    std::thread::scope(|scope| {
        for writer in 0..2_u8 {
            let mut cache = cache.again().unwrap();
            scope.spawn(move || {
                for n in 0..50 {
                    let mut own = key(writer + 100);
                    own[0] = n;
                    cache.insert_many(&mut [CacheEntry { key: own, body: Bytes::from_static(b"x") }]).unwrap();
                }
            });
        }
    });
    assert_eq!(cache.count().unwrap(), 103);
}

#[test]
fn a_cache_that_cannot_be_made_says_where_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let err = Cache::open(&file.join("cache")).unwrap_err();
    assert!(err.to_string().contains("or run with --no-cache"), "{err}");
}
