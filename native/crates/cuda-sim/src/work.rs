//! What work in streams does.

use std::ffi::c_void;

use crate::accesses::Access;
use crate::kernel::{Kernel, KernelCall, Shape};
use crate::machine::Machine;
use crate::schedule::{Pending, WorkId};
use crate::status::{self, Status};

#[derive(Debug)]
pub(crate) enum Work {
    ToDevice {
        target: u64,
        source: usize,
        bytes: usize,
    },
    ToHost {
        target: usize,
        source: u64,
        bytes: usize,
    },
    OnDevice {
        target: u64,
        source: u64,
        bytes: usize,
    },
    Fill {
        target: u64,
        byte: u8,
        bytes: usize,
    },
    Launch {
        module: usize,
        kernel: Kernel,
        shape: Shape,
        values: Vec<Vec<u8>>,
    },
    /// Of an event.
    Record(usize),
    /// What was waited for is done.
    Join,
    /// Memory of the pool is there from here on.
    Allocated {
        address: u64,
        bytes: usize,
    },
    Free {
        address: u64,
    },
}

impl Work {
    /// The range of host memory that it uses.
    pub(crate) fn host_range(&self) -> Option<(usize, usize)> {
        match *self {
            Self::ToDevice { source, bytes, .. } => Some((source, bytes)),
            Self::ToHost { target, bytes, .. } => Some((target, bytes)),
            _ => None,
        }
    }
}

/// What a kernel finds memory with while it runs.
struct Resolver<'a> {
    machine: &'a mut Machine,
    pending: &'a Pending,
    failed: bool,
}

impl Machine {
    /// Does work that was taken from the schedule. What it does wrong breaks the context.
    pub(crate) fn perform(&mut self, id: WorkId, pending: &Pending) {
        let done = match &pending.work {
            Work::ToDevice { target, source, bytes } => self.copy_to_device(pending, *target, *source, *bytes),
            Work::ToHost { target, source, bytes } => self.copy_to_host(pending, *target, *source, *bytes),
            Work::OnDevice { target, source, bytes } => self.copy_on_device(pending, *target, *source, *bytes),
            Work::Fill { target, byte, bytes } => self.fill(pending, *target, *byte, *bytes),
            Work::Launch { kernel, shape, values, .. } => self.run(pending, kernel, *shape, values),
            Work::Record(event) => {
                let step = self.executed;
                self.schedule.recorded(*event, id, step);
                Ok(())
            }
            Work::Join => Ok(()),
            Work::Allocated { address, bytes } => self.range(pending, *address, *bytes, true).map(drop),
            Work::Free { address } => self.free_in_order(pending, *address),
        };
        if let Err(status) = done {
            self.devices[pending.device].sticky.get_or_insert(status);
        }
    }

    /// Where a range of device memory is; the use is compared with others.
    fn range(&mut self, pending: &Pending, address: u64, bytes: usize, write: bool) -> Result<*mut u8, Status> {
        match self.devices[pending.device].memory.resolve(address, bytes) {
            Ok(start) => {
                self.note(pending, address, bytes, write);
                Ok(start)
            }
            Err(what) => {
                let verb = if write { "writes" } else { "reads" };
                let stream = self.schedule.describe(pending.stream);
                self.report(format!("{} of {stream} {verb} {what}", pending.function));
                Err(status::ILLEGAL_ADDRESS)
            }
        }
    }

    fn note(&mut self, pending: &Pending, start: u64, bytes: usize, write: bool) {
        if bytes == 0 {
            return;
        }
        let (stream, number, function) = (pending.stream, pending.number, pending.function);
        let access = Access { stream, number, start, end: start + bytes as u64, write, function };
        if let Some(words) = self.accesses.add(access, &pending.clock, &self.schedule.observed) {
            self.report(words);
        }
    }

    fn copy_to_device(&mut self, pending: &Pending, target: u64, source: usize, bytes: usize) -> Result<(), Status> {
        let start = self.range(pending, target, bytes, true)?;
        self.note(pending, source as u64, bytes, false);
        let copied = host_copy(start, source, bytes, false);
        self.host_copied(pending, source, bytes, copied)
    }

    fn copy_to_host(&mut self, pending: &Pending, target: usize, source: u64, bytes: usize) -> Result<(), Status> {
        let start = self.range(pending, source, bytes, false)?;
        self.note(pending, target as u64, bytes, true);
        let copied = host_copy(start, target, bytes, true);
        self.host_copied(pending, target, bytes, copied)
    }

    fn host_copied(&mut self, pending: &Pending, host: usize, bytes: usize, copied: bool) -> Result<(), Status> {
        if copied {
            return Ok(());
        }
        self.report(format!("{}: {bytes} bytes at {host:#x} are no memory of the host any more", pending.function));
        Err(status::ILLEGAL_ADDRESS)
    }

