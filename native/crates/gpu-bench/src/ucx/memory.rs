//! Memory of the three kinds that gets go between, and what is written to it.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use sluice_cuda::{Context, DeviceAddress, DeviceMemory, Driver, HostRegistration, Stream};
use sluice_mem::MemoryKind;

/// For copies of what is looked at.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Device,
    Pinned,
    Host,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Device, Self::Pinned, Self::Host];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Pinned => "pinned",
            Self::Host => "host",
        }
    }
}

/// The GPU, or why there is none.
pub(super) fn gpu(device: Option<&str>) -> Result<Context, String> {
    let open = || Driver::open()?.select(device)?.context();
    open().map_err(|e| format!("no GPU: {e}"))
}

/// Bytes of one kind.
pub(super) struct Memory {
    bytes: usize,
    of: Of,
}

enum Of {
    Host(Vec<u8>),
    Pinned(HostRegistration, Vec<u8>),
    Device(DeviceMemory, Stream),
}

impl Memory {
    pub(super) fn new(kind: Kind, bytes: usize, gpu: Option<&Context>) -> Result<Self, String> {
        let needed = || gpu.ok_or("no GPU");
        let of = match kind {
            Kind::Host => Of::Host(vec![1; bytes]),
            Kind::Pinned => {
                let mut memory = vec![1; bytes];
                // SAFETY: the memory is given back only when the registration has ended (`drop`).
                let pinned = unsafe { needed()?.register_host(NonNull::from(&mut memory[..]).cast(), bytes) };
                Of::Pinned(pinned.map_err(|e| e.to_string())?, memory)
            }
            Kind::Device => {
                let gpu = needed()?;
                Of::Device(gpu.allocate(bytes).map_err(|e| e.to_string())?, gpu.thread_stream())
            }
        };
        Ok(Self { bytes, of })
    }

    /// As the wire has to know it.
    pub(super) fn kind(&self) -> MemoryKind {
        match &self.of {
            Of::Host(_) => MemoryKind::Host,
            Of::Pinned(..) => MemoryKind::Pinned,
            Of::Device(memory, _) => MemoryKind::Device(memory.ordinal()),
        }
    }

    pub(super) fn address(&mut self) -> usize {
        match &mut self.of {
            Of::Host(memory) | Of::Pinned(_, memory) => memory.as_mut_ptr().expose_provenance(),
            Of::Device(memory, _) => memory.address().0 as usize,
        }
    }

    pub(super) fn device(&self) -> Option<(&DeviceMemory, &Stream)> {
        match &self.of {
            Of::Device(memory, stream) => Some((memory, stream)),
            _ => None,
        }
    }

    /// Writes all bytes of the pattern.
    pub(super) fn write_pattern(&mut self) -> Result<(), String> {
        let bytes = self.bytes;
        match &mut self.of {
            Of::Host(memory) | Of::Pinned(_, memory) => pattern(memory),
            Of::Device(memory, stream) => {
                let mut content = vec![0; bytes];
                pattern(&mut content);
                // SAFETY: as many bytes on both sides; both stay until the stream is done, and nobody else uses them.
                let copied = unsafe { stream.copy_to_device(memory.address(), content.as_ptr(), bytes) };
                copied.map_err(|e| e.to_string())?;
                finish(stream)?;
            }
        }
        Ok(())
    }

    /// Overwrites the first bytes, so that a get that writes nothing is seen.
    pub(super) fn spoil(&mut self, bytes: usize) -> Result<(), String> {
        match &mut self.of {
            Of::Host(memory) | Of::Pinned(_, memory) => memory[..bytes].fill(0xee),
            Of::Device(memory, stream) => {
                // SAFETY: the bytes are allocated and nobody else uses them.
                unsafe { stream.fill(memory.address(), 0xee, bytes) }.map_err(|e| e.to_string())?;
                finish(stream)?;
            }
        }
        Ok(())
    }

    /// Compares the first bytes with the pattern; says where they differ.
    pub(super) fn check(&mut self, bytes: usize) -> Result<(), String> {
        let mut copy = Vec::new();
        let found = match &mut self.of {
            Of::Host(memory) | Of::Pinned(_, memory) => &memory[..bytes],
            Of::Device(memory, stream) => {
                copy.resize(bytes, 0);
                // SAFETY: as many bytes on both sides; both stay until the stream is done, and nobody else uses them.
                let copied = unsafe { stream.copy_to_host(copy.as_mut_ptr(), memory.address(), bytes) };
                copied.map_err(|e| e.to_string())?;
                finish(stream)?;
                &copy[..]
            }
        };
        let mut expected = vec![0; bytes];
        pattern(&mut expected);
        match found.iter().zip(&expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => {
                let wrong = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
                let (got, wanted) = (found[at], expected[at]);
                Err(format!("{wrong} of {bytes} bytes are wrong, byte {at} first: {got:#x} instead of {wanted:#x}"))
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Of::Pinned(pinned, memory) = std::mem::replace(&mut self.of, Of::Host(Vec::new()))
            && !pinned.end()
        {
            std::mem::forget(memory);
        }
    }
}

/// Waits by asking all the time, as UCX's progress does.
pub(super) fn finish(stream: &Stream) -> Result<(), String> {
    let end = Instant::now() + LIMIT;
    while !stream.is_done().map_err(|e| e.to_string())? {
        if Instant::now() > end {
            return Err(format!("a copy did not end within {LIMIT:?}"));
        }
        std::hint::spin_loop();
    }
    Ok(())
}

/// Bytes that depend on their place, in a period of more than what is read.
fn pattern(target: &mut [u8]) {
    for (number, bytes) in target.chunks_mut(8).enumerate() {
        let word = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bytes.copy_from_slice(&word.rotate_left(23).to_le_bytes()[..bytes.len()]);
    }
}

/// A copy without UCX, in the direction of a combination.
pub(super) enum Bare {
    /// From the owner's memory, mapped by IPC, or from other memory of this process's device.
    OnDevice {
        source: DeviceAddress,
    },
    ToHost {
        source: DeviceAddress,
    },
    ToDevice {
        source: *const u8,
    },
    OnHost {
        source: *const u8,
    },
}

impl Bare {
    /// Puts a copy into the stream, or makes it.
    ///
    /// # Safety
    /// `target` is memory with this many bytes, which stays until the stream is done, and so does the source.
    pub(super) unsafe fn copy(
        &self,
        target: &mut Memory,
        stream: Option<&Stream>,
        offset: usize,
        bytes: usize,
    ) -> Result<(), String> {
        let to = target.address() + offset;
        let host = std::ptr::with_exposed_provenance_mut::<u8>(to);
        let stream = || stream.ok_or_else(|| "no GPU".to_string());
        // SAFETY: the caller's promises; sources are as large as targets, and other memory.
        unsafe {
            match *self {
                Self::OnDevice { source } => {
                    stream()?.copy_on_device(DeviceAddress(to as u64), source.plus(offset), bytes)
                }
                Self::ToHost { source } => stream()?.copy_to_host(host, source.plus(offset), bytes),
                Self::ToDevice { source } => {
                    stream()?.copy_to_device(DeviceAddress(to as u64), source.add(offset), bytes)
                }
                Self::OnHost { source } => {
                    host.copy_from_nonoverlapping(source.add(offset), bytes);
                    Ok(())
                }
            }
        }
        .map_err(|e| e.to_string())
    }
}
