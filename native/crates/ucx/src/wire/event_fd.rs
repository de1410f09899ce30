//! Linux's event descriptor: how another thread ends the wire's wait.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use sluice_transport::{Waker, WireError};

/// Readable from [`Waker::wake`] until it is cleared.
pub(super) struct EventFd(OwnedFd);

impl EventFd {
    pub(super) fn new() -> Result<Self, WireError> {
        // SAFETY: makes a new descriptor; touches no memory.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(WireError(format!("an event descriptor: {}", std::io::Error::last_os_error())));
        }
        // SAFETY: `fd` is open (checked above) and was made here, so nothing else closes it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(super) fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub(super) fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: the descriptor is open as long as `self`, and 8 bytes are written to `count`, which has 8. When there
        // is nothing to read it fails (EFD_NONBLOCK) and writes nothing.
        unsafe { libc::read(self.fd(), (&raw mut count).cast(), 8) };
    }
}

impl Waker for EventFd {
    fn wake(&self) {
        let one = 1u64;
        // SAFETY: the descriptor is open as long as `self`, and 8 bytes are read from `one`, which has 8. When the
        // counter is full it fails (EFD_NONBLOCK), and the descriptor is readable already.
        unsafe { libc::write(self.fd(), (&raw const one).cast(), 8) };
    }
}
