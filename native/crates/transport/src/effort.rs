//! How much of what has arrived one turn of the agent takes up, so that no turn is long, whatever was sent: an honest
//! peer's messages, random bytes, greetings that were recorded and sent again. What is left waits for the next turn,
//! and nothing more is taken from the wire before it is done, so a flood fills the wire's buffers and not this
//! process's memory.
//!
//! The unit is about half a microsecond of a core. It stands for checking 64 bytes of a message: a tag is an
//! HMAC-SHA-256 over all of it, and whoever sends knows the name of a reader that has a session.

use crate::wire::Event;

/// What a turn does at most, but for the last event, which may go beyond it: some 400 us.
const TURN: usize = 800;
/// A message, beside its bytes: looking up its sender, the end of an HMAC, and perhaps an answer.
const MESSAGE: usize = 4;
const BYTES_OF_A_UNIT: usize = 64;
/// The end of a read.
const GOT: usize = 1;
/// A connection that is to be closed, which takes UCX some 30 us.
const CLOSED: usize = 60;
/// Opening an endpoint for it, which takes UCX some 100 us. A turn opens few in all (`links.rs`), refusals not counted.
const OPENED: usize = 200;

/// Messages that a turn takes up at most.
#[cfg(test)]
pub(crate) const MOST_MESSAGES: usize = TURN / MESSAGE;

/// What is left of one turn's effort.
#[derive(Debug)]
pub(crate) struct Effort(usize);

impl Effort {
    /// That of a turn that begins.
    pub(crate) fn of_a_turn() -> Self {
        Self(TURN)
    }

    /// Whether another event may be taken up.
    pub(crate) fn is_left(&self) -> bool {
        self.0 > 0
    }

    /// An event is taken up. All kinds count.
    pub(crate) fn take_up(&mut self, event: &Event) {
        self.spend(match event {
            Event::Message(bytes) => MESSAGE + bytes.len() / BYTES_OF_A_UNIT,
            Event::Got { .. } => GOT,
            Event::Stuck { .. } | Event::Failed { .. } => CLOSED,
        });
    }

    /// Endpoints were opened.
    pub(crate) fn opened(&mut self, endpoints: usize) {
        self.spend(endpoints * OPENED);
    }

    fn spend(&mut self, units: usize) {
        self.0 = self.0.saturating_sub(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Endpoint, WireError};

    fn taken_up(event: &Event) -> usize {
        let (mut effort, mut count) = (Effort::of_a_turn(), 0);
        while effort.is_left() {
            effort.take_up(event);
            count += 1;
        }
        count
    }

    #[test]
    fn every_kind_of_event_counts() {
        let failed = Event::Failed { endpoint: Endpoint(1), error: WireError("gone".into()) };
        let cases = [
            (Event::Message(vec![]), MOST_MESSAGES),
            (Event::Message(vec![0; 100]), 160),
            (Event::Message(vec![0; 10 << 10]), 5),
            (Event::Message(vec![0; 1 << 20]), 1),
            (Event::Got { token: 1, result: Ok(()) }, 800),
            (failed, 14),
        ];
        for (event, count) in cases {
            assert_eq!(taken_up(&event), count);
        }
        let mut effort = Effort::of_a_turn();
        effort.opened(3);
        assert!(effort.is_left());
        effort.opened(1);
        assert!(!effort.is_left());
    }
}
