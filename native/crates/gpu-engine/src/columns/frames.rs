//! Frames in the device's memory.

use sluice_cuda::{DeviceAddress, Wait};
use sluice_gpu_mem::{ArenaStream, StreamLease};

use crate::declined::Declined;
use crate::encode_scratch::STAGING_BYTES;
use crate::staging::Staging;

/// A frame of [`DeviceFrames`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceFrame {
    /// Whose rows it has.
    pub partition: u32,
    /// How many rows.
    pub rows: u32,
    /// Where it begins among all frames.
    pub start: u64,
    /// Its length.
    pub bytes: u64,
}

/// The frames of a batch, one after another, by ascending partition. Their memory is freed when this is dropped: work
/// of other streams that reads it has ended by then.
#[derive(Debug)]
pub struct DeviceFrames {
    pub(crate) memory: StreamLease,
    pub(crate) frames: Vec<DeviceFrame>,
    pub(crate) bytes: u64,
}

impl DeviceFrames {
    /// Where the first frame begins.
    pub fn address(&self) -> DeviceAddress {
        self.memory.address()
    }

    /// Bytes of all frames.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Each of them.
    pub fn frames(&self) -> &[DeviceFrame] {
        &self.frames
    }

    /// Copies all frames to the host's memory.
    ///
    /// # Errors
    /// `target` has another length; the device fails.
    pub fn copy_to_host(&self, stream: &ArenaStream, target: &mut [u8], wait: Wait<'_>) -> Result<(), Declined> {
        if target.len() as u64 != self.bytes {
            return Err(Declined::NotTaken("the room for frames has another length"));
        }
        let room = target.len().min(STAGING_BYTES);
        let mut staging = Staging::plain(stream.stream().context(), room)?;
        // SAFETY: the lease has as many bytes, and any bytes are bytes.
        unsafe { staging.get_all(stream.stream(), self.address().0, target, wait) }
    }
}
