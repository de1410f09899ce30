//! Which uses of memory are in no order.
//!
//! Each stream numbers its work. A clock says for each stream up to which number its work is known to be done before a
//! point: what streams, events and observed waits have put in order. Two uses of the same bytes, one of them a write,
//! must be in order by their clocks; whether the one was in fact done before the other says nothing, since the next
//! time, or a GPU, can do them the other way round.

use std::collections::VecDeque;

/// From how many uses on those that somebody has seen to be done are forgotten.
const REMEMBERED: usize = 2048;

/// By stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    pub(crate) fn get(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    pub(crate) fn set(&mut self, stream: usize, number: u64) {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] = number;
    }

    /// All that is before either is before this.
    pub(crate) fn join(&mut self, other: &Self) {
        for (stream, &number) in other.0.iter().enumerate() {
            if self.get(stream) < number {
                self.set(stream, number);
            }
        }
    }
}

/// A use of a range of memory, of the device or of the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) stream: usize,
    /// The work's number in its stream.
    pub(crate) number: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) write: bool,
    /// The function that put it into the stream.
    pub(crate) function: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct Accesses {
    done: VecDeque<Access>,
    /// How many there may be before the next are forgotten.
    room: usize,
}

impl Accesses {
    /// Remembers a use by work with this clock. An earlier one that is in no order with it, in words. Of many uses
    /// those are forgotten that are done according to `observed`: all work that is put into streams from now on is
    /// after them. (Work that is pending now may not be; such a pair is not found then.)
    pub(crate) fn add(&mut self, access: Access, clock: &Clock, observed: &Clock) -> Option<String> {
        let conflict = self.done.iter().rev().find(|other| {
            let overlaps = other.start < access.end && access.start < other.end;
            overlaps && (other.write || access.write) && clock.get(other.stream) < other.number
        });
        let words = conflict.map(|other| describe(&access, other));
        // One that is known to be over, of the same range and stream, is of no more use.
        if let Some(last) = self.done.back()
            && (last.stream, last.start, last.end) == (access.stream, access.start, access.end)
            && access.write
        {
            self.done.pop_back();
        }
        self.done.push_back(access);
        if self.done.len() > self.room.max(REMEMBERED) {
            self.done.retain(|access| observed.get(access.stream) < access.number);
            self.room = 2 * self.done.len();
        }
        words
    }

    /// The range has new contents, for which what was before is of no interest.
    pub(crate) fn forget(&mut self, start: u64, bytes: usize) {
        let end = start + bytes as u64;
        self.done.retain(|access| access.end <= start || end <= access.start);
    }
}

fn describe(access: &Access, other: &Access) -> String {
    let verb = |write| if write { "writes" } else { "reads" };
    let (start, end) = (access.start.max(other.start), access.end.min(other.end));
    format!(
        "no order: {} of stream {} {} {} bytes at {start:#x} that {} of stream {} {}",
        access.function,
        access.stream,
        verb(access.write),
        end - start,
        other.function,
        other.stream,
        verb(other.write),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(stream: usize, number: u64, start: u64, write: bool) -> Access {
        Access { stream, number, start, end: start + 10, write, function: "f" }
    }

    fn clock(numbers: &[u64]) -> Clock {
        Clock(numbers.to_vec())
    }

    #[test]
    fn only_conflicting_uses_need_an_order() {
        let mut accesses = Accesses::default();
        assert_eq!(accesses.add(access(0, 1, 0, true), &clock(&[1]), &Clock::default()), None);
        assert_eq!(accesses.add(access(1, 1, 10, true), &clock(&[0, 1]), &Clock::default()), None, "beside it");
        assert_eq!(accesses.add(access(1, 2, 5, false), &clock(&[1, 2]), &Clock::default()), None, "after it");
        let words = accesses.add(access(2, 1, 9, false), &clock(&[0, 2, 1]), &Clock::default()).expect("in no order");
        assert!(words.contains("stream 2 reads 1 bytes at 0x9 that f of stream 0 writes"), "{words}");
        assert_eq!(accesses.add(access(3, 1, 5, false), &clock(&[1, 1, 0, 1]), &Clock::default()), None, "two reads");
        accesses.forget(0, 10);
        assert_eq!(accesses.add(access(4, 1, 0, true), &clock(&[0, 1, 1, 1, 1]), &Clock::default()).map(|_| ()), None);
    }

    #[test]
    fn only_uses_that_were_seen_done_are_forgotten() {
        let (mut accesses, observed) = (Accesses::default(), clock(&[0, 5000]));
        assert_eq!(accesses.add(access(0, 1, 0, true), &clock(&[1]), &observed), None);
        for number in 1..=5000 {
            let own = clock(&[0, number]);
            assert_eq!(accesses.add(access(1, number, 100 * number, true), &own, &observed), None);
        }
        assert!(accesses.done.len() <= REMEMBERED + 1, "{}", accesses.done.len());
        assert!(accesses.add(access(2, 1, 0, true), &clock(&[0, 5000, 1]), &observed).is_some(), "nobody saw it done");
    }

    #[test]
    fn clocks_join_to_the_later_of_each() {
        let mut joined = clock(&[3, 1]);
        joined.join(&clock(&[2, 5, 1]));
        assert_eq!(joined, clock(&[3, 5, 1]));
    }
}
