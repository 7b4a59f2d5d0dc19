//! The command line: one file per subcommand, with its options, thin; and the wiring that they share.
//!
//! A subcommand comes to an exit code or to a `Failure`, whose text is all that the user sees: what failed, on what, and
//! the remedy. `launch` makes a run ready, `drive` runs it under a frontend; `run`, `resume` and `demo` differ only in
//! what they hand to these two.

mod ab;
mod args;
mod audit;
mod books;
mod cancel;
mod config;
mod console;
mod deadline;
mod demo;
mod demo_input;
mod drive;
mod export;
mod failure;
mod files;
mod front;
mod gate;
mod history;
mod home;
mod kept_index;
mod launch;
mod logging;
mod observed;
mod options;
mod orders;
mod out;
mod pilot;
mod plan;
mod plan_record;
mod planned;
mod planner;
mod price;
mod price_record;
mod realised;
mod report;
mod rescue;
mod resume;
mod review;
mod run;
mod runs;
mod runtime;
mod sabotage;
mod segments;
mod setup;
mod shell;
mod signals;
mod simulate;
mod simulated;
mod status;
mod work;

use clap::Parser;

use args::{Cli, Command};

/// Parses the process's arguments and does what they say. Gives the exit code.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version come as errors, too; a closed pipe is no reason to complain about either.
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    files::raise_limit();
    ab::end_with_validation();
    let outcome = match cli.command {
        None => home::home(&cli.console),
        Some(Command::Demo(args)) => demo::demo(&args),
        Some(Command::Plan(args)) => plan::plan(&args),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Audit(args)) => audit::audit(&args),
        Some(Command::Resume(args)) => resume::resume(&args),
        Some(Command::Cancel(args)) => cancel::cancel(&args),
        Some(Command::Status(args)) => status::status(&args),
        Some(Command::Runs(args)) => runs::runs(&args),
        Some(Command::Export(args)) => export::export(&args),
        Some(Command::Ab(args)) => ab::ab(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Simulate(args)) => simulate::simulate(&args),
        Some(Command::Config(args)) => config::config(&args),
        Some(Command::Completions { shell }) => shell::completions(shell),
        Some(Command::Man) => shell::man(),
    };
    outcome.unwrap_or_else(|failure| {
        out::say(&format!("fandeck: {}", failure.message));
        failure.exit_code
    })
}
