//! Keymap files: each key is the name of an action, each value the keys that mean it, in place of the default ones.

use std::collections::HashMap;
use std::path::Path;

use super::{Key, Keymap, NAMED};
use crate::model::suggest;
use crate::tui::action::{Action, Context, by_name, info, registry};
use crate::tui::file::{File, FileError, read};

/// The built-in keymaps besides the defaults.
const VIM: &str = include_str!("../../../assets/keymaps/vim.toml");

/// Actions that always need a key: without them nobody could leave, or find out how.
const ALWAYS: [Action; 3] = [Action::Interrupt, Action::Quit, Action::Help];

impl Keymap {
    /// A built-in keymap, or the defaults with what a file changes.
    ///
    /// # Errors
    /// The file cannot be read, or is no keymap.
    pub fn load(name_or_file: &str) -> Result<Keymap, FileError> {
        match name_or_file {
            "default" => Ok(Keymap::default()),
            "vim" => parse(Path::new("vim"), VIM),
            file => parse(Path::new(file), &read(Path::new(file))?),
        }
    }
}

/// The keys of each action by default.
fn defaults() -> HashMap<Action, Vec<Key>> {
    registry().map(|info| (info.action, info.keys.iter().filter_map(|name| Key::parse(name)).collect())).collect()
}

/// Reads a keymap.
///
/// # Errors
/// File, line and hint.
fn parse(path: &Path, text: &str) -> Result<Keymap, FileError> {
    let file = File { path, text };
    let mut keys = defaults();
    let mut lines: HashMap<Action, usize> = HashMap::new();
    for entry in file.entries()? {
        if !entry.table.is_empty() {
            let what = format!("unknown table [{}]: a keymap has none, only action = [\"key\", …]", entry.table);
            return Err(file.error(entry.line, what));
        }
        let Some(action) = by_name(&entry.key) else {
            let known: Vec<&str> = registry().map(|info| info.name).collect();
            let what = format!("unknown action {}: {}", entry.key, suggest::hint(&entry.key, &known));
            return Err(file.error(entry.line, what));
        };
        let mut own = Vec::new();
        for name in &entry.values {
            own.push(Key::parse(name).ok_or_else(|| file.error(entry.line, unknown_key(name)))?);
        }
        if own.is_empty() && ALWAYS.contains(&action) {
            return Err(file.error(entry.line, format!("{} needs a key", entry.key)));
        }
        if types_only(action, &own) {
            let what = format!("{} works in a text field, where such a key is text: add another one", entry.key);
            return Err(file.error(entry.line, what));
        }
        keys.insert(action, own);
        lines.insert(action, entry.line);
    }
    refuse_duplicates(&file, &keys, &lines)?;
    Ok(Keymap::of(keys))
}

fn unknown_key(name: &str) -> String {
    let known: Vec<&str> = NAMED.iter().map(|(name, _, _)| *name).collect();
    match suggest::hint(name, &known) {
        hint if hint.starts_with("did") => format!("unknown key {name:?}: {hint}"),
        _ => format!("unknown key {name:?}: keys are written as q, L, ctrl-c, alt-x, f1, {}", known.join(", ")),
    }
}

/// Whether an action of text fields would have keys that only type there.
fn types_only(action: Action, keys: &[Key]) -> bool {
    let in_fields = info(action).is_some_and(|info| info.contexts.contains(&Context::Field));
    in_fields && !keys.is_empty() && keys.iter().all(|key| key.text().is_some())
}

