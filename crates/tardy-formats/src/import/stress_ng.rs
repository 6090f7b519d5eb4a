//! stress-ng's cyclic stressor: its log has the latencies; its YAML describes the machine and has no latency.
//!
//! The log's figures cover the first samples only (10,000, or --cyclic-samples): a long run reports its first seconds.
//! Sleeps are relative, so there is no schedule.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Knowable;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Policy;

use super::{ImportOptions, decimal_ns, number};
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, System};
use crate::lines::{Line, Lines};

fn empty() -> Imported {
    Imported {
        tool: "stress-ng".to_owned(),
        measures: "from the intended end of a relative sleep to the thread that slept",
        late_periods: LatePeriods::NoSchedule,
        ..Imported::default()
    }
}

/// Imports the YAML, which describes only the machine.
pub(crate) fn import_yaml(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = empty();
    let mut system = System::default();
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        imported.cut_short = line.unended;
        let Some((key, value)) = line.whole()?.trim().split_once(':') else { continue };
        let value = value.trim().trim_matches('\'');
        let text = || Some(value.to_owned()).filter(|value| !value.is_empty());
        match key.trim() {
            "stress-ng-version" => imported.version = text(),
            "epoch-secs" => imported.started = value.parse().ok(),
            "nodename" => system.host = text(),
            "release" => system.release = text(),
            "version" => system.version = text(),
            "machine" => system.machine = text(),
            _ => {}
        }
    }
    imported.last_line = Some(lines.read_lines());
    imported.system = system;
    imported.remarks.push(
        "stress-ng writes the cyclic stressor's latencies to its log, not to its YAML; import the log"
            .to_owned(),
    );
    imported.phases.push(ImportedPhase { label: "cyclic".to_owned(), streams: Vec::new() });
    Ok(imported)
}

#[derive(Default)]
struct Instance {
    line: u64,
    policy: Option<Policy>,
    delay_ns: Option<u64>,
    samples: Option<u64>,
    mean_ns: Option<f64>,
    deviation_ns: Option<f64>,
    min_ns: Option<i64>,
    max_ns: Option<i64>,
    /// Line, share in hundredths of a per cent, and value.
    percentiles: Vec<(u64, i64, i64)>,
}

/// Imports the log.
pub(crate) fn import_log(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    // The log does not state the method (--cyclic-method).
    let mut imported = Imported { wake: Some(Knowable::Unknown), ..empty() };
    let mut instances: BTreeMap<u64, Instance> = BTreeMap::new();
    // The line at which the first run ends or another one begins. No instance can begin after it.
    let mut over: Option<u64> = None;
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        imported.cut_short |= line.unended;
        if line.unended {
            continue;
        }
        if line.text.contains("dispatching hogs:") || line.text.contains("run completed in") {
            over = over.or(Some(line.number).filter(|_| !instances.is_empty()));
        }
        let Some((before, rest)) = line.text.split_once("cyclic:") else { continue };
        line.whole()?;
        let process = before.rsplit_once('[').and_then(|(_, rest)| rest.split(']').next()).unwrap_or("0");
        let process = number(process, line.number, "process")?;
        if instances.len() > 4096 {
            return Err(ImportError::TooMuch("more than 4096 instances".to_owned()));
        }
        if let Some(over) = over.filter(|_| !instances.contains_key(&process)) {
            let reason = format!(
                "line {over} ends a run of stress-ng, and process {process} belongs to another; split the file and import \
                 each part"
            );
            return Err(ImportError::line(line.number, "process", reason));
        }
        instances.entry(process).or_default().take(line, rest.trim())?;
        let needed = rest.split_once("needed to be ").and_then(|(_, rest)| rest.split_whitespace().next());
        if let Some(needed) = needed {
            let needed = number(needed, line.number, "--cyclic-samples")?;
            let remark = format!(
                "the figures cover only the first samples; with --cyclic-samples {needed}, they would have covered the run"
            );
            // Every instance writes the note.
            imported.remarks.retain(|known| *known != remark);
            imported.remarks.push(remark);
        }
    }
    imported.last_line = Some(lines.read_lines());
    imported.remarks.push(
        "the log has a count, extremes and percentiles, but not a distribution: tardy computes no quantiles"
            .to_owned(),
    );
    let mut streams = Vec::new();
    for (number, (_, instance)) in instances.into_iter().enumerate() {
        let place = format!("line {} ff., instance {number}", instance.line);
        let (Some(samples), Some(min_ns), Some(max_ns)) =
            (instance.samples, instance.min_ns, instance.max_ns)
        else {
            return Err(ImportError::field(place, "samples, minimum or maximum are missing"));
        };
        let mut counts = Counts::extremes(samples, min_ns, max_ns, 1);
        counts.max_is_stated = true;
        (counts.mean_ns, counts.deviation_ns) = (instance.mean_ns, instance.deviation_ns);
        counts.check(&place)?;
        imported.contradictions.extend(instance.percentile_contradictions(min_ns, max_ns));
        let mut stream = Stream::of_thread(number as u32, Readings::Counts(Box::new(counts)));
        (stream.policy, stream.interval_ns) = (instance.policy, instance.delay_ns);
        streams.push(stream);
    }
    if streams.is_empty() {
        return Err(ImportError::field("the log", "it contains no line of the cyclic stressor"));
    }
    imported.phases.push(ImportedPhase { label: "cyclic".to_owned(), streams });
    Ok(imported)
}

