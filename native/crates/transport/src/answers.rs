//! LOCATE questions that are being answered. Each block of a question is looked up separately; the answer is sent when
//! all of its blocks are decided.
//!
//! ```text
//!   block ─► where in the file? ─► which regions? ─► all mapped? ─► all in memory? ─► found
//!              │ (index file: disk)   │ (limits)        │ (disk)        │ (disk)
//!              └─► not found          └─► busy          └─► not found   └─► not found
//! ```
//!
//! Answers to one reader go out in the order of its questions. A question whose disk jobs have not ended after a while
//! is answered without them: the blocks concerned are answered as busy, and the reader fetches them by Netty.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use crate::message::{Block, Body, Found, InstanceId, Key, LocatedBytes, Missing};
use crate::regions::{MappedRegions, Piece, RegionNumber};

/// A question's number in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct QuestionNumber(pub(crate) u64);

/// A block of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockOf {
    pub(crate) question: QuestionNumber,
    pub(crate) index: usize,
}

/// How far a block has come.
#[derive(Debug)]
enum Progress {
    /// Its index file is being read.
    Sought,
    /// So many of its pieces are not known to be in memory.
    Prepared {
        pieces: Vec<Piece>,
        waiting: usize,
    },
    Ready(Vec<Piece>),
    Missing(Missing),
}

/// Blocks that were not found or are busy, and the regions that were pinned for them.
pub(crate) struct Missed {
    pub(crate) blocks: u64,
    pub(crate) pins: Vec<RegionNumber>,
}

/// A LOCATE that was not answered yet.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) reader: InstanceId,
    pub(crate) batch: u64,
    blocks: Vec<(Block, Progress)>,
    /// Blocks that are not decided.
    undecided: usize,
    /// Bytes that are read from disks for it.
    pub(crate) populated_bytes: usize,
    pub(crate) since: Instant,
}

impl Question {
    pub(crate) fn new(reader: InstanceId, batch: u64, blocks: &[Block], since: Instant) -> Self {
        let undecided = blocks.len();
        let blocks = blocks.iter().map(|block| (*block, Progress::Sought)).collect();
        Self { reader, batch, blocks, undecided, populated_bytes: 0, since }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.blocks.iter().map(|(block, _)| *block)
    }

    pub(crate) fn is_decided(&self) -> bool {
        self.undecided == 0
    }

    pub(crate) fn is_block_decided(&self, index: usize) -> bool {
        matches!(self.blocks[index].1, Progress::Ready(_) | Progress::Missing(_))
    }

    /// The block's regions are pinned for it; `waiting` of its pieces are to be mapped or read.
    pub(crate) fn prepare(&mut self, index: usize, pieces: Vec<Piece>, waiting: usize) {
        self.blocks[index].1 = if waiting == 0 {
            self.undecided -= 1;
            Progress::Ready(pieces)
        } else {
            Progress::Prepared { pieces, waiting }
        };
    }

    /// One more piece of the block is in memory; whether that was waited for.
    pub(crate) fn piece_ready(&mut self, index: usize) -> bool {
        let Progress::Prepared { pieces, waiting } = &mut self.blocks[index].1 else { return false };
        *waiting -= 1;
        if *waiting == 0 {
            let pieces = std::mem::take(pieces);
            self.undecided -= 1;
            self.blocks[index].1 = Progress::Ready(pieces);
        }
        true
    }

    /// The block is not shown; the regions that were pinned for it. `None` when it is decided already.
    pub(crate) fn miss(&mut self, index: usize, why: Missing) -> Option<Vec<RegionNumber>> {
        let progress = &mut self.blocks[index].1;
        let pieces = match progress {
            Progress::Sought => Vec::new(),
            Progress::Prepared { pieces, .. } => std::mem::take(pieces),
            Progress::Ready(_) | Progress::Missing(_) => return None,
        };
        *progress = Progress::Missing(why);
        self.undecided -= 1;
        Some(pieces.into_iter().map(|piece| piece.region).collect())
    }

    /// No block that is not decided is shown.
    pub(crate) fn miss_undecided(&mut self, why: Missing) -> Missed {
        let missed = (0..self.blocks.len()).filter_map(|index| self.miss(index, why));
        let mut all = Missed { blocks: 0, pins: Vec::new() };
        for mut pins in missed {
            all.blocks += 1;
            all.pins.append(&mut pins);
        }
        all
    }

    /// What a block that is not decided needs of a region: a block has at most one piece in each.
    pub(crate) fn part_in(&self, index: usize, region: RegionNumber) -> Option<Range<usize>> {
        let Progress::Prepared { pieces, .. } = &self.blocks[index].1 else { return None };
        pieces.iter().find(|piece| piece.region == region).map(|piece| piece.part.clone())
    }

    /// All that is pinned for it.
    pub(crate) fn pins(&self) -> Vec<RegionNumber> {
        let pieces = self.blocks.iter().flat_map(|(_, progress)| match progress {
            Progress::Prepared { pieces, .. } | Progress::Ready(pieces) => &pieces[..],
            Progress::Sought | Progress::Missing(_) => &[],
        });
        pieces.map(|piece| piece.region).collect()
    }

    /// The answer, once all blocks are decided.
    pub(crate) fn answer(&self, regions: &MappedRegions) -> Body {
        let mut keys = Keys { left: LocatedBytes::of_blocks(self.blocks.len()), ..Keys::default() };
        let found = self.blocks.iter().map(|(_, progress)| keys.found(progress, regions)).collect();
        Body::Located { batch: self.batch, keys: keys.keys, found }
    }
}

/// The keys of an answer: each once. What does not fit into a message is busy.
#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    indexes: HashMap<RegionNumber, u16>,
    left: LocatedBytes,
}

impl Keys {
    fn found(&mut self, progress: &Progress, regions: &MappedRegions) -> Found {
        match progress {
            Progress::Ready(pieces) => pieces.iter().map(|piece| self.range(piece, regions)).collect(),
            Progress::Missing(why) => Err(*why),
            Progress::Sought | Progress::Prepared { .. } => Err(Missing::Busy),
        }
    }

    fn range(&mut self, piece: &Piece, regions: &MappedRegions) -> Result<crate::message::Range, Missing> {
        let (region, bytes, address) = regions.shown(piece.region).ok_or(Missing::NotFound)?;
        if !self.left.take_range() {
            return Err(Missing::Busy);
        }
        let key = match self.indexes.get(&piece.region) {
            Some(key) => *key,
            None if !self.left.take_key(bytes.len()) => return Err(Missing::Busy),
            None => {
                // Keys have numbers of 16 bits in the answer.
                let key = u16::try_from(self.keys.len()).map_err(|_| Missing::Busy)?;
                self.keys.push(Key { region: region.0, bytes: bytes.to_vec() });
                self.indexes.insert(piece.region, key);
                key
            }
        };
        let (address, bytes) = (address + piece.part.start as u64, piece.part.len() as u64);
        Ok(crate::message::Range { key, address, bytes })
    }
}
