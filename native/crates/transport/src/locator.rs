//! Finds the blocks that readers ask for: in which file, in which of its regions. What may wait for a disk becomes a
//! job ([`crate::disk`]); the block goes on when the job has ended. How the blocks of a question become its answer:
//! `answers.rs`.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answers::{BlockOf, Question, QuestionNumber};
use crate::catalog::{Catalog, CatalogView, Extent, PublishedOutput};
use crate::disk::{Disk, Ended, Job, MapWork, Outcome, Work};
use crate::mapping::Mapping;
use crate::message::{Block, InstanceId, Missing};
use crate::regions::{MappedRegions, Piece, RegionNumber, ToMap};
use crate::wire::Wire;

/// What is read from disks for one question at most. What is larger gains nothing from a fast network, and would drive
/// other blocks out of the page cache before it is sent; its reader fetches it by Netty.
const MAX_POPULATED_BYTES: usize = 256 << 20;

/// What a job is for.
enum JobFor {
    Extent { block: BlockOf, output: Arc<PublishedOutput> },
    Map(RegionNumber),
    Piece(BlockOf),
    Unmap,
}

/// Blocks that were left to Netty though they may be here, by reason; since the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusals {
    /// The limits of mapped memory are reached, or the memory cannot be registered.
    pub(crate) mapped: u64,
    /// Its reader has too many questions open.
    pub(crate) questions: u64,
    /// Too many jobs for the disks, or too much to read for one question.
    pub(crate) disk: u64,
    /// A disk has not answered in time.
    pub(crate) disk_timeouts: u64,
}

/// All questions of all readers that were not answered yet.
pub(crate) struct Locator {
    catalog: CatalogView,
    regions: MappedRegions,
    disk: Box<dyn Disk>,
    /// How long a question waits for disks.
    patience: Duration,
    questions: HashMap<QuestionNumber, Question>,
    /// Readers of questions that have been decided since they were last asked for.
    decided: Vec<InstanceId>,
    jobs: HashMap<u64, JobFor>,
    /// Those of them that only unmap something.
    unmapping: usize,
    /// By region that is being mapped: the blocks that need it.
    mapping: HashMap<RegionNumber, Vec<BlockOf>>,
    /// Of questions and jobs.
    next: u64,
    refusals: Refusals,
}

impl Locator {
    pub(crate) fn new(catalog: Arc<Catalog>, regions: MappedRegions, disk: Box<dyn Disk>, patience: Duration) -> Self {
        let (questions, decided, jobs, unmapping, mapping, next, refusals) = Default::default();
        let catalog = CatalogView::new(catalog);
        Self { catalog, regions, disk, patience, questions, decided, jobs, unmapping, mapping, next, refusals }
    }

    /// Begins to look for blocks. `step` is called for each.
    pub(crate) fn ask<W: Wire>(
        &mut self,
        wire: &mut W,
        question: Question,
        now: Instant,
        step: impl Fn(),
    ) -> QuestionNumber {
        let blocks: Vec<Block> = question.blocks().collect();
        let number = self.add(question);
        for (index, block) in blocks.iter().enumerate() {
            self.seek(wire, BlockOf { question: number, index }, block, now);
            step();
        }
        number
    }

    /// A question of a reader that has too many open: all of its blocks are busy.
    pub(crate) fn turn_away(&mut self, mut question: Question) -> QuestionNumber {
        let blocks = question.blocks().count();
        (0..blocks).for_each(|index| drop(question.miss(index, Missing::Busy)));
        self.refusals.questions += blocks as u64;
        self.add(question)
    }

    fn add(&mut self, question: Question) -> QuestionNumber {
        self.next += 1;
        let number = QuestionNumber(self.next);
        if question.is_decided() {
            self.decided.push(question.reader);
        }
        self.questions.insert(number, question);
        number
    }

