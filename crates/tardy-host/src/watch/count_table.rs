//! /proc/interrupts and /proc/softirqs: one line per source, one column per online CPU.

use std::collections::BTreeMap;

use tardy_record::environment::{Environment, Merge, SourceTotal};

use super::number::{advance, lines, whole, words};
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

/// Limit on sources. No machine has more; a file with more is malicious.
const SOURCE_LIMIT: usize = 8192;
/// Changes by fewer events than this are not reported with an outlier.
const GRAIN: f64 = 5.0;

/// The properties of one of the two tables.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Prefix of a source's name next to an outlier.
    pub(super) prefix: &'static str,
    pub(super) unit: &'static str,
    pub(super) quota: usize,
    pub(super) add: fn(&mut Environment, SourceTotal),
}

/// One of the tables.
pub(super) struct CountTable {
    kind: Kind,
    file: Result<Polled, String>,
    counts: Counts,
}

/// All counters of a table.
struct Counts {
    /// The CPUs that ever had a column, in the order of the counters.
    cpus: Vec<u32>,
    /// For each column of the file, its index in `cpus`.
    columns: Vec<usize>,
    header: Vec<u8>,
    sources: Vec<Source>,
    quota: Quota,
    /// The part of the quota for unmeasured CPUs, so that measured CPUs have precedence on machines with many CPUs.
    others_quota: Quota,
    measured: Vec<u32>,
}

/// One source and its counters by index.
struct Source {
    name: Vec<u8>,
    /// Whether it appeared during the run, so that its whole count belongs to the run.
    is_new: bool,
    description: String,
    cells: Vec<Cell>,
}

/// One source on one CPU.
#[derive(Clone, Copy, Default)]
struct Cell {
    last: Option<u64>,
    total: u64,
    /// Begins when the first event occurs.
    series: Slot,
}

impl CountTable {
    pub(super) fn new(kind: Kind, file: Result<Polled, String>, measured: &[u32]) -> Self {
        let counts = Counts {
            cpus: Vec::new(),
            columns: Vec::new(),
            header: Vec::new(),
            sources: Vec::new(),
            quota: Quota(kind.quota),
            others_quota: Quota(kind.quota / 2),
            measured: measured.to_vec(),
        };
        Self { kind, file, counts }
    }
}

impl Watcher for CountTable {
    fn name(&self) -> &'static str {
        self.kind.name
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let Some(Read { content, seconds }) = self.file.as_mut().ok().and_then(|file| file.read(round.room))
        else {
            return;
        };
        let round = &round.over(seconds);
        let mut lines = lines(content);
        self.counts.take_header(lines.next().unwrap_or_default());
        for (index, line) in lines.enumerate() {
            self.counts.take_line(index, line, &self.kind, round, readings);
        }
    }

    fn left_out(&self) -> Option<String> {
        self.file.as_ref().err().cloned()
    }

    fn add_totals(&self, _watched_ns: u64, environment: &mut Environment) {
        for source in &self.counts.sources {
            let counted = self.counts.cpus.iter().zip(&source.cells);
            let per_cpu: BTreeMap<u32, u64> =
                counted.filter(|(_, cell)| cell.total > 0).map(|(cpu, cell)| (*cpu, cell.total)).collect();
            if !per_cpu.is_empty() {
                let name = String::from_utf8_lossy(&source.name).into_owned();
                let total = SourceTotal { source: name, description: source.description.clone(), per_cpu };
                (self.kind.add)(environment, total);
            }
        }
    }
}

impl Counts {
    // Columns change when a CPU goes offline or comes online.
    fn take_header(&mut self, header: &[u8]) {
        if self.header == header {
            return;
        }
        self.header = header.to_vec();
        self.columns.clear();
        for cpu in words(header).filter_map(|word| whole(word.strip_prefix(b"CPU")?)?.try_into().ok()) {
            let place = self.cpus.iter().position(|known| *known == cpu).unwrap_or_else(|| {
                self.cpus.push(cpu);
                self.cpus.len() - 1
            });
            self.columns.push(place);
        }
    }

