//! Why the GPU does not do something.

use std::fmt;

use sluice_cuda::{CudaError, ErrorKind};

/// The GPU did not do it: the caller does it on the CPU, from the same input. Nothing was put out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declined {
    /// Copies and launches would take longer than the work.
    TooSmall,
    /// The CPU is faster now, by what was measured.
    CpuFaster,
    /// The GPU has failed a moment ago.
    Paused,
    /// As many encodes as there may be at a time are under way.
    Busy,
    /// The build, or its folder, has no kernels for this device.
    NoKernels,
    /// Rows of more fields, or longer ones, or more at a time, than the kernels take or the memory limit ever has room
    /// for.
    TooLarge(&'static str),
    /// The input failed a check. Whether it is corrupt, and how, the CPU says.
    CheckFailed(&'static str),
    /// What the GPU has made cannot be right.
    WrongResult(&'static str),
    /// A frame was compressed by a general codec.
    NeedsCodec,
    /// Numbers of a column look like places of values, so that its frames need the rows as they are.
    NeedsRows,
    /// The caller did not take the frames.
    NotTaken(&'static str),
    /// No memory of the device, the device was lost, or the task is being killed.
    Memory(sluice_gpu_mem::Declined),
    /// The driver refused a call, or the device was lost.
    Device(CudaError),
}

impl Declined {
    /// Whether the GPU cannot be used by this process any more.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Memory(why) => *why == sluice_gpu_mem::Declined::DeviceLost,
            Self::Device(error) => error.kind() == ErrorKind::DeviceLost,
            _ => false,
        }
    }

    /// In a word, for one who only passes it on.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            lost if lost.is_lost() => "the GPU was lost",
            Self::TooSmall => "a small batch",
            Self::CpuFaster => "the CPU is faster",
            Self::Paused => "the GPU has failed a moment ago",
            Self::Busy => "the GPU is busy",
            Self::NoKernels => "no kernels",
            Self::TooLarge(what) | Self::CheckFailed(what) | Self::WrongResult(what) | Self::NotTaken(what) => what,
            Self::NeedsCodec => "a general codec",
            Self::NeedsRows => "rows are needed",
            Self::Memory(_) => "no memory of the GPU",
            Self::Device(_) => "a call of the driver failed",
        }
    }
}

impl From<CudaError> for Declined {
    fn from(error: CudaError) -> Self {
        Self::Device(error)
    }
}

impl From<sluice_gpu_mem::Declined> for Declined {
    fn from(why: sluice_gpu_mem::Declined) -> Self {
        Self::Memory(why)
    }
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall => f.write_str("the batch is too small to pay"),
            Self::CpuFaster => f.write_str("the CPU is faster"),
            Self::Paused => f.write_str("the GPU has failed a moment ago"),
            Self::Busy => f.write_str("the GPU has as much to do as it may"),
            Self::NotTaken(why) => write!(f, "the frames were not taken: {why}"),
            Self::NoKernels => f.write_str("there are no kernels for this GPU"),
            Self::TooLarge(what) => write!(f, "more than the GPU's kernels or its memory limit take: {what}"),
            Self::CheckFailed(what) => write!(f, "the GPU's checks found the input wrong: {what}"),
            Self::WrongResult(what) => write!(f, "the GPU makes wrong results: {what}"),
            Self::NeedsCodec => f.write_str("a general codec is needed, which only the CPU has"),
            Self::NeedsRows => f.write_str("a column's numbers look like places of values, and there are no rows"),
            Self::Memory(why) => why.fmt(f),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Declined {}
