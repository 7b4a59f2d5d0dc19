//! The list of requests.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::model::browse::{Class, Page, RequestRow};
use crate::report::format;
use crate::report::text::{fit, fit_right, harmless, width};
use crate::tui::action::Action;
use crate::tui::theme::Theme;
use crate::tui::view::{Scene, put, put_right, styled};
use crate::tui::zone::{self, Zone};

/// The glyph of a class: those of the bar of outcomes, but for the two that would fill the column with blocks.
pub(super) fn glyph(class: Class) -> char {
    ['○', '✓', '▚', '×', '↻'][class as usize]
}

/// Its style, as in the bar of outcomes.
pub(super) fn style(class: Class, theme: &Theme) -> Style {
    theme.outcomes[class as usize]
}

/// Columns of the list at a width.
struct Columns {
    no: usize,
    id: usize,
    org: usize,
    figures: bool,
    when: bool,
}

impl Columns {
    fn of(width: u16) -> Columns {
        match width {
            150.. => Columns { no: 9, id: 32, org: 14, figures: true, when: true },
            100.. => Columns { no: 9, id: 24, org: 12, figures: true, when: false },
            70.. => Columns { no: 7, id: 22, org: 10, figures: false, when: false },
            _ => Columns { no: 0, id: 16, org: 0, figures: false, when: false },
        }
    }
}

/// Draws it.
///
/// ```text
///  all 20,005 · ○ cached 1,000 · ✓ succeeded 18,955 · ▚ refused 40 · × invalid 5 · ↻ re-drivable 5        input order
///  / error:overloaded                                                                               5 of 20,005 match
///          #  id                       outcome        org            tries  latency      cost  answer or error
///  ›      12  judge-000012             ↻ re-drivable  high-prio          3     1.2s     $0.00  overloaded_error: Overl…
/// ```
pub(super) fn render(buf: &mut Buffer, scene: &Scene<'_>, area: Rect) {
    let theme = scene.theme;
    let ui = &scene.ui.requests;
    if let Some(why) = &ui.trouble {
        let text = format!(" the requests cannot be read: {}", harmless(why));
        return put(buf, area, 0, [styled(text, theme.bad)]);
    }
    let Some(page) = &ui.page else {
        return put(buf, area, 0, [styled(" reading the journal", theme.dim)]);
    };
    put(buf, area, 0, classes(page, ui.class, usize::from(area.width), theme));
    if area.width >= 100 {
        put_right(buf, area, 0, [styled(format!(" {} ", ui.order.as_str()), theme.dim)]);
    }
    filter(buf, scene, page, area);
    let columns = Columns::of(area.width);
    put(buf, area, 2, [styled(heading(&columns, &scene.ui.zone), theme.dim)]);
    let table = super::table(area);
    for row in 0..table.height {
        let at = ui.top + usize::from(row);
        if at >= page.n_matched {
            break;
        }
        let selected = at == ui.at;
        match page.row(at) {
            Some(request) => put(buf, table, row, line(request, selected, &columns, &scene.ui.zone, theme)),
            None => put(buf, table, row, [styled(if selected { " › …" } else { "   …" }, theme.dim)]),
        }
    }
    if page.n_matched == 0 {
        put(buf, table, 0, [styled(format!("   {}", nothing(scene, page)), theme.dim)]);
    }
}

/// Why no row is shown.
fn nothing(scene: &Scene<'_>, page: &Page) -> String {
    let any = page.counts.iter().any(|n| *n > 0);
    match (page.is_complete(), any) {
        (false, _) => "none so far".to_owned(),
        (true, false) => "no request has an outcome yet".to_owned(),
        (true, true) => {
            let show = scene.ui.keymap.hint(Action::Show);
            let drop = match scene.ui.requests.filter.is_empty() {
                true => String::new(),
                false => format!(", {} drops the filter", scene.ui.keymap.hint(Action::Back)),
            };
            format!("no request matches; {show} shows other outcomes{drop}")
        }
    }
}

