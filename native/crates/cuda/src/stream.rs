//! Streams: work for the device that is done in order.

use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Context;
use crate::error::CudaError;
use crate::event::Event;
use crate::memory::DeviceAddress;
use crate::module::{Kernel, Launch};
use crate::sys;
use crate::wait::{Wait, Waited};

/// Which of a context's streams it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// The calling thread's default stream (`CU_STREAM_PER_THREAD`).
    PerThread,
    /// The legacy default stream, which all threads share (`CU_STREAM_LEGACY`), which waits for all blocking streams,
    /// those of the threads too, and they for it.
    Legacy,
    /// A stream that was made, which does not wait for the legacy one.
    Made,
}

/// Tells the streams of a context apart, for as long as the process lives: numbers are not used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    const LEGACY: Self = Self(0);

    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(1 + LAST.fetch_add(1, Ordering::Relaxed))
    }

    fn of_this_thread() -> Self {
        thread_local!(static ID: Cell<StreamId> = const { Cell::new(StreamId::LEGACY) });
        ID.with(|id| {
            if id.get() == Self::LEGACY {
                id.set(Self::next());
            }
            id.get()
        })
    }
}

/// A stream of a context. It stays with the thread that asked for it, because a thread's default stream is another one
/// on another thread.
///
/// All work is to be taken for asynchronous, though the driver may do some of it at once (copies of host memory that is
/// not pinned, among others): memory that is named here is in use until an event after it is done, or the stream's
/// later work uses it again. A stream that was made ends with this value, after its work; the work is done all the
/// same.
#[derive(Debug)]
pub struct Stream {
    context: Context,
    handle: sys::Stream,
    kind: StreamKind,
    id: StreamId,
    /// Of this thread.
    not_send: PhantomData<*const ()>,
}

impl Context {
    /// The calling thread's default stream; made by the driver when it is first used.
    pub fn thread_stream(&self) -> Stream {
        self.stream_of(sys::STREAM_PER_THREAD, StreamKind::PerThread, StreamId::of_this_thread())
    }

    /// The default stream that all threads share. Only to compare with: one task's work waits for all others'.
    pub fn legacy_stream(&self) -> Stream {
        self.stream_of(sys::STREAM_LEGACY, StreamKind::Legacy, StreamId::LEGACY)
    }

    /// Makes a stream.
    ///
    /// # Errors
    /// The device is lost.
    pub fn new_stream(&self) -> Result<Stream, CudaError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: writes a handle.
        self.call("cuStreamCreate", |calls| unsafe { (calls.stream_create)(&mut handle, sys::STREAM_NON_BLOCKING) })?;
        Ok(self.stream_of(handle, StreamKind::Made, StreamId::next()))
    }

    fn stream_of(&self, handle: sys::Stream, kind: StreamKind, id: StreamId) -> Stream {
        Stream { context: self.clone(), handle, kind, id, not_send: PhantomData }
    }
}

