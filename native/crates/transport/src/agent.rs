//! The duty cycle: everything that one process does for its transport, on one thread, without waiting.

mod connections;
mod messages;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use sluice_mem::Arena;

use self::messages::{Greeters, MalformedSenders};
use crate::completions::Failure;
use crate::disk::{DISK_THREADS, Disk, DiskThreads, MAX_DISK_JOBS};
use crate::effort::Effort;
use crate::links::{Links, Openings};
use crate::locator::Locator;
use crate::message::InstanceId;
use crate::options::Machine;
use crate::owner::Owner;
use crate::proof::{Secret, random_instance};
use crate::reader::Reader;
use crate::refusals::Refusals;
use crate::regions::MappedRegions;
use crate::registration_trial::try_directories;
use crate::statistics::Statistic;
use crate::tags::Tags;
use crate::wire::{Event, Wire, WireError};

pub use crate::options::TransportOptions;
pub(crate) use crate::shared::{Command, PeerNews, PeerState, Shared};

/// Both roles of one process: it serves its own map outputs to readers and reads those of other processes.
///
/// Two processes share one connection, whichever of them opened it, so that when either side closes it, all that the
/// other side was told over it ends too.
pub(crate) struct Agent<W: Wire> {
    wire: W,
    shared: Arc<Shared>,
    instance: InstanceId,
    address: Vec<u8>,
    owner: Owner,
    reader: Reader,
    links: Links,
    tags: Tags,
    connection_idle: Duration,
    events: Vec<Event>,
    /// What has arrived and was not taken up, in its order.
    arrived: VecDeque<Event>,
    checked: Option<Instant>,
    turns: u64,
    malformed: MalformedSenders,
    /// What has become of peers and was not told to callers yet.
    news: Vec<PeerNews>,
    /// Commands of callers that are still to be carried out, in their order.
    commands: VecDeque<Command>,
    /// What this turn has opened.
    openings: Openings,
    /// Readers that have greeted and for which no turn could open a connection yet.
    greeters: Greeters,
    refusals: Refusals,
    /// Whether a greeting that was not proven has been logged.
    no_proof_told: bool,
}

/// A turn that takes longer, or that comes later, is a pause of this process.
const LONGEST_TURN: Duration = Duration::from_millis(200);
/// Owners are told which batches have been read (DONE) with the next question, when there is nothing else to do, or
/// after this many turns.
const TURNS_BEFORE_DONE: u64 = 64;
/// How often the agent looks for peers that have sent nothing for too long.
const CHECK_EVERY: Duration = Duration::from_millis(50);

impl<W: Wire> Agent<W> {
    /// An agent whose disks have threads of their own.
    ///
    /// # Errors
    /// The system has no thread, or the options allow too little.
    pub(crate) fn new(
        wire: W,
        arena: Arc<Arena>,
        shared: Arc<Shared>,
        options: &TransportOptions,
    ) -> Result<Self, WireError> {
        let disk = DiskThreads::start(DISK_THREADS, MAX_DISK_JOBS, disk_patience(options), wire.waker())?;
        Self::with_disk(wire, arena, shared, options, Box::new(disk))
    }

    pub(crate) fn with_disk(
        mut wire: W,
        arena: Arc<Arena>,
        shared: Arc<Shared>,
        options: &TransportOptions,
        disk: Box<dyn Disk>,
    ) -> Result<Self, WireError> {
        let pins = wire.wants_writable();
        let (limits, mut warnings) = options.region_limits(&Machine::of_this_process(pins))?;
        let mut regions = MappedRegions::new(limits, pins);
        if pins {
            let trials = try_directories(&mut wire, &mut regions, &options.directories);
            warnings.extend(trials.warnings);
            *shared.registrations.lock().unwrap_or_else(PoisonError::into_inner) = trials.ways;
        }
        *shared.warnings.lock().unwrap_or_else(PoisonError::into_inner) = warnings;
        *shared.means.lock().unwrap_or_else(PoisonError::into_inner) = wire.means();
        let instance = random_instance();
        let address = [&instance.0.to_le_bytes(), wire.address()].concat();
        let secret = Secret::new(&options.secret);
        let locator = Locator::new(Arc::clone(&shared.catalog), regions, disk, disk_patience(options));
        let owner = Owner::new(instance, secret.clone(), locator);
        let completions = Arc::clone(&shared.completions);
        let reader = Reader::new(instance, address.clone(), secret, arena, completions, options);
        let links = Links::new(options.max_connections);
        let connection_idle = options.connection_idle;
        let (events, arrived, checked, turns, malformed, refusals, no_proof_told) = Default::default();
        let (news, commands, openings, greeters) = Default::default();
        Ok(Self {
            wire,
            shared,
            instance,
            address,
            owner,
            reader,
            links,
            tags: Tags::default(),
            connection_idle,
            events,
            arrived,
            checked,
            turns,
            malformed,
            news,
            commands,
            openings,
            greeters,
            refusals,
            no_proof_told,
        })
    }

