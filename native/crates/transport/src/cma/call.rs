//! `process_vm_readv` (Linux 3.2): the one system call of this wire.

use std::io;

/// Why memory of another process was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No read from that process can succeed: the kernel does not permit it, there is no such process, or the kernel
    /// lacks the call.
    Refused,
    /// Some of it is not mapped there, or the kernel lacks memory now.
    NotRead,
}

/// The arguments of one call while they are put together; their memory is kept for the next. One thread's.
#[derive(Default)]
pub(crate) struct Call {
    local: Vec<libc::iovec>,
    remote: Vec<libc::iovec>,
    bytes: usize,
}

impl Call {
    /// Forgets the pieces of the last call.
    pub(crate) fn clear(&mut self) {
        self.local.clear();
        self.remote.clear();
        self.bytes = 0;
    }

    /// Another piece, read after all before it.
    pub(crate) fn push(&mut self, remote: u64, local: *mut u8, bytes: usize) {
        let remote = std::ptr::with_exposed_provenance_mut(remote as usize);
        self.remote.push(libc::iovec { iov_base: remote, iov_len: bytes });
        self.local.push(libc::iovec { iov_base: local.cast(), iov_len: bytes });
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Reads every piece, in their order, or fails; then what the pieces' memory holds is not defined.
    ///
    /// # Safety
    /// Every piece's local memory is writable for its bytes, and nothing else uses it during the call.
    pub(crate) unsafe fn run(&self, pid: u32) -> Result<(), Failure> {
        let (local, remote) = (self.local.as_ptr(), self.remote.as_ptr());
        let count = self.local.len() as libc::c_ulong;
        let Ok(pid) = libc::pid_t::try_from(pid) else { return Err(Failure::Refused) };
        #[cfg(test)]
        faults::next()?;
        #[cfg(test)]
        stalls::pass(&self.remote)?;
        // SAFETY: both lists have `count` entries. The kernel writes to the local ones, which the caller lends for
        // that, and reads what the remote ones name only with this process's permission to.
        let read = unsafe { libc::process_vm_readv(pid, local, count, remote, count, 0) };
        match usize::try_from(read) {
            Ok(read) if read == self.bytes => Ok(()),
            Ok(_) => Err(Failure::NotRead),
            Err(_) => Err(meaning(&io::Error::last_os_error())),
        }
    }
}

fn meaning(error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ESRCH | libc::ENOSYS) => Failure::Refused,
        _ => Failure::NotRead,
    }
}

/// Whether the kernel lets this process read its own memory by the call; if not, says that a test was skipped.
#[cfg(test)]
pub(crate) fn permitted(test: &str) -> bool {
    let (from, mut to) = (7u64, 0u64);
    let mut call = Call::default();
    call.push(std::ptr::from_ref(&from).expose_provenance() as u64, (&raw mut to).cast(), 8);
    // SAFETY: the one piece is `to`.
    let read = unsafe { call.run(std::process::id()) };
    if read.is_err() {
        eprintln!("skipped: {test}: process_vm_readv is not permitted here");
    }
    read.is_ok() && to == 7
}

/// Failures that a test orders for its thread.
#[cfg(test)]
pub(crate) mod faults {
    use super::Failure;
    use std::cell::Cell;

    thread_local! {
        static ORDERED: Cell<(u64, u32, u32)> = const { Cell::new((1, 0, 0)) };
    }

    /// Of a thousand calls, so many read nothing and so many are refused, by chances that follow from `seed`.
    pub(crate) fn order(seed: u64, not_read: u32, refused: u32) {
        ORDERED.set((seed | 1, not_read, refused));
    }

    pub(super) fn next() -> Result<(), Failure> {
        let (mut random, not_read, refused) = ORDERED.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ORDERED.set((random, not_read, refused));
        match (random >> 20) % 1000 {
            chance if chance < u64::from(not_read) => Err(Failure::NotRead),
            chance if chance < u64::from(not_read + refused) => Err(Failure::Refused),
            _ => Ok(()),
        }
    }
}

/// Calls that a test holds up, on whatever thread they are made.
#[cfg(test)]
pub(crate) mod stalls {
    use super::Failure;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    static STALLS: Mutex<Vec<Arc<Held>>> = Mutex::new(Vec::new());

    struct Held {
        at: u64,
        entered: AtomicBool,
        refused: AtomicBool,
    }

    /// Dropping it lets the call go on.
    pub(crate) struct Stall(Arc<Held>);

    /// Holds up calls whose first piece is at this address.
    pub(crate) fn at(address: u64) -> Stall {
        let held = Held { at: address, entered: AtomicBool::new(false), refused: AtomicBool::new(false) };
        let held = Arc::new(held);
        STALLS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&held));
        Stall(held)
    }

    impl Stall {
        pub(crate) fn wait_for_entry(&self) {
            let end = Instant::now() + Duration::from_secs(60);
            while !self.0.entered.load(Ordering::SeqCst) {
                assert!(Instant::now() < end, "the call was not made");
                std::thread::sleep(Duration::from_millis(1));
            }
        }

        /// Lets the call go on as one that the kernel refuses.
        pub(crate) fn refuse(self) {
            self.0.refused.store(true, Ordering::SeqCst);
        }
    }

    impl Drop for Stall {
        fn drop(&mut self) {
            STALLS.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| !Arc::ptr_eq(held, &self.0));
        }
    }

    pub(super) fn pass(remote: &[libc::iovec]) -> Result<(), Failure> {
        let Some(first) = remote.first().map(|piece| piece.iov_base.expose_provenance() as u64) else { return Ok(()) };
        let find = || {
            let stalls = STALLS.lock().unwrap_or_else(PoisonError::into_inner);
            stalls.iter().find(|held| held.at == first).map(Arc::clone)
        };
        let Some(held) = find() else { return Ok(()) };
        held.entered.store(true, Ordering::SeqCst);
        while find().is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if held.refused.load(Ordering::SeqCst) { Err(Failure::Refused) } else { Ok(()) }
    }
}