/// The classes with their numbers; the one that is shown stands out.
fn classes(page: &Page, shown: Option<Class>, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let all: u64 = page.counts.iter().sum();
    let mark = |on: bool, style: Style| if on { theme.focus } else { style };
    let mut spans =
        vec![Span::raw(" "), styled(format!("all {}", format::count(all)), mark(shown.is_none(), theme.strong))];
    let mut used: usize = spans.iter().map(Span::width).sum();
    let named = |class: Class, n: u64| format!("{} {} {}", glyph(class), class.as_str(), format::count(n));
    let all_fit = Class::ALL.into_iter().zip(page.counts).map(|(class, n)| width(&named(class, n)) + 3).sum::<usize>()
        + used
        <= columns;
    for (class, n) in Class::ALL.into_iter().zip(page.counts) {
        let name = named(class, n);
        let on = shown == Some(class);
        // Where not all fit, what nothing fell into makes room for what something did.
        if !all_fit && n == 0 && !on {
            continue;
        }
        used += width(&name) + 3;
        // The one that is shown is always told.
        if used > columns && !on {
            continue;
        }
        spans.push(styled(" · ", theme.dim));
        spans.push(styled(name, mark(on, if n > 0 { style(class, theme) } else { theme.dim })));
    }
    spans
}

/// The filter, and how many match; while the journal is read for the first time, how far that is.
fn filter(buf: &mut Buffer, scene: &Scene<'_>, page: &Page, area: Rect) {
    let theme = scene.theme;
    let field = &scene.ui.requests.filter;
    let left = match (field.editing, field.text.is_empty()) {
        (true, _) => styled(format!(" / {}▏", harmless(&field.text)), theme.selected),
        (false, false) => styled(format!(" / {}", harmless(&field.text)), theme.strong),
        (false, true) if area.width >= 70 => {
            let key = scene.ui.keymap.hint(Action::Filter);
            styled(format!(" {key} filters: an id, class:refused, org:…, error:…"), theme.dim)
        }
        (false, true) => Span::raw(""),
    };
    put(buf, area, 1, [left]);
    let all: u64 = page.counts.iter().sum();
    let mut right = String::new();
    if page.n_matched as u64 != all {
        right = format!(" {} of {} ", format::count(page.n_matched as u64), format::count(all));
    }
    if !page.is_complete() {
        right.push_str(&format!(" reading the journal: {} ", format::share(page.read, page.size)));
    }
    if page.n_passed_over > 0 && area.width >= 100 {
        right.push_str(&format!(" {} lines passed over ", format::count(page.n_passed_over)));
    }
    put_right(buf, area, 1, [styled(right, theme.text)]);
}

fn heading(columns: &Columns, zone: &Zone) -> String {
    let mut line = "   ".to_owned();
    if columns.no > 0 {
        line.push_str(&format!("{}  ", fit_right("#", columns.no)));
    }
    line.push_str(&format!("{} {} ", fit("id", columns.id), fit("outcome", 13)));
    if columns.org > 0 {
        line.push_str(&format!("{} ", fit("org", columns.org)));
    }
    if columns.when {
        line.push_str(&format!("{} {} ", fit(zone.heading(), 8), fit_right("tries", 5)));
    }
    if columns.org > 0 {
        line.push_str(&fit_right("latency", 8));
    }
    if columns.figures {
        line.push_str(&format!(" {}", fit_right("cost", 10)));
    }
    let answer = if columns.figures { "  answer or error" } else { "  answer" };
    line.push_str(answer);
    line
}

fn line(row: &RequestRow, selected: bool, columns: &Columns, zone: &Zone, theme: &Theme) -> Vec<Span<'static>> {
    let base = if selected { theme.strong } else { theme.text };
    let mut spans = vec![styled(if selected { " › " } else { "   " }, theme.selected)];
    if columns.no > 0 {
        spans.push(styled(format!("{}  ", fit_right(&row.no.0.to_string(), columns.no)), theme.dim));
    }
    spans.push(styled(format!("{} ", fit(&harmless(&row.custom_id), columns.id)), base));
    let class = format!("{} {}", glyph(row.class), row.class.as_str());
    spans.push(styled(format!("{} ", fit(&class, 13)), style(row.class, theme)));
    if columns.org > 0 {
        spans.push(styled(format!("{} ", fit(&harmless(&row.org), columns.org)), base));
    }
    if columns.when {
        let clock = zone::read(&row.at).map(|at| zone.clock(at)).unwrap_or_default();
        spans.push(styled(format!("{} {} ", fit(&clock, 8), fit_right(&row.attempt.to_string(), 5)), theme.dim));
    }
    if columns.org > 0 {
        let latency = format::latency(u32::try_from(row.latency_ms).unwrap_or(u32::MAX));
        spans.push(styled(fit_right(&latency, 8), base));
    }
    if columns.figures {
        spans.push(styled(format!(" {}", fit_right(&format::money(row.cost), 10)), base));
    }
    let error = if row.error.is_empty() { String::new() } else { format!("{}: ", row.error) };
    let text = harmless(&format!("{error}{}", row.excerpt)).into_owned();
    spans.push(styled(format!("  {text}"), if row.error.is_empty() { theme.dim } else { base }));
    spans
}
