//! `UCX_TCP_PORT_RANGE` when all of its ports are taken: starting is an error that comes at once, and works when one is
//! free. UCX reads the variable from the environment that it is opened in, so it is this program again, started for one
//! ignored test. Needs a UCX, as `two_workers`; without, the test says that it was skipped.

mod common;

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_transport::{Transport, TransportOptions};

const LONGEST: Duration = Duration::from_secs(20);
const STARTED: &str = "started";
const SKIPPED: &str = "skipped";

#[test]
#[ignore = "the other process of the tests here"]
fn starts_a_transport() {
    let Some(ucx) = common::ucx() else { return println!("\n{SKIPPED}") };
    let (arena, regions) = common::receive_arena(1 << 20);
    let make = move || sluice_ucx::wire(ucx, regions, Arc::default(), LONGEST);
    match Transport::start(make, arena, TransportOptions::default()) {
        Ok(_) => println!("{STARTED}"),
        Err(why) => println!("{why}"),
    }
}

/// What a process says that may listen at one port only; it has ended by itself, and soon.
fn said_with(port: u16) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["starts_a_transport", "--exact", "--ignored", "--nocapture"]);
    command.env("UCX_TCP_PORT_RANGE", format!("{port}-{port}")).env("UCX_TLS", "tcp,self");
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let end = Instant::now() + LONGEST;
    while process.try_wait().expect("a child").is_none() {
        if Instant::now() > end {
            let _ = process.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = process.wait_with_output().expect("a child");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn no_free_port_is_an_error_and_a_free_one_will_do() {
    let holder = TcpListener::bind("0.0.0.0:0").expect("a port");
    let port = holder.local_addr().expect("it listens").port();
    let refused = said_with(port);
    if refused.contains(SKIPPED) {
        return eprintln!("{refused}");
    }
    assert!(refused.contains("making a worker: UCX says a device or port is busy"), "{refused}");
    drop(holder);
    let free = said_with(port);
    assert!(free.contains(STARTED), "{free}");
}
