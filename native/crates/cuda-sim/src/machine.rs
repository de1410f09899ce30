//! All that is simulated, in one object behind one lock.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::accesses::Accesses;
use crate::config::{Config, VARIABLE};
use crate::faults::{Effect, Faults};
use crate::image::Image;
use crate::kernel::Kernel;
use crate::memory::DeviceMemory;
use crate::random::Random;
use crate::schedule::{Schedule, StreamKey, WorkId};
use crate::status::{self, Status};
use crate::work::Work;

/// How many mistakes are kept.
const REPORTED: usize = 100;
/// What the host's memory has between the call of a copy to it and the copy.
const UNWRITTEN: u8 = 0x5e;
/// A call that blocks gives up after this, so that no test hangs.
const BLOCKED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) memory: DeviceMemory,
    /// How often its primary context is retained.
    pub(crate) retained: usize,
    /// What all calls in the context answer.
    pub(crate) sticky: Option<Status>,
}

/// A function of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: usize,
    pub(crate) kernel: Kernel,
    /// Dynamic shared memory that launches may have.
    pub(crate) shared_bytes: u32,
}

/// A step that was done, for a picture of the order.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) stream: String,
    pub(crate) function: &'static str,
    /// Its place in the order of the calls.
    pub(crate) put: WorkId,
}

#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) config: Config,
    pub(crate) faults: Faults,
    pub(crate) random: Option<Random>,
    pub(crate) initialised: bool,
    pub(crate) devices: Vec<Device>,
    pub(crate) schedule: Schedule,
    pub(crate) accesses: Accesses,
    /// Modules by handle, with their device.
    pub(crate) modules: BTreeMap<usize, (usize, Image)>,
    pub(crate) functions: BTreeMap<usize, Function>,
    pub(crate) kernels: Vec<Kernel>,
    /// Length of registered host memory by its start.
    pub(crate) registered: BTreeMap<usize, usize>,
    pub(crate) mistakes: Vec<String>,
    pub(crate) timeline: Vec<Done>,
    pub(crate) executed: u64,
    /// How often the driver waited for all work of a device.
    pub(crate) waits: u64,
    /// Whether calls that block go on.
    pub(crate) released: bool,
    hang_next: bool,
    last_handle: usize,
}

static MACHINE: LazyLock<Mutex<Machine>> = LazyLock::new(|| {
    let mut machine = Machine::default();
    if let Ok(text) = std::env::var(VARIABLE)
        && let Err(why) = machine.configure(&text)
    {
        machine.report(why);
    }
    Mutex::new(machine)
});
static RELEASED: Condvar = Condvar::new();

