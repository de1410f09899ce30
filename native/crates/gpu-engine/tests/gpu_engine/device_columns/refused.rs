//! What is declined or refused: the CPU does it, or says what is wrong.

use super::*;

/// What becomes of one column in one partition.
fn of_one(setting: &Setting, format: &str, rows: usize, buffers: Vec<Option<Vec<u8>>>) -> Result<usize, Declined> {
    let spec = batch_of(rows as i64, vec![column(rows, buffers)]);
    encode(setting, &spec, &schema_of(&[format]), None, 1, FAST).map(|made| made.frames().len())
}

#[test]
fn values_that_no_row_can_have_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let bad = Err(Declined::CheckFailed("a value that no row can have, or an offset"));
    let i64s = |values: &[i64]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let i32s = |values: &[i32]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let i128s = |values: &[i128]| bytes_of(&values.iter().map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    assert_eq!(of_one(&setting, "L", 2, vec![None, i64s(&[1, i64::MAX])]), Ok(1));
    assert_eq!(of_one(&setting, "L", 2, vec![None, i64s(&[1, -1])]), bad);
    assert_eq!(of_one(&setting, "tsn:", 2, vec![None, i64s(&[1000, -1000])]), Ok(1));
    assert_eq!(of_one(&setting, "tsn:", 2, vec![None, i64s(&[1000, 1001])]), bad);
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MIN / 1_000_000])]), Ok(1));
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MIN / 1_000_000 - 1])]), bad);
    assert_eq!(of_one(&setting, "tss:", 1, vec![None, i64s(&[i64::MAX / 1_000_000 + 1])]), bad);
    assert_eq!(of_one(&setting, "tdm", 1, vec![None, i64s(&[86_400_001])]), bad);
    assert_eq!(of_one(&setting, "tdm", 1, vec![None, i64s(&[86_400_000 << 32])]), bad);
    assert_eq!(of_one(&setting, "d:7,0", 2, vec![None, i128s(&[i64::MAX.into(), i64::MIN.into()])]), Ok(1));
    assert_eq!(of_one(&setting, "d:7,0", 1, vec![None, i128s(&[i128::from(i64::MAX) + 1])]), bad);
    let interval = |nanos: i64| Some([[0; 8], nanos.to_le_bytes()].concat());
    assert_eq!(of_one(&setting, "tin", 1, vec![None, interval(-5000)]), Ok(1));
    assert_eq!(of_one(&setting, "tin", 1, vec![None, interval(-5001)]), bad);
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[0, 0, 0]), None]), Ok(1));
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[0, 0, 5]), None]), bad);
    let text = Some(b"abcdef".to_vec());
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[1, 1, 6]), text.clone()]), Ok(1));
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[3, 1, 6]), text.clone()]), bad);
    assert_eq!(of_one(&setting, "u", 2, vec![None, i32s(&[-1, 1, 6]), text.clone()]), bad);
    assert_eq!(of_one(&setting, "U", 2, vec![None, i64s(&[0, i64::MIN, 6]), text]), bad);
    setting.finish();
}

