//! Whether an image of a module has all the bytes that its headers promise: the driver takes an address without a
//! length, and reads as far as they say.

/// The ELF file of a cubin: 64 bits, little endian.
const ELF: &[u8] = b"\x7fELF";
const ELF_HEADER_BYTES: usize = 64;
const SECTION_HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
/// A section without bytes in the file.
const NOBITS: u64 = 8;
/// Several cubins: magic number, 2 bytes of version, 2 of the header's length, 8 of the rest's.
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
/// What `nvcc` puts into programs around a fatbin: it has an address in it.
const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();

/// Why the driver must not read it, or nothing. What is neither of these kinds is text, which ends with a 0.
pub(crate) fn defect(image: &[u8]) -> Option<&'static str> {
    if image.starts_with(ELF) {
        let whole = image[4..].starts_with(&[2, 1]) && elf_is_whole(image).is_some();
        return (!whole).then_some("the cubin is cut off, or no 64-bit one");
    }
    if image.starts_with(&FATBIN) {
        let bytes = number(image, 6, 2).zip(number(image, 8, 8)).and_then(|(header, rest)| header.checked_add(rest));
        return bytes.is_none_or(|bytes| bytes > image.len() as u64).then_some("the fatbin is cut off");
    }
    image.starts_with(&WRAPPER).then_some("it is an address of a fatbin (fatbinWrapper), not one")
}

/// A number of `bytes` bytes.
fn number(image: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let found = image.get(at..at.checked_add(bytes)?)?;
    Some(found.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn elf_is_whole(image: &[u8]) -> Option<()> {
    image.get(..ELF_HEADER_BYTES)?;
    let inside = |from: u64, bytes: u64| (from.checked_add(bytes)? <= image.len() as u64).then_some(());
    let entry = |table: u64, index: u64, bytes: usize| {
        let at = table.checked_add(index.checked_mul(bytes as u64)?)?;
        inside(at, bytes as u64)?;
        usize::try_from(at).ok()
    };
    let (programs, sections) = (number(image, 32, 8)?, number(image, 40, 8)?);
    let (program_bytes, program_count) = (number(image, 54, 2)?, number(image, 56, 2)?);
    let (section_bytes, section_count) = (number(image, 58, 2)?, number(image, 60, 2)?);
    let sizes = (program_count == 0 || program_bytes == PROGRAM_HEADER_BYTES as u64)
        && (section_count == 0 || section_bytes == SECTION_HEADER_BYTES as u64);
    sizes.then_some(())?;
    for index in 0..program_count {
        let at = entry(programs, index, PROGRAM_HEADER_BYTES)?;
        inside(number(image, at + 8, 8)?, number(image, at + 32, 8)?)?;
    }
    for index in 0..section_count {
        let at = entry(sections, index, SECTION_HEADER_BYTES)?;
        if number(image, at + 4, 4)? != NOBITS {
            inside(number(image, at + 24, 8)?, number(image, at + 32, 8)?)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubin_that_is_cut_off_anywhere_is_refused() {
        // A shared object has all that a cubin has; its table of sections is last.
        let this = std::fs::read(std::env::current_exe().expect("this program")).expect("read");
        assert_eq!(defect(&this), None);
        for bytes in [4, 5, 63, 64, 1000, this.len() / 2, this.len() - 1] {
            assert!(defect(&this[..bytes]).is_some(), "{bytes} of {}", this.len());
        }
        let mut other = this[..ELF_HEADER_BYTES].to_vec();
        other[40..48].fill(0xff);
        assert!(defect(&other).is_some(), "a table beyond all addresses");
        other[4] = 1;
        assert!(defect(&other).is_some(), "32 bits");
    }

    #[test]
    fn a_fatbin_that_is_cut_off_is_refused() {
        let mut fatbin = [&FATBIN[..], &[1, 0, 16, 0, 32, 0, 0, 0, 0, 0, 0, 0], &[0; 32]].concat();
        assert_eq!(defect(&fatbin), None);
        for bytes in [4, 8, 16, 47] {
            assert!(defect(&fatbin[..bytes]).is_some(), "{bytes}");
        }
        fatbin[8..16].fill(0xff);
        assert!(defect(&fatbin).is_some(), "a length beyond all addresses");
        assert!(defect(&WRAPPER).is_some());
        assert_eq!((defect(b".version 7.5\n"), defect(b"")), (None, None));
    }
}