/// A key means one thing in a place. The blame is on the line of the file.
fn refuse_duplicates(
    file: &File<'_>,
    keys: &HashMap<Action, Vec<Key>>,
    lines: &HashMap<Action, usize>,
) -> Result<(), FileError> {
    let mut seen: HashMap<(Context, Key), Action> = HashMap::new();
    for info in registry() {
        for (context, key) in
            info.contexts.iter().flat_map(|context| keys[&info.action].iter().map(move |key| (*context, *key)))
        {
            let Some(other) = seen.insert((context, key), info.action).filter(|other| *other != info.action) else {
                continue;
            };
            let line = |action| lines.get(&action).copied().unwrap_or(0);
            let name = |action| crate::tui::action::info(action).map_or("", |info| info.name);
            let (blamed, other) =
                if line(info.action) >= line(other) { (info.action, other) } else { (other, info.action) };
            let what = format!(
                "{key} means {} and also {} ({}): give one of them another key",
                name(blamed),
                name(other),
                context.as_str()
            );
            return Err(file.error(line(blamed), what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Keymap, String> {
        parse(Path::new("my.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_file_of_the_defaults_says_what_the_registry_says() {
        let wanted: String = registry()
            .map(|info| {
                let keys: Vec<String> = info.keys.iter().map(|key| format!("{key:?}")).collect();
                let places: Vec<&str> = info.contexts.iter().map(|context| context.as_str()).collect();
                let places = if info.contexts == Context::ALL { "everywhere".to_owned() } else { places.join(", ") };
                format!("\n# {}; {places}\n{} = [{}]\n", info.help, info.name, keys.join(", "))
            })
            .collect();
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/keymaps/default.toml");
        let head = "# The default keys. A file of your own names only what it changes: keymap = \"my-keys.toml\" under [screen].\n";
        let wanted = format!("{head}{wanted}");
        if std::env::var_os("UPDATE_KEYMAP").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert_eq!(file, wanted, "UPDATE_KEYMAP=1 cargo test writes it anew");
        assert_eq!(parsed(&file), Ok(Keymap::default()));
    }

    #[test]
    fn the_readme_has_the_keys_of_the_registry() {
        let mut table = "| keys | action | where | what it does |\n|---|---|---|---|\n".to_owned();
        for info in registry() {
            let keys: Vec<String> = info.keys.iter().map(|key| format!("`{key}`").replace("`|`", "`\\|`")).collect();
            let places: Vec<&str> = info.contexts.iter().map(|context| context.as_str()).collect();
            let places = match info.contexts {
                contexts if contexts == Context::ALL => "everywhere".to_owned(),
                contexts if contexts == Context::SCREENS => "every screen".to_owned(),
                _ => places.join(", "),
            };
            table.push_str(&format!("| {} | `{}` | {places} | {} |\n", keys.join(" "), info.name, info.help));
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        let readme = std::fs::read_to_string(path).unwrap();
        let (head, rest) = readme.split_once("<!-- keys -->\n").unwrap();
        let (_, tail) = rest.split_once("<!-- end of keys -->\n").unwrap();
        let wanted = format!("{head}<!-- keys -->\n{table}<!-- end of keys -->\n{tail}");
        if std::env::var_os("UPDATE_KEYMAP").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        assert!(std::fs::read_to_string(path).unwrap() == wanted, "UPDATE_KEYMAP=1 cargo test writes the table anew");
    }

    #[test]
    fn the_vim_keys_are_a_keymap() {
        let vim = Keymap::load("vim").unwrap();
        let means = |key| vim.action(Context::Runs, Key::parse(key).unwrap());
        assert_eq!(means("ctrl-d"), Some(Action::PageDown));
        assert_eq!(means("j"), Some(Action::MoveDown));
    }

    #[test]
    fn a_file_changes_only_what_it_names() {
        let keymap = parsed("pause-run = [\"P\"]\nlog-size = []\n").unwrap();
        assert_eq!(keymap.action(Context::Live, Key::parse("P").unwrap()), Some(Action::PauseRun));
        assert_eq!(keymap.action(Context::Live, Key::parse("space").unwrap()), None);
        assert_eq!(keymap.keys(Action::LogSize), []);
        assert_eq!(keymap.hint(Action::Quit), "q");
        // One key needs no list.
        assert_eq!(parsed("pause-run = \"P\"\nlog-size = []\n"), Ok(keymap));
    }

    #[test]
    fn what_is_wrong_is_named_with_file_line_and_hint() {
        for (text, said) in [
            ("\npuase-run = [\"P\"]\n", "my.toml:2: unknown action puase-run: did you mean pause-run?"),
            ("pause-run = [\"pagedwn\"]\n", "my.toml:1: unknown key \"pagedwn\": did you mean pagedown?"),
            ("pause-run = [\"nonsense\"]\n", "keys are written as q, L, ctrl-c"),
            (
                "pause-org = [\"r\"]\n",
                "my.toml:1: r means pause-org and also revive-org (live): give one of them another key",
            ),
            ("interrupt = []\n", "my.toml:1: interrupt needs a key"),
            ("keep-text = [\"x\"]\n", "my.toml:1: keep-text works in a text field"),
            ("[live]\nquit = [\"q\"]\n", "my.toml:2: unknown table [live]"),
            ("quit = 3\n", "my.toml:1: quit has to be a text or a list of texts"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
