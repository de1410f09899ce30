//! What it costs to tell a reduce task where its blocks are: `cargo bench -p sluice-transport --bench locations`. One
//! owner with so many map outputs, and one reader that asks for one partition after the other and reads nothing: time
//! is the processor's, in the owner's thread.

use std::time::Duration;

use sluice_testkit::memory::{HeapCountingAllocator, heap_bytes};
use sluice_transport::TransportOptions;
use sluice_transport::questioned::Questioned;

#[global_allocator]
static ALLOCATOR: HeapCountingAllocator = HeapCountingAllocator;

const PARTITIONS: u32 = 10_000;
const PARTITION_BYTES: usize = 100;
/// Partitions that are asked for and not measured, and those that are.
const WARM: u32 = 1_000;
const MEASURED: u32 = 4_000;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = std::path::PathBuf::from(folder.unwrap_or_else(|| "/dev/shm".into()))
        .join(format!("sluice-locations-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    println!(
        "{PARTITIONS} partitions of {PARTITION_BYTES} bytes. Per reduce task and owner: messages both ways, bytes; per \
         block: bytes, the owner's processor.\n"
    );
    println!("| maps of the owner | messages | asked, bytes | told, bytes | bytes a block | us a block | heap a map |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for maps in [1, 10, 50, 200, 1_000] {
        measure(maps, &folder);
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

fn measure(maps: u64, folder: &std::path::Path) {
    let mut owner = Questioned::new(&TransportOptions::default()).expect("good options");
    let before = heap_bytes();
    for map in 0..maps {
        let file = folder.join(map.to_string());
        owner.publish(map, &file, PARTITIONS, PARTITION_BYTES).expect("room for the outputs");
    }
    let heap = heap_bytes().saturating_sub(before) as u64 / maps;
    for partition in 0..WARM {
        owner.ask(maps, partition);
        owner.answer();
    }
    let warm = owner.traffic();
    let mut took = Duration::ZERO;
    for partition in WARM..WARM + MEASURED {
        owner.ask(maps, partition);
        let start = processor_time();
        owner.answer();
        took += processor_time() - start;
        // What the reader has received does not pile up.
        owner.traffic();
    }
    let all = owner.traffic();
    let blocks = u64::from(MEASURED) * maps;
    assert_eq!(all.found - warm.found, blocks, "every block is found");
    let (asked, told) = (all.asked_bytes - warm.asked_bytes, all.told_bytes - warm.told_bytes);
    let of_a_task = |number: u64| number as f64 / f64::from(MEASURED);
    println!(
        "| {maps} | {:.1} | {:.0} | {:.0} | {:.0} | {:.2} | {heap} |",
        of_a_task(all.messages - warm.messages),
        of_a_task(asked),
        of_a_task(told),
        (asked + told) as f64 / blocks as f64,
        took.as_secs_f64() * 1e6 / blocks as f64
    );
}

/// That of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
