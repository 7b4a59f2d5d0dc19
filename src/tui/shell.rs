//! The thin shell around the pure parts: terminal, keys, signals, pictures and time on one side, `update` and `render`
//! in the middle, the engine on the other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::signal::unix::SignalKind;
use tokio::sync::watch;
use tokio::time::Instant;

use super::backstage::{Answer, Attached, Backstage, Driver};
use super::copy;
use super::glued::Glued;
use super::guard::{self, Taking};
use super::log::{LogFeed, Records};
use super::msg::{Msg, Reaction};
use super::pace::Pace;
use super::pulse::{Pulse, exit_of};
use super::screens::planner::PlannerUi;
use super::screens::{self, Screen};
use super::shown::Shown;
use super::signals::{Signals, go_on_kind, stop_kind};
use super::stage::Stage;
use super::state::{Overlay, UiState};
use super::theme::{Theme, ThemeName};
use super::update::update;
use super::view::{Scene, render};
use super::wires::{apart, ask, key_msg, mouse_msg, news, next_event, next_picture};
use super::zone::Zone;
use super::{TuiExit, TuiOptions};
use crate::engine::EngineHandle;
use crate::model::{Attention, CommandOutcome, Mono, Snapshot};
use crate::report::text::harmless;

/// How often countdowns and ages are drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// Runs the screen on a runtime of its own: a terminal that blocks stops this thread and no other.
pub(super) fn on_this_thread(
    attached: Option<&Attached>,
    backstage: Arc<dyn Backstage>,
    options: &TuiOptions,
    log: Option<LogFeed>,
    pulse: &Pulse,
) -> io::Result<TuiExit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Shell::new(attached, backstage, options, log)?.run(pulse).await })
}

struct Shell {
    backstage: Arc<dyn Backstage>,
    /// The run that is shown.
    handle: Option<EngineHandle>,
    pictures: Option<watch::Receiver<Arc<Snapshot>>>,
    shown: Shown,
    attention: Attention,
    ui: UiState,
    theme: Theme,
    ascii: bool,
    feed: Option<LogFeed>,
    answers: FuturesUnordered<BoxFuture<'static, (u64, CommandOutcome)>>,
    errands: FuturesUnordered<BoxFuture<'static, (u64, Answer)>>,
    signals: Signals,
    keys: Option<EventStream>,
    glued: Glued,
    stage: Stage,
    started: Instant,
    pace: Pace,
    next_tick: Instant,
}

/// What woke the loop.
enum Wake {
    Input(Option<io::Result<Event>>),
    Picture(bool),
    Log,
    Answer(u64, CommandOutcome),
    Told(u64, Answer),
    Signal(SignalKind),
    Time,
}

impl Shell {
    fn new(
        attached: Option<&Attached>,
        backstage: Arc<dyn Backstage>,
        options: &TuiOptions,
        feed: Option<LogFeed>,
    ) -> io::Result<Shell> {
        // crossterm itself would answer NO_COLOR with parameterless resets, which undo bold and reversed; the mono theme
        // says all there is to say about colour.
        crossterm::style::force_color_output(true);
        let signals = Signals::new()?;
        let taking = Taking { mouse: options.mouse, title: options.title.clone() };
        let mut stage = Stage::enter(taking)?;
        let size = stage.size().ok_or_else(|| io::Error::other("the terminal does not tell its size"))?;
        let ui = UiState {
            keymap: Arc::clone(&options.keymap),
            read_only: options.read_only,
            size,
            mouse: options.mouse,
            no_color: options.no_color,
            zone: Zone::of_process(),
            theme_at_start: ThemeName::ALL.into_iter().find(|name| Theme::of(*name) == options.theme),
            log_file: options.log_file.as_ref().map(|path| path.display().to_string()),
            screen: match (attached, options.plans_first) {
                (Some(_), _) => Screen::Live,
                (None, true) => Screen::Planner,
                (None, false) => Screen::Runs,
            },
            planner: PlannerUi { draft: options.draft.clone(), ..PlannerUi::default() },
            driver: attached.map_or(Driver::Nothing, |attached| attached.driver),
            ..UiState::default()
        };
        let now = Instant::now();
        let mut shell = Shell {
            backstage,
            handle: None,
            pictures: None,
            shown: Shown::new(Records::of_process()),
            attention: options.attention,
            ui,
            theme: if options.no_color { Theme::of(ThemeName::Mono) } else { options.theme },
            ascii: options.ascii,
            feed,
            answers: FuturesUnordered::new(),
            errands: FuturesUnordered::new(),
            signals,
            keys: Some(EventStream::new()),
            glued: Glued::default(),
            stage,
            started: now,
            pace: Pace::new(now),
            next_tick: now + TICK,
        };
        if let Some(attached) = attached {
            shell.attach(attached);
        }
        for reaction in screens::shown(&mut shell.ui) {
            shell.react(reaction);
        }
        Ok(shell)
    }

