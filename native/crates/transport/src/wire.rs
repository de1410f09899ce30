//! What moves bytes between two processes. The protocol above is the same for every wire.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluice_mem::MemoryKind;

/// A connection to another process; numbers are never used twice by one wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint(pub u64);

/// A connection that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Its end here.
    pub endpoint: Endpoint,
    /// Which opening to that address by this wire it was, from 1, failed ones counted.
    pub number: u32,
}

/// Memory that others may read; numbers are never used twice by one wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(pub u64);

/// Registered bytes in the memory of this process's GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRegion {
    /// To be unregistered.
    pub region: Region,
    /// Address of the first byte.
    pub address: u64,
    /// What others need to read it.
    pub key: Vec<u8>,
}

/// A wire's refusal or failure, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError(pub String);

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WireError {}

/// One one-sided read.
#[derive(Debug, Clone, Copy)]
pub struct Get<'a> {
    /// Comes back in [`Event::Got`].
    pub token: u64,
    /// The remote region's key, as its owner's [`Wire::register`] gave it.
    pub key: &'a [u8],
    /// Address in the owner's process.
    pub remote: u64,
    /// Where the bytes go.
    pub local: *mut u8,
    /// How many; at least 1.
    pub bytes: usize,
    /// What kind of memory `local` is. The owner's is known from the key.
    pub kind: MemoryKind,
}

/// What [`Wire::progress`] reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A whole message. The wire does not know its sender; the message names it.
    Message(Vec<u8>),
    /// A get has ended: its memory is not written any more, whatever the result.
    Got {
        /// The get's.
        token: u64,
        /// Whether all bytes are there. If not, this says nothing of the connection.
        result: Result<(), WireError>,
    },
    /// A read does not end, and its memory may still be written to: its own end is reported if it ever comes. The
    /// connection is well, as far as this side knows.
    Stuck {
        /// The read's connection; it may have been closed since.
        endpoint: Endpoint,
        /// What is known of it.
        error: WireError,
    },
    /// The connection is gone; reported once, and not for endpoints that were closed.
    Failed {
        /// Which one. It must still be closed.
        endpoint: Endpoint,
        /// Why.
        error: WireError,
    },
}

/// Ends another thread's [`Wire::wait`]. May be called from any thread.
pub trait Waker: Send + Sync {
    /// The present wait, or the next one, ends at once.
    fn wake(&self);
}

/// Messages and one-sided reads. Owned and used by one thread, but for its [`Waker`].
///
/// Messages of one endpoint arrive in order and once, or the endpoint fails.
///
/// Two wires' openings to each other are the two ends of one connection when they have the same number (UCX pairs them
/// so, by `conn_sn`). Otherwise messages pass, but [`Wire::close`] ends nothing of what comes over the other's
/// connection.
pub trait Wire {
    /// What others need to open an endpoint to here.
    fn address(&self) -> &[u8];

    /// By what other hosts are reached, in the words of the library that does it, as `tcp/eth0` (transport and device);
    /// for the log. Empty if that is not known.
    fn means(&self) -> Vec<String> {
        Vec::new()
    }

    /// Begins a connection; a failure that shows later is an [`Event::Failed`].
    ///
    /// # Errors
    /// The address is malformed or cannot be reached by any means.
    fn open(&mut self, address: &[u8]) -> Result<Opened, WireError>;

    /// Ends a connection at once. Its gets end (most of them in error) and are reported by later calls of `progress`.
    /// After this call nothing that the other side sends over the connection, its own opening of the same number, reads
    /// memory here. Unknown ones are ignored.
    fn close(&mut self, endpoint: Endpoint);

    /// Sends a message; what cannot be sent shows as the endpoint's failure.
    fn send(&mut self, endpoint: Endpoint, message: Vec<u8>);

    /// Lets others read memory: the region and its key. `address` is one of this process, or of the GPU that `kind`
    /// names.
    ///
    /// # Safety
    /// The bytes are memory of that kind and stay mapped and readable, or allocated on the GPU, until
    /// [`Wire::unregister`].
    ///
    /// # Errors
    /// The memory cannot be registered, or the wire reads no memory of that kind.
    unsafe fn register(
        &mut self,
        address: usize,
        bytes: usize,
        kind: MemoryKind,
    ) -> Result<(Region, Vec<u8>), WireError>;

    /// Registers a copy of a few bytes in the memory of this process's GPU, for the self-test of connections. To be
    /// called when no earlier such region is registered. None: there is no such memory, now or at all. May wait for the
    /// device, up to a second.
    fn register_on_device(&mut self, content: &[u8]) -> Option<Result<DeviceRegion, WireError>> {
        let _ = content;
        None
    }

    /// Whether this wire moves bytes from the memory of the peer's GPU to that of this process's, without the peer's
    /// process sending them.
    fn reads_device_memory(&mut self, endpoint: Endpoint) -> bool {
        let _ = endpoint;
        false
    }

    /// Whether memory must be writable to be registered, though no peer writes to it. UCX's drivers of RDMA devices
    /// register all memory for writing by the device, and the kernel does not pin read-only mappings for that.
    fn wants_writable(&self) -> bool {
        false
    }

    /// How often memory that gets write to could not be registered, of which the caller does not learn otherwise: the
    /// gets are made without.
    fn failed_registrations(&self) -> u64 {
        0
    }

    /// Ends what `register` began. Unknown ones are ignored.
    fn unregister(&mut self, region: Region);

    /// Bytes of reads under way to an endpoint, at least 1, after which starting more of them gains nothing. Less is
    /// better, because what is under way is leased, and memory that goes round within a processor's cache is filled
    /// twice as fast.
    fn max_bytes_in_flight(&self, endpoint: Endpoint) -> usize {
        let _ = endpoint;
        // What 200 Gbit/s move in 160 us.
        4 << 20
    }

    /// Starts a read. Always ends in one [`Event::Got`].
    ///
    /// # Safety
    /// `local` is memory of the get's kind, writable for `bytes` (by this process, or by the GPU whose it is), and
    /// nothing else uses it until that event has been reported.
    unsafe fn get(&mut self, endpoint: Endpoint, get: Get<'_>);

    /// Makes progress on everything that is under way, without waiting, and adds what happened to `events`.
    fn progress(&mut self, events: &mut Vec<Event>);

    /// Waits until there may be something for `progress`, the waker says so, or the time is over.
    fn wait(&mut self, longest: Duration);

    /// What ends a wait.
    fn waker(&self) -> Arc<dyn Waker>;
}
