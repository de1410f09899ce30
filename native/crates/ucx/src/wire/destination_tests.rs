//! Handles of the memory that gets write to, on a fake UCX: which gets pass one, and when regions are unregistered and
//! unmapped.

use std::thread;

use sluice_mem::{
    Arena, ArenaOptions, HostProvider, Lease, MapError, MappedRegion, MemoryKind, Provider, SEGMENT_BYTES,
};

use super::fake::{self, MemoryCall, Planned};
use super::*;
use crate::library::OLDEST;

/// Host memory that tells the fake of the calling thread what it unmaps.
#[derive(Debug)]
struct Watched(HostProvider);

impl Provider for Watched {
    fn kind(&self) -> MemoryKind {
        self.0.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        self.0.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        fake::note(MemoryCall::Munmap { address: region.address() });
        self.0.unmap(region);
    }
}

const RDMA: Machine = Machine { has_rdma_device: true, device_memory: false };

/// A wire with an endpoint, and an arena that keeps no free region.
struct Setting {
    wire: UcxWire,
    arena: Arc<Arena>,
    endpoint: Endpoint,
    gets: u64,
}

impl Setting {
    fn new(has_rdma_device: bool) -> Self {
        let regions = Arc::new(RegistrableProvider::new(Watched(HostProvider { huge_pages: false })));
        let options = ArenaOptions { slack_bytes: Some(0), ..ArenaOptions::with_limit(1 << 30) };
        let arena = Arena::with_provider(regions.clone(), &options);
        let ucx = Arc::new(Ucx::of(fake::functions(), OLDEST));
        let mut wire = UcxWire::make(ucx, Some(regions), Machine { has_rdma_device, ..RDMA }).expect("a wire");
        let endpoint = wire.open(b"somebody").expect("opened").endpoint;
        fake::take_memory_calls();
        Self { wire, arena, endpoint, gets: 0 }
    }

    /// A lease of a region of its own.
    fn lease(&self) -> Lease {
        self.arena.lease(SEGMENT_BYTES).expect("memory")
    }

    /// Begins a get of `bytes` bytes to `local`; what happened to memory meanwhile.
    fn get(&mut self, local: *mut u8, bytes: usize) -> Vec<MemoryCall> {
        let get = Get { token: self.gets, key: b"key", remote: 8, local, bytes, kind: MemoryKind::Host };
        self.gets += 1;
        // SAFETY: the fake writes nothing to it.
        unsafe { self.wire.get(self.endpoint, get) };
        fake::take_memory_calls()
    }

    /// Begins and ends a get into a lease's region, which is then registered; its handle.
    fn registered(&mut self, lease: &Lease) -> usize {
        let calls = self.get(lease.as_ptr(), 1);
        let [MemoryCall::Register { mem: Some(mem), .. }, MemoryCall::Get { .. }] = calls[..] else {
            panic!("{calls:?}")
        };
        self.end_get();
        mem
    }

    /// The get that was begun last ends.
    fn end_get(&mut self) {
        fake::plan(Planned::End(self.gets as usize - 1, sys::OK));
        let events = self.turn();
        assert!(matches!(events[..], [Event::Got { result: Ok(()), .. }]), "{events:?}");
    }

    fn turn(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.wire.progress(&mut events);
        events
    }

