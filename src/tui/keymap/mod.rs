//! Keys and what they mean where.

mod file;

use std::collections::HashMap;
use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::action::{Action, ActionInfo, Context, registry};

/// A key with its modifiers. For a printable key the shift is in the character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
}

impl Key {
    /// The key of a terminal's event; `None` for a release.
    pub fn of_event(event: &KeyEvent) -> Option<Key> {
        (event.kind != KeyEventKind::Release).then_some(Key {
            code: event.code,
            ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
            alt: event.modifiers.contains(KeyModifiers::ALT),
        })
    }

    /// The event of a terminal that reports it.
    #[cfg(test)]
    pub(super) fn event(self) -> KeyEvent {
        let modifier = |on, modifier| if on { modifier } else { KeyModifiers::empty() };
        KeyEvent::new(self.code, modifier(self.ctrl, KeyModifiers::CONTROL) | modifier(self.alt, KeyModifiers::ALT))
    }

    /// A key as keymaps write it: `q`, `L`, `space`, `f1`, `ctrl-c`, `alt-x`, `pageup`. `None` when there is no such key.
    pub fn parse(text: &str) -> Option<Key> {
        let (mut ctrl, mut alt, mut rest) = (false, false, text);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|after| !after.is_empty()) {
                (ctrl, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|after| !after.is_empty()) {
                (alt, rest) = (true, after);
            } else {
                break;
            }
        }
        Some(Key { code: code(rest)?, ctrl, alt })
    }

    /// The character that this key types into a text field.
    pub fn text(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// Whether it deletes the last character of a text field.
    pub fn erases(self) -> bool {
        self.code == KeyCode::Backspace
    }
}

fn code(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return Some(KeyCode::Char(only));
    }
    if let Some(number) = name.strip_prefix('f').and_then(|n| n.parse::<u8>().ok()) {
        return (1..=24).contains(&number).then_some(KeyCode::F(number));
    }
    NAMED.iter().find(|(known, _, _)| *known == name).map(|(_, code, _)| *code)
}

/// Keys with names: in keymaps, for the terminal, and on the screen.
const NAMED: &[(&str, KeyCode, &str)] = &[
    ("space", KeyCode::Char(' '), "space"),
    ("enter", KeyCode::Enter, "Enter"),
    ("esc", KeyCode::Esc, "Esc"),
    ("tab", KeyCode::Tab, "Tab"),
    ("backtab", KeyCode::BackTab, "Shift-Tab"),
    ("up", KeyCode::Up, "↑"),
    ("down", KeyCode::Down, "↓"),
    ("left", KeyCode::Left, "←"),
    ("right", KeyCode::Right, "→"),
    ("pageup", KeyCode::PageUp, "PgUp"),
    ("pagedown", KeyCode::PageDown, "PgDn"),
    ("home", KeyCode::Home, "Home"),
    ("end", KeyCode::End, "End"),
    ("backspace", KeyCode::Backspace, "Backspace"),
    ("delete", KeyCode::Delete, "Del"),
    ("insert", KeyCode::Insert, "Ins"),
];

/// As the screen shows it: `Ctrl-C`, `Esc`, `↓`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if self.ctrl {
            text.push_str("Ctrl-");
        }
        if self.alt {
            text.push_str("Alt-");
        }
        match (NAMED.iter().find(|(_, code, _)| *code == self.code), self.code) {
            (Some((_, _, shown)), _) => text.push_str(shown),
            (None, KeyCode::Char(c)) if self.ctrl => text.extend(c.to_uppercase()),
            (None, KeyCode::Char(c)) => text.push(c),
            (None, KeyCode::F(n)) => text.push_str(&format!("F{n}")),
            (None, _) => text.push('?'),
        }
        f.pad(&text)
    }
}

/// Which key does what in which context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    by_key: HashMap<(Context, Key), Action>,
    /// Keys of an action, the one that is shown first.
    by_action: HashMap<Action, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Keymap {
        let keys = |info: &ActionInfo| info.keys.iter().filter_map(|name| Key::parse(name)).collect();
        Keymap::of(registry().map(|info| (info.action, keys(info))).collect())
    }
}

impl Keymap {
    /// From the keys of each action.
    fn of(by_action: HashMap<Action, Vec<Key>>) -> Keymap {
        let mut by_key = HashMap::new();
        for info in registry() {
            for key in by_action.get(&info.action).into_iter().flatten() {
                // Where keys are text, those that type something do nothing else.
                for context in info.contexts.iter().filter(|context| !context.takes_text() || key.text().is_none()) {
                    by_key.insert((*context, *key), info.action);
                }
            }
        }
        Keymap { by_key, by_action }
    }
}

impl Keymap {
    /// What a key means in a context.
    pub fn action(&self, context: Context, key: Key) -> Option<Action> {
        self.by_key.get(&(context, key)).copied()
    }

    /// The keys of an action, the one that is shown first.
    pub fn keys(&self, action: Action) -> &[Key] {
        self.by_action.get(&action).map_or(&[], Vec::as_slice)
    }

    /// The key of an action that hints name; empty when it has none.
    pub fn hint(&self, action: Action) -> String {
        self.keys(action).first().map(Key::to_string).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_key_is_a_key_and_means_one_thing_in_a_context() {
        let keymap = Keymap::default();
        let mut seen = HashMap::new();
        for info in registry() {
            for name in info.keys {
                let key = Key::parse(name).unwrap_or_else(|| panic!("{name} is no key"));
                for context in info.contexts {
                    let before = seen.insert((*context, key), info.name);
                    assert_eq!(before, None, "{name} in {context:?}");
                    assert_eq!(keymap.action(*context, key), Some(info.action));
                }
            }
        }
    }

    #[test]
    fn text_fields_bind_no_printable_key() {
        for info in registry().filter(|info| info.contexts.contains(&Context::Field)) {
            for key in Keymap::default().keys(info.action) {
                assert_eq!(key.text(), None, "{}", info.name);
            }
        }
    }

    #[test]
    fn keys_are_shown_as_people_write_them() {
        for (name, shown) in
            [("ctrl-c", "Ctrl-C"), ("?", "?"), ("f1", "F1"), ("down", "↓"), ("space", "space"), ("-", "-"), ("L", "L")]
        {
            assert_eq!(Key::parse(name).unwrap().to_string(), shown);
        }
        assert_eq!(Key::parse("f99"), None);
        assert_eq!(Key::parse("nonsense"), None);
        assert_eq!(Key::parse(""), None);
    }

    #[test]
    fn arrows_and_hjkl_both_work() {
        let keymap = Keymap::default();
        for (letter, arrow) in [("h", "left"), ("j", "down"), ("k", "up"), ("l", "right")] {
            let of = |name| keymap.action(Context::Live, Key::parse(name).unwrap());
            assert_eq!(of(letter), of(arrow));
            assert!(of(letter).is_some());
        }
    }
}