    fn take_line(
        &mut self,
        index: usize,
        line: &[u8],
        kind: &Kind,
        round: &Round<'_>,
        readings: &mut Readings,
    ) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, mut rest) = (line[..colon].trim_ascii(), &line[colon + 1..]);
        let Some(place) = self.place(index, name, round.seconds.is_some()) else { return };
        for column in 0..self.columns.len() {
            let Some((now, after)) = first_number(rest) else { return };
            rest = after;
            self.count(place, self.columns[column], now, kind, round, readings);
        }
        let source = &mut self.sources[place];
        if source.description.is_empty() {
            source.description = spaced(rest);
        }
    }

    /// The index of the source, which usually equals that of its line.
    fn place(&mut self, index: usize, name: &[u8], is_new: bool) -> Option<usize> {
        if self.sources.get(index).is_some_and(|source| source.name == name) {
            return Some(index);
        }
        let found = self.sources.iter().position(|source| source.name == name);
        found.or_else(|| {
            let room = self.sources.len() < SOURCE_LIMIT;
            room.then(|| {
                let (name, description) = (name.to_vec(), String::new());
                self.sources.push(Source { name, is_new, description, cells: Vec::new() });
                self.sources.len() - 1
            })
        })
    }

    fn count(
        &mut self,
        source_place: usize,
        cpu_place: usize,
        now: u64,
        kind: &Kind,
        round: &Round<'_>,
        readings: &mut Readings,
    ) {
        let source = &mut self.sources[source_place];
        if source.cells.len() <= cpu_place {
            source.cells.resize(cpu_place + 1, Cell::default());
        }
        let cell = &mut source.cells[cpu_place];
        let by = match cell.last.replace(now) {
            Some(before) => advance(before, now),
            None if source.is_new => now,
            None => 0,
        };
        let Some(seconds) = round.seconds else { return };
        cell.total += by;
        let mut slot = cell.series;
        if slot.is_unused() && by == 0 {
            return;
        }
        let mut none = Quota(0);
        let may_begin = slot.is_unused() && self.may_begin(cpu_place);
        let quota = if may_begin { &mut self.quota } else { &mut none };
        let (source, cpu) = (&self.sources[source_place], self.cpus[cpu_place]);
        let rate = by as f64 / seconds;
        readings.put(&mut slot, quota, rate, rate, || kind.head(source.label(), cpu));
        self.sources[source_place].cells[cpu_place].series = slot;
    }

    /// Whether the quota for unmeasured CPUs allows a new series of this CPU, which then counts.
    fn may_begin(&mut self, cpu_place: usize) -> bool {
        if self.measured.is_empty() || self.measured.contains(&self.cpus[cpu_place]) {
            return true;
        }
        let has_room = self.others_quota.0 > 0;
        self.others_quota.0 = self.others_quota.0.saturating_sub(1);
        has_room
    }
}

impl Kind {
    fn head(&self, of: String, cpu: u32) -> Head {
        Head {
            name: self.name,
            change: format!("{} {of}, cpu {cpu}", self.prefix),
            of,
            cpu: Some(cpu),
            unit: "1/s",
            merge: Merge::Mean,
            change_unit: self.unit,
            grain: GRAIN,
        }
    }
}

impl Source {
    /// Its name, and for an interrupt line the device: `39 dwc_otg`.
    fn label(&self) -> String {
        let name = String::from_utf8_lossy(&self.name).into_owned();
        let numbered = self.name.first().is_some_and(u8::is_ascii_digit);
        match self.description.rsplit("  ").next() {
            Some(device) if numbered && !device.is_empty() => format!("{name} {device}"),
            _ => name,
        }
    }
}

/// The number at the start, and the text after it.
fn first_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    Some((whole(&text[..end])?, &text[end..]))
}

/// A description whose columns are two spaces apart: `IO-APIC  4-edge  ttyS0`.
fn spaced(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}
