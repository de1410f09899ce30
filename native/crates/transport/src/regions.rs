//! The mapped and registered parts of published files. A part is mapped and registered when a reader asks for a block
//! in it, and stays so while readers may read it (it is *pinned*). Of the parts that no reader uses, those used last
//! are kept (*idle*).
//!
//! ```text
//!   file    |····|····|····|····|····|····|····|····|     chunks of 4 MiB
//!   regions      [s]       [        large     ][s]        small ones of 64 KiB, large ones of a whole chunk
//! ```
//!
//! The first block that is asked for in a chunk gets a small region, if it fits into one; the second place gets the
//! whole chunk. So one small block of each of many files does not map (and, on RDMA, pin) 4 MiB for each of them, and a
//! chunk that many reducers read is registered at most twice.
//!
//! Everything that is mapped counts against one limit of bytes and one of mappings, pinned or not. Idle regions make
//! room, those used longest ago first; where that is not enough, the block is not shown.

mod region;
mod shortage;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use sluice_mem::MemoryKind;

use self::region::{MappedRegion, OutputRegions, State, is_large};
use self::shortage::{Shortage, is_too_large};
use crate::catalog::{OutputId, PublishedOutput};
use crate::filesystems::{Filesystems, Verdict};
use crate::mapped_budget::{MappedBudget, Reservation};
use crate::mapping::{Discarded, Mapping, Way};
use crate::wire::{Region, Wire, WireError};

pub(crate) use self::region::{LARGE_REGION_BYTES, RegionNumber, SMALL_REGION_BYTES};

/// How much may be mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegionLimits {
    pub(crate) max_bytes: usize,
    pub(crate) max_regions: usize,
    /// Of regions that no reader uses.
    pub(crate) idle_bytes: usize,
}

/// One region's part of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) region: RegionNumber,
    /// The piece's place in the region.
    pub(crate) part: Range<usize>,
}

/// A region that must be mapped before it can be read.
pub(crate) struct ToMap {
    pub(crate) region: RegionNumber,
    /// Of the file.
    pub(crate) part: Range<u64>,
    pub(crate) reservation: Reservation,
    /// Idle regions that have made room for it: to be unmapped before it is mapped.
    pub(crate) evicted: Vec<Arc<Mapping>>,
}

/// Why a block is not shown though it may be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitReached;

/// All regions of this process.
pub(crate) struct MappedRegions {
    regions: HashMap<RegionNumber, MappedRegion>,
    outputs: HashMap<OutputId, OutputRegions>,
    /// The open regions without pins, by when they were last used.
    idle: BTreeMap<u64, RegionNumber>,
    idle_bytes: usize,
    /// Of all regions.
    bytes: usize,
    clock: u64,
    next: u64,
    limits: RegionLimits,
    budget: Arc<MappedBudget>,
    filesystems: Filesystems,
    copies: Copies,
    /// To be unmapped by another thread: a file may have been deleted, and then it may take a while.
    discarded: Discarded,
    shortage: Shortage,
}

/// Regions that are copies of their files' parts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copies {
    /// Since the start.
    pub(crate) made: u64,
    /// Of those that are mapped now.
    pub(crate) bytes: usize,
}

impl MappedRegions {
    /// `pins`: whether registering may pin memory for writing ([`Wire::wants_writable`]).
    pub(crate) fn new(limits: RegionLimits, pins: bool) -> Self {
        let (regions, outputs, idle, copies, discarded, shortage) = Default::default();
        let budget = MappedBudget::new(limits.max_bytes, limits.max_regions);
        let (idle_bytes, bytes, clock, next) = (0, 0, 0, 0);
        let filesystems = Filesystems::new(pins);
        Self {
            regions,
            outputs,
            idle,
            idle_bytes,
            bytes,
            clock,
            next,
            limits,
            budget,
            filesystems,
            copies,
            discarded,
            shortage,
        }
    }

