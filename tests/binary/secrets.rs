//! No byte that a run leaves anywhere holds key material, whatever the API says about the key.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Ended, KEYS, Place, finished};

/// An API that repeats the key in everything it says. Requests whose text holds `refuse` are answered 400, those with
/// `storm` 529 at first; the rest get an answer. A key with `Kettle` in it is answered 401.
fn parrot() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let storms = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(stream), storms) = (stream, Arc::clone(&storms)) else { continue };
            std::thread::spawn(move || while talk(&stream, &storms).is_some() {});
        }
    });
    url
}

/// Answers one request; `None` at the end of the connection.
fn talk(mut stream: &TcpStream, storms: &AtomicUsize) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let field = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let mut body = vec![0; field("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let key = field("x-api-key")?;
    let error = |kind: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"no: x-api-key {key} (and sk-ant-api03-Other)"}}}}"#
        )
    };
    let (status, said) = if key.contains("Kettle") {
        ("401 Unauthorized", error("authentication_error"))
    } else if body.contains("refuse") {
        ("400 Bad Request", error("invalid_request_error"))
    } else if body.contains("storm") && storms.fetch_add(1, Ordering::Relaxed) < 5 {
        ("529 Overloaded", error("overloaded_error"))
    } else {
        let message = format!(
            r#"{{"id":"msg_{key}","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{{"type":"text","text":"your key is {key}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":5,"output_tokens":7}}}}"#
        );
        ("200 OK", message)
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nrequest-id: req_{key}\r\ncontent-length: {}\r\n\r\n{said}",
        said.len()
    );
    stream.write_all(answer.as_bytes()).ok()
}

/// The words of the keys, and what stands before them.
const MARKS: [&str; 5] = ["Oyster7", "Walnut3", "Kettle9", "sk-ant-", "Quicksand"];

#[track_caller]
fn clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for mark in MARKS {
        let at = text.find(mark).map(|at| text[..at + mark.len()].chars().rev().take(120).collect::<String>());
        assert!(at.is_none(), "{mark} is in {what}, after (backwards) {at:?}");
    }
}

#[test]
fn no_key_is_in_anything_that_a_run_leaves() {
    let mut place = Place::new();
    place.set("ANTHROPIC_BASE_URL", &parrot());
    for (_, variable, key) in KEYS {
        place.set(variable, key);
    }
    place.set("FANDECK_LOG", "trace");
    let lines: String = (0..40)
        .map(|no| {
            let prompt = ["an answer", "please refuse", "a storm"][no % 3];
            crate::support::request(&format!("r-{no}"), &format!("{prompt} {no}"))
        })
        .collect();
    let input = place.write("in.jsonl", lines);
    let dir = place.text("run");
    let mut said: Vec<(String, Ended)> = Vec::new();
    let mut run = |args: &[&str]| {
        let ended = place.run(args);
        let code = ended.code;
        said.push((args.join(" "), ended));
        code
    };
    assert_eq!(run(&["run", &input, "--run-dir", &dir, "--json", "--cap", "1"]), 3);
    assert_eq!(run(&["run", &input, "--headless", "--cap", "1"]), 3);
    for args in [
        &["resume", &*dir, "--json"][..],
        &["export", &dir],
        &["export", &dir, "--with-meta"],
        &["export", &dir, "--format", "csv"],
        &["report", &dir],
        &["report", &dir, "--json"],
        &["status", &dir],
        &["runs"],
        &["config"],
        &["config", "--json"],
        &["run", &input, "--orgs", KEYS[0].2],
    ] {
        run(args);
    }
    place.config(&format!("[[orgs]]\nlabel = \"a\"\nkey-env = \"{}\"\n", KEYS[1].2));
    let pasted = place.run(&["config"]);
    assert_eq!(pasted.code, 2);
    said.push(("config".to_owned(), pasted));
    place.config("");
    let line = finished(&said[0].1);
    assert_eq!((&line["n_succeeded"], &line["n_invalid"]), (&27.into(), &13.into()), "{line}");
    for (args, ended) in &said {
        clean(&format!("stdout of {args}"), ended.stdout.as_bytes());
        clean(&format!("stderr of {args}"), ended.stderr.as_bytes());
    }
    let files = place.files();
    let named = |name: &str| files.iter().any(|(path, _)| path.to_string_lossy().ends_with(name));
    assert!(
        named("results.jsonl") && named("events.jsonl") && named("answers.sqlite") && named("run.log"),
        "{files:?}"
    );
    for (path, bytes) in &files {
        clean(&path.display().to_string(), bytes);
    }
    // The masks are there, so the API did repeat the keys.
    let journal = std::fs::read_to_string(place.path("run/results.jsonl")).unwrap();
    assert!(journal.contains("your key is [key]") && journal.contains("x-api-key [key]"));
}
