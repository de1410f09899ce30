//! Copies of map outputs that the GPU has encoded: on the device they are, byte for byte, what the commit has written.

use std::path::PathBuf;
use std::sync::Arc;

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_cuda::Waited;
use sluice_engine::{Accelerator, ChecksumAlgorithm, MapOutputWriter};
use sluice_gpu_engine::{CopyKey, GpuAccelerator, HostCopy, HostOutput, Located, Miss, NotKept, Tier};
use sluice_mem::Arena;

use crate::accelerator::{Pages, always, sealing};
use crate::setting::{Setting, long};
use crate::tables::{FAST, Rows, table};

/// Rows of several kinds of fields in 7 partitions.
fn mixed(seed: u64, rows: u64) -> Rows {
    table(&[0, 1, 2, 3, 4], rows, 7, 0, seed)
}

/// What a commit has written.
struct Committed {
    path: PathBuf,
    lengths: Vec<i64>,
    bytes: Vec<u8>,
}

impl Drop for Committed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Commits a map output of these batches, of which every second one is encoded by the CPU.
fn commit(gpu: &Arc<GpuAccelerator>, batches: &[Rows], options: CodecOptions, sealed: bool, name: &str) -> Committed {
    let arena = Arena::host(64 << 20);
    let mut writer = MapOutputWriter::new(arena, batches[0].partitions, options).unwrap();
    if sealed {
        writer = writer.with_sealing(sealing());
    }
    writer.accelerate(Arc::clone(gpu) as Arc<dyn Accelerator>);
    for (nth, batch) in batches.iter().enumerate() {
        let pages = Pages::of(batch);
        if nth % 2 == 0 {
            writer.encode_accelerated(nth as i64, pages.fields(), &pages.pages()).unwrap();
        } else {
            writer.encode(nth as i64, pages.fields(), &pages.pages()).unwrap();
        }
    }
    let path = std::env::temp_dir().join(format!("sluice-gpu-copies-{name}-{}", std::process::id()));
    let done = writer.commit(&path, ChecksumAlgorithm::None).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    Committed { path, lengths: done.lengths, bytes }
}

fn output<'o>(committed: &'o Committed, key: CopyKey, sealed: bool) -> HostOutput<'o> {
    HostOutput { key, file: &committed.path, lengths: &committed.lengths, host: HostCopy::Memory, sealed }
}

const LZ4: CodecOptions = CodecOptions { codec: Codec::Lz4, level: Level::Fast };

#[test]
fn outputs_of_several_runs_are_kept_as_they_were_committed() {
    let Some(setting) = Setting::with_copies(64 << 20) else { return };
    let gpu = setting.accelerator_with_copies(&always());
    let batches: Vec<Rows> = [(1, 900), (2, 700), (3, 1200)].map(|(seed, rows)| mixed(seed, rows)).into();
    for (map, (options, sealed)) in [(FAST, false), (LZ4, false), (LZ4, true)].into_iter().enumerate() {
        let before = gpu.counts().encoded_batches;
        let committed = commit(&gpu, &batches, options, sealed, &format!("runs{map}"));
        assert_eq!(gpu.counts().encoded_batches - before, 2, "otherwise this is about no GPU");
        let key = CopyKey { shuffle: 1, map: map as u64 };
        gpu.keep(&output(&committed, key, sealed)).unwrap();
        let mut start = 0;
        for (partition, length) in (0..).zip(&committed.lengths) {
            let mut found = vec![0; *length as usize];
            gpu.read_copy(key, partition..partition + 1, &mut found).unwrap();
            assert!(found == committed.bytes[start..start + found.len()], "partition {partition}");
            start += found.len();
        }
        let mut all = vec![0; committed.bytes.len()];
        gpu.read_copy(key, 0..batches[0].partitions, &mut all).unwrap();
        assert!(all == committed.bytes);
    }
    let counts = gpu.copy_counts();
    assert_eq!((counts.kept, counts.copies, counts.misses, counts.damaged), (3, 3, 0, 0));
    assert_eq!(gpu.copies().unwrap().forget_shuffle(1), 3);
    assert!(matches!(
        gpu.copies().unwrap().locate(CopyKey { shuffle: 1, map: 0 }, 0..1, Tier::Device),
        Located::Host(Miss::Absent)
    ));
    assert_eq!(gpu.copy_counts().bytes, 0);
    let words = gpu.lacks_cache(100 << 20).unwrap();
    assert!(words.contains("64 MiB and not 100"), "a limit of more than the memory is lowered: {words}");
    assert_eq!(gpu.lacks_cache(64 << 20), None);
    drop(gpu);
    setting.finish();
}

