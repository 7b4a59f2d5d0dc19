//! What lies behind the screens: the product does errands for them, off their thread.

mod look;
mod runs;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::tui::backstage::{Answer, Attached, Backstage, Errand};

/// Does the errands of the screens on the runtime of the product.
pub(crate) struct Console {
    runtime: Handle,
    /// The configuration file that was named.
    config: Option<std::path::PathBuf>,
}

impl Console {
    /// For the runtime that it is called in.
    pub(crate) fn new(config: Option<&Path>) -> Arc<Console> {
        Arc::new(Console { runtime: Handle::current(), config: config.map(Path::to_owned) })
    }

    /// Computes or reads on a thread where that may take its time.
    fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
        answer: impl FnOnce(Result<T, String>) -> Answer + Send + 'static,
    ) -> BoxFuture<'static, Answer> {
        let done = self.runtime.spawn_blocking(work);
        Box::pin(async move {
            let done = done.await;
            answer(done.unwrap_or_else(|error| Err(format!("internal error: the errand was broken off: {error}"))))
        })
    }
}

impl Backstage for Console {
    fn ask(&self, errand: Errand) -> BoxFuture<'static, Answer> {
        match errand {
            Errand::ListRuns => {
                let config = self.config.clone();
                self.elsewhere(move || runs::list(config.as_deref()), Answer::Runs)
            }
            Errand::Open { dir } => {
                let runtime = self.runtime.clone();
                let look = move || -> Result<Attached, String> { look::attach(&dir, &runtime) };
                self.elsewhere(look, Answer::Attached)
            }
        }
    }
}
