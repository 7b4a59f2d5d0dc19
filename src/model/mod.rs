//! The vocabulary: ids, units, outcomes, limits, snapshots, commands and notices.
//!
//! Everything here is a plain value. There is no IO, no clock and no UI in this module, and it imports none of the
//! others; all the others import it. A word that the operator meets on a screen, in a log line or in JSON is spelled
//! here once, in kebab-case, and used everywhere else by its type.

pub mod books;
pub mod browse;
pub mod command;
pub mod finding;
pub mod format;
pub mod ids;
pub mod limits;
pub mod money;
pub mod notice;
pub mod outcome;
pub mod planning;
pub mod run;
pub mod secret;
pub mod series;
pub mod settings;
pub mod snapshot;
pub mod sub_batch;
pub mod suggest;
pub mod time;

pub use books::Books;
pub use command::{Command, CommandOutcome};
pub use finding::{Figure, Finding, Severity};
pub use ids::{Family, OrgId, RequestNo, Route, RunSlot};
pub use limits::{Bucket, LimitKind, RateLimits, RetryAfter};
pub use money::Money;
pub use notice::{Level, Notice};
pub use outcome::{AccountTrouble, ApiError, Outcome, Terms, Trouble, Usage, Verdict};
pub use planning::{CostPref, Crossover, PathChoice, RoutePolicy, WedgeGuard};
pub use run::{Counts, RunStatus};
pub use secret::{Scrubber, Secret};
pub use settings::{Attention, BatchSettings, DispatchSettings, OrgSpec, ScreenSettings, WireSettings};
pub use snapshot::Snapshot;
pub use sub_batch::SubBatchStatus;
pub use time::{Mono, Now, Wall};
