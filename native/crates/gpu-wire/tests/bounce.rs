//! Reads between all kinds of memory, on the loopback wire and the simulated driver: with delays that change the order,
//! losses, peers that die, and devices that are lost in the middle.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Driver, HostRegistration, Wait};
use sluice_cuda_sim::Simulator;
use sluice_gpu_wire::{CopyOptions, CudaCopies};
use sluice_mem::MemoryKind;
use sluice_transport::loopback::{Faults, Loopback, Network};
use sluice_transport::{BounceCounters, BounceWire, DeviceRegion, Endpoint, Event, Get, Wire};

type Reading = BounceWire<Loopback, CudaCopies>;

const SLOT: usize = 4096;
const KINDS: [MemoryKind; 3] = [MemoryKind::Host, MemoryKind::Pinned, MemoryKind::Device(0)];
const STEP: Duration = Duration::from_millis(1);
/// More than any test needs, so that one that hangs ends.
const STEPS: usize = 20_000;

fn long() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(60))
}

/// A read that has ended, by its token.
type Ended = (u64, Result<(), String>);

/// Bytes of one kind.
enum Bytes {
    Host(Box<[u8]>),
    Pinned(Option<HostRegistration>, Box<[u8]>),
    Device(DeviceMemory, usize),
}

impl Bytes {
    fn new(context: &Context, kind: MemoryKind, bytes: usize) -> Self {
        let mut memory = vec![0xee; bytes].into_boxed_slice();
        match kind {
            MemoryKind::Host => Self::Host(memory),
            MemoryKind::Pinned => {
                // SAFETY: `drop` ends the registration before the memory goes.
                let pinned = unsafe { context.register_host(NonNull::from(&mut memory[..]).cast(), bytes) };
                Self::Pinned(Some(pinned.expect("pinned")), memory)
            }
            MemoryKind::Device(_) => Self::Device(context.allocate(bytes).expect("room"), bytes),
        }
    }

    fn address(&mut self) -> usize {
        match self {
            Self::Host(memory) | Self::Pinned(_, memory) => memory.as_mut_ptr().expose_provenance(),
            Self::Device(memory, _) => memory.address().0 as usize,
        }
    }

    fn set(&mut self, context: &Context, content: &[u8]) {
        match self {
            Self::Host(memory) | Self::Pinned(_, memory) => memory.copy_from_slice(content),
            Self::Device(memory, _) => {
                let stream = context.thread_stream();
                // SAFETY: both stay until the stream has finished.
                unsafe { stream.copy_to_device(memory.address(), content.as_ptr(), content.len()) }.expect("put");
                stream.finish(long()).expect("done");
            }
        }
    }

    fn get(&self, context: &Context) -> Vec<u8> {
        match self {
            Self::Host(memory) | Self::Pinned(_, memory) => memory.to_vec(),
            Self::Device(memory, bytes) => {
                let (mut found, stream) = (vec![0; *bytes], context.thread_stream());
                // SAFETY: both stay until the stream has finished.
                unsafe { stream.copy_to_host(found.as_mut_ptr(), memory.address(), *bytes) }.expect("put");
                stream.finish(long()).expect("done");
                found
            }
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Self::Pinned(pinned, memory) = self
            && !pinned.take().is_none_or(HostRegistration::end)
        {
            std::mem::forget(std::mem::take(memory));
        }
    }
}

/// An owner and a reader on one network, each with copies of its own on one simulated device.
struct Pair {
    // Wires before the context, and all before the simulator.
    reader: Reading,
    owner: Reading,
    endpoint: Endpoint,
    counters: Arc<BounceCounters>,
    network: Network,
    context: Context,
    simulator: Simulator,
}

fn options() -> CopyOptions {
    CopyOptions { slots: 3, slot_bytes: SLOT, limit: Duration::from_secs(60) }
}

fn wire(network: &Network, context: Option<&Context>, options: CopyOptions) -> (Reading, Arc<BounceCounters>) {
    let copies = context.map(|context| CudaCopies::new(context, options).expect("room"));
    let counters = Arc::new(BounceCounters::default());
    (BounceWire::new(network.wire(), copies, Arc::clone(&counters)), counters)
}

impl Pair {
    fn new(seed: u64) -> Self {
        Self::with(seed, options())
    }

