//! Every committed input of every target, once. `SLUICE_WRITE_CORPUS=1 cargo test -p sluice-fuzz --test corpus`
//! writes the inputs that are made from the golden vectors, the regressions and the generators; those that a fuzzer
//! found are added by hand, as `corpus/<target>/found-<what>`.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sluice_codec::{FrameHeader, HEADER_BYTES};
use sluice_fuzz::{TARGETS, message, payload, payload_input};
use sluice_testkit::xorshift;
use sluice_transport::fuzzing::reencode_message;

/// Larger vectors teach a fuzzer nothing more.
const MOST_BYTES: usize = 12_000;
/// How often each input is changed.
const CHANGES: u64 = 100;

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

#[test]
fn the_corpus_has_messages_of_every_kind() {
    let kind = |path: &PathBuf| {
        let message = fs::read(path).expect("an input");
        reencode_message(&message).map(|_| message[0] & message::KIND)
    };
    let kinds: BTreeSet<u8> = files(&root().join("message")).iter().filter_map(kind).collect();
    assert!(kinds.is_superset(&(1..=10).collect()), "{kinds:?}");
}

/// Inputs with a few bytes changed, always the same ones: a short run without coverage.
#[test]
fn changed_inputs_pass() {
    for target in TARGETS {
        for (i, path) in files(&root().join(target.name)).iter().enumerate() {
            let input = fs::read(path).expect("an input");
            for round in 0..CHANGES {
                let changed = change(&input, (i as u64) << 32 | round);
                let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&changed)));
                assert!(outcome.is_ok(), "{} fails on {}, changed: {changed:?}", target.name, path.display());
            }
        }
    }
}

/// The input with one to four bytes replaced, removed or put in.
fn change(input: &[u8], seed: u64) -> Vec<u8> {
    let mut changed = input.to_vec();
    for i in 0..=xorshift(seed) % 4 {
        let random = xorshift(seed * 8 + i);
        let at = (random >> 16) as usize % changed.len().max(1);
        match random % 4 {
            _ if changed.is_empty() => changed.push(random as u8),
            0 => drop(changed.remove(at)),
            1 => changed.insert(at, (random >> 8) as u8),
            2 => changed[at] ^= 1 << (random >> 8 & 7),
            _ => changed[at] = [0, 1, 8, 0x7F, 0x80, 0xFF][(random >> 8) as usize % 6],
        }
    }
    changed
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
        if let Some(input) = payload_input(&header, &frame[HEADER_BYTES..]) {
            write("payload", &name, &input);
        }
    }
    for (name, message) in messages() {
        assert_eq!(reencode_message(&message).as_ref(), Some(&message), "{name}");
        write("message", name, &message);
    }
    for seed in 1..=32u64 {
        let bytes = |words| (0..words).flat_map(|i| xorshift(seed << 20 | i).to_le_bytes()).collect::<Vec<u8>>();
        write("grammar", &format!("seed-{seed:02}"), &bytes(24 + seed * 2));
        write("rows", &format!("seed-{seed:02}"), &bytes(12 + seed * 2));
        write("sealed", &format!("seed-{seed:02}"), &bytes(4 + seed * 2));
        write("columns", &format!("seed-{seed:02}"), &bytes(8 + seed * 4));
    }
    for seed in 1..=16u64 {
        let bytes = |words| (0..words).flat_map(|i| xorshift(seed << 20 | i).to_le_bytes()).collect::<Vec<u8>>();
        write("index", &format!("seed-{seed:02}"), &bytes(8 + seed));
        write("spill", &format!("seed-{seed:02}"), &bytes(8 + seed * 8));
        write("memory-file", &format!("seed-{seed:02}"), &bytes(4 + seed));
    }
}

/// A message of each kind, and a further one for blocks that are busy, as `transport::message` lays them out: kind,
/// sender, body, and the tag of an owner (0x80 in the kind) or a reader (0x40).
fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let message = |kind: u8, body: &[&[u8]]| [&[kind][..], &7u64.to_le_bytes(), &body.concat()].concat();
    let tagged = |kind, body: &[&[u8]]| message(kind, &[body, &[&2u64.to_le_bytes()[..], &[7; 32]]].concat());
    let (one, batch) = (1u16.to_le_bytes(), 9u64.to_le_bytes());
    let block = [&3u32.to_le_bytes()[..], &4u64.to_le_bytes(), &0u32.to_le_bytes(), &8u32.to_le_bytes()].concat();
    let key = [&5u64.to_le_bytes()[..], &3u16.to_le_bytes(), b"key"].concat();
    let range = [&[0, 0][..], &4096u64.to_le_bytes(), &100u64.to_le_bytes()].concat();
    let found = [&[1][..], &one, &range, &[0, 0, 0]].concat();
    let busy = [2, 0, 0];
    vec![
        ("hello", message(1, &[&7u16.to_le_bytes(), &1u32.to_le_bytes(), &[0xAB; 16], b"address", &[0xCD; 32]])),
        (
            "hello-of-version-8",
            message(1, &[&8u16.to_le_bytes(), &1u32.to_le_bytes(), &[0xAB; 16], b"address", &[0xCD; 32]]),
        ),
        ("hello-of-version-4", message(1, &[&4u16.to_le_bytes(), &1u32.to_le_bytes(), &[0xAB; 16], b"address"])),
        ("challenge", message(2, &[&[1; 16], &[2; 16], &[3; 32]])),
        ("proof", message(3, &[&[4; 32]])),
        ("locate", tagged(0x44, &[&batch, &one, &batch, &block, &block])),
        ("located", tagged(0x85, &[&batch, &one, &key, &2u32.to_le_bytes(), &found])),
        ("located-busy", tagged(0x85, &[&batch, &one, &key, &3u32.to_le_bytes(), &busy, &found])),
        ("done", tagged(0x46, &[&batch, &batch])),
        ("refused", message(7, &[&1u32.to_le_bytes(), &2u32.to_le_bytes(), "wrong version".as_bytes()])),
        ("turned-away", message(10, &[&[1; 4], &[2; 4], &[3; 16], &[4; 32], b"no room"])),
        ("sample", tagged(0x88, &[&batch, &[6; 64], b"key"])),
        ("closing", message(9, &[&3u32.to_le_bytes()])),
        ("closing-of-a-session", tagged(0x89, &[&3u32.to_le_bytes()])),
    ]
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

/// Payloads of past bugs (a panic, memory beyond the bound, a wrong row): name, records, fields, decoded bytes,
/// payload.
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
