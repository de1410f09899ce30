//! Pinned memory, a GPU's memory and the stream arena, on the simulator of the driver. Each test has a simulator of its
//! own.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../mem/tests/suite/subject.rs"]
mod subject;
#[macro_use]
#[path = "../../../mem/tests/suite/conformance.rs"]
mod suite;
#[path = "../../../mem/tests/suite/fragmentation.rs"]
mod fragmentation;
#[path = "../../../mem/tests/suite/model.rs"]
mod model;
#[path = "../../../mem/tests/suite/replay.rs"]
mod replay;
#[path = "../../../mem/tests/support/mod.rs"]
mod support;
#[path = "../../../mem/tests/suite/traffic.rs"]
mod traffic;

mod kinds;
mod lost;
mod on_streams;
mod order;
mod pinned;
mod pressure;
mod setting;
mod tasks;
