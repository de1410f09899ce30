//! The GPU that experiments run on, or the simulated one.

use sluice_cuda::{Context, Driver, Kernel};
use sluice_cuda_sim::Simulator;

use crate::kernel;

pub(crate) struct Machine {
    pub(crate) context: Context,
    pub(crate) kernel: Kernel,
    pub(crate) simulator: Option<Simulator>,
}

impl Machine {
    /// The machine's GPU; the simulated driver if there is no driver or no device. A driver that is there and does not
    /// work is an error.
    pub(crate) fn open(device: Option<&str>, seed: u64) -> Result<Self, String> {
        use sluice_cuda::ErrorKind::{NoDevice, NoDriver};
        match Driver::open() {
            Ok(driver) => Self::on(&driver, device, None),
            Err(why) if device.is_none() && matches!(why.kind(), NoDriver | NoDevice) => {
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
        let (context, kernel) = open().map_err(|e: sluice_cuda::CudaError| e.to_string())?;
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
