//! The memory of a device: one file in memory, mapped twice. The addresses that programs get lie in the mapping that
//! the host cannot access; the simulator reads and writes by the other.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use crate::random::Random;

/// Memory that was just allocated, up to [`FILLED_BYTES`].
const FRESH: u8 = 0xa5;
/// Memory that was freed.
const FREED: u8 = 0xdb;
/// Larger allocations are filled only where there are pages: a fresh page of a file reads as 0.
const FILLED_BYTES: usize = 16 << 20;
/// As the driver aligns small allocations, and those of a MiB and more.
const SMALL_ALIGN: usize = 512;
const LARGE_ALIGN: usize = 2 << 20;

#[derive(Debug)]
pub(crate) struct DeviceMemory {
    file: OwnedFd,
    /// What programs know: `PROT_NONE`.
    device: usize,
    /// What copies use: readable and writable.
    alias: usize,
    bytes: usize,
    /// Length by offset.
    allocated: BTreeMap<usize, usize>,
    /// Offsets that were allocated once, for a word about what a wrong address is.
    freed: BTreeMap<usize, usize>,
    used: usize,
    /// Where the search for a place begins: memory that was freed is not given out at once.
    next: usize,
}

impl DeviceMemory {
    pub(crate) fn new(bytes: usize) -> Result<Self, String> {
        let failed = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
        // SAFETY: a name that ends with 0.
        let file = unsafe { libc::memfd_create(c"sluice-cuda-sim".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(failed("memfd_create"));
        }
        // SAFETY: a descriptor that nobody else has.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(failed("ftruncate"));
        }
        let map = |protection| {
            // SAFETY: a new mapping at an address that the kernel picks replaces none.
            let start = unsafe { libc::mmap(null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
            if start == libc::MAP_FAILED { Err(failed("mmap")) } else { Ok(start.expose_provenance()) }
        };
        let (device, alias) = (map(libc::PROT_NONE)?, map(libc::PROT_READ | libc::PROT_WRITE)?);
        let (allocated, freed) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { file, device, alias, bytes, allocated, freed, used: 0, next: 0 })
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.bytes - self.used
    }

    pub(crate) fn allocations(&self) -> (usize, usize) {
        (self.allocated.len(), self.used)
    }

    /// An address, or none.
    pub(crate) fn allocate(&mut self, bytes: usize, random: &mut Random) -> Option<u64> {
        let align = if bytes >= 1 << 20 { LARGE_ALIGN } else { SMALL_ALIGN };
        let rounded = bytes.checked_next_multiple_of(align)?;
        let start = self.place(self.next, rounded, align).or_else(|| self.place(0, rounded, align))?;
        self.allocated.insert(start, rounded);
        self.freed.retain(|freed, length| *freed + *length <= start || start + rounded <= *freed);
        self.used += rounded;
        // Sometimes from the start, so that addresses do come back.
        self.next = if random.below(4) == 0 { 0 } else { start + rounded };
        if rounded <= FILLED_BYTES {
            // SAFETY: the range is a part of the mapping; no work uses it, and the host cannot.
            unsafe { self.alias_of(start).write_bytes(FRESH, rounded) };
        } else {
            self.fill_pages(start, rounded, FRESH);
        }
        Some((self.device + start) as u64)
    }

    /// The first offset from `from` on where `bytes` are free.
    fn place(&self, from: usize, bytes: usize, align: usize) -> Option<usize> {
        // The device's addresses are multiples of the page only.
        let aligned = |offset: usize| (self.device + offset).next_multiple_of(align) - self.device;
        let mut start = aligned(from);
        for (&offset, &length) in &self.allocated {
            if start.checked_add(bytes)? <= offset {
                break;
            }
            if offset + length > start {
                start = aligned(offset + length);
            }
        }
        (start.checked_add(bytes)? <= self.bytes).then_some(start)
    }

    /// Frees an allocation, of which `address` is the start. Its length, or what is wrong with the address.
    pub(crate) fn free(&mut self, address: u64) -> Result<usize, String> {
        let offset = (address as usize).wrapping_sub(self.device);
        let Some(bytes) = self.allocated.remove(&offset) else {
            let was = if self.freed.contains_key(&offset) { "was freed before" } else { "is no allocation's start" };
            return Err(format!("free of {address:#x}, which {was}"));
        };
        self.used -= bytes;
        self.freed.insert(offset, bytes);
        self.fill_pages(offset, bytes, FREED);
        Ok(bytes)
    }

    /// The length of an allocation, of which `address` is the start.
    pub(crate) fn length(&self, address: u64) -> Option<usize> {
        self.allocated.get(&(address as usize).wrapping_sub(self.device)).copied()
    }

    /// Where the simulator finds a range, all of which is in one allocation; or what is wrong with it.
    pub(crate) fn resolve(&self, address: u64, bytes: usize) -> Result<*mut u8, String> {
        let offset = (address as usize).wrapping_sub(self.device);
        if let Some((start, length)) = self.allocated.range(..=offset).next_back()
            && offset.checked_add(bytes).is_some_and(|end| end <= start + length)
        {
            return Ok(self.alias_of(offset));
        }
        let freed = self.freed.range(..=offset).next_back().is_some_and(|(start, length)| offset < start + length);
        let what = if freed { "memory that was freed" } else { "memory that is not allocated" };
        Err(format!("{bytes} bytes at {address:#x}: {what}"))
    }

    fn alias_of(&self, offset: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.alias + offset)
    }

