//! What one `process_vm_readv` gives by the memory that it reads, without anything of Sluice's:
//! `cargo bench -p sluice-transport --bench cma_memory`. A child of this process has the memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const SPREAD: usize = 256 * MIB;
const KINDS: [&str; 4] = ["huge pages", "pages of 4 KiB", "memory file", "file"];
const SIZES: [(usize, &str); 4] = [(8 << 10, "8 KiB"), (64 << 10, "64 KiB"), (MIB, "1 MiB"), (16 * MIB, "16 MiB")];
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(200);

fn main() {
    if let Some(kind) = std::env::args().find_map(|arg| arg.strip_prefix("--child=").map(String::from)) {
        return own(&kind);
    }
    println!("MB/s, the best of {ROUNDS} rounds of {} ms.\n", ROUND.as_millis());
    println!("| read | size | the same bytes to the same place | all of 256 MiB to the same place | to 256 MiB |");
    println!("| --- | --- | --- | --- | --- |");
    let mut to = anonymous(SPREAD, libc::MADV_NOHUGEPAGE);
    for kind in KINDS {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg(format!("--child={kind}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
        let from: usize = line.trim().parse().expect("an address");
        for (size, name) in SIZES {
            let mut rate = |from_bytes: usize, to_bytes: usize| {
                let rounds = (0..ROUNDS).map(|_| round(child.id(), (from, from_bytes), (&mut to, to_bytes), size));
                rounds.fold(0.0, f64::max)
            };
            let rates = [rate(size, size), rate(SPREAD, size), rate(SPREAD, SPREAD)];
            println!("| {kind} | {name} | {:.0} | {:.0} | {:.0} |", rates[0], rates[1], rates[2]);
        }
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}

/// MB/s of reads of so many bytes each, of these bytes in turn.
fn round(child: u32, (from, from_bytes): (usize, usize), (to, to_bytes): (&mut [u8], usize), size: usize) -> f64 {
    let (mut read, mut from_at, mut to_at, start) = (0, 0, 0, Instant::now());
    while start.elapsed() < ROUND {
        for _ in 0..(MIB / size).max(1) {
            let local = libc::iovec { iov_base: to[to_at..to_at + size].as_mut_ptr().cast(), iov_len: size };
            let remote = libc::iovec { iov_base: (from + from_at) as *mut libc::c_void, iov_len: size };
            // SAFETY: writes `size` bytes of `to`, which is borrowed mutably; the kernel checks what it reads.
            let bytes = unsafe { libc::process_vm_readv(child as libc::pid_t, &local, 1, &remote, 1, 0) };
            assert_eq!(bytes, size as isize, "{}", std::io::Error::last_os_error());
            read += size;
            from_at = (from_at + size) % from_bytes;
            to_at = (to_at + size) % to_bytes;
        }
    }
    read as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// The child: has the memory, says where, and ends when its standard input does.
fn own(kind: &str) {
    let (memory, path): (&[u8], _) = match kind {
        "huge pages" => (anonymous(SPREAD, libc::MADV_HUGEPAGE), None),
        "pages of 4 KiB" => (anonymous(SPREAD, libc::MADV_NOHUGEPAGE), None),
        "memory file" => {
            // SAFETY: a call with a name that ends with 0; it makes the descriptor, so no other code closes it.
            let file = unsafe { File::from_raw_fd(libc::memfd_create(c"sluice-cma-memory".as_ptr(), 0)) };
            (mapped(&file), None)
        }
        _ => {
            let path = std::env::temp_dir().join(format!("sluice-cma-memory-{}", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
            (mapped(&file), Some(path))
        }
    };
    path.into_iter().for_each(|path| std::fs::remove_file(path).expect("removed"));
    println!("{}", memory.as_ptr() as usize);
    std::io::stdin().lines().for_each(drop);
}

/// Written memory that begins at a huge page.
fn anonymous(bytes: usize, advice: libc::c_int) -> &'static mut [u8] {
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping with room to align; the slice is inside of it and is never unmapped.
    let memory = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let all = libc::mmap(std::ptr::null_mut(), bytes + 2 * MIB, access, private, -1, 0);
        assert!(all != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let at = all.cast::<u8>().add(all.align_offset(2 * MIB));
        libc::madvise(at.cast(), bytes, advice);
        std::slice::from_raw_parts_mut(at, bytes)
    };
    memory.fill(1);
    memory
}

/// A file of [`SPREAD`] bytes as a map output's is mapped.
fn mapped(mut file: &File) -> &'static [u8] {
    (0..SPREAD / MIB).for_each(|_| file.write_all(&[1; MIB]).expect("written"));
    let shared = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping, which is only read and never unmapped; nobody cuts the file.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), SPREAD, libc::PROT_READ, shared, file.as_raw_fd(), 0);
        assert!(at != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        std::slice::from_raw_parts(at.cast(), SPREAD)
    }
}
