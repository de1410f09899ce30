//! What the arena's suites ask of an arena, whatever kind of memory it leases. `sluice-gpu-mem` runs the same files
//! over pinned memory and a GPU's.
#![allow(dead_code, reason = "each test crate uses a part")]

use sluice_mem::{Arena, ArenaOptions, MemError, Statistics};
use std::sync::Arc;

/// An arena under test, and how its memory is written and read.
pub trait Subject: Send + Sync {
    fn lease_raw(&self, bytes: usize) -> Result<usize, MemError>;
    fn release_raw(&self, address: usize) -> Result<(), MemError>;
    /// Writes into a live lease.
    fn write(&self, address: usize, bytes: &[u8]);
    /// Reads from a live lease.
    fn read(&self, address: usize, bytes: &mut [u8]);
    fn set_limit(&self, bytes: usize);
    fn trim(&self, keep_bytes: usize);
    fn statistics(&self) -> Statistics;
    fn check(&self) -> Result<(), String>;
    fn check_quiet(&self) -> Result<(), String>;

    /// The most bytes that a lease counts beyond those that were asked for; as `Arena::lease_raw` documents it.
    fn most_rounding(&self, requested: usize) -> usize {
        if requested > 120 << 10 { 4095 } else { (requested / 8).max(64) }
    }

    fn leased_bytes(&self) -> usize {
        self.statistics().leased_bytes
    }

    fn reserved_bytes(&self) -> usize {
        self.statistics().reserved_bytes
    }
}

/// Makes an arena with these options over regions of the kind under test.
pub type Make<'a> = &'a dyn Fn(&ArenaOptions) -> Box<dyn Subject>;

impl Subject for Arc<Arena> {
    fn lease_raw(&self, bytes: usize) -> Result<usize, MemError> {
        Arena::lease_raw(self, bytes).map(|start| start.as_ptr().expose_provenance())
    }

    fn release_raw(&self, address: usize) -> Result<(), MemError> {
        Arena::release_raw(self, address)
    }

    fn write(&self, address: usize, bytes: &[u8]) {
        let start = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the suites write into live leases only, each from one thread at a time, within their bounds.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
    }

    fn read(&self, address: usize, bytes: &mut [u8]) {
        let start = std::ptr::with_exposed_provenance(address);
        // SAFETY: as in `write`; leases hold initialised bytes.
        unsafe { std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), bytes.len()) };
    }

    fn set_limit(&self, bytes: usize) {
        Arena::set_limit(self, bytes);
    }

    fn trim(&self, keep_bytes: usize) {
        Arena::trim(self, keep_bytes);
    }

    fn statistics(&self) -> Statistics {
        Arena::statistics(self)
    }

    fn check(&self) -> Result<(), String> {
        Arena::check(self)
    }

    fn check_quiet(&self) -> Result<(), String> {
        Arena::check_quiet(self)
    }
}

/// A lease that is released when it is dropped.
pub struct Held<'a> {
    subject: &'a dyn Subject,
    pub address: usize,
    pub bytes: usize,
}

impl<'a> Held<'a> {
    pub fn lease(subject: &'a dyn Subject, bytes: usize) -> Result<Self, MemError> {
        subject.lease_raw(bytes).map(|address| Self { subject, address, bytes })
    }

    /// Writes a word at an offset.
    pub fn write_word(&self, at: usize, word: u64) {
        assert!(at + 8 <= self.bytes);
        self.subject.write(self.address + at, &word.to_le_bytes());
    }

    pub fn read_word(&self, at: usize) -> u64 {
        assert!(at + 8 <= self.bytes);
        let mut word = [0; 8];
        self.subject.read(self.address + at, &mut word);
        u64::from_le_bytes(word)
    }

    /// Writes eight words that only this lease has at its start, in its middle and at its end.
    pub fn sign(&self, salt: u64) {
        for (at, bytes) in self.parts() {
            self.subject.write(self.address + at, &self.signature(salt, at)[..bytes]);
        }
    }

    /// Whether what [`Self::sign`] wrote is still there.
    pub fn is_signed(&self, salt: u64) -> bool {
        self.parts().into_iter().all(|(at, bytes)| {
            let mut found = [0; 64];
            self.subject.read(self.address + at, &mut found[..bytes]);
            found[..bytes] == self.signature(salt, at)[..bytes]
        })
    }

    /// Eight words, each another one at each place, the same where parts overlap.
    fn signature(&self, salt: u64, at: usize) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (nth, word) in bytes.chunks_exact_mut(8).enumerate() {
            let cookie = self.address as u64 ^ salt.rotate_left(32) ^ ((at + 8 * nth) as u64).rotate_left(16);
            word.copy_from_slice(&cookie.to_le_bytes());
        }
        bytes
    }

    /// Offsets and lengths, multiples of eight.
    fn parts(&self) -> [(usize, usize); 3] {
        let bytes = self.bytes.min(64) & !7;
        let last = self.bytes - bytes;
        [0, (last / 2) & !7, last & !7].map(|at| (at, bytes))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let released = self.subject.release_raw(self.address);
        assert!(released.is_ok() || std::thread::panicking(), "{released:?}");
    }
}