    /// A block's first step.
    fn seek<W: Wire>(&mut self, wire: &mut W, block: BlockOf, wanted: &Block, now: Instant) {
        let Some(output) = self.catalog.find(wanted.shuffle, wanted.map).cloned() else {
            return self.miss(wire, block, Missing::NotFound);
        };
        match output.extent(wanted) {
            Extent::Known(Some(extent)) => self.prepare(wire, block, &output, extent, now),
            Extent::Known(None) => self.miss(wire, block, Missing::NotFound),
            Extent::InFile => {
                let work = Work::Extent { output: Arc::clone(&output), block: *wanted };
                if self.submit(work, JobFor::Extent { block, output }).is_err() {
                    self.miss_for_disk(wire, block);
                }
            }
        }
    }

    /// The block's place in its file is known: its regions are pinned and, where necessary, mapped or read from the
    /// disk.
    fn prepare<W: Wire>(
        &mut self,
        wire: &mut W,
        block: BlockOf,
        output: &Arc<PublishedOutput>,
        extent: (u64, u64),
        now: Instant,
    ) {
        let mut to_map = Vec::new();
        let Ok(pieces) = self.regions.pin(wire, output, extent, &mut to_map, now) else {
            self.refusals.mapped += 1;
            return self.miss(wire, block, Missing::Busy);
        };
        let (mut waiting, mut to_populate) = (0, Vec::new());
        for Piece { region, part } in &pieces {
            match self.regions.mapping(*region) {
                None => self.mapping.entry(*region).or_default().push(block),
                Some(mapping) if mapping.is_resident(part) => continue,
                Some(mapping) => to_populate.push((Arc::clone(mapping), part.clone())),
            }
            waiting += 1;
        }
        let mut is_accepted = true;
        for map in to_map {
            let needed = pieces.iter().find(|piece| piece.region == map.region).map(|piece| piece.part.clone());
            let region = map.region;
            let refused = match is_accepted {
                true => self.map(wire, block, output, needed.unwrap_or_default(), map, now).err(),
                false => Some(map),
            };
            if let Some(map) = refused {
                is_accepted = false;
                // No other block waits for a new region.
                self.mapping.remove(&region);
                self.regions.not_mapped(wire, map);
            }
        }
        let Some(question) = self.questions.get_mut(&block.question) else { return };
        question.prepare(block.index, pieces, waiting);
        if question.is_decided() {
            self.decided.push(question.reader);
        }
        for (mapping, part) in to_populate {
            is_accepted = is_accepted && self.populate(block, mapping, part);
        }
        if !is_accepted {
            self.miss_for_disk(wire, block);
        }
    }

    /// Has a region mapped, for a block that needs a part of it.
    ///
    /// # Errors
    /// That cannot be done: what was to be mapped.
    fn map<W: Wire>(
        &mut self,
        wire: &mut W,
        block: BlockOf,
        output: &Arc<PublishedOutput>,
        needed: Range<usize>,
        map: ToMap,
        now: Instant,
    ) -> Result<(), ToMap> {
        let ToMap { region, part, reservation, evicted } = map;
        // A device that wants memory to be writable may pin all of it when it is registered: then all of it must be in
        // memory, or registering would wait for the disk.
        let needed = if wire.wants_writable() { 0..(part.end - part.start) as usize } else { needed };
        let (output, verdicts) = (Arc::clone(output), self.regions.filesystems().verdicts(now));
        if !self.may_populate(block, needed.len()) {
            return Err(ToMap { region, part, reservation, evicted });
        }
        let work = MapWork { output, part, needed, verdicts, reservation, evicted };
        match self.submit(Work::Map(Box::new(work)), JobFor::Map(region)) {
            Err(Work::Map(work)) => {
                let MapWork { part, reservation, evicted, .. } = *work;
                Err(ToMap { region, part, reservation, evicted })
            }
            _ => Ok(()),
        }
    }

