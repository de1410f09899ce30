//! A wire whose wait ends only when it is woken, or with its time.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use sluice_mem::MemoryKind;

use crate::loopback::Loopback;
use crate::wire::{Endpoint, Event, Get, Opened, Region, Waker, Wire, WireError};

/// The loopback with a wait that a waker ends, which is all that ends it but the time.
pub(super) struct Sleeper {
    pub(super) inner: Loopback,
    pub(super) bell: Arc<Bell>,
}

#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Waker for Bell {
    fn wake(&self) {
        *self.rung.lock().expect("no panic") = true;
        self.rings.notify_all();
    }
}

impl Wire for Sleeper {
    fn address(&self) -> &[u8] {
        self.inner.address()
    }

    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError> {
        self.inner.open(address)
    }

    fn close(&mut self, endpoint: Endpoint) {
        self.inner.close(endpoint);
    }

    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>) {
        self.inner.send(endpoint, message);
    }

    unsafe fn register(
        &mut self,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<(Region, Vec<u8>), WireError> {
        // SAFETY: the caller promises the same.
        unsafe { self.inner.register(address, bytes, kind) }
    }

    fn unregister(&mut self, region: Region) {
        self.inner.unregister(region);
    }

    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>) {
        // SAFETY: the caller promises the same.
        unsafe { self.inner.get(endpoint, get) }
    }

    fn progress(&mut self, events: &mut Vec<Event>) {
        self.inner.progress(events);
    }

    fn wait(&mut self, longest: Duration) {
        let rung = self.bell.rung.lock().expect("no panic");
        let (mut rung, _) = self.bell.rings.wait_timeout_while(rung, longest, |rung| !*rung).expect("no panic");
        *rung = false;
    }

    fn waker(&self) -> Arc<dyn Waker> {
        Arc::clone(&self.bell) as Arc<dyn Waker>
    }
}
