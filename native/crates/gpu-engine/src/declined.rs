//! Why the GPU does not do something.

use std::fmt;

use sluice_cuda::{CudaError, ErrorKind};

/// The GPU did not do it: the caller does it on the CPU, from the same input. Nothing was put out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declined {
    /// The build, or its folder, has no kernels for this device.
    NoKernels,
    /// Rows of more fields, or longer ones, or more at a time, than the kernels take.
    TooLarge(&'static str),
    /// The input failed a check. Whether it is corrupt, and how, the CPU says.
    CheckFailed(&'static str),
    /// A frame was compressed by a general codec.
    NeedsCodec,
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
            Self::NoKernels => f.write_str("there are no kernels for this GPU"),
            Self::TooLarge(what) => write!(f, "more than the GPU's kernels take: {what}"),
            Self::CheckFailed(what) => write!(f, "the GPU's checks found the input wrong: {what}"),
            Self::NeedsCodec => f.write_str("a general codec is needed, which only the CPU has"),
            Self::Memory(why) => why.fmt(f),
            Self::Device(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Declined {}
