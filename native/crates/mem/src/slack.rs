//! How many bytes of wholly free regions the sub-arenas may keep mapped together.
//!
//! Counts granules of idle regions over all sub-arenas. Each sub-arena changes it under its own lock, so the sum is
//! exact whenever all of them are locked; in between another sub-arena may read an older value, which costs at most one
//! region kept or unmapped more.

use crate::geometry::SEGMENT_BYTES;
use crate::sync::{AtomicUsize, Relaxed};

/// The slack, when the options do not say otherwise, is the limit on leased bytes divided by this.
const LIMIT_SHARE: usize = 8;

/// An eighth of the limit on leased bytes, but at least one region: else each lease of an otherwise unused arena would
/// map one.
pub(crate) fn default_slack(limit_bytes: usize) -> usize {
    (limit_bytes / LIMIT_SHARE).max(SEGMENT_BYTES)
}

/// Idle granules and how many there may be.
#[derive(Debug)]
pub(crate) struct Slack {
    idle: AtomicUsize,
    most: AtomicUsize,
}

impl Slack {
    pub(crate) fn new(most: usize) -> Self {
        Self { idle: AtomicUsize::new(0), most: AtomicUsize::new(most) }
    }

    /// Granules of idle regions, including a region that was just mapped and is about to be used.
    pub(crate) fn idle(&self) -> usize {
        self.idle.load(Relaxed)
    }

    /// The most that [`Self::keep`] allows.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Changes the most; the caller removes what exceeds it.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Relaxed);
    }

    /// Adds a region that became idle; false, and no change, when it has to be unmapped.
    pub(crate) fn keep(&self, granules: usize) -> bool {
        let most = self.most();
        let within = |idle: usize| (idle + granules <= most).then_some(idle + granules);
        self.idle.fetch_update(Relaxed, Relaxed, within).is_ok()
    }

    /// Adds a new region, whatever the slack.
    pub(crate) fn add(&self, granules: usize) {
        self.idle.fetch_add(granules, Relaxed);
    }

    /// Removes a region that is not idle any more, or unmapped.
    pub(crate) fn use_up(&self, granules: usize) {
        self.idle.fetch_sub(granules, Relaxed);
    }
}
