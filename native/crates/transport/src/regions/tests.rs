use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use std::time::Duration;

use super::*;
use crate::catalog::Catalog;
use crate::filesystems::REGISTRATION_RETRY;
use crate::mapping::UNMAPPED;
use crate::registration_trial::try_directories;
use crate::wire::{Endpoint, Event, Get, Opened, Waker};

const MIB: usize = 1 << 20;
const SMALL: usize = SMALL_REGION_BYTES as usize;

/// A wire that can register so many bytes at once.
struct Registry {
    room: usize,
    registered: HashMap<Region, usize>,
    next: u64,
    /// Calls of `register`.
    attempts: usize,
    /// As kernels since 6.5 do for writing: no pages of files of a disk are pinned, only a process's own.
    refuses_shared: bool,
    /// Nothing of any file, as an error of a filesystem has it.
    refuses_files: bool,
    /// So many calls fail, whatever they are to register.
    refuses_next: usize,
}

impl Registry {
    fn with_room(room: usize) -> Self {
        let (registered, next, attempts, refuses_shared, refuses_files, refuses_next) = Default::default();
        Self { room, registered, next, attempts, refuses_shared, refuses_files, refuses_next }
    }
}

impl Wire for Registry {
    fn address(&self) -> &[u8] {
        &[]
    }

    fn open(&mut self, _: &[u8]) -> Result<Opened, WireError> {
        Err(WireError("never".into()))
    }

    fn close(&mut self, _: Endpoint) {}

    fn send(&mut self, _: Endpoint, _: Vec<u8>) {}

    unsafe fn register(&mut self, address: usize, bytes: usize, _: MemoryKind) -> Result<(Region, Vec<u8>), WireError> {
        self.attempts += 1;
        if self.refuses_next > 0 {
            self.refuses_next -= 1;
            return Err(WireError("input or output error".into()));
        }
        let is_shared = || mapping_at(address).split(' ').nth(1) != Some("rw-p");
        let is_files = || mapping_at(address).contains('/');
        if self.refuses_shared && is_shared() || self.refuses_files && is_files() {
            return Err(WireError("bad address".into()));
        }
        if self.registered.values().sum::<usize>() + bytes > self.room {
            return Err(WireError("out of memory".into()));
        }
        self.next += 1;
        self.registered.insert(Region(self.next), bytes);
        Ok((Region(self.next), vec![]))
    }

    fn unregister(&mut self, region: Region) {
        assert!(self.registered.remove(&region).is_some(), "registered once");
    }

    unsafe fn get(&mut self, _: Endpoint, _: Get<'_>) {}

    fn progress(&mut self, _: &mut Vec<Event>) {}

    fn wait(&mut self, _: Duration) {}

    fn waker(&self) -> Arc<dyn Waker> {
        unreachable!("no test waits")
    }
}

/// How the memory at an address is mapped, as `/proc/self/maps` shows it.
fn mapping_at(address: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("readable");
    let number = |text: &str| usize::from_str_radix(text, 16).expect("a number");
    let is_there = |line: &&str| {
        let (start, rest) = line.split_once('-').expect("a range");
        let end = rest.split(' ').next().expect("its end");
        (number(start)..number(end)).contains(&address)
    };
    maps.lines().find(is_there).expect("it is mapped").to_string()
}

/// A call of the agent's thread, which unmaps nothing.
fn unmapping_nothing<R>(call: impl FnOnce() -> R) -> R {
    let before = UNMAPPED.get();
    let result = call();
    assert_eq!(UNMAPPED.get(), before, "other threads unmap");
    result
}

/// Regions of files that are mapped when they are to be.
struct Files {
    wire: Registry,
    regions: MappedRegions,
    catalog: Catalog,
    folder: PathBuf,
    now: Instant,
}

impl Files {
    fn new(room: usize, limits: RegionLimits) -> Self {
        Self::registering(room, limits, false)
    }

    fn registering(room: usize, limits: RegionLimits, pins: bool) -> Self {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sluice-regions-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (wire, regions) = (Registry::with_room(room), MappedRegions::new(limits, pins));
        Self { wire, regions, catalog: Catalog::default(), folder, now: Instant::now() }
    }

