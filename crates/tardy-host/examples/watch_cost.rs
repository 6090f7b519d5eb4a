//! Measures the cost of watching: reads this machine's counters once per second and prints the time that each watcher
//! took.
//!
//! `cargo run --release -p tardy-host --example watch_cost -- [SECONDS]`

use std::time::{Duration, Instant};

use tardy_host::watch::{Occasion, WatchOptions, Watchers};
use tardy_sys::kernel_files::KernelFiles;

fn main() {
    let seconds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(30);
    let start = Instant::now();
    let clock = move || start.elapsed().as_nanos() as u64;
    let options = WatchOptions { measured_cpus: vec![0, 1], ..WatchOptions::default() };
    let mut watchers = Watchers::new(&KernelFiles::real(), &options, clock);
    let before = cpu_time_ns();
    for second in 0..=seconds {
        std::thread::sleep(Duration::from_secs(second).saturating_sub(start.elapsed()));
        watchers.read(clock(), Occasion::Tick);
    }
    let used = cpu_time_ns() - before;
    let changes = watchers.recent_changes();
    let environment = watchers.finish();
    println!("{:16} {:>10} {:>10}  left out", "watcher", "mean us", "longest us");
    for cost in &environment.watchers {
        let mean = cost.total_ns as f64 / cost.readings as f64 / 1000.0;
        let left_out = cost.left_out.as_deref().unwrap_or("");
        println!("{:16} {mean:10.1} {:10.1}  {left_out}", cost.name, cost.longest_ns as f64 / 1000.0);
    }
    let total: u64 = environment.watchers.iter().map(|cost| cost.total_ns).sum();
    let rounds = (seconds + 1) as f64;
    println!(
        "total {:.1} us per round, {:.3} % of a CPU at 1 Hz",
        total as f64 / rounds / 1e3,
        total as f64 / rounds / 1e7
    );
    println!("CPU time of the process: {:.3} % of a CPU", used as f64 / (seconds * 10_000_000) as f64);
    println!(
        "{} series, {} left out; last changes: {changes:?}",
        environment.series.len(),
        environment.series_left_out
    );
    for thread in environment.kernel_threads.iter().take(5) {
        println!("{:20} {:6.2} %", thread.name, 100.0 * thread.share);
    }
}

/// CPU time of this thread in ns, from /proc/thread-self/schedstat; 0 if the kernel does not have this file.
fn cpu_time_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}
