//! How things look. A theme only adds to what words and glyphs say already: the mono theme loses nothing but colour.

mod file;

use std::path::Path;
use std::sync::LazyLock;

use ratatui::style::Style;

use super::file::FileError;

/// The built-in themes. The background is the terminal's own in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeName {
    /// For a dark background; the sixteen colours only.
    #[default]
    Dark,
    /// For a light background; the sixteen colours only.
    Light,
    /// Bright colours and bold text.
    HighContrast,
    /// No colour at all: bold, dim, underlined and reversed.
    Mono,
}

impl ThemeName {
    /// All of them.
    pub const ALL: [ThemeName; 4] = [ThemeName::Dark, ThemeName::Light, ThemeName::HighContrast, ThemeName::Mono];

    /// The name that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            ThemeName::Dark => "dark",
            ThemeName::Light => "light",
            ThemeName::HighContrast => "high-contrast",
            ThemeName::Mono => "mono",
        }
    }

    /// The theme of a name.
    pub fn parse(name: &str) -> Option<ThemeName> {
        ThemeName::ALL.into_iter().find(|theme| theme.as_str() == name)
    }

    /// Its file.
    fn text(self) -> &'static str {
        match self {
            ThemeName::Dark => include_str!("../../../assets/themes/dark.toml"),
            ThemeName::Light => include_str!("../../../assets/themes/light.toml"),
            ThemeName::HighContrast => include_str!("../../../assets/themes/high-contrast.toml"),
            ThemeName::Mono => include_str!("../../../assets/themes/mono.toml"),
        }
    }
}

/// The built-in themes, read once; a test makes sure that all can be read.
static BUILT_IN: LazyLock<Vec<Theme>> = LazyLock::new(|| {
    let read = |name: ThemeName| file::parse(Path::new(name.as_str()), name.text()).unwrap_or_default();
    ThemeName::ALL.into_iter().map(read).collect()
});

/// Styles by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// Names of figures, and what matters less.
    pub dim: Style,
    /// Figures and names that the eye should find.
    pub strong: Style,
    /// Frames.
    pub frame: Style,
    /// The frame and the mark of what is selected.
    pub selected: Style,
    /// All is well.
    pub good: Style,
    /// Something gives way or waits.
    pub warn: Style,
    /// Something needs the operator.
    pub bad: Style,
    /// In between: growing, probing, asked.
    pub info: Style,
    /// A line across the screen about something that waits.
    pub banner_warn: Style,
    /// A line across the screen about something that needs the operator.
    pub banner_bad: Style,
    /// A line across the screen that all is well.
    pub banner_good: Style,
    /// A key in the key bar.
    pub key: Style,
    /// The button that has the focus.
    pub focus: Style,
    /// Parts of the bar of outcomes: cached, succeeded, refused, invalid, re-driving, in flight, unsent.
    pub outcomes: [Style; 7],
}

impl Theme {
    /// The theme of a name.
    pub fn of(name: ThemeName) -> Theme {
        let at = ThemeName::ALL.iter().position(|known| *known == name);
        at.and_then(|at| BUILT_IN.get(at)).copied().unwrap_or_default()
    }

    /// A built-in theme, or that of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no theme.
    pub fn load(name_or_file: &str) -> Result<Theme, FileError> {
        match ThemeName::parse(name_or_file) {
            Some(name) => Ok(Theme::of(name)),
            None => {
                let path = Path::new(name_or_file);
                file::parse(path, &super::file::read(path)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Color;

    fn styles(theme: &Theme) -> Vec<Style> {
        let mut all = vec![
            theme.text,
            theme.dim,
            theme.strong,
            theme.frame,
            theme.selected,
            theme.good,
            theme.warn,
            theme.bad,
            theme.info,
            theme.banner_warn,
            theme.banner_bad,
            theme.banner_good,
            theme.key,
            theme.focus,
        ];
        all.extend(theme.outcomes);
        all
    }

    #[test]
    fn t4_the_mono_theme_has_no_colour_and_still_marks_the_selection_and_alarms() {
        let mono = Theme::of(ThemeName::Mono);
        for style in styles(&mono) {
            assert_eq!((style.fg, style.bg), (None, None));
        }
        for marked in [mono.selected, mono.warn, mono.bad, mono.banner_warn, mono.focus] {
            assert_ne!(marked, mono.text);
        }
    }

    #[test]
    fn themes_use_the_sixteen_colours_and_leave_the_background_to_the_terminal() {
        for name in ThemeName::ALL {
            let theme = Theme::of(name);
            for style in styles(&theme) {
                for color in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(color, Color::Rgb(..) | Color::Indexed(_)), "{name:?}");
                }
            }
            assert_eq!(theme.text.bg, None);
            assert_eq!(ThemeName::parse(name.as_str()), Some(name));
        }
    }
}
