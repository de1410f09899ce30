//! Copies between the host and the device, by threads that each have a stream: with memory straight from the driver,
//! which is what the machine can do at best, and with leases of Sluice's arenas.

use std::ptr::NonNull;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use sluice_cuda::{Context, DeviceAddress, DeviceMemory, HostRegistration, Stream, Wait, Waited};
use sluice_gpu_mem::{ArenaStream, PinnedProvider, StreamArena, StreamArenaOptions, StreamLease};
use sluice_mem::{Arena, ArenaOptions, HostProvider, Lease, Provider};

/// Longer than all copies of a thread take.
const LIMIT: Duration = Duration::from_secs(60);
/// What the arenas may have.
const ARENA_BYTES: usize = 16 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToDevice,
    ToHost,
}

/// How much is copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) threads: usize,
    /// Of each copy.
    pub(crate) bytes: usize,
    /// Copies of each thread, put into its stream one behind the other.
    pub(crate) copies: u32,
}

/// Where the memory is from.
pub(crate) enum Source {
    /// Registered and allocated by the driver for each thread.
    Driver(Context),
    /// Leases: of pinned host memory, and of the device's.
    Leases { host: Arc<Arena>, pinned: Arc<PinnedProvider<HostProvider>>, device: Arc<StreamArena> },
}

impl Source {
    pub(crate) fn driver(context: &Context) -> Self {
        Self::Driver(context.clone())
    }

    pub(crate) fn leases(context: &Context) -> Self {
        let pinned = Arc::new(PinnedProvider::new(HostProvider::default(), usize::MAX));
        pinned.attach(context.clone());
        let host =
            Arena::with_provider(Arc::clone(&pinned) as Arc<dyn Provider>, &ArenaOptions::with_limit(ARENA_BYTES));
        let options = StreamArenaOptions { chunk_bytes: 256 << 20, ..StreamArenaOptions::with_limit(ARENA_BYTES) };
        Self::Leases { host, pinned, device: StreamArena::new(context.clone(), options) }
    }

    /// Takes back what streams have freed, as [`crate::allocation::Pieces::settle`] does.
    fn settle(&self) -> Result<(), String> {
        let Self::Leases { device, .. } = self else { return Ok(()) };
        match device.settle(Wait::at_most(LIMIT)).map_err(|e| e.to_string())? {
            Waited::Done => Ok(()),
            other => Err(format!("leases that were freed did not come back: {other:?}")),
        }
    }

    /// Memory of the calling thread. Leases that are not pinned would be copied in another way, so they are an error.
    fn memory(&self, context: &Context, bytes: usize) -> Result<Memory, String> {
        match self {
            Self::Driver(context) => {
                let mut host = vec![0u8; bytes];
                // SAFETY: the memory is there as long as the registration, or for ever if that does not end
                // (`Memory::give_back`).
                let pinned = unsafe { context.register_host(NonNull::from(&mut host[..]).cast(), bytes) };
                let pinned = pinned.map_err(|e| e.to_string())?;
                match context.allocate(bytes) {
                    Ok(device) => Ok(Memory::Driver { host, pinned, device, stream: context.thread_stream() }),
                    Err(why) => {
                        if !pinned.end() {
                            std::mem::forget(host);
                        }
                        Err(why.to_string())
                    }
                }
            }
            Self::Leases { host, pinned, device } => {
                let lease = host.lease(bytes).map_err(|e| e.to_string())?;
                if !pinned.pin(lease.as_ptr().addr()) {
                    return Err(pinned.last_refusal().unwrap_or_else(|| "a lease is not pinned".into()));
                }
                let stream = device.attach(context.thread_stream());
                let on_device = stream.lease(bytes, Wait::at_most(LIMIT)).map_err(|e| e.to_string())?;
                Ok(Memory::Leases { host: lease, device: on_device, stream })
            }
        }
    }
}

/// A thread's memory and stream.
enum Memory {
    Driver { host: Vec<u8>, pinned: HostRegistration, device: DeviceMemory, stream: Stream },
    Leases { host: Lease, device: StreamLease, stream: ArenaStream },
}

