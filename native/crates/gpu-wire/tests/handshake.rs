//! The self-test of connections in the memory of GPUs, between transports on the loopback wire and the simulated
//! driver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_cuda::{Context, DeviceAddress, Driver, Wait};
use sluice_cuda_sim::Simulator;
use sluice_gpu_wire::{CopyOptions, CudaCopies};
use sluice_mem::Arena;
use sluice_transport::loopback::Network;
use sluice_transport::{BounceWire, Statistic, Transport, TransportOptions};

const PEER: u64 = 1;
const PATIENCE: Duration = Duration::from_secs(20);

fn transport(network: &Network, context: Option<&Context>) -> Transport {
    let (network, context) = (network.clone(), context.cloned());
    let options = CopyOptions { slots: 2, slot_bytes: 4096, ..CopyOptions::default() };
    let make = move || {
        let copies = context.map(|context| CudaCopies::new(&context, options).expect("room"));
        Ok(BounceWire::new(network.wire(), copies, Arc::default()))
    };
    Transport::start(make, Arena::host(1 << 26), TransportOptions::default()).expect("started")
}

fn statistic(transport: &Transport, statistic: Statistic) -> u64 {
    transport.statistics()[statistic as usize]
}

/// Until it is so, or the patience is over.
fn waits_for(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

fn context(simulator: &Simulator) -> Context {
    let driver = Driver::open_at(&simulator.path()).expect("opens");
    let context = driver.select(None).expect("one").context().expect("a context");
    // Of a device that is lost nothing comes back.
    context.set_give_back_limit(Duration::from_millis(50));
    context
}

/// A network whose wires read a device's memory; `change` is made of the bytes after that, as a UCX would that is
/// wrong.
fn network(context: &Context, change: Option<u8>) -> Network {
    let (network, context) = (Network::new(1), context.clone());
    network.set_devices(Arc::new(move |target, source, bytes| {
        let stream = context.new_stream().map_err(|e| e.to_string())?;
        let (target, source) = (DeviceAddress(target as u64), DeviceAddress(source as u64));
        // SAFETY: the loopback's regions are registered, and a read's target is for this alone.
        unsafe { stream.copy_on_device(target, source, bytes) }.map_err(|e| e.to_string())?;
        if let Some(byte) = change {
            // SAFETY: as above.
            unsafe { stream.fill(target, byte, 1) }.map_err(|e| e.to_string())?;
        }
        stream.finish(Wait::at_most(PATIENCE)).map_err(|e| e.to_string())
    }));
    network
}

#[test]
fn a_gpu_is_read_only_after_its_sample_has_come_as_it_was() {
    let simulator = Simulator::start("memory=64m");
    let context = context(&simulator);
    // What the wire makes of the bytes; whether owner and reader have a GPU; what the reader then knows.
    for (change, owner, reader, expected) in [
        (None, true, true, Some(true)),
        (Some(9), true, true, Some(false)),
        (None, true, false, Some(false)),
        (None, false, true, None),
        (None, false, false, None),
    ] {
        let network = network(&context, change);
        let of = |has: bool| has.then_some(&context);
        let (owner, reader) = (transport(&network, of(owner)), transport(&network, of(reader)));
        reader.connect(PEER, owner.address());
        assert!(waits_for(|| reader.peer_ready(PEER) == Some(true)), "host memory is read in any case");
        let counted = || [Statistic::DevicesReadable, Statistic::DevicesUnreadable].map(|it| statistic(&reader, it));
        match expected {
            Some(readable) => {
                let numbers = if readable { [1, 0] } else { [0, 1] };
                assert!(waits_for(|| counted() == numbers), "{change:?} {expected:?}: {:?}", counted());
                assert!(waits_for(|| reader.reads_device_of(PEER) == readable));
            }
            None => {
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(counted(), [0, 0]);
                assert!(!reader.reads_device_of(PEER));
            }
        }
    }
}

#[test]
fn a_device_that_is_lost_at_the_sample_leaves_the_connection() {
    for fault in ["lose=cuMemcpyHtoDAsync_v2@1", "lose=cuMemcpyDtoHAsync_v2@1", "hang=cuMemcpyHtoDAsync_v2@1"] {
        let simulator = Simulator::start("memory=64m");
        let context = context(&simulator);
        let network = network(&context, None);
        let (owner, reader) = (transport(&network, Some(&context)), transport(&network, Some(&context)));
        simulator.configure(fault);
        reader.connect(PEER, owner.address());
        assert!(waits_for(|| reader.peer_ready(PEER) == Some(true)), "{fault}");
        std::thread::sleep(Duration::from_millis(50));
        assert!(!reader.reads_device_of(PEER), "{fault}");
        assert_eq!(reader.peer_ready(PEER), Some(true), "{fault}");
        drop((reader, owner));
        let _ = simulator.violations();
    }
}