    /// What peers need to connect: the instance, then the wire's address.
    pub(crate) fn address(&self) -> &[u8] {
        &self.address
    }

    pub(crate) fn wire(&mut self) -> &mut W {
        &mut self.wire
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.reader
    }

    #[cfg(test)]
    pub(crate) fn regions(&self) -> &MappedRegions {
        self.owner.locator.regions()
    }

    /// Does the work that there is; returns whether there was any. Waits neither for a disk nor for a caller's thread:
    /// queues to and from others are without locks, or are tried again in the next turn. The locks that it does take
    /// are those of the arena and of the heap, which tasks' threads hold for a lease or a release, and of the standard
    /// error when it logs.
    pub(crate) fn turn(&mut self, now: Instant) -> bool {
        let start = Instant::now();
        self.openings = Openings::default();
        // What has arrived is taken up first, so there is never more of it than the wire brings at once.
        if self.arrived.is_empty() {
            self.wire.progress(&mut self.events);
            self.arrived.extend(self.events.drain(..));
        }
        // After the wire's turn, because a peer can ask for an output only after it was published.
        self.commands.extend(self.shared.inbox.take());
        let mut worked = !self.arrived.is_empty() || !self.commands.is_empty() || !self.greeters.is_empty();
        self.excuse_pause(now);
        self.admit_greeters(now);
        self.carry_out(now);
        self.take_up(now);
        worked |= self.take_disk_jobs(now);
        let questions = self.reader.start_gets(&mut self.wire, now);
        self.send_all(questions);
        self.owner.locator.unmap_discarded();
        self.shared.step();
        self.turns += 1;
        if !worked || self.turns.is_multiple_of(TURNS_BEFORE_DONE) {
            let done = self.reader.take_done();
            self.send_all(done);
        }
        if self.checked.is_none_or(|last| now.saturating_duration_since(last) >= CHECK_EVERY) {
            self.checked = Some(now);
            self.reader.silent(now).into_iter().for_each(|broken| self.give_up(broken));
            self.close_idle(now);
            self.owner.locator.refresh();
            self.owner.locator.expire(&mut self.wire, now);
            self.send_answers();
            self.note_statistics(now);
        }
        self.shared.tell(&mut self.news);
        // A caller that learns that a block has failed asks at once why: so the reason comes first.
        worked |= !(self.news.is_empty() && self.reader.deliver());
        worked |= !self.commands.is_empty() || !self.greeters.is_empty() || !self.arrived.is_empty();
        let put_off = self.commands.len() + self.greeters.len() + self.arrived.len();
        self.shared.put_off.store(put_off, Ordering::Relaxed);
        if worked {
            self.note_statistics(now);
        }
        let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.shared.statistics().raise(Statistic::LongestTurnNanos, nanos);
        worked
    }

    /// Takes up what has arrived, as much as a turn does of it, at least one event.
    fn take_up(&mut self, now: Instant) {
        let (mut effort, mut opened) = (Effort::of_a_turn(), self.openings.count());
        while let Some(event) = self.arrived.pop_front() {
            effort.take_up(&event);
            self.shared.step();
            self.event(event, now);
            effort.opened(self.openings.count() - opened);
            opened = self.openings.count();
            if !effort.is_left() {
                break;
            }
        }
    }

    /// Carries out commands. Those that need a connection which this turn may not open any more are put off, with the
    /// later ones for the same peers.
    fn carry_out(&mut self, now: Instant) {
        let (mut put_off, mut peers) = (VecDeque::new(), HashSet::new());
        for command in std::mem::take(&mut self.commands) {
            self.shared.step();
            let peer = command.peer();
            let must_wait = peer.is_some_and(|peer| peers.contains(&peer));
            let left = if must_wait { Some(command) } else { self.command(command, now) };
            peers.extend(peer.filter(|_| left.is_some()));
            put_off.extend(left);
        }
        // Before those that carrying out commands has added.
        put_off.append(&mut self.commands);
        self.commands = put_off;
    }

    /// Processes the jobs that the disks' threads have done; returns whether there was any.
    fn take_disk_jobs(&mut self, now: Instant) -> bool {
        let mut worked = false;
        // A job that has ended may start other jobs that end at once.
        while self.owner.locator.has_jobs() && self.owner.locator.take_jobs(&mut self.wire, now, || self.shared.step())
        {
            worked = true;
        }
        if worked {
            self.send_answers();
        }
        worked
    }

