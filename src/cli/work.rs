//! What is to be sent, as a plan sees it: how many requests of which kind an input has left, and how large they are likely to be.

use std::collections::HashMap;

use crate::catalog::Catalog;
use crate::model::{RequestNo, Terms};
use crate::plan::{Figure, Group, Origin, Tokens};
use crate::requests::Input;
use crate::store::Last;

/// Bytes of a request's JSON to an input token: English text with its JSON around it has about four. Models since 4.7
/// make about a third more tokens of the same text.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Low and high ends of that, as shares of the middle.
const INPUT_INTERVAL: (f64, f64) = (0.75, 1.5);

/// What is to be sent.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Requests in all.
    pub n_total: u64,
    /// Of them: answered already.
    pub n_done: u64,
    /// What is left, by model, speed and place, and by the length of its prompt where prices depend on it.
    pub groups: Vec<Group>,
    /// Bytes of a request that is left, in the mean.
    pub bytes: Option<f64>,
    /// The model of its first request, which names one also when nothing is left.
    pub first_model: Option<String>,
    /// SHA-256 of the input.
    pub sha256: Option<String>,
}

/// What a group is made from.
#[derive(Default)]
struct Sums {
    n: u64,
    bytes: u64,
    output: [u64; 3],
    searches: u64,
}

impl Work {
    /// So many requests of a model, of which nothing else is known.
    pub(crate) fn of_number(n: u64) -> Work {
        Work { n_total: n, ..Work::default() }
    }

    /// What is left of an input.
    pub(crate) fn of_input(input: &Input, last: &[Last], catalog: &Catalog) -> Work {
        let mut sums: HashMap<(&str, bool, Terms), Sums> = HashMap::new();
        let mut known: HashMap<&str, (Option<u64>, [u64; 3])> = HashMap::new();
        let mut work = Work {
            n_total: u64::from(input.len()),
            first_model: input.models().first().map(|used| used.model.clone()),
            sha256: Some(input.sha256().to_owned()),
            ..Work::default()
        };
        let (mut n, mut bytes) = (0_u64, 0_u64);
        for no in (0..input.len()).map(RequestNo) {
            if !matches!(last.get(no.ix()), Some(Last::Unsent | Last::ReDrivable)) {
                work.n_done += 1;
                continue;
            }
            let model = input.model_of(no);
            let (long, output) = *known.entry(model).or_insert_with(|| facts(model, catalog));
            let len = u64::from(input.len_of(no));
            let is_long = long.is_some_and(|above| len as f64 / BYTES_PER_TOKEN > above as f64);
            let extras = input.extras_of(no);
            let sum = sums.entry((model, is_long, extras.terms())).or_default();
            sum.searches += extras.searches();
            let limit = u64::from(input.max_tokens_of(no));
            sum.n += 1;
            sum.bytes += len;
            // At the worst an answer is as long as it may be.
            for (sum, tokens) in sum.output.iter_mut().zip([output[0], output[1], u64::MAX]) {
                *sum += tokens.min(limit);
            }
            n += 1;
            bytes += len;
        }
        work.bytes = (n > 0).then(|| bytes as f64 / n as f64);
        work.groups = sums.into_iter().map(|((model, _, terms), sums)| group(model, terms, &sums)).collect();
        work.groups.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.model.cmp(&b.model)));
        work
    }

    /// The model of most of what is left; of an input that has nothing left, its first one.
    pub(crate) fn model(&self) -> Option<&str> {
        self.groups.first().map(|group| &group.model).or(self.first_model.as_ref()).map(String::as_str)
    }
}

/// From how many tokens on a model prices a prompt as a long one, and how long its answers are assumed to be.
fn facts(model: &str, catalog: &Catalog) -> (Option<u64>, [u64; 3]) {
    let (low, mid, high) = catalog.prior(catalog.family(model)).tokens_out;
    let above = catalog.card(model).and_then(|card| card.long_prompt).map(|long| long.above_tokens);
    (above, [low, mid, high].map(|tokens| tokens as u64))
}

fn group(model: &str, terms: Terms, sums: &Sums) -> Group {
    let n = sums.n.max(1) as f64;
    let input = sums.bytes as f64 / n / BYTES_PER_TOKEN;
    let how = Origin::Estimated { how: "a token every 4 bytes of the request".to_owned() };
    let [low, mid, high] = sums.output.map(|sum| sum as f64 / n);
    let origin = Origin::assumed("answers of judge runs, at most max_tokens");
    let tokens = Tokens::plain(Figure::around(input, INPUT_INTERVAL, how), Figure { low, mid, high, origin });
    Group { terms, searches: sums.searches, ..Group::plain(model, sums.n, tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_planned_by_the_speed_and_place_that_they_ask_for() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("in.jsonl");
        let search = r#""tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}],"#;
        let more = ["", r#""speed":"fast","#, search, r#""speed":"fast","inference_geo":"us","#, ""];
        let line = |(no, more): (usize, &str)| {
            format!(
                r#"{{"custom_id":"r-{no}","params":{{{more}"model":"claude-opus-5-5","max_tokens":9,"messages":[{{"role":"user","content":"x"}}]}}}}"#
            )
        };
        std::fs::write(&path, more.into_iter().enumerate().map(line).collect::<Vec<_>>().join("\n")).unwrap();
        let input = Input::index(&path, &mut |_| {}).unwrap();
        let last = vec![Last::Unsent; 5];
        let mut work = Work::of_input(&input, &last, &Catalog::builtin());
        work.groups.sort_by_key(|group| group.terms);
        let groups: Vec<_> = work.groups.iter().map(|group| (group.terms, group.n, group.searches)).collect();
        let on = |fast, us_inference| Terms { fast, us_inference };
        assert_eq!(groups, [(on(false, false), 3, 2), (on(true, false), 1, 0), (on(true, true), 1, 0)]);
    }
}
