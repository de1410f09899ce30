//! How much a connection's reads have under way: what its path carries in the time that a read takes there, and in
//! [`QUEUE`] more.
//!
//! What is under way beyond that arrives no sooner. It waits in the owner's socket or before the slowest link of the
//! path, and what the owner sends after it waits behind it: answers, and questions of its own tasks, whose connection
//! is the same. At 100 Mbit/s 4 MiB are a third of a second, for which a task that begins would wait for its first
//! byte, while the link has nothing to carry the other way.
//!
//! The path's rate is what came in a period in which as much was under way as may be; other periods only raise it. The
//! time that a read takes there is the shortest of the last seconds. (N. Cardwell et al., "BBR: congestion-based
//! congestion control", 2016, finds what TCP sends from the same two.) Over fast paths, and within a machine, the
//! wire's own limits are less than this gives, and nothing changes.

use std::time::{Duration, Instant};

/// How long what is under way may wait somewhere, so that neither the owner nor the path runs out of work while this
/// process does something else.
const QUEUE: Duration = Duration::from_millis(20);
/// A read takes the path for so long at most: shorter ones can be asked for in a better order.
const PIECE: Duration = Duration::from_millis(5);
/// Reads are cut to multiples of this. Two of them may always be under way.
const LEAST_PIECE: usize = 64 << 10;
/// The rate is looked at after so long.
const PERIOD: Duration = Duration::from_millis(50);
/// For how long, and at most twice that, the shortest time of a read counts.
const DELAY_AGE: Duration = Duration::from_millis(1500);

/// Of one connection.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes a second that the path carries, as far as is known.
    rate: Option<f64>,
    period: Option<Period>,
    /// The shortest time of a read since `since`, and in the [`DELAY_AGE`] before.
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    since: Option<Instant>,
}

/// A time in which reads were under way without a break.
#[derive(Debug)]
struct Period {
    begun: Instant,
    bytes: usize,
    /// Whether less was under way than the path carries.
    had_room: bool,
}

impl Pace {
    /// Bytes that may be under way, of at most `most`.
    pub(super) fn window(&self, most: usize) -> usize {
        let Some(rate) = self.rate else { return most };
        let shortest = [self.shortest, self.shortest_before].into_iter().flatten().min().unwrap_or_default();
        let carried = rate * (shortest + QUEUE).as_secs_f64();
        (carried as usize).max(2 * LEAST_PIECE).min(most)
    }

    /// Bytes of one read, of at most `most`.
    pub(super) fn piece(&self, most: usize) -> usize {
        let Some(rate) = self.rate else { return most };
        let pieces = (rate * PIECE.as_secs_f64()) as usize / LEAST_PIECE;
        (pieces.max(1) * LEAST_PIECE).min(most)
    }

    /// A read is begun.
    pub(super) fn begun(&mut self, now: Instant) {
        self.period.get_or_insert(Period { begun: now, bytes: 0, had_room: false });
    }

    /// Less is under way than may be: there is nothing to read, no memory for it, or there are as many reads as may be.
    pub(super) fn has_room(&mut self) {
        if let Some(period) = &mut self.period {
            period.had_room = true;
        }
    }

    /// A read of so many bytes has ended, which took so long; `left` bytes are under way still.
    pub(super) fn ended(&mut self, bytes: usize, took: Duration, left: usize, now: Instant) {
        self.note_time(took, now);
        let Some(period) = &mut self.period else { return };
        period.bytes += bytes;
        let time = now.saturating_duration_since(period.begun);
        if time >= PERIOD {
            let (rate, had_room) = (period.bytes as f64 / time.as_secs_f64(), period.had_room);
            self.note_rate(rate, had_room);
            self.period = Some(Period { begun: now, bytes: 0, had_room: false });
        }
        if left == 0 {
            self.period = None;
        }
    }

