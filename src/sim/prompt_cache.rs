//! The prompt cache of an organisation: which prefixes it holds, and what a request reads from it and writes to it.

use std::collections::HashMap;
use std::time::Duration;

use super::answer::{Answer, BilledUsage, Prefixes, Tier};
use super::models::Model;
use crate::model::Usage;

const FIVE_MINUTES: Duration = Duration::from_secs(300);
const ONE_HOUR: Duration = Duration::from_secs(3_600);

/// How many blocks before a mark are looked up for an older entry.
const LOOK_BACK: usize = 20;

/// Entries above this are cleared of what has expired, so that a long simulation does not grow.
const SWEEP_ABOVE: usize = 10_000;

/// Prefixes that are held.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    entries: HashMap<u64, Entry>,
    sweep_at: usize,
}

/// A prefix, from the moment when the answer that wrote it began.
#[derive(Debug, Clone, Copy)]
struct Entry {
    from: Duration,
    until: Duration,
    ttl: Duration,
}

impl PromptCache {
    /// The usage of an answer to a prompt with these prefixes; what it writes can be read from `readable` on.
    pub(super) fn usage(
        &mut self,
        now: Duration,
        readable: Duration,
        prefixes: &Prefixes,
        model: &Model,
        answer: &Answer,
    ) -> BilledUsage {
        let least = model.min_cacheable();
        let read = self.read(now, prefixes, least);
        let mut usage = Usage { cache_read: u64::from(read), ..answer.without_input() };
        let mut held = read;
        for (identity, tokens, hour) in marked(prefixes).filter(|(_, tokens, _)| *tokens >= least) {
            if tokens > held {
                let written = if hour { &mut usage.cache_write_1h } else { &mut usage.cache_write_5m };
                *written += u64::from(tokens - held);
                held = tokens;
                self.write(now, readable, identity, hour);
            }
        }
        usage.input_tokens = answer.input_tokens.saturating_sub(u64::from(held));
        BilledUsage { tokens: usage, tier: Tier::Standard }
    }

    /// Tokens of the longest prefix that is held. Reading an entry renews it.
    fn read(&mut self, now: Duration, prefixes: &Prefixes, least: u32) -> u32 {
        for (at, _) in prefixes.marks.iter().rev() {
            let window = prefixes.blocks.get(at.saturating_sub(LOOK_BACK)..=*at).unwrap_or_default();
            for (identity, tokens) in window.iter().rev().filter(|(_, tokens)| *tokens >= least) {
                if let Some(entry) = self.entries.get_mut(identity)
                    && (entry.from..entry.until).contains(&now)
                {
                    entry.until = now + entry.ttl;
                    return *tokens;
                }
            }
        }
        0
    }

    fn write(&mut self, now: Duration, readable: Duration, identity: u64, hour: bool) {
        if self.entries.len() >= self.sweep_at.max(SWEEP_ABOVE) {
            self.entries.retain(|_, entry| now < entry.until);
            self.sweep_at = self.entries.len() * 2;
        }
        let ttl = if hour { ONE_HOUR } else { FIVE_MINUTES };
        // A prefix that several requests write at once is there from the first answer on.
        let from = match self.entries.get(&identity) {
            Some(entry) if now < entry.until => entry.from.min(readable),
            _ => readable,
        };
        self.entries.insert(identity, Entry { from, until: readable + ttl, ttl });
    }
}

/// The marked prefixes: identity, tokens, and whether for an hour.
fn marked(prefixes: &Prefixes) -> impl Iterator<Item = (u64, u32, bool)> + '_ {
    prefixes.marks.iter().filter_map(|(at, hour)| {
        let (identity, tokens) = prefixes.blocks.get(*at)?;
        Some((*identity, *tokens, *hour))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{answer_for, models};
    use super::*;
    use serde_json::{Value, json};

    fn request(system: &str, question: &str, ttl: &str) -> Value {
        json!({"model": "claude-haiku-4-5", "max_tokens": 64, "messages": [{"role": "user", "content": question}],
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral", "ttl": ttl}}]})
    }

    fn ask(cache: &mut PromptCache, at_s: u64, request: &Value) -> Usage {
        let model = models::find("claude-haiku-4-5").unwrap();
        let answer = answer_for(request.to_string().as_bytes()).unwrap();
        let prefixes = Prefixes::of(request, model).unwrap();
        let at = Duration::from_secs(at_s);
        let usage = cache.usage(at, at + Duration::from_secs(1), &prefixes, model, &answer).tokens;
        assert_eq!(usage.prompt_tokens(), answer.input_tokens, "every token is billed once");
        usage
    }

    #[test]
    fn a_prefix_is_written_once_and_read_until_it_expires() {
        let mut cache = PromptCache::default();
        let long = "You are a fair judge. ".repeat(1_000);
        let first = ask(&mut cache, 0, &request(&long, "one", "5m"));
        assert!(first.cache_write_5m > 4_096 && first.cache_read == 0, "{first:?}");
        let meanwhile = ask(&mut cache, 0, &request(&long, "two", "5m"));
        assert_eq!(meanwhile.cache_read, 0, "it is not there before the first answer");
        let second = ask(&mut cache, 200, &request(&long, "three", "5m"));
        assert_eq!((second.cache_read, second.cache_write_5m), (first.cache_write_5m, 0));
        assert!(ask(&mut cache, 499, &request(&long, "four", "5m")).cache_read > 0, "reading renews it");
        assert_eq!(ask(&mut cache, 900, &request(&long, "five", "5m")).cache_read, 0);
    }

    #[test]
    fn an_hour_is_billed_apart_and_a_short_prefix_is_not_cached() {
        let mut cache = PromptCache::default();
        let usage = ask(&mut cache, 0, &request(&"word ".repeat(5_000), "one", "1h"));
        assert!(usage.cache_write_1h > 0 && usage.cache_write_5m == 0);
        let short = ask(&mut cache, 0, &request("You are terse.", "one", "1h"));
        assert_eq!((short.cache_write_1h, short.cache_read), (0, 0));
    }

    #[test]
    fn a_growing_conversation_reads_what_was_cached_before() {
        let mut cache = PromptCache::default();
        let turn = |text: &str, mark: bool| {
            let control = if mark { json!({"type": "ephemeral"}) } else { Value::Null };
            json!({"role": "user", "content": [{"type": "text", "text": text.repeat(4_000), "cache_control": control}]})
        };
        let body = |turns: Vec<Value>| json!({"model": "claude-haiku-4-5", "max_tokens": 64, "messages": turns});
        let first = ask(&mut cache, 0, &body(vec![turn("first ", true)]));
        let second = ask(&mut cache, 10, &body(vec![turn("first ", false), turn("second ", true)]));
        assert_eq!(second.cache_read, first.cache_write_5m);
        assert!(second.cache_write_5m > 0);
    }
}
