//! Tells the dispatcher that a task panicked which would have answered it: nobody would wait for that answer in vain.

use tokio::sync::mpsc::UnboundedSender;

use super::event::Event;

/// To be held by a task for as long as it lasts.
pub(crate) struct Alarm(UnboundedSender<Event>);

impl Alarm {
    pub(crate) fn new(events: &UnboundedSender<Event>) -> Alarm {
        Alarm(events.clone())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The dispatcher may have come to an end already.
            let _ = self.0.send(Event::Broke);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test]
    async fn only_a_panic_raises_the_alarm_be_it_in_a_future_or_in_a_closure() {
        let (events, mut told) = unbounded_channel();
        let alarm = Alarm::new(&events);
        tokio::spawn(async move { drop(alarm) }).await.unwrap();
        assert!(told.try_recv().is_err());
        let alarm = Alarm::new(&events);
        let broken = tokio::spawn(async move {
            let _alarm = alarm;
            tokio::task::yield_now().await;
            panic!("wanted");
        });
        broken.await.unwrap_err();
        assert!(matches!(told.try_recv(), Ok(Event::Broke)));
        let alarm = Alarm::new(&events);
        let broken = tokio::task::spawn_blocking(move || {
            let _alarm = alarm;
            panic!("wanted");
        });
        broken.await.unwrap_err();
        assert!(matches!(told.try_recv(), Ok(Event::Broke)));
    }
}
