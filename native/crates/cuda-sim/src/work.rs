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
        if let Some(words) = self.accesses.add(access, &pending.clock) {
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
    if bytes == 0 {
        return true;
    }
    let local = libc::iovec { iov_base: ours.cast(), iov_len: bytes };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(host), iov_len: bytes };
    let copy = if to_host { libc::process_vm_writev } else { libc::process_vm_readv };
    // SAFETY: the kernel checks the addresses of both sides; ours is mapped, and the caller of the driver has promised
    // that nobody else uses the host's until the work is done.
    let copied = unsafe { copy(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    if usize::try_from(copied) == Ok(bytes) {
        return true;
    }
    if !matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) {
        return false;
    }
    // A container without this call.
    let host: *mut u8 = std::ptr::with_exposed_provenance_mut(host);
    // SAFETY: ours is mapped; the host's is by the promise of the driver's caller.
    unsafe { if to_host { ours.copy_to(host, bytes) } else { ours.copy_from(host, bytes) } };
    true
}
