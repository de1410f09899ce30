//! Gets that are made by one system call, and the outcome of each.

use sluice_mem::MemoryKind;

use crate::cma::call::{Call, Failure};
use crate::cma::validity::ValidityMark;
use crate::wire::Endpoint;

/// A get that waits to be read.
pub(crate) struct Queued {
    pub(crate) endpoint: Endpoint,
    pub(crate) pid: u32,
    pub(crate) mark: ValidityMark,
    pub(crate) token: u64,
    pub(crate) inner_key: Vec<u8>,
    pub(crate) remote: u64,
    pub(crate) local: *mut u8,
    pub(crate) bytes: usize,
    /// Memory that this process writes.
    pub(crate) kind: MemoryKind,
}

// SAFETY: the thread that has the get may write to `local` until the get's end is reported (contract of `Wire::get`).
unsafe impl Send for Queued {}

/// What came of a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All bytes were read, and the region was still registered after that.
    Read,
    /// The region's validity word does not hold its number: the bytes that were read may be those of other memory.
    Stale,
    /// Its memory cannot be read there.
    NotRead,
    /// That process cannot be read from.
    Refused,
}

/// A get that is at its end here.
pub(crate) type Ended = (Queued, Outcome);

/// What a thread keeps from one call to the next.
#[derive(Default)]
pub(crate) struct Reading {
    call: Call,
    marks: Vec<ValidityMark>,
    held: Vec<u64>,
}

impl Reading {
    /// Reads gets of one endpoint: together, and if that fails each alone, so that one that cannot be read takes no
    /// other with it. Says by `begins` that a system call begins.
    pub(crate) fn read(&mut self, gets: Vec<Queued>, mut begins: impl FnMut(), ended: &mut Vec<Ended>) {
        begins();
        match self.call(&gets) {
            Err(Failure::NotRead) if gets.len() > 1 => ended.extend(gets.into_iter().map(|get| {
                begins();
                let result = self.call(std::slice::from_ref(&get));
                let outcome = self.outcome(&get, result);
                (get, outcome)
            })),
            result => ended.extend(gets.into_iter().map(|get| {
                let outcome = self.outcome(&get, result);
                (get, outcome)
            })),
        }
    }

    /// One call: the gets' data, then the validity words of their regions into `held`.
    fn call(&mut self, gets: &[Queued]) -> Result<(), Failure> {
        let Self { call, marks, held } = self;
        let Some(pid) = gets.first().map(|get| get.pid) else { return Ok(()) };
        call.clear();
        marks.clear();
        for get in gets {
            call.push(get.remote, get.local, get.bytes);
            if !marks.contains(&get.mark) {
                marks.push(get.mark);
            }
        }
        held.clear();
        held.resize(marks.len(), 0);
        for (mark, word) in marks.iter().zip(held.iter_mut()) {
            call.push(mark.address, std::ptr::from_mut(word).cast(), size_of::<u64>());
        }
        // SAFETY: each get's memory is its own until it is reported (contract of `Wire::get`); the words are `held`'s.
        unsafe { call.run(pid) }
    }

    /// What came of a get that was in the last call.
    fn outcome(&self, get: &Queued, result: Result<(), Failure>) -> Outcome {
        let stands = || self.marks.iter().zip(&self.held).any(|(mark, held)| *mark == get.mark && mark.value == *held);
        match result {
            Ok(()) if stands() => Outcome::Read,
            Ok(()) => Outcome::Stale,
            Err(Failure::NotRead) => Outcome::NotRead,
            Err(Failure::Refused) => Outcome::Refused,
        }
    }
}
