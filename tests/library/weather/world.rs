//! A world in which dispatchers meet the simulated API.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use fandeck::api::{Finding, Reply, Sight, reply};
use fandeck::engine::testing::{Core, Happened, Requests, Wanted};
use fandeck::model::{
    ApiError, DispatchSettings, Family, Mono, Now, OrgId, OrgSpec, RateLimits, RequestNo, RunSlot, Scrubber, Secret,
    Snapshot, Trouble, Verdict, Wall,
};
use fandeck::sim::{Ending, Fate, Scenario, Sim, SimRequest, SimResponse, Ticket};
use http::header::HeaderMap;

use super::wire::{body, broken, ended, head};

/// One way through the network.
const WIRE: Duration = Duration::from_millis(15);

/// From an answer to its fsync.
const DISK: Duration = Duration::from_millis(40);

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// When everything begins, on the calendar.
const EPOCH: Wall = Wall(1_780_000_000_000);

pub(crate) fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// What is due at a moment.
enum Due {
    Arrive(Call),
    Answer(Call, Ticket),
    Lost(Call, Ticket),
    Happen(usize, Happened),
    Wake(usize),
}

#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) client: usize,
    pub(super) run: RunSlot,
    pub(super) no: RequestNo,
    pub(super) org: OrgId,
    pub(super) started: Mono,
}

/// One dispatcher with its runs.
pub(crate) struct Client {
    pub(crate) core: Core,
    orgs: Vec<OrgSpec>,
    heads: Vec<HeaderMap>,
    sizes: Vec<Vec<u32>>,
    woken: Option<Mono>,
    flying: HashMap<(RunSlot, RequestNo), OrgId>,
    in_flight: Vec<u32>,
    /// Calls sent in all, by run.
    pub(crate) sent: BTreeMap<RunSlot, u64>,
    /// By second and org: calls sent, answers, output tokens, 429s.
    pub(crate) seconds: BTreeMap<u64, Vec<Second>>,
    /// Highest number in flight at once, by org.
    pub(crate) peak: Vec<u32>,
    /// Runs that have come to rest, when, and their exit codes.
    pub(crate) rested: BTreeMap<RunSlot, (Mono, u8)>,
    /// Answers by run.
    pub(crate) answers: BTreeMap<RunSlot, u64>,
}

/// How a run starts.
pub(crate) struct Start<'m> {
    /// Nobody watches it.
    pub(crate) unattended: bool,
    /// The model for which orgs are looked at before the first wave.
    pub(crate) look: Option<&'m str>,
}

/// What happened to an org in a second.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) sent: u64,
    pub(crate) ok: u64,
    pub(crate) tokens: u64,
    pub(crate) limited: u64,
}

/// See the module.
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) now: Mono,
    pub(crate) clients: Vec<Client>,
    /// Whether answers carry rate-limit headers.
    pub(crate) headers: bool,
    due: BinaryHeap<Reverse<(Mono, u64, Slot)>>,
    slots: HashMap<u64, Due>,
    count: u64,
    scrubber: Scrubber,
}

/// Orders nothing: the time and the count do.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Slot;

impl World {
    pub(crate) fn new(scenario: &str) -> World {
        let scenario = Scenario::parse("experiment", scenario).unwrap();
        World {
            sim: Sim::new(scenario, 7, EPOCH, 1.0),
            now: Mono::ZERO,
            clients: Vec::new(),
            headers: true,
            due: BinaryHeap::new(),
            slots: HashMap::new(),
            count: 0,
            scrubber: Scrubber::new([]),
        }
    }

    /// A dispatcher over the orgs of the scenario, each with this cap.
    pub(crate) fn client(&mut self, cap: u32, settings: DispatchSettings) -> usize {
        let orgs: Vec<OrgSpec> = self
            .sim
            .scenario()
            .orgs
            .iter()
            .map(|org| OrgSpec {
                label: org.label.clone(),
                key_env: "KEY".to_owned(),
                key: Secret::new(org.key.expose()).unwrap(),
                base_url: "http://127.0.0.1".to_owned(),
                caps: [cap; Family::COUNT],
            })
            .collect();
        let seed = 100 + self.clients.len() as u64;
        self.clients.push(Client {
            core: Core::new(&orgs, settings, seed),
            heads: orgs.iter().map(|org| head(&org.key)).collect(),
            peak: vec![0; orgs.len()],
            in_flight: vec![0; orgs.len()],
            orgs,
            sizes: Vec::new(),
            woken: None,
            flying: HashMap::new(),
            sent: BTreeMap::new(),
            seconds: BTreeMap::new(),
            rested: BTreeMap::new(),
            answers: BTreeMap::new(),
        });
        self.clients.len() - 1
    }

