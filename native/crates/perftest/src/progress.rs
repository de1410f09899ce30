//! How far a measurement is, on standard error: a bar on a terminal, plain lines elsewhere; nothing in its first three
//! seconds.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_secs(3);
const WIDTH: usize = 30;

/// Counts the runs of a measurement.
pub(crate) struct Progress {
    total: usize,
    done: usize,
    start: Instant,
    terminal: bool,
    drawn: bool,
}

impl Progress {
    /// Of `total` runs; without any, nothing is ever said.
    pub(crate) fn new(total: usize) -> Self {
        Progress { total, done: 0, start: Instant::now(), terminal: std::io::stderr().is_terminal(), drawn: false }
    }

    /// A run has ended.
    pub(crate) fn step(&mut self) {
        self.done += 1;
        if self.start.elapsed() < QUIET || self.total == 0 {
            return;
        }
        if self.terminal {
            eprint!("\r{}\x1b[K", bar(self.done, self.total));
            // What cannot be shown is no reason to stop.
            let _ = std::io::stderr().flush();
            self.drawn = true;
        } else {
            eprintln!("measured {} of {}", self.done, self.total);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            eprint!("\r\x1b[K");
        }
    }
}

fn bar(done: usize, total: usize) -> String {
    let filled = (done * WIDTH / total.max(1)).min(WIDTH);
    format!("measuring [{}{}] {done} of {total}", "=".repeat(filled), " ".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_at_every_step() {
        for done in 0..=7 {
            assert_eq!(bar(done, 7).len(), bar(0, 7).len());
        }
        assert_eq!(bar(7, 7), format!("measuring [{}] 7 of 7", "=".repeat(WIDTH)));
        assert_eq!(bar(0, 0), format!("measuring [{}] 0 of 0", " ".repeat(WIDTH)));
    }
}