    /// Shows the pictures of another run from now on.
    fn attach(&mut self, attached: &Attached) {
        let mut pictures = attached.handle.watch();
        self.shown.renew(pictures.borrow_and_update().clone());
        self.pictures = Some(pictures);
        self.handle = Some(attached.handle.clone());
    }

    fn now(&self) -> Mono {
        Mono::from_span(self.started.elapsed())
    }

    async fn run(mut self, pulse: &Pulse) -> io::Result<TuiExit> {
        loop {
            pulse.beat();
            if self.stage.is_broken() {
                return Ok(TuiExit::Broken);
            }
            if self.pace.due().is_some_and(|due| due <= Instant::now()) {
                self.draw();
            }
            if self.stage.was_lost() {
                // Nothing can be shown or read any more: nobody could end the run, so it is stopped, and waited for.
                self.keys = None;
                if let Some(exit) = self.apply(Msg::Signal(TuiExit::HungUp)) {
                    return Ok(exit);
                }
            }
            let wake = self.wait().await;
            if let Some(exit) = self.take(wake) {
                return Ok(exit);
            }
        }
    }

    async fn wait(&mut self) -> Wake {
        // A frame that is due wakes before the next tick; nothing else wakes an idle screen but the second's tick while
        // something is counted down.
        let due = self.pace.due();
        let ticking = due.is_some() || self.is_ticking();
        let deadline = due.unwrap_or(self.next_tick);
        let engine_gone = self.ui.engine_gone;
        tokio::select! {
            biased;
            event = next_event(&mut self.keys) => Wake::Input(event),
            signal = self.signals.next() => Wake::Signal(signal),
            // Pictures come ten times a second. They go before answers and frames: what an answer tells of is in the
            // picture that was published before it, and the next key is about that.
            changed = next_picture(&mut self.pictures), if !engine_gone => Wake::Picture(changed),
            Some((ticket, outcome)) = self.answers.next() => Wake::Answer(ticket, outcome),
            () = tokio::time::sleep_until(deadline), if ticking => Wake::Time,
            Some((ticket, answer)) = self.errands.next() => Wake::Told(ticket, answer),
            () = news(self.feed.as_ref()) => Wake::Log,
        }
    }

    /// Whether something on the screen depends on the time alone.
    fn is_ticking(&self) -> bool {
        let over = self.ui.is_over(self.shown.newest());
        let looks_at_the_disk = self.ui.screen == Screen::Runs;
        !over || looks_at_the_disk || self.ui.frozen.is_some() || self.ui.toast.is_some() || !self.ui.asked.is_empty()
    }

    fn take(&mut self, wake: Wake) -> Option<TuiExit> {
        let msg = match wake {
            Wake::Input(Some(Ok(event))) => return self.inputs(event),
            // No more keys: the terminal has gone.
            Wake::Input(_) => {
                self.stage.gone();
                None
            }
            Wake::Picture(true) => {
                self.renew();
                Some(Msg::Picture)
            }
            Wake::Picture(false) => Some(Msg::EngineGone),
            Wake::Log => {
                self.pace.touch();
                None
            }
            Wake::Answer(ticket, outcome) => {
                // Its picture may have come between the look for one and the look for answers.
                let is_newer = self.pictures.as_ref().is_some_and(|pictures| pictures.has_changed().unwrap_or(false));
                if is_newer
                    && !self.ui.engine_gone
                    && let Some(exit) = self.take(Wake::Picture(true))
                {
                    return Some(exit);
                }
                Some(Msg::Answered { ticket, outcome })
            }
            Wake::Told(ticket, answer) => {
                if let Answer::Attached(Ok(attached)) | Answer::Piloting(Ok(attached)) = &answer {
                    self.attach(attached);
                }
                Some(Msg::Told { ticket, answer })
            }
            Wake::Signal(kind) => self.signal(kind),
            Wake::Time => {
                if Instant::now() < self.next_tick {
                    return None;
                }
                self.next_tick = Instant::now() + TICK;
                Some(Msg::Tick)
            }
        };
        self.apply(msg?)
    }

    /// Takes the newest picture.
    fn renew(&mut self) {
        if let Some(pictures) = &mut self.pictures {
            self.shown.renew(pictures.borrow_and_update().clone());
        }
    }