    fn publish(&self, map: u64, bytes: usize) -> Arc<PublishedOutput> {
        let path = self.folder.join(map.to_string());
        std::fs::File::create(&path).expect("created").set_len(bytes as u64).expect("sparse");
        self.catalog.publish(1, map, path, None, vec![0, bytes as u64]).expect("good");
        self.catalog.find(1, map).expect("there")
    }

    /// Pins bytes of an output, and maps what is not mapped; the pieces that can be read then.
    fn pin(&mut self, output: &PublishedOutput, from: usize, bytes: usize) -> Option<Vec<Piece>> {
        let (mut to_map, extent) = (Vec::new(), (from as u64, (from + bytes) as u64));
        let (wire, regions, now) = (&mut self.wire, &mut self.regions, self.now);
        let pinned = unmapping_nothing(|| regions.pin(wire, output, extent, &mut to_map, now));
        self.unmap();
        let pieces = pinned.ok()?;
        let mut is_there = true;
        for ToMap { region, part, reservation, evicted } in to_map {
            drop(evicted);
            // A job that began before its filesystem was refused maps the file all the same.
            let verdict = |filesystem| match self.regions.filesystems().verdict(filesystem, self.now) {
                Verdict::Refused => Verdict::Chosen(Way::ReadOnly),
                verdict => verdict,
            };
            let mapping = Mapping::of(&output.path, output.bytes(), part, verdict, reservation);
            let mapping = mapping.expect("mapped");
            let (wire, regions, now) = (&mut self.wire, &mut self.regions, self.now);
            is_there &= unmapping_nothing(|| regions.opened(wire, region, mapping, now).is_ok());
        }
        self.unmap();
        if is_there {
            return Some(pieces);
        }
        self.unpin(pieces);
        None
    }

    /// As the disk's threads do.
    fn unmap(&mut self) {
        drop(self.regions.take_discarded());
    }

    /// Pins and unpins.
    fn touch(&mut self, output: &PublishedOutput, from: usize, bytes: usize) -> bool {
        let Some(pieces) = self.pin(output, from, bytes) else { return false };
        self.unpin(pieces);
        true
    }

    fn unpin(&mut self, pieces: Vec<Piece>) {
        let (wire, regions) = (&mut self.wire, &mut self.regions);
        unmapping_nothing(|| pieces.into_iter().for_each(|piece| regions.unpin(wire, piece.region)));
        self.unmap();
    }