    /// Has a part of a region read from the disk; whether that can be done.
    fn populate(&mut self, block: BlockOf, mapping: Arc<Mapping>, part: Range<usize>) -> bool {
        self.may_populate(block, part.len())
            && self.submit(Work::Populate { mapping, part }, JobFor::Piece(block)).is_ok()
    }

    fn may_populate(&mut self, block: BlockOf, bytes: usize) -> bool {
        let Some(question) = self.questions.get_mut(&block.question) else { return false };
        question.populated_bytes += bytes;
        question.populated_bytes <= MAX_POPULATED_BYTES
    }

    /// # Errors
    /// The disk's threads do not take it: the work.
    fn submit(&mut self, work: Work, job: JobFor) -> Result<(), Work> {
        self.next += 1;
        self.disk.submit(Job { number: self.next, work }).map_err(|job| job.work)?;
        self.jobs.insert(self.next, job);
        Ok(())
    }

    /// Has the disk's threads unmap what is not needed any more. What they do not take now stays mapped, within the
    /// limits, until the next call.
    pub(crate) fn unmap_discarded(&mut self) {
        let discarded = self.regions.take_discarded();
        if discarded.is_empty() {
            return;
        }
        match self.submit(Work::Unmap(discarded), JobFor::Unmap) {
            Ok(()) => self.unmapping += 1,
            Err(Work::Unmap(discarded)) => self.regions.keep_discarded(discarded),
            Err(_) => {}
        }
    }

    fn miss_for_disk<W: Wire>(&mut self, wire: &mut W, block: BlockOf) {
        self.refusals.disk += 1;
        self.miss(wire, block, Missing::Busy);
    }

    /// A block is not shown.
    fn miss<W: Wire>(&mut self, wire: &mut W, block: BlockOf, why: Missing) {
        let Some(question) = self.questions.get_mut(&block.question) else { return };
        let Some(pins) = question.miss(block.index, why) else { return };
        if question.is_decided() {
            self.decided.push(question.reader);
        }
        pins.into_iter().for_each(|region| self.regions.unpin(wire, region));
    }

    /// Goes on with what the disks have done; whether there was anything. `step` is called for each job.
    pub(crate) fn take_jobs<W: Wire>(&mut self, wire: &mut W, now: Instant, step: impl Fn()) -> bool {
        let mut ended = Vec::new();
        self.disk.take_ended(&mut ended);
        let worked = !ended.is_empty();
        for Ended { number, outcome } in ended {
            if let Some(job) = self.jobs.remove(&number) {
                self.ended(wire, job, outcome, now);
            }
            step();
        }
        worked
    }

    fn ended<W: Wire>(&mut self, wire: &mut W, job: JobFor, outcome: Outcome, now: Instant) {
        match (job, outcome) {
            (JobFor::Extent { block, output }, Outcome::Extent(Some(extent))) => {
                if !self.is_decided(block) {
                    self.prepare(wire, block, &output, extent, now);
                }
            }
            (JobFor::Map(region), Outcome::Mapped(Ok(mapping))) => self.mapped(wire, region, mapping, now),
            (JobFor::Map(region), Outcome::Mapped(Err(error))) => self.not_mapped(wire, region, &error),
            (JobFor::Map(region), _) => self.give_up(wire, region, Missing::NotFound),
            (JobFor::Piece(block), Outcome::Populated(Ok(()))) => self.piece_ready(block),
            (JobFor::Unmap, _) => self.unmapping -= 1,
            (JobFor::Extent { block, .. } | JobFor::Piece(block), _) => self.miss(wire, block, Missing::NotFound),
        }
    }

    /// A region has been mapped: blocks whose pages are in memory can be read now, for the others a job reads the
    /// pages.
    fn mapped<W: Wire>(&mut self, wire: &mut W, region: RegionNumber, mapping: Mapping, now: Instant) {
        if self.regions.opened(wire, region, mapping, now).is_err() {
            return self.give_up(wire, region, Missing::Busy);
        }
        for block in self.mapping.remove(&region).unwrap_or_default() {
            let question = self.questions.get(&block.question);
            let part = question.and_then(|question| question.part_in(block.index, region));
            let (Some(part), Some(mapping)) = (part, self.regions.mapping(region).cloned()) else { continue };
            if mapping.is_resident(&part) {
                self.piece_ready(block);
            } else if !self.populate(block, mapping, part) {
                self.miss_for_disk(wire, block);
            }
        }
    }

