//! The effects of the UCX settings that Sluice changes, as the operating system shows them. In a process of its own,
//! which it looks at as a whole. Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use sluice_transport::{Event, Wire};
use sluice_ucx::UcxWire;

const PATIENCE: Duration = Duration::from_secs(10);

/// The handlers of the signals that UCX would take.
fn handlers() -> Vec<usize> {
    [libc::SIGILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE]
        .map(|signal| {
            // SAFETY: all-zero is a valid value.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: no new handler is given; the old one is written to `action`.
            assert_eq!(unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) }, 0);
            action.sa_sigaction
        })
        .to_vec()
}

/// Milliseconds after which the kernel gives up a connection without an answer, of each TCP connection of this process;
/// 0 is the kernel's default.
fn tcp_user_timeouts() -> Vec<u32> {
    let fds = std::fs::read_dir("/proc/self/fd").expect("Linux").flatten();
    let fds = fds.filter_map(|entry| entry.file_name().to_str()?.parse::<libc::c_int>().ok());
    let timeout = |fd: libc::c_int| {
        let (mut value, mut length) = (0u32, 4 as libc::socklen_t);
        // SAFETY: all-zero is a valid value.
        let mut peer: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let mut peer_length = size_of_val(&peer) as libc::socklen_t;
        // SAFETY: writes at most `length` bytes to `value`, and `peer_length` to `peer`; what is no connection is an
        // error.
        let connected = unsafe {
            libc::getpeername(fd, (&raw mut peer).cast(), &mut peer_length) == 0
                && libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, (&raw mut value).cast(), &mut length)
                    == 0
        };
        connected.then_some(value)
    };
    fds.filter_map(timeout).collect()
}

/// A process whose UCX would install signal handlers by default, as all releases before 1.20 do.
#[test]
fn the_jvms_signals_are_left_alone_and_vanished_machines_are_noticed() {
    let mut process = Command::new(std::env::current_exe().expect("this program"));
    process.args(["looks_at_signals_and_connections", "--exact", "--ignored", "--nocapture"]);
    let output = process.env("UCX_HANDLE_ERRORS", "bt").output().expect("started");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    // Its module for GPUs among them: where there is no driver it is left out without a word.
    assert!(!said.contains("UCX  WARN") && !said.contains("UCX  ERROR"), "UCX is silent: {said}");
    said.lines().filter(|line| line.contains("skipped")).for_each(|line| eprintln!("{line}"));
}

#[test]
#[ignore = "the other process of the test above"]
fn looks_at_signals_and_connections() {
    let before = handlers();
    let Some(ucx) = common::ucx() else { return };
    let wires = [(); 2].map(|()| UcxWire::new(ucx.clone()).expect("a wire"));
    let [mut one, mut other] = wires;
    assert_eq!(handlers(), before, "UCX_ERROR_SIGNALS is empty before libucs is loaded");
    let endpoint = one.open(other.address()).expect("opened").endpoint;
    one.send(endpoint, vec![1]);
    let (end, mut events) = (Instant::now() + PATIENCE, Vec::new());
    while !events.contains(&Event::Message(vec![1])) {
        assert!(Instant::now() < end, "no message has come");
        one.progress(&mut events);
        other.progress(&mut events);
    }
    let (major, minor, _) = ucx.version();
    let timeouts = tcp_user_timeouts();
    if (major, minor) < (1, 22) || timeouts.is_empty() {
        return eprintln!("skipped: UCX {major}.{minor} with {} TCP connections", timeouts.len());
    }
    // UCX counts in fractions of seconds.
    assert!(timeouts.iter().all(|millis| (59_990..=60_000).contains(millis)), "{timeouts:?}");
}
