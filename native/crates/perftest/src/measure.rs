//! What is measured: blocks per second with a window of them asked for, and the time of one alone.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sluice_transport::{Block, Transport};

use crate::figures::{Figure, median};
use crate::plan::{Load, Plan, TIMEOUT};

/// Publishes one map output for each size, all in one file.
pub(crate) fn publish(owner: &Transport, file: &Path, plan: &Plan) -> Result<(), String> {
    let longest = plan.sizes.iter().map(|size| size * plan.partitions(*size)).max().unwrap_or(0);
    let content: Vec<u8> = (0..longest).map(|i| (i ^ (i >> 11)) as u8).collect();
    std::fs::write(file, content).map_err(|e| format!("writing {}: {e}", file.display()))?;
    for (map, size) in plan.sizes.iter().enumerate() {
        let offsets = (0..=plan.partitions(*size)).map(|i| (i * size) as u64).collect();
        owner.publish(0, map as u64, file.to_path_buf(), None, offsets)?;
    }
    Ok(())
}

/// Reads blocks of one size from a peer, round and round.
pub(crate) struct Reading<'a> {
    reader: &'a Transport,
    peer: u64,
    map: u64,
    size: usize,
    partitions: u32,
    next: u32,
    /// Blocks of each request that have not ended.
    open: HashMap<u64, u32>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(reader: &'a Transport, peer: u64, map: u64, size: usize, partitions: u32) -> Self {
        Self { reader, peer, map, size, partitions, next: 0, open: HashMap::new() }
    }

    fn ask(&mut self, count: u32) -> Result<(), String> {
        let block = |_| {
            let first = self.next % self.partitions;
            self.next += 1;
            Block { shuffle: 0, map: self.map, first, end: first + 1 }
        };
        let blocks: Vec<Block> = (0..count).map(block).collect();
        let request = self.reader.fetch(self.peer, blocks).map_err(|e| format!("the other end: {e:?}"))?;
        self.open.insert(request, count);
        Ok(())
    }

    /// Takes what has ended; how many blocks.
    fn take(&mut self) -> Result<u32, String> {
        let taken = self.reader.poll(1024, TIMEOUT).map_err(|ended| ended.to_string())?;
        if taken.is_empty() {
            return Err(format!("nothing came within {} s", TIMEOUT.as_secs()));
        }
        for completion in &taken {
            let lease = completion.result.as_ref().map_err(|failure| {
                format!("a block was not read: {failure:?} {}", self.reader.peer_error(self.peer))
            })?;
            if lease.as_ref().map_or(0, |lease| lease.len()) != self.size {
                return Err("a block of another size came".into());
            }
            if let Some(open) = self.open.get_mut(&completion.request) {
                *open -= 1;
            }
        }
        self.open.retain(|_, open| *open > 0);
        Ok(taken.len() as u32)
    }

    /// MB (10^6 bytes) per second with at least two requests open, of so many blocks each.
    pub(crate) fn bandwidth(&mut self, blocks: u32, time: Duration) -> Result<f64, String> {
        let mut asked = 0;
        let mut ended = 0u64;
        let start = Instant::now();
        while start.elapsed() < time {
            while asked < 2 * blocks {
                self.ask(blocks)?;
                asked += blocks;
            }
            let taken = self.take()?;
            asked -= taken;
            ended += u64::from(taken);
        }
        let rate = ended as f64 * self.size as f64 / start.elapsed().as_secs_f64() / 1e6;
        while asked > 0 {
            asked -= self.take()?;
        }
        Ok(rate)
    }

    /// Microseconds from asking for one block to having it: the median.
    pub(crate) fn latency(&mut self, time: Duration) -> Result<f64, String> {
        let start = Instant::now();
        let mut times = Vec::new();
        while start.elapsed() < time {
            let asked = Instant::now();
            self.ask(1)?;
            self.take()?;
            times.push(asked.elapsed().as_secs_f64() * 1e6);
        }
        Ok(median(&mut times))
    }
}

/// One size's figures, after a warm-up. `owner_cpu` tells the processor seconds that the other end's process has used.
pub(crate) fn figure(
    reading: &mut Reading<'_>,
    plan: &Plan,
    load: Load,
    mut owner_cpu: impl FnMut() -> Result<f64, String>,
) -> Result<Figure, String> {
    let blocks = load.request_blocks(reading.size);
    reading.bandwidth(blocks, plan.time / 4)?;
    let (start, before) = (Instant::now(), owner_cpu()?);
    let mb_per_s = reading.bandwidth(blocks, plan.time)?;
    let owner_cpu = (owner_cpu()? - before) / start.elapsed().as_secs_f64();
    let latency_us = reading.latency(plan.time / 4)?;
    Ok(Figure { size: reading.size, load, mb_per_s, latency_us, owner_cpu, wire_mb_per_s: None })
}
