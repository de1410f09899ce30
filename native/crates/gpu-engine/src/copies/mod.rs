//! The device tier of map outputs: copies of committed outputs in the device's memory.
//!
//! ```text
//!   commit ─► host copy (Spark's file or a memory file) ──copy──► device copy ──► readers in device memory (pinned)
//!                    ▲                                               │    └─────► readers in host memory (checked)
//!                    └── every miss: absent, dropped, lost, damaged ─┘
//! ```
//!
//! The tier is inclusive: a device copy is made of a host copy that is there already and stays there. So a copy leaves
//! the device without a byte being written anywhere, and a lost device loses no data.
//!
//! # Invariants
//! 1. The bytes of a device copy are those of the host copy: one lease, partition-major, with the index of the file.
//! 2. Dropping a copy calls the driver for nothing. While a copy is not pinned, no work of the device uses it, so that
//!    its lease goes back to the arena at once.
//! 3. All copies together have at most the tier's limit, those included that are dropped and still pinned.
//! 4. No lock is held while a copy is filled, read, leased or released.
//! 5. Once the device is lost there are no copies, and the leases of those that there were are left as they are.

mod counts;
mod device_copies;
mod index;
mod state;
mod table;

pub use counts::CopyCounts;
pub use device_copies::{DeviceCopies, HostOutput, Located, Miss, NotKept, PinnedCopy, Tier, are_frames};
pub use state::{CopyEvent, CopyState, NotAllowed};
pub use table::{CopyKey, HostCopy};
