//! Settings of UCX that name what is not there: starting is an error that comes at once and says what was set, or one
//! warning. UCX reads them from the environment that it is opened in, so it is this program again, started for one
//! ignored test. Needs a UCX, as `two_workers`; without, the tests say that they were skipped.

mod common;

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
        Ok(transport) => println!("{STARTED} over {}", transport.means().join(",")),
        Err(why) => println!("{why}"),
    }
}

/// What a process with these variables says, first to its output and then to its errors. It has ended by itself, and
/// soon.
fn said_with(variables: &[(&str, &str)]) -> [String; 2] {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["starts_a_transport", "--exact", "--ignored", "--nocapture"]);
    command.env_remove("UCX_TLS").env_remove("UCX_NET_DEVICES").envs(variables.iter().copied());
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
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{}: {said:?}", output.status);
    said
}

#[test]
fn what_is_not_there_is_an_error_at_the_start_that_says_what_was_set() {
    let [said, _] = said_with(&[]);
    if said.contains(SKIPPED) {
        return eprintln!("{said}");
    }
    assert!(said.contains(STARTED), "{said}");
    let [over_tcp, _] = said_with(&[("UCX_TLS", "tcp")]);
    assert!(over_tcp.lines().any(|line| line.starts_with(&format!("{STARTED} over tcp/"))), "{over_tcp}");
    let unreachable = "UCX has nothing here that connects to other processes";
    let no_device = "making a context: UCX says no such device (-14)";
    let cases: [(&[(&str, &str)], &str); 5] = [
        (&[("UCX_NET_DEVICES", "nosuchnic0")], unreachable),
        (&[("UCX_TLS", "tcp"), ("UCX_NET_DEVICES", "nosuchnic0")], no_device),
        (&[("UCX_TLS", "nonsense")], no_device),
        (&[("UCX_TLS", "nonsense,self")], unreachable),
        (&[("UCX_TLS", "posix,self")], unreachable),
    ];
    for (variables, error) in cases {
        let [said, errors] = said_with(variables);
        assert!(said.contains(error) && !said.contains(STARTED), "{variables:?}: {said}{errors}");
        let set: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert!(said.contains(&format!("with {} in the environment", set.join(" "))), "{said}");
    }
    let [said, errors] = said_with(&[("UCX_TLS", "nonsense,tcp,self")]);
    assert!(said.contains(STARTED), "the others that are named work: {said}{errors}");
}

/// With a UCX that has no module for RDMA devices, or a folder without modules.
#[test]
fn rdma_without_its_module_is_one_warning_and_what_else_is_named_is_used() {
    let [said, _] = said_with(&[]);
    if said.contains(SKIPPED) {
        return eprintln!("{said}");
    }
    let [said, errors] = said_with(&[("UCX_TLS", "rc,tcp,self"), ("UCX_MODULE_DIR", "/nowhere")]);
    assert!(said.contains(STARTED), "{said}{errors}");
    let warnings: Vec<&str> = errors.lines().filter(|line| line.starts_with("sluice-ucx:")).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("has no module for them (libuct_ib.so in /nowhere)"),
        "{errors}"
    );
    let [said, errors] = said_with(&[("UCX_TLS", "rc"), ("UCX_MODULE_DIR", "/nowhere")]);
    assert!(said.contains("no such device (-14), with UCX_TLS=rc"), "{said}{errors}");
}

/// UCX refuses to send in larger pieces than it takes: Sluice's larger ones are left out where the environment says
/// what is taken.
#[test]
fn smaller_pieces_that_the_environment_asks_for_over_tcp_are_used() {
    for variable in ["UCX_TCP_RX_SEG_SIZE", "UCX_TCP_TX_SEG_SIZE"] {
        let [said, warned] = said_with(&[("UCX_TLS", "tcp"), (variable, "16k")]);
        if said.contains(SKIPPED) {
            return eprintln!("{said}");
        }
        assert!(said.contains(&format!("{STARTED} over tcp/")), "{variable}: {said}");
        assert!(!warned.contains("UCX  "), "{variable}: {warned}");
    }
}
