//! Every committed input of every target, once. `SLUICE_WRITE_CORPUS=1 cargo test -p sluice-fuzz --test corpus` writes the
//! inputs that are made from the golden vectors, the regressions and the generators; those that a fuzzer found are added
//! by hand, as `corpus/<target>/found-<what>`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sluice_codec::{FrameHeader, HEADER_BYTES};
use sluice_fuzz::{TARGETS, payload};
use sluice_testkit::xorshift;

/// Larger vectors teach a fuzzer nothing more.
const MOST_BYTES: usize = 12_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("a folder's entry").path()).collect();
    files.sort();
    files
}

#[test]
fn every_input_passes() {
    if std::env::var_os("SLUICE_WRITE_CORPUS").is_some() {
        write_corpus();
    }
    for target in TARGETS {
        let inputs = files(&root().join(target.name));
        assert!(inputs.len() >= 4, "{}: a corpus of {} inputs", target.name, inputs.len());
        for path in inputs {
            let input = fs::read(&path).expect("an input");
            let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
            assert!(outcome.is_ok(), "{} fails on {} (its panic is above)", target.name, path.display());
        }
    }
}

fn write(target: &str, name: &str, input: &[u8]) {
    let folder = root().join(target);
    fs::create_dir_all(&folder).expect("the corpus' folder");
    fs::write(folder.join(name), input).expect("an input");
}

fn write_corpus() {
    for (name, frame) in vectors().into_iter().chain(regressions()) {
        write("frame", &name, &frame);
        let header = FrameHeader::parse(&frame).expect("a frame of ours");
        if header.fields < 256 {
            write("payload", &name, &payload_input(&header, &frame[HEADER_BYTES..]));
        }
    }
    for seed in 1..=32u64 {
        let bytes = |words| (0..words).flat_map(|i| xorshift(seed << 20 | i).to_le_bytes()).collect::<Vec<u8>>();
        write("grammar", &format!("seed-{seed:02}"), &bytes(24 + seed * 2));
        write("rows", &format!("seed-{seed:02}"), &bytes(12 + seed * 2));
    }
}

/// The target `payload` takes the header's fields from 8 bytes.
fn payload_input(header: &FrameHeader, payload: &[u8]) -> Vec<u8> {
    let records = (header.records - 1) as u16;
    let decoded = header.decoded_bytes.to_le_bytes();
    let mut input = vec![header.encoding];
    input.extend(records.to_le_bytes());
    input.push(header.fields as u8);
    input.extend(decoded);
    input.extend(payload);
    input
}

fn vectors() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/block-format/vectors");
    let frames = files(&folder).into_iter().filter(|p| p.extension().is_some_and(|e| e == "frame"));
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (format!("vector-{name}"), fs::read(&path).expect("a vector"))
    };
    frames.map(read).filter(|(_, frame)| frame.len() <= MOST_BYTES).collect()
}

/// Payloads that once did what none may do: name, records, fields, decoded bytes, payload.
fn regressions() -> Vec<(String, Vec<u8>)> {
    let tails = [&[1, 5, 13][..], &[0; 7], &[16], &[0; 7], &[0, 0x80], &[1; 8], &[5], &[0xAA; 8], &[0xBB; 8]].concat();
    let cases: [(&str, u32, u32, u32, Vec<u8>); 3] = [
        ("tail-of-5-bytes-as-words", 1, 0, 5, vec![1, 0x10, 5, 0, 0]),
        ("tails-of-13-and-16-bytes-as-words", 2, 0, 29, tails),
        ("raw-column-with-a-head", 1, 1, 16, [&[0, 0x15, 9][..], &[0; 8], &[0], &[0]].concat()),
    ];
    let frame = |(name, records, fields, decoded_bytes, payload): (&str, u32, u32, u32, Vec<u8>)| {
        let (encoded_bytes, payload_crc) = (payload.len() as u32, 0);
        let header = FrameHeader { path: 1, encoding: 1, records, fields, decoded_bytes, encoded_bytes, payload_crc };
        let mut frame = [&header.to_bytes()[..], &payload].concat();
        payload::repair_checksums(&mut frame);
        (format!("regression-{name}"), frame)
    };
    cases.into_iter().map(frame).collect()
}
