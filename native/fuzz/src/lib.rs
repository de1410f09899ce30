//! Fuzz targets: each takes any bytes, feeds them to code that reads untrusted input, and panics when that code does
//! something it must not do.
//!
//! ```text
//! corpus/<target>/*  ─► tests/corpus.rs    every file once                                  (cargo test)
//! random bytes       ─► tests/generator.rs a fixed number of generated inputs of each       (cargo test)
//! libFuzzer          ─► engine/            coverage decides what to try next                (./sluice fuzz)
//! ```
//!
//! To add a target: a function here, a line in [`TARGETS`], and inputs in `corpus/<name>/`.

mod bytes;
mod choices;
pub mod columns;
mod folder;
pub mod index;
pub mod memory_file;
pub mod message;
pub mod payload;
pub mod rows;
pub mod sealed;
pub mod spill;

use sluice_codec::{FrameHeader, HEADER_BYTES};

pub use choices::Choices;

/// A function to fuzz.
pub struct Target {
    /// Also the name of the folder of its corpus.
    pub name: &'static str,
    /// Panics when the code under test is wrong.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "frame", run: frame },
    Target { name: "payload", run: raw_payload },
    Target { name: "grammar", run: grammar },
    Target { name: "rows", run: rows::run },
    Target { name: "columns", run: columns::run },
    Target { name: "sealed", run: sealed::run },
    Target { name: "message", run: message::run },
    Target { name: "index", run: index::run },
    Target { name: "spill", run: spill::run },
    Target { name: "memory-file", run: memory_file::run },
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// Raw bytes as a whole frame: as they are, and with the checksums made right, because no fuzzer guesses one.
fn frame(data: &[u8]) {
    payload::check_frame(data);
    if data.len() >= HEADER_BYTES {
        let mut frame = data.to_vec();
        payload::repair_checksums(&mut frame);
        payload::check_frame(&frame);
    }
}

/// Raw bytes as a payload: 8 bytes choose the header's fields.
fn raw_payload(data: &[u8]) {
    let Some((head, payload)) = data.split_first_chunk::<8>() else { return };
    let header = FrameHeader {
        path: 1,
        encoding: head[0] & 1,
        records: 1 + u32::from(u16::from_le_bytes([head[1], head[2]])),
        fields: u32::from(head[3]),
        decoded_bytes: u32::from_le_bytes([head[4], head[5], head[6], 0]),
        encoded_bytes: payload.len() as u32,
        payload_crc: 0,
    };
    payload::check(&header, payload);
}

/// The input with which the target `payload` gets this header's fields; `None` if 8 bytes cannot hold them.
pub fn payload_input(header: &FrameHeader, payload: &[u8]) -> Option<Vec<u8>> {
    let records = u16::try_from(header.records.checked_sub(1)?).ok()?.to_le_bytes();
    let fields = u8::try_from(header.fields).ok()?;
    let [decoded @ .., 0] = header.decoded_bytes.to_le_bytes() else { return None };
    Some([&[header.encoding][..], &records, &[fields], &decoded, &[0], payload].concat())
}

/// Bytes as the choices that the payload grammar leaves open.
fn grammar(data: &[u8]) {
    let case = payload::generate(&mut Choices::new(data));
    payload::check(&case.header, &case.payload);
}
