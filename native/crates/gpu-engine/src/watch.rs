//! A thread that looks whether the driver's calls return. Nobody else may be there to see it: the task whose call does
//! not return is held up in it, and so may be all others.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_cuda::Context;

use crate::declined::Declined;
use crate::driver_calls::DriverCalls;

/// How often it looks, of the time that a step may take; and the limits of that.
const LOOKS: u32 = 8;
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

/// Gives the device up when a step of some encode takes too long. Ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Its end wakes the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `most`: longer than a step takes whose waits have all reached their limits.
    ///
    /// # Errors
    /// The system has no thread.
    pub(crate) fn start(context: &Context, calls: Vec<Arc<DriverCalls>>, most: Duration) -> Result<Self, Declined> {
        let (end, ended) = mpsc::channel();
        let context = context.clone();
        let thread = std::thread::Builder::new().name("sluice-gpu-watch".into());
        let thread = thread.spawn(move || look(&context, &calls, most, &ended));
        let thread = thread.map_err(|_| Declined::NotTaken("the host has no thread that watches the GPU's driver"))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It makes no call of the driver, so that it ends at once, and its share of the context with it.
            let _ = thread.join();
        }
    }
}

fn look(context: &Context, calls: &[Arc<DriverCalls>], most: Duration, ended: &Receiver<()>) {
    let pause = (most / LOOKS).clamp(PAUSES.0, PAUSES.1);
    let mut steps: Vec<(Option<u64>, Duration)> = vec![(None, Duration::ZERO); calls.len()];
    let mut looked = Instant::now();
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        // Not more than the pause by much: else this process was stopped, and so were the calls.
        let passed = looked.elapsed().min(pause * 2);
        looked = Instant::now();
        if context.lost().is_some() {
            return;
        }
        for (calls, (seen, taken)) in calls.iter().zip(&mut steps) {
            let step = calls.step();
            *taken = if step.is_some() && step == *seen { *taken + passed } else { Duration::ZERO };
            *seen = step;
            if *taken > most {
                context.lose(&format!("calls of the driver have not returned for more than {most:?}"));
            }
        }
    }
}
