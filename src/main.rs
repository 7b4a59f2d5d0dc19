//! The binary: allocator, hooks, command line, exit code.

use std::process::ExitCode;

/// An outcome is allocated on one thread and freed on another, the store's; the system's allocator makes that dear.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Err(error) = color_eyre::config::HookBuilder::default().display_env_section(false).install() {
        // Without the hook a panic is less readable, and nothing else is lost.
        drop(error);
    }
    fandeck::tui::guard::chain_panic_hook();
    ExitCode::from(fandeck::cli::main())
}
