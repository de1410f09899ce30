//! Host memory that the device's results are copied to: one buffer, used again and again.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

use sluice_cuda::{Context, DeviceAddress, HostRegistration, Stream, Wait};
use sluice_engine::HeapShare;

use crate::declined::Declined;
use crate::driver_calls::DriverCalls;
use crate::submit::finish;

const PAGE_BYTES: usize = 4096;

/// A buffer of host memory. The device may still write to it after a wait that did not end, so it is freed only while
/// the device is not lost, and once its registration has ended; else it is left as it is.
#[derive(Debug)]
pub(crate) struct Staging {
    start: NonNull<u8>,
    layout: Layout,
    context: Context,
    /// None if it is not pinned.
    registration: Option<HostRegistration>,
    /// Those of the encode that has the buffer.
    calls: Arc<DriverCalls>,
    _share: HeapShare,
}

// SAFETY: the memory is this value's own, and the pointer leads nowhere else.
unsafe impl Send for Staging {}

impl Staging {
    /// A buffer that is not pinned.
    ///
    /// # Errors
    /// The system has no memory.
    pub(crate) fn plain(context: &Context, bytes: usize) -> Result<Self, Declined> {
        let none = Declined::NotTaken("the host has no memory for a buffer");
        let Ok(layout) = Layout::from_size_align(bytes.max(PAGE_BYTES), PAGE_BYTES) else { return Err(none) };
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(none)?;
        let _share = HeapShare::new(layout.size());
        let calls = Arc::new(DriverCalls::default());
        Ok(Self { start, layout, context: context.clone(), registration: None, calls, _share })
    }

    /// The same, pinned.
    ///
    /// # Errors
    /// Those of [`Self::plain`]; the driver cannot pin so much.
    pub(crate) fn pinned(context: &Context, bytes: usize) -> Result<Self, Declined> {
        let mut staging = Self::plain(context, bytes)?;
        // SAFETY: the memory is allocated, and `drop` frees it only when the registration has ended.
        staging.registration = Some(unsafe { context.register_host(staging.start, staging.layout.size()) }?);
        Ok(staging)
    }

    /// The calls of the driver of the encode that has the buffer.
    pub(crate) fn calls(&self) -> &Arc<DriverCalls> {
        &self.calls
    }

    /// For how many values it has room.
    pub(crate) fn room<T>(&self) -> usize {
        self.layout.size() / size_of::<T>().max(1)
    }

    /// All of it, as values.
    ///
    /// # Safety
    /// Any bytes are a `T`.
    pub(crate) unsafe fn values<T: Copy>(&mut self) -> &mut [T] {
        const { assert!(align_of::<T>() <= PAGE_BYTES) };
        // SAFETY: the buffer has room for so many, is initialised, and is aligned to a page; `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.room::<T>()) }
    }

