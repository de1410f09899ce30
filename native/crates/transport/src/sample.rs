//! The self-test of a connection: before a reader asks for anything it reads some random bytes of the owner's, of which
//! the owner has told it what they are. A transport that reads wrong bytes fails there, before it reads a user's data.

use sluice_mem::MemoryKind;

use crate::message::{Body, SAMPLE_BYTES};
use crate::wire::{DeviceRegion, Region, Wire, WireError};

/// The bytes that readers of this process read first; registered once, when the first of them needs it, and used for
/// all.
///
/// In the memory of this process's GPU there is a second one, if the wire has any: a transport that reads a device's
/// memory wrongly, or not at all, is found there, and the session goes on with host memory alone.
pub(crate) struct Sample {
    content: Box<[u8; SAMPLE_BYTES]>,
    registered: Option<(Region, Vec<u8>)>,
    on_device: OnDevice,
}

enum OnDevice {
    /// There was no such memory when it was last looked for.
    Absent,
    Registered(DeviceRegion, [u8; SAMPLE_BYTES]),
    /// It could not be written or registered.
    Failed,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut content = Box::new([0; SAMPLE_BYTES]);
        getrandom::fill(&mut *content).expect("the system has random numbers");
        Self { content, registered: None, on_device: OnDevice::Absent }
    }

    /// What to tell a reader of the GPU's memory; none where there is none that can be registered. The first call waits
    /// for the device, up to a second.
    pub(crate) fn device_message<W: Wire>(&mut self, wire: &mut W) -> Option<Body> {
        if matches!(self.on_device, OnDevice::Absent) {
            // Other bytes than the host's, so that one is not taken for the other.
            let content = self.content.map(|byte| byte.rotate_left(3) ^ 0x5a);
            self.on_device = match wire.register_on_device(&content)? {
                Ok(region) => OnDevice::Registered(region, content),
                Err(error) => {
                    eprintln!("sluice-transport: peers will not read this process's GPU: {error}");
                    OnDevice::Failed
                }
            };
        }
        match &self.on_device {
            OnDevice::Registered(DeviceRegion { address, key, .. }, content) => {
                Some(Body::Sample { on_device: true, address: *address, content: *content, key: key.clone() })
            }
            _ => None,
        }
    }

    /// What to tell a reader.
    ///
    /// # Errors
    /// The memory cannot be registered.
    pub(crate) fn message<W: Wire>(&mut self, wire: &mut W) -> Result<Body, WireError> {
        let address = self.content.as_ptr().expose_provenance();
        let (region, key) = match self.registered.take() {
            Some(registered) => registered,
            // SAFETY: the box is never moved out of or written to, and `close` unregisters before it goes.
            None => unsafe { wire.register(address, SAMPLE_BYTES, MemoryKind::Host) }?,
        };
        self.registered = Some((region, key.clone()));
        Ok(Body::Sample { on_device: false, address: address as u64, content: *self.content, key })
    }

    /// No peer can read it any more.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        if let Some((region, _)) = self.registered.take() {
            wire.unregister(region);
        }
        if let OnDevice::Registered(known, _) = std::mem::replace(&mut self.on_device, OnDevice::Absent) {
            wire.unregister(known.region);
        }
    }
}

/// A sample that is being read. It must live until its read has ended.
pub(crate) struct Probe {
    read: Box<[u8; SAMPLE_BYTES]>,
    content: [u8; SAMPLE_BYTES],
}

impl Probe {
    pub(crate) fn new(content: [u8; SAMPLE_BYTES]) -> Self {
        // Differs from the content, so that a read that writes nothing fails the test.
        Self { read: Box::new(content.map(|byte| !byte)), content }
    }

    /// Where the bytes go.
    pub(crate) fn memory(&mut self) -> *mut u8 {
        self.read.as_mut_ptr()
    }

    /// Whether what was read is what the owner has told.
    pub(crate) fn is_right(&self) -> bool {
        *self.read == self.content
    }
}
