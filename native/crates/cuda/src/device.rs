//! A device and what the driver says of it, for which no context is needed.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;
use std::sync::Arc;

use crate::context::Context;
use crate::error::CudaError;
use crate::health::Statistics;
use crate::library::Driver;
use crate::sys;

/// Who may have contexts on a device (`nvidia-smi -c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComputeMode {
    /// Any number of processes.
    Default,
    /// One process at a time.
    ExclusiveProcess,
    /// None.
    Prohibited,
    /// A mode that this Sluice does not know.
    Other(i32),
}

/// What the driver says of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFacts {
    /// The driver's number, which depends on CUDA_VISIBLE_DEVICES.
    pub ordinal: i32,
    /// "NVIDIA H100 80GB HBM3"; that of a MIG slice ends with its profile, "MIG 1g.10gb".
    pub name: String,
    /// `GPU-…`, or `MIG-…` of a slice.
    pub uuid: String,
    /// Domain, bus, device, function: `0000:3b:00.0`.
    pub pci_address: String,
    /// Major and minor: (9, 0) of Hopper.
    pub compute_capability: (u32, u32),
    /// Bytes of memory, or of the slice.
    pub total_bytes: u64,
    /// Who may have contexts.
    pub compute_mode: ComputeMode,
    /// Number of multiprocessors, or of the slice's.
    pub multiprocessors: u32,
    /// Copies that can run at the same time.
    pub copy_engines: u32,
    /// Shared memory that a block can have if it asks for it.
    pub shared_bytes_per_block: u32,
    /// Whether memory errors are detected and corrected.
    pub ecc: bool,
    /// Whether it has stream-ordered allocation (`cuMemAllocAsync`).
    pub has_pools: bool,
}

impl DeviceFacts {
    /// Whether it is a slice of a partitioned device (MIG).
    pub fn is_mig(&self) -> bool {
        self.uuid.starts_with("MIG-")
    }
}

/// A device of a driver. Cheap to copy.
#[derive(Debug, Clone)]
pub struct Device {
    driver: Arc<Driver>,
    handle: sys::Device,
    facts: Arc<DeviceFacts>,
}

impl Device {
    pub(crate) fn of(driver: &Arc<Driver>, ordinal: c_int) -> Result<Self, CudaError> {
        let mut handle = 0;
        // SAFETY: writes one number.
        driver.check("cuDeviceGet", unsafe { (driver.calls.device_get)(&mut handle, ordinal) })?;
        let facts = Arc::new(DeviceQuery { driver, handle }.facts(ordinal)?);
        Ok(Self { driver: Arc::clone(driver), handle, facts })
    }

    /// The driver that has it.
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// What the driver says of it.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    pub(crate) fn handle(&self) -> sys::Device {
        self.handle
    }

    /// The compute mode now; the administrator may have set another since the device was looked at.
    pub(crate) fn compute_mode(&self) -> Result<ComputeMode, CudaError> {
        DeviceQuery { driver: &self.driver, handle: self.handle }.compute_mode()
    }

    /// The device's primary context, made if this process has none yet; that takes time and memory
    /// of the device.
    ///
    /// # Errors
    /// Another process has the device for itself or nobody may use it, there is no memory for a context, the driver
    /// fails, or the device is lost.
    pub fn context(&self) -> Result<Context, CudaError> {
        Context::retain(self)
    }

    /// Whether the primary context exists, made by Sluice or by another library in this process.
    ///
    /// # Errors
    /// The driver refused.
    pub fn has_context(&self) -> Result<bool, CudaError> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: writes two numbers.
        let status = unsafe { (self.driver.calls.primary_state)(self.handle, &mut flags, &mut active) };
        self.driver.check("cuDevicePrimaryCtxGetState", status)?;
        Ok(active != 0)
    }

    /// What happened on it in this process so far.
    pub fn statistics(&self) -> Statistics {
        self.driver.health(self.facts.ordinal).statistics()
    }

    /// One line: name, compute capability, memory, UUID.
    pub fn describe(&self) -> String {
        let facts = self.facts();
        let (major, minor) = facts.compute_capability;
        let mib = facts.total_bytes >> 20;
        format!("{} (compute capability {major}.{minor}, {mib} MiB, {})", facts.name, facts.uuid)
    }
}