/// The arena has room for one encode and little more, so that each one drops what the tier has.
#[test]
fn encodes_come_before_copies() {
    let Some(setting) = Setting::with_copies(64 << 20) else { return };
    let gpu = setting.accelerator_with_copies(&always());
    let batch = [mixed(1, 900)];
    let committed = commit(&gpu, &batch, FAST, false, "pressure");
    assert_eq!(setting.arena.settle(long()).unwrap(), Waited::Done);
    // The rest of the memory, in ever smaller pieces.
    let sparse = std::env::temp_dir().join(format!("sluice-gpu-copies-sparse-{}", std::process::id()));
    let file = std::fs::File::create(&sparse).unwrap();
    let (mut map, mut length) = (0, 4i64 << 20);
    while length >= 64 << 10 {
        file.set_len(length as u64).unwrap();
        let key = CopyKey { shuffle: 2, map };
        let (lengths, host) = (&[length][..], HostCopy::Memory);
        map += 1;
        let full = gpu.copy_counts().bytes + length as u64 > gpu.copies().unwrap().limit();
        if full || gpu.keep(&HostOutput { key, file: &sparse, lengths, host, sealed: true }).is_err() {
            length /= 2;
        }
    }
    let before = gpu.copy_counts();
    assert!(before.bytes > 50 << 20 && before.evictions == 0, "{before:?}");
    let again = commit(&gpu, &batch, FAST, false, "pressure-again");
    assert!(again.bytes == committed.bytes);
    let counts = gpu.counts();
    assert_eq!((counts.no_memory, counts.encoded_batches), (0, 2), "the GPU has encoded all");
    assert!(gpu.copy_counts().pressure_drops > 0, "{:?}", gpu.copy_counts());
    std::fs::remove_file(&sparse).unwrap();
    gpu.copies().unwrap().forget_shuffle(2);
    buffers_are_shared_with_encodes(&gpu, &committed);
    drop(gpu);
    setting.finish();
}

/// Who finds no buffer goes to the host's copy, or is not kept.
fn buffers_are_shared_with_encodes(gpu: &GpuAccelerator, committed: &Committed) {
    let key = CopyKey { shuffle: 1, map: 1 };
    gpu.keep(&output(committed, key, false)).unwrap();
    let before = gpu.copy_counts();
    let pages = Pages::of(&mixed(2, 900));
    let batch = sluice_engine::AcceleratorBatch {
        fields: pages.fields(),
        partitions: 7,
        pages: &pages.pages(),
        options: FAST,
        hash_rows: false,
    };
    let mut asked = false;
    gpu.encode(&batch, &mut |_| {
        if !std::mem::replace(&mut asked, true) {
            // The only buffer is this encode's.
            let mut found = vec![0; committed.bytes.len()];
            assert_eq!(gpu.read_copy(key, 0..7, &mut found), Err(Miss::Busy));
            assert_eq!(gpu.keep(&output(committed, CopyKey { shuffle: 1, map: 2 }, false)), Err(NotKept::Busy));
        }
        Ok(())
    })
    .unwrap();
    assert!(asked);
    let counts = gpu.copy_counts();
    assert_eq!((counts.refused_busy, counts.misses - before.misses, counts.copies), (1, 1, 1));
    let mut found = vec![0; committed.bytes.len()];
    gpu.read_copy(key, 0..7, &mut found).unwrap();
    assert!(found == committed.bytes);
}
