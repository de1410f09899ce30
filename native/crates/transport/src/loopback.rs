//! A wire within one process, with a clock of its own and faults to order: the protocol's tests run on it the same
//! every time. It keeps what [`Wire`] promises, and fails reads of memory that is not registered.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_mem::MemoryKind;

use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

/// Closed connections that are remembered before those of which nothing is under way are forgotten.
const MOST_CLOSED: usize = 64;

/// What can go wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// The longest that a message or a read takes; each takes a random time up to it.
    pub delay: Duration,
    /// Of a thousand reads, so many fail and their connection with them.
    pub failing_reads: u32,
    /// Of a thousand messages, so many are the last that their connection brings.
    pub failing_messages: u32,
}

/// The network: all wires made from it can reach each other. Cloning gives another handle to the same one.
#[derive(Clone, Default)]
pub struct Network(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Duration,
    random: u64,
    next: u64,
    faults: Faults,
    nodes: HashMap<u64, Node>,
    connections: BTreeMap<u64, Connection>,
    /// By the node that opens and the node that it opens to.
    openings: HashMap<(u64, u64), u32>,
    regions: HashMap<Region, (u64, u64, u64)>,
    /// Regions on devices, and what copies from them.
    on_devices: HashSet<Region>,
    devices: Option<Arc<DeviceReads>>,
}

/// Copies on a device: target, source and bytes. As UCX does, it waits; whether all bytes were copied.
pub type DeviceReads = dyn Fn(usize, usize, usize) -> Result<(), String> + Send + Sync;

#[derive(Default)]
struct Node {
    silent: bool,
    /// Calls of its wire since they were last taken.
    calls: usize,
    inbox: VecDeque<(Duration, u64, Event)>,
    /// When the last message of a connection arrives: they keep their order.
    arrivals: HashMap<u64, Duration>,
    reads: Vec<Read>,
}

struct Connection {
    number: u32,
    nodes: [u64; 2],
    ends: [Option<Endpoint>; 2],
    closed: bool,
    /// The node that has closed it, if it was closed and has not failed: what that node sent before still arrives.
    closed_by: Option<u64>,
}

struct Read {
    /// Of `local`.
    kind: MemoryKind,
    due: Duration,
    token: u64,
    connection: Option<u64>,
    region: Region,
    remote: u64,
    local: usize,
    bytes: usize,
}

