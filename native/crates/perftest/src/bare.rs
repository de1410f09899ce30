//! The bare library's figure: UCX's `ucx_perftest`, both ends of it.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::TIMEOUT;

/// The most time a run of `ucx_perftest` gets beyond what it was asked for.
const GRACE: Duration = Duration::from_secs(30);

/// A process that ends with this value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// MB (10^6 bytes) per second of pipelined `ucp_get`s of this size, for about `time`.
pub(crate) fn bandwidth(
    program: &Path,
    library: Option<&Path>,
    tls: &str,
    size: usize,
    window: u32,
    time: Duration,
) -> Result<f64, String> {
    // A first run says how many reads fill the time.
    let rate = run(program, library, tls, size, window, 500)?;
    let count = (rate * 1e6 / size as f64 * time.as_secs_f64()).clamp(500.0, 5e6) as u64;
    run(program, library, tls, size, window, count)
}

fn run(program: &Path, library: Option<&Path>, tls: &str, size: usize, window: u32, count: u64) -> Result<f64, String> {
    let port = free_port()?.to_string();
    let command = || {
        let mut command = Command::new(program);
        command.env("UCX_TLS", tls).args(["-p", &port]).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = library.map(folder_of) {
            command.env("LD_LIBRARY_PATH", folder);
        }
        command
    };
    let start = |command: &mut Command| command.spawn().map_err(|e| format!("starting {}: {e}", program.display()));
    let _server = Killed(start(&mut command())?);
    std::thread::sleep(Duration::from_millis(500));
    let warm_up = (count / 10).max(100).to_string();
    let arguments = ["127.0.0.1", "-t", "ucp_get", "-f", "-v", "-w", &warm_up];
    let (size_text, window_text, count_text) = (size.to_string(), window.to_string(), count.to_string());
    let more = ["-s", &size_text, "-O", &window_text, "-n", &count_text];
    let mut client = Killed(start(command().args(arguments).args(more))?);
    let end = Instant::now() + TIMEOUT + GRACE;
    while client.0.try_wait().map_err(|e| e.to_string())?.is_none() {
        if Instant::now() > end {
            return Err(format!("{} did not end", program.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut output = String::new();
    if let Some(mut stdout) = client.0.stdout.take() {
        std::io::Read::read_to_string(&mut stdout, &mut output).map_err(|e| e.to_string())?;
    }
    overall_bandwidth(&output).ok_or_else(|| format!("{} printed no figure: {output}", program.display()))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("a port: {e}"))?;
    listener.local_addr().map(|address| address.port()).map_err(|e| e.to_string())
}

fn folder_of(library: &Path) -> &Path {
    if library.is_dir() { library } else { library.parent().unwrap_or(Path::new("/")) }
}

/// The column `overall_bw` of the last line, which is in MiB per second.
fn overall_bandwidth(output: &str) -> Option<f64> {
    let mut lines = output.lines().filter(|line| line.contains(','));
    let column = lines.next()?.split(',').position(|name| name == "overall_bw")?;
    let mib_per_s: f64 = lines.next_back()?.split(',').nth(column)?.trim().parse().ok()?;
    Some(mib_per_s * 1.048_576)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_found_in_what_ucx_perftest_prints() {
        let output = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n\
                      20000,5.296,12.146,12.146,5145.71,1000.0,82331,82331\n";
        assert_eq!(overall_bandwidth(output), Some(1048.576));
        assert_eq!(overall_bandwidth("nothing"), None);
        assert_eq!(overall_bandwidth(""), None);
    }
}
