//! Any bytes that claim to be rows come back bit for bit, from every kernel set, and every kernel set makes
//! the same frames.

use proptest::prelude::*;
use sluice_codec::{Codec, CodecOptions, Decoder, Encoder, FrameHeader, HEADER_BYTES, Kernels, Level};
use sluice_testkit::{Table, Value, bench_table, incompressible, lineitem, unsafe_row};

fn options() -> Vec<CodecOptions> {
    let mut all = vec![CodecOptions { codec: Codec::None, level: Level::Plain }];
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::Snappy] {
        all.push(CodecOptions { codec, level: Level::Fast });
        all.push(CodecOptions { codec, level: Level::Small });
    }
    all
}

/// Encodes, decodes and compares; returns the encoded bytes.
fn round_trip(rows: &[&[u8]], fields: u32, options: CodecOptions) -> usize {
    let mut frames: Option<Vec<Vec<u8>>> = None;
    for k in Kernels::all() {
        let mut made = Vec::new();
        let done: Result<(), ()> = Encoder::with_kernels(options, k).encode(rows, fields, |frame| {
            made.push(frame.to_vec());
            Ok(())
        });
        assert!(done.is_ok());
        match &frames {
            None => frames = Some(made),
            Some(first) => assert_eq!(first, &made, "{} makes other bytes", k.name),
        }
    }
    let frames = frames.expect("there is a generic kernel set");
    for k in Kernels::all() {
        let mut decoder = Decoder::with_kernels(k);
        let mut next = 0;
        for frame in &frames {
            next += check_frame(&mut decoder, frame, &rows[next..]);
        }
        assert_eq!(next, rows.len());
    }
    frames.iter().map(Vec::len).sum()
}

fn check_frame(decoder: &mut Decoder, frame: &[u8], expected: &[&[u8]]) -> usize {
    let header = FrameHeader::parse(frame).expect("own header");
    let mut target = vec![0xEE; header.decoded_bytes as usize];
    let mut lengths = vec![0; header.records as usize];
    let n = decoder.decode(frame, &mut target, &mut lengths).expect("own frame");
    let mut at = 0;
    for (len, row) in lengths.iter().zip(expected) {
        assert_eq!(&target[at..at + *len as usize], *row);
        at += *len as usize;
    }
    assert_eq!(at, target.len());
    n
}

fn table_rows(table: &Table) -> Vec<&[u8]> {
    (0..table.rows()).map(|i| table.row(i)).collect()
}

#[test]
fn bench_tables_round_trip_and_shrink() {
    let cases = [(bench_table(20_000), 0.26), (lineitem(20_000), 0.26), (incompressible(5_000), 0.88)];
    for (table, most) in &cases {
        for o in options() {
            let bytes = round_trip(&table_rows(table), table.fields, o);
            let ratio = bytes as f64 / table.bytes.len() as f64;
            assert!(o.level == Level::Plain || ratio < *most, "{} {o:?}: {ratio}", table.name);
        }
    }
}

#[test]
fn zero_fields_and_single_rows() {
    let empty = unsafe_row(&[]);
    let rows = vec![&empty[..]; 10_000];
    for o in options() {
        round_trip(&rows, 0, o);
        round_trip(&[&unsafe_row(&[Value::Null])], 1, o);
        round_trip(&[&unsafe_row(&[Value::Bytes(vec![7; 3_000_000])])], 1, o);
    }
}

