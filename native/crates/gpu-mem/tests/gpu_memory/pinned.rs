//! When host regions are pinned, and what happens when they cannot be.

use crate::setting::context;
use crate::support::{FixedProvider, options};
use sluice_cuda_sim::Simulator;
use sluice_gpu_mem::{DeviceProvider, PinnedProvider};
use sluice_mem::{Arena, ArenaOptions, MappedRegion, MemoryKind, Provider, SEGMENT_BYTES};
use std::ptr::NonNull;
use std::sync::{Arc, mpsc};
use std::time::Duration;

struct Setting {
    simulator: Simulator,
    below: Arc<FixedProvider>,
    provider: Arc<PinnedProvider<Arc<FixedProvider>>>,
}

impl Setting {
    /// A driver that is not attached yet.
    fn new(settings: &str, limit: usize) -> Self {
        let below = Arc::new(FixedProvider::new(1 << 30));
        let provider = Arc::new(PinnedProvider::new(Arc::clone(&below), limit));
        Self { simulator: Simulator::start(settings), below, provider }
    }

    fn attach(&self) {
        self.provider.attach(context(&self.simulator));
    }

    fn arena(&self) -> Arc<Arena> {
        let options = ArenaOptions { slack_bytes: Some(0), purge_interval: None, ..options(usize::MAX) };
        Arena::with_provider(Arc::clone(&self.provider) as Arc<dyn Provider>, &options)
    }

    fn map(&self) -> MappedRegion {
        self.provider.map(SEGMENT_BYTES).unwrap()
    }

    /// Registrations of the simulator, and how often it was asked for one.
    fn registrations(&self) -> (u64, u64) {
        (self.simulator.counts().registrations, self.simulator.calls("cuMemHostRegister_v2"))
    }
}

#[test]
fn regions_are_pinned_when_they_are_mapped_and_until_they_are_unmapped() {
    let setting = Setting::new("", usize::MAX);
    setting.attach();
    let arena = setting.arena();
    assert_eq!(arena.kind(), MemoryKind::Pinned);
    let mut leases: Vec<_> = (0..2).map(|_| arena.lease(SEGMENT_BYTES).unwrap()).collect();
    leases[0].as_mut_slice()[SEGMENT_BYTES - 1] = 7;
    assert_eq!(setting.registrations(), (2, 2));
    assert!(setting.provider.pin(leases[1].as_ptr().addr()) && setting.registrations() == (2, 2), "it is");
    let statistics = setting.provider.statistics();
    assert_eq!((statistics.regions, statistics.pinned_bytes, statistics.pins), (2, 2 * SEGMENT_BYTES, 2));
    leases.pop();
    assert_eq!((setting.registrations().0, setting.below.mapped_bytes()), (1, SEGMENT_BYTES));
    let mapped = setting.registrations().0;
    assert_eq!((arena.purge(), mapped, setting.simulator.violations()), (0, 1, vec![]));
}

#[test]
fn pinned_pages_are_not_purged() {
    let setting = Setting::new("", SEGMENT_BYTES);
    setting.attach();
    let (pinned, plain) = (setting.map(), setting.map());
    // SAFETY: whole regions that this test alone has.
    let purge = |region: &MappedRegion| unsafe {
        let start = NonNull::new(std::ptr::with_exposed_provenance_mut(region.address())).unwrap();
        setting.provider.purge(start, region.bytes())
    };
    assert_eq!((purge(&pinned), purge(&plain)), (false, true));
    [pinned, plain].into_iter().for_each(|region| setting.provider.unmap(region));
}

#[test]
fn regions_from_before_the_driver_are_pinned_at_first_use() {
    let setting = Setting::new("", usize::MAX);
    let (first, second) = (setting.map(), setting.map());
    assert!(!setting.provider.pin(first.address()), "no driver yet");
    setting.attach();
    assert_eq!((setting.registrations(), setting.provider.statistics().pinned_bytes), ((0, 0), 0));
    for address in [first.address() + SEGMENT_BYTES - 1, first.address()] {
        assert!(setting.provider.pin(address));
    }
    for outside in [0, usize::MAX, first.address().min(second.address()) - 1] {
        assert!(!setting.provider.pin(outside), "{outside:#x}");
    }
    assert_eq!(setting.registrations(), (1, 1));
    [first, second].into_iter().for_each(|region| setting.provider.unmap(region));
    assert_eq!((setting.registrations().0, setting.below.mapped_bytes()), (0, 0));
}

