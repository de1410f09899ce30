//! The grounds of the global arena: its regions dealt out over several locks, so that threads seldom meet at one.
//!
//! ```text
//! thread number mod grounds → home ── ground 0: regions, free extents
//!                                     ground 1 …
//! ```
//!
//! A region belongs to one ground as long as it is mapped; that of the thread that mapped it. A thread takes from its
//! home while nobody is in it, else from any other ground with room that nobody is in, then waits for those that were
//! busy, and only then is a new region mapped: what is free anywhere is used before memory grows. What is released goes to the
//! ground of its region, whoever releases it. So nothing free is ever kept from anybody, and there is nothing to drain.
//!
//! No thread holds two grounds, except one that freezes all of them, in order.

use crate::frame::{FrameTable, GRANULE_BYTES};
use crate::ground::{GlobalBooks, Ground, Want};
use crate::lock::{lock, try_lock};
use crate::nearby::Nearby;
use crate::provider::MappedRegion;
use crate::slack::Slack;
use crate::thread_slot;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Grounds that there can be: bits of the word that remembers busy ones.
const MOST_GROUNDS: usize = 64;

/// A ground behind its lock, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Fenced {
    ground: Mutex<Ground>,
    /// Its free granules when the lock was last let go: a search passes by a ground that cannot have enough.
    free: AtomicUsize,
}

impl Fenced {
    fn new(number: usize) -> Self {
        Self { ground: Mutex::new(Ground::new(number)), free: AtomicUsize::new(0) }
    }

    /// Changes the ground, then lets it go.
    fn change<T>(&self, mut ground: MutexGuard<'_, Ground>, change: impl FnOnce(&mut Ground) -> T) -> T {
        let result = change(&mut ground);
        self.free.store(ground.free_granules(), Relaxed);
        result
    }
}

/// Every ground, and the slack that they share.
#[derive(Debug)]
pub(crate) struct Grounds {
    all: Box<[Fenced]>,
    slack: Slack,
}

impl Grounds {
    /// `count` grounds, at least 1 and at most [`MOST_GROUNDS`].
    pub(crate) fn new(count: usize, slack_bytes: usize) -> Self {
        let count = count.clamp(1, MOST_GROUNDS);
        Self { all: (0..count).map(Fenced::new).collect(), slack: Slack::new(slack_bytes / GRANULE_BYTES) }
    }

    /// The calling thread's own ground.
    fn home(&self) -> usize {
        thread_slot::current() % self.all.len()
    }

    /// Cuts the wanted part out of a free extent of any ground: its address.
    pub(crate) fn take(&self, frames: &FrameTable, want: Want) -> Option<usize> {
        let (home, count) = (self.home(), self.all.len());
        let mut busy = 0u64;
        for number in (home..count).chain(0..home) {
            let fenced = &self.all[number];
            if fenced.free.load(Relaxed) < want.granules() {
                continue;
            }
            let Some(ground) = try_lock(&fenced.ground) else {
                busy |= 1 << number;
                continue;
            };
            let taken = fenced.change(ground, |ground| ground.take(&Nearby::new(frames), &self.slack, want));
            if taken.is_some() {
                return taken;
            }
        }
        self.take_from_busy(frames, want, busy)
    }

    fn take_from_busy(&self, frames: &FrameTable, want: Want, mut busy: u64) -> Option<usize> {
        while busy != 0 {
            let number = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let taken = self.change(number, |ground| ground.take(&Nearby::new(frames), &self.slack, want));
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Gives a new region to the calling thread's own ground and takes the wanted part of it. If that ground has had room made in it
    /// since it was asked, the part comes from there, and the new region is returned to be unmapped.
    pub(crate) fn add_and_take(
        &self,
        frames: &FrameTable,
        region: MappedRegion,
        want: Want,
    ) -> (Option<usize>, Option<MappedRegion>) {
        let frames = &Nearby::new(frames);
        self.change(self.home(), |ground| {
            if let Some(taken) = ground.take(frames, &self.slack, want) {
                return (Some(taken), Some(region));
            }
            ground.add_region(frames, &self.slack, region);
            (ground.take(frames, &self.slack, want), None)
        })
    }

    /// Ends the large lease that starts at granule `start`, if one does: its granules, and a region to unmap.
    pub(crate) fn give_large(&self, frames: &FrameTable, start: usize) -> Option<(usize, Option<MappedRegion>)> {
        let frames = &Nearby::new(frames);
        let number = frames.ground_of(start)?;
        self.change(number, |ground| ground.give_large(frames, &self.slack, start))
    }

    /// Takes a superblock back. Returns a region to unmap.
    pub(crate) fn give_superblock(&self, frames: &FrameTable, start: usize, slots: usize) -> Option<MappedRegion> {
        let frames = &Nearby::new(frames);
        let number = frames.ground_of(start)?;
        self.change(number, |ground| ground.give_superblock(frames, &self.slack, start, slots))
    }

    /// Takes one wholly free region out, if more than `keep_bytes` are idle.
    pub(crate) fn remove_idle_region(&self, frames: &FrameTable, keep_bytes: usize) -> Option<MappedRegion> {
        let all = 0..self.all.len();
        let remove = |ground: &mut Ground| {
            let surplus = self.slack.idle() > keep_bytes / GRANULE_BYTES;
            if surplus { ground.remove_idle_region(&Nearby::new(frames), &self.slack) } else { None }
        };
        all.rev().find_map(|number| self.change(number, remove))
    }

    fn change<T>(&self, number: usize, change: impl FnOnce(&mut Ground) -> T) -> T {
        let fenced = &self.all[number];
        fenced.change(lock(&fenced.ground), change)
    }

    /// Locks every ground; nothing moves while the guards live.
    pub(crate) fn freeze(&self) -> Frozen<'_> {
        Frozen { grounds: self.all.iter().map(|fenced| lock(&fenced.ground)).collect(), slack: &self.slack }
    }
}

/// All grounds, held.
pub(crate) struct Frozen<'a> {
    grounds: Vec<MutexGuard<'a, Ground>>,
    slack: &'a Slack,
}

impl Frozen<'_> {
    /// The books of all grounds.
    pub(crate) fn books(&self) -> GlobalBooks {
        self.grounds.iter().map(|ground| ground.books()).fold(GlobalBooks::default(), GlobalBooks::add)
    }

    /// Checks every ground and the slack; `superblock` is called with address and slots of each superblock.
    pub(crate) fn check(
        &self,
        frames: &FrameTable,
        superblock: &mut dyn FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<GlobalBooks, String> {
        let (mut books, mut idle) = (GlobalBooks::default(), 0);
        for (number, ground) in self.grounds.iter().enumerate() {
            let found =
                ground.check(&Nearby::new(frames), superblock).map_err(|error| format!("ground {number}: {error}"))?;
            books = books.add(found);
            idle += ground.idle_granules();
        }
        if idle != self.slack.idle() || idle > self.slack.most() {
            return Err(format!("{idle} idle granules, booked {}, slack {}", self.slack.idle(), self.slack.most()));
        }
        Ok(books)
    }
}