    /// Whether the wire's thread has been woken since it last waited.
    fn is_woken(&self) -> bool {
        let mut fd = libc::pollfd { fd: self.wire.wakeup.fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `fd` is one entry; its descriptor is open as long as the wire.
        unsafe { libc::poll(&mut fd, 1, 0) == 1 }
    }
}

/// Ends a lease on another thread, as tasks do.
fn release_elsewhere(lease: Lease) {
    thread::spawn(|| drop(lease)).join().expect("no panic");
}

const LOCAL_READ_AND_WRITE: u32 = 3;

#[test]
fn gets_pass_the_handle_of_their_region_which_is_registered_once() {
    let mut setting = Setting::new(true);
    let [one, other] = [setting.lease(), setting.lease()];
    let mut handles = Vec::new();
    for lease in [&one, &other] {
        let (address, local) = (lease.as_ptr().addr(), lease.as_ptr());
        let calls = setting.get(local, 10);
        let [MemoryCall::Register { mem: Some(mem), .. }, _] = calls[..] else { panic!("{calls:?}") };
        let register =
            MemoryCall::Register { address, bytes: SEGMENT_BYTES, prot: LOCAL_READ_AND_WRITE, mem: Some(mem) };
        assert_eq!(calls, [register, MemoryCall::Get { mem: Some(mem) }]);
        assert_eq!(setting.get(local.wrapping_add(SEGMENT_BYTES - 10), 10), [MemoryCall::Get { mem: Some(mem) }]);
        handles.push(mem);
    }
    assert_ne!(handles[0], handles[1]);
    let mut elsewhere = [0u8; 10];
    assert_eq!(setting.get(elsewhere.as_mut_ptr(), 10), [MemoryCall::Get { mem: None }], "no region of the arena");
    let last = one.as_ptr().addr() + SEGMENT_BYTES - 1;
    let (destinations, worker) = (&mut setting.wire.destinations, &setting.wire.worker);
    assert_eq!(destinations.handle(worker, last, 1).map(<*mut _>::addr), Some(handles[0]));
    assert_eq!(destinations.handle(worker, last, 2), None, "no handle has all of it");
    (0..setting.gets as usize).for_each(|place| fake::plan(Planned::End(place, sys::OK)));
    setting.turn();
}

/// Blocks of 64 KiB go through one arena: its regions are registered by the first reads into them, and none later.
#[test]
fn a_warm_arena_registers_nothing() {
    let mut setting = Setting::new(true);
    // So that its region stays mapped in between; this arena keeps no free one.
    let _kept = setting.arena.lease(64 << 10).expect("memory");
    let mut registrations = [0; 3];
    for count in &mut registrations {
        for _ in 0..125 {
            let leases: Vec<Lease> = (0..8).map(|_| setting.arena.lease(64 << 10).expect("memory")).collect();
            for lease in &leases {
                let calls = setting.get(lease.as_ptr(), lease.len());
                *count += calls.iter().filter(|call| matches!(call, MemoryCall::Register { .. })).count();
                assert!(matches!(calls.last(), Some(MemoryCall::Get { mem: Some(_) })), "{calls:?}");
                setting.end_get();
            }
        }
    }
    println!("registrations per 1,000 reads: {registrations:?}");
    assert!(registrations[0] >= 1 && registrations[1..] == [0, 0], "{registrations:?}");
}

#[test]
fn without_an_rdma_device_nothing_is_registered() {
    let mut setting = Setting::new(false);
    let lease = setting.lease();
    assert_eq!(setting.get(lease.as_ptr(), 10), [MemoryCall::Get { mem: None }]);
    setting.end_get();
    let address = lease.as_ptr().addr();
    drop(lease);
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Munmap { address }], "at once");
    assert!(!setting.is_woken());
}

#[test]
fn a_region_that_the_arena_unmaps_is_unregistered_and_then_unmapped_by_the_wires_thread() {
    let mut setting = Setting::new(true);
    let [lease, kept] = [setting.lease(), setting.lease()];
    let mem = setting.registered(&lease);
    setting.registered(&kept);
    let address = lease.as_ptr().addr();
    assert!(!setting.is_woken());
    release_elsewhere(lease);
    assert!(setting.is_woken(), "so that it happens soon");
    assert_eq!((setting.arena.reserved_bytes(), fake::take_memory_calls()), (SEGMENT_BYTES, vec![]));
    setting.turn();
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Unregister { mem }, MemoryCall::Munmap { address }]);
    setting.turn();
    assert_eq!(fake::take_memory_calls(), [], "once");
    let again = setting.lease();
    assert_ne!(setting.registered(&again), mem, "another region, even at this address");
}

#[test]
fn a_region_that_cannot_be_registered_is_read_into_without_and_tried_again_later() {
    let mut setting = Setting::new(true);
    let lease = setting.lease();
    let (local, address) = (lease.as_ptr(), lease.as_ptr().addr());
    fake::refuse_memory(true);
    let refused = MemoryCall::Register { address, bytes: SEGMENT_BYTES, prot: LOCAL_READ_AND_WRITE, mem: None };
    assert_eq!(setting.get(local, 10), [refused, MemoryCall::Get { mem: None }]);
    setting.end_get();
    assert_eq!(setting.get(local, 10), [MemoryCall::Get { mem: None }], "not tried for each get");
    setting.end_get();
    assert_eq!(setting.wire.failed_registrations(), 1);
    fake::refuse_memory(false);
    setting.wire.destinations.end_refusals();
    let mem = setting.registered(&lease);
    assert_eq!(setting.wire.failed_registrations(), 1);
    release_elsewhere(lease);
    setting.turn();
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Unregister { mem }, MemoryCall::Munmap { address }]);
}

#[test]
fn a_region_that_was_refused_is_unmapped_at_once() {
    let mut setting = Setting::new(true);
    let lease = setting.lease();
    fake::refuse_memory(true);
    setting.get(lease.as_ptr(), 10);
    setting.end_get();
    let address = lease.as_ptr().addr();
    drop(lease);
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Munmap { address }]);
    fake::refuse_memory(false);
}