#[test]
fn what_the_driver_does_not_pin_is_host_memory_and_it_is_asked_once() {
    let setting = Setting::new("pinned=64m", usize::MAX);
    setting.attach();
    let (first, second) = (setting.map(), setting.map());
    assert!(setting.provider.pin(first.address()));
    (0..3).for_each(|_| assert!(!setting.provider.pin(second.address())));
    assert_eq!(setting.registrations(), (1, 2));
    let statistics = setting.provider.statistics();
    assert_eq!((statistics.refused_by_driver, statistics.pinned_bytes), (1, SEGMENT_BYTES));
    assert!(setting.provider.last_refusal().unwrap().contains("ulimit -l"));
    [first, second].into_iter().for_each(|region| setting.provider.unmap(region));
    assert_eq!((setting.below.mapped_bytes(), setting.provider.statistics().pinned_bytes), (0, 0));
}

#[test]
fn the_limit_on_pinned_bytes_holds_until_there_is_room() {
    let setting = Setting::new("", SEGMENT_BYTES);
    setting.attach();
    let (first, second) = (setting.map(), setting.map());
    (0..3).for_each(|_| assert!(!setting.provider.pin(second.address())));
    assert_eq!((setting.provider.statistics().refused_by_limit, setting.registrations()), (1, (1, 1)));
    setting.provider.unmap(first);
    assert!(setting.provider.pin(second.address()));
    setting.provider.unmap(second);
}

#[test]
fn a_region_whose_registration_does_not_end_stays_mapped() {
    let setting = Setting::new("", usize::MAX);
    setting.attach();
    let (first, second) = (setting.map(), setting.map());
    setting.simulator.configure("fail=cuMemHostUnregister@1:1");
    setting.provider.unmap(first);
    assert_eq!((setting.below.mapped_bytes(), setting.provider.statistics().leaked_regions), (2 * SEGMENT_BYTES, 1));
    let context = context(&setting.simulator);
    context.lose("a test");
    setting.provider.unmap(second);
    assert_eq!((setting.below.mapped_bytes(), setting.provider.statistics().leaked_regions), (2 * SEGMENT_BYTES, 2));
    let late = setting.map();
    assert_eq!((setting.provider.pin(late.address()), setting.provider.statistics().regions), (false, 1));
    setting.provider.unmap(late);
    assert_eq!(setting.below.mapped_bytes(), 2 * SEGMENT_BYTES);
}

#[test]
fn the_driver_is_called_without_a_lock_that_others_need() {
    let setting = Setting::new("", usize::MAX);
    setting.attach();
    let old = setting.map();
    for function in ["cuMemHostRegister_v2", "cuMemHostUnregister"] {
        setting.simulator.configure(&format!("block={function}@1"));
        let calls = setting.simulator.calls(function);
        std::thread::scope(|scope| {
            scope.spawn(|| setting.provider.unmap(setting.map()));
            while setting.simulator.calls(function) == calls {
                std::thread::sleep(Duration::from_millis(1));
            }
            let (send, receive) = mpsc::channel();
            let (provider, address) = (&setting.provider, old.address());
            scope.spawn(move || {
                let start = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).unwrap();
                // SAFETY: a part of a region that this test alone has.
                let purged = unsafe { provider.purge(start, 2 << 20) };
                send.send((provider.pin(address), purged, provider.statistics().regions > 0)).unwrap();
            });
            let answer = receive.recv_timeout(Duration::from_secs(20));
            setting.simulator.release();
            assert_eq!(answer, Ok((true, false, true)), "{function}");
        });
    }
    setting.provider.unmap(old);
    assert_eq!((setting.registrations().0, setting.below.mapped_bytes()), (0, 0));
}

/// A provider of sources, with a driver.
fn sources(settings: &str, limit: usize) -> Setting {
    let below = Arc::new(FixedProvider::new(1 << 30));
    let provider = Arc::new(PinnedProvider::for_sources(Arc::clone(&below)));
    let setting = Setting { simulator: Simulator::start(settings), below, provider };
    setting.provider.attach_within(context(&setting.simulator), limit);
    setting
}

