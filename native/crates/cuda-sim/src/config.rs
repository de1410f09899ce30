//! What kind of machine is simulated, as text: `seed=7 memory=64m version=11080 fail=cuMemAlloc_v2@3:2`.

use crate::faults::{Fault, Faults};
use crate::status::{self, Status};

/// The environment variable with a text to start with.
pub(crate) const VARIABLE: &str = "SLUICE_CUDA_SIM";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// Of the order in which pending work is done.
    pub(crate) seed: u64,
    pub(crate) devices: usize,
    /// Bytes of each device.
    pub(crate) memory: usize,
    /// As `cuDriverGetVersion` gives it.
    pub(crate) version: i32,
    /// What `cuInit` answers.
    pub(crate) init: Status,
    /// Whether each device is a slice of one.
    pub(crate) mig: bool,
    /// 0 default, 2 prohibited, 3 exclusive.
    pub(crate) mode: i32,
    /// Whether another process has the devices for itself.
    pub(crate) held: bool,
    /// Bytes of host memory that can be registered.
    pub(crate) pinned: usize,
    /// Whether a copy to host memory that is not registered returns only when it is done, as the driver's does.
    pub(crate) pageable_waits: bool,
    /// Of each device. Launches that are as wide as a device take the host less time on a narrow one.
    pub(crate) multiprocessors: i32,
    /// Whether the steps that were done are kept.
    pub(crate) timeline: bool,
    /// The kernel that does nothing, by its name; empty for none.
    pub(crate) skip: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            devices: 1,
            memory: 1 << 30,
            version: 12_080,
            init: status::SUCCESS,
            mig: false,
            mode: 0,
            held: false,
            pinned: usize::MAX,
            pageable_waits: false,
            // As an H100 has.
            multiprocessors: 132,
            timeline: false,
            skip: String::new(),
        }
    }
}

impl Config {
    /// Changes what the text names, by words of the form `name=value`, and adds its faults.
    pub(crate) fn change(&mut self, faults: &mut Faults, text: &str) -> Result<(), String> {
        for word in text.split_whitespace() {
            let wrong = || format!("{word}: not a setting of the simulator");
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            let number = || bytes(value).ok_or_else(wrong);
            match name {
                "seed" => self.seed = number()? as u64,
                "devices" => self.devices = number()?,
                "memory" => self.memory = number()?,
                "version" => self.version = number()? as i32,
                "init" => self.init = number()? as Status,
                "mig" => self.mig = number()? != 0,
                "mode" => self.mode = number()? as i32,
                "held" => self.held = number()? != 0,
                "pinned" => self.pinned = number()?,
                "pageable_waits" => self.pageable_waits = number()? != 0,
                "multiprocessors" => self.multiprocessors = number()? as i32,
                "timeline" => self.timeline = number()? != 0,
                "skip" => self.skip = value.to_owned(),
                _ => faults.add(Fault::parse(name, value).ok_or_else(wrong)?),
            }
        }
        Ok(())
    }
}

/// A number, with `k`, `m` or `g` for powers of 1,024.
fn bytes(text: &str) -> Option<usize> {
    let (digits, shift) = match text.strip_suffix(['k', 'm', 'g']) {
        Some(digits) => (
            digits,
            if text.ends_with('k') {
                10
            } else if text.ends_with('m') {
                20
            } else {
                30
            },
        ),
        None => (text, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_changes_what_it_names() {
        let (mut config, mut faults) = (Config::default(), Faults::default());
        config.change(&mut faults, "seed=7 memory=64m  devices=2 mig=1 skip=sort").expect("right");
        let skip = "sort".to_owned();
        assert_eq!(config, Config { seed: 7, memory: 64 << 20, devices: 2, mig: true, skip, ..Config::default() });
        for wrong in ["seed", "seed=x", "memroy=1", "fail=cuInit", "fail=cuInit@x:1", "memory=99999999999g"] {
            let error = config.change(&mut faults, wrong).expect_err(wrong);
            assert!(error.contains(wrong), "{error}");
        }
    }
}