    fn mapped(&self) -> (usize, usize) {
        (self.regions.budget().regions(), self.regions.budget().bytes())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.regions.clear(&mut self.wire);
        assert!(self.wire.registered.is_empty(), "nothing stays registered");
        assert_eq!(self.mapped(), (0, 0), "nothing stays mapped");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn limits(max_bytes: usize, max_regions: usize, idle_bytes: usize) -> RegionLimits {
    RegionLimits { max_bytes, max_regions, idle_bytes }
}

#[test]
fn the_first_small_block_of_a_chunk_maps_little_and_the_second_place_all_of_it() {
    let mut files = Files::new(usize::MAX, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 9 * MIB);
    assert!(files.touch(&output, 10, 1000));
    assert_eq!(files.mapped(), (1, SMALL));
    assert!(files.touch(&output, SMALL - 5, 5), "beside it");
    assert_eq!(files.mapped(), (1, SMALL));
    assert!(files.touch(&output, 4 * MIB + SMALL, SMALL), "the first of the next chunk");
    assert_eq!(files.mapped(), (2, 2 * SMALL));
    assert!(files.touch(&output, MIB, 1000), "another place of the first chunk");
    assert_eq!(files.mapped(), (3, 4 * MIB + 2 * SMALL));
    assert!(files.touch(&output, 2 * MIB, 2 * MIB) && files.touch(&output, 10, 1000));
    assert_eq!(files.mapped(), (3, 4 * MIB + 2 * SMALL), "it is there already");
    assert!(files.touch(&output, 8 * MIB - 1, 2), "over the edge of two chunks");
    assert_eq!(files.mapped().0, 5, "all of the second chunk, and a small one of the third");
    let pieces = files.pin(&output, 8 * MIB - 1, 2).expect("there");
    assert_eq!(pieces.iter().map(|piece| piece.part.clone()).collect::<Vec<_>>(), [4 * MIB - 1..4 * MIB, 0..1]);
    files.unpin(pieces);
}

#[test]
fn a_large_block_is_mapped_in_whole_chunks_at_once() {
    let mut files = Files::new(usize::MAX, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 9 * MIB);
    assert!(files.touch(&output, 100, SMALL));
    assert_eq!(files.mapped(), (1, 4 * MIB), "it crosses a small region's edge");
    assert!(files.touch(&output, 0, 9 * MIB));
    assert_eq!(files.mapped(), (3, 9 * MIB));
}

#[test]
fn pinned_regions_count_and_idle_ones_make_room() {
    let mut files = Files::new(usize::MAX, limits(12 * MIB, 100, 12 * MIB));
    let outputs: Vec<_> = (0..4).map(|map| files.publish(map, 4 * MIB)).collect();
    let held = files.pin(&outputs[0], 0, 4 * MIB).expect("room");
    assert!(files.touch(&outputs[1], 0, 4 * MIB) && files.touch(&outputs[2], 0, 4 * MIB));
    assert!(files.touch(&outputs[3], 0, 4 * MIB), "the one used longest ago makes room");
    assert_eq!((files.mapped(), files.regions.budget().peak_bytes()), ((3, 12 * MIB), 12 * MIB));
    let attempts = files.wire.attempts;
    assert!(files.touch(&outputs[2], 0, 4 * MIB) && files.touch(&outputs[3], 0, 4 * MIB));
    assert_eq!(files.wire.attempts, attempts, "those used last are there");
    let others = [2, 3].map(|map| files.pin(&outputs[map], 0, 4 * MIB).expect("there"));
    assert!(files.pin(&outputs[1], 0, 4 * MIB).is_none(), "all are being read");
    assert!(files.pin(&outputs[1], 0, 10).is_none(), "and even a small one is too much");
    others.into_iter().for_each(|pieces| files.unpin(pieces));
    files.unpin(held);
    assert_eq!(files.regions.pins(), 0);
}

#[test]
fn a_block_larger_than_the_limit_evicts_no_region() {
    let mut files = Files::new(usize::MAX, limits(8 * MIB, 100, 8 * MIB));
    let [kept, large, held] = [1, 2, 3].map(|map| files.publish(map, 16 * MIB));
    let pinned = files.pin(&held, 0, 4 * MIB).expect("room");
    assert!(files.touch(&kept, 0, 10));
    assert!(files.pin(&large, 0, 16 * MIB).is_none());
    files.unpin(pinned);
    assert_eq!(files.regions.pins(), 0, "nothing of what was begun stays pinned");
    assert!(files.touch(&kept, MIB, 10), "the chunk does not fit, a small region does");
    let idle = files.regions.idle();
    assert!(idle.0 > 0 && files.pin(&large, 0, 9 * MIB).is_none());
    assert_eq!(files.regions.idle(), idle, "a block that can never fit drives nothing out");
}

#[test]
fn the_number_of_mappings_is_bounded_too() {
    let mut files = Files::new(usize::MAX, limits(64 * MIB, 4, 64 * MIB));
    let outputs: Vec<_> = (0..10).map(|map| files.publish(map, 4 * MIB)).collect();
    let held: Vec<_> = outputs.iter().filter_map(|output| files.pin(output, 0, 10)).collect();
    assert_eq!((held.len(), files.mapped().0), (4, 4));
    held.into_iter().for_each(|pieces| files.unpin(pieces));
    assert_eq!(files.mapped().0, 2, "half of them stay");
}

#[test]
fn unread_regions_go_back_to_what_may_be_idle() {
    let mut files = Files::new(usize::MAX, limits(64 * MIB, 100, 8 * MIB));
    let output = files.publish(1, 40 * MIB);
    let pieces = files.pin(&output, 0, 40 * MIB).expect("room");
    assert_eq!(files.mapped().1, 40 * MIB);
    files.unpin(pieces);
    assert_eq!((files.mapped().1, files.regions.idle()), (8 * MIB, (2, 8 * MIB)));
}

#[test]
fn a_failed_registration_drives_out_just_enough() {
    let mut files = Files::new(5 * 4 * MIB, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 40 * MIB);
    for chunk in 0..5 {
        assert!(files.touch(&output, chunk * 4 * MIB, 4 * MIB));
    }
    assert!(files.touch(&output, 20 * MIB, 4 * MIB), "one goes, and then there is room");
    assert_eq!((files.wire.registered.len(), files.regions.filesystems().failures()), (5, 0));
    assert_eq!(files.wire.attempts, 7);
    assert!(files.touch(&output, 4 * MIB, 4 * MIB), "the others are there still");
    assert_eq!(files.wire.attempts, 7);
}

/// A filesystem whose files cannot be registered at all costs one region, and not all of them time after time.
#[test]
fn a_filesystem_whose_files_cannot_be_registered_is_left_alone_for_a_while() {
    let mut files = Files::new(8 * MIB, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 40 * MIB);
    assert!(files.touch(&output, 0, 4 * MIB) && files.touch(&output, 4 * MIB, 4 * MIB));
    files.wire.room = 0;
    let attempts = files.wire.attempts;
    assert!(!files.touch(&output, 8 * MIB, 4 * MIB));
    assert_eq!(files.wire.attempts, attempts + 4, "twice, as much memory, and a page");
    assert_eq!((files.regions.idle().0, files.regions.filesystems().failures()), (1, 1));
    assert_eq!(files.regions.filesystems().refused(files.now), 1, "it is not mapped in vain");
    for _ in 0..10 {
        assert!(!files.touch(&output, 8 * MIB, 4 * MIB));
    }
    assert_eq!((files.wire.attempts, files.regions.idle().0), (attempts + 4, 1), "and not tried");
    assert_eq!(files.regions.pins(), 0);
    assert!(files.touch(&output, 4 * MIB, 4 * MIB), "what is registered is read on");
    files.wire.room = 64 * MIB;
    files.now += REGISTRATION_RETRY;
    assert_eq!(files.regions.filesystems().refused(files.now), 0);
    assert!(files.touch(&output, 8 * MIB, 4 * MIB), "and it is tried again");
}

#[test]
fn a_region_that_is_withdrawn_while_it_is_read_goes_with_its_last_reader() {
    let mut files = Files::new(usize::MAX, limits(64 * MIB, 100, 64 * MIB));
    let [output, other] = [1, 2].map(|map| files.publish(map, 4 * MIB));
    let pieces = files.pin(&output, 0, 4 * MIB).expect("room");
    assert!(files.touch(&other, 0, 10));
    files.regions.withdraw(&mut files.wire, &output);
    files.regions.withdraw(&mut files.wire, &other);
    assert_eq!(files.mapped(), (2, 4 * MIB + SMALL), "counted until it is unmapped");
    assert_eq!(files.wire.registered.len(), 1, "the other is not registered any more");
    assert_eq!(files.regions.in_use(), (1, 4 * MIB));
    files.unmap();
    assert_eq!(files.mapped(), (1, 4 * MIB));
    pieces.into_iter().for_each(|piece| files.regions.unpin(&mut files.wire, piece.region));
    let discarded = files.regions.take_discarded();
    assert_eq!((discarded.mappings.len(), files.wire.registered.len()), (1, 0));
    files.regions.keep_discarded(discarded);
    assert_eq!(files.mapped(), (1, 4 * MIB));
    files.regions.clear(&mut files.wire);
    assert_eq!(files.mapped(), (0, 0));
}

/// A limit of pinned memory is reached: smaller parts are registered on, larger ones are tried when there may be room.
#[test]
fn a_registration_that_is_too_large_is_no_reason_to_leave_its_filesystem_alone() {
    let mut files = Files::new(6 * MIB, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 40 * MIB);
    let read = files.pin(&output, 0, 4 * MIB).expect("room");
    assert!(!files.touch(&output, 4 * MIB, 4 * MIB), "the device has no room, and nothing is idle");
    assert_eq!((files.wire.attempts, files.regions.filesystems().failures()), (4, 1), "and memory, and a page");
    assert_eq!(files.regions.filesystems().refused(files.now), 0);
    let (mut to_map, now) = (Vec::new(), files.now);
    let extent = (8 * MIB as u64, 12 * MIB as u64);
    assert!(files.regions.pin(&mut files.wire, &output, extent, &mut to_map, now).is_err() && to_map.is_empty());
    assert_eq!((files.wire.attempts, files.mapped()), (4, (1, 4 * MIB)), "neither mapped nor tried in vain");
    assert!(files.touch(&output, 12 * MIB, 10), "a small one is");
    assert_eq!((files.wire.attempts, files.wire.registered.len()), (5, 2));
    files.unpin(read);
    assert!(files.touch(&output, 8 * MIB, 4 * MIB), "idle ones make room");
    assert_eq!(files.wire.registered.values().sum::<usize>(), 4 * MIB);
}

/// As much of the process's own memory can be registered: the error is the file's or its filesystem's.
#[test]
fn an_error_of_a_filesystem_is_no_shortage_of_the_process() {
    let mut files = Files::registering(64 * MIB, limits(64 * MIB, 100, 64 * MIB), true);
    let output = files.publish(1, 40 * MIB);
    files.wire.refuses_files = true;
    assert!(!files.touch(&output, 0, 4 * MIB));
    assert_eq!((files.regions.filesystems().refused(files.now), files.regions.filesystems().failures()), (1, 1));
    assert!(!files.regions.shortage.refuses(4 * MIB, 0, files.now), "files of others are mapped on");
    files.wire.refuses_files = false;
    files.now += REGISTRATION_RETRY;
    assert!(files.touch(&output, 0, 4 * MIB));
}

/// What is pinned by others than this process's regions is not had by giving up regions one after the other.
#[test]
fn idle_regions_are_kept_where_giving_up_as_many_did_not_help() {
    let mut files = Files::new(16 * MIB, limits(64 * MIB, 100, 64 * MIB));
    let output = files.publish(1, 80 * MIB);
    (0..4).for_each(|chunk| assert!(files.touch(&output, chunk * 4 * MIB, 4 * MIB)));
    files.wire.room = 12 * MIB + SMALL;
    for chunk in 4..14 {
        assert!(!files.touch(&output, chunk * 4 * MIB, 4 * MIB), "another has taken the room");
    }
    assert_eq!((files.regions.idle(), files.regions.filesystems().failures()), ((3, 12 * MIB), 1));
    assert!(files.touch(&output, 15 * 4 * MIB, 10), "a small one");
    files.regions.withdraw(&mut files.wire, &output);
    files.unmap();
    let other = files.publish(2, 4 * MIB);
    assert!(files.touch(&other, 0, 4 * MIB), "as many bytes were unregistered");
}

/// An error that goes by, of the first registration or of all that are tried, says nothing about the filesystem.
#[test]
fn an_error_that_goes_by_is_no_reason_to_copy() {
    for (errors, attempts) in [(1, 3), (4, 5)] {
        let mut files = Files::registering(usize::MAX, limits(64 * MIB, 100, 64 * MIB), true);
        let output = files.publish(1, 8 * MIB);
        files.wire.refuses_next = errors;
        if errors == 4 {
            assert!(!files.touch(&output, 0, 4 * MIB), "neither way, no memory, and no page");
            assert_eq!(files.regions.filesystems().failures(), 1);
            files.now += REGISTRATION_RETRY;
        }
        assert!(files.touch(&output, 0, 4 * MIB), "shared");
        assert_eq!((files.regions.copies().made, files.regions.filesystems().copied()), (0, 0));
        assert_eq!((files.wire.attempts, files.wire.registered.len()), (attempts, 1));
        assert!(files.touch(&output, 4 * MIB, 4 * MIB));
        assert_eq!(files.wire.attempts, attempts + 1, "the way is known");
    }
}

/// Linux 6.12 and ext4: the first file is tried shared, as a copy and both again, the others are copied at once.
#[test]
fn files_that_cannot_be_registered_shared_are_registered_as_copies_within_the_limit() {
    let mut files = Files::registering(usize::MAX, limits(8 * MIB, 100, 4 * MIB), true);
    files.wire.refuses_shared = true;
    let output = files.publish(1, 40 * MIB);
    let first = files.pin(&output, 0, 4 * MIB).expect("a copy");
    assert_eq!((files.wire.attempts, files.regions.copies()), (4, Copies { made: 1, bytes: 4 * MIB }));
    let second = files.pin(&output, 4 * MIB, 4 * MIB).expect("a copy");
    assert_eq!((files.wire.attempts, files.regions.copies()), (5, Copies { made: 2, bytes: 8 * MIB }));
    assert!(files.pin(&output, 8 * MIB, 4 * MIB).is_none(), "copies beyond the limit");
    assert_eq!((files.regions.filesystems().copied(), files.regions.filesystems().failures()), (1, 0));
    files.unpin(first);
    files.unpin(second);
    assert_eq!(files.regions.copies(), Copies { made: 2, bytes: 4 * MIB }, "one stays idle");
    files.regions.clear(&mut files.wire);
    assert_eq!(files.regions.copies(), Copies { made: 2, bytes: 0 });
}

/// A limit on locked memory refuses copies as it refuses shared pages: then it is not concluded that copies are better.
#[test]
fn a_wire_without_room_is_no_reason_to_copy() {
    let mut files = Files::registering(0, limits(64 * MIB, 100, 64 * MIB), true);
    let output = files.publish(1, 8 * MIB);
    assert!(!files.touch(&output, 0, 4 * MIB));
    let what = "both ways, as much memory, and a page";
    assert_eq!((files.wire.attempts, files.regions.filesystems().copied()), (4, 0), "{what}");
    assert_eq!((files.regions.filesystems().failures(), files.mapped()), (1, (0, 0)));
    files.wire.room = usize::MAX;
    files.now += REGISTRATION_RETRY;
    assert!(files.touch(&output, 0, 4 * MIB), "shared");
    assert_eq!((files.wire.attempts, files.regions.copies().made), (5, 0));
}

/// Idle regions make room for the shared mapping, and not once more for the copy: a copy that had more room would make
/// it look as if the filesystem's files could only be copied.
#[test]
fn a_copy_gets_no_more_room_than_the_shared_mapping_had() {
    let mut files = Files::registering(16 * MIB, limits(64 * MIB, 100, 64 * MIB), true);
    let output = files.publish(1, 40 * MIB);
    for chunk in 0..4 {
        assert!(files.touch(&output, chunk * 4 * MIB, 4 * MIB));
    }
    // The idle regions count as those of another filesystem.
    files.regions.filesystems = Filesystems::new(true);
    files.wire.room = 12 * MIB;
    assert!(!files.touch(&output, 16 * MIB, 4 * MIB), "for the copy, two regions would have to go");
    assert_eq!((files.regions.filesystems().copied(), files.regions.filesystems().failures()), (0, 1));
    assert_eq!(files.regions.idle().0, 3);
    files.now += REGISTRATION_RETRY;
    assert!(files.touch(&output, 16 * MIB, 4 * MIB));
    assert_eq!((files.regions.copies().made, files.regions.filesystems().copied()), (0, 0), "shared");
}

/// A running program cannot be opened for writing: it is copied, and its filesystem's other files are not.
#[test]
fn a_file_that_cannot_be_written_decides_nothing_for_its_filesystem() {
    let mut files = Files::registering(usize::MAX, limits(64 * MIB, 100, 64 * MIB), true);
    let program = std::env::current_exe().expect("a program");
    let register = |files: &mut Files| {
        let verdict = |filesystem| files.regions.filesystems().verdict(filesystem, files.now);
        let reservation = files.regions.budget().reserve(SMALL).expect("room");
        let bytes = program.metadata().expect("there").len();
        let mapping = Mapping::of(&program, bytes, 0..SMALL_REGION_BYTES, verdict, reservation).expect("mapped");
        let filesystem = mapping.filesystem();
        let way = files.regions.try_registration(&mut files.wire, mapping, files.now);
        (way.ok(), files.regions.filesystems().verdict(filesystem, files.now))
    };
    assert_eq!(register(&mut files), (Some(Way::Copy), Verdict::Untried));
    files.wire.room = 0;
    assert_eq!(register(&mut files), (None, Verdict::Untried), "it is not refused either");
    let filesystems = files.regions.filesystems();
    assert_eq!((filesystems.failures(), filesystems.copied(), filesystems.refused(files.now)), (1, 0, 0));
}

#[test]
fn directories_are_tried_once_and_nothing_of_the_trial_stays() {
    let mut files = Files::registering(usize::MAX, limits(64 * MIB, 100, 64 * MIB), true);
    files.wire.refuses_shared = true;
    let (here, missing) = (files.folder.clone(), files.folder.join("missing"));
    let trials = try_directories(&mut files.wire, &mut files.regions, &[here.clone(), missing, here.clone()]);
    let way = format!("{}: copies in memory", here.display());
    assert_eq!(trials.ways, [way.clone(), way]);
    assert_eq!(trials.warnings.len(), 2, "{trials:?}");
    assert!(trials.warnings[0].contains("bad address") && trials.warnings[1].contains("missing"), "{trials:?}");
    assert_eq!((files.wire.attempts, files.mapped()), (4, (0, 0)), "both ways twice; the second is known");
    assert_eq!(std::fs::read_dir(&here).expect("there").count(), 0);
    let output = files.publish(1, MIB);
    assert!(files.touch(&output, 0, MIB));
    assert_eq!((files.wire.attempts, files.regions.copies().made), (5, 1), "a copy at once");
}

#[test]
fn a_directory_whose_files_can_be_registered_shared_is_no_warning_and_one_that_cannot_is() {
    let mut files = Files::registering(usize::MAX, limits(64 * MIB, 100, 64 * MIB), true);
    let here = files.folder.clone();
    let trials = try_directories(&mut files.wire, &mut files.regions, std::slice::from_ref(&here));
    assert_eq!((trials.ways, trials.warnings.len()), (vec![format!("{}: page cache", here.display())], 0));
    let mut files = Files::registering(0, limits(64 * MIB, 100, 64 * MIB), true);
    let here = files.folder.clone();
    let trials = try_directories(&mut files.wire, &mut files.regions, &[here.clone(), here]);
    assert!(trials.ways.iter().all(|way| way.contains("by Netty")) && trials.ways.len() == 2, "{trials:?}");
    assert!(trials.warnings.len() == 1 && trials.warnings[0].contains("ulimit -l"), "{trials:?}");
    assert_eq!(files.wire.attempts, 4, "both ways, as much memory, and a page; the second directory is not tried");
}

/// The first question after a map stage has many files mapped before the first of them is registered.
#[test]
fn files_that_were_mapped_before_a_way_was_chosen_are_copied_at_once() {
    let mut files = Files::registering(usize::MAX, limits(64 * MIB, 100, 64 * MIB), true);
    files.wire.refuses_shared = true;
    let outputs: Vec<_> = (0..10).map(|map| files.publish(map, 1000)).collect();
    let mut mapped = Vec::new();
    for output in &outputs {
        let mut to_map = Vec::new();
        let pinned = files.regions.pin(&mut files.wire, output, (0, 1000), &mut to_map, files.now);
        assert_eq!(pinned.expect("room").len(), 1);
        for ToMap { region, part, reservation, .. } in to_map {
            let mapping = Mapping::of(&output.path, 1000, part, |_| Verdict::Untried, reservation).expect("mapped");
            mapped.push((region, mapping));
        }
    }
    for (region, mapping) in mapped {
        files.regions.opened(&mut files.wire, region, mapping, files.now).expect("registered");
    }
    assert_eq!((files.wire.attempts, files.regions.copies().made), (13, 10));
}

/// What is read of 200 shuffles, 50 times each: of which output a chunk is read. Some shuffles are read at the same
/// time (stages of several jobs), a shuffle's outputs are read in turn by one reducer after another, each of which
/// begins somewhere else, and every fourth shuffle is read again later (an iterative job).
fn trace() -> Vec<(u64, usize)> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut chance = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    let (mut reads, mut active) = (Vec::new(), Vec::<(u64, usize, usize)>::new());
    let mut next = 0;
    while reads.len() < SHUFFLES * READS {
        while active.len() < 5 && next < SHUFFLES {
            let again = next % 4 == 3 && next >= 8;
            let shuffle = if again { next - 8 } else { next };
            active.push((shuffle as u64, READS, chance(CHUNKS)));
            next += 1;
        }
        let one = chance(active.len());
        let (shuffle, left, place) = &mut active[one];
        reads.push((*shuffle, *place));
        // The next output; a new reducer begins at another one.
        *place = if *left % CHUNKS == 0 { chance(CHUNKS) } else { (*place + 1) % CHUNKS };
        *left -= 1;
        if *left == 0 {
            active.swap_remove(one);
        }
    }
    reads
}

const SHUFFLES: usize = 200;
const READS: usize = 50;
/// Chunks of 4 MiB of a shuffle's outputs on this executor.
const CHUNKS: usize = 12;

/// The hits of a cache of so many chunks that knows the future (Belady): it gives up what is read last of all, and
/// keeps nothing that is not read again.
fn oracle(trace: &[(u64, usize)], room: usize) -> usize {
    let mut next_reads = vec![usize::MAX; trace.len()];
    let mut last = HashMap::new();
    for (at, chunk) in trace.iter().enumerate().rev() {
        next_reads[at] = last.insert(*chunk, at).unwrap_or(usize::MAX);
    }
    let (mut cached, mut hits) = (HashMap::new(), 0);
    for (at, chunk) in trace.iter().enumerate() {
        hits += usize::from(cached.insert(*chunk, next_reads[at]).is_some());
        if cached.len() > room {
            let latest = cached.iter().max_by_key(|(_, next)| **next).map(|(chunk, _)| *chunk);
            latest.into_iter().for_each(|chunk| _ = cached.remove(&chunk));
        }
    }
    hits
}

/// The least recently used idle region goes first. `--nocapture` shows the figures of
/// `bench/results/transport/peers.md`.
#[test]
fn a_trace_of_two_hundred_shuffles_stays_within_the_limit_and_hits_what_an_oracle_hits_where_its_reads_fit() {
    let trace = trace();
    println!(
        "| limit | bytes that may stay idle | hits | of an oracle | registrations per 1,000 reads | most bytes pinned |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for chunks in [16, 32, 64, 128] {
        let (limit, idle) = (2 * chunks * 4 * MIB, chunks * 4 * MIB);
        let mut files = Files::registering(limit, limits(limit, 10_000, idle), true);
        let outputs: Vec<_> = (0..SHUFFLES as u64).map(|map| files.publish(map, CHUNKS * 4 * MIB)).collect();
        let mut most = 0;
        for (shuffle, chunk) in &trace {
            assert!(files.touch(&outputs[*shuffle as usize], chunk * 4 * MIB, 4 * MIB));
            most = most.max(files.wire.registered.values().sum::<usize>());
        }
        let (hits, best) = (trace.len() - files.wire.attempts, oracle(&trace, chunks));
        let share = |hits: usize| 100.0 * hits as f64 / trace.len() as f64;
        println!(
            "| {} MiB | {} MiB | {:.1} % | {:.1} % | {:.0} | {} MiB |",
            limit / MIB,
            idle / MIB,
            share(hits),
            share(best),
            10.0 * (100.0 - share(hits)),
            most / MIB
        );
        assert!(most <= limit && files.mapped().1 <= limit, "{most} bytes");
        assert!(hits <= best, "{hits} hits, {best} of an oracle");
        // What is being read fits: 5 shuffles of 12 chunks.
        assert!(chunks < 64 || hits * 100 >= best * 85, "{hits} hits, {best} of an oracle");
    }
}
