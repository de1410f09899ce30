//! Finding a driver and a device.

use std::time::{Duration, Instant};

use sluice_cuda::{ComputeMode, Driver, ErrorKind, Version};
use sluice_cuda_sim::Simulator;

use crate::{context, driver};

fn refusal(settings: &str) -> (ErrorKind, String) {
    let simulator = Simulator::start(settings);
    let refused = Driver::open_at(&simulator.path()).expect_err(settings);
    (refused.kind(), refused.to_string())
}

#[test]
fn a_driver_says_its_version_and_devices() {
    let simulator = Simulator::start("version=13010 memory=96m");
    let driver = driver(&simulator);
    assert_eq!(driver.version(), Version { major: 13, minor: 1 });
    let devices = driver.devices().expect("told");
    let facts = devices[0].facts();
    assert_eq!((devices.len(), facts.compute_capability, facts.total_bytes), (1, (9, 0), 96 << 20));
    assert_eq!((facts.name.as_str(), facts.compute_mode), ("Sluice simulated GPU", ComputeMode::Default));
    assert_eq!(facts.uuid, "GPU-736c7569-6365-2d63-7564-612d73696d00");
    assert_eq!(facts.pci_address, "0000:c0:00.0");
    assert!(!facts.is_mig() && facts.ecc && facts.has_pools);
    assert!(!devices[0].has_context().expect("told"), "looking at a device makes no context");
}

#[test]
fn a_driver_that_is_too_old_says_so() {
    let (kind, text) = refusal("version=11080");
    assert_eq!(kind, ErrorKind::DriverTooOld);
    assert!(text.contains("CUDA 11.8") && text.contains("12.0 or later"), "{text}");
}

#[test]
fn a_machine_without_devices_says_so() {
    let (kind, text) = refusal("devices=0");
    assert_eq!(kind, ErrorKind::NoDevice);
    assert!(text.contains("CUDA_ERROR_NO_DEVICE (100, no CUDA-capable device is detected)"), "{text}");
}

#[test]
fn a_driver_that_does_not_start_says_what_to_look_at() {
    let (kind, text) = refusal("init=999");
    assert_eq!(kind, ErrorKind::DriverFailed, "nothing is lost that was never there");
    assert!(text.contains("nvidia-smi"), "{text}");
    let (kind, text) = refusal("init=802");
    assert!(kind == ErrorKind::DriverFailed && text.contains("nvidia-fabricmanager"), "{text}");
    assert_eq!(refusal("init=304").0, ErrorKind::NoPermission);
    assert_eq!(refusal("init=803").0, ErrorKind::DriverTooOld);
}

#[test]
fn a_failure_to_open_is_not_remembered() {
    let simulator = Simulator::start("init=999");
    assert!(Driver::open_at(&simulator.path()).is_err());
    simulator.configure("init=0");
    let first = Driver::open_at(&simulator.path()).expect("it works now");
    let again = Driver::open_at(&simulator.path()).expect("open");
    assert!(std::sync::Arc::ptr_eq(&first, &again), "opened once");
}

#[test]
fn spark_s_address_of_a_device_is_its_place_among_pci_addresses() {
    let simulator = Simulator::start("devices=3 memory=4m");
    let driver = driver(&simulator);
    // The simulator's later devices have lower addresses.
    for (address, ordinal) in [("0", 2), ("2", 0), ("gpu-736C7569-6365-2d63-7564-612d73696d01", 1)] {
        assert_eq!(driver.select(Some(address)).expect("there").facts().ordinal, ordinal, "{address}");
    }
    for (address, word) in [(Some("3"), "no device '3'"), (Some("MIG-1"), "no device"), (None, "3 devices")] {
        let refused = driver.select(address).expect_err("none");
        assert_eq!(refused.kind(), ErrorKind::NoDevice);
        assert!(refused.to_string().contains(word), "{refused}");
    }
}

#[test]
fn an_executor_s_only_device_is_its_device_whatever_its_number_outside() {
    let simulator = Simulator::start("");
    assert_eq!(driver(&simulator).select(Some("5")).expect("there").facts().ordinal, 0);
}

#[test]
fn a_mig_slice_is_a_device() {
    let simulator = Simulator::start("mig=1");
    let driver = driver(&simulator);
    let uuid = "MIG-736c7569-6365-2d63-7564-612d73696d00";
    let device = driver.select(Some(uuid)).expect("there");
    assert!(device.facts().is_mig() && device.describe().contains(uuid), "{}", device.describe());
}

#[test]
fn a_device_that_another_process_has_for_itself_is_busy() {
    let simulator = Simulator::start("mode=3 held=1");
    let device = driver(&simulator).select(None).expect("there");
    assert_eq!(device.facts().compute_mode, ComputeMode::ExclusiveProcess);
    let busy = device.context().expect_err("held");
    assert_eq!(busy.kind(), ErrorKind::DeviceBusy);
    assert!(busy.to_string().contains("nvidia-smi -c 0"), "{busy}");
    simulator.configure("held=0");
    device.context().expect("the other process has ended");
}

#[test]
fn a_device_that_nobody_may_use_is_busy() {
    let simulator = Simulator::start("memory=4m");
    let device = driver(&simulator).select(None).expect("there");
    // Since the device was looked at.
    simulator.configure("mode=2");
    let busy = device.context().expect_err("prohibited");
    assert!(busy.kind() == ErrorKind::DeviceBusy && busy.to_string().contains("PROHIBITED"), "{busy}");
    simulator.configure("mode=0");
    device.context().expect("allowed again");
}

