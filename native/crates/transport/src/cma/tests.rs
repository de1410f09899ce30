//! CMA reads between two wires of this process, above the loopback. What the loopback reads is not counted as read
//! so.

mod helper;
mod pair;
mod reads;
mod sleeper;