    fn note_statistics(&self, now: Instant) {
        let (statistics, locator) = (self.shared.statistics(), &self.owner.locator);
        let (budget, refusals) = (locator.regions().budget(), locator.refusals());
        let (pinned, pinned_bytes) = locator.regions().in_use();
        let waits = self.reader.waits();
        let (told, told_too_much) = self.reader.told();
        let (regions, bytes) = (budget.regions(), budget.bytes());
        let (filesystems, copies) = (locator.regions().filesystems(), locator.regions().copies());
        let failed_registrations = filesystems.failures() + self.wire.failed_registrations();
        let numbers = [
            (Statistic::MappedRegions, regions as u64),
            (Statistic::MappedBytes, bytes as u64),
            (Statistic::PeakMappedBytes, budget.peak_bytes() as u64),
            (Statistic::PinnedRegions, pinned as u64),
            (Statistic::PinnedBytes, pinned_bytes as u64),
            (Statistic::OpenQuestions, self.owner.open_questions() as u64),
            (Statistic::DiskJobs, locator.disk_jobs() as u64),
            (Statistic::GetsInFlight, self.reader.gets_in_flight() as u64),
            (Statistic::RefusedMapped, refusals.mapped),
            (Statistic::RefusedQuestions, refusals.questions),
            (Statistic::RefusedDisk, refusals.disk),
            (Statistic::DiskTimeouts, refusals.disk_timeouts),
            (Statistic::FailedRegistrations, failed_registrations),
            (Statistic::CopiedRegions, copies.made),
            (Statistic::CopiedBytes, copies.bytes as u64),
            (Statistic::CopiedFilesystems, filesystems.copied() as u64),
            (Statistic::RefusedFilesystems, filesystems.refused(now) as u64),
            (Statistic::ReceiveWaits, waits.waits),
            (Statistic::ReceiveWaitNanos, u64::try_from(waits.time.as_nanos()).unwrap_or(u64::MAX)),
            (Statistic::ReceiveGivenUp, waits.given_up),
            (Statistic::ToldBytes, told as u64),
            (Statistic::ToldTooMuch, told_too_much),
        ];
        numbers.into_iter().for_each(|(statistic, value)| statistics.set(statistic, value));
    }

    /// Time in which this agent did not run does not count against its peers' timeout.
    fn excuse_pause(&mut self, now: Instant) {
        let pause = self.checked.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        if pause > LONGEST_TURN {
            self.reader.excuse(pause, now);
        }
    }

    /// Whether something is waited for that may come at any moment.
    pub(crate) fn expects(&self) -> bool {
        self.reader.expects()
    }

    /// Whether blocks wait until other threads give memory back: nothing wakes the agent then.
    pub(crate) fn waits_for_memory(&self) -> bool {
        self.reader.waits_for_memory()
    }

    /// Ends everything; no block is completed any more.
    pub(crate) fn stop(&mut self) {
        self.shared.completions.close();
        for other in self.links.others() {
            self.close_link(other, Failure::Peer, "the transport was stopped");
        }
        self.refusals.close(&mut self.wire);
        // Reads must end before their leases are released.
        let end = Instant::now() + Duration::from_secs(1);
        let mut events: Vec<Event> = self.arrived.drain(..).collect();
        while self.reader.has_gets() && Instant::now() < end {
            self.wire.progress(&mut events);
            for event in events.drain(..) {
                if let Event::Got { token, result } = event {
                    let now = Instant::now();
                    if self.reader.tested(&mut self.wire, token, &result, now).is_none() {
                        self.reader.got(token, false, now);
                    }
                }
            }
        }
        self.reader.leak_gets();
        self.reader.deliver();
        self.owner.close(&mut self.wire);
    }

    /// Carries out a command; gives it back if it must wait for another turn.
    fn command(&mut self, command: Command, now: Instant) -> Option<Command> {
        match command {
            Command::Connect { peer, attempt, ref address } => {
                let is_done = self.connect(peer, attempt, address, now);
                return (!is_done).then_some(command);
            }
            Command::Disconnect { peer } => self.disconnect(peer),
            Command::Fetch { peer, .. } | Command::Retry { peer, .. } if !self.reconnect(peer, now) => {
                return Some(command);
            }
            Command::Fetch { request, peer, blocks } => {
                let messages = self.reader.fetch(request, peer, &blocks, now);
                self.send_all(messages);
            }
            Command::Retry { peer, batches } => {
                let messages = self.reader.retry(peer, batches, now);
                self.send_all(messages);
            }
            Command::Withdraw(outputs) => {
                let regions = self.owner.locator.regions_mut();
                outputs.iter().for_each(|output| regions.withdraw(&mut self.wire, output));
            }
        }
        None
    }
}

/// How long a disk may take: readers wait twice as long for an answer.
fn disk_patience(options: &TransportOptions) -> Duration {
    options.timeout / 2
}

/// An agent's address: the instance, then the wire's.
fn split_address(address: &[u8]) -> Option<(InstanceId, &[u8])> {
    let (instance, wire) = address.split_first_chunk::<8>()?;
    Some((InstanceId(u64::from_le_bytes(*instance)), wire))
}