    /// Fills the pages that exist in a range.
    fn fill_pages(&self, start: usize, bytes: usize, value: u8) {
        let seek = |from: usize, whence| {
            // SAFETY: the descriptor is open; -1 means that there is no more.
            usize::try_from(unsafe { libc::lseek(self.file.as_raw_fd(), from as libc::off_t, whence) }).ok()
        };
        let (mut at, end) = (start, start + bytes);
        while let Some(data) = seek(at, libc::SEEK_DATA).filter(|data| *data < end) {
            let hole = seek(data, libc::SEEK_HOLE).unwrap_or(end).min(end);
            // SAFETY: the range is a part of the mapping, free or just allocated: no work uses it.
            unsafe { self.alias_of(data).write_bytes(value, hole - data) };
            at = hole;
        }
    }

    /// Makes allocated memory accessible at the addresses that programs have, or inaccessible again.
    pub(crate) fn open(&self, accessible: bool) {
        let protection = if accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        let page = page_bytes();
        for (start, bytes) in &self.allocated {
            // Small allocations share a page with others.
            let (from, to) = (start / page * page, (start + bytes).next_multiple_of(page).min(self.bytes));
            let address = std::ptr::with_exposed_provenance_mut(self.device + from);
            // SAFETY: changes how a part of this value's own mapping can be used.
            let changed = unsafe { libc::mprotect(address, to - from, protection) };
            assert!(changed == 0, "mprotect of device memory: {}", std::io::Error::last_os_error());
        }
    }
}

/// Bytes of a page of the machine.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        for start in [self.device, self.alias] {
            // SAFETY: this value's own mappings; the addresses that programs still have become invalid, as on a device.
            unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_at(memory: &DeviceMemory, address: u64, bytes: usize) -> Vec<u8> {
        let start = memory.resolve(address, bytes).expect("allocated");
        // SAFETY: the range is allocated, and nobody writes to it.
        unsafe { std::slice::from_raw_parts(start, bytes) }.to_vec()
    }

    #[test]
    fn allocations_are_apart_and_bounded() {
        let (mut memory, mut random) = (DeviceMemory::new(8 << 20).expect("made"), Random::new(1));
        let small = memory.allocate(1, &mut random).expect("room");
        let large = memory.allocate(3 << 20, &mut random).expect("room");
        assert_eq!((small % 512, large % (2 << 20)), (0, 0));
        assert_eq!(bytes_at(&memory, small, 512), [FRESH; 512]);
        assert!(memory.resolve(small, 513).is_err() && memory.resolve(large + 1, 4 << 20).is_err());
        assert_eq!(memory.allocate(4 << 20, &mut random), None, "8 MiB are not aligned to 2 MiB as a whole");
        assert_eq!(memory.allocate(usize::MAX, &mut random), None);
        assert_eq!(memory.free(large), Ok(4 << 20));
        assert!(memory.free(large).expect_err("twice").contains("freed before"));
        assert!(memory.resolve(large, 1).expect_err("freed").contains("was freed"));
        assert!(memory.free(small + 1).is_err());
        assert_eq!(memory.allocations(), (1, 512));
    }

    #[test]
    fn what_was_freed_is_overwritten() {
        let (mut memory, mut random) = (DeviceMemory::new(1 << 20).expect("made"), Random::new(1));
        let address = memory.allocate(4096, &mut random).expect("room");
        let start = memory.resolve(address, 4096).expect("allocated");
        // SAFETY: the range is allocated, and nobody else uses it.
        unsafe { start.write_bytes(7, 4096) };
        memory.free(address).expect("allocated");
        // SAFETY: the mapping is there until the memory is dropped.
        assert_eq!(unsafe { start.read() }, FREED);
    }
}