    fn copy_on_device(&mut self, pending: &Pending, target: u64, source: u64, bytes: usize) -> Result<(), Status> {
        let from = self.range(pending, source, bytes, false)?;
        let to = self.range(pending, target, bytes, true)?;
        // SAFETY: both ranges are in the device's memory and allocated; no other work is done at the same time.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }

    fn fill(&mut self, pending: &Pending, target: u64, byte: u8, bytes: usize) -> Result<(), Status> {
        let start = self.range(pending, target, bytes, true)?;
        // SAFETY: as above.
        unsafe { start.write_bytes(byte, bytes) };
        Ok(())
    }

    fn free_in_order(&mut self, pending: &Pending, address: u64) -> Result<(), Status> {
        let bytes = self.devices[pending.device].memory.length(address).unwrap_or(0);
        self.note(pending, address, bytes, true);
        self.free(pending.device, address, pending.function)
    }

    fn run(&mut self, pending: &Pending, kernel: &Kernel, shape: Shape, values: &[Vec<u8>]) -> Result<(), Status> {
        if kernel.name == self.config.skip {
            return Ok(());
        }
        let device = pending.device;
        if kernel.raw {
            self.devices[device].memory.open(true);
        }
        let addresses: Vec<*const u8> = values.iter().map(|value| value.as_ptr()).collect();
        let mut resolver = Resolver { machine: self, pending, failed: false };
        let call = KernelCall::new(shape, &addresses, resolve, (&raw mut resolver).cast());
        // SAFETY: the function was registered with the types of its parameters, whose values `addresses` has; the
        // resolver lives as long as the call.
        unsafe { (kernel.function)(&raw const call) };
        let failed = resolver.failed;
        if kernel.raw {
            self.devices[device].memory.open(false);
        }
        if failed { Err(status::ILLEGAL_ADDRESS) } else { Ok(()) }
    }
}

unsafe extern "C" fn resolve(resolver: *mut c_void, address: u64, bytes: usize, write: bool) -> *mut u8 {
    // SAFETY: `run` made it, for a kernel that is running now on this thread.
    let resolver = unsafe { &mut *resolver.cast::<Resolver<'_>>() };
    let found = resolver.machine.range(resolver.pending, address, bytes, write);
    resolver.failed |= found.is_err();
    found.unwrap_or(std::ptr::null_mut())
}

/// Copies between the simulator's memory and the host's, which may not be there any more. False then.
fn host_copy(ours: *mut u8, host: usize, bytes: usize, to_host: bool) -> bool {
    let copy = if to_host { libc::process_vm_writev } else { libc::process_vm_readv };
    let mut at = 0;
    while at < bytes {
        // SAFETY: within the range, which is in the device's memory.
        let local = libc::iovec { iov_base: unsafe { ours.add(at) }.cast(), iov_len: bytes - at };
        let host_at = std::ptr::with_exposed_provenance_mut(host + at);
        let remote = libc::iovec { iov_base: host_at, iov_len: bytes - at };
        // SAFETY: the kernel checks the addresses of both sides; ours is mapped, and the caller of the driver has
        // promised that nobody else uses the host's until the work is done.
        let copied = unsafe { copy(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(copied) {
            // A part, up to memory that is not there: the next call says so.
            Ok(copied) if copied > 0 => at += copied,
            Ok(_) => return false,
            Err(_) => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                // A container without this call.
                Some(libc::EPERM | libc::ENOSYS) => {
                    let host: *mut u8 = host_at.cast();
                    // SAFETY: ours is mapped; the host's is by the promise of the driver's caller.
                    unsafe {
                        let ours = ours.add(at);
                        if to_host {
                            ours.copy_to(host, bytes - at)
                        } else {
                            ours.copy_from(host, bytes - at)
                        };
                    }
                    return true;
                }
                _ => return false,
            },
        }
    }
    true
}

/// Fills memory of the host as far as it is there.
pub(crate) fn fill_host(target: usize, bytes: usize, value: u8) {
    let mut values = [value; 4096];
    for at in (0..bytes).step_by(values.len()) {
        if !host_copy(values.as_mut_ptr(), target + at, values.len().min(bytes - at), true) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_ends_within_a_copy_is_noticed() {
        let page = crate::memory::page_bytes();
        // SAFETY: a new mapping at an address that the kernel picks replaces none.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), 2 * page, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED);
        let host = start.expose_provenance();
        let mut ours = vec![7u8; 2 * page];
        assert!(host_copy(ours.as_mut_ptr(), host, 2 * page, true));
        // SAFETY: a part of the mapping above, which nobody else has.
        assert_eq!(unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(host + page), page) }, 0);
        assert!(host_copy(ours.as_mut_ptr(), host, page, false), "what is left");
        assert!(!host_copy(ours.as_mut_ptr(), host + page - 8, 16, true), "across the end");
        fill_host(host, 2 * page, 9);
        // SAFETY: the page that is left.
        assert_eq!(unsafe { start.cast::<u8>().add(page - 1).read() }, 9);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::munmap(start, page) }, 0);
    }
}
