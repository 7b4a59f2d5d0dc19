//! The panels: their names, and those that are lists of text.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::model::Severity;
use crate::report::text::{fit, harmless, width, wrap};
use crate::tui::action::Action;
use crate::tui::screens::planner::draft::Audited;
use crate::tui::screens::planner::{Draft, Panel};

use super::super::{Scene, put, styled};
use super::{chart, table, words};

/// Columns before a name.
const LEAD: u16 = 3;

/// Columns of the names with the key that leads from one to the next.
const NAMES_AND_KEY: u16 = 56;

/// Each name with the column it starts at.
fn tab_places() -> impl Iterator<Item = (Panel, u16)> {
    let mut column = LEAD;
    Panel::ALL.into_iter().map(move |panel| {
        let at = column;
        column += u16::try_from(width(panel.as_str())).unwrap_or(0) + 3;
        (panel, at)
    })
}

/// The panel whose name is under the pointer.
pub(super) fn tab_at(area: Rect, here: Position) -> Option<Panel> {
    let column = here.x.checked_sub(area.x)?;
    tab_places().filter(|(_, at)| column + 1 >= *at).last().map(|(panel, _)| panel)
}

/// Draws the names.
pub(super) fn tabs(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, area: Rect) {
    let theme = scene.theme;
    put(buf, area, 0, [styled("─".repeat(usize::from(area.width)), theme.frame)]);
    for (panel, at) in tab_places() {
        let style = if panel == draft.panel { theme.selected } else { theme.dim };
        let place =
            Rect { x: area.x + at.saturating_sub(1).min(area.width), width: area.width.saturating_sub(at), ..area };
        let name = match panel == draft.panel {
            true => format!("[{}]", panel.as_str()),
            false => format!(" {} ", panel.as_str()),
        };
        put(buf, place, 0, [styled(name, style)]);
    }
    if area.width < NAMES_AND_KEY {
        return;
    }
    let key = scene.ui.keymap.hint(Action::NextPanel);
    super::super::put_right(buf, area, 0, [styled(format!(" {key} "), theme.dim)]);
}

/// Draws a panel.
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, draft: &Draft, panel: Panel, area: Rect) {
    let lines = match panel {
        Panel::Table => return table::render(buf, scene, draft, area),
        Panel::Chart => return chart::render(buf, scene, draft, area),
        Panel::Rules => rules(scene, draft, area),
        Panel::Figures => figures(scene, draft, area),
        Panel::Audit => audit(scene, draft, area),
    };
    let most = lines.len().saturating_sub(usize::from(area.height));
    for (row, (text, style)) in (0..area.height).zip(lines.into_iter().skip(draft.scroll.min(most))) {
        put(buf, area, row, [styled(text, style)]);
    }
}

/// A text in lines that fit, the later ones indented by so many columns.
fn wrapped(text: &str, indent: usize, area: Rect, style: Style, into: &mut Vec<(String, Style)>) {
    let columns = usize::from(area.width).saturating_sub(indent + 1).max(10);
    let lines = wrap(&harmless(text), columns);
    into.extend(lines.into_iter().enumerate().map(|(at, line)| {
        let lead = if at == 0 { 1 } else { indent + 1 };
        (format!("{}{line}", " ".repeat(lead)), style)
    }));
}

/// Every rule with its verdict, the one that decided marked.
fn rules(scene: &Scene<'_>, draft: &Draft, area: Rect) -> Vec<(String, Style)> {
    let theme = scene.theme;
    let mut lines = Vec::new();
    for rule in &draft.plan.rules {
        let (mark, style) = if rule.fired { ("›", theme.selected) } else { (" ", theme.text) };
        let verdict = rule.verdict.map_or("–", |route| route.as_str());
        let style = if rule.verdict.is_none() { theme.dim } else { style };
        let head = format!("{mark} {} {}", fit(rule.rule.as_str(), 19), fit(verdict, 6));
        wrapped(&format!("{head} {}", rule.why), 4, area, style, &mut lines);
    }
    lines
}

/// Every figure with its interval and its origin.
fn figures(scene: &Scene<'_>, draft: &Draft, area: Rect) -> Vec<(String, Style)> {
    let theme = scene.theme;
    let mut lines = Vec::new();
    for known in &draft.plan.assumptions {
        let figure = &known.figure;
        let interval = match figure.low < figure.high {
            true => format!(" ({} to {})", words::figure(figure.low), words::figure(figure.high)),
            false => String::new(),
        };
        let style = if figure.origin.is_measured() { theme.good } else { theme.text };
        let text =
            format!("{} {} {}{interval}  {}", fit(&known.name, 24), words::figure(figure.mid), known.unit, known.words);
        wrapped(&text, 4, area, style, &mut lines);
    }
    lines
}

/// What the audit of the input found.
fn audit(scene: &Scene<'_>, draft: &Draft, area: Rect) -> Vec<(String, Style)> {
    let theme = scene.theme;
    let findings = match &draft.audited {
        Audited::NoInput => return vec![(" no input, no audit: fandeck plan FILE".to_owned(), theme.dim)],
        Audited::Due | Audited::Reading => return vec![(" reading the input".to_owned(), theme.dim)],
        Audited::Failed(why) => {
            let mut lines = Vec::new();
            wrapped(why, 4, area, theme.bad, &mut lines);
            return lines;
        }
        Audited::Found(findings) => findings,
    };
    if findings.is_empty() {
        return vec![(
            " nothing to say: no request will be refused, and a prompt cache would save nothing".to_owned(),
            theme.good,
        )];
    }
    let mut lines = Vec::new();
    for finding in findings {
        let style = match finding.severity {
            Severity::Error => theme.bad,
            Severity::Warning => theme.warn,
            Severity::Advice => theme.info,
            Severity::Note => theme.text,
        };
        let head = format!(
            "{} {}  {}  {}",
            fit(finding.severity.as_str(), 7),
            finding.kind,
            finding.figure,
            finding.where_at()
        );
        wrapped(&head, 8, area, style, &mut lines);
        wrapped(&format!("        {}", finding.text), 8, area, theme.text, &mut lines);
        wrapped(&format!("        → {}", finding.remedy), 8, area, theme.dim, &mut lines);
    }
    lines
}