    fn with(seed: u64, options: CopyOptions) -> Self {
        let simulator = Simulator::start(&format!("memory=64m seed={}", seed + 1));
        let driver = Driver::open_at(&simulator.path()).expect("opens");
        let context = driver.select(None).expect("one").context().expect("a context");
        let network = Network::new(seed);
        let on_device = context.clone();
        network.set_devices(Arc::new(move |target, source, bytes| {
            let (target, source) = (DeviceAddress(target as u64), DeviceAddress(source as u64));
            // Of its own, as UCX's: it waits for no copy of the reader's.
            let stream = on_device.new_stream().map_err(|e| e.to_string())?;
            // SAFETY: the loopback's regions are registered, and a read's target is for this alone.
            unsafe { stream.copy_on_device(target, source, bytes) }.map_err(|e| e.to_string())?;
            stream.finish(long()).map_err(|e| e.to_string())
        }));
        let (owner, _) = wire(&network, Some(&context), options);
        let (mut reader, counters) = wire(&network, Some(&context), options);
        let endpoint = reader.open(owner.address()).expect("there").endpoint;
        Self { reader, owner, endpoint, counters, network, context, simulator }
    }

    /// Registers content of this kind: the memory, which must stay, and what a read needs.
    fn show(&mut self, kind: MemoryKind, content: &[u8]) -> (Bytes, Vec<u8>) {
        let mut memory = Bytes::new(&self.context, kind, content.len());
        memory.set(&self.context, content);
        // SAFETY: the tests keep the memory.
        let registered = unsafe { self.owner.register(memory.address(), content.len(), kind) };
        (memory, registered.expect("registered").1)
    }

    fn read(&mut self, token: u64, key: &[u8], from: &mut Bytes, to: &mut Bytes, bytes: usize) {
        let kind = kind_of(to);
        let (remote, local) = (from.address() as u64, std::ptr::with_exposed_provenance_mut(to.address()));
        // SAFETY: the tests keep both until they have seen the read's end, or for ever.
        unsafe { self.reader.get(self.endpoint, Get { token, key, remote, local, bytes, kind }) };
    }

    /// What happens until so many reads have ended, and a little longer: each ends once.
    fn ended(&mut self, count: usize) -> (BTreeMap<u64, Result<(), String>>, Vec<Event>) {
        let (mut ended, mut others, mut extra) = (BTreeMap::new(), Vec::new(), 50);
        for _ in 0..STEPS {
            self.network.advance(STEP);
            let mut events = Vec::new();
            self.reader.progress(&mut events);
            self.owner.progress(&mut Vec::new());
            for event in events {
                match event {
                    Event::Got { token, result } => {
                        assert!(token < 1 << 63, "one of the wire's own");
                        assert!(ended.insert(token, result.map_err(|e| e.0)).is_none(), "{token} ended twice");
                    }
                    other => others.push(other),
                }
            }
            if ended.len() >= count {
                extra -= 1;
            }
            if extra == 0 {
                break;
            }
        }
        (ended, others)
    }

    /// A read of host memory into host memory works.
    fn assert_host_reads(&mut self) {
        let content = pattern(3 * SLOT, 7);
        let (mut from, key) = self.show(MemoryKind::Host, &content);
        let mut to = Bytes::new(&self.context, MemoryKind::Host, content.len());
        self.read(900, &key, &mut from, &mut to, content.len());
        assert_eq!(self.ended(1).0[&900], Ok(()));
        assert!(matches!(&to, Bytes::Host(found) if **found == *content));
    }
}

fn kind_of(bytes: &Bytes) -> MemoryKind {
    match bytes {
        Bytes::Host(_) => MemoryKind::Host,
        Bytes::Pinned(..) => MemoryKind::Pinned,
        Bytes::Device(memory, _) => MemoryKind::Device(memory.ordinal()),
    }
}

fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + at / 251 + seed * 17) as u8).collect()
}

fn combinations() -> impl Iterator<Item = (MemoryKind, MemoryKind)> {
    KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to)))
}