impl Network {
    /// A network whose chances follow from `seed`.
    pub fn new(seed: u64) -> Self {
        let network = Self::default();
        network.lock().random = seed.wrapping_mul(2).wrapping_add(1);
        network
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new wire of this network.
    pub fn wire(&self) -> Loopback {
        let mut state = self.lock();
        state.next += 1;
        let node = state.next;
        state.nodes.insert(node, Node::default());
        Loopback { network: self.clone(), node, address: node.to_le_bytes().to_vec() }
    }

    /// From now on the wires read memory of devices into memory of devices by this.
    pub fn set_devices(&self, reads: Arc<DeviceReads>) {
        self.lock().devices = Some(reads);
    }

    /// From now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Lets time go by.
    pub fn advance(&self, time: Duration) {
        self.lock().now += time;
    }

    /// Takes a wire off the network, as the end of its process does: its connections fail.
    pub fn kill(&self, address: &[u8]) {
        let mut state = self.lock();
        let Some(node) = node_of(address) else { return };
        let of_node = state.connections.iter().filter(|(_, connection)| connection.nodes.contains(&node));
        let of_node: Vec<u64> = of_node.map(|(number, _)| *number).collect();
        of_node.into_iter().for_each(|connection| state.fail(connection, "the peer is gone"));
        state.nodes.remove(&node);
        state.regions.retain(|_, (owner, _, _)| *owner != node);
    }

    /// Ends all connections of a wire, as a firewall does that forgets them, or a reset: both sides are told of it.
    pub fn reset(&self, address: &[u8]) {
        let mut state = self.lock();
        let Some(node) = node_of(address) else { return };
        let of_node = state.connections.iter().filter(|(_, connection)| connection.nodes.contains(&node));
        let of_node: Vec<u64> = of_node.map(|(number, _)| *number).collect();
        of_node.into_iter().for_each(|connection| state.fail(connection, "the connection was reset"));
    }

    /// Cuts a wire off from all others, or connects it again; what is sent to it meanwhile is lost.
    pub fn silence(&self, address: &[u8], silent: bool) {
        let node = node_of(address);
        if let Some(node) = node.and_then(|node| self.lock().nodes.get_mut(&node).map(|node| node.silent = silent)) {
            node
        }
    }

    /// The calls that a wire's user has made since the last look, but for those that only name the wire's own things.
    pub fn take_calls(&self, address: &[u8]) -> usize {
        let mut state = self.lock();
        let node = node_of(address).and_then(|node| state.nodes.get_mut(&node));
        node.map_or(0, |node| std::mem::take(&mut node.calls))
    }

    /// Regions that are registered, over all wires.
    pub fn regions(&self) -> usize {
        self.lock().regions.len()
    }

    /// Connections that are open on any side.
    pub fn connections(&self) -> usize {
        self.lock().connections.values().filter(|connection| !connection.closed).count()
    }
}

fn unreadable() -> WireError {
    WireError("this wire does not read from or to this memory of GPUs".into())
}

fn node_of(address: &[u8]) -> Option<u64> {
    address.try_into().ok().map(u64::from_le_bytes)
}

impl State {
    /// xorshift64: a test wants the same numbers every time, not good ones.
    fn chance(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn one_of_thousand(&mut self, faults: u32) -> bool {
        self.chance() % 1000 < u64::from(faults)
    }

    fn due(&mut self) -> Duration {
        let longest = self.faults.delay.as_micros() as u64;
        self.now + Duration::from_micros(if longest == 0 { 0 } else { self.chance() % (longest + 1) })
    }

    fn of_end(&self, node: u64, endpoint: Endpoint) -> Option<u64> {
        let is_end = |connection: &Connection| {
            !connection.closed && (0..2).any(|i| connection.nodes[i] == node && connection.ends[i] == Some(endpoint))
        };
        self.connections.iter().find(|(_, connection)| is_end(connection)).map(|(number, _)| *number)
    }

    /// Whether a connection was closed or has failed; one that is forgotten was.
    fn is_closed(&self, connection: Option<u64>) -> bool {
        connection.and_then(|number| self.connections.get(&number)).is_none_or(|connection| connection.closed)
    }

    /// Forgets closed connections of which nothing is under way, when there are many.
    fn forget_closed(&mut self) {
        if self.connections.values().filter(|connection| connection.closed).count() < MOST_CLOSED {
            return;
        }
        let used: HashSet<u64> =
            self.nodes.values().flat_map(|node| node.inbox.iter().map(|(_, connection, _)| *connection)).collect();
        self.connections.retain(|number, connection| !connection.closed || used.contains(number));
        let Self { nodes, connections, .. } = self;
        nodes.values_mut().for_each(|node| node.arrivals.retain(|number, _| connections.contains_key(number)));
    }

    fn is_silent(&self, node: u64) -> bool {
        self.nodes.get(&node).is_none_or(|node| node.silent)
    }

    /// Ends a connection for both sides; those that have opened it hear of it.
    fn fail(&mut self, number: u64, why: &str) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if std::mem::replace(&mut connection.closed, true) {
            return;
        }
        let ends: Vec<(u64, Endpoint)> =
            connection.nodes.iter().zip(connection.ends).filter_map(|(node, end)| Some((*node, end?))).collect();
        let now = self.now;
        for (node, endpoint) in ends {
            let event = Event::Failed { endpoint, error: WireError(why.into()) };
            if let Some(node) = self.nodes.get_mut(&node).filter(|node| !node.silent) {
                // After what was sent before.
                let due = node.arrivals.get(&number).map_or(now, |last| now.max(*last));
                node.inbox.push_back((due, number, event));
            }
        }
    }

    fn read(&mut self, read: &Read) -> Result<(), WireError> {
        let error = |why: &str| Err(WireError(why.into()));
        if self.is_closed(read.connection) {
            return error("the connection is closed");
        }
        let Some((_, address, bytes)) = self.regions.get(&read.region) else {
            return error("the region is not registered");
        };
        let inside = read.remote >= *address && read.remote + read.bytes as u64 <= address + bytes;
        if !inside {
            return error("outside of the region");
        }
        match (self.on_devices.contains(&read.region), read.kind.device().is_some(), &self.devices) {
            (false, false, _) => {}
            (true, true, Some(copy)) => return copy(read.local, read.remote as usize, read.bytes).map_err(WireError),
            _ => return Err(unreadable()),
        }
        // SAFETY: neither is on a device. The region is registered, so its owner keeps it mapped, and the range lies in
        // it; `local` is writable until the read is reported (contract of `get`), and no part of a registered file.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::with_exposed_provenance::<u8>(read.remote as usize),
                std::ptr::with_exposed_provenance_mut::<u8>(read.local),
                read.bytes,
            );
        }
        Ok(())
    }
}

/// One process's end of a [`Network`].
pub struct Loopback {
    network: Network,
    node: u64,
    address: Vec<u8>,
}

impl Loopback {
    /// The network's state, for a call that is counted.
    fn call(&self) -> MutexGuard<'_, State> {
        let mut state = self.network.lock();
        state.nodes.get_mut(&self.node).into_iter().for_each(|node| node.calls += 1);
        state
    }
}

pub(crate) struct NoWaker;

impl Waker for NoWaker {
    fn wake(&self) {}
}

impl Wire for Loopback {
    fn address(&self) -> &[u8] {
        &self.address
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        let mut state = self.call();
        let other = node_of(address).filter(|other| state.nodes.contains_key(other));
        let other = other.ok_or_else(|| WireError("there is no process at this address".into()))?;
        state.next += 1;
        let endpoint = Endpoint(state.next);
        let number = state.openings.entry((self.node, other)).or_default();
        *number += 1;
        let number = *number;
        let joined = state.connections.values_mut().find(|connection| {
            !connection.closed && connection.nodes == [other, self.node] && connection.number == number
        });
        match joined {
            Some(connection) => connection.ends[1] = Some(endpoint),
            None => {
                state.forget_closed();
                let (nodes, ends) = ([self.node, other], [Some(endpoint), None]);
                state
                    .connections
                    .insert(endpoint.0, Connection { number, nodes, ends, closed: false, closed_by: None });
            }
        }
        Ok(Opened { endpoint, number })
    }

