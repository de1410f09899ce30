//! Recording the pages that map outputs are made of, so that tests and measurements have what Spark has made.
//!
//! Off unless the environment variable `SLUICE_PAGE_TRACE` names a folder. Each of the first batches of a process, if
//! it is not too long, becomes a file `PROCESS-NUMBER.pages`, all numbers little-endian:
//!
//! ```text
//! "SLPAGES1" · fields u32 · partitions u32 · pages u32 · for each page: bytes of rows u32 · rows u32 ·
//! the rows · an entry of 8 bytes a row, last row first: its offset u32, its partition u32
//! ```

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use sluice_engine::Page;

const VARIABLE: &str = "SLUICE_PAGE_TRACE";
const HEAD: &[u8; 8] = b"SLPAGES1";
const ENTRY_BYTES: usize = 8;
/// Files of a process, and bytes of each, at most.
const MOST_FILES: u32 = 256;
const MOST_BYTES: usize = 1 << 20;

/// Records a batch, if batches are recorded. A file that cannot be written is left out: what is encoded matters more.
pub(crate) fn record(fields: u32, partitions: u32, pages: &[Page<'_>]) {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    static FILES: AtomicU32 = AtomicU32::new(0);
    let folder = FOLDER.get_or_init(|| std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from));
    let Some(folder) = folder else { return };
    let Ok(bytes) = file_of(fields, partitions, pages) else { return };
    let number = FILES.fetch_add(1, Relaxed);
    if number < MOST_FILES {
        let _ = std::fs::write(folder.join(format!("{}-{number}.pages", std::process::id())), bytes);
    }
}

/// What a file has.
///
/// # Errors
/// The batch is too long, or a page is not as it says.
fn file_of(fields: u32, partitions: u32, pages: &[Page<'_>]) -> io::Result<Vec<u8>> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidInput);
    let mut file = HEAD.to_vec();
    [fields, partitions, pages.len() as u32].iter().for_each(|number| file.extend(number.to_le_bytes()));
    for page in pages {
        let entries = page.entries.checked_mul(ENTRY_BYTES).ok_or_else(wrong)?;
        let from = page.memory.len().checked_sub(entries).filter(|from| *from >= page.used).ok_or_else(wrong)?;
        if file.len() + page.used + entries > MOST_BYTES {
            return Err(wrong());
        }
        [page.used as u32, page.entries as u32].iter().for_each(|number| file.extend(number.to_le_bytes()));
        file.extend_from_slice(&page.memory[..page.used]);
        file.extend_from_slice(&page.memory[from..]);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_rows_and_entries_without_what_lies_between() {
        let memory: Vec<u8> = (0..40).collect();
        let page = Page { memory: &memory, used: 10, entries: 2 };
        let file = file_of(3, 4, &[page]).expect("recorded");
        let numbers = [3u32, 4, 1, 10, 2].map(u32::to_le_bytes).concat();
        assert_eq!(file, [&HEAD[..], &numbers, &memory[..10], &memory[24..]].concat());
        assert!(file_of(3, 4, &[Page { used: 30, ..page }]).is_err(), "more than the page has");
        let long = vec![0; MOST_BYTES];
        assert!(file_of(3, 4, &[Page { memory: &long, used: MOST_BYTES, entries: 0 }]).is_err(), "too long");
    }
}