impl Memory {
    fn stream(&self) -> &Stream {
        match self {
            Self::Driver { stream, .. } => stream,
            Self::Leases { stream, .. } => stream.stream(),
        }
    }

    fn device(&self) -> DeviceAddress {
        match self {
            Self::Driver { device, .. } => device.address(),
            Self::Leases { device, .. } => device.address(),
        }
    }

    fn host(&mut self) -> &mut [u8] {
        match self {
            Self::Driver { host, .. } => host,
            Self::Leases { host, .. } => host.as_mut_slice(),
        }
    }

    /// Puts a copy of all bytes into the stream.
    ///
    /// # Safety
    /// Until the stream has finished, nobody uses the memory but copies of this stream.
    unsafe fn copy(&mut self, direction: Direction) -> Result<(), String> {
        let (device, host) = (self.device(), self.host());
        let (start, bytes) = (host.as_mut_ptr(), host.len());
        // SAFETY: as many bytes on both sides; the caller's promise.
        let copied = unsafe {
            match direction {
                Direction::ToDevice => self.stream().copy_to_device(device, start, bytes),
                Direction::ToHost => self.stream().copy_to_host(start, device, bytes),
            }
        };
        copied.map_err(|e| e.to_string())
    }

    fn finish(&self) -> Result<(), String> {
        self.stream().finish(Wait::at_most(LIMIT)).map_err(|e| e.to_string())
    }

    /// Copies, as often as is said, and waits for them.
    fn copied(&mut self, direction: Direction, copies: u32) -> Result<(), String> {
        for _ in 0..copies {
            // SAFETY: nothing else is done before they have finished; if that fails, the memory is kept for ever.
            unsafe { self.copy(direction) }?;
        }
        self.finish()
    }

    /// When the stream has finished.
    fn give_back(self) -> Result<(), String> {
        match self {
            Self::Driver { host, pinned, device, .. } => {
                drop(device);
                if pinned.end() {
                    return Ok(());
                }
                // It stays registered.
                std::mem::forget(host);
                Err("pinned memory could not be given back".into())
            }
            Self::Leases { device, stream, .. } => {
                stream.free(device);
                Ok(())
            }
        }
    }
}

/// From the first copy's begin to the last one's end.
type Span = (Instant, Instant);

/// Bytes a second of all threads together. What was copied is compared at the end.
pub(crate) fn rate(context: &Context, source: &Source, direction: Direction, plan: Plan) -> Result<f64, String> {
    let gates = [Barrier::new(plan.threads), Barrier::new(plan.threads)];
    let ended: Vec<Result<Span, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let gates = &gates;
                scope.spawn(move || work(context, source, direction, plan, thread as u8, gates))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let spans = ended.into_iter().collect::<Result<Vec<Span>, String>>()?;
    source.settle()?;
    let (begin, end) = (spans.iter().map(|span| span.0).min(), spans.iter().map(|span| span.1).max());
    let seconds = begin.zip(end).map_or(0.0, |(begin, end)| (end - begin).as_secs_f64());
    Ok(plan.threads as f64 * plan.bytes as f64 * f64::from(plan.copies) / seconds)
}

/// One thread's part. It comes to both gates, whatever happens.
fn work(
    context: &Context,
    source: &Source,
    direction: Direction,
    plan: Plan,
    thread: u8,
    gates: &[Barrier; 2],
) -> Result<Span, String> {
    let made = source.memory(context, plan.bytes);
    let mut prepared = made.and_then(|mut memory| match prepare(&mut memory, thread) {
        Ok(()) => Ok(memory),
        Err(why) => {
            std::mem::forget(memory);
            Err(why)
        }
    });
    gates[0].wait();
    let begin = Instant::now();
    let copied = prepared.as_mut().map_err(|why| why.clone()).and_then(|memory| memory.copied(direction, plan.copies));
    let end = Instant::now();
    // Nothing is given back while others are timed.
    gates[1].wait();
    let mut memory = prepared?;
    if let Err(why) = copied.and_then(|()| compare(&mut memory, direction, thread)) {
        // The device may still use it.
        std::mem::forget(memory);
        return Err(why);
    }
    memory.give_back()?;
    Ok((begin, end))
}

