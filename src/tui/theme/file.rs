//! Theme files: each key is a meaning, each value a style in words.

use std::path::Path;

use ratatui::style::{Color, Modifier, Style};

use super::Theme;
use crate::model::suggest;
use crate::tui::file::{Entry, File, FileError};

/// The parts of the bar of outcomes, in their order.
const OUTCOMES: [&str; 7] = ["cached", "succeeded", "refused", "invalid", "re-driving", "in-flight", "unsent"];

/// The colours that every terminal has.
const COLOURS: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
];

const MODIFIERS: [(&str, Modifier); 4] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// The place of each meaning in a theme.
fn styles(theme: &mut Theme) -> [(&'static str, &mut Style); 14] {
    [
        ("text", &mut theme.text),
        ("dim", &mut theme.dim),
        ("strong", &mut theme.strong),
        ("frame", &mut theme.frame),
        ("selected", &mut theme.selected),
        ("good", &mut theme.good),
        ("warn", &mut theme.warn),
        ("bad", &mut theme.bad),
        ("info", &mut theme.info),
        ("banner-warn", &mut theme.banner_warn),
        ("banner-bad", &mut theme.banner_bad),
        ("banner-good", &mut theme.banner_good),
        ("key", &mut theme.key),
        ("focus", &mut theme.focus),
    ]
}

/// Reads a theme. Every meaning has to be there: half a theme would be half of another one.
///
/// # Errors
/// File, line and hint.
pub(super) fn parse(path: &Path, text: &str) -> Result<Theme, FileError> {
    let file = File { path, text };
    let mut theme = Theme::default();
    let mut missing: Vec<&str> = styles(&mut theme).iter().map(|(name, _)| *name).chain(OUTCOMES).collect();
    for entry in file.entries()? {
        let style = style(&file, &entry)?;
        let known: Vec<&str> = match entry.table.as_str() {
            "" => styles(&mut theme).iter().map(|(name, _)| *name).collect(),
            "outcomes" => OUTCOMES.to_vec(),
            other => return Err(file.error(entry.line, format!("unknown table [{other}]: the only one is [outcomes]"))),
        };
        let Some(at) = known.iter().position(|name| *name == entry.key) else {
            return Err(
                file.error(entry.line, format!("unknown key {}: {}", entry.key, suggest::hint(&entry.key, &known)))
            );
        };
        missing.retain(|name| *name != entry.key);
        match entry.table.is_empty() {
            true => {
                if let Some((_, place)) = styles(&mut theme).into_iter().nth(at) {
                    *place = style;
                }
            }
            false => {
                if let Some(place) = theme.outcomes.get_mut(at) {
                    *place = style;
                }
            }
        }
    }
    match missing.first() {
        Some(name) => Err(file.error(0, format!("{name} is missing: a theme names every style"))),
        None => Ok(theme),
    }
}

/// `black on light-red bold`.
fn style(file: &File<'_>, entry: &Entry) -> Result<Style, FileError> {
    let [text] = entry.values.as_slice() else {
        return Err(file.error(entry.line, format!("{} has to be one text, such as \"cyan bold\"", entry.key)));
    };
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "on" {
            let colour = words.next().unwrap_or_default();
            style = style.bg(named(file, entry, colour)?);
        } else if let Some((_, modifier)) = MODIFIERS.iter().find(|(name, _)| *name == word) {
            style = style.add_modifier(*modifier);
        } else {
            style = style.fg(named(file, entry, word)?);
        }
    }
    Ok(style)
}

fn named(file: &File<'_>, entry: &Entry, word: &str) -> Result<Color, FileError> {
    let found = COLOURS.iter().find(|(name, _)| *name == word).map(|(_, colour)| *colour);
    found.ok_or_else(|| {
        let known: Vec<&str> =
            COLOURS.iter().map(|(name, _)| *name).chain(MODIFIERS.iter().map(|(name, _)| *name)).collect();
        file.error(entry.line, format!("{}: unknown style {word:?}: {}", entry.key, suggest::hint(word, &known)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::ThemeName;
    use super::*;

    #[test]
    fn every_built_in_theme_is_whole() {
        for name in ThemeName::ALL {
            let read = parse(Path::new(name.as_str()), name.text());
            assert_eq!(read.map(|theme| theme == Theme::of(name)), Ok(true), "{name:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_file_line_and_hint() {
        let dark = ThemeName::Dark.text();
        for (from, to, said) in [
            ("warn = \"yellow\"", "warm = \"yellow\"", "my.toml:14: unknown key warm: did you mean warn?"),
            (
                "warn = \"yellow\"",
                "warn = \"yelow\"",
                "my.toml:14: warn: unknown style \"yelow\": did you mean yellow?",
            ),
            ("warn = \"yellow\"", "", "my.toml: warn is missing"),
            ("[outcomes]", "[outcome]", "unknown table [outcome]: the only one is [outcomes]"),
            ("warn = \"yellow\"", "warn = [\"yellow\", \"bold\"]", "warn has to be one text"),
            ("warn = \"yellow\"", "warn = \"black on\"", "unknown style \"\""),
        ] {
            assert!(dark.contains(from));
            let error = parse(Path::new("my.toml"), &dark.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
