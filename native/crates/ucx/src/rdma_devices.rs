//! The machine's RDMA devices that UCX may use, and their drivers.

use std::path::{Path, PathBuf};

/// The driver's name begins so: that of a sub-function is `mlx5_core.sf`.
const MLX5: &str = "mlx5_core";
/// Transports that use no RDMA device, and how the names of those of accelerators' memory begin.
const WITHOUT_DEVICE: [&str; 9] = ["tcp", "self", "sm", "shm", "mm", "posix", "sysv", "cma", "xpmem"];
const OF_ACCELERATORS: [&str; 4] = ["cuda", "rocm", "gdr_copy", "ze"];

/// Transports of RDMA devices, and how their longer names begin (`rc_verbs`, `dc_x`).
const OF_DEVICES: [&str; 4] = ["rc", "ud", "dc", "ib"];
/// UCX's module for them.
const IB_MODULE: &str = "libuct_ib.so";

/// Whether UCX may use an RDMA device that has another driver than mlx5, as far as `UCX_TLS` and `UCX_NET_DEVICES`
/// tell.
pub(crate) fn may_use_other_than_mlx5() -> bool {
    are_permitted() && has_other_than_mlx5(Path::new("/sys/class/infiniband"), set("UCX_NET_DEVICES").as_deref())
}

/// Whether `UCX_TLS` lets UCX use RDMA devices.
pub(crate) fn are_permitted() -> bool {
    set("UCX_TLS").as_deref().is_none_or(may_use_devices)
}

fn set(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// What is wrong when `UCX_TLS` names transports of RDMA devices and the UCX in this folder has no module for them. UCX
/// itself goes on with the others that are named, if any.
pub(crate) fn warning_of_missing_module(transports: &str, folder: &Path) -> Option<String> {
    if !names_devices(transports) || has_module(folder) {
        return None;
    }
    Some(format!(
        "sluice-ucx: UCX_TLS={transports} names transports of RDMA devices, and this UCX has no module for them \
         ({IB_MODULE} in {}): install a UCX with one, or name it by spark.sluice.ucx.library",
        modules(folder).display()
    ))
}

/// What UCX pins by itself for RDMA devices, before anything is read. An estimate: UCX 1.18 asked for buffers of 20 MiB
/// in one piece with one port of soft-RoCE, and a machine may have several. Where it may not, it tries again without
/// end, with a line on standard output each time.
const PINNED_BY_UCX: usize = 64 << 20;

/// Why UCX cannot be used with this value of `UCX_TLS` where so many bytes may be pinned; none if it can. Where
/// `UCX_TLS` excludes transports, even `^ib`, UCX 1.18 uses `ud` of the devices all the same, to connect.
pub(crate) fn too_little_to_pin(transports: Option<&str>, pinnable: Option<usize>) -> Option<String> {
    let pinnable = pinnable.filter(|bytes| *bytes < PINNED_BY_UCX)?;
    if !transports.is_none_or(may_use_devices) {
        return None;
    }
    Some(format!(
        "UCX may use RDMA devices here, for which it pins up to {} MiB itself, and this process may pin {} KiB \
         (`ulimit -l`): set memlock to unlimited for the executors' user, or UCX_TLS=tcp,sm,self to use none of the \
         devices",
        PINNED_BY_UCX >> 20,
        pinnable >> 10
    ))
}

/// Whether a UCX in this folder finds RDMA devices that this process may open.
pub(crate) fn are_usable(folder: &Path) -> bool {
    let files = std::fs::read_dir("/dev/infiniband").into_iter().flatten().flatten();
    let is_usable = |file: std::fs::DirEntry| {
        file.file_name().to_string_lossy().starts_with("uverbs")
            && std::fs::File::options().read(true).write(true).open(file.path()).is_ok()
    };
    has_module(folder) && files.into_iter().any(is_usable)
}

/// Whether this value of `UCX_TLS` lists a transport of RDMA devices.
fn names_devices(transports: &str) -> bool {
    let mut names = transports.split(',').map(|name| name.trim().trim_start_matches('\\'));
    let is_of_devices = |name: &str| OF_DEVICES.iter().any(|known| name.split([':', '_']).next() == Some(known));
    !transports.trim().starts_with('^') && names.any(is_of_devices)
}

/// Where the UCX in this folder has its modules.
fn modules(folder: &Path) -> PathBuf {
    std::env::var_os("UCX_MODULE_DIR").map_or_else(|| folder.join("ucx"), PathBuf::from)
}

fn has_module(folder: &Path) -> bool {
    let files = std::fs::read_dir(modules(folder)).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with(IB_MODULE))
}

