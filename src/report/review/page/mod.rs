//! The review as one HTML page: inline styles and charts, no script, nothing from the network, light and dark, from the width
//! of a telephone to paper. Every chart has its figures as text.
//!
//! | file | answers for |
//! |---|---|
//! | `chart` | bars, ranges, columns, tables, and that nothing from outside is markup |
//! | `parts` | the sections below the tiles |
//! | `style.css` | how it looks |

mod chart;
mod parts;

use std::fmt::Write as _;

use super::Review;
use crate::report::format;
use chart::{escaped, outside};

const STYLE: &str = include_str!("style.css");

/// The page. Every text that comes from ids, orgs, files or the API is escaped.
pub fn page(review: &Review) -> String {
    let run = &review.run;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>fandeck: {}</title><style>\n{STYLE}</style></head><body><main>\n\
         <h1>{}</h1><p class=\"dim\">{} · {} · {}: {} · exit {}</p>\n",
        escaped(&run.run_id),
        outside(&run.run_id),
        outside(&run.input),
        outside(&review.standing),
        outside(&run.path),
        outside(&run.route_reason),
        escaped(&review.exit()),
    );
    if let Some(note) = review.note() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(&note));
    }
    tiles(&mut out, review);
    parts::all(&mut out, review);
    out.push_str("</main></body></html>\n");
    out
}

fn tiles(out: &mut String, review: &Review) {
    let (run, counts, economy) = (&review.run, &review.run.counts, &review.economy);
    let mut tiles = vec![("requests", format::count(counts.total)), ("succeeded", format::count(counts.succeeded))];
    // As in the text, what is none of a kind is not worth a place.
    let rare = [
        ("cached", counts.cached),
        ("refused", counts.refused),
        ("invalid", counts.invalid),
        ("re-drivable", counts.re_drivable),
        ("unsent", counts.unsent),
    ];
    tiles.extend(rare.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name, format::count(n))));
    let sessions = if review.sessions < 2 { "wall-clock" } else { "wall-clock, of all sessions" };
    tiles.push((sessions, format::took((run.wall_s * 1e3) as u64)));
    tiles.push(("cost", format::money(economy.spent)));
    if run.n_possibly_charged > 0 {
        tiles.push(("in doubt, at most", format::money(economy.in_doubt)));
    }
    if let Some(times) = economy.amplification {
        tiles.push(("paid ÷ needed", format!("{times:.3}")));
    }
    out.push_str("<div class=\"tiles\">");
    for (name, value) in tiles {
        let _ = write!(out, "<div class=\"tile\"><b>{}</b>{name}</div>", escaped(&value));
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests;