#[test]
fn a_driver_that_does_not_answer_holds_up_only_who_opens_it() {
    let simulator = Simulator::start("block=cuInit@1");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| Driver::open_at(&simulator.path()).map(|driver| driver.version()));
        let until = Instant::now() + Duration::from_secs(600);
        while simulator.calls("cuInit") == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let refused = Driver::open_within(&simulator.path(), Duration::from_millis(20)).expect_err("not open yet");
        assert_eq!(refused.kind(), ErrorKind::DriverFailed);
        driver(&Simulator::start("")).devices().expect("another driver");
        simulator.release();
        first.join().expect("ends").expect("opened");
    });
    assert_eq!((driver(&simulator).devices().expect("told").len(), simulator.calls("cuInit")), (1, 1));
}

#[test]
fn a_context_is_current_only_during_calls() {
    let simulator = Simulator::start("devices=2 memory=4m");
    let driver = driver(&simulator);
    let [first, second] = ["0", "1"].map(|address| driver.select(Some(address)).expect("there"));
    let (first, second) = (first.context().expect("made"), second.context().expect("made"));
    let within = || {
        second.allocate(1000).expect("room");
        assert_eq!(second.free_memory().expect("told").free_bytes, 4 << 20, "given back when it was dropped");
    };
    first.with_current(within).expect("current");
    assert_eq!(simulator.calls("cuCtxPushCurrent_v2"), simulator.calls("cuCtxPopCurrent_v2"));
    drop((first, second));
    assert_eq!((simulator.violations(), simulator.counts().contexts), (Vec::new(), 0));
}

#[test]
fn opening_and_closing_a_thousand_times_leaves_nothing() {
    let simulator = Simulator::start("memory=4m");
    let mut page = vec![0u8; 4096];
    for _ in 0..1000 {
        let context = context(&simulator);
        let (stream, event) = (context.new_stream().expect("made"), context.event().expect("made"));
        let memory = context.allocate(1 << 20).expect("room");
        let start = std::ptr::NonNull::new(page.as_mut_ptr()).expect("an address");
        // SAFETY: the page is mapped until the end of the test, long after the registration's.
        let registration = unsafe { context.register_host(start, page.len()) }.expect("pinned");
        // SAFETY: nobody else uses the memory.
        unsafe { stream.fill(memory.address(), 1, memory.bytes()) }.expect("put");
        event.record(&stream).expect("put");
        drop((registration, stream, event, memory));
    }
    let counts = simulator.counts();
    assert_eq!((counts.allocations, counts.streams, counts.events, counts.registrations), (0, 0, 0, 0));
    assert_eq!((counts.contexts, counts.pending, simulator.violations()), (0, 0, Vec::new()));
    assert_eq!(driver(&simulator).select(None).expect("there").statistics(), sluice_cuda::Statistics::default());
}

/// The variable by which a test tells the same test in another process to say what it opens.
const OPENING: &str = "SLUICE_CUDA_TEST_OPENS";

/// What a process with these variables says of its driver.
fn opened(variables: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().expect("this test");
    let name = "opening::the_environment_says_which_library_is_opened";
    let mut command = std::process::Command::new(program);
    command.args(["--exact", name, "--nocapture"]).env(OPENING, "1").env_remove("SLUICE_CUDA_LIBRARY");
    let output = command.envs(variables.iter().copied()).output().expect("runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_environment_says_which_library_is_opened() {
    if std::env::var_os(OPENING).is_some() {
        match Driver::open() {
            Ok(driver) => {
                println!("opened {}", driver.describe());
                match driver.select(Some("1")) {
                    Ok(device) => println!("selected {}", device.facts().ordinal),
                    Err(why) => println!("selected none: {why}"),
                }
            }
            Err(why) => println!("refused: {why}"),
        }
        return;
    }
    let simulator = Simulator::start("");
    let path = simulator.path().display().to_string();
    let said = opened(&[("SLUICE_CUDA_LIBRARY", &path), ("SLUICE_CUDA_SIM", "version=13020 devices=2")]);
    assert!(said.contains(&format!("opened CUDA 13.2 ({path})")), "{said}");
    for (visible, selected) in
        [("", "selected 0"), ("2,3", "selected none: device '1' is a number, CUDA_VISIBLE_DEVICES")]
    {
        let variables = [("SLUICE_CUDA_LIBRARY", path.as_str()), ("SLUICE_CUDA_SIM", "devices=2")];
        let said = opened(&[variables[0], variables[1], ("CUDA_VISIBLE_DEVICES", visible)]);
        assert!(said.contains(selected), "{said}");
    }
    let said = opened(&[("SLUICE_CUDA_LIBRARY", &path), ("SLUICE_CUDA_SIM", "fail=cuInit@1:100")]);
    assert!(said.contains("refused: cuInit: CUDA_ERROR_NO_DEVICE"), "{said}");
    let said = opened(&[("SLUICE_CUDA_LIBRARY", "/nonexistent/libcuda.so.1")]);
    assert!(said.contains("refused: no usable CUDA driver at /nonexistent/libcuda.so.1"), "{said}");
    let said = opened(&[("SLUICE_CUDA_LIBRARY", "")]);
    // As without the variable: the machine's driver, if it has one that works.
    assert!(said.contains("opened CUDA") || said.contains("refused: ") && !said.contains("driver at :"), "{said}");
}