    fn apply(&mut self, msg: Msg) -> Option<TuiExit> {
        self.pace.touch();
        let now = self.now();
        let meant = self.shown.meant(&msg);
        let reactions = update(&mut self.ui, msg, &meant, now);
        self.shown.hold(self.ui.frozen.is_some());
        for reaction in reactions {
            if let Some(exit) = self.react(reaction) {
                return Some(exit);
            }
        }
        None
    }

    fn react(&mut self, reaction: Reaction) -> Option<TuiExit> {
        match reaction {
            Reaction::Send { ticket, command } => self.answers.push(ask(self.handle.as_ref(), ticket, command)),
            Reaction::Ask { ticket, errand } => {
                let answer = self.backstage.ask(errand);
                self.errands.push(Box::pin(async move { (ticket, answer.await) }));
            }
            Reaction::Exit(exit) => {
                self.last_picture();
                return Some(exit);
            }
            Reaction::Suspend => self.stage.suspend(),
            Reaction::Redraw => self.draw_anew(),
            Reaction::Mouse(on) => self.stage.mouse(on),
            Reaction::Log(to) => self.shown.scroll(to, &self.ui.log.view(false, &self.ui.zone)),
            Reaction::Call(text) => match self.attention {
                Attention::None => {}
                Attention::Bell => self.stage.aside("\x07"),
                Attention::Notification => self.stage.aside(&format!("\x1b]9;{}\x07", harmless(&text))),
            },
            Reaction::Title(title) => self.stage.title(title),
            Reaction::Copy(text) if copy::is_hopeless(&std::env::var("TERM").unwrap_or_default()) => {
                self.ui.toast = None;
                let lines = vec![
                    "This terminal has no clipboard that could be reached. The text:".to_owned(),
                    String::new(),
                    text,
                ];
                self.ui.overlay = Some(Overlay::Reader { title: "copy", lines, scroll: 0 });
            }
            Reaction::Copy(text) => self.stage.aside(&copy::sequence(&text)),
        }
        None
    }

    /// Draws the final state, so that it is what a terminal without an alternate screen keeps.
    fn last_picture(&mut self) {
        if guard::is_taken() {
            self.draw();
        }
    }

    fn inputs(&mut self, event: Event) -> Option<TuiExit> {
        for event in apart(&self.ui, event) {
            if self.glued.passes_over(&event, Instant::now()) {
                continue;
            }
            self.pace.hurry();
            let exit = self.input(&event).and_then(|msg| self.apply(msg));
            if exit.is_some() {
                return exit;
            }
        }
        None
    }

    fn input(&mut self, event: &Event) -> Option<Msg> {
        match event {
            Event::Key(key) => key_msg(&self.ui, key),
            Event::Mouse(mouse) => mouse_msg(mouse),
            Event::Resize(columns, rows) => {
                self.draw_anew();
                Some(Msg::Resize(*columns, *rows))
            }
            // Pasted text must not act as keys.
            Event::Paste(_) | Event::FocusGained | Event::FocusLost => None,
        }
    }

    fn signal(&mut self, kind: SignalKind) -> Option<Msg> {
        if kind == stop_kind() {
            self.stage.suspend();
            self.pace.touch();
            return None;
        }
        if kind == go_on_kind() {
            self.stage.go_on();
            self.pace.touch();
            return None;
        }
        if kind == SignalKind::hangup() {
            self.stage.gone();
            return None;
        }
        exit_of(kind).map(Msg::Signal)
    }

    fn draw_anew(&mut self) {
        self.stage.forget_drawn();
        self.pace.touch();
    }

    fn draw(&mut self) {
        let shown = self.frame().is_some_and(|frame| self.stage.show(frame));
        self.pace.drawn(Instant::now(), shown);
    }

    /// What is to be seen now; `None` when there is nothing to draw on.
    fn frame(&mut self) -> Option<Buffer> {
        let size = self.stage.size()?;
        self.ui.size = size;
        if let Some(feed) = &self.feed {
            self.shown.records().take_in(feed.take());
        }
        let (snapshot, log) = self.shown.drawn();
        self.ui.log.targets = log.targets().keys().cloned().collect();
        self.ui.live.log_scrolled = log.is_scrolled();
        let mut frame = Buffer::empty(Rect::new(0, 0, size.0, size.1));
        let theme = self.ui.theme.map_or(self.theme, Theme::of);
        let now = Mono::from_span(self.started.elapsed());
        let scene = Scene { ui: &self.ui, snapshot, theme: &theme, log, ascii: self.ascii, now };
        render(&mut frame, &scene);
        Some(frame)
    }
}