#[test]
fn all_combinations_are_read_in_any_order_of_pieces() {
    for seed in 0..3 {
        let mut pair = Pair::new(seed);
        pair.network.set_faults(Faults { delay: 5 * STEP, ..Faults::default() });
        let (mut bounced, mut kept) = (0, Vec::new());
        for (number, (from, to)) in combinations().enumerate() {
            let bytes = [1, SLOT, 5 * SLOT + 77][(number + seed as usize) % 3];
            let content = pattern(bytes, number);
            let (mut source, key) = pair.show(from, &content);
            let mut target = Bytes::new(&pair.context, to, bytes);
            pair.read(number as u64, &key, &mut source, &mut target, bytes);
            bounced += if from.device().is_some() == to.device().is_some() { 0 } else { bytes as u64 };
            kept.push((source, target, content));
        }
        let (ended, others) = pair.ended(9);
        assert!(ended.len() == 9 && ended.values().all(Result::is_ok), "{ended:?}");
        assert_eq!(others, []);
        for (number, (_, target, content)) in kept.iter().enumerate() {
            assert!(target.get(&pair.context) == *content, "combination {number}, seed {seed}");
        }
        assert_eq!(pair.counters.bounced_bytes.load(Ordering::Relaxed), bounced);
        drop(kept);
    }
}

#[test]
fn each_read_ends_once_when_reads_are_lost_and_their_connections_with_them() {
    for seed in 10..16 {
        let mut pair = Pair::new(seed);
        pair.network.set_faults(Faults { delay: 3 * STEP, failing_reads: 60, ..Faults::default() });
        let (mut right, mut wrong) = (0, 0);
        for round in 0..4 {
            let mut kept = Vec::new();
            for (number, (from, to)) in combinations().enumerate() {
                let content = pattern(3 * SLOT + 9, number);
                let (mut source, key) = pair.show(from, &content);
                let mut target = Bytes::new(&pair.context, to, content.len());
                pair.read(round * 9 + number as u64, &key, &mut source, &mut target, content.len());
                kept.push((source, target, content));
            }
            let (ended, others) = pair.ended(9);
            assert_eq!(ended.len(), 9, "seed {seed}");
            for ((_, result), (_, target, content)) in ended.iter().zip(&kept) {
                match result {
                    Ok(()) => assert!(target.get(&pair.context) == *content),
                    Err(_) => wrong += 1,
                }
                right += usize::from(result.is_ok());
            }
            if others.iter().any(|event| matches!(event, Event::Failed { .. })) {
                pair.reader.close(pair.endpoint);
                pair.endpoint = pair.reader.open(pair.owner.address()).expect("there").endpoint;
            }
        }
        assert!(right > 0 && wrong > 0, "seed {seed}: {right} right, {wrong} wrong");
        pair.network.set_faults(Faults::default());
        pair.assert_host_reads();
    }
}

#[test]
fn reads_from_an_owner_that_dies_end_and_the_slots_are_free_again() {
    let mut pair = Pair::new(20);
    pair.network.set_faults(Faults { delay: 50 * STEP, ..Faults::default() });
    let content = pattern(9 * SLOT, 3);
    let mut kept = Vec::new();
    for (number, (from, to)) in combinations().enumerate() {
        let (mut source, key) = pair.show(from, &content);
        let mut target = Bytes::new(&pair.context, to, content.len());
        pair.read(number as u64, &key, &mut source, &mut target, content.len());
        kept.push((source, target));
    }
    for _ in 0..30 {
        pair.network.advance(STEP);
        pair.reader.progress(&mut Vec::new());
    }
    pair.network.kill(pair.owner.address());
    let (ended, others) = pair.ended(9);
    // Those that ended before are not seen here.
    assert!(ended.len() >= 4 && ended.values().any(Result::is_err), "{ended:?}");
    assert!(others.iter().any(|event| matches!(event, Event::Failed { .. })), "{others:?}");
    pair.reader.close(pair.endpoint);
    let (owner, _) = wire(&pair.network, Some(&pair.context), options());
    pair.owner = owner;
    pair.endpoint = pair.reader.open(pair.owner.address()).expect("there").endpoint;
    let (mut source, key) = pair.show(MemoryKind::Device(0), &content);
    let mut target = Bytes::new(&pair.context, MemoryKind::Host, content.len());
    pair.read(100, &key, &mut source, &mut target, content.len());
    assert_eq!(pair.ended(1).0[&100], Ok(()));
    assert!(target.get(&pair.context) == content);
}

