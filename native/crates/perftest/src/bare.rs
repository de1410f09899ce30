//! The bare library's figures: UCX's `ucx_perftest`, both ends of it.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::figures::BareFigure;
use crate::plan::TIMEOUT;

/// The most time a run of `ucx_perftest` gets beyond what it was asked for.
const GRACE: Duration = Duration::from_secs(30);
/// Reads of a run that is made for its latency, or to learn how fast the others will be: at most.
const FEW: u64 = 500;
/// And of so many bytes, if that are fewer reads; but at least [`LEAST`].
const FEW_BYTES: usize = 1 << 30;
const LEAST: u64 = 20;

/// A process that ends with this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `ucp_get`s of one size by `ucx_perftest`.
pub(crate) struct Bare<'a> {
    pub(crate) program: &'a Path,
    pub(crate) library: Option<&'a Path>,
    pub(crate) tls: &'a str,
    pub(crate) size: usize,
}

impl Bare<'_> {
    /// Bandwidth with `window` reads under way, for about `time`, and the latency of one alone.
    pub(crate) fn figure(&self, window: u32, time: Duration) -> Result<BareFigure, String> {
        // A first run says how many reads fill the time.
        let few = few(self.size);
        let rate = self.run(window, few)?.mb_per_s;
        let count = (rate * 1e6 / self.size as f64 * time.as_secs_f64()).clamp(few as f64, 5e6) as u64;
        let mb_per_s = self.run(window, count)?.mb_per_s;
        Ok(BareFigure { mb_per_s, latency_us: self.run(1, few)?.latency_us })
    }

    /// One run of both ends. Its latency is that of reads one by one only if `window` is 1.
    fn run(&self, window: u32, count: u64) -> Result<BareFigure, String> {
        let port = free_port()?.to_string();
        let command = || {
            let mut command = Command::new(self.program);
            command.env("UCX_TLS", self.tls).args(["-p", &port]).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(folder) = self.library.map(folder_of) {
                command.env("LD_LIBRARY_PATH", folder);
            }
            command
        };
        let start =
            |command: &mut Command| command.spawn().map_err(|e| format!("starting {}: {e}", self.program.display()));
        let _server = Killed(start(&mut command())?);
        std::thread::sleep(Duration::from_millis(500));
        let warm_up = (count / 10).max(few(self.size) / 5).to_string();
        let arguments = ["127.0.0.1", "-t", "ucp_get", "-f", "-v", "-w", &warm_up];
        let (size_text, window_text, count_text) = (self.size.to_string(), window.to_string(), count.to_string());
        let more = ["-s", &size_text, "-O", &window_text, "-n", &count_text];
        let mut client = Killed(start(command().args(arguments).args(more))?);
        let end = Instant::now() + TIMEOUT + GRACE;
        while client.0.try_wait().map_err(|e| e.to_string())?.is_none() {
            if Instant::now() > end {
                return Err(format!("{} did not end", self.program.display()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut output = String::new();
        if let Some(mut stdout) = client.0.stdout.take() {
            std::io::Read::read_to_string(&mut stdout, &mut output).map_err(|e| e.to_string())?;
        }
        figures(&output).ok_or_else(|| format!("{} printed no figure: {output}", self.program.display()))
    }
}

fn few(size: usize) -> u64 {
    (FEW_BYTES / size).min(FEW as usize).max(LEAST as usize) as u64
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("a port: {e}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

fn folder_of(library: &Path) -> &Path {
    if library.is_dir() { library } else { library.parent().unwrap_or(Path::new("/")) }
}

/// The columns `overall_bw` (MiB per second) and `50.0_percentile_lat` (microseconds) of the last line.
fn figures(output: &str) -> Option<BareFigure> {
    let mut lines = output.lines().filter(|line| line.contains(','));
    let (names, last) = (lines.next()?, lines.next_back()?);
    let value = |wanted| -> Option<f64> {
        let column = names.split(',').position(|name| name == wanted)?;
        last.split(',').nth(column)?.trim().parse().ok()
    };
    Some(BareFigure { mb_per_s: value("overall_bw")? * 1.048_576, latency_us: value("50.0_percentile_lat")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_read_less_often() {
        assert_eq!([few(1), few(1 << 20), few(16 << 20), few(1 << 30)], [500, 500, 64, 20]);
    }

    #[test]
    fn the_figures_are_found_in_what_ucx_perftest_prints() {
        let output = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n\
                      20000,5.296,12.146,12.146,5145.71,1000.0,82331,82331\n";
        assert_eq!(figures(output), Some(BareFigure { mb_per_s: 1048.576, latency_us: 5.296 }));
        assert_eq!(figures("nothing"), None);
        assert_eq!(figures(""), None);
    }
}
