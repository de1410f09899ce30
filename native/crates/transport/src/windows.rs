//! The mapped and registered parts of published files. A file is mapped in windows, when somebody asks for a block in one;
//! of windows that nobody reads, those used last are kept, up to a limit.

use std::collections::{BTreeMap, HashMap};

use crate::catalog::{MapOutput, OutputId};
use crate::mapping::Mapping;
use crate::wire::{Region, Wire, WireError};

/// How much of a file is mapped at once; a multiple of every page size. Reducers read neighbouring partitions at about the same
/// time, so that a window serves many of them; and one question pins at most one window for each of its blocks (but for larger
/// blocks), which where registering pins memory must not be whole data sets.
pub(crate) const WINDOW_BYTES: u64 = 4 << 20;

/// How many windows are kept at most that nobody reads: the kernel allows 65,530 mappings per process.
const MAX_IDLE_WINDOWS: usize = 4096;

struct Window {
    output: OutputId,
    index: u64,
    mapping: Mapping,
    key: Vec<u8>,
    pins: usize,
    /// Its place in `idle`; meaningless while pinned.
    used: u64,
    withdrawn: bool,
}

/// Where a part of a block lies in registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) region: Region,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// All windows of this process. A pinned window stays where it is.
pub(crate) struct Windows {
    windows: HashMap<Region, Window>,
    by_place: HashMap<(OutputId, u64), Region>,
    /// The windows without pins, by when they were last used.
    idle: BTreeMap<u64, Region>,
    clock: u64,
    idle_bytes: usize,
    limit_bytes: usize,
}

impl Windows {
    /// Keeps up to `limit_bytes` of windows that nobody reads.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self {
            windows: HashMap::new(),
            by_place: HashMap::new(),
            idle: BTreeMap::new(),
            clock: 0,
            idle_bytes: 0,
            limit_bytes,
        }
    }

    /// Where the bytes `start .. end` of an output are; their windows are pinned, once for each place returned.
    ///
    /// # Errors
    /// A window cannot be mapped or registered; nothing stays pinned.
    pub(crate) fn pin<W: Wire>(
        &mut self,
        wire: &mut W,
        output: &MapOutput,
        start: u64,
        end: u64,
    ) -> Result<Vec<Place>, WireError> {
        let mut places = Vec::new();
        let mut from = start;
        while from < end {
            let index = from / WINDOW_BYTES;
            let to = end.min((index + 1) * WINDOW_BYTES);
            match self.pin_window(wire, output, index) {
                Ok((region, address)) => {
                    let address = address as u64 + (from - index * WINDOW_BYTES);
                    places.push(Place { region, address, bytes: to - from });
                }
                Err(error) => {
                    places.iter().for_each(|place| self.unpin(wire, place.region));
                    return Err(error);
                }
            }
            from = to;
        }
        Ok(places)
    }

    fn pin_window<W: Wire>(
        &mut self,
        wire: &mut W,
        output: &MapOutput,
        index: u64,
    ) -> Result<(Region, usize), WireError> {
        let region = match self.by_place.get(&(output.id, index)) {
            Some(region) => *region,
            None => self.open(wire, output, index)?,
        };
        let window = self.windows.get_mut(&region).ok_or_else(|| WireError("a window without a region".into()))?;
        if window.pins == 0 && self.idle.remove(&window.used).is_some() {
            self.idle_bytes -= window.mapping.bytes();
        }
        window.pins += 1;
        Ok((region, window.mapping.address()))
    }

    /// Maps and registers a window, for which idle ones make room if the system wants that.
    fn open<W: Wire>(&mut self, wire: &mut W, output: &MapOutput, index: u64) -> Result<Region, WireError> {
        let offset = index * WINDOW_BYTES;
        let bytes = WINDOW_BYTES.min(output.bytes() - offset) as usize;
        let writable = wire.wants_writable();
        let map = || {
            Mapping::of(&output.path, output.bytes(), offset, bytes, writable)
                .map_err(|e| WireError(format!("mapping {}: {e}", output.path.display())))
        };
        let mapping = map().or_else(|_| {
            self.shrink(wire, 0);
            map()
        })?;
        // SAFETY: `close` unregisters before it drops the mapping.
        let registered = unsafe { wire.register(mapping.address(), bytes) }.or_else(|_| {
            self.shrink(wire, 0);
            // SAFETY: as above.
            unsafe { wire.register(mapping.address(), bytes) }
        });
        let (region, key) = registered?;
        let window = Window { output: output.id, index, mapping, key, pins: 0, used: 0, withdrawn: false };
        self.windows.insert(region, window);
        self.by_place.insert((output.id, index), region);
        Ok(region)
    }

    /// The key of a pinned window.
    pub(crate) fn key(&self, region: Region) -> &[u8] {
        self.windows.get(&region).map_or(&[], |window| &window.key)
    }

    /// Takes back one pin.
    pub(crate) fn unpin<W: Wire>(&mut self, wire: &mut W, region: Region) {
        let Some(window) = self.windows.get_mut(&region) else { return };
        window.pins -= 1;
        if window.pins > 0 {
            return;
        }
        if window.withdrawn {
            self.close(wire, region);
            return;
        }
        self.clock += 1;
        window.used = self.clock;
        self.idle.insert(self.clock, region);
        self.idle_bytes += window.mapping.bytes();
        self.shrink(wire, self.limit_bytes);
    }

    /// Gives up the windows of an output: at once, or when their last pin is taken back.
    pub(crate) fn withdraw<W: Wire>(&mut self, wire: &mut W, output: &MapOutput) {
        for index in 0..output.bytes().div_ceil(WINDOW_BYTES) {
            let Some(region) = self.by_place.remove(&(output.id, index)) else { continue };
            let Some(window) = self.windows.get_mut(&region) else { continue };
            window.withdrawn = true;
            if window.pins == 0 {
                self.close(wire, region);
            }
        }
    }

    fn shrink<W: Wire>(&mut self, wire: &mut W, limit_bytes: usize) {
        while self.idle_bytes > limit_bytes || self.idle.len() > MAX_IDLE_WINDOWS {
            let Some((_, region)) = self.idle.pop_first() else { break };
            self.idle_bytes -= self.windows.get(&region).map_or(0, |window| window.mapping.bytes());
            self.close(wire, region);
        }
    }

    fn close<W: Wire>(&mut self, wire: &mut W, region: Region) {
        wire.unregister(region);
        if let Some(window) = self.windows.remove(&region) {
            if self.by_place.get(&(window.output, window.index)) == Some(&region) {
                self.by_place.remove(&(window.output, window.index));
            }
            if self.idle.get(&window.used) == Some(&region) {
                self.idle.remove(&window.used);
                self.idle_bytes -= window.mapping.bytes();
            }
        }
    }

    /// Gives everything up, pinned or not: nobody can read any more.
    pub(crate) fn clear<W: Wire>(&mut self, wire: &mut W) {
        let regions: Vec<Region> = self.windows.keys().copied().collect();
        regions.into_iter().for_each(|region| self.close(wire, region));
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.windows.len(), self.windows.values().map(|window| window.pins).sum())
    }
}