    fn close(&mut self, endpoint: Endpoint) {
        let mut state = self.call();
        let Some(number) = state.of_end(self.node, endpoint) else { return };
        let node = self.node;
        if let Some(connection) = state.connections.get_mut(&number) {
            connection.ends.iter_mut().filter(|end| **end == Some(endpoint)).for_each(|end| *end = None);
            connection.closed_by = Some(node);
        }
        state.fail(number, "the peer has closed the connection");
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        let mut state = self.call();
        let Some(number) = state.of_end(self.node, endpoint) else { return };
        let failing = state.faults.failing_messages;
        if state.one_of_thousand(failing) {
            state.fail(number, "the connection was reset");
            return;
        }
        let Some(nodes) = state.connections.get(&number).map(|connection| connection.nodes) else { return };
        let to = if nodes[0] == self.node { nodes[1] } else { nodes[0] };
        if state.is_silent(to) || state.is_silent(self.node) {
            return;
        }
        let due = state.due();
        if let Some(node) = state.nodes.get_mut(&to) {
            let last = node.arrivals.entry(number).or_default();
            *last = due.max(*last);
            node.inbox.push_back((*last, number, Event::Message(message)));
        }
    }

    unsafe fn register(
        &mut self,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<(Region, Vec<u8>), WireError> {
        let mut state = self.call();
        if kind.device().is_some() && state.devices.is_none() {
            return Err(unreadable());
        }
        state.next += 1;
        let region = Region(state.next);
        if kind.device().is_some() {
            state.on_devices.insert(region);
        }
        state.regions.insert(region, (self.node, address as u64, bytes as u64));
        Ok((region, region.0.to_le_bytes().to_vec()))
    }

    fn reads_device_memory(&mut self, _: Endpoint) -> bool {
        self.call().devices.is_some()
    }

    fn unregister(&mut self, region: Region) {
        self.call().regions.remove(&region);
    }

    fn max_bytes_in_flight(&self, _: Endpoint) -> usize {
        drop(self.call());
        4 << 20
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        let mut state = self.call();
        let connection = state.of_end(self.node, endpoint);
        let region = Region(node_of(get.key).unwrap_or(0));
        let (due, local) = (state.due(), get.local.expose_provenance());
        let Get { token, remote, bytes, kind, .. } = get;
        if let Some(node) = state.nodes.get_mut(&self.node) {
            node.reads.push(Read { kind, due, token, connection, region, remote, local, bytes });
        }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        let mut state = self.call();
        let now = state.now;
        let Some(node) = state.nodes.get_mut(&self.node) else { return };
        let (arrived, later) = std::mem::take(&mut node.inbox).into_iter().partition(|(due, _, _)| *due <= now);
        node.inbox = later;
        let reads = std::mem::take(&mut node.reads);
        let arrived: VecDeque<(Duration, u64, Event)> = arrived;
        // Of a connection that has failed, or that was closed here, nothing is heard any more.
        let heard = |connection: u64, event: &Event| {
            let (closed, closed_by) =
                state.connections.get(&connection).map_or((true, None), |c| (c.closed, c.closed_by));
            !closed || closed_by.is_some_and(|closer| closer != self.node) || matches!(event, Event::Failed { .. })
        };
        events
            .extend(arrived.into_iter().filter(|(_, number, event)| heard(*number, event)).map(|(_, _, event)| event));
        for read in reads {
            let closed = state.is_closed(read.connection);
            let stuck = read.due > now || state.is_silent(self.node);
            if stuck && !closed {
                if let Some(node) = state.nodes.get_mut(&self.node) {
                    node.reads.push(read);
                }
                continue;
            }
            let failing = state.faults.failing_reads;
            let fails = state.one_of_thousand(failing);
            let result = if fails { Err(WireError("the read was lost".into())) } else { state.read(&read) };
            if let (true, Some(connection)) = (fails, read.connection) {
                state.fail(connection, "a read was lost");
            }
            events.push(Event::Got { token: read.token, result });
        }
    }

    fn wait(&mut self, _: Duration) {}

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::new(NoWaker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_connections_are_forgotten_when_what_was_sent_has_arrived() {
        let network = Network::new(1);
        let (mut one, mut other) = (network.wire(), network.wire());
        let address = other.address().to_vec();
        for _ in 0..1000 {
            let opened = one.open(&address).expect("there");
            one.send(opened.endpoint, vec![1]);
            one.close(opened.endpoint);
            let mut events = Vec::new();
            other.progress(&mut events);
            assert_eq!(events, [Event::Message(vec![1])]);
        }
        let state = network.lock();
        assert!(state.connections.len() <= MOST_CLOSED, "{}", state.connections.len());
        assert!(state.nodes.values().all(|node| node.arrivals.len() <= MOST_CLOSED));
    }
}