    /// Pins the regions with the bytes `start .. end` of an output, each once. Those that are not mapped yet are added
    /// to `to_map`; their caller sees to that and tells by [`MappedRegions::opened`] or [`MappedRegions::failed`].
    ///
    /// # Errors
    /// There is no room for all of them. Nothing stays pinned.
    pub(crate) fn pin<W: Wire>(
        &mut self,
        wire: &mut W,
        output: &PublishedOutput,
        (start, end): (u64, u64),
        to_map: &mut Vec<ToMap>,
        now: Instant,
    ) -> Result<Vec<Piece>, LimitReached> {
        if end - start > self.limits.max_bytes as u64 {
            // It never fits, so no idle region is unmapped for it.
            return Err(LimitReached);
        }
        let (mut pieces, first) = (Vec::new(), to_map.len());
        let mut from = start;
        while from < end {
            let to = end.min((from / LARGE_REGION_BYTES + 1) * LARGE_REGION_BYTES);
            let Ok(region) = self.region_of(wire, output, from..to, to_map, now) else {
                pieces.iter().for_each(|piece: &Piece| self.unpin(wire, piece.region));
                to_map.drain(first..).for_each(|lost| self.not_mapped(wire, lost));
                return Err(LimitReached);
            };
            let begin = self.pin_one(region);
            pieces.push(Piece { region, part: (from - begin) as usize..(to - begin) as usize });
            from = to;
        }
        Ok(pieces)
    }

    /// The region for bytes of one chunk: one that there is, or a new one.
    fn region_of<W: Wire>(
        &mut self,
        wire: &mut W,
        output: &PublishedOutput,
        bytes: Range<u64>,
        to_map: &mut Vec<ToMap>,
        now: Instant,
    ) -> Result<RegionNumber, LimitReached> {
        let chunk = bytes.start / LARGE_REGION_BYTES;
        let place = bytes.start / SMALL_REGION_BYTES;
        let is_small = (bytes.end - 1) / SMALL_REGION_BYTES == place;
        let mut is_first = true;
        if let Some(known) = self.outputs.get(&output.id) {
            let small = known.small.get(&place).filter(|_| is_small);
            if let Some(region) = known.large.get(&chunk).or(small) {
                return Ok(*region);
            }
            let places = LARGE_REGION_BYTES / SMALL_REGION_BYTES;
            is_first = known.small.range(chunk * places..(chunk + 1) * places).next().is_none();
        }
        let large = || chunk * LARGE_REGION_BYTES..output.bytes().min((chunk + 1) * LARGE_REGION_BYTES);
        if !(is_small && is_first) {
            match self.open(wire, output, large(), to_map, now) {
                Err(LimitReached) if is_small => {}
                opened => return opened,
            }
        }
        let small = place * SMALL_REGION_BYTES..output.bytes().min((place + 1) * SMALL_REGION_BYTES);
        self.open(wire, output, small, to_map, now)
    }