#[test]
fn what_the_kernels_do_not_take_is_declined() {
    let Some(setting) = Setting::new() else { return };
    let long = |bytes: usize| {
        let offsets = [0u32, bytes as u32].map(u32::to_le_bytes).concat();
        of_one(&setting, "z", 1, vec![None, Some(offsets), Some(vec![7; bytes])])
    };
    assert_eq!(long((64 << 10) - 16), Ok(1));
    assert_eq!(long((64 << 10) - 15), Err(Declined::TooLarge("bytes of a row")));
    // An offset that is far away: its value is measured, not read.
    let far = [0u32, i32::MAX as u32].map(u32::to_le_bytes).concat();
    let declined = of_one(&setting, "z", 1, vec![None, Some(far), Some(vec![7; 8])]);
    assert_eq!(declined, Err(Declined::TooLarge("bytes of a row")));
    let words = |rows: u64| Some((0..rows).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let numbers = |columns: usize| batch_of(3, vec![column(3, vec![None, words(3)]); columns]);
    let wide = encode(&setting, &numbers(1100), &schema_of(&vec!["l"; 1100]), None, 1, FAST);
    assert_eq!(wide.map(drop), Err(Declined::TooLarge("fields of a row")));
    let partitions = Err(Declined::CheckFailed("the partitions of the rows"));
    let of = |ids: Option<&[u32]>, partitions| {
        encode(&setting, &numbers(1), &schema_of(&["l"]), ids, partitions, FAST).map(|made| made.frames().len())
    };
    assert_eq!(of(None, 2), partitions);
    assert_eq!(of(Some(&[0, 0, 0]), 0), partitions);
    assert_eq!(of(Some(&[0, 1, 4]), 5), Ok(3));
    assert_eq!(of(Some(&[0, 1, 5]), 5), Err(Declined::CheckFailed("a row's partition, or its place in a page")));
    // Long values are another codec's.
    let text = |codec, bytes: u32| {
        let offsets = [0, bytes].map(u32::to_le_bytes).concat();
        let spec = batch_of(1, vec![column(1, vec![None, Some(offsets), Some(vec![b'a'; bytes as usize])])]);
        let options = CodecOptions { codec, level: Level::Fast };
        encode(&setting, &spec, &schema_of(&["u"]), None, 1, options).map(|made| made.frames().len())
    };
    assert_eq!(text(Codec::Zstd, 90), Err(Declined::NeedsCodec));
    assert_eq!((text(Codec::Zstd, 20), text(Codec::Lz4, 90)), (Ok(1), Ok(1)));
    setting.finish();
}

/// A mask says which values are null, whatever the count of nulls is.
#[test]
fn the_mask_decides() {
    let Some(setting) = Setting::new() else { return };
    let words = Some((1..=40u64).flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    let rows: Vec<Vec<u8>> =
        (1..=40).map(|i| unsafe_row(&[if i <= 8 { Value::Null } else { Value::Word(i) }])).collect();
    for null_count in [0, -1, 8, 3] {
        let mut nulls = column(40, vec![Some(vec![0, 0xFF, 0xFF, 0xFF, 0xFF]), words.clone()]);
        nulls.null_count = null_count;
        let made = encode(&setting, &batch_of(40, vec![nulls]), &schema_of(&["l"]), None, 1, FAST).unwrap();
        check_frames(&setting, &made, &expected(&rows, &[0; 40], 1, 1, FAST), "with a mask");
    }
    setting.finish();
}

/// A null's word in a frame that others have made: columns have it where the CPU's have it.
#[test]
fn what_is_below_a_null_is_the_same_as_on_the_cpu() {
    let Some(setting) = Setting::new() else { return };
    let row = [1u64, 77].map(u64::to_le_bytes).concat();
    let block = row_frames(&vec![row; 40], 1, FAST).concat();
    for format in formats_for_device().iter().filter(|format| *format != "n") {
        let schema = schema_of(&[format]);
        check_decode(&setting, FramesIn::Host(&[&block]), &block, &schema, std::slice::from_ref(format));
    }
    setting.finish();
}

/// Numbers that say where a value would lie, if they were words of strings: the CPU's encoder lays the rows out.
#[test]
fn numbers_that_look_like_places_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let rows = 20;
    // Behind two words and the null bits; a string of 8 bytes follows.
    let looks = 24u64 << 32 | 8;
    let numbers = Some((0..rows).flat_map(|_| looks.to_le_bytes()).collect::<Vec<u8>>());
    let offsets = Some((0..=rows as u32).flat_map(|i| (8 * i).to_le_bytes()).collect::<Vec<u8>>());
    let text = Some(vec![b'x'; 8 * rows]);
    let spec = batch_of(rows as i64, vec![column(rows, vec![None, numbers]), column(rows, vec![None, offsets, text])]);
    let schema = schema_of(&["l", "u"]);
    assert_eq!(encode(&setting, &spec, &schema, None, 1, FAST).map(drop), Err(Declined::NeedsRows));
    // As plain frames there is nothing to take for anything.
    let made = encode(&setting, &spec, &schema, None, 1, PLAIN).unwrap();
    let row = unsafe_row(&[Value::Word(looks), Value::Bytes(vec![b'x'; 8])]);
    let expected = expected(&vec![row; rows], &vec![0; rows], 1, 2, PLAIN);
    check_frames(&setting, &made, &expected, "plain");
    // The frames of the rows are decoded all the same.
    let row = unsafe_row(&[Value::Word(looks), Value::Bytes(vec![b'x'; 8])]);
    let block = row_frames(&vec![row; rows], 2, FAST).concat();
    check_decode(&setting, FramesIn::Host(&[&block]), &block, &schema, &["l".to_owned(), "u".to_owned()]);
    drop(made);
    setting.finish();
}

fn no_value() -> Result<(), Declined> {
    Err(Declined::CheckFailed("a frame, or a value of its rows"))
}

#[test]
fn frames_that_are_none_of_the_schema_are_declined() {
    let Some(setting) = Setting::new() else { return };
    let frame = |row: &[Value], options| row_frames(&vec![unsafe_row(row); 50], row.len(), options).concat();
    for options in [FAST, PLAIN] {
        let number = frame(&[Value::Word(300)], options);
        assert_eq!(decode_of(&setting, &number, &["l"]), Ok(()));
        assert_eq!(decode_of(&setting, &number, &["S"]), Ok(()));
        assert_eq!(decode_of(&setting, &number, &["C"]), no_value());
        assert_eq!(decode_of(&setting, &number, &["tss:"]), no_value());
        // Its words are no places within rows.
        assert_eq!(decode_of(&setting, &frame(&[Value::Word(99 << 32 | 8)], options), &["u"]), no_value());
        let fields = Err(Declined::CheckFailed("rows of another number of fields"));
        assert_eq!(decode_of(&setting, &number, &["l", "l"]), fields);
        let text = |bytes: &[u8]| frame(&[Value::Bytes(bytes.to_vec())], options);
        for bytes in ["", "plain", "gr\u{fc}n", "\u{20ac}\u{10348}", "\u{d7ff}\u{e000}\u{10ffff}"] {
            assert_eq!(decode_of(&setting, &text(bytes.as_bytes()), &["u"]), Ok(()), "{bytes}");
        }
        let wrong: [&[u8]; 8] = [
            b"\x80",
            b"\xc1\x80",
            b"ab\xe2\x82",
            b"\xed\xa0\x80",
            b"\xe0\x80\x80",
            b"\xf4\x90\x80\x80",
            b"12345678\xff",
            b"\xf0\x82\x82\xac",
        ];
        for bytes in wrong {
            assert_eq!(decode_of(&setting, &text(bytes), &["U"]), no_value(), "{bytes:?}");
            assert_eq!(decode_of(&setting, &text(bytes), &["Z"]), Ok(()), "{bytes:?}");
        }
        assert_eq!(decode_of(&setting, &text(b"1234"), &["w:5"]), no_value());
        assert_eq!(decode_of(&setting, &text(b""), &["d:38,0"]), no_value());
        assert_eq!(decode_of(&setting, &text(&[1; 17]), &["d:38,0"]), no_value());
    }
    // A value that is said to lie among its row's words, which are nowhere: the CPU has rows to look at.
    for options in [FAST, PLAIN] {
        let row = [0u64, 8].map(u64::to_le_bytes).concat();
        let within = row_frames(&vec![row; 50], 1, options).concat();
        assert_eq!(decode_of(&setting, &within, &["z"]), no_value(), "{options:?}");
        let row = [0u64, 8 << 32 | 8].map(u64::to_le_bytes).concat();
        let within = row_frames(&vec![row; 50], 1, options).concat();
        for format in ["z", "w:8", "d:38,0"] {
            assert_eq!(decode_of(&setting, &within, &[format]), no_value(), "{options:?}, '{format}'");
        }
    }
    let long = row_frames(&[unsafe_row(&[Value::Bytes(vec![b'a'; 2 << 20])])], 1, PLAIN).concat();
    assert_eq!(decode_of(&setting, &long, &["z"]), Err(Declined::TooLarge("bytes of a frame's rows")));
    // Two values in the same bytes of a row.
    let row = [[0u64, 24 << 32 | 40, 24 << 32 | 40].map(u64::to_le_bytes).concat(), vec![65; 40]].concat();
    let shared = row_frames(&vec![row; 9], 2, PLAIN).concat();
    assert_eq!(decode_of(&setting, &shared, &["z", "z"]), Ok(()));
    let codec = row_frames(&vec![unsafe_row(&[Value::Bytes(vec![b'a'; 100])]); 9], 1, LZ4).concat();
    assert_eq!(decode_of(&setting, &codec, &["u"]), Err(Declined::NeedsCodec));
    setting.finish();
}

/// Whatever bytes a frame has: it is declined, or it is what the CPU makes of it.
#[test]
fn damaged_frames() {
    let Some(setting) = Setting::new() else { return };
    let formats: Vec<String> = ["l", "u", "d:38,10", "tin", "b"].into_iter().map(str::to_owned).collect();
    let mut random = Random::new(77);
    let made = batch_for_device(&mut random, &formats, 60);
    let schema = made.schema.read().unwrap();
    for options in [FAST, PLAIN] {
        let frame = row_frames(&made.rows, formats.len(), options).concat();
        let payload = &frame[sluice_codec::HEADER_BYTES..];
        let header = sluice_codec::FrameHeader::parse(&frame).unwrap();
        let mut declined = 0;
        for _ in 0..if long_tests() { 5000 } else { 150 } {
            let mut changed = payload.to_vec();
            let at = random.below(changed.len());
            changed[at] ^= 1 << random.below(8);
            let changed = crate::corrupt::frame_of(header, &changed);
            let mut decoder = ColumnDecoder::new();
            let frames = [&changed[..]];
            // SAFETY: frames of the host.
            let on =
                unsafe { decode_columns(&setting.kernels, &setting.stream, FramesIn::Host(&frames), &schema, long()) };
            match (on, decoder.decode(&schema, &changed, usize::MAX)) {
                (Err(Declined::CheckFailed(_) | Declined::NeedsCodec), _) => declined += 1,
                (Ok(on), Ok((of_cpu, _))) => {
                    let on = owned(on.array);
                    let got = read(on.array(), &formats, |address, bytes| download(&setting, address, bytes));
                    assert!(got == read(of_cpu.array(), &formats, of_host), "byte {at} is changed");
                }
                (on, of_cpu) => panic!("byte {at}: {:?}, the CPU says {:?}", on.map(drop), of_cpu.map(drop)),
            }
        }
        assert!(declined > 10, "{declined}");
    }
    setting.finish();
}

#[test]
fn arrays_that_contradict_themselves_are_refused() {
    let Some(setting) = Setting::new() else { return };
    let good = batch_of(2, vec![column(2, vec![None, Some(vec![0; 16])])]);
    let import = |spec: &ArraySpec, format: &str, change: &dyn Fn(&mut ArrowDeviceArray)| {
        let mut on = on_device(&setting, spec);
        change(&mut on.array);
        // SAFETY: just made; what it refers to is not followed to the device.
        let batch = unsafe { DeviceBatch::describe(&on.array, &schema_of(&[format])) };
        setting.stream.free(on.memory);
        drop(owned(on.array.array));
        batch.map(|batch| batch.rows()).map_err(|e| (e.kind, e.to_string()))
    };
    let is = |found: Result<usize, (ErrorKind, String)>, kind, text: &str| {
        assert!(found.as_ref().is_err_and(|(k, what)| *k == kind && what.contains(text)), "{found:?}");
    };
    let same = |_: &mut ArrowDeviceArray| {};
    assert_eq!(import(&good, "l", &same), Ok(2));
    is(import(&good, "l", &|a| a.device_type = 1), ErrorKind::Unsupported, "memory of kind 1");
    is(import(&good, "u", &same), ErrorKind::Invalid, "2 buffers");
    is(import(&good, "vu", &same), ErrorKind::Invalid, "buffers");
    let with = |change: &dyn Fn(&mut ArraySpec)| {
        let mut spec = good.clone();
        change(&mut spec);
        spec
    };
    is(import(&with(&|s| s.length = -1), "l", &same), ErrorKind::Invalid, "length is -1");
    is(import(&with(&|s| s.children[0].length = 1), "l", &same), ErrorKind::Invalid, "1 values");
    is(import(&with(&|s| s.children[0].null_count = 1), "l", &same), ErrorKind::Invalid, "no mask");
    is(import(&with(&|s| s.children[0].buffers[1] = None), "l", &same), ErrorKind::Invalid, "buffer 1 is null");
    is(import(&with(&|s| s.null_count = 1), "l", &same), ErrorKind::Unsupported, "rows can be null");
    is(import(&with(&|s| s.children.clear()), "l", &same), ErrorKind::Invalid, "0 columns");
    let misaligned = |a: &mut ArrowDeviceArray| {
        // SAFETY: there is one child with two buffers.
        unsafe {
            let address = (**a.array.children).buffers.add(1);
            *address = (*address).wrapping_byte_add(4);
        }
    };
    is(import(&good, "l", &misaligned), ErrorKind::Invalid, "not aligned");
    let masked = with(&|s| s.buffers[0] = Some(vec![0xFF]));
    assert_eq!(import(&masked, "l", &same), Ok(2), "a mask, and no row is null");
    is(
        import(&with(&|s| (s.buffers[0], s.null_count) = (Some(vec![0xFF]), -1)), "l", &same),
        ErrorKind::Unsupported,
        "",
    );
    let far = |a: &mut ArrowDeviceArray| {
        // SAFETY: there is one child.
        unsafe { (**a.array.children).offset = 1 << 55 }
    };
    is(import(&good, "w:2147483647", &far), ErrorKind::Invalid, "values of 2147483647 bytes");
    setting.finish();
}
