//! The GPU that experiments run on, or the simulated one.

use sluice_cuda::{Context, CudaError, Driver, ErrorKind, Kernel};
use sluice_cuda_sim::Simulator;

use crate::kernel;

pub(crate) struct Machine {
    pub(crate) context: Context,
    pub(crate) kernel: Kernel,
    pub(crate) simulator: Option<Simulator>,
}

impl Machine {
    /// The machine's GPU; the simulated driver if there is no driver, or it says that there is no device. A driver that
    /// is there and does not work is an error.
    pub(crate) fn open(device: Option<&str>, seed: u64) -> Result<Self, String> {
        match Driver::open() {
            Ok(driver) => Self::on(&driver, device, None),
            Err(why) if device.is_none() && is_without_gpu(&why) => {
                println!("No GPU ({why}).");
                Self::simulated(seed)
            }
            Err(why) => Err(why.to_string()),
        }
    }

    pub(crate) fn simulated(seed: u64) -> Result<Self, String> {
        let simulator = Simulator::start(&format!("timeline=1 seed={seed} memory=4g"));
        simulator.register(kernel::SIMULATED);
        let driver = Driver::open_at(&simulator.path()).map_err(|e| e.to_string())?;
        Self::on(&driver, None, Some(simulator))
    }

    fn on(driver: &std::sync::Arc<Driver>, device: Option<&str>, simulator: Option<Simulator>) -> Result<Self, String> {
        let open = || {
            let context = driver.select(device)?.context()?;
            let image = if simulator.is_some() { Simulator::image(&[kernel::NAME]) } else { kernel::PTX.into() };
            let kernel = context.load(&image)?.kernel(kernel::NAME)?;
            Ok((context, kernel))
        };
        let (context, kernel) = open().map_err(|e: CudaError| e.to_string())?;
        Ok(Self { context, kernel, simulator })
    }

    /// Whether times mean something.
    pub(crate) fn is_real(&self) -> bool {
        self.simulator.is_none()
    }

    pub(crate) fn describe(&self) -> Result<String, String> {
        let memory = self.context.free_memory().map_err(|e| e.to_string())?;
        let device = self.context.device();
        let (free, total) = (memory.free_bytes >> 20, memory.total_bytes >> 20);
        let driver = device.driver().describe();
        Ok(format!("{driver}: {}; {free} of {total} MiB are free", device.describe()))
    }
}

/// Whether there is no GPU to work on, in contrast to one that does not work.
fn is_without_gpu(why: &CudaError) -> bool {
    why.kind() == ErrorKind::NoDriver || why.status() == sluice_cuda::sys::NO_DEVICE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_that_does_not_work_is_not_taken_for_none() {
        for (settings, without) in [
            ("devices=0", true),
            ("init=999", false),
            ("init=802", false),
            ("init=304", false),
            ("version=11080", false),
        ] {
            let why = Driver::open_at(&Simulator::start(settings).path()).expect_err(settings);
            assert_eq!(is_without_gpu(&why), without, "{settings}: {why}");
        }
        let none = Driver::open_at(std::path::Path::new("/nonexistent/libcuda.so.1")).expect_err("none");
        assert!(is_without_gpu(&none));
    }
}
