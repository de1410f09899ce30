//! Connections that are opened only to send one refusal, and closed after [`REFUSAL_TIME`].
//!
//! Strangers, who have proven nothing, name the address that is opened. So this is done for [`MAX_STRANGERS`] of them
//! in a process's life: a wire remembers each address that was ever opened, reachable or not.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::links::Openings;
use crate::wire::{Endpoint, Opened, Wire};

/// Refusals at once of processes that know the secret.
const MAX_REFUSALS: usize = 16;
/// Refusals of others, in this process's life.
pub(crate) const MAX_STRANGERS: usize = 16;
/// How long such a connection stays, so that the refusal gets through.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Who is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It knows the secret.
    Proven,
    Stranger,
}

/// The connections, oldest first; `None` for one that could not be opened, which counts for as long.
#[derive(Default)]
pub(crate) struct Refusals {
    of_proven: VecDeque<(Instant, Option<Endpoint>)>,
    of_strangers: VecDeque<(Instant, Option<Endpoint>)>,
    strangers: usize,
}

impl Refusals {
    /// Opens a connection for a refusal; `None` when there were too many, or it cannot be opened.
    /// [`Refusals::end`] closes it.
    pub(crate) fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        openings: &mut Openings,
        refused: Refused,
        wire_address: &[u8],
        now: Instant,
    ) -> Option<Opened> {
        let open = match refused {
            Refused::Proven if self.of_proven.len() < MAX_REFUSALS => &mut self.of_proven,
            Refused::Stranger if self.strangers < MAX_STRANGERS => {
                self.strangers += 1;
                &mut self.of_strangers
            }
            _ => return None,
        };
        openings.take();
        let opened = wire.open(wire_address).ok();
        open.push_back((now, opened.map(|opened| opened.endpoint)));
        opened
    }

    /// Closes the connections that have been open for [`REFUSAL_TIME`].
    pub(crate) fn end<W: Wire>(&mut self, wire: &mut W, now: Instant) {
        for open in [&mut self.of_proven, &mut self.of_strangers] {
            while let Some((_, endpoint)) =
                open.pop_front_if(|(since, _)| now.saturating_duration_since(*since) >= REFUSAL_TIME)
            {
                endpoint.into_iter().for_each(|endpoint| wire.close(endpoint));
            }
        }
    }

    /// Closes all.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        let all = self.of_proven.drain(..).chain(self.of_strangers.drain(..));
        all.filter_map(|(_, endpoint)| endpoint).for_each(|endpoint| wire.close(endpoint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopback::Network;

    #[test]
    fn openings_are_bounded_also_where_they_fail() {
        let network = Network::new(1);
        let (mut wire, there) = (network.wire(), network.wire());
        let (mut refusals, mut now) = (Refusals::default(), Instant::now());
        let me = wire.address().to_vec();
        for round in 0..5 {
            network.take_calls(&me);
            for i in 0..100u64 {
                assert_eq!(
                    refusals.open(&mut wire, &mut Openings::default(), Refused::Proven, &(1000 + i).to_le_bytes(), now),
                    None
                );
            }
            assert_eq!(network.take_calls(&me), MAX_REFUSALS, "round {round}");
            now += REFUSAL_TIME;
            refusals.end(&mut wire, now);
        }
        for _ in 0..5 {
            for i in 0..100u64 {
                refusals.open(&mut wire, &mut Openings::default(), Refused::Stranger, &(1000 + i).to_le_bytes(), now);
            }
            now += REFUSAL_TIME;
            refusals.end(&mut wire, now);
        }
        assert_eq!(network.take_calls(&me), MAX_STRANGERS, "in the process's life");
        assert!(
            refusals.open(&mut wire, &mut Openings::default(), Refused::Proven, there.address(), now).is_some(),
            "strangers take none"
        );
        assert_eq!(network.connections(), 1);
        refusals.close(&mut wire);
        assert_eq!(network.connections(), 0);
    }
}
