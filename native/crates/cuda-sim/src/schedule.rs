//! Streams, events and the work that is pending in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::accesses::Clock;
use crate::random::Random;
use crate::work::Work;

/// Of all work, in the order of the calls.
pub(crate) type WorkId = u64;

/// Which stream is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamKey {
    Legacy,
    /// The default stream of a thread.
    Thread(u64),
    /// By handle.
    Made(usize),
}

#[derive(Debug)]
struct Stream {
    device: usize,
    key: StreamKey,
    /// Whether it and the legacy stream wait for each other.
    blocking: bool,
    pending: VecDeque<WorkId>,
    /// Number of the last work.
    number: u64,
    /// What is before the next work.
    clock: Clock,
}

/// Work in a stream.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) device: usize,
    pub(crate) stream: usize,
    pub(crate) number: u64,
    pub(crate) clock: Clock,
    pub(crate) function: &'static str,
    pub(crate) work: Work,
    /// Other streams' work that comes first.
    after: Vec<WorkId>,
    /// Whether it never ends.
    hangs: bool,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) timing: bool,
    /// The record that it stands for; it is done when that is not pending.
    recorded: Option<WorkId>,
    clock: Clock,
    /// When the record was done.
    pub(crate) step: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Schedule {
    streams: Vec<Stream>,
    by_key: BTreeMap<(usize, StreamKey), usize>,
    pending: BTreeMap<WorkId, Pending>,
    pub(crate) events: BTreeMap<usize, Event>,
    last_id: WorkId,
    /// What threads have seen to be done.
    pub(crate) observed: Clock,
}

impl Schedule {
    /// A stream's index; a default stream is made when it is first named.
    pub(crate) fn stream(&mut self, device: usize, key: StreamKey) -> Option<usize> {
        match self.by_key.get(&(device, key)) {
            Some(&index) => Some(index),
            None if matches!(key, StreamKey::Made(_)) => None,
            None => Some(self.make_stream(device, key, true)),
        }
    }

    pub(crate) fn make_stream(&mut self, device: usize, key: StreamKey, blocking: bool) -> usize {
        let (pending, clock) = (VecDeque::new(), Clock::default());
        self.streams.push(Stream { device, key, blocking, pending, number: 0, clock });
        self.by_key.insert((device, key), self.streams.len() - 1);
        self.streams.len() - 1
    }

    /// Its handle is of no more use; what is pending is done all the same.
    pub(crate) fn end_stream(&mut self, device: usize, key: StreamKey) -> bool {
        self.by_key.remove(&(device, key)).is_some()
    }

    /// Streams that were made and not destroyed.
    pub(crate) fn made_streams(&self, device: usize) -> usize {
        self.by_key.keys().filter(|(of, key)| *of == device && matches!(key, StreamKey::Made(_))).count()
    }

    /// Puts work at the end of a stream. `event` is one to wait for before.
    pub(crate) fn put(
        &mut self,
        stream: usize,
        function: &'static str,
        work: Work,
        event: Option<usize>,
        hangs: bool,
    ) -> WorkId {
        let (mut after, mut clock) = (Vec::new(), self.streams[stream].clock.clone());
        clock.join(&self.observed);
        for other in self.implied(stream) {
            after.extend(self.streams[other].pending.back());
            clock.join(&self.streams[other].clock);
        }
        if let Some(event) = event.and_then(|event| self.events.get(&event)) {
            after.extend(event.recorded);
            clock.join(&event.clock);
        }
        self.last_id += 1;
        let target = &mut self.streams[stream];
        target.number += 1;
        clock.set(stream, target.number);
        target.clock = clock.clone();
        target.pending.push_back(self.last_id);
        let (device, number) = (target.device, target.number);
        self.pending.insert(self.last_id, Pending { device, stream, number, clock, function, work, after, hangs });
        self.last_id
    }

    /// The streams whose work comes before what is put into `stream` now: the rules of the legacy default stream.
    fn implied(&self, stream: usize) -> Vec<usize> {
        let this = &self.streams[stream];
        if !this.blocking {
            return Vec::new();
        }
        let legacy = this.key == StreamKey::Legacy;
        let others = self.streams.iter().enumerate().filter(|(index, other)| {
            *index != stream
                && other.device == this.device
                && other.blocking
                && (legacy || other.key == StreamKey::Legacy)
        });
        others.map(|(index, _)| index).collect()
    }

    /// Puts the record of an event at the end of a stream.
    pub(crate) fn record(&mut self, stream: usize, function: &'static str, event: usize, hangs: bool) {
        let id = self.put(stream, function, Work::Record(event), None, hangs);
        let clock = self.streams[stream].clock.clone();
        if let Some(event) = self.events.get_mut(&event) {
            (event.recorded, event.clock, event.step) = (Some(id), clock, None);
        }
    }