    /// Copies values from the device, and waits for all work of the stream; if the buffer is not pinned, also before
    /// the copy, which the driver makes within the call then, when the stream's work has ended.
    ///
    /// # Safety
    /// Any bytes are a `T`; the source is allocated and has that many values.
    pub(crate) unsafe fn get<T: Copy>(
        &mut self,
        stream: &Stream,
        source: u64,
        count: usize,
        wait: Wait<'_>,
    ) -> Result<&[T], Declined> {
        const { assert!(align_of::<T>() <= PAGE_BYTES) };
        if count > self.room::<T>() {
            return Err(Declined::TooLarge("values of a copy"));
        }
        if self.registration.is_none() {
            finish(stream, wait)?;
        }
        if count > 0 {
            // SAFETY: the buffer has room for so many values, and stays until the copy is done, or for ever; nobody
            // reads it meanwhile, because no slice of it lives beside `&mut self`. The source is the caller's promise.
            unsafe { stream.copy_to_host(self.start.as_ptr(), DeviceAddress(source), count * size_of::<T>())? };
        }
        finish(stream, wait)?;
        self.calls.go_on();
        // SAFETY: `count` values lie at the start, which is aligned to a page: written by the copy that has ended, of
        // bytes that are values by the caller's promise. The slice borrows `self`, so that no other copy begins.
        Ok(unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), count) })
    }

    /// Copies values from the device to `target`, by way of the buffer, as many at a time as it holds, and waits for
    /// all work of the stream. Nothing is copied to `target` after this has returned, also after a wait that failed.
    ///
    /// # Safety
    /// As for [`Self::get`].
    pub(crate) unsafe fn get_all<T: Copy>(
        &mut self,
        stream: &Stream,
        source: u64,
        target: &mut [T],
        wait: Wait<'_>,
    ) -> Result<(), Declined> {
        let count = target.len();
        let mut copy = |at: usize, piece: &[T]| {
            target[at..at + piece.len()].copy_from_slice(piece);
            Ok(())
        };
        // SAFETY: the caller's promise.
        unsafe { self.take_all(stream, source, count, wait, &mut copy) }
    }

    /// Copies values from the device, by way of the buffer, as many at a time as it holds, and waits for all work of
    /// the stream: `take` gets each piece, and how many values came before it.
    ///
    /// # Errors
    /// Those of `take`, and the device's.
    ///
    /// # Safety
    /// As for [`Self::get`].
    pub(crate) unsafe fn take_all<T: Copy>(
        &mut self,
        stream: &Stream,
        source: u64,
        count: usize,
        wait: Wait<'_>,
        take: &mut impl FnMut(usize, &[T]) -> Result<(), Declined>,
    ) -> Result<(), Declined> {
        if count == 0 {
            return finish(stream, wait);
        }
        let (room, calls) = (self.room::<T>(), Arc::clone(&self.calls));
        for at in (0..count).step_by(room) {
            let from = source + (at * size_of::<T>()) as u64;
            // SAFETY: the caller's promise; these are some of its values.
            let piece = unsafe { self.get::<T>(stream, from, room.min(count - at), wait)? };
            calls.pause(|| take(at, piece))?;
        }
        Ok(())
    }
}

impl Staging {
    /// Copies `bytes` bytes to the device, by way of the buffer, as many at a time as it holds: `fill` puts the bytes
    /// from an offset on into the buffer. Waits for all work of the stream, also when it fails.
    ///
    /// # Errors
    /// Those of `fill`, and the device's.
    ///
    /// # Safety
    /// The target is allocated, has so many bytes, and is used in the order of this stream only.
    pub(crate) unsafe fn put_all<E: From<Declined>>(
        &mut self,
        stream: &Stream,
        target: u64,
        bytes: u64,
        wait: Wait<'_>,
        mut fill: impl FnMut(&mut [u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        while done < bytes {
            // A copy that was not waited for may still use the buffer.
            if let Some(lost) = self.context.lost() {
                return Err(Declined::from(lost.clone()).into());
            }
            let count = (self.layout.size() as u64).min(bytes - done) as usize;
            // SAFETY: the buffer has so many initialised bytes, no copy uses it now, because each was waited for, and
            // no other slice of it lives beside `&mut self`.
            let piece = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), count) };
            self.calls.pause(|| fill(piece, done))?;
            // SAFETY: the buffer is not touched before the wait has ended, or for ever; the target is the caller's
            // promise.
            let copied = unsafe { stream.copy_to_device(DeviceAddress(target + done), self.start.as_ptr(), count) };
            let finished = finish(stream, wait);
            copied.map_err(Declined::from)?;
            finished?;
            self.calls.go_on();
            done += count as u64;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let registration = self.registration.take();
        if self.context.lost().is_some() {
            self.context.count_leak(self.layout.size());
            // It would not end, and be counted twice.
            std::mem::forget(registration);
            return;
        }
        if registration.is_none_or(HostRegistration::end) {
            // SAFETY: allocated with this layout; the device is not lost, so that every copy was waited for (`finish`
            // loses it otherwise), and the driver has let go of it.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