#[test]
fn wide_decimals_are_predicted() {
    let rows: Vec<Vec<u8>> = (0..1000u64)
        .map(|i| {
            let wide = if i.is_multiple_of(5) { None } else { Some(vec![i as u8; 1 + (i % 12) as usize]) };
            unsafe_row(&[
                Value::Word(i),
                Value::Wide(wide),
                Value::Bytes(vec![1; (i % 20) as usize]),
                Value::Wide(Some(vec![2; 9])),
            ])
        })
        .collect();
    let refs: Vec<&[u8]> = rows.iter().map(|r| &r[..]).collect();
    let raw: usize = rows.iter().map(Vec::len).sum();
    let bytes = round_trip(&refs, 4, CodecOptions { codec: Codec::None, level: Level::Fast });
    assert!(bytes * 4 < raw, "{bytes} of {raw}: wide decimals must not hide the values after them");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let table = bench_table(40);
    let mut encoder = Encoder::new(CodecOptions { codec: Codec::Lz4, level: Level::Fast });
    let frame = encoder.encode_frame(&table_rows(&table), table.fields).to_vec();
    let (mut target, mut lengths) = (vec![0; table.bytes.len()], vec![0; 40]);
    for bit in 0..frame.len() * 8 {
        let mut bad = frame.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(Decoder::new().decode(&bad, &mut target, &mut lengths).is_err(), "bit {bit}");
    }
    for len in 0..frame.len() {
        assert!(Decoder::new().decode(&frame[..len], &mut target, &mut lengths).is_err(), "cut at {len}");
    }
    assert!(Decoder::new().decode(&frame, &mut target[1..], &mut lengths).is_err(), "target too small");
    assert!(Decoder::new().decode(&frame, &mut target, &mut lengths[1..]).is_err(), "too few places");
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (0u64..100).prop_map(Value::Word),
        any::<u64>().prop_map(Value::Word),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(Value::Bytes),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..=16)).prop_map(Value::Wide),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mixed_schemas(
        rows in (0usize..9).prop_flat_map(|f| prop::collection::vec(prop::collection::vec(value(), f..=f), 1..200)),
        which in 0usize..9,
    ) {
        let fields = rows[0].len() as u32;
        let bytes: Vec<Vec<u8>> = rows.iter().map(|r| unsafe_row(r)).collect();
        let refs: Vec<&[u8]> = bytes.iter().map(|b| &b[..]).collect();
        round_trip(&refs, fields, options()[which]);
    }

    #[test]
    fn regular_schemas(
        kinds in prop::collection::vec(0u8..5, 1..70), n in 1usize..700, seed: u64, which in 0usize..9,
    ) {
        let rows: Vec<Vec<u8>> = (0..n as u64).map(|i| {
            let row: Vec<Value> = kinds.iter().enumerate().map(|(f, kind)| {
                let h = sluice_testkit::xorshift(seed ^ i << 20 ^ f as u64);
                match kind {
                    0 => Value::Word(i * 7 + f as u64),
                    1 => Value::Word(h % 1000),
                    2 => Value::Bytes(h.to_string().into_bytes()[..(h % 12) as usize].to_vec()),
                    3 if h.is_multiple_of(4) => Value::Wide(None),
                    3 => Value::Wide(Some(h.to_le_bytes().to_vec())),
                    _ if h.is_multiple_of(3) => Value::Null,
                    _ => Value::Bytes(vec![b'x'; (h % 100) as usize]),
                }
            }).collect();
            unsafe_row(&row)
        }).collect();
        let refs: Vec<&[u8]> = rows.iter().map(|b| &b[..]).collect();
        round_trip(&refs, kinds.len() as u32, options()[which]);
    }

    #[test]
    fn damaged_rows(
        mut rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 1..60),
        fields in 0u32..6, which in 0usize..9,
    ) {
        // Bytes that are no rows at all, and rows with a corrupted slot or dirty padding.
        for (i, row) in rows.iter_mut().enumerate().filter(|(i, _)| i % 3 == 0) {
            let mut made = unsafe_row(&vec![Value::Bytes(vec![i as u8; i % 40]); fields as usize]);
            if let (Some(last), Some(b)) = (made.last_mut(), row.first()) { *last = *b; }
            *row = made;
        }
        let refs: Vec<&[u8]> = rows.iter().map(|b| &b[..]).collect();
        round_trip(&refs, fields, options()[which]);
    }

    #[test]
    fn any_payload_decodes_or_fails(
        payload in prop::collection::vec(any::<u8>(), 0..600),
        encoding in 0u8..2, records in 1u32..300, fields in 0u32..20, decoded in 0u32..5000,
    ) {
        let header = FrameHeader {
            path: 1, encoding, records, fields, decoded_bytes: decoded,
            encoded_bytes: payload.len() as u32, payload_crc: 0,
        };
        let (mut target, mut lengths) = (vec![0; 5000], vec![0; 300]);
        for k in Kernels::all() {
            let _ = Decoder::with_kernels(k).decode_payload(&header, &payload, &mut target, &mut lengths);
        }
    }

    #[test]
    fn mutated_payload_decodes_or_fails(
        seed: u64, changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..8),
    ) {
        let rows: Vec<Vec<u8>> = (0..60u64).map(|i| unsafe_row(&[
            Value::Word(i), Value::Bytes(vec![b'a'; (sluice_testkit::xorshift(seed ^ i) % 50) as usize]),
            Value::Wide(Some(vec![1; 5])), Value::Word(seed.wrapping_mul(i)),
        ])).collect();
        let refs: Vec<&[u8]> = rows.iter().map(|b| &b[..]).collect();
        let mut encoder = Encoder::new(CodecOptions { codec: Codec::Lz4, level: Level::Small });
        let mut frame = encoder.encode_frame(&refs, 4).to_vec();
        let header = FrameHeader::parse(&frame).expect("own header");
        let len = frame.len() - HEADER_BYTES;
        for (at, to) in changes { frame[HEADER_BYTES + at as usize % len] = to; }
        let (mut target, mut lengths) = (vec![0; header.decoded_bytes as usize], vec![0; 60]);
        let _ = Decoder::new().decode_payload(&header, &frame[HEADER_BYTES..], &mut target, &mut lengths);
    }
}
