//! Connections that are opened only to send one refusal, and closed after [`REFUSAL_TIME`]. They go to processes that
//! know the secret: a wire remembers each address that was ever opened, reachable or not.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::links::Openings;
use crate::wire::{Endpoint, Opened, Wire};

/// How many there are at once.
const MAX_REFUSALS: usize = 16;
/// How long such a connection stays, so that the refusal gets through.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// The connections, oldest first; `None` for one that could not be opened, which counts for as long.
#[derive(Default)]
pub(crate) struct Refusals(VecDeque<(Instant, Option<Endpoint>)>);

impl Refusals {
    /// Opens a connection for a refusal; `None` when there are too many, or it cannot be opened.
    /// [`Refusals::end`] closes it.
    pub(crate) fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        openings: &mut Openings,
        wire_address: &[u8],
        now: Instant,
    ) -> Option<Opened> {
        if self.0.len() >= MAX_REFUSALS {
            return None;
        }
        openings.take();
        let opened = wire.open(wire_address).ok();
        self.0.push_back((now, opened.map(|opened| opened.endpoint)));
        opened
    }

    /// Closes the connections that have been open for [`REFUSAL_TIME`].
    pub(crate) fn end<W: Wire>(&mut self, wire: &mut W, now: Instant) {
        while let Some((_, endpoint)) =
            self.0.pop_front_if(|(since, _)| now.saturating_duration_since(*since) >= REFUSAL_TIME)
        {
            endpoint.into_iter().for_each(|endpoint| wire.close(endpoint));
        }
    }

    /// Closes all.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W) {
        self.0.drain(..).filter_map(|(_, endpoint)| endpoint).for_each(|endpoint| wire.close(endpoint));
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
                let nowhere = (1000 + i).to_le_bytes();
                assert_eq!(refusals.open(&mut wire, &mut Openings::default(), &nowhere, now), None);
            }
            assert_eq!(network.take_calls(&me), MAX_REFUSALS, "round {round}");
            now += REFUSAL_TIME;
            refusals.end(&mut wire, now);
        }
        assert!(refusals.open(&mut wire, &mut Openings::default(), there.address(), now).is_some());
        assert_eq!(network.connections(), 1);
        refusals.close(&mut wire);
        assert_eq!(network.connections(), 0);
    }
}