    /// Starts a run of `n` requests, whose `max_tokens` are given by their numbers.
    pub(crate) fn run(&mut self, client: usize, n: u32, max_tokens: impl Fn(u32) -> u32) -> RunSlot {
        self.run_as(client, n, max_tokens, &Start { unattended: true, look: None })
    }

    /// Starts a run in a certain way.
    pub(crate) fn run_as(
        &mut self,
        client: usize,
        n: u32,
        max_tokens: impl Fn(u32) -> u32,
        start: &Start<'_>,
    ) -> RunSlot {
        let now = self.clocks();
        let tokens: Vec<u32> = (0..n).map(max_tokens).collect();
        let slot = RunSlot(self.clients[client].sizes.len() as u16);
        let sizes = (0..n)
            .map(|no| (body(client, slot, RequestNo(no), tokens[no as usize]).len() as u32 + 40, tokens[no as usize]));
        let sizes = Requests(sizes.collect());
        self.clients[client].sizes.push(tokens);
        assert_eq!(self.clients[client].core.add_run(sizes, Family::Haiku, start.unattended, now), slot);
        if let Some(model) = start.look {
            let wanted = self.clients[client].core.look(slot, model, 16, now);
            self.perform(client, wanted);
        }
        self.step(client, Vec::new());
        slot
    }

    pub(crate) fn snapshot(&mut self, client: usize) -> Snapshot {
        let now = self.clocks();
        self.clients[client].core.snapshot(now)
    }

    /// Lets time pass until then.
    pub(crate) fn until(&mut self, end: Duration) {
        self.until_or(Mono::from_span(end), |_| false);
    }

    /// Lets time pass until every run of a client has come to rest, at most until then.
    pub(crate) fn until_rest(&mut self, client: usize, latest: Duration) {
        self.until_or(Mono::from_span(latest), |world| {
            let client = &world.clients[client];
            client.rested.len() == client.sizes.len()
        });
    }

    fn until_or(&mut self, end: Mono, done: impl Fn(&World) -> bool) {
        while !done(self) {
            match self.due.peek() {
                Some(Reverse((at, ..))) if *at <= end => {}
                _ => break,
            }
            let Some(Reverse((at, count, _))) = self.due.pop() else { break };
            self.now = self.now.max(at);
            if let Some(due) = self.slots.remove(&count) {
                self.happen(due);
            }
        }
        if !done(self) {
            self.now = end;
        }
    }

    pub(crate) fn clocks(&self) -> Now {
        Now { mono: self.now, wall: Wall(EPOCH.0 + self.now.span().as_millis() as i64) }
    }

    fn at(&mut self, at: Mono, due: Due) {
        self.count += 1;
        self.slots.insert(self.count, due);
        self.due.push(Reverse((at, self.count, Slot)));
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Arrive(call) => self.arrive(call),
            Due::Answer(call, ticket) => {
                let answer = self.sim.answer(self.now.span(), ticket);
                let reply = self.read(answer);
                self.at(self.now + WIRE, Due::Happen(call.client, ended(call, reply)));
            }
            Due::Lost(call, ticket) => {
                self.sim.gone(self.now.span(), ticket);
                self.at(self.now + WIRE, Due::Happen(call.client, ended(call, broken(Trouble::Broken))));
            }
            Due::Happen(client, happened) => self.step(client, vec![happened]),
            Due::Wake(client) => {
                if self.clients[client].woken.is_some_and(|at| at <= self.now) {
                    self.clients[client].woken = None;
                    self.step(client, Vec::new());
                }
            }
        }
    }

    fn arrive(&mut self, call: Call) {
        let client = &self.clients[call.client];
        let max_tokens = client.sizes[call.run.ix()][call.no.ix()];
        let body = body(call.client, call.run, call.no, max_tokens);
        let request = SimRequest {
            method: &http::Method::POST,
            target: "/v1/messages",
            headers: &client.heads[call.org.ix()],
            body: body.as_bytes(),
        };
        let Fate { ending, ticket } = self.sim.arrive(self.now.span(), &request);
        match ending {
            Ending::Answer { after } => self.at(self.now + after, Due::Answer(call, ticket)),
            Ending::Reset { after, .. } | Ending::CutBody { after, .. } => {
                self.at(self.now + after, Due::Lost(call, ticket));
            }
            Ending::Hang => {
                let at = self.now + TIMEOUT;
                self.at(at, Due::Happen(call.client, ended(call, broken(Trouble::Timeout))));
            }
        }
    }

    fn read(&self, answer: SimResponse) -> Reply {
        let reply = reply::read(answer.status, &answer.headers, answer.body, &self.scrubber, self.clocks().wall);
        if self.headers { reply } else { Reply { limits: RateLimits::default(), ..reply } }
    }

    pub(crate) fn step(&mut self, client: usize, happened: Vec<Happened>) {
        let now = self.clocks();
        for happened in &happened {
            self.clients[client].note(happened, self.now);
        }
        let wanted = self.clients[client].core.step(happened, now);
        self.perform(client, wanted);
        let wake = self.clients[client].core.next_wake(self.now);
        let of = &mut self.clients[client];
        if let Some(wake) = wake.filter(|wake| of.woken.is_none_or(|standing| *wake < standing)) {
            of.woken = Some(wake);
            self.at(wake, Due::Wake(client));
        }
    }

    pub(crate) fn perform(&mut self, client: usize, wanted: Vec<Wanted>) {
        for wanted in wanted {
            match wanted {
                Wanted::Send { run, no, org } => {
                    self.clients[client].sent(run, no, org, self.now);
                    let call = Call { client, run, no, org, started: self.now };
                    self.at(self.now + WIRE, Due::Arrive(call));
                }
                Wanted::Record { run, no, outcome } => {
                    self.at(self.now + DISK, Due::Happen(client, Happened::Synced { run, no, outcome }));
                }
                Wanted::Look { org, model, name } => {
                    let sight = self.sight(client, org, &name);
                    self.at(self.now + WIRE * 2, Due::Happen(client, Happened::Looked { org, model, sight }));
                }
                Wanted::Abandon { run } => self.clients[client].abandon(run),
                Wanted::Rest { run, exit_code } => {
                    let now = self.now;
                    self.clients[client].rested.insert(run, (now, exit_code));
                }
            }
        }
    }

    /// What an org shows of itself, without a wire between.
    fn sight(&mut self, client: usize, org: OrgId, model: &str) -> Sight {
        let target = format!("/v1/models/{model}");
        let headers = self.clients[client].heads[org.ix()].clone();
        let request = SimRequest { method: &http::Method::GET, target: &target, headers: &headers, body: b"" };
        let fate = self.sim.arrive(self.now.span(), &request);
        let answer = self.sim.answer(self.now.span(), fate.ticket);
        let organization = answer.headers.get("anthropic-organization-id");
        let finding = match answer.status.as_u16() {
            200 => Finding::Model { max_tokens: Some(64_000) },
            401 => Finding::Unauthorized(ApiError { status: Some(401), ..ApiError::default() }),
            404 => Finding::NoSuchModel,
            _ => Finding::Untold,
        };
        Sight { organization: organization.map(|id| id.to_str().unwrap().to_owned()), at: None, finding }
    }
}

