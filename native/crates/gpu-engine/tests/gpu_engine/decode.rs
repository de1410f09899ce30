//! Frames of the CPU, decoded by the GPU.

use sluice_codec::{Encoder, FrameHeader};
use sluice_gpu_engine::{Declined, decode};

use crate::setting::{Setting, long};
use crate::tables::{FAST, KINDS, Row, table};

/// The rows of frames, if the GPU decodes them.
pub fn decoded(setting: &Setting, frames: &[&[u8]]) -> Result<Vec<Vec<u8>>, Declined> {
    let headers: Vec<FrameHeader> = frames.iter().map(|frame| FrameHeader::parse(frame).unwrap()).collect();
    let mut target = vec![0xEE; headers.iter().map(|header| header.decoded_bytes as usize).sum()];
    let mut lengths = vec![0; headers.iter().map(|header| header.records as usize).sum()];
    decode(&setting.kernels, &setting.stream, frames, &mut target, &mut lengths, long())?;
    let mut rest = &target[..];
    let rows = lengths.iter().map(|length| {
        let (row, later) = rest.split_at(*length as usize);
        rest = later;
        row.to_vec()
    });
    Ok(rows.collect())
}

#[test]
fn frames_of_tables() {
    let Some(setting) = Setting::new() else { return };
    for seed in 0..25u64 {
        let kinds: Vec<u8> = (0..1 + seed % 14).map(|field| ((field * 5 + seed) % u64::from(KINDS)) as u8).collect();
        let rows = table(&kinds, 100 + seed * 60, 3, 0, seed);
        let frames = rows.frames_of_cpu(FAST);
        let mut sorted: Vec<&Row> = rows.rows.iter().collect();
        sorted.sort_by_key(|row| row.0);
        let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame.1[..]).collect();
        let back = decoded(&setting, &frames).unwrap();
        assert!(back.iter().eq(sorted.iter().map(|row| &row.1)), "seed {seed}");
    }
    setting.finish();
}

/// Longer than any that the encoder makes of a batch: frames may have 65,536 rows.
#[test]
fn a_frame_of_as_many_rows_as_there_can_be() {
    let Some(setting) = Setting::new() else { return };
    let rows = table(&[0, 4, 6, 2, 8], 65_536, 1, 0, 3).rows;
    let rows: Vec<&[u8]> = rows.iter().map(|row| &row.1[..]).collect();
    let mut encoder = Encoder::new(FAST);
    let frame = encoder.encode_frame(&rows, 5);
    let back = decoded(&setting, &[frame]).unwrap();
    assert!(back.iter().eq(rows.iter()));
    setting.finish();
}

/// A wait that fails leaves copies to come. They go to no memory of the caller, who may free it.
#[test]
fn after_a_wait_that_fails_nothing_is_written_to_the_callers_memory() {
    let rows = table(&[0, 6], 300, 1, 0, 3);
    let frames = rows.frames_of_cpu(FAST);
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame.1[..]).collect();
    let expected: Vec<u32> = rows.rows.iter().map(|row| row.1.len() as u32).collect();
    for nth in 1.. {
        let Some(setting) = Setting::simulated() else { return };
        setting.simulator().configure(&format!("fail=cuStreamQuery@{nth}:1"));
        let (mut target, mut lengths) = (vec![0xEE; expected.iter().sum::<u32>() as usize], vec![0; 300]);
        let decoded = decode(&setting.kernels, &setting.stream, &frames, &mut target, &mut lengths, long());
        let Err(why) = decoded else {
            assert!(nth > 3 && lengths == expected, "a wait asks at least once");
            return;
        };
        assert!(why.is_lost(), "question {nth}: {why}");
        // The simulator has a pattern where a copy will go.
        assert!(target.iter().all(|byte| *byte == 0xEE), "question {nth}");
        assert!(lengths == expected || lengths.iter().all(|length| *length == 0), "question {nth}");
    }
}
