//! Pilots: one request of each shape goes out on the sync path before the first create.
//!
//! The API looks at the params of a batch only when it processes them: a shape that is wrong would show after up to 24 hours,
//! in every row. On the sync path it shows within seconds, at the price of one request.

use crate::model::{Outcome, RequestNo};

use crate::engine::queue::{Place, Queue};

/// A shape, and the requests that may stand for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Model and fields, for people.
    pub name: String,
    /// Requests of this shape.
    pub n: u32,
    /// The first ones of them, at least one.
    pub first: Vec<RequestNo>,
}

/// A shape under trial.
#[derive(Debug)]
struct Trial {
    shape: Shape,
    /// Which of `shape.first` is out.
    at: usize,
    answered: bool,
}

/// The pilots of a run.
#[derive(Debug, Default)]
pub(crate) struct Pilots {
    trials: Vec<Trial>,
}

/// What a look at the pilots showed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// These are to go out now.
    pub(crate) next: Vec<RequestNo>,
    /// A shape is wrong; in words.
    pub(crate) wrong: Option<String>,
    /// Shapes whose pilot was refused, and which go without another one.
    pub(crate) n_without: u32,
}

/// Takes a request out of the sub-batch that it was planned for, as a pilot; `None` when it is in none.
pub(crate) type Take<'t> = dyn FnMut(RequestNo) -> Option<RequestNo> + 't;

impl Pilots {
    /// Pilots of these shapes. The first request of each must be on its way on the sync path.
    pub(crate) fn new(shapes: Vec<Shape>) -> Pilots {
        let trial = |shape| Trial { shape, at: 0, answered: false };
        Pilots { trials: shapes.into_iter().map(trial).collect() }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether creates may begin.
    pub(crate) fn all_answered(&self) -> bool {
        self.trials.iter().all(|trial| trial.answered)
    }

    /// Looks where the pilots are. One that is called invalid may be wrong by itself: the next of its shape is asked, got by
    /// `take`, before the shape is given up. Without a `take` the shape goes without: its rows are not billed if it is wrong.
    pub(crate) fn look(&mut self, queue: &Queue, mut take: Option<&mut Take<'_>>) -> News {
        let mut news = News::default();
        for trial in self.trials.iter_mut().filter(|trial| !trial.answered) {
            let Some(&no) = trial.shape.first.get(trial.at) else {
                trial.answered = true;
                continue;
            };
            match queue.place(no) {
                Some(Place::Done(Outcome::Invalid) | Place::Aside) if trial.shape.n > 1 => {
                    let Some(take) = &mut take else {
                        trial.answered = true;
                        news.n_without += 1;
                        continue;
                    };
                    trial.at += 1;
                    match trial.shape.first.get(trial.at).copied().and_then(&mut **take) {
                        Some(next) => news.next.push(next),
                        None => {
                            news.wrong = Some(format!(
                                "{} pilots of one shape were refused, and {} more requests have it: {}; no sub-batch was created",
                                trial.at,
                                trial.shape.n.saturating_sub(trial.at as u32),
                                trial.shape.name
                            ));
                        }
                    }
                }
                Some(Place::Done(_) | Place::Cached | Place::Aside) | None => trial.answered = true,
                Some(_) => {}
            }
        }
        news
    }
}