/// Whether this value of `UCX_TLS` names a transport that may use an RDMA device, or says only what is excluded.
fn may_use_devices(transports: &str) -> bool {
    let uses =
        |name: &str| !WITHOUT_DEVICE.contains(&name) && !OF_ACCELERATORS.iter().any(|begin| name.starts_with(begin));
    transports.trim().starts_with('^')
        || transports.split(',').map(str::trim).any(|name| !name.is_empty() && uses(name))
}

/// Whether this value of `UCX_NET_DEVICES` lets UCX use a device: it names it, with or without a port, or has a
/// pattern, or does not list what may be used.
fn is_named(device: &str, devices: &str) -> bool {
    devices.trim().starts_with('^')
        || devices
            .split(',')
            .map(str::trim)
            .any(|name| name == "all" || name.contains(['[', '*', '?']) || name.split(':').next() == Some(device))
}

/// Whether one of the devices in this folder of sysfs that are named has another driver than mlx5. Devices without one
/// are the kernel's own (soft-RoCE).
fn has_other_than_mlx5(folder: &Path, named: Option<&str>) -> bool {
    let is_mlx5 = |device: &Path| {
        let driver = std::fs::read_link(device.join("device/driver"));
        driver.is_ok_and(|driver| driver.file_name().is_some_and(|name| name.to_string_lossy().starts_with(MLX5)))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let name = entry.file_name();
        named.is_none_or(|named| is_named(&name.to_string_lossy(), named)) && !is_mlx5(&entry.path())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_other_than_mlx5_are_told_by_their_drivers() {
        let folder = std::env::temp_dir().join(format!("sluice-devices-{}", std::process::id()));
        assert!(!has_other_than_mlx5(&folder, None), "no RDMA device");
        let device = |name: &str, driver: Option<&str>| {
            let device = folder.join(name).join("device");
            std::fs::create_dir_all(&device).expect("a folder");
            let link = |driver| std::os::unix::fs::symlink(Path::new("../drivers").join(driver), device.join("driver"));
            driver.map(link).transpose().expect("a link");
        };
        device("renamed0", Some("mlx5_core"));
        device("function0", Some("mlx5_core.sf"));
        assert!(!has_other_than_mlx5(&folder, None));
        device("mlx5_1", Some("bnxt_en"));
        assert!(has_other_than_mlx5(&folder, None));
        for (named, expected) in [
            ("renamed0:1", false),
            ("renamed0,function0:1,eth0", false),
            ("renamed0:1, mlx5_1:1", true),
            ("mlx5_1", true),
            ("all", true),
            ("mlx5_[0-3]", true),
            ("^renamed0", true),
        ] {
            assert_eq!(has_other_than_mlx5(&folder, Some(named)), expected, "{named}");
        }
        std::fs::remove_dir_all(folder.join("mlx5_1")).expect("removed");
        device("rxe0", None);
        assert!(has_other_than_mlx5(&folder, None));
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn transports_that_use_no_device_are_known() {
        for no in ["tcp", "tcp,self", " tcp , sm ", "posix,cma,tcp,cuda_copy", ""] {
            assert!(!may_use_devices(no), "{no}");
        }
        for yes in ["all", "rc,tcp", "tcp,ud_verbs", "ib", "rc_x", "^tcp", "^rc"] {
            assert!(may_use_devices(yes), "{yes}");
        }
    }

    #[test]
    fn rdma_transports_without_their_module_are_warned_of() {
        let folder = std::env::temp_dir().join(format!("sluice-modules-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("ucx")).expect("made");
        for asked in ["rc", "rc,tcp,self", "tcp,ud_verbs", "ib", "dc_x,self", "\\rc,tcp", "rc:aux,tcp"] {
            let warning = warning_of_missing_module(asked, &folder).expect(asked);
            assert!(
                warning.contains(&format!("UCX_TLS={asked} ")) && warning.contains("libuct_ib.so in "),
                "{warning}"
            );
        }
        for other in ["all", "tcp,self", "", "^rc", "shm", "cuda_ipc,tcp", "rcx"] {
            assert_eq!(warning_of_missing_module(other, &folder), None, "{other}");
        }
        std::fs::write(folder.join("ucx/libuct_ib.so.0"), "").expect("written");
        assert_eq!(warning_of_missing_module("rc,tcp,self", &folder), None);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn rdma_devices_need_memory_that_may_be_pinned() {
        for enough in [None, Some(64 << 20), Some(usize::MAX)] {
            assert_eq!(too_little_to_pin(Some("rc"), enough), None, "{enough:?}");
        }
        for transports in [None, Some("rc"), Some("tcp,ud_verbs,self"), Some("ib"), Some("all"), Some("^ib")] {
            let why = too_little_to_pin(transports, Some(65_536)).expect("too little");
            assert!(why.contains("may pin 64 KiB (`ulimit -l`)"), "{why}");
        }
        for without in ["tcp,sm,self", "sm", ""] {
            assert_eq!(too_little_to_pin(Some(without), Some(0)), None, "{without}");
        }
    }
}
