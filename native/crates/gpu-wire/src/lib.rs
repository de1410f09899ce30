//! The copies by which [`sluice_transport::BounceWire`] reads between the memory of hosts and of GPUs: those of CUDA's
//! driver.
//!
//! [`CudaCopies`] has one allocation on the device and one registered range of host memory, from which all slots are,
//! for as long as it lives; a copy is put into the calling thread's stream, and an event tells of its end.
//!
//! # Invariants
//! 1. A copy that does not end in time loses the device for this process, and its end counts as unknown; so does each
//!    one that was under way when the device was lost for another reason.
//! 2. Memory that a copy may still write to is not given back: [`BounceWire`](sluice_transport::BounceWire) keeps this
//!    value for ever then, and a registration that does not end keeps its range.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use sluice_cuda::{Context, CudaError, DeviceAddress, DeviceMemory, Event, HostRegistration};
use sluice_mem::MemoryKind;
use sluice_transport::{CopyEnd, DeviceCopy, GpuCopies, Slots};

const PAGE_BYTES: usize = 4096;

/// How much memory is kept for pieces on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOptions {
    /// Slots; as many of each sort.
    pub slots: usize,
    /// Bytes of each.
    pub slot_bytes: usize,
    /// A copy that takes longer does not end: the device is given up.
    pub limit: Duration,
}

impl Default for CopyOptions {
    /// Four slots of 4 MiB: of an H100's memory of another process, pieces of this size come at 90 GB/s, and one of
    /// them is copied while the next ones come.
    fn default() -> Self {
        Self { slots: 4, slot_bytes: 4 << 20, limit: Duration::from_secs(10) }
    }
}

/// Page-aligned host memory that is registered with the driver.
struct Pinned {
    registration: Option<HostRegistration>,
    start: NonNull<u8>,
    layout: Layout,
}

impl Pinned {
    fn new(context: &Context, bytes: usize) -> Result<Self, CudaError> {
        let layout = Layout::from_size_align(bytes.next_multiple_of(PAGE_BYTES).max(PAGE_BYTES), PAGE_BYTES);
        let layout = layout.unwrap_or_else(|_| handle_alloc_error(Layout::new::<u8>()));
        // SAFETY: the layout has at least a page.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        let mut pinned = Self { registration: None, start, layout };
        // SAFETY: the memory is there until `drop`, which ends the registration first, or leaves both.
        pinned.registration = Some(unsafe { context.register_host(start, layout.size()) }?);
        Ok(pinned)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.registration.take().is_none_or(HostRegistration::end) {
            // SAFETY: allocated with this layout; neither registered nor used any more.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

/// A slot's copy.
struct UnderWay {
    end: Instant,
    done: Event,
    is_copying: bool,
}

/// Copies between this process's memory and its GPU's. Made and used on one thread, whose stream it uses.
pub struct CudaCopies {
    // In this order: the events before the memory that copies write to.
    slots: Vec<UnderWay>,
    pinned: Pinned,
    device: DeviceMemory,
    context: Context,
    options: CopyOptions,
    /// A thread's stream is another one on another thread.
    not_send: PhantomData<*const ()>,
}

impl CudaCopies {
    /// Allocates and registers the slots.
    ///
    /// # Errors
    /// There is too little memory on the device or to be pinned; the device is lost.
    pub fn new(context: &Context, options: CopyOptions) -> Result<Self, CudaError> {
        let CopyOptions { slots, slot_bytes, .. } = options;
        // And one for the sample.
        let device = context.allocate((slots + 1) * slot_bytes)?;
        let pinned = Pinned::new(context, slots * slot_bytes)?;
        let slot = || Ok(UnderWay { end: Instant::now(), done: context.event()?, is_copying: false });
        let slots = (0..slots).map(|_| slot()).collect::<Result<_, CudaError>>()?;
        Ok(Self { slots, pinned, device, context: context.clone(), options, not_send: PhantomData })
    }
}

impl GpuCopies for CudaCopies {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Device(self.device.ordinal())
    }

    fn slots(&self) -> Slots {
        let CopyOptions { slots, slot_bytes, .. } = self.options;
        let device = self.device.address().0 as usize;
        let pinned = self.pinned.start.as_ptr().expose_provenance();
        Slots { count: slots, bytes: slot_bytes, device, pinned, sample: device + slots * slot_bytes }
    }

    unsafe fn begin(&mut self, slot: usize, copy: DeviceCopy) -> Result<(), String> {
        let slot = self.slots.get_mut(slot).filter(|slot| !slot.is_copying).ok_or("no such slot is free")?;
        let stream = self.context.thread_stream();
        let DeviceCopy { to_device, target, source, bytes } = copy;
        // SAFETY: the caller's promises, until the event after it is done.
        let copied = unsafe {
            if to_device {
                stream.copy_to_device(DeviceAddress(target as u64), std::ptr::with_exposed_provenance(source), bytes)
            } else {
                stream.copy_to_host(std::ptr::with_exposed_provenance_mut(target), DeviceAddress(source as u64), bytes)
            }
        };
        copied.map_err(|e| e.to_string())?;
        (slot.is_copying, slot.end) = (true, Instant::now() + self.options.limit);
        if let Err(why) = slot.done.record(&stream) {
            // The copy is in the stream, and nothing will tell of its end.
            self.context.lose(&format!("an event could not be recorded: {why}"));
        }
        Ok(())
    }

    fn is_lost(&self) -> bool {
        self.context.lost().is_some()
    }

    fn ended(&mut self, slot: usize) -> Option<CopyEnd> {
        let slot = self.slots.get_mut(slot).filter(|slot| slot.is_copying)?;
        let unknown = |why: String| Some(CopyEnd::Unknown(why));
        match slot.done.is_done() {
            Ok(true) => {
                slot.is_copying = false;
                Some(CopyEnd::Done)
            }
            Ok(false) if Instant::now() < slot.end => None,
            Ok(false) => {
                let limit = self.options.limit;
                self.context.lose(&format!("a copy between host and device did not end in {limit:?}"));
                unknown(format!("a copy did not end in {limit:?}"))
            }
            Err(why) => unknown(why.to_string()),
        }
    }
}
