//! The self-test of a connection: before a reader asks for anything it reads some random bytes of the owner's, of which
//! the owner has told it what they are. A transport that reads wrong bytes fails there, before it reads a user's data.

use sluice_mem::MemoryKind;

use crate::message::{Body, SAMPLE_BYTES};
use crate::wire::{Region, Wire, WireError};

/// The bytes that readers of this process read first; registered once, when the first of them needs it, and used for
/// all.
pub(crate) struct Sample {
    content: Box<[u8; SAMPLE_BYTES]>,
    registered: Option<(Region, Vec<u8>)>,
}

impl Sample {
    pub(crate) fn new() -> Self {
        let mut content = Box::new([0; SAMPLE_BYTES]);
        getrandom::fill(&mut *content).expect("the system has random numbers");
        Self { content, registered: None }
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
        Ok(Body::Sample { address: address as u64, content: *self.content, key })
    }

    /// No peer can read it any more.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        if let Some((region, _)) = self.registered.take() {
            wire.unregister(region);
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