#[test]
fn a_closed_connection_ends_its_reads_with_an_error() {
    let mut pair = Pair::new(21);
    pair.network.set_faults(Faults { delay: 10 * STEP, ..Faults::default() });
    let content = pattern(20 * SLOT, 3);
    let (mut source, key) = pair.show(MemoryKind::Device(0), &content);
    let mut target = Bytes::new(&pair.context, MemoryKind::Pinned, content.len());
    pair.read(1, &key, &mut source, &mut target, content.len());
    for _ in 0..12 {
        pair.network.advance(STEP);
        pair.reader.progress(&mut Vec::new());
    }
    pair.reader.close(pair.endpoint);
    let ended = pair.ended(1).0;
    assert!(ended[&1].as_ref().is_err_and(|why| why.contains("closed")), "{ended:?}");
}

/// The driver fails, at a copy, at the question for its end, or never answers: reads to the device end in an error, and
/// those to memory of the host that a copy may still write to never; all others, and all reads of host memory, go on.
#[test]
fn a_device_that_is_lost_in_the_middle_of_a_read_leaves_host_reads_alone() {
    for (fault, from, to, ends) in [
        ("sticky=cuMemcpyDtoHAsync_v2@1:719", 2, 0, true),
        // The first copy was under way.
        ("sticky=cuMemcpyDtoHAsync_v2@3:719", 2, 0, false),
        ("sticky=cuMemcpyHtoDAsync_v2@2:719", 0, 2, true),
        ("lose=cuEventQuery@2", 2, 1, false),
        ("lose=cuEventQuery@2", 1, 2, true),
        ("hang=cuMemcpyDtoHAsync_v2@2", 2, 1, false),
        ("hang=cuMemcpyHtoDAsync_v2@2", 1, 2, true),
        ("lose=cuEventRecord@2", 2, 0, false),
    ] {
        let mut pair = Pair::with(30, CopyOptions { limit: Duration::from_millis(30), ..options() });
        let content = pattern(8 * SLOT, 3);
        let (mut source, key) = pair.show(KINDS[from], &content);
        // Both stay: after an unknown end nothing may be given back.
        let mut target = std::mem::ManuallyDrop::new(Bytes::new(&pair.context, KINDS[to], content.len()));
        pair.simulator.configure(fault);
        pair.read(1, &key, &mut source, &mut target, content.len());
        let begin = Instant::now();
        let (mut ended, mut others) = (BTreeMap::new(), Vec::new());
        while begin.elapsed() < Duration::from_secs(20) && ended.is_empty() && others.is_empty() {
            let (now_ended, now_others) = pair.step();
            ended.extend(now_ended);
            others.extend(now_others);
        }
        assert!(pair.context.lost().is_some(), "{fault}");
        match ends {
            true => assert!(ended[&1].is_err(), "{fault}: {ended:?}"),
            false => {
                assert!(matches!(others[..], [Event::Stuck { .. }]), "{fault}: {ended:?} {others:?}");
                assert!(pair.counters.lost_copies.load(Ordering::Relaxed) > 0);
            }
        }
        std::mem::forget(source);
        let declined = pair.counters.declined.load(Ordering::Relaxed);
        assert!(!pair.reader.reads_device_memory(pair.endpoint), "{fault}");
        pair.read_of_nothing(2, &key, MemoryKind::Host, KINDS[from].device().is_some());
        assert_eq!(pair.counters.declined.load(Ordering::Relaxed), declined + u64::from(from == 2), "{fault}");
        pair.assert_host_reads();
        let _ = pair.simulator.violations();
    }
}

impl Pair {
    /// One turn: the reads that have ended, and other events.
    fn step(&mut self) -> (Vec<Ended>, Vec<Event>) {
        self.network.advance(STEP);
        let mut events = Vec::new();
        self.reader.progress(&mut events);
        let (got, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| matches!(event, Event::Got { .. }));
        let ended = got.into_iter().filter_map(|event| match event {
            Event::Got { token, result } => Some((token, result.map_err(|e| e.0))),
            _ => None,
        });
        (ended.collect(), others)
    }

