//! The body of a create, made from the input while it is sent.

use bytes::{Bytes, BytesMut};

use crate::api::batches::Feeder;
use crate::model::RequestNo;
use crate::requests::{Input, ReadError};

/// What is handed to the sender at once.
const BLOCK: usize = 256 << 10;

const HEAD: &[u8] = b"{\"requests\":[";
const TAIL: &[u8] = b"]}";

/// The id of a request at the API: ours, so that any id of the user's works. `^[a-zA-Z0-9_-]{1,64}$`, as the nonce has at most
/// 16 characters.
pub(super) fn wire_id(nonce: &str, no: RequestNo) -> String {
    format!("{nonce}-{}", no.0)
}

/// The request that a wire id names; `None` when it is not one of this run.
pub(super) fn request_of(nonce: &str, id: &str) -> Option<RequestNo> {
    let digits = id.strip_prefix(nonce)?.strip_prefix('-')?;
    let canonical = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if canonical { digits.parse().ok().map(RequestNo) } else { None }
}

fn push_row(out: &mut BytesMut, nonce: &str, no: RequestNo, params: &[u8], first: bool) {
    if !first {
        out.extend_from_slice(b",");
    }
    out.extend_from_slice(b"{\"custom_id\":\"");
    out.extend_from_slice(wire_id(nonce, no).as_bytes());
    out.extend_from_slice(b"\",\"params\":");
    out.extend_from_slice(params);
    out.extend_from_slice(b"}");
}

/// Length of the body. Reads every request once, so that an input that was edited is noticed before anything is sent.
pub(super) fn len(input: &Input, nonce: &str, members: &[RequestNo]) -> Result<u64, ReadError> {
    let mut len = (HEAD.len() + TAIL.len()) as u64;
    let mut row = BytesMut::new();
    for (at, no) in members.iter().enumerate() {
        row.clear();
        push_row(&mut row, nonce, *no, &[], at == 0);
        len += (row.len() + input.read(*no)?.body.len()) as u64;
    }
    Ok(len)
}

/// Makes the body, block by block; a few of them are in memory. Ends early when nobody sends any more.
pub(super) fn feed(input: &Input, nonce: &str, members: &[RequestNo], feeder: Feeder) -> Result<(), ReadError> {
    let mut block = BytesMut::with_capacity(BLOCK + BLOCK / 4);
    block.extend_from_slice(HEAD);
    for (at, no) in members.iter().enumerate() {
        push_row(&mut block, nonce, *no, &input.read(*no)?.body, at == 0);
        if block.len() >= BLOCK {
            if !feeder.push(block.split().freeze()) {
                return Ok(());
            }
            block.reserve(BLOCK + BLOCK / 4);
        }
    }
    block.extend_from_slice(TAIL);
    if feeder.push(Bytes::from(block)) {
        feeder.finish();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::batches::upload;

    fn input(dir: &std::path::Path, ids: &[&str]) -> Input {
        let path = dir.join("input.jsonl");
        let line = |id: &&str| {
            format!(
                r#"{{ "custom_id":{}, "params":{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":"{}"}}]}} }}"#,
                serde_json::to_string(id).unwrap(),
                "x".repeat(100_000)
            )
        };
        std::fs::write(&path, ids.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap();
        Input::index(&path, &mut |_| {}).unwrap()
    }

    #[tokio::test]
    async fn b1_any_id_of_the_users_goes_out_under_one_of_ours_and_the_length_is_exact() {
        let dir = tempfile::tempdir().unwrap();
        let long = "é".repeat(65);
        let input = input(dir.path(), &["a b", &long, "", "d"]);
        let members = [RequestNo(0), RequestNo(1), RequestNo(2)];
        let promised = len(&input, "k3x9", &members).unwrap();
        let (feeder, body) = upload(promised);
        let feeding = std::thread::spawn(move || feed(&input, "k3x9", &members, feeder).unwrap());
        let body = body.collect().await.unwrap();
        feeding.join().unwrap();
        assert_eq!(body.len() as u64, promised);
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let rows = value["requests"].as_array().unwrap();
        let ids: Vec<&str> = rows.iter().map(|row| row["custom_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["k3x9-0", "k3x9-1", "k3x9-2"]);
        assert_eq!(rows[1]["params"]["max_tokens"], 1);
        // What splitting reckons with is never less than what is sent.
        let rows_bound: u64 = members.iter().map(|_| 100_000 + 250).sum();
        assert!(promised < rows_bound);
    }

    #[test]
    fn an_input_that_was_edited_is_noticed_before_anything_is_sent() {
        let dir = tempfile::tempdir().unwrap();
        let input = input(dir.path(), &["a"]);
        let path = dir.path().join("input.jsonl");
        let text = std::fs::read_to_string(&path).unwrap().replace("xxx", "yyy");
        std::fs::write(&path, text).unwrap();
        assert!(len(&input, "n", &[RequestNo(0)]).is_err());
    }

    #[test]
    fn a_wire_id_leads_back_to_its_request_and_no_other_text_does() {
        for no in [0, 7, 10, u32::MAX] {
            assert_eq!(request_of("k3x9", &wire_id("k3x9", RequestNo(no))), Some(RequestNo(no)));
        }
        for id in ["", "k3x9", "k3x9-", "k3x9-07", "k3x9-+7", "k3x9-4294967296", "other-7", "k3x9-7 ", "K3X9-7"] {
            assert_eq!(request_of("k3x9", id), None, "{id:?}");
        }
        assert!(wire_id(&"z".repeat(16), RequestNo(u32::MAX)).len() <= 64);
    }
}
