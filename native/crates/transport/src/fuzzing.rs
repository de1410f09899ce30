//! For the fuzz targets (`native/fuzz`): entries to the code that reads bytes of peers and of Spark's index files,
//! which other crates do not see. No part of the library's interface.

use std::path::Path;

use crate::catalog::{Catalog, Extent};
use crate::message::{Block, Message};

/// Decodes a message and encodes it again; `None` if it is malformed.
pub fn reencode_message(bytes: &[u8]) -> Option<Vec<u8>> {
    Message::decode(bytes).ok().map(|message| message.encode())
}

/// Publishes a map output with these offsets and `index` as Spark's index file, and says where blocks (first partition,
/// end) lie in its data file: from which byte to before which; `None` for a block that cannot be shown. With
/// `kept` the offsets stay in memory, without it they are read from the index file.
///
/// # Errors
/// The publication is refused.
pub fn block_extents(
    index: &Path,
    offsets: Vec<u64>,
    kept: bool,
    blocks: &[(u32, u32)],
) -> Result<Vec<Option<(u64, u64)>>, String> {
    let catalog = Catalog::keeping(if kept { usize::MAX } else { 0 });
    catalog.publish(0, 0, "data".into(), Some(index.to_owned()), offsets)?;
    let output = catalog.find(0, 0).ok_or("a publication that is not found")?;
    let extent = |&(first, end): &(u32, u32)| {
        let block = Block { shuffle: 0, map: 0, first, end };
        match output.extent(&block) {
            Extent::Known(extent) => extent,
            Extent::InFile => output.extent_in_file(&block),
        }
    };
    Ok(blocks.iter().map(extent).collect())
}