    /// A new region, for which idle ones make room.
    fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        output: &PublishedOutput,
        part: Range<u64>,
        to_map: &mut Vec<ToMap>,
        now: Instant,
    ) -> Result<RegionNumber, LimitReached> {
        let bytes = (part.end - part.start) as usize;
        if self.shortage.refuses(bytes, self.idle_bytes, now) {
            // It could not be registered, so it is not mapped and read from the disk in vain.
            return Err(LimitReached);
        }
        let free = self.limits.max_bytes.saturating_sub(self.budget.bytes());
        if free.saturating_add(self.idle_bytes) < bytes {
            // Idle regions are unmapped only if that makes enough room.
            return Err(LimitReached);
        }
        let mut evicted = Vec::new();
        let reservation = loop {
            match self.budget.reserve(bytes) {
                Some(reservation) => break reservation,
                None if self.evict_for_another(wire, &mut evicted) => {}
                None => {
                    self.discarded.mappings.append(&mut evicted);
                    return Err(LimitReached);
                }
            }
        };
        self.bytes += bytes;
        self.next += 1;
        let region = RegionNumber(self.next);
        let known = self.outputs.entry(output.id).or_default();
        if is_large(&part) {
            known.large.insert(part.start / LARGE_REGION_BYTES, region);
        } else {
            known.small.insert(part.start / SMALL_REGION_BYTES, region);
        }
        let (state, pins, used, withdrawn) = (State::Opening, 0, 0, false);
        self.regions
            .insert(region, MappedRegion { output: output.id, part: part.clone(), state, pins, used, withdrawn });
        to_map.push(ToMap { region, part, reservation, evicted });
        Ok(region)
    }

    /// Pins a region; where it begins in its file.
    fn pin_one(&mut self, region: RegionNumber) -> u64 {
        let Some(known) = self.regions.get_mut(&region) else { return 0 };
        if known.pins == 0 && self.idle.remove(&known.used).is_some() {
            self.idle_bytes -= known.bytes();
        }
        known.pins += 1;
        known.part.start
    }

    /// A region has been mapped, and is registered now.
    ///
    /// # Errors
    /// It cannot be registered: the region is gone, and its pins with it.
    pub(crate) fn opened<W: Wire>(
        &mut self,
        wire: &mut W,
        number: RegionNumber,
        mut mapping: Mapping,
        now: Instant,
    ) -> Result<(), WireError> {
        if !self.regions.contains_key(&number) {
            self.discard(mapping);
            return Ok(());
        }
        let registered = self.register(wire, &mut mapping, now);
        self.filesystems.take_untold().into_iter().for_each(|text| eprintln!("sluice-transport: {text}"));
        match registered {
            Ok((region, key)) => {
                if mapping.way() == Way::Copy {
                    self.copies.made += 1;
                    self.copies.bytes += mapping.bytes();
                }
                if let Some(known) = self.regions.get_mut(&number) {
                    known.state = State::Open { mapping: Arc::new(mapping), region, key };
                    known.pins += 1;
                }
                // Its readers may have gone meanwhile.
                self.unpin(wire, number);
                Ok(())
            }
            Err(error) => {
                self.remove(wire, number);
                self.discard(mapping);
                Err(error)
            }
        }
    }

    /// Another thread is to unmap it.
    fn discard(&mut self, mapping: Mapping) {
        self.discarded.mappings.push(Arc::new(mapping));
    }

    /// Registers a mapping; if its filesystem is untried and a shared mapping cannot be registered, as a copy. What
    /// works is remembered for the filesystem; if nothing does, and not because of the mapping's size, its files are
    /// left alone for a while. A file that is an exception decides nothing for the others.
    fn register<W: Wire>(
        &mut self,
        wire: &mut W,
        mapping: &mut Mapping,
        now: Instant,
    ) -> Result<(Region, Vec<u8>), WireError> {
        let filesystem = mapping.filesystem();
        match self.filesystems.verdict(filesystem, now) {
            Verdict::Refused => return Err(WireError("files of its filesystem cannot be registered".into())),
            // Chosen after the file was mapped.
            Verdict::Chosen(Way::Copy) => _ = self.make_copy(mapping),
            _ => {}
        }
        // Found while it was mapped.
        if self.shortage.refuses(mapping.bytes(), self.idle_bytes, now) {
            return Err(WireError("so much memory could not be registered a moment ago".into()));
        }
        let mut shared = None;
        let (mut registered, evicted) = self.register_mapped(wire, mapping);
        if let Err(error) = &registered
            && self.make_copy(mapping)
        {
            shared = Some(error.clone());
            // Without making more room: a copy that had more than the shared mapping would tell nothing about the
            // filesystem, only that memory was short.
            registered = Self::register_once(wire, mapping).and_then(|copy| self.try_shared_again(wire, mapping, copy));
        }
        mapping.keep_way();
        match &registered {
            Ok(_) if mapping.is_exception() => {}
            Err(_) if mapping.is_exception() => self.filesystems.exception_failed(),
            Ok(_) => {
                let shared = shared.filter(|_| mapping.way() == Way::Copy);
                self.filesystems.registered(filesystem, mapping.way(), shared.as_ref());
            }
            Err(error) if is_too_large(wire, mapping.bytes()) => {
                self.shortage.begin(mapping.bytes(), evicted, now);
                self.filesystems.short_of_memory(mapping.bytes(), error);
            }
            Err(error) => self.filesystems.failed(filesystem, error, now),
        }
        registered
    }

    /// A copy could be registered where the shared mapping could not. Tries the shared one once more, in place of the
    /// copy: if it can be registered now, its error had another cause than the filesystem (memory that was short for a
    /// moment, a device that was busy), and it is to decide nothing for the filesystem's other files.
    fn try_shared_again<W: Wire>(
        &mut self,
        wire: &mut W,
        mapping: &mut Mapping,
        copy: (Region, Vec<u8>),
    ) -> Result<(Region, Vec<u8>), WireError> {
        // First: a registration beside the copy's could fail because of the memory that the copy takes.
        wire.unregister(copy.0);
        if let Ok(Some(copy)) = mapping.become_shared() {
            self.discarded.pages.push(copy);
            match Self::register_once(wire, mapping) {
                Err(_) if self.make_copy(mapping) => {}
                registered => return registered,
            }
        }
        Self::register_once(wire, mapping)
    }

    /// Maps anew as a copy what may have to be one ([`Mapping::become_copy`]); whether it is mapped so now.
    fn make_copy(&mut self, mapping: &mut Mapping) -> bool {
        let Ok(Some(shared)) = mapping.become_copy() else { return false };
        self.discarded.pages.push(shared);
        true
    }

    /// Registers a mapping as it is. If that fails, just as many idle bytes make room, and it is tried once more; how
    /// many they were.
    fn register_mapped<W: Wire>(
        &mut self,
        wire: &mut W,
        mapping: &Mapping,
    ) -> (Result<(Region, Vec<u8>), WireError>, usize) {
        let registered = Self::register_once(wire, mapping);
        let had = self.idle_bytes;
        if registered.is_ok() || had == 0 {
            return (registered, 0);
        }
        let enough = had.saturating_sub(mapping.bytes());
        while self.idle_bytes > enough && self.evict(wire) {}
        (Self::register_once(wire, mapping), had - self.idle_bytes)
    }

    fn register_once<W: Wire>(wire: &mut W, mapping: &Mapping) -> Result<(Region, Vec<u8>), WireError> {
        // SAFETY: a region unregisters before it lets go of its mapping, and no registered mapping becomes a copy.
        unsafe { wire.register(mapping.address(), mapping.bytes(), MemoryKind::Host) }
    }

    /// Registers a mapping and unregisters it; how it could be registered. What was found holds for its filesystem.
    ///
    /// # Errors
    /// It could not be registered in any way.
    pub(crate) fn try_registration<W: Wire>(
        &mut self,
        wire: &mut W,
        mut mapping: Mapping,
        now: Instant,
    ) -> Result<Way, WireError> {
        let (region, _) = self.register(wire, &mut mapping, now)?;
        wire.unregister(region);
        Ok(mapping.way())
    }

    /// How files of each filesystem are registered.
    pub(crate) fn filesystems_mut(&mut self) -> &mut Filesystems {
        &mut self.filesystems
    }

    /// How files of each filesystem are registered.
    pub(crate) fn filesystems(&self) -> &Filesystems {
        &self.filesystems
    }

    pub(crate) fn copies(&self) -> Copies {
        self.copies
    }

    /// No thread maps this region: it is gone, and its pins with it.
    pub(crate) fn not_mapped<W: Wire>(&mut self, wire: &mut W, lost: ToMap) {
        self.discarded.mappings.extend(lost.evicted);
        self.failed(wire, lost.region);
    }

    /// A region could not be mapped: it is gone, and its pins with it.
    pub(crate) fn failed<W: Wire>(&mut self, wire: &mut W, region: RegionNumber) {
        self.remove(wire, region);
    }

    /// The mapping of a region that is open.
    pub(crate) fn mapping(&self, region: RegionNumber) -> Option<&Arc<Mapping>> {
        match &self.regions.get(&region)?.state {
            State::Open { mapping, .. } => Some(mapping),
            State::Opening => None,
        }
    }

    /// What a reader must know of an open region: its number on the wire, its key, and the address of its first byte.
    pub(crate) fn shown(&self, region: RegionNumber) -> Option<(Region, &[u8], u64)> {
        match &self.regions.get(&region)?.state {
            State::Open { mapping, region, key } => Some((*region, key, mapping.address() as u64)),
            State::Opening => None,
        }
    }

    /// Takes back one pin.
    pub(crate) fn unpin<W: Wire>(&mut self, wire: &mut W, region: RegionNumber) {
        let Some(known) = self.regions.get_mut(&region) else { return };
        known.pins = known.pins.saturating_sub(1);
        if known.pins > 0 || matches!(known.state, State::Opening) {
            return;
        }
        if known.withdrawn {
            self.remove(wire, region);
            return;
        }
        self.clock += 1;
        known.used = self.clock;
        self.idle.insert(self.clock, region);
        self.idle_bytes += known.bytes();
        // Half of the mappings, so that as many are there for new ones at once.
        while self.idle_bytes > self.limits.idle_bytes || self.idle.len() > self.limits.max_regions.div_ceil(2) {
            if !self.evict(wire) {
                break;
            }
        }
    }

    /// Gives up the regions of an output: at once, or when their last pin is taken back.
    pub(crate) fn withdraw<W: Wire>(&mut self, wire: &mut W, output: &PublishedOutput) {
        let Some(known) = self.outputs.remove(&output.id) else { return };
        for number in known.large.into_values().chain(known.small.into_values()) {
            let Some(region) = self.regions.get_mut(&number) else { continue };
            region.withdrawn = true;
            if region.pins == 0 && matches!(region.state, State::Open { .. }) {
                self.remove(wire, number);
            }
        }
    }

    /// Gives up the idle region that was used longest ago; whether there was one.
    pub(crate) fn evict<W: Wire>(&mut self, wire: &mut W) -> bool {
        let oldest = self.idle.first_key_value().map(|(_, region)| *region);
        oldest.is_some_and(|region| self.remove(wire, region))
    }

    /// As [`MappedRegions::evict`], for a region that is mapped after this one has been unmapped: so its share of the
    /// limits is free now. Not if a thread reads a part of it from the disk for a reader that has gone.
    fn evict_for_another<W: Wire>(&mut self, wire: &mut W, evicted: &mut Vec<Arc<Mapping>>) -> bool {
        let before = self.discarded.mappings.len();
        let is_evicted = self.evict(wire);
        for mapping in self.discarded.mappings.drain(before..) {
            if Arc::strong_count(&mapping) == 1 {
                mapping.give_back_reservation();
            }
            evicted.push(mapping);
        }
        is_evicted
    }

    /// Unregisters a region; another thread is to unmap it ([`MappedRegions::take_discarded`]).
    fn remove<W: Wire>(&mut self, wire: &mut W, number: RegionNumber) -> bool {
        let Some(known) = self.regions.remove(&number) else { return false };
        self.bytes -= known.bytes();
        if self.idle.get(&known.used) == Some(&number) {
            self.idle.remove(&known.used);
            self.idle_bytes -= known.bytes();
        }
        if let Some(output) = self.outputs.get_mut(&known.output) {
            if is_large(&known.part) {
                output.large.remove(&(known.part.start / LARGE_REGION_BYTES));
            } else {
                output.small.remove(&(known.part.start / SMALL_REGION_BYTES));
            }
            if output.large.is_empty() && output.small.is_empty() {
                self.outputs.remove(&known.output);
            }
        }
        if let State::Open { region, mapping, .. } = known.state {
            wire.unregister(region);
            self.shortage.unregistered(mapping.bytes());
            if mapping.way() == Way::Copy {
                self.copies.bytes -= mapping.bytes();
            }
            self.discarded.mappings.push(mapping);
        }
        true
    }

    /// What is to be unmapped; dropping it does.
    pub(crate) fn take_discarded(&mut self) -> Discarded {
        std::mem::take(&mut self.discarded)
    }

    /// Takes back what cannot be unmapped now.
    pub(crate) fn keep_discarded(&mut self, discarded: Discarded) {
        self.discarded.append(discarded);
    }

    /// Unmaps everything, pinned or not: no peer can read any more.
    pub(crate) fn clear<W: Wire>(&mut self, wire: &mut W) {
        let regions: Vec<RegionNumber> = self.regions.keys().copied().collect();
        regions.into_iter().for_each(|region| _ = self.remove(wire, region));
        drop(self.take_discarded());
    }

    pub(crate) fn budget(&self) -> &Arc<MappedBudget> {
        &self.budget
    }

    /// Regions that no reader uses, and their bytes.
    #[cfg(test)]
    pub(crate) fn idle(&self) -> (usize, usize) {
        (self.idle.len(), self.idle_bytes)
    }

    /// Regions that a reader uses or that are being mapped, and their bytes.
    pub(crate) fn in_use(&self) -> (usize, usize) {
        (self.regions.len() - self.idle.len(), self.bytes - self.idle_bytes)
    }

    #[cfg(test)]
    pub(crate) fn pins(&self) -> usize {
        self.regions.values().map(|region| region.pins).sum()
    }
}

#[cfg(test)]
mod tests;
