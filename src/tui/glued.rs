//! Keys that are none: what is left of a sequence of the terminal whose escape was taken for the key `Esc`.
//!
//! A paste, a report of the mouse and an arrow key begin with the byte that `Esc` sends. Where that byte comes alone (the
//! rest is in the next packet) or behind an `Esc` that was really pressed, crossterm gives out `Esc` and then the rest as
//! text: `[200~` and all that was pasted, or `[<0;30;12m`. Text must not act as keys, so what follows an `Esc` faster than
//! anybody types is passed over: to the end of the sequence, or of the paste.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tokio::time::Instant;

/// Longest pause within a sequence. A hand takes longer from one key to the next.
const WITHIN: Duration = Duration::from_millis(30);

/// A paste that pauses for so long is over: crossterm keeps the sequence at its end for itself.
const QUIET: Duration = Duration::from_millis(100);

/// Longest parameters of a sequence that is one.
const LONGEST: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Glued {
    state: State,
    last: Option<Instant>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Keys,
    /// `Esc` was the last key.
    Escaped,
    /// A sequence has begun; its parameters so far.
    Sequence(String),
    Paste,
}

impl Glued {
    /// Whether an event is to be passed over.
    pub(super) fn passes_over(&mut self, event: &Event, now: Instant) -> bool {
        let Event::Key(key) = event else { return false };
        let pause = self.last.replace(now).map_or(Duration::MAX, |last| now - last);
        let longest = if matches!(self.state, State::Paste) { QUIET } else { WITHIN };
        if pause > longest {
            self.state = State::Keys;
        }
        let (next, passed_over) = match (std::mem::take(&mut self.state), character(key)) {
            (State::Escaped, Some('[')) => (State::Sequence(String::new()), true),
            (State::Sequence(parameters), Some('~')) if parameters == "200" => (State::Paste, true),
            (State::Sequence(mut parameters), Some(c @ '\u{20}'..='\u{3f}')) if parameters.len() < LONGEST => {
                parameters.push(c);
                (State::Sequence(parameters), true)
            }
            (State::Sequence(_), Some('\u{40}'..='\u{7e}')) => (State::Keys, true),
            (State::Paste, _) if !is_interrupt(key) => (State::Paste, true),
            _ if key.code == KeyCode::Esc => (State::Escaped, false),
            _ => (State::Keys, false),
        };
        self.state = next;
        passed_over
    }
}

fn character(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    }
}

/// Ctrl-C means what it says, whatever is pasted.
fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::empty()))
    }

    /// The keys that are left of a text in which `␛` is `Esc` and `…` a pause of so many milliseconds.
    fn left(text: &str, pause_ms: u64) -> String {
        let (mut glued, mut now, mut left) = (Glued::default(), Instant::now(), String::new());
        for c in text.chars() {
            let event = match c {
                '…' => {
                    now += Duration::from_millis(pause_ms);
                    continue;
                }
                '␛' => key(KeyCode::Esc),
                c => key(KeyCode::Char(c)),
            };
            now += Duration::from_millis(1);
            if !glued.passes_over(&event, now) {
                left.push(c);
            }
        }
        left
    }

    #[test]
    fn a_paste_behind_an_escape_acts_as_no_key_until_it_is_over() {
        assert_eq!(left("␛[200~quit now␛[A s", 0), "␛");
        assert_eq!(left("␛…[200~q…s", 20), "␛", "a packet later");
        assert_eq!(left("␛[200~qs…j", 200), "␛j");
    }

    #[test]
    fn what_is_left_of_a_mouse_report_or_an_arrow_acts_as_no_key_and_the_next_key_does() {
        assert_eq!(left("␛[<0;30;12mj", 0), "␛j");
        assert_eq!(left("␛[Aj␛[1;5Bk", 0), "␛j␛k");
    }

    #[test]
    fn keys_that_are_typed_stay_keys() {
        assert_eq!(left("␛…[…2…[…q", 31), "␛[2[q");
        assert_eq!(left("␛q␛␛[j[200~", 0), "␛q␛␛[200~");
        assert_eq!(left("[200~q", 0), "[200~q", "nothing without an escape");
    }

    #[test]
    fn ctrl_c_interrupts_a_paste_and_no_event_but_keys_is_passed_over() {
        let (mut glued, now) = (Glued::default(), Instant::now());
        for c in ['␛', '[', '2', '0', '0', '~', 'q'] {
            glued.passes_over(&key(if c == '␛' { KeyCode::Esc } else { KeyCode::Char(c) }), now);
        }
        assert!(glued.passes_over(&key(KeyCode::Enter), now));
        assert!(!glued.passes_over(&Event::Resize(80, 24), now));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(!glued.passes_over(&Event::Key(interrupt), now));
        assert!(!glued.passes_over(&key(KeyCode::Char('q')), now), "the paste is given up");
    }

    #[test]
    fn a_sequence_that_never_ends_is_none() {
        let long = format!("␛[{}", "1".repeat(LONGEST + 2));
        assert_eq!(left(&long, 0), "␛11");
    }
}