    fn note_time(&mut self, took: Duration, now: Instant) {
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) >= DELAY_AGE {
            self.shortest_before = self.shortest.take();
            self.since = Some(now);
        }
        self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
    }

    fn note_rate(&mut self, rate: f64, had_room: bool) {
        self.rate = Some(match self.rate {
            // By steps: one period in which the owner did something else says little.
            Some(known) if rate < known && !had_room => known - (known - rate) / 4.0,
            Some(known) => known.max(rate),
            // Less may only have been asked for.
            None if had_room => return,
            None => rate,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const MOST: usize = 4 << 20;
    const GET: usize = 512 << 10;

    /// A connection over a link that carries so many bytes a second, one piece after the other, and takes `delay` there
    /// and back.
    struct Link {
        start: Instant,
        now: Duration,
        rate: f64,
        delay: Duration,
        /// When the link has carried all that was asked for.
        free: Duration,
        /// Bytes, when asked for and when they are there.
        under_way: VecDeque<(usize, Duration, Duration)>,
        pace: Pace,
    }

    impl Link {
        fn new(rate: f64, delay: Duration) -> Self {
            let (start, pace) = (Instant::now(), Pace::default());
            Self { start, now: Duration::ZERO, rate, delay, free: Duration::ZERO, under_way: VecDeque::new(), pace }
        }

        fn bytes(&self) -> usize {
            self.under_way.iter().map(|(bytes, ..)| bytes).sum()
        }

        /// Asks for as much as may be, and waits until the next read has ended; bytes that have come.
        fn step(&mut self) -> usize {
            while self.bytes() < self.pace.window(MOST) && self.under_way.len() < 32 {
                let bytes = self.pace.piece(GET);
                self.pace.begun(self.start + self.now);
                self.free =
                    self.free.max(self.now + self.delay / 2) + Duration::from_secs_f64(bytes as f64 / self.rate);
                self.under_way.push_back((bytes, self.now, self.free + self.delay / 2));
            }
            let (bytes, asked, there) = self.under_way.pop_front().expect("something is under way");
            self.now = self.now.max(there);
            self.pace.ended(bytes, self.now - asked, self.bytes(), self.start + self.now);
            bytes
        }

        /// What comes in a second, on the mean of so many, as a part of what the link carries.
        fn used(&mut self, seconds: u64) -> f64 {
            let (end, mut bytes) = (self.now + Duration::from_secs(seconds), 0);
            let begun = self.now;
            while self.now < end {
                bytes += self.step();
            }
            bytes as f64 / (self.now - begun).as_secs_f64() / self.rate
        }

        /// How long what is under way waits for the link.
        fn queue(&self) -> Duration {
            Duration::from_secs_f64(self.bytes() as f64 / self.rate).saturating_sub(self.delay)
        }
    }

    const MBIT: f64 = 125_000.0;
    const LAN: Duration = Duration::from_micros(200);

    #[test]
    fn a_link_is_used_and_little_waits_before_it() {
        for (rate, delay) in [(10.0, LAN), (100.0, LAN), (100.0, 50 * LAN), (1_000.0, LAN), (1_000.0, 50 * LAN)] {
            let mut link = Link::new(rate * MBIT, delay);
            link.used(3);
            let used = link.used(2);
            assert!(used > 0.97, "{rate} Mbit/s with {delay:?}: {used} of it");
            let least = Duration::from_secs_f64(2.0 * LEAST_PIECE as f64 / link.rate);
            let most = 5 * QUEUE + least;
            assert!(link.queue() < most, "{rate} Mbit/s with {delay:?}: {:?} wait", link.queue());
        }
    }

    #[test]
    fn over_fast_links_the_wires_limits_hold() {
        let mut link = Link::new(10_000.0 * MBIT, LAN);
        link.used(1);
        assert_eq!((link.pace.window(MOST), link.pace.piece(GET)), (MOST, GET));
        let first = Pace::default();
        assert_eq!((first.window(MOST), first.piece(GET)), (MOST, GET), "before anything is known");
    }

    #[test]
    fn a_link_that_becomes_faster_slower_or_longer_is_used() {
        let mut link = Link::new(100.0 * MBIT, LAN);
        link.used(2);
        link.rate *= 10.0;
        link.used(1);
        assert!(link.used(1) > 0.97, "faster");
        link.rate /= 10.0;
        link.used(4);
        let (used, queue) = (link.used(1), link.queue());
        assert!(used > 0.97 && queue < 6 * QUEUE, "slower: {used}, {queue:?} wait");
        link.delay = Duration::from_millis(100);
        link.used(5);
        assert!(link.used(2) > 0.97, "longer");
    }

    /// A task now and then, with less to read than the path would carry.
    #[test]
    fn what_is_short_of_work_is_not_taken_for_a_slow_link() {
        let mut link = Link::new(1_000.0 * MBIT, LAN);
        link.used(1);
        let known = link.pace.window(MOST);
        for _ in 0..100 {
            while !link.under_way.is_empty() {
                let (bytes, asked, there) = link.under_way.pop_front().expect("one");
                link.now = link.now.max(there);
                link.pace.ended(bytes, link.now - asked, link.bytes(), link.start + link.now);
            }
            link.now += Duration::from_millis(60);
            link.pace.begun(link.start + link.now);
            link.pace.has_room();
            link.under_way.push_back((1000, link.now, link.now + Duration::from_millis(55)));
        }
        assert!(link.pace.window(MOST) >= known, "{} after {known}", link.pace.window(MOST));
    }
}
