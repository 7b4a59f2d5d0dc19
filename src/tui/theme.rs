//! How things look. A theme only adds to what words and glyphs say already: the mono theme loses nothing but colour.

use ratatui::style::{Color, Modifier, Style};

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
}

/// Styles by what they mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

fn on(color: Color) -> Style {
    // Black text is fixed: on a terminal whose text is light, the default would be unreadable on these backgrounds.
    Style::new().fg(Color::Black).bg(color).add_modifier(Modifier::BOLD)
}

impl Theme {
    /// The theme of a name.
    pub fn of(name: ThemeName) -> Theme {
        match name {
            ThemeName::Dark => Theme::dark(),
            ThemeName::Light => Theme::light(),
            ThemeName::HighContrast => Theme::high_contrast(),
            ThemeName::Mono => Theme::mono(),
        }
    }

    fn dark() -> Theme {
        let fg = |color| Style::new().fg(color);
        Theme {
            text: Style::new(),
            // Not dark grey: some palettes make that the colour of the background.
            dim: Style::new().add_modifier(Modifier::DIM),
            strong: Style::new().add_modifier(Modifier::BOLD),
            frame: fg(Color::DarkGray),
            selected: fg(Color::Cyan).add_modifier(Modifier::BOLD),
            good: fg(Color::Green),
            warn: fg(Color::Yellow),
            bad: fg(Color::LightRed).add_modifier(Modifier::BOLD),
            info: fg(Color::Cyan),
            banner_warn: on(Color::Yellow),
            banner_bad: on(Color::LightRed),
            banner_good: on(Color::Green),
            key: Style::new().add_modifier(Modifier::BOLD),
            focus: on(Color::Cyan),
            outcomes: [
                fg(Color::Blue),
                fg(Color::Green),
                fg(Color::Magenta),
                fg(Color::LightRed),
                fg(Color::Yellow),
                fg(Color::Cyan),
                fg(Color::DarkGray),
            ],
        }
    }

    fn light() -> Theme {
        let fg = |color| Style::new().fg(color);
        Theme {
            selected: fg(Color::Blue).add_modifier(Modifier::BOLD),
            bad: fg(Color::Red).add_modifier(Modifier::BOLD),
            warn: fg(Color::Magenta),
            info: fg(Color::Blue),
            banner_bad: Style::new().fg(Color::White).bg(Color::Red).add_modifier(Modifier::BOLD),
            focus: Style::new().fg(Color::White).bg(Color::Blue).add_modifier(Modifier::BOLD),
            outcomes: [
                fg(Color::Blue),
                fg(Color::Green),
                fg(Color::Magenta),
                fg(Color::Red),
                fg(Color::Magenta),
                fg(Color::Blue),
                fg(Color::DarkGray),
            ],
            ..Theme::dark()
        }
    }

    fn high_contrast() -> Theme {
        let fg = |color| Style::new().fg(color).add_modifier(Modifier::BOLD);
        Theme {
            dim: Style::new(),
            frame: Style::new(),
            selected: fg(Color::LightCyan),
            good: fg(Color::LightGreen),
            warn: fg(Color::LightYellow),
            bad: fg(Color::LightRed),
            info: fg(Color::LightCyan),
            banner_warn: on(Color::LightYellow),
            banner_bad: on(Color::LightRed),
            banner_good: on(Color::LightGreen),
            focus: on(Color::LightCyan),
            outcomes: [
                fg(Color::LightBlue),
                fg(Color::LightGreen),
                fg(Color::LightMagenta),
                fg(Color::LightRed),
                fg(Color::LightYellow),
                fg(Color::LightCyan),
                Style::new(),
            ],
            ..Theme::dark()
        }
    }

    fn mono() -> Theme {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        let reversed = plain.add_modifier(Modifier::REVERSED);
        let alarm = bold.add_modifier(Modifier::REVERSED);
        Theme {
            text: plain,
            dim,
            strong: bold,
            frame: dim,
            selected: bold,
            good: plain,
            warn: bold,
            bad: bold.add_modifier(Modifier::UNDERLINED),
            info: plain,
            banner_warn: reversed,
            banner_bad: alarm,
            banner_good: reversed,
            key: bold,
            focus: alarm,
            outcomes: [plain, plain, bold, bold, bold, plain, dim],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
