//! How much memory the import of a large histogram takes, as JSON and as text.
//!
//! This binary has one test, since it reads the peak of the whole process.

use std::io::Read;

use tardy_formats::{ImportOptions, Unit, import};
use tardy_record::Run;
use tardy_unpack::Content;

/// The most memory that an import takes in addition to its run, in bytes.
const BEYOND_THE_RUN: usize = 64 << 20;

/// A text that is generated as it is read.
struct Generated {
    parts: Box<dyn Iterator<Item = String>>,
    part: Vec<u8>,
    at: usize,
    length: usize,
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.part.len() {
            let Some(next) = self.parts.next() else { return Ok(0) };
            (self.part, self.at) = (next.into_bytes(), 0);
            self.length += self.part.len();
        }
        let count = (&self.part[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// A histogram with `rows` rows from 1000 ns on, each with `count` readings except the first and the last, which have 1:
/// `row` formats a row's number and count.
fn histogram(
    rows: usize,
    count: u64,
    (head, tail): (String, String),
    row: fn(usize, u64, bool) -> String,
) -> Generated {
    let row = move |at: usize| {
        let is_last = at + 1 == rows;
        row(1000 + at, if at == 0 || is_last { 1 } else { count }, is_last)
    };
    let parts = std::iter::once(head).chain((0..rows).map(row)).chain(std::iter::once(tail));
    Generated { parts: Box::new(parts), part: Vec::new(), at: 0, length: 0 }
}

/// cyclictest's JSON.
fn json(rows: usize, count: u64) -> Generated {
    let head = "{\"cmdline:\": \"cyclictest -N\", \"rt_test_version:\": \"2.10\", \"resolution_in_ns\": 1, \"thread\": \
                {\"0\": {\"histogram\": {";
    let cycles = count * (rows as u64 - 2) + 2;
    let tail = format!("}}, \"cycles\": {cycles}, \"min\": 1000, \"max\": {}}}}}}}\n", 999 + rows);
    histogram(rows, count, (head.to_owned(), tail), |value, count, is_last| {
        format!("\n        \"{value}\": {count}{}", if is_last { "" } else { "," })
    })
}

/// cyclictest's text.
fn text(rows: usize, count: u64) -> Generated {
    let cycles = count * (rows as u64 - 2) + 2;
    let tail = format!(
        "# Total: {cycles}\n# Min Latencies: 1000\n# Avg Latencies: {}\n# Max Latencies: {}\n# Histogram Overflows: 0\n",
        1000 + rows / 2,
        999 + rows
    );
    histogram(rows, count, ("# Histogram\n".to_owned(), tail), |value, count, _| {
        format!("{value:06} {count:06}\n")
    })
}

/// A field of /proc/self/status, in bytes.
fn status(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// The memory of the histograms of `run`, which are almost all of it.
fn size(run: &Run) -> usize {
    run.series.iter().map(|series| size_of_val(series.measured.bins())).sum()
}

#[test]
fn a_large_histogram_takes_little_memory_in_addition_to_its_run() {
    let options = ImportOptions { unit: Some(Unit::Ns), ..ImportOptions::default() };
    let files = [(json(3_000_000, 0), 2), (json(1_500_000, 7), 1_500_000), (text(2_200_000, 7), 2_200_000)];
    for (mut file, bins) in files {
        let before = status("VmRSS");
        let mut content = Content::open(&mut file).unwrap();
        let run = import(&mut content, "x", None, &options).unwrap().run;
        let taken = status("VmHWM") - before;
        drop(content);
        assert_eq!(run.series[0].measured.bins().len(), bins);
        assert!(file.length > 30_000_000, "{} bytes", file.length);
        assert!(
            taken < size(&run) + BEYOND_THE_RUN,
            "{taken} bytes for a file of {} bytes and a run of {} bytes",
            file.length,
            size(&run)
        );
    }
}
