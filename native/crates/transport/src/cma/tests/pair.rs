//! A process that is read and one that reads, both in the test's process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sluice_mem::MemoryKind;

use crate::cma::CmaWire;
use crate::loopback::{Loopback, Network};
use crate::wire::{Endpoint, Event, Get, Region, Wire};

/// One mebibyte.
pub(super) const MIB: usize = 1 << 20;

pub(super) struct Pair<W: Wire = Loopback> {
    pub(super) owner: CmaWire<Loopback>,
    pub(super) reader: CmaWire<W>,
    pub(super) endpoint: Endpoint,
    pub(super) cma_bytes: Arc<AtomicU64>,
}

impl Pair {
    pub(super) fn new() -> Self {
        Self::with(true, |address| address.to_vec())
    }

    /// The reader is given the owner's address as `change` makes it.
    pub(super) fn with(owner_enabled: bool, change: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let (network, cma_bytes) = (Network::new(1), Arc::new(AtomicU64::new(0)));
        let owner = CmaWire::new(network.wire(), owner_enabled, Arc::default());
        let mut reader = CmaWire::new(network.wire(), true, Arc::clone(&cma_bytes));
        let endpoint = reader.open(&change(owner.address())).expect("well-formed").endpoint;
        Self { owner, reader, endpoint, cma_bytes }
    }
}

impl<W: Wire> Pair<W> {
    /// The reader reads by CMA in front of what `make` makes of the loopback.
    pub(super) fn on(make: impl FnOnce(Loopback) -> W) -> Self {
        let (network, cma_bytes) = (Network::new(1), Arc::new(AtomicU64::new(0)));
        let owner = CmaWire::new(network.wire(), true, Arc::default());
        let mut reader = CmaWire::new(make(network.wire()), true, Arc::clone(&cma_bytes));
        let endpoint = reader.open(owner.address()).expect("well-formed").endpoint;
        Self { owner, reader, endpoint, cma_bytes }
    }

    /// With a second thread that reads.
    pub(super) fn helped(self) -> Self {
        self.helped_with_patience(Duration::MAX)
    }

    pub(super) fn helped_with_patience(mut self, patience: Duration) -> Self {
        self.reader = self.reader.with_helper(patience).expect("a thread");
        assert!(self.reader.queue.has_helper());
        self
    }

    pub(super) fn get(&mut self, token: u64, key: &[u8], from: &[u8], to: &mut [u8]) {
        let remote = from.as_ptr().expose_provenance() as u64;
        let get =
            Get { token, key, remote, local: to.as_mut_ptr(), bytes: from.len().min(to.len()), kind: MemoryKind::Host };
        // SAFETY: the tests keep `to` until they have seen the get's end.
        unsafe { self.reader.get(self.endpoint, get) };
    }

    pub(super) fn register(&mut self, memory: &[u8]) -> (Region, Vec<u8>) {
        let address = memory.as_ptr().expose_provenance();
        // SAFETY: the tests keep `memory` as long as any get may read it.
        unsafe { self.owner.register(address, memory.len(), MemoryKind::Host) }.expect("registered")
    }

    pub(super) fn turn(&mut self) -> Vec<(u64, bool)> {
        let mut events = Vec::new();
        self.reader.progress(&mut events);
        let ended = |event| match event {
            Event::Got { token, result } => (token, result.is_ok()),
            other => panic!("{other:?}"),
        };
        events.into_iter().map(ended).collect()
    }

    pub(super) fn cma_bytes(&self) -> u64 {
        self.cma_bytes.load(Ordering::Relaxed)
    }
}

pub(super) fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i / 7 + i) as u8).collect()
}
