//! The connections of one process: at most one to each other, and of each its number.
//!
//! Both sides open a connection, and a wire pairs their openings by number. An opening that came to nothing on one side (the
//! other was not there yet, or was kept waiting) counts too, so that the numbers differ then, for good. Therefore the side that
//! greets tells its number; the other opens as often as it takes to have the same, or, if it is ahead, tells its own.

use std::collections::HashMap;

use crate::message::InstanceId;
use crate::wire::{Endpoint, Opened, Wire, WireError};

/// Openings in a row that make up for the other side's: who is further behind comes nearer with each attempt to connect.
const CATCH_UP: u32 = 1024;

/// Connections by what is at their other end.
#[derive(Default)]
pub(crate) struct Links {
    open: HashMap<InstanceId, Opened>,
    /// The greatest number that was heard of each process: not forgotten, because the wires do not forget, either.
    heard: HashMap<InstanceId, u32>,
}

impl Links {
    /// The open connection to another process.
    pub(crate) fn get(&self, other: InstanceId) -> Option<Opened> {
        self.open.get(&other).copied()
    }

    /// At whose connection this is the end here.
    pub(crate) fn at(&self, endpoint: Endpoint) -> Option<InstanceId> {
        self.open.iter().find(|(_, opened)| opened.endpoint == endpoint).map(|(other, _)| *other)
    }

    /// All processes to which a connection is open.
    pub(crate) fn others(&self) -> Vec<InstanceId> {
        self.open.keys().copied().collect()
    }

    /// The other side has opened a connection to here so often.
    pub(crate) fn hear(&mut self, other: InstanceId, number: u32) {
        let heard = self.heard.entry(other).or_default();
        *heard = number.max(*heard);
    }

    /// The connection to another process; if there is none it is opened, with the other side's number if that can be.
    pub(crate) fn open<W: Wire>(
        &mut self,
        wire: &mut W,
        other: InstanceId,
        wire_address: &[u8],
    ) -> Result<Opened, WireError> {
        if let Some(opened) = self.get(other) {
            return Ok(opened);
        }
        let heard = self.heard.get(&other).copied().unwrap_or_default();
        let mut opened = wire.open(wire_address)?;
        for _ in 1..CATCH_UP {
            if opened.number >= heard {
                break;
            }
            wire.close(opened.endpoint);
            opened = wire.open(wire_address)?;
        }
        self.open.insert(other, opened);
        Ok(opened)
    }

    /// Closes a connection; there may be none.
    pub(crate) fn close<W: Wire>(&mut self, wire: &mut W, other: InstanceId) {
        if let Some(opened) = self.open.remove(&other) {
            wire.close(opened.endpoint);
        }
    }
}