#[test]
fn a_source_is_pinned_when_as_much_as_it_has_was_copied_from_it() {
    let setting = sources("", SEGMENT_BYTES);
    let provider = &setting.provider;
    assert_eq!(provider.kind(), MemoryKind::Host);
    let (first, second) = (setting.map(), setting.map());
    let last = first.address() + SEGMENT_BYTES - 1;
    assert!(!provider.copies(first.address(), SEGMENT_BYTES - 1) && setting.registrations() == (0, 0));
    assert!(provider.copies(last, 1) && setting.registrations() == (1, 1));
    assert!(provider.copies(last, usize::MAX) && setting.registrations() == (1, 1), "it is");
    assert!(!provider.copies(second.address(), usize::MAX), "beyond the limit");
    assert_eq!((provider.statistics().refused_by_limit, provider.statistics().pinned_bytes), (1, SEGMENT_BYTES));
    for outside in [0, usize::MAX, first.address().min(second.address()) - 1] {
        assert!(!provider.copies(outside, usize::MAX), "{outside:#x}");
    }
    provider.unmap(first);
    assert_eq!((setting.registrations().0, setting.below.mapped_bytes()), (0, SEGMENT_BYTES));
    assert!(provider.copies(second.address(), 1), "there is room now");
    provider.detach();
    assert_eq!((setting.registrations().0, provider.statistics().pinned_bytes), (0, 0));
    assert!(!provider.copies(second.address(), usize::MAX), "nobody is attached");
    provider.attach_within(context(&setting.simulator), SEGMENT_BYTES);
    assert!(provider.copies(second.address(), 1));
    provider.unmap(second);
    let statistics = provider.statistics();
    assert_eq!((setting.registrations().0, setting.below.mapped_bytes(), statistics.kept_regions), (0, 0, 0));
}

/// As when a device is lost: however many regions come and go afterwards, no more stay mapped than were pinned.
#[test]
fn a_source_whose_registration_does_not_end_is_given_out_again() {
    for detached in [false, true] {
        let setting = sources("", usize::MAX);
        let (first, second) = (setting.map(), setting.map());
        for region in [&first, &second] {
            assert!(setting.provider.copies(region.address(), SEGMENT_BYTES));
        }
        context(&setting.simulator).lose("a test");
        if detached {
            setting.provider.detach();
        }
        let addresses = [first.address(), second.address()];
        [first, second].into_iter().for_each(|region| setting.provider.unmap(region));
        let statistics = setting.provider.statistics();
        assert_eq!((statistics.kept_regions, statistics.pinned_bytes, statistics.leaked_regions), (2, 0, 0));
        for _ in 0..3 {
            let mut regions = [setting.map(), setting.map(), setting.map()];
            regions.sort_by_key(|region| !addresses.contains(&region.address()));
            assert!(regions[..2].iter().all(|region| addresses.contains(&region.address())), "{regions:?}");
            let start = NonNull::new(std::ptr::with_exposed_provenance_mut(regions[0].address())).unwrap();
            // SAFETY: a whole region that this test alone has.
            assert!(!unsafe { setting.provider.purge(start, SEGMENT_BYTES) });
            assert!(!setting.provider.copies(regions[0].address(), usize::MAX));
            assert_eq!((setting.below.mapped_bytes(), setting.provider.statistics().regions), (3 * SEGMENT_BYTES, 3));
            regions.into_iter().for_each(|region| setting.provider.unmap(region));
            assert_eq!(setting.below.mapped_bytes(), 2 * SEGMENT_BYTES);
        }
    }
}

/// A driver that does not answer is waited for once, however many regions are pinned.
#[test]
fn a_driver_that_ends_no_registration_is_asked_once() {
    let setting = sources("", usize::MAX);
    let regions = [setting.map(), setting.map(), setting.map()];
    assert!(regions.iter().all(|region| setting.provider.copies(region.address(), SEGMENT_BYTES)));
    setting.simulator.configure("fail=cuMemHostUnregister@1:1");
    setting.provider.detach();
    assert_eq!(setting.simulator.calls("cuMemHostUnregister"), 1);
    assert_eq!(setting.provider.statistics().pinned_bytes, 0);
    regions.into_iter().for_each(|region| setting.provider.unmap(region));
    assert_eq!((setting.provider.statistics().kept_regions, setting.below.mapped_bytes()), (3, 3 * SEGMENT_BYTES));
}

#[test]
#[should_panic(expected = "host memory")]
fn a_gpus_memory_is_not_pinned() {
    let simulator = Simulator::start("");
    drop(PinnedProvider::new(DeviceProvider::new(context(&simulator)), usize::MAX));
}
