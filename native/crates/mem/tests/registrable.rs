//! Registered regions keep their pages: they are neither purged nor unmapped before they have been unregistered.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use sluice_mem::{Arena, ArenaOptions, MapError, MappedRegion, MemoryKind, Provider, RegistrableProvider, Registrar};
use sluice_mem::{RegisteredRegion, SEGMENT_BYTES};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use support::{FixedProvider, options};

/// A provider that the test looks at from outside.
#[derive(Debug, Clone)]
struct Shared(Arc<FixedProvider>);

impl Provider for Shared {
    fn kind(&self) -> MemoryKind {
        self.0.kind()
    }

    fn map(&self, bytes: usize) -> Result<MappedRegion, MapError> {
        self.0.map(bytes)
    }

    fn unmap(&self, region: MappedRegion) {
        self.0.unmap(region);
    }

    unsafe fn purge(&self, start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.0.purge(start, bytes) }
    }
}

struct Setting {
    below: Arc<FixedProvider>,
    provider: Arc<RegistrableProvider>,
}

impl Setting {
    fn new() -> Self {
        let below = Arc::new(FixedProvider::new(1 << 30));
        let provider = Arc::new(RegistrableProvider::new(Shared(Arc::clone(&below))));
        Self { below, provider }
    }

    /// A registrar, and how often it was woken.
    fn registrar(&self) -> (Registrar, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&woken);
        let wake = move || _ = counted.fetch_add(1, SeqCst);
        (Registrar::new(Arc::clone(&self.provider), wake), woken)
    }

    fn mapped_regions(&self) -> usize {
        self.below.mapped_bytes() / SEGMENT_BYTES
    }
}

fn first_byte(region: &MappedRegion) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(region.address())
}

/// Purges a whole region whose first byte is 7; what it is then.
fn purge(provider: &RegistrableProvider, region: &MappedRegion) -> (bool, u8) {
    let first = first_byte(region);
    // SAFETY: the region is mapped and writable, and the test alone has it.
    unsafe {
        *first = 7;
        (provider.purge(NonNull::new(first).unwrap(), region.bytes()), *first)
    }
}

#[test]
fn a_registered_region_is_not_purged_until_its_last_registration_has_ended() {
    let setting = Setting::new();
    let [one, other] = [(); 2].map(|()| setting.provider.map(SEGMENT_BYTES).unwrap());
    let registrars = [setting.registrar().0, setting.registrar().0];
    let mut registered: Vec<RegisteredRegion> =
        registrars.iter().map(|registrar| registrar.region_of(one.address() + SEGMENT_BYTES - 1).unwrap()).collect();
    assert_eq!(purge(&setting.provider, &other), (true, 0), "the other one is not registered");
    while let Some(registration) = registered.pop() {
        assert_eq!((registration.start(), registration.bytes()), (one.address(), SEGMENT_BYTES));
        assert_eq!(purge(&setting.provider, &one), (false, 7), "{} others", registered.len());
    }
    assert_eq!(purge(&setting.provider, &one), (true, 0));
    [one, other].into_iter().for_each(|region| setting.provider.unmap(region));
}

#[test]
fn a_registered_region_is_unmapped_when_its_last_registration_has_ended() {
    let setting = Setting::new();
    let [(first, first_woken), (second, second_woken)] = [(); 2].map(|()| setting.registrar());
    let [one, other] = [(); 2].map(|()| setting.provider.map(SEGMENT_BYTES).unwrap());
    let (inside, address) = (other.address(), one.address());
    let registrations = [first.region_of(address).unwrap(), second.region_of(address).unwrap()];
    let kept = first.region_of(inside).unwrap();
    assert!(!first.take_notice() && !registrations[0].is_given_up());
    setting.provider.unmap(one);
    assert_eq!(setting.mapped_regions(), 2, "its registrars have it");
    assert_eq!((first_woken.load(SeqCst), second_woken.load(SeqCst)), (1, 1));
    assert!(registrations[0].is_given_up() && !kept.is_given_up());
    assert_eq!((first.take_notice(), first.take_notice(), second.take_notice()), (true, false, true));
    assert!(first.region_of(address).is_none(), "nothing new is registered in it");
    let [of_first, of_second] = registrations;
    drop(of_second);
    assert_eq!(setting.mapped_regions(), 2);
    drop(of_first);
    assert_eq!(setting.mapped_regions(), 1);
    drop(kept);
    assert_eq!(setting.mapped_regions(), 1, "the arena still has it");
    setting.provider.unmap(other);
    assert_eq!((setting.mapped_regions(), first_woken.load(SeqCst)), (0, 1), "at once, and nobody is woken");
}

#[test]
fn only_addresses_of_mapped_regions_have_a_region() {
    let setting = Setting::new();
    let (registrar, _) = setting.registrar();
    let region = setting.provider.map(2 * SEGMENT_BYTES).unwrap();
    let (start, end) = (region.address(), region.address() + region.bytes());
    let found = |address| registrar.region_of(address).map(|region| (region.start(), region.bytes()));
    for outside in [0, 1, start - 1, end, usize::MAX] {
        assert_eq!(found(outside), None, "{outside:#x}");
    }
    for inside in [start, start + SEGMENT_BYTES, end - 1] {
        assert_eq!(found(inside), Some((start, 2 * SEGMENT_BYTES)), "{inside:#x}");
    }
    setting.provider.unmap(region);
    assert_eq!((found(start), setting.mapped_regions()), (None, 0));
}

/// One thread leases and releases whole regions, of which the arena keeps none; the other registers where it is told
/// to, reads there, and unregisters what was given up.
#[test]
fn what_is_registered_stays_mapped_beside_threads_that_release() {
    const ROUNDS: usize = 2_000;
    let setting = Setting::new();
    let (registrar, _) = setting.registrar();
    let provider = Arc::clone(&setting.provider) as Arc<dyn Provider>;
    let arena = Arena::with_provider(provider, &ArenaOptions { slack_bytes: Some(0), ..options(usize::MAX) });
    // Without room, so that the one thread releases just when the other begins to register.
    let (tell, told) = mpsc::sync_channel(0);
    let releasing = std::thread::spawn(move || {
        for _ in 0..ROUNDS {
            let lease = arena.lease(SEGMENT_BYTES).unwrap();
            tell.send(lease.as_ptr() as usize).unwrap();
        }
    });
    let (mut registered, mut kept_beyond): (Vec<RegisteredRegion>, usize) = Default::default();
    for address in told {
        registered.extend(registrar.region_of(address));
        for region in &registered {
            // SAFETY: a registered region is mapped, and no thread writes to it.
            let byte = unsafe { *std::ptr::with_exposed_provenance::<u8>(region.start()) };
            assert_eq!(byte, 0);
        }
        if registrar.take_notice() {
            let before = registered.len();
            registered.retain(|region| !region.is_given_up());
            kept_beyond += before - registered.len();
        }
    }
    releasing.join().unwrap();
    registered.clear();
    assert_eq!(setting.mapped_regions(), 0);
    assert!(kept_beyond > 0, "otherwise this test shows nothing");
}
