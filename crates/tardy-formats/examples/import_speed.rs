//! Measures the speed and memory of an import (docs/performance.md).
//! usage: import_speed FILE us|ns [IN OUT]
//!
//! FILE may be `/dev/stdin`: the bytes read are counted.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::Instant;

use tardy_formats::{ImportOptions, Unit, import};
use tardy_unpack::Content;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(unit)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: import_speed FILE us|ns [IN OUT]");
        std::process::exit(2);
    };
    let unit = if unit == "ns" { Unit::Ns } else { Unit::Us };
    let (input, output) = (arguments.next(), arguments.next());
    let options = ImportOptions { unit: Some(unit), input, output, ..ImportOptions::default() };
    let count = Rc::new(Cell::new(0));
    let file = Counted { file: File::open(&path).expect("the file can be opened"), count: count.clone() };
    let begun = Instant::now();
    let mut content = Content::open(file).expect("the file can be read");
    let imported = import(&mut content, &path, None, &options).expect("the file can be imported");
    let wall = begun.elapsed().as_secs_f64();
    // On a shared machine, only CPU time shows the cost of importing.
    let seconds = cpu_seconds().unwrap_or(wall);
    let readings: u64 = imported.run.series.iter().map(|series| series.tally.recorded).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!(
        "{}: {readings} readings, {seconds:.2} s of CPU time ({wall:.2} s in total), {:.0} MB/s, {:.1} ns per reading, {}",
        imported.format,
        count.get() as f64 / 1e6 / seconds,
        seconds * 1e9 / readings.max(1) as f64,
        peak.split_whitespace().collect::<Vec<_>>().join(" ")
    );
}

/// The CPU time of all threads so far, in s: user and system time in proc_pid_stat(5), in ticks of 10 ms.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(|field| field.parse().ok()).collect::<Option<_>>()?;
    Some(ticks.iter().sum::<f64>() / 100.0)
}

/// Counts the bytes read.
struct Counted {
    file: File,
    count: Rc<Cell<usize>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.count.set(self.count.get() + count);
        Ok(count)
    }
}
