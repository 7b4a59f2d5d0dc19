//! fandeck: a terminal operations console for people who run 10,000 to 1,000,000 Claude calls over several organisation
//! keys that they share with colleagues.
//!
//! This page is the tour of the architecture. The README says what the product does and how it is used.
//!
//! # The picture
//!
//! ```text
//!   input.jsonl ─ requests: index + validate ─ store: recover, cache look-up ─ cli: launch
//!                                                                                │
//!        ┌───────────────────────────── engine ──────────────────────────────────┴──┐
//!        │  workers, store, timers ──Event──► dispatcher ─ reduce(State, Event, now) │
//!        │            ▲                            │  │                              │
//!        │            └────────── Effect ──────────┘  │ watch: Arc<Snapshot>, ≤ 10/s │
//!        └────────────┬───────────────────────────────┼───────────────▲──────────────┘
//!                     │                               ▼               │ Command, bounded
//!          api: HTTP client │ sim: simulated API      tui · report::plain · report::json
//!          store: journal, state, audit, cache
//! ```
//!
//! # The rules
//!
//! * **One owner.** The dispatcher owns all state of all runs. Nothing else decides.
//! * **Pure core, thin shell.** [`engine`]'s reducer and the screens' `update` are pure functions that take the time as an
//!   argument; around each is a shell that only carries things in and out.
//! * **Durable before done.** An outcome is counted, shown and cached only after the journal's fsync.
//! * **One owner of retries.** A [`api::Transport`] never fails and never retries: whatever happens is a reply with a
//!   verdict, and the dispatcher alone decides what follows.
//! * **Explained decisions.** Every decision of a controller is a notice that says what was seen, what was decided and why;
//!   it goes to the screen, the log and `events.jsonl`.
//! * **Nobody waits for a screen.** Pictures go out by `watch`, commands come in by a bounded channel.
//! * **Secrets** are [`model::Secret`]s: no `Display`, no `Serialize`, and a scrubber in front of everything that is written.
//!
//! # The modules
//!
//! | module | answers for | may name |
//! |---|---|---|
//! | [`model`] | the vocabulary: ids, units, outcomes, snapshots, commands | nobody |
//! | [`catalog`] | models: family, price card, limits, retirement | `model` |
//! | [`requests`] | the input: index, validation, fingerprint, audit | `model`, `catalog` |
//! | [`api`] | the wire: client, headers, what an answer means | `model` |
//! | [`plan`] | route and cost, as pure functions | `model`, `catalog` |
//! | [`store`] | the run directory and the cache | `model`, `requests` |
//! | [`config`] | files, environment and flags, with the origin of every value | `model`, `catalog`, `api` |
//! | [`engine`] | the dispatcher | all above but `config` |
//! | [`sim`] | the simulated API | `model`, `catalog`, `api` |
//! | [`tui`] | the screens | `model`, `catalog`, `plan`, the engine's handle, `report` |
//! | [`report`] | the frontends without a screen | `model`, the engine's handle |
//! | [`cli`] | wiring: one file per subcommand | all |
//!
//! A test fails when an import points the other way.
//!
//! # Where to change what
//!
//! * how an answer is judged: `api::classify`; how hard an org is pressed: `engine::pace`, and `engine::window` where
//!   headers are missing; when it is left alone: `engine::gate` and `engine::breaker`; which org is next: `engine::admit`.
//! * what a line of the journal holds: [`store::journal`]; what survives a crash: [`store::recovery`].
//! * which setting there is: `config::sections`; which option: the file of its subcommand, and `cli::options` for those that
//!   several share.
//! * what the reducer knows of an org or of a run: `engine::state`.
//! * what is on the screen: `tui::view`; what a key does: `tui::action`; what the screens are told and ask: [`tui::msg`].
//! * what a JSON line of a run says: [`report::json`], and [`report::finished`] for the last one; what its facts are in
//!   words, wherever they are told: [`report::words`].
//!
//! # Glossary
//!
//! *request*: one line of the input. *run*: one execution of one input under one plan, in one run directory. *org*: one
//! API organisation, a label and a key. *family*: sonnet, haiku, opus, fable, by substring of the model id. *window*: the
//! controller's current limit of calls at once for an (org, family); *cap*: its polite ceiling. *headroom*: the smallest
//! `remaining / limit` over the rate-limit headers. *re-drive*: to send again a request whose last outcome was not its own
//! fault. *parked*: takes no work until a time, an operator's action or a successful probe. *done*: the outcome is durable.

pub mod api;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod engine;
pub mod model;
pub mod plan;
pub mod report;
pub mod requests;
pub mod sim;
pub mod store;
pub mod tui;