    fn piece_ready(&mut self, block: BlockOf) {
        let Some(question) = self.questions.get_mut(&block.question) else { return };
        if question.piece_ready(block.index) && question.is_decided() {
            self.decided.push(question.reader);
        }
    }

    fn not_mapped<W: Wire>(&mut self, wire: &mut W, region: RegionNumber, error: &io::Error) {
        let why = match error.raw_os_error() {
            // The process has as many mappings as it may have, or too little memory: one idle region less is room for
            // another.
            Some(libc::ENOMEM) => {
                self.regions.evict(wire);
                Missing::Busy
            }
            None if error.kind() == io::ErrorKind::Unsupported => Missing::Busy,
            _ => Missing::NotFound,
        };
        self.give_up(wire, region, why);
    }

    /// A region will not be there.
    fn give_up<W: Wire>(&mut self, wire: &mut W, region: RegionNumber, why: Missing) {
        self.regions.failed(wire, region);
        for block in self.mapping.remove(&region).unwrap_or_default() {
            if why == Missing::Busy && !self.is_decided(block) {
                self.refusals.mapped += 1;
            }
            self.miss(wire, block, why);
        }
    }

    /// Whether nothing more is to be done for a block.
    fn is_decided(&self, block: BlockOf) -> bool {
        self.questions.get(&block.question).is_none_or(|question| question.is_block_decided(block.index))
    }

    /// Makes itself familiar with what was published and withdrawn.
    pub(crate) fn refresh(&mut self) {
        self.catalog.refresh();
    }

    /// Answers what has waited for disks too long without the blocks concerned.
    pub(crate) fn expire<W: Wire>(&mut self, wire: &mut W, now: Instant) {
        let Self { questions, regions, decided, refusals, patience, .. } = self;
        for question in questions.values_mut() {
            if question.is_decided() || now.saturating_duration_since(question.since) < *patience {
                continue;
            }
            let missed = question.miss_undecided(Missing::Busy);
            refusals.disk_timeouts += missed.blocks;
            missed.pins.into_iter().for_each(|region| regions.unpin(wire, region));
            decided.push(question.reader);
        }
    }

    /// The readers of whose questions some have been decided since this was last called.
    pub(crate) fn take_decided(&mut self) -> Vec<InstanceId> {
        std::mem::take(&mut self.decided)
    }

    /// Takes a question that is decided; what is pinned for it stays so. `None` while it is not decided.
    pub(crate) fn take(&mut self, number: QuestionNumber) -> Option<Question> {
        self.questions.get(&number).filter(|question| question.is_decided())?;
        self.questions.remove(&number)
    }

    /// The reader does not wait for the answer any more.
    pub(crate) fn cancel<W: Wire>(&mut self, wire: &mut W, number: QuestionNumber) {
        let Some(question) = self.questions.remove(&number) else { return };
        question.pins().into_iter().for_each(|region| self.regions.unpin(wire, region));
    }

    pub(crate) fn regions(&self) -> &MappedRegions {
        &self.regions
    }

    pub(crate) fn regions_mut(&mut self) -> &mut MappedRegions {
        &mut self.regions
    }

    pub(crate) fn refusals(&self) -> Refusals {
        self.refusals
    }

    /// Questions that are not answered.
    pub(crate) fn questions(&self) -> usize {
        self.questions.len()
    }

    /// Jobs of readers' questions that wait for a disk.
    pub(crate) fn disk_jobs(&self) -> usize {
        self.jobs.len() - self.unmapping
    }

    /// Whether any job has not ended.
    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }
}
