//! A batch to a run by an accelerator, all of it or nothing.

use std::sync::Arc;

use sluice_codec::{FrameHeader, HEADER_BYTES, SealsDigest};
use sluice_mem::Arena;

use crate::accelerator::{Accelerator, AcceleratorBatch, AcceleratorFrame, Declined, NotTaken};
use crate::encode::{Batch, EncodeSettings, Encoded, FrameSealing, Portion};
use crate::error::EngineError;
use crate::row_checksums::BatchHashes;
use crate::run::{Chunks, Place, Run, RunIndex};
use crate::sort::SORT_ROWS;

impl EncodeSettings<'_> {
    /// A batch as an accelerator knows it.
    pub(crate) fn for_accelerator<'p, 'a>(&self, batch: Batch<'p, 'a>) -> AcceleratorBatch<'p, 'a> {
        let Self { partitions, options, hash_rows, .. } = *self;
        let Batch { fields, pages } = batch;
        AcceleratorBatch { fields, partitions, pages, options, hash_rows }
    }
}

impl Portion {
    /// Whether these are all rows of a batch, which the CPU would sort at once too: its frames end where what it sorts
    /// at a time ends.
    pub(crate) fn is_whole(&self, settings: &EncodeSettings<'_>, batch: Batch<'_, '_>) -> bool {
        let asked_for = self.place.row == 0 && self.until >= settings.partitions && self.sort_rows == SORT_ROWS;
        asked_for && (1..=SORT_ROWS).contains(&batch.rows())
    }
}

/// Has a whole batch encoded. It takes no more memory of the arena than the CPU's encoder would for the run.
///
/// # Errors
/// The accelerator declines, its frames are not all rows of the batch in the order of partitions, or the arena has no
/// room for them.
pub(crate) fn encode_accelerated(
    accelerator: &dyn Accelerator,
    arena: &Arc<Arena>,
    settings: EncodeSettings<'_>,
    batch: Batch<'_, '_>,
    place: Place,
) -> Result<Encoded, Declined> {
    let fields = batch.fields;
    let EncodeSettings { partitions, hash_rows, sealer, .. } = settings;
    let with_rows = batch.rows().min(partitions as usize);
    let mut made = AcceleratedRun {
        arena,
        fields,
        partitions,
        sealing: sealer.map(|sealer| FrameSealing { sealer, seals: SealsDigest::default() }),
        chunks: Chunks::new(batch.row_bytes()),
        index: RunIndex::for_partitions(with_rows),
        hashes: hash_rows.then(|| BatchHashes::for_partitions(with_rows)),
        partition: 0,
        bytes: 0,
        rows: 0,
        sealed: Vec::new(),
    };
    accelerator.encode(&settings.for_accelerator(batch), &mut |frame| made.take(&frame))?;
    if made.rows != batch.rows() {
        return Err(Declined::new("frames without some of the batch's rows"));
    }
    Ok(made.finish(place))
}

/// The frames that came so far.
struct AcceleratedRun<'r> {
    arena: &'r Arc<Arena>,
    fields: u32,
    partitions: u32,
    /// None when frames are not sealed.
    sealing: Option<FrameSealing<'r>>,
    chunks: Chunks,
    index: RunIndex,
    /// None if they were not asked for.
    hashes: Option<BatchHashes>,
    /// Of the last frame.
    partition: u32,
    bytes: u64,
    rows: usize,
    /// The frame that is being sealed.
    sealed: Vec<u8>,
}

impl AcceleratedRun<'_> {
    fn take(&mut self, frame: &AcceleratorFrame<'_>) -> Result<(), NotTaken> {
        self.check(frame).map_err(NotTaken::Wrong)?;
        let bytes = self.append(frame).map_err(|_| NotTaken::NoRoom)?;
        self.bytes += bytes as u64;
        self.rows += frame.rows as usize;
        self.partition = frame.partition;
        self.index.extend(frame.partition, self.bytes);
        if let Some(hashes) = &mut self.hashes {
            hashes.add(frame.partition, frame.row_hashes);
        }
        Ok(())
    }

    /// Looks at the order, at the header and at the payload's checksum: what came damaged would be sealed as it is.
    /// That the checksum was made of the right bytes is the accelerator's promise.
    fn check(&self, frame: &AcceleratorFrame<'_>) -> Result<(), &'static str> {
        if frame.partition < self.partition || frame.partition >= self.partitions {
            return Err("frames in another order than that of partitions");
        }
        let header = FrameHeader::parse(frame.bytes).map_err(|_| "a frame without a header")?;
        let bytes = HEADER_BYTES + header.encoded_bytes as usize;
        if header.records != frame.rows || header.fields != self.fields || bytes != frame.bytes.len() {
            return Err("a frame whose header is another's");
        }
        let payload = header.check_payload(&frame.bytes[HEADER_BYTES..]);
        payload.map_err(|_| "a frame whose payload is damaged")
    }

    /// Its length in the run.
    fn append(&mut self, frame: &AcceleratorFrame<'_>) -> Result<usize, EngineError> {
        let Some(sealing) = &mut self.sealing else {
            self.chunks.append(self.arena, frame.bytes)?;
            return Ok(frame.bytes.len());
        };
        self.sealed.clear();
        self.sealed.extend_from_slice(frame.bytes);
        let seal = sealing.sealer.seal(frame.partition, &mut self.sealed);
        let seal = seal.map_err(|e| EngineError::invalid(e.to_string()))?;
        self.chunks.append(self.arena, &self.sealed)?;
        sealing.seals.add(&seal);
        Ok(self.sealed.len())
    }

    fn finish(self, place: Place) -> Encoded {
        let seals = self.sealing.map(|sealing| sealing.seals.finish());
        Encoded {
            run: Run::new(place, self.index, self.chunks, seals),
            hashes: self.hashes.unwrap_or_default(),
            rows: self.rows,
            refused: None,
            frames_repeated: 0,
        }
    }
}
