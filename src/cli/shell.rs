//! `fandeck completions` and `fandeck man`.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::failure::{Failure, Outcome};
use super::out;

/// Prints a completion script.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fandeck", &mut script);
    out::print_bytes(&script)
}

/// Prints the manual page: the command itself, then its subcommands.
pub(crate) fn man() -> Outcome {
    let mut page = Vec::new();
    let command = Cli::command();
    render(&command, &mut page).map_err(|error| Failure::internal(format!("failed to render the manual: {error}")))?;
    out::print_bytes(&page)
}

fn render(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(page)?;
    for subcommand in command.get_subcommands() {
        writeln!(page, ".SH \"fandeck {}\"", subcommand.get_name())?;
        let man = clap_mangen::Man::new(subcommand.clone());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
    }
    Ok(())
}
