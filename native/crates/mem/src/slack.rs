//! How much wholly free memory the grounds may keep mapped together.
//!
//! Counts granules of idle regions over all grounds. Each ground changes it under its own lock, so the sum is exact whenever all
//! of them are held; in between another ground sees a moment's value, which costs at most a region kept or unmapped more.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Idle granules and how many there may be.
#[derive(Debug)]
pub(crate) struct Slack {
    idle: AtomicUsize,
    most: usize,
}

impl Slack {
    pub(crate) fn new(most: usize) -> Self {
        Self { idle: AtomicUsize::new(0), most }
    }

    /// Granules of idle regions, a region included that was just mapped and is about to be used.
    pub(crate) fn idle(&self) -> usize {
        self.idle.load(Relaxed)
    }

    /// The most that [`Self::keep`] allows.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Books a region that became idle; false, and no change, when it has to go.
    pub(crate) fn keep(&self, granules: usize) -> bool {
        let within = |idle: usize| (idle + granules <= self.most).then_some(idle + granules);
        self.idle.fetch_update(Relaxed, Relaxed, within).is_ok()
    }

    /// Books a new region, whatever the slack.
    pub(crate) fn add(&self, granules: usize) {
        self.idle.fetch_add(granules, Relaxed);
    }

    /// Books off a region that is idle no more, or gone.
    pub(crate) fn use_up(&self, granules: usize) {
        self.idle.fetch_sub(granules, Relaxed);
    }
}