fn byte(at: usize, thread: u8) -> u8 {
    (at as u8).wrapping_mul(31) ^ (at >> 12) as u8 ^ thread
}

/// Both sides have the pattern, and were copied once in each direction, so that no copy that is timed is the first.
fn prepare(memory: &mut Memory, thread: u8) -> Result<(), String> {
    memory.host().iter_mut().enumerate().for_each(|(at, target)| *target = byte(at, thread));
    memory.copied(Direction::ToDevice, 1)?;
    memory.copied(Direction::ToHost, 1)
}

/// What was copied to is as the pattern; the device's is looked at by another copy.
fn compare(memory: &mut Memory, direction: Direction, thread: u8) -> Result<(), String> {
    if direction == Direction::ToDevice {
        memory.host().fill(0);
        memory.copied(Direction::ToHost, 1)?;
    }
    let wrong = memory.host().iter().enumerate().find(|(at, found)| **found != byte(*at, thread));
    wrong.map_or(Ok(()), |(at, _)| Err(format!("byte {at} of thread {thread} was not copied")))
}

/// Bytes a second that the device reads and writes when it copies within its memory.
pub(crate) fn on_device(context: &Context, bytes: usize, copies: u32) -> Result<f64, String> {
    let of = |made: Result<DeviceMemory, sluice_cuda::CudaError>| made.map_err(|e| e.to_string());
    let (source, target) = (of(context.allocate(bytes))?, of(context.allocate(bytes))?);
    let stream = context.thread_stream();
    let copy = |copies: u32| -> Result<(), String> {
        for _ in 0..copies {
            // SAFETY: two allocations of that size, which are kept until the stream has finished, or for ever.
            unsafe { stream.copy_on_device(target.address(), source.address(), bytes) }.map_err(|e| e.to_string())?;
        }
        stream.finish(Wait::at_most(LIMIT)).map_err(|e| e.to_string())
    };
    // SAFETY: as above.
    let filled = unsafe { stream.fill(source.address(), 7, bytes) }.map_err(|e| e.to_string()).and_then(|()| copy(1));
    let begin = Instant::now();
    let copied = filled.and_then(|()| copy(copies));
    let seconds = begin.elapsed().as_secs_f64();
    if copied.is_err() {
        std::mem::forget((source, target));
    }
    copied.map(|()| 2.0 * bytes as f64 * f64::from(copies) / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    const PLAN: Plan = Plan { threads: 3, bytes: 10_000, copies: 2 };

    #[test]
    fn what_is_copied_arrives_and_all_memory_is_given_back() {
        let machine = Machine::simulated(5).expect("made");
        for make in [Source::driver, Source::leases] {
            let source = make(&machine.context);
            for direction in [Direction::ToDevice, Direction::ToHost] {
                assert!(rate(&machine.context, &source, direction, PLAN).expect("copied") > 0.0);
            }
            drop(source);
        }
        assert!(on_device(&machine.context, 4096, 2).expect("copied") > 0.0);
        let simulator = machine.simulator.as_ref().expect("simulated");
        assert_eq!(simulator.violations(), Vec::<String>::new());
        let counts = simulator.counts();
        assert_eq!((counts.allocations, counts.registrations), (0, 0), "{counts:?}");
    }

    #[test]
    fn memory_that_cannot_be_pinned_is_not_measured() {
        let machine = Machine::simulated(5).expect("made");
        machine.simulator.as_ref().expect("simulated").configure("pinned=0");
        for make in [Source::driver, Source::leases] {
            let source = make(&machine.context);
            let why = rate(&machine.context, &source, Direction::ToHost, PLAN).expect_err("refused");
            assert!(why.contains("cuMemHostRegister_v2"), "{why}");
        }
    }

    #[test]
    fn a_device_that_is_lost_ends_the_copies() {
        let machine = Machine::simulated(5).expect("made");
        machine.simulator.as_ref().expect("simulated").configure("lose=cuMemcpyHtoDAsync_v2@5");
        let why = rate(&machine.context, &Source::driver(&machine.context), Direction::ToDevice, PLAN);
        assert!(why.expect_err("lost").contains("CUDA_ERROR"), "lost");
    }
}
