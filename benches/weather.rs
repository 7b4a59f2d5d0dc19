//! The dispatcher in bad weather: every experiment in virtual time, with the figure that it gives and the one that must
//! hold.
//!
//! `cargo bench --bench weather [-- LOAD]`. A load of 1, the usual one, is what is promised for.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails loudly")]

#[path = "../tests/library/weather/mod.rs"]
mod weather;

use std::time::Instant;

fn main() {
    let load: f64 = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1.0);
    let mut broken = 0;
    for experiment in weather::figures::all() {
        let started = Instant::now();
        let figures = (experiment.run)(load);
        println!("{} ({:.1} s)", experiment.what, started.elapsed().as_secs_f64());
        for figure in figures {
            let mark = if figure.holds() { "ok" } else { "BROKEN" };
            broken += u32::from(!figure.holds());
            println!("    {:<48} {:>9.4}   must be {:?}   {mark}", figure.what, figure.is, figure.must);
        }
    }
    assert_eq!(broken, 0, "{broken} figures do not hold");
}