impl Client {
    fn sent(&mut self, run: RunSlot, no: RequestNo, org: OrgId, now: Mono) {
        assert!(self.flying.insert((run, no), org).is_none(), "request {no:?} of {run:?} is in flight twice");
        self.in_flight[org.ix()] += 1;
        let of_org = self.in_flight[org.ix()];
        self.peak[org.ix()] = self.peak[org.ix()].max(of_org);
        assert!(of_org <= self.orgs[org.ix()].caps[0], "{of_org} in flight on {}", self.orgs[org.ix()].label);
        *self.sent.entry(run).or_default() += 1;
        self.second(org, now).sent += 1;
    }

    fn abandon(&mut self, run: RunSlot) {
        let in_flight = &mut self.in_flight;
        self.flying.retain(|(of, _), org| {
            let stays = *of != run;
            in_flight[org.ix()] -= u32::from(!stays);
            stays
        });
    }

    fn note(&mut self, happened: &Happened, now: Mono) {
        let Happened::Ended { run, no, org, reply, .. } = happened else { return };
        if self.flying.remove(&(*run, *no)).is_some() {
            self.in_flight[org.ix()] -= 1;
        }
        let second = self.second(*org, now);
        match &reply.verdict {
            Verdict::Answered { usage, .. } => {
                second.ok += 1;
                second.tokens += usage.output_tokens;
                *self.answers.entry(*run).or_default() += 1;
            }
            Verdict::Trouble(Trouble::RateLimited(_), _) => second.limited += 1,
            _ => {}
        }
    }

    fn second(&mut self, org: OrgId, now: Mono) -> &mut Second {
        let orgs = self.orgs.len();
        let of = self.seconds.entry(now.span().as_secs()).or_insert_with(|| vec![Second::default(); orgs]);
        &mut of[org.ix()]
    }

    /// Sums over the seconds `from..to`, all orgs.
    pub(crate) fn sum(&self, from: u64, to: u64) -> Second {
        self.seconds.range(from..to).flat_map(|(_, orgs)| orgs).fold(Second::default(), add)
    }

    /// Sums over the seconds `from..to` of one org.
    pub(crate) fn sum_of(&self, org: usize, from: u64, to: u64) -> Second {
        self.seconds.range(from..to).map(|(_, orgs)| &orgs[org]).fold(Second::default(), add)
    }
}

fn add(sum: Second, of: &Second) -> Second {
    Second {
        sent: sum.sent + of.sent,
        ok: sum.ok + of.ok,
        tokens: sum.tokens + of.tokens,
        limited: sum.limited + of.limited,
    }
}
