//! The thin shell around the choices: lines in, lines out, commands to the engine.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Choices;
use crate::engine::EngineHandle;
use crate::model::Mono;
use crate::tui::msg::Reaction;
use crate::tui::wires::ask;

/// Offers what can be done with a run, for as long as lines come. Dropping the future leaves the run alone.
pub async fn run(
    handle: EngineHandle,
    read_only: bool,
    mut typed: UnboundedReceiver<String>,
    mut tell: impl FnMut(Vec<String>),
) {
    let mut choices = Choices::new(read_only);
    let started = Instant::now();
    let mut answers = FuturesUnordered::new();
    tell(vec![Choices::greeting().to_owned()]);
    loop {
        tokio::select! {
            line = typed.recv() => {
                let Some(line) = line else { return };
                let now = Mono::from_span(started.elapsed());
                let (lines, reactions) = choices.take(&line, &handle.snapshot(), now);
                tell(lines);
                for reaction in reactions {
                    // Leaving waits for the run, whose end ends the lines; the rest is about a screen.
                    if let Reaction::Send { ticket, command } = reaction {
                        answers.push(ask(Some(&handle), ticket, command));
                    }
                }
            }
            Some((ticket, outcome)) = answers.next() => {
                let now = Mono::from_span(started.elapsed());
                tell(choices.answered(ticket, outcome, &handle.snapshot(), now));
            }
        }
    }
}