impl Stream {
    /// Which of the context's streams it is.
    pub fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Its number among the context's streams.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn handle(&self) -> sys::Stream {
        self.handle
    }

    /// Copies host memory to the device. If the memory is not pinned the call may wait for the copy.
    ///
    /// # Errors
    /// The device is lost, or the driver rejects the addresses.
    ///
    /// # Safety
    /// Until this work is done: `source .. source + bytes` is readable, stays pinned if it is, and nobody writes to it;
    /// `target .. target + bytes` is allocated on the device and no work that is not ordered with this uses it.
    pub unsafe fn copy_to_device(
        &self,
        target: DeviceAddress,
        source: *const u8,
        bytes: usize,
    ) -> Result<(), CudaError> {
        self.context.call("cuMemcpyHtoDAsync_v2", |calls| {
            // SAFETY: the caller's promises.
            unsafe { (calls.copy_to_device)(target.0, source.cast(), bytes, self.handle) }
        })
    }

    /// Copies memory of the device to the host. If the host's is not pinned the call may wait for the copy.
    ///
    /// # Errors
    /// As [`Stream::copy_to_device`].
    ///
    /// # Safety
    /// Until this work is done: `target .. target + bytes` is writable, stays pinned if it is, and nobody else reads or
    /// writes it; `source .. source + bytes` is allocated on the device and no work that is not ordered with this
    /// writes to it.
    pub unsafe fn copy_to_host(&self, target: *mut u8, source: DeviceAddress, bytes: usize) -> Result<(), CudaError> {
        self.context.call("cuMemcpyDtoHAsync_v2", |calls| {
            // SAFETY: the caller's promises.
            unsafe { (calls.copy_to_host)(target.cast(), source.0, bytes, self.handle) }
        })
    }

    /// Copies within the device's memory; the ranges do not overlap.
    ///
    /// # Errors
    /// As [`Stream::copy_to_device`].
    ///
    /// # Safety
    /// Until this work is done both ranges are allocated on the device, and no work that is not ordered with this uses
    /// the target or writes to the source.
    pub unsafe fn copy_on_device(
        &self,
        target: DeviceAddress,
        source: DeviceAddress,
        bytes: usize,
    ) -> Result<(), CudaError> {
        self.context.call("cuMemcpyDtoDAsync_v2", |calls| {
            // SAFETY: the caller's promises.
            unsafe { (calls.copy_on_device)(target.0, source.0, bytes, self.handle) }
        })
    }

    /// Fills memory of the device with one byte.
    ///
    /// # Errors
    /// As [`Stream::copy_to_device`].
    ///
    /// # Safety
    /// Until this work is done `target .. target + bytes` is allocated on the device, and no work that is not ordered
    /// with this uses it.
    pub unsafe fn fill(&self, target: DeviceAddress, byte: u8, bytes: usize) -> Result<(), CudaError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.call("cuMemsetD8Async", |calls| {
            // SAFETY: the caller's promises.
            unsafe { (calls.fill)(target.0, byte, bytes, self.handle) }
        })
    }

    /// Starts a kernel. `parameters` are the addresses of its parameters' values, which are copied before this returns.
    ///
    /// # Errors
    /// The device is lost; the launch asks for more than the device or the kernel allows.
    ///
    /// # Safety
    /// The parameters are those of the kernel, in number and type; what they point to is as the kernel needs it, and
    /// its module is loaded (a [`Kernel`] of it is there), until this work is done.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        launch: Launch,
        parameters: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (launch.grid, launch.block);
        self.context.call("cuLaunchKernel", |calls| {
            // SAFETY: the caller's promises.
            unsafe {
                (calls.launch)(
                    kernel.handle(),
                    grid_x,
                    grid_y,
                    grid_z,
                    block_x,
                    block_y,
                    block_z,
                    launch.shared_bytes,
                    self.handle,
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            }
        })
    }

    /// Lets later work of this stream wait for an event, which may be of another device. Does not wait here.
    ///
    /// # Errors
    /// The device is lost.
    pub fn wait_for(&self, event: &Event) -> Result<(), CudaError> {
        // SAFETY: the event is there until this returns.
        unsafe { self.wait_for_foreign(event.handle()) }
    }

    /// Lets later work of this stream wait for an event that other code has made (`CUevent`, which is CUDA's runtime's
    /// `cudaEvent_t` too). Does not wait here.
    ///
    /// # Errors
    /// The device is lost, or the driver does not know the event.
    ///
    /// # Safety
    /// `event` is an event that is not destroyed before this returns.
    pub unsafe fn wait_for_foreign(&self, event: *mut c_void) -> Result<(), CudaError> {
        // SAFETY: the stream's handle is valid, and the event's by the caller's promise.
        self.context.call("cuStreamWaitEvent", |calls| unsafe { (calls.stream_wait_event)(self.handle, event, 0) })
    }

    /// Allocates from the device's own pool, in this stream's order (`cuMemAllocAsync`). To compare with, and no more:
    /// such memory cannot be exported by UCX.
    ///
    /// # Errors
    /// [`crate::ErrorKind::OutOfMemory`], or the device is lost.
    pub fn allocate_from_pool(&self, bytes: usize) -> Result<DeviceAddress, CudaError> {
        let mut address = 0;
        self.context.call("cuMemAllocAsync", |calls| {
            // SAFETY: writes an address; the handle is valid.
            unsafe { (calls.mem_alloc_async)(&mut address, bytes, self.handle) }
        })?;
        Ok(DeviceAddress(address))
    }

    /// Gives memory of [`Stream::allocate_from_pool`] back, after this stream's work so far.
    ///
    /// # Errors
    /// The device is lost.
    ///
    /// # Safety
    /// The memory is from the pool, is given back once, and no work uses it that is not done or before this in order.
    pub unsafe fn free_to_pool(&self, address: DeviceAddress) -> Result<(), CudaError> {
        // SAFETY: the caller's promises.
        self.context.call("cuMemFreeAsync", |calls| unsafe { (calls.mem_free_async)(address.0, self.handle) })
    }

    /// Whether all work of the stream is done. Never waits.
    ///
    /// # Errors
    /// The device is lost, by this work or by other.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        // SAFETY: the handle is valid.
        self.context.ask("cuStreamQuery", |calls| unsafe { (calls.stream_query)(self.handle) })
    }

    /// Waits for all work of the stream.
    ///
    /// # Errors
    /// The device is lost.
    pub fn wait(&self, wait: Wait<'_>) -> Result<Waited, CudaError> {
        self.context.wait(wait, || self.is_done())
    }

    /// Waits for work that must end: when the limit is reached the device is given up.
    ///
    /// # Errors
    /// The device is lost, now or before; [`crate::ErrorKind::Killed`].
    pub fn finish(&self, wait: Wait<'_>) -> Result<(), CudaError> {
        self.context.finished(self.wait(wait)?, wait.limit())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.kind == StreamKind::Made {
            // SAFETY: the handle is given back once; the driver ends the stream after its work.
            self.context.give_back("cuStreamDestroy_v2", 0, |calls| unsafe { (calls.stream_destroy)(self.handle) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_stream_of_its_own() {
        let here = StreamId::of_this_thread();
        assert_eq!(here, StreamId::of_this_thread());
        let there = std::thread::spawn(StreamId::of_this_thread).join().expect("ends");
        assert!(here != there && here != StreamId::LEGACY && there != StreamId::LEGACY);
    }
}