    /// A read of device memory into host memory is refused at once.
    fn read_of_nothing(&mut self, token: u64, key: &[u8], kind: MemoryKind, from_device: bool) {
        if !from_device {
            return;
        }
        let mut target = [0u8; 8];
        let get = Get { token, key, remote: 8, local: target.as_mut_ptr(), bytes: 8, kind };
        // SAFETY: it is refused before anything is written, which the next lines look at.
        unsafe { self.reader.get(self.endpoint, get) };
        let (ended, _) = self.step();
        assert!(matches!(&ended[..], [(of, Err(_))] if *of == token), "{ended:?}");
    }
}

#[test]
fn without_a_gpu_only_host_memory_is_read() {
    let mut pair = Pair::new(40);
    let content = pattern(2 * SLOT, 3);
    let (mut on_device, key) = pair.show(MemoryKind::Device(0), &content);
    let (reader, counters) = wire(&pair.network, None, options());
    (pair.reader, pair.counters) = (reader, counters);
    pair.endpoint = pair.reader.open(pair.owner.address()).expect("there").endpoint;
    let mut target = Bytes::new(&pair.context, MemoryKind::Host, content.len());
    pair.read(1, &key, &mut on_device, &mut target, content.len());
    let (mut on_host, host_key) = pair.show(MemoryKind::Host, &content);
    let mut device_target = Bytes::new(&pair.context, MemoryKind::Device(0), content.len());
    pair.read(2, &host_key, &mut on_host, &mut device_target, content.len());
    let (ended, _) = pair.ended(2);
    assert!(ended.values().all(Result::is_err) && ended.len() == 2, "{ended:?}");
    assert_eq!(pair.counters.declined.load(Ordering::Relaxed), 2);
    assert!(pair.reader.register_on_device(&[1; 64]).is_none());
    pair.assert_host_reads();
}

#[test]
fn stale_and_malformed_keys_end_in_errors() {
    let mut pair = Pair::new(41);
    let content = pattern(100, 3);
    let mut memory = Bytes::new(&pair.context, MemoryKind::Device(0), 100);
    memory.set(&pair.context, &content);
    // SAFETY: the memory stays until the end of the test.
    let (region, key) = unsafe { pair.owner.register(memory.address(), 100, MemoryKind::Device(0)) }.expect("done");
    let mut target = Bytes::new(&pair.context, MemoryKind::Host, 100);
    pair.owner.unregister(region);
    pair.read(1, &key, &mut memory, &mut target, 100);
    pair.read(2, &[], &mut memory, &mut target, 100);
    pair.read(3, &[7, 1, 1], &mut memory, &mut target, 100);
    let (ended, _) = pair.ended(3);
    assert!(ended.len() == 3 && ended.values().all(Result::is_err), "{ended:?}");
    assert!(ended[&1].as_ref().is_err_and(|why| why.contains("not registered")), "{ended:?}");
    let mut again = Bytes::new(&pair.context, MemoryKind::Host, 100);
    let (mut shown, key) = pair.show(MemoryKind::Device(0), &content);
    pair.read(4, &key, &mut shown, &mut again, 100);
    assert_eq!(pair.ended(1).0[&4], Ok(()));
    assert!(again.get(&pair.context) == content);
}

#[test]
fn a_few_bytes_on_the_device_are_read_by_a_peer() {
    let mut pair = Pair::new(42);
    let content = pattern(64, 5);
    let shown = pair.owner.register_on_device(&content).expect("a GPU").expect("registered");
    let DeviceRegion { region, address, key } = shown;
    let mut found = [0u8; 64];
    let get =
        Get { token: 1, key: &key, remote: address, local: found.as_mut_ptr(), bytes: 64, kind: MemoryKind::Host };
    // SAFETY: looked at when it has ended.
    unsafe { pair.reader.get(pair.endpoint, get) };
    assert_eq!(pair.ended(1).0[&1], Ok(()));
    assert_eq!(found[..], content[..]);
    pair.owner.unregister(region);
}
