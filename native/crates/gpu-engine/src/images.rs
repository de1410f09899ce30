//! Which of the files of `tools/gpu-kernels` a device runs.

use std::io;
use std::path::Path;

/// The code for a device of this compute capability, from a folder with cubins (`sm_90.cubin`) and PTX
/// (`compute_75.ptx`); none if no file is for it. A cubin is for devices of its major version, from its minor version
/// on; PTX for all later ones, whose driver compiles it.
///
/// # Errors
/// The folder or the file cannot be read.
pub fn image_for(folder: &Path, capability: (u32, u32)) -> io::Result<Option<Vec<u8>>> {
    let mut best: Option<(bool, u32, String)> = None;
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let cubin = name.strip_prefix("sm_").and_then(|rest| rest.strip_suffix(".cubin"));
        let ptx = name.strip_prefix("compute_").and_then(|rest| rest.strip_suffix(".ptx"));
        // 90 is 9.0, 120 is 12.0.
        let Some(number) = cubin.or(ptx).and_then(|number| number.parse::<u32>().ok()) else { continue };
        let fits = number <= capability.0 * 10 + capability.1 && (cubin.is_none() || number / 10 == capability.0);
        let candidate = (cubin.is_some(), number, name);
        if fits && best.as_ref().is_none_or(|best| *best < candidate) {
            best = Some(candidate);
        }
    }
    best.map(|(_, _, name)| std::fs::read(folder.join(name))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cubin_of_the_same_generation_comes_before_ptx() {
        let folder = std::env::temp_dir().join(format!("sluice-gpu-images-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        for name in ["sm_75.cubin", "sm_80.cubin", "sm_86.cubin", "sm_90.cubin", "sm_120.cubin", "compute_75.ptx"] {
            std::fs::write(folder.join(name), name).expect("written");
        }
        std::fs::write(folder.join("kernels.txt"), "NVRTC").expect("written");
        let image = |major, minor| {
            let found = image_for(&folder, (major, minor)).expect("read");
            found.map(|bytes| String::from_utf8(bytes).expect("a name"))
        };
        for (capability, expected) in [
            ((7, 5), "sm_75.cubin"),
            ((8, 0), "sm_80.cubin"),
            ((8, 9), "sm_86.cubin"),
            ((9, 0), "sm_90.cubin"),
            ((10, 0), "compute_75.ptx"),
            ((12, 1), "sm_120.cubin"),
            ((13, 0), "compute_75.ptx"),
        ] {
            assert_eq!(image(capability.0, capability.1).as_deref(), Some(expected), "{capability:?}");
        }
        assert_eq!(image(7, 0), None);
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(image_for(&folder, (9, 0)).is_err());
    }
}
