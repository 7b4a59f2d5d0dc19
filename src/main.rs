//! The binary: hooks, command line, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = color_eyre::config::HookBuilder::default().display_env_section(false).install() {
        // Without the hook a panic is less readable, and nothing else is lost.
        drop(error);
    }
    fandeck::tui::guard::chain_panic_hook();
    ExitCode::from(fandeck::cli::main())
}
