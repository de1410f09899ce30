//! The kernels' results do not depend on the order in which threads and blocks run.

use crate::corrupt::frame_of;
use crate::decode::decoded;
use crate::setting::{MODULE, ORDERS, Order, Setting, compile, long};
use crate::tables::{FAST, table};
use sluice_codec::{FrameHeader, HEADER_BYTES};
use sluice_gpu_engine::{Declined, sort_pairs};
use sluice_testkit::xorshift;
use std::path::PathBuf;
use std::process::Command;

/// A frame whose payload ends anywhere before its end fails a check, in all threads.
fn cut_off(setting: &Setting, frame: &[u8], step: usize) {
    let (header, payload) = (FrameHeader::parse(frame).unwrap(), &frame[HEADER_BYTES..]);
    for end in (0..payload.len()).step_by(step) {
        let cut = frame_of(header, &payload[..end]);
        assert!(matches!(decoded(setting, &[&cut]), Err(Declined::CheckFailed(_))), "cut at {end}");
    }
}

/// A bit of everything; panics when something differs from the CPU's.
pub fn work(setting: &Setting) {
    let rows = table(&[0, 1, 2, 3, 4, 6, 7, 8, 10, 11], 700, 5, 1, 9);
    let frames = rows.check(setting, FAST);
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame.1[..]).collect();
    let rows = decoded(setting, &frames).unwrap();
    assert_eq!(rows.len(), 700);
    let cpu = table(&[0, 1, 2, 3, 4, 6, 7, 8, 10, 11], 700, 5, 1, 9);
    let mut sorted = cpu.rows.clone();
    sorted.sort_by_key(|row| row.0);
    assert!(rows.iter().eq(sorted.iter().map(|row| &row.1)));
    // Tails, and plain frames.
    let mut odd = table(&[1, 1, 4], 300, 2, 0, 4);
    odd.rows.iter_mut().enumerate().for_each(|(i, row)| row.1.extend(vec![i as u8; i % 11]));
    let frames = odd.check(setting, FAST);
    let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame.1[..]).collect();
    assert!(decoded(setting, &frames).unwrap().iter().map(Vec::len).sum::<usize>() > 0);
    cut_off(setting, frames[0], 397);
    // Few rows, so that all places are few: tails, bytes behind the words, a dictionary.
    let mut small = table(&[1], 5, 1, 0, 4);
    small.rows.iter_mut().enumerate().for_each(|(i, row)| row.1.extend(vec![i as u8; i]));
    cut_off(setting, &small.frames_of_cpu(FAST)[0].1, 1);
    cut_off(setting, &table(&[8], 3, 1, 0, 4).frames_of_cpu(FAST)[0].1, 7);
    cut_off(setting, &table(&[4], 64, 1, 0, 4).frames_of_cpu(FAST)[0].1, 5);
    table(&[2], 1, 1, 0, 1).check(setting, FAST);
    crate::lz4::work(setting);
    crate::device_columns::work(setting);
    let mut pairs: Vec<[u64; 2]> = (0..6000).map(|i| [xorshift(i) % 300, i]).collect();
    let mut expected = pairs.clone();
    expected.sort_by_key(|pair| pair[0]);
    sort_pairs(&setting.kernels, &setting.stream, &mut pairs, long()).unwrap();
    assert!(pairs == expected);
}

/// On a GPU where tests run on one: what `tools/gpu-run` has compute-sanitizer look at.
#[test]
fn on_this_machine() {
    let Some(setting) = Setting::new() else { return };
    work(&setting);
    setting.finish();
}

#[test]
fn in_every_order() {
    let Some(setting) = Setting::simulated() else { return };
    for order in ORDERS.into_iter().chain((0..10).map(|seed| Order::Random(seed * 77 + 3))) {
        setting.set_order(order);
        work(&setting);
    }
    setting.finish();
}

/// Long ones, which `./sluice test` leaves to `--all`.
mod in_all {
    use super::*;

    #[test]
    fn without_undefined_behaviour() {
        let flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
        let Some(module) = compile("undefined", &flags) else { return };
        let setting = Setting::with_module(&module, 1 << 30);
        work(&setting);
        setting.finish();
    }

    /// The same for AddressSanitizer, whose library has to be in the process from its start: this test's own program
    /// with the kernels that it has changed. Memory of the device is the simulator's, so that this is about shared
    /// memory and stacks.
    #[test]
    fn without_memory_errors() {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let Ok(named) = Command::new(compiler).arg("-print-file-name=libasan.so").output() else { return };
        let library = PathBuf::from(String::from_utf8(named.stdout).unwrap().trim());
        let Some(module) = library.is_absolute().then(|| compile("address", &["-g", "-fsanitize=address"])).flatten()
        else {
            eprintln!("skipped: the C++ compiler has no AddressSanitizer's library");
            return;
        };
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["orders::on_this_machine", "--exact"])
            .env(MODULE, module)
            .env("LD_PRELOAD", library)
            .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0:handle_segv=0")
            .env_remove("SLUICE_TEST_GPU")
            .output()
            .unwrap();
        let said = [ran.stdout, ran.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    }
}