thread_local! {
    /// The contexts that are current on this thread, as devices; the last is the one.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

pub(crate) fn lock() -> MutexGuard<'static, Machine> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets blocked calls go on, these and all later ones.
pub(crate) fn release() {
    lock().released = true;
    RELEASED.notify_all();
}

fn block(machine: MutexGuard<'static, Machine>, function: &str) -> MutexGuard<'static, Machine> {
    let waited = RELEASED.wait_timeout_while(machine, BLOCKED, |machine| !machine.released);
    let mut machine = waited.unwrap_or_else(PoisonError::into_inner).0;
    if !machine.released {
        machine.report(format!("{function} was blocked for {BLOCKED:?}"));
    }
    machine
}

pub(crate) fn push(device: usize) {
    // Destructors of a thread may call the driver when this is gone.
    let _ = CURRENT.try_with(|current| current.borrow_mut().push(device));
}

pub(crate) fn pop() -> Option<usize> {
    CURRENT.try_with(|current| current.borrow_mut().pop()).ok().flatten()
}

pub(crate) fn current() -> Option<usize> {
    CURRENT.try_with(|current| current.borrow().last().copied()).ok().flatten()
}

/// Counts a call of the driver, and makes the fault that is planned for it.
fn begin(function: &'static str) -> Result<MutexGuard<'static, Machine>, Status> {
    let mut machine = lock();
    let effect = machine.faults.call(function);
    machine.hang_next = effect == Some(Effect::Hang);
    match effect {
        Some(Effect::Fail(status)) => Err(status),
        Some(Effect::Sticky(status)) => {
            for device in &mut machine.devices {
                device.sticky.get_or_insert(status);
            }
            Err(status)
        }
        Some(Effect::Block) => Ok(block(machine, function)),
        Some(Effect::Hang) | None => Ok(machine),
    }
}

/// A call of the driver.
pub(crate) fn call(function: &'static str, body: impl FnOnce(&mut Machine) -> Result<(), Status>) -> Status {
    let done = begin(function).and_then(|mut machine| body(&mut machine));
    done.err().unwrap_or(status::SUCCESS)
}

/// A call that works on a device through the current context.
pub(crate) fn call_in_context(
    function: &'static str,
    body: impl FnOnce(&mut Machine, usize) -> Result<(), Status>,
) -> Status {
    call(function, |machine| {
        let device = current().ok_or(status::INVALID_CONTEXT)?;
        machine.check(device)?;
        body(machine, device)
    })
}

/// Does what the targets need, as a call that waits for them; `observe` says that they are seen done. A call that waits
/// for work that never ends is blocked.
fn wait(
    mut machine: MutexGuard<'static, Machine>,
    function: &str,
    targets: &[WorkId],
    observe: impl FnOnce(&mut Schedule),
) -> MutexGuard<'static, Machine> {
    machine.go_on(targets, usize::MAX);
    if !machine.schedule.is_done(targets) {
        return block(machine, function);
    }
    observe(&mut machine.schedule);
    machine
}

/// A call before which the driver waits for the work that the device has then.
pub(crate) fn call_after_all(
    function: &'static str,
    body: impl FnOnce(&mut Machine, usize) -> Result<(), Status>,
) -> Status {
    let after_all = || {
        let mut machine = begin(function)?;
        let device = current().ok_or(status::INVALID_CONTEXT)?;
        machine.check(device)?;
        machine.waits += 1;
        let targets = machine.schedule.of_device(device);
        let mut machine = wait(machine, function, &targets, |schedule| schedule.observe_device(device));
        machine.check(device)?;
        body(&mut machine, device)
    };
    after_all().err().unwrap_or(status::SUCCESS)
}

/// A call that puts work into a stream. `body` answers with the stream if the call returns only when all work of it is
/// done.
pub(crate) fn call_until_done(
    function: &'static str,
    body: impl FnOnce(&mut Machine, usize) -> Result<Option<usize>, Status>,
) -> Status {
    let until_done = || {
        let mut machine = begin(function)?;
        let device = current().ok_or(status::INVALID_CONTEXT)?;
        machine.check(device)?;
        let Some(stream) = body(&mut machine, device)? else { return Ok(()) };
        let targets = machine.schedule.of_stream(stream);
        wait(machine, function, &targets, |schedule| schedule.observe_stream(stream)).check(device)
    };
    until_done().err().unwrap_or(status::SUCCESS)
}

impl Machine {
    /// Changes settings and adds faults.
    pub(crate) fn configure(&mut self, text: &str) -> Result<(), String> {
        let (hardware, seed) = ((self.config.devices, self.config.memory), self.config.seed);
        self.config.change(&mut self.faults, text)?;
        if self.initialised && hardware != (self.config.devices, self.config.memory) {
            return Err("devices and their memory are fixed once the driver is initialised".into());
        }
        if seed != self.config.seed {
            self.random = None;
        }
        Ok(())
    }

    pub(crate) fn initialise(&mut self) -> Result<(), Status> {
        if self.config.init != status::SUCCESS {
            return Err(self.config.init);
        }
        if self.config.devices == 0 {
            return Err(status::NO_DEVICE);
        }
        while self.devices.len() < self.config.devices {
            let memory = DeviceMemory::new(self.config.memory).map_err(|why| {
                self.report(why);
                status::OUT_OF_MEMORY
            })?;
            self.devices.push(Device { memory, retained: 0, sticky: None });
        }
        self.initialised = true;
        Ok(())
    }

    /// A device of this number.
    pub(crate) fn device(&self, device: i32) -> Result<usize, Status> {
        if !self.initialised {
            return Err(status::NOT_INITIALIZED);
        }
        usize::try_from(device).ok().filter(|device| *device < self.devices.len()).ok_or(status::INVALID_DEVICE)
    }

    /// Whether calls in the context work.
    pub(crate) fn check(&self, device: usize) -> Result<(), Status> {
        let state = self.devices.get(device).filter(|device| device.retained > 0).ok_or(status::INVALID_CONTEXT)?;
        state.sticky.map_or(Ok(()), Err)
    }

    /// Keeps a mistake of the program's, once.
    pub(crate) fn report(&mut self, words: String) {
        if self.mistakes.len() < REPORTED && !self.mistakes.contains(&words) {
            self.mistakes.push(words);
        }
    }

    pub(crate) fn new_handle(&mut self) -> usize {
        self.last_handle += 16;
        0x1000 + self.last_handle
    }

    pub(crate) fn random(&mut self) -> &mut Random {
        let seed = self.config.seed;
        self.random.get_or_insert_with(|| Random::new(seed))
    }

    /// The index of the stream that a handle means on this thread.
    pub(crate) fn stream(&mut self, device: usize, handle: usize) -> Result<usize, Status> {
        let key = match handle {
            0 | 1 => StreamKey::Legacy,
            2 => StreamKey::Thread(thread()),
            made => StreamKey::Made(made),
        };
        let found = self.schedule.stream(device, key);
        found.ok_or_else(|| {
            self.report(format!("stream {handle:#x} was destroyed, or is none"));
            status::INVALID_HANDLE
        })
    }

    /// Puts work into a stream.
    pub(crate) fn put(
        &mut self,
        device: usize,
        function: &'static str,
        stream: usize,
        work: Work,
    ) -> Result<(), Status> {
        let stream = self.stream(device, stream)?;
        let hangs = std::mem::take(&mut self.hang_next);
        self.schedule.put(stream, function, work, None, hangs);
        Ok(())
    }

    /// Whether the work to be put next is not to end.
    pub(crate) fn take_hang(&mut self) -> bool {
        std::mem::take(&mut self.hang_next)
    }

    /// Does at most `steps` of what is needed for the targets.
    pub(crate) fn go_on(&mut self, targets: &[WorkId], steps: usize) {
        for _ in 0..steps {
            let seed = self.config.seed;
            let random = self.random.get_or_insert_with(|| Random::new(seed));
            let Some((id, pending)) = self.schedule.take(targets, random) else { return };
            self.executed += 1;
            if self.config.timeline {
                let stream = self.schedule.describe(pending.stream);
                self.timeline.push(Done { stream, function: pending.function, put: id });
            }
            self.perform(id, &pending);
        }
    }

    /// Somebody asks whether the targets are done: nothing is done for them, or a little, or all.
    pub(crate) fn ask(&mut self, targets: &[WorkId]) -> bool {
        let steps = match self.random().below(4) {
            0 => 0,
            1 => 1 + self.random().below(3),
            _ => usize::MAX,
        };
        self.go_on(targets, steps);
        self.schedule.is_done(targets)
    }

    /// Whether a range of host memory is registered, all of it.
    pub(crate) fn is_registered(&self, start: usize, bytes: usize) -> bool {
        let before = self.registered.range(..=start).next_back();
        before.is_some_and(|(from, length)| start.saturating_add(bytes) <= from + length)
    }

    /// Fills what a copy to the host is going to write, so that who reads it too early does not find what is right. Not
    /// what pending work uses: copies of the same stream may go from and to the same memory.
    pub(crate) fn spoil(&self, target: usize, bytes: usize) {
        let end = target.saturating_add(bytes);
        let ranges = (0..self.devices.len()).flat_map(|device| self.schedule.pending(device));
        let mut used = ranges.filter_map(|pending| pending.work.host_range());
        if !used.any(|(from, length)| from < end && target < from.saturating_add(length)) {
            crate::work::fill_host(target, bytes, UNWRITTEN);
        }
    }

    /// Frees memory; a wrong address is reported.
    pub(crate) fn free(&mut self, device: usize, address: u64, function: &str) -> Result<(), Status> {
        match self.devices[device].memory.free(address) {
            Ok(bytes) => {
                self.accesses.forget(address, bytes);
                Ok(())
            }
            Err(what) => {
                self.report(format!("{function}: {what}"));
                Err(status::INVALID_VALUE)
            }
        }
    }

    /// The last user of the context has gone.
    pub(crate) fn end_context(&mut self, device: usize) -> Result<(), Status> {
        let (allocations, bytes) = self.devices[device].memory.allocations();
        let streams = self.schedule.made_streams(device);
        let events = self.schedule.events.values().filter(|event| event.device == device).count();
        let modules = self.modules.values().filter(|(of, _)| *of == device).count();
        // Registrations are of all devices.
        let last = self.devices.iter().all(|device| device.retained == 0);
        let registrations = if last { std::mem::take(&mut self.registered).len() } else { 0 };
        if registrations > 0 {
            self.report(format!("the last context ended with {registrations} registrations of host memory"));
        }
        if allocations + streams + events + modules > 0 {
            self.report(format!(
                "the context ended with {allocations} allocations ({bytes} bytes), {streams} streams, {events} events \
                 and {modules} modules"
            ));
        }
        self.schedule.forget(device);
        self.modules.retain(|_, (of, _)| *of != device);
        let modules = &self.modules;
        self.functions.retain(|_, function| modules.contains_key(&function.module));
        if allocations > 0 {
            let memory = DeviceMemory::new(self.config.memory).map_err(|_| status::OUT_OF_MEMORY)?;
            self.devices[device].memory = memory;
        }
        Ok(())
    }
}

/// This thread's number.
fn thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    THREAD.with(|thread| {
        if thread.get() == 0 {
            thread.set(1 + LAST.fetch_add(1, Ordering::Relaxed));
        }
        thread.get()
    })
}