#[test]
fn a_wire_that_is_dropped_unregisters_everything_first() {
    let mut setting = Setting::new(true);
    let [given_up, kept] = [setting.lease(), setting.lease()];
    let [mem, kept_mem] = [&given_up, &kept].map(|lease| setting.registered(lease));
    let [address, kept_address] = [&given_up, &kept].map(|lease| lease.as_ptr().addr());
    release_elsewhere(given_up);
    let Setting { wire, arena, .. } = setting;
    drop(wire);
    let calls = fake::take_memory_calls();
    let place = |call| calls.iter().position(|it| *it == call).unwrap_or_else(|| panic!("no {call:?} in {calls:?}"));
    let munmap = place(MemoryCall::Munmap { address });
    assert!(place(MemoryCall::Unregister { mem }) < munmap, "{calls:?}");
    let cleanup = place(MemoryCall::Cleanup);
    assert!(place(MemoryCall::Unregister { mem: kept_mem }) < cleanup && munmap < cleanup, "{calls:?}");
    assert_eq!(calls.len(), 4, "{calls:?}");
    drop(kept);
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Munmap { address: kept_address }], "at once");
    assert_eq!(arena.reserved_bytes(), 0);
}

#[test]
fn handles_that_a_get_may_need_go_with_the_context_and_regions_after_it() {
    let mut setting = Setting::new(true);
    let [under_way, given_up] = [setting.lease(), setting.lease()];
    setting.registered(&given_up);
    setting.get(under_way.as_ptr(), 10);
    let address = given_up.as_ptr().addr();
    // The transport does so with the leases of gets that do not end.
    std::mem::forget(under_way);
    fake::before_cleanup(|| release_elsewhere(given_up));
    // The get does not end while it is dropped.
    drop(setting.wire);
    assert_eq!(fake::take_memory_calls(), [MemoryCall::Cleanup, MemoryCall::Munmap { address }]);
    assert_eq!(setting.arena.reserved_bytes(), SEGMENT_BYTES, "that of the get stays");
}

#[test]
fn ucx_caches_no_registrations_with_an_rdma_device() {
    const NAME: &std::ffi::CStr = c"RCACHE_ENABLE";
    for (has_rdma_device, expected) in [(false, None), (true, Some("n"))] {
        fake::take_settings();
        drop(Setting::new(has_rdma_device));
        let settings = fake::take_settings();
        let value = settings.iter().find(|[name, _]| NAME.to_str() == Ok(name)).map(|[_, value]| value.as_str());
        assert_eq!(value, expected, "{settings:?}");
    }
    let Some(ucx) = common::ucx() else { return };
    let mut config = null_mut();
    // SAFETY: no prefix and no file are given; the out-parameter is valid during the call.
    assert_eq!(unsafe { (ucx.calls.config_read)(null(), null(), &mut config) }, sys::OK);
    // SAFETY: the configuration is live, and both strings end with 0.
    assert_eq!(unsafe { (ucx.calls.config_modify)(config, NAME.as_ptr(), c"n".as_ptr()) }, sys::OK, "it is known");
    // SAFETY: read above, and released once.
    unsafe { (ucx.calls.config_release)(config) };
}

/// What a read through handles brings on a real UCX, whose transports here need none.
#[test]
fn a_real_ucx_reads_into_registered_regions() {
    let Some(ucx) = common::ucx() else { return };
    let (arena, regions) = common::receive_arena(1 << 30);
    let make = || UcxWire::make(Arc::clone(&ucx), Some(Arc::clone(&regions)), RDMA).expect("a wire");
    let (mut owner, mut reader) = (make(), make());
    let content: Vec<u8> = (0..1 << 20).map(|i: u32| (i / 7 + i) as u8).collect();
    // SAFETY: `content` outlives the owner's wire, which unregisters it at the latest when it is dropped.
    let (_, key) = unsafe { owner.register(content.as_ptr().expose_provenance(), content.len(), MemoryKind::Host) }
        .expect("registered");
    let endpoint = reader.open(owner.address()).expect("opened").endpoint;
    for token in 0..3 {
        let lease = arena.lease(content.len()).expect("memory");
        let (local, remote) = (lease.as_ptr(), content.as_ptr().addr() as u64);
        let get = Get { token, key: &key, remote, local, bytes: content.len(), kind: MemoryKind::Host };
        // SAFETY: the lease is kept until the event, or leaked by the panic.
        unsafe { reader.get(endpoint, get) };
        let (mut events, end) = (Vec::new(), std::time::Instant::now() + Duration::from_secs(20));
        while events.is_empty() {
            owner.progress(&mut Vec::new());
            reader.progress(&mut events);
            if std::time::Instant::now() > end {
                std::mem::forget(lease);
                panic!("the read does not end");
            }
        }
        assert_eq!(events, [Event::Got { token, result: Ok(()) }]);
        assert!(lease.as_slice() == content, "read {token}");
        drop(lease);
        arena.trim(0);
        assert_eq!(arena.reserved_bytes(), 0, "each time another region");
    }
    assert_eq!(reader.failed_registrations(), 0);
    drop((reader, owner));
}
