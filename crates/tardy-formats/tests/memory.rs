//! How much memory the import of a large JSON file takes.
//!
//! This binary has one test, since it reads the peak of the whole process.

use std::io::Read;

use tardy_archive::Content;
use tardy_formats::{ImportOptions, import};
use tardy_record::Run;

/// The most memory that an import takes in addition to its run, in bytes.
const BEYOND_THE_RUN: usize = 64 << 20;

/// A text that is generated as it is read.
struct Generated<I> {
    parts: I,
    part: Vec<u8>,
    at: usize,
    length: usize,
}

impl<I: Iterator<Item = String>> Read for Generated<I> {
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

/// cyclictest's JSON with `rows` rows, each with `count` readings except the first and the last, which have 1.
fn cyclictest(rows: usize, count: u64) -> Generated<impl Iterator<Item = String>> {
    let head = "{\"cmdline:\": \"cyclictest -N\", \"rt_test_version:\": \"2.10\", \"resolution_in_ns\": 1, \"thread\": \
                {\"0\": {\"histogram\": {";
    let row = move |row: usize| {
        let (count, comma) = if row == 0 || row + 1 == rows { (1, "") } else { (count, ",") };
        let comma = if row + 1 == rows { comma } else { "," };
        format!("\n        \"{}\": {count}{comma}", 1000 + row)
    };
    let cycles = count * (rows as u64 - 2) + 2;
    let tail = format!("}}, \"cycles\": {cycles}, \"min\": 1000, \"max\": {}}}}}}}\n", 999 + rows);
    let parts = std::iter::once(head.to_owned()).chain((0..rows).map(row)).chain(std::iter::once(tail));
    Generated { parts, part: Vec::new(), at: 0, length: 0 }
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
fn a_large_json_file_takes_little_memory_in_addition_to_its_run() {
    for (rows, count, bins) in [(3_000_000, 0, 2), (1_500_000, 7, 1_500_000)] {
        let mut text = cyclictest(rows, count);
        let before = status("VmRSS");
        let mut content = Content::open(&mut text).unwrap();
        let run = import(&mut content, "x", None, &ImportOptions::default()).unwrap().run;
        let taken = status("VmHWM") - before;
        drop(content);
        assert_eq!(run.series[0].measured.bins().len(), bins);
        assert!(text.length > 30_000_000, "{} bytes", text.length);
        assert!(
            taken < size(&run) + BEYOND_THE_RUN,
            "{taken} bytes for {} bytes of JSON and a run of {} bytes",
            text.length,
            size(&run)
        );
    }
}