    pub(crate) fn make_event(&mut self, handle: usize, device: usize, timing: bool) {
        let (recorded, clock, step) = (None, Clock::default(), None);
        self.events.insert(handle, Event { device, timing, recorded, clock, step });
    }

    /// The record of an event was done.
    pub(crate) fn recorded(&mut self, handle: usize, id: WorkId, step: u64) {
        if let Some(event) = self.events.get_mut(&handle).filter(|event| event.recorded == Some(id)) {
            event.step = Some(step);
        }
    }

    /// What has to be done for an event.
    pub(crate) fn of_event(&self, handle: usize) -> Option<Vec<WorkId>> {
        self.events.get(&handle).map(|event| event.recorded.into_iter().collect())
    }

    /// What has to be done for a stream.
    pub(crate) fn of_stream(&self, stream: usize) -> Vec<WorkId> {
        self.streams[stream].pending.back().copied().into_iter().collect()
    }

    /// All that is pending on a device.
    pub(crate) fn of_device(&self, device: usize) -> Vec<WorkId> {
        self.pending.iter().filter(|(_, work)| work.device == device).map(|(id, _)| *id).collect()
    }

    pub(crate) fn is_done(&self, targets: &[WorkId]) -> bool {
        targets.iter().all(|id| !self.pending.contains_key(id))
    }

    /// A thread has seen that an event is done.
    pub(crate) fn observe_event(&mut self, handle: usize) {
        if let Some(event) = self.events.get(&handle) {
            self.observed.join(&event.clock);
        }
    }

    /// A thread has seen that all of a stream's work is done.
    pub(crate) fn observe_stream(&mut self, stream: usize) {
        self.observed.join(&self.streams[stream].clock);
    }

    /// The driver has waited for all of a device's work.
    pub(crate) fn observe_device(&mut self, device: usize) {
        for stream in self.streams.iter().filter(|stream| stream.device == device) {
            self.observed.join(&stream.clock);
        }
    }

    /// Takes work that can be done now, for `targets` or sometimes any. None if something that never ends is before
    /// all that is left.
    pub(crate) fn take(&mut self, targets: &[WorkId], random: &mut Random) -> Option<(WorkId, Pending)> {
        let needed = self.needed(targets);
        let mut ready: Vec<usize> = needed.into_iter().filter(|stream| self.is_ready(*stream)).collect();
        if ready.is_empty() {
            return None;
        }
        if random.below(8) == 0 {
            ready = (0..self.streams.len()).filter(|stream| self.is_ready(*stream)).collect();
        }
        let stream = ready[random.below(ready.len())];
        let id = self.streams[stream].pending.pop_front()?;
        self.pending.remove(&id).map(|work| (id, work))
    }

    /// The streams with work that has to be done before one of the targets is.
    fn needed(&self, targets: &[WorkId]) -> BTreeSet<usize> {
        // Up to which work of a stream what comes before has been looked at.
        let mut seen: BTreeMap<usize, WorkId> = BTreeMap::new();
        let mut todo = targets.to_vec();
        while let Some(target) = todo.pop() {
            let Some(stream) = self.pending.get(&target).map(|work| work.stream) else { continue };
            let from = seen.get(&stream).copied().unwrap_or(0);
            if target <= from {
                continue;
            }
            seen.insert(stream, target);
            let before = self.streams[stream].pending.iter().filter(|id| **id > from && **id <= target);
            todo.extend(before.filter_map(|id| self.pending.get(id)).flat_map(|work| work.after.iter().copied()));
        }
        seen.into_keys().collect()
    }

    /// Whether the first work of a stream can be done.
    fn is_ready(&self, stream: usize) -> bool {
        let first = self.streams[stream].pending.front().and_then(|id| self.pending.get(id));
        first.is_some_and(|work| !work.hangs && self.is_done(&work.after))
    }

    /// Work on a device, in no order.
    pub(crate) fn pending(&self, device: usize) -> impl Iterator<Item = &Pending> {
        self.pending.values().filter(move |work| work.device == device)
    }

    pub(crate) fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// The device's context is gone, with all that was in it.
    pub(crate) fn forget(&mut self, device: usize) {
        self.pending.retain(|_, work| work.device != device);
        self.events.retain(|_, event| event.device != device);
        self.by_key.retain(|(of, _), _| *of != device);
        for stream in self.streams.iter_mut().filter(|stream| stream.device == device) {
            // Numbers go on: indices of streams are not used again.
            stream.pending.clear();
            stream.device = usize::MAX;
        }
    }

    /// A word for a stream.
    pub(crate) fn describe(&self, stream: usize) -> String {
        match self.streams[stream].key {
            StreamKey::Legacy => "legacy".into(),
            StreamKey::Thread(thread) => format!("thread {thread}"),
            StreamKey::Made(_) => format!("stream {stream}"),
        }
    }
}
