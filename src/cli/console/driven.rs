//! The run that is driven here, and its being brought to rest: by one at a time, while everybody else who asks waits. Whoever
//! went on meanwhile would find the directory owned still, by this very process, or the run without an ending.

use std::sync::{Mutex, MutexGuard};

use super::lock;

/// See the module.
pub(super) struct Driven<D> {
    current: Mutex<Option<D>>,
    settling: tokio::sync::Mutex<()>,
}

impl<D> Default for Driven<D> {
    fn default() -> Driven<D> {
        Driven { current: Mutex::default(), settling: tokio::sync::Mutex::default() }
    }
}

impl<D> Driven<D> {
    /// What is driven, or was driven last and has not been brought to rest.
    pub(super) fn current(&self) -> MutexGuard<'_, Option<D>> {
        lock(&self.current)
    }

    /// Brings what is over to rest by `rest`. Returns when nothing is being brought to rest any more.
    pub(super) async fn settle<F: Future<Output = ()>>(
        &self,
        is_over: impl FnOnce(&mut D) -> bool,
        rest: impl FnOnce(D) -> F,
    ) {
        let _one_at_a_time = self.settling.lock().await;
        let over = self.current().take_if(is_over);
        if let Some(over) = over {
            rest(over).await;
        }
    }

    /// Takes what is driven, once nothing is being brought to rest any more.
    pub(super) async fn take(&self) -> Option<D> {
        let _nobody_settles = self.settling.lock().await;
        self.current().take()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn who_asks_while_a_run_is_brought_to_rest_waits_until_it_is() {
        let driven = Arc::new(Driven::default());
        *driven.current() = Some("a run");
        let (begun, has_begun) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let first = tokio::spawn({
            let driven = Arc::clone(&driven);
            async move {
                let rest = |_| async {
                    begun.send(()).unwrap();
                    ended.await.unwrap();
                };
                driven.settle(|_| true, rest).await;
            }
        });
        has_begun.await.unwrap();
        assert_eq!(*driven.current(), None);
        let again = driven.settle(|_| true, |_| async { panic!("it is brought to rest once") });
        let (mut again, mut take) = (Box::pin(again), Box::pin(driven.take()));
        assert_eq!((&mut again).now_or_never(), None);
        assert_eq!((&mut take).now_or_never(), None);
        end.send(()).unwrap();
        again.await;
        assert_eq!(take.await, None);
        first.await.unwrap();
    }

    #[tokio::test]
    async fn what_goes_on_is_left_alone() {
        let driven = Driven::default();
        *driven.current() = Some("a run");
        driven.settle(|_| false, |_| async { panic!("it goes on") }).await;
        assert_eq!(driven.take().await, Some("a run"));
    }
}
