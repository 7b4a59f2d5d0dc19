//! The figures that the README and the changelog quote. Each is printed by a command of its own:
//!
//! ```text
//! cargo bench --bench figures -- throughput [N]   requests a second against a bare loop
//! cargo bench --bench figures -- little [N]       wall-clock against Little's law; runs in real time
//! cargo bench --bench figures -- kill [N] [SEED]   kill -9 five times, resume each time; runs in real time
//! cargo bench --bench figures -- input [LINES]    index, validation, cache keys, memory
//! cargo bench --bench figures -- plan [N]         wall-clock and cost of a plan against the run; partly in real time
//! cargo bench --bench figures -- harvest [ROWS]   the results of a sub-batch: megabytes a second, memory
//! cargo bench --bench figures -- audit [LINES]    the audit: seconds a gigabyte, memory
//! cargo bench --bench figures -- paint [N]        from key to paint under load; runs in real time
//! ```

#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a benchmark prints, and fails loudly")]

mod audit;
mod harvest;
mod input;
mod kill;
mod little;
mod paint;
mod plan;
mod support;
mod throughput;
#[expect(dead_code, reason = "its experiments are the benchmark `weather`; here only its world is used")]
#[path = "../../tests/library/weather/mod.rs"]
mod weather;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let (which, rest) = args.split_first().map_or(("", &[][..]), |(which, rest)| (which.as_str(), rest));
    match which {
        "throughput" => throughput::print(rest),
        "kill" => kill::print(rest),
        "little" => little::print(rest),
        "audit" => audit::print(rest),
        "paint" => paint::print(rest),
        "input" => input::print(rest),
        "plan" => plan::print(rest),
        "harvest" => harvest::print(rest),
        "serve-canned" => throughput::serve(),
        // `cargo test --benches` and a bare `cargo bench` come by here.
        _ => println!("name a figure: throughput, little, kill, input, plan, harvest, audit or paint"),
    }
}
