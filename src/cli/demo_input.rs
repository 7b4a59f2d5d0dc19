//! The requests of the demo: short judgements, each with its own case.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;

const QUESTIONS: [&str; 6] = [
    "How long does a parcel to Lisbon take?",
    "Can I pay an invoice in two instalments?",
    "Why was my account locked last night?",
    "Which plan includes single sign-on?",
    "How do I export my data before I leave?",
    "Is the battery covered by the warranty?",
];

const ANSWERS: [&str; 5] = [
    "Usually three to five working days; you will get a tracking link by mail.",
    "Yes. Choose \"split payment\" at checkout, or write to billing before the due date.",
    "Our system saw five wrong passwords. You can unlock it with the link that we have sent you.",
    "I am not sure. Please ask somebody else.",
    "It is in the settings, under data. The file is ready after a few minutes and stays for a week.",
];

/// Writes `n` requests.
pub(crate) fn write(path: &Path, n: u32) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for no in 0..n {
        let (question, answer) = (QUESTIONS[no as usize % QUESTIONS.len()], ANSWERS[(no / 7) as usize % ANSWERS.len()]);
        let prompt = format!(
            "Case {no}. A customer asked: \"{question}\" The support agent answered: \"{answer}\" Grade the answer from 1 \
             (useless) to 5 (complete, correct and polite). Reply as JSON with the fields score and reason."
        );
        let request = json!({
            "custom_id": format!("case-{no:05}"),
            "params": {
                "model": "claude-haiku-4-5",
                "max_tokens": 128,
                "system": "You are a strict and fair judge of customer support answers.",
                "messages": [{"role": "user", "content": prompt}],
            },
        });
        writeln!(out, "{request}")?;
    }
    out.flush()
}