impl Instance {
    fn take(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        let ns = |text: &str, field: &str| {
            decimal_ns(text.trim().trim_end_matches("ns").trim_end_matches(',').trim(), 1, line.number, field)
        };
        if let Some(rest) = text.strip_prefix("sched ") {
            self.line = line.number;
            let (policy, rest) = rest.split_once(':').unwrap_or((rest, ""));
            self.policy = match policy.trim() {
                "SCHED_FIFO" => Some(Policy::Fifo),
                "SCHED_RR" => Some(Policy::Rr),
                "SCHED_DEADLINE" => Some(Policy::Deadline),
                "SCHED_OTHER" => Some(Policy::Other),
                _ => None,
            };
            for part in rest.split(',').map(str::trim) {
                if let Some(delay) = part.strip_suffix("ns delay") {
                    self.delay_ns = u64::try_from(ns(delay, "delay")?).ok().filter(|ns| *ns > 0);
                } else if let Some(samples) = part.strip_suffix("samples") {
                    let samples = number(samples.trim(), line.number, "samples")?;
                    once(&mut self.samples, samples, line, "samples")?;
                }
            }
        } else if let Some((share, value)) = text.split_once("%:") {
            let share = decimal_ns(share.trim(), 100, line.number, "percentile")?;
            self.percentiles.push((line.number, share, ns(value, "percentile")?));
            if self.percentiles.len() > 1000 {
                return Err(ImportError::TooMuch("more than 1000 percentiles of one instance".to_owned()));
            }
        } else if text.starts_with("mean:") || text.starts_with("min:") {
            for part in text.split(',').map(str::trim) {
                if let Some(mean) = part.strip_prefix("mean:") {
                    once(&mut self.mean_ns, ns(mean, "mean")? as f64, line, "mean")?;
                } else if let Some(min) = part.strip_prefix("min:") {
                    once(&mut self.min_ns, ns(min, "min")?, line, "min")?;
                } else if let Some(rest) = part.strip_prefix("max:") {
                    once(&mut self.max_ns, ns(rest, "max")?, line, "max")?;
                } else if let Some(rest) = part.strip_prefix("std.dev.") {
                    once(&mut self.deviation_ns, ns(rest, "std.dev.")? as f64, line, "std.dev.")?;
                }
            }
        }
        Ok(())
    }

    /// Contradictions: percentiles that do not ascend or are not between the extremes.
    fn percentile_contradictions(&self, min_ns: i64, max_ns: i64) -> Vec<String> {
        let mut contradictions = Vec::new();
        let percent = |share: i64| share as f64 / 100.0;
        for (line, share, value_ns) in &self.percentiles {
            if !(min_ns..=max_ns).contains(value_ns) {
                contradictions.push(format!(
                    "line {line}, {} %: {value_ns} ns is not between the minimum, {min_ns} ns, and the maximum, {max_ns} ns",
                    percent(*share)
                ));
            }
        }
        for pair in self.percentiles.windows(2) {
            let [(_, before, lower_ns), (line, share, value_ns)] = pair else { continue };
            if share > before && value_ns < lower_ns {
                contradictions.push(format!(
                    "line {line}, {} %: {value_ns} ns is less than the {lower_ns} ns of {} %",
                    percent(*share),
                    percent(*before)
                ));
            }
        }
        contradictions
    }
}

/// Sets a value that a process prints once. The same value may appear again.
fn once<T: PartialEq + Copy>(slot: &mut Option<T>, value: T, line: Line<'_>, field: &str) -> Result<()> {
    if slot.is_some_and(|known| known != value) {
        let reason = "the same process printed another value before; split the file and import each run";
        return Err(ImportError::line(line.number, field, reason));
    }
    *slot = Some(value);
    Ok(())
}