/// The questions about one device.
struct DeviceQuery<'a> {
    driver: &'a Driver,
    handle: sys::Device,
}

impl DeviceQuery<'_> {
    fn facts(&self, ordinal: c_int) -> Result<DeviceFacts, CudaError> {
        let name = self.text("cuDeviceGetName", self.driver.calls.device_name)?;
        Ok(DeviceFacts {
            ordinal,
            uuid: self.uuid(name.contains(" MIG "))?,
            name,
            pci_address: self.text("cuDeviceGetPCIBusId", self.driver.calls.device_pci_bus_id)?.to_lowercase(),
            compute_capability: (
                self.number(sys::ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                self.number(sys::ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            total_bytes: self.total_bytes()?,
            compute_mode: self.compute_mode()?,
            multiprocessors: self.number(sys::ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            copy_engines: self.number(sys::ATTRIBUTE_ASYNC_ENGINE_COUNT)?,
            shared_bytes_per_block: self.number(sys::ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            ecc: self.attribute(sys::ATTRIBUTE_ECC_ENABLED)? != 0,
            has_pools: self.attribute(sys::ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
        })
    }

    fn compute_mode(&self) -> Result<ComputeMode, CudaError> {
        Ok(match self.attribute(sys::ATTRIBUTE_COMPUTE_MODE)? {
            sys::COMPUTE_MODE_DEFAULT => ComputeMode::Default,
            sys::COMPUTE_MODE_EXCLUSIVE_PROCESS => ComputeMode::ExclusiveProcess,
            sys::COMPUTE_MODE_PROHIBITED => ComputeMode::Prohibited,
            other => ComputeMode::Other(other),
        })
    }

    fn attribute(&self, attribute: c_int) -> Result<c_int, CudaError> {
        let mut value = 0;
        // SAFETY: writes one number.
        let status = unsafe { (self.driver.calls.device_attribute)(&mut value, attribute, self.handle) };
        self.driver.check("cuDeviceGetAttribute", status).map(|()| value)
    }

    fn number(&self, attribute: c_int) -> Result<u32, CudaError> {
        self.attribute(attribute).map(|value| u32::try_from(value).unwrap_or(0))
    }

    fn total_bytes(&self) -> Result<u64, CudaError> {
        let mut bytes = 0;
        // SAFETY: writes one number.
        let status = unsafe { (self.driver.calls.device_total_mem)(&mut bytes, self.handle) };
        self.driver.check("cuDeviceTotalMem_v2", status).map(|()| bytes as u64)
    }

    fn text(
        &self,
        call: &str,
        function: unsafe extern "C" fn(*mut c_char, c_int, sys::Device) -> sys::Status,
    ) -> Result<String, CudaError> {
        let mut bytes = [0u8; 256];
        // The last byte stays 0, whatever the driver does.
        let room = bytes.len() as c_int - 1;
        // SAFETY: writes at most `room` bytes.
        self.driver.check(call, unsafe { function(bytes.as_mut_ptr().cast(), room, self.handle) })?;
        let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }

    fn uuid(&self, mig: bool) -> Result<String, CudaError> {
        let mut uuid = sys::Uuid::default();
        // SAFETY: writes 16 bytes.
        let status = unsafe { (self.driver.calls.device_uuid)(&mut uuid, self.handle) };
        self.driver.check("cuDeviceGetUuid_v2", status)?;
        Ok(uuid_text(&uuid.bytes, mig))
    }
}

/// As `nvidia-smi -L` writes it.
fn uuid_text(bytes: &[u8; 16], mig: bool) -> String {
    let mut text = String::from(if mig { "MIG" } else { "GPU" });
    for (i, byte) in bytes.iter().enumerate() {
        let separator = if matches!(i, 0 | 4 | 6 | 8 | 10) { "-" } else { "" };
        let _ = write!(text, "{separator}{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvidia_smi_does() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(uuid_text(&bytes, false), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(uuid_text(&bytes, true), "MIG-00112233-4455-6677-8899-aabbccddeeff");
    }
}
