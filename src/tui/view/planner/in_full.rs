//! The plan as a text to be read: what the screen has to cut, in full.

use crate::plan::RouteView;
use crate::report::format;
use crate::report::text::fit;
use crate::tui::screens::planner::{Draft, Piloting};

use super::routes;

/// Its lines: the verdict and what goes with it, the risks of both routes, the rules, and where they differ from the recipe.
pub(in crate::tui) fn in_full(draft: &Draft, pilot: &Piloting) -> Vec<String> {
    let plan = &draft.plan;
    let mut lines: Vec<String> = routes::said(draft, pilot).into_iter().map(|(text, _)| text).collect();
    let mut risks = |view: &RouteView, route: &str| {
        lines.push(String::new());
        match view.risks.as_slice() {
            [] => lines.push(format!("risks of {route}: none is known")),
            risks => {
                lines.push(format!("risks of {route}"));
                lines.extend(risks.iter().map(|risk| format!("· {risk}")));
            }
        }
    };
    risks(&plan.sync, "sync");
    risks(&plan.batch, "batch");
    lines.extend([String::new(), "rules, the one that decided marked".to_owned()]);
    for rule in &plan.rules {
        let mark = if rule.fired { "›" } else { " " };
        let verdict = rule.verdict.map_or("–", |route| route.as_str());
        lines.push(format!("{mark} {} {} {}", fit(rule.rule.as_str(), 19), fit(verdict, 5), rule.why));
    }
    let cells = plan.table.iter().flat_map(|row| [(row.n, "time", &row.latency), (row.n, "money", &row.cost)]);
    let mut differ = cells.filter(|(_, _, cell)| cell.disagrees).peekable();
    if differ.peek().is_some() {
        lines.extend([String::new(), "where the rules differ from the recipe".to_owned()]);
    }
    lines.extend(differ.map(|(n, what, cell)| format!("· {} if {what} matters: {}", format::count(n), cell.why)));
    lines
}
