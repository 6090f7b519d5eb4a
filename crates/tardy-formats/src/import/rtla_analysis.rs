//! What rtla prints after its results when a latency above the threshold stopped it, with `--auto` or `--aa-only`.
//!
//! rtla reads the tracer's events in turns and may stop before it has read the last one, so the latency that stopped it can be
//! missing from the table or the histogram that precedes the analysis.

use std::collections::BTreeMap;

use tardy_record::series::Level;

use super::decimal_ns;
use crate::error::Result;
use crate::imported::{Counts, Unit, in_ns};
use crate::lines::Line;

/// The remark on a measurement that a reading above the threshold stopped.
const STOPPED: &str =
    "the measurement stopped at the first latency above the threshold (--auto, --irq, --thread, --stop)";

/// The analysis, as far as it was read.
#[derive(Default)]
pub(super) struct Analysis {
    /// Whether it has begun. It lasts to the end of the file.
    pub(super) has_begun: bool,
    /// The CPU of the latency, if the analysis names it.
    cpu: Option<u32>,
    /// The latency at each level, in ns.
    latencies_ns: BTreeMap<Level, i64>,
}

impl Analysis {
    /// Reads a line, and returns whether it belongs to the analysis: `## CPU 1 hit stop tracing`,
    /// `Thread latency: 41.96 us (100%)` (rtla, timerlat_aa.c).
    pub(super) fn line(&mut self, line: Line<'_>, text: &str) -> Result<bool> {
        self.has_begun |= text.contains("hit stop tracing");
        if !self.has_begun {
            return Ok(false);
        }
        if let Some(rest) = text.strip_prefix("## CPU ") {
            self.cpu = rest.split_whitespace().next().and_then(|cpu| cpu.parse().ok());
        }
        for (name, level) in [("IRQ latency:", Level::Irq), ("Thread latency:", Level::KernelThread)] {
            let Some(rest) = text.strip_prefix(name) else { continue };
            let mut words = rest.split_whitespace();
            if let (Some(latency), Some("us")) = (words.next(), words.next()) {
                let place = format!("line {}, {name}", line.number);
                let latency_ns = decimal_ns(latency, 1_000, line.number, name)?;
                self.latencies_ns.insert(level, in_ns(latency_ns, Unit::Ns, &place)?);
            }
        }
        Ok(true)
    }

    /// The CPU of the latency, of those in the results: the one that the analysis names, or the only one.
    fn cpu_of(&self, cpus: &[u32]) -> Option<u32> {
        let only = || cpus.first().copied().filter(|_| cpus.len() == 1);
        self.cpu.filter(|cpu| cpus.contains(cpu)).or_else(only)
    }

    /// Adds to the readings at `level` of one of the `cpus` what they lack.
    pub(super) fn complete(&self, counts: &mut Counts, level: Level, cpu: u32, cpus: &[u32]) {
        let Some(latency_ns) = self.latencies_ns.get(&level).copied() else { return };
        // The results are cut off to their unit.
        let resolution_ns = i64::try_from(counts.resolution_ns).unwrap_or(i64::MAX);
        if counts.max_ns.is_some_and(|max_ns| latency_ns < max_ns.saturating_add(resolution_ns)) {
            return;
        }
        match self.cpu_of(cpus) {
            None => counts.max_at_least = true,
            Some(of) if of == cpu => counts.add_maximum(latency_ns),
            Some(_) => {}
        }
    }

    /// Remarks on results of the `cpus`.
    pub(super) fn remarks(&self, cpus: &[u32]) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.has_begun {
            remarks.push(STOPPED.to_owned());
        }
        if !self.latencies_ns.is_empty() && self.cpu_of(cpus).is_none() {
            remarks.push(
                "the analysis does not name the CPU of the latency that stopped the measurement, so each maximum may be too low"
                    .to_owned(),
            );
        }
        remarks
    }
}
