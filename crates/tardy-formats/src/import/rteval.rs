//! rteval's summary.xml: the machine, and cyclictest's or timerlat's histogram for each core.
//!
//! The element `system` adds up the cores. If there are cores, it is only compared with them. rteval 3.8 omits
//! statistics if a reading is beyond its buckets, and its timerlat module adds up interrupt, thread and return in one
//! histogram. Remarks report both.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;

use super::{ImportOptions, decimal_ns, number, rt_tests};
use crate::command_line;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use tardy_unpack::xml::{self, Event, Xml};

#[derive(Default)]
struct Core {
    line: u64,
    id: Option<u32>,
    priority: Option<u32>,
    bins: BTreeMap<i64, u64>,
    values: BTreeMap<String, i64>,
}

const STATISTICS: [&str; 5] = ["samples", "minimum", "maximum", "mean", "standard_deviation"];

/// The state of reading a summary.
#[derive(Default)]
struct Summary {
    path: Vec<String>,
    tool: Option<String>,
    cores: Vec<Core>,
    system: Option<Core>,
    /// Attributes of the current statistic.
    unit: Option<Unit>,
}

/// Imports a summary.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let bytes = xml::whole(reader)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        ImportError::field(format!("byte {}", error.utf8_error().valid_up_to()), "it is not UTF-8")
    })?;
    let mut xml = Xml::new(&text);
    let mut summary = Summary::default();
    let mut imported = Imported { late_periods: LatePeriods::Skipped, ..Imported::default() };
    while let Some(event) = xml.next_event()? {
        match event {
            Event::Start(name, attributes) => {
                summary.path.push(name);
                summary.start(xml.line(), &attributes, &mut imported)?;
            }
            Event::Text(text) => summary.text(xml.line(), &text, &mut imported)?,
            Event::End(_) => {
                summary.path.pop();
            }
        }
    }
    imported.cut_short = xml.is_cut_off();
    summary.finish(imported)
}

impl Summary {
    fn start(
        &mut self,
        line: u64,
        attributes: &BTreeMap<String, String>,
        imported: &mut Imported,
    ) -> Result<()> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["rteval"] => imported.version = attributes.get("version").cloned(),
            ["rteval", "run_info"] => imported.duration_ns = run_time_ns(attributes),
            ["rteval", "SystemInfo", "uname", "kernel"] => {
                // rteval reads /sys/kernel/realtime.
                imported.system.realtime = attributes.get("is_RT").and_then(|text| text.parse().ok());
            }
            ["rteval", "Measurements", .., tool @ ("cyclictest" | "timerlat")] => {
                if self.tool.as_deref().is_some_and(|known| known != *tool) {
                    imported
                        .remarks
                        .push(format!("the file also has {tool}'s results, which are not imported"));
                    return Ok(());
                }
                self.tool = Some((*tool).to_owned());
                imported.command = attributes.get("command_line").cloned();
            }
            ["rteval", "Measurements", .., tool, "core"] if self.tool.as_deref() == Some(tool) => {
                let id = attributes.get("id").and_then(|id| id.parse().ok());
                let priority = attributes.get("priority").and_then(|priority| priority.parse().ok());
                self.cores.push(Core {
                    line,
                    id,
                    priority: priority.filter(|n| *n <= 99),
                    ..Core::default()
                });
                if self.cores.len() > 4096 {
                    return Err(ImportError::TooMuch("more than 4096 cores".to_owned()));
                }
            }
            ["rteval", "Measurements", .., tool, "system"] if self.tool.as_deref() == Some(tool) => {
                self.system = Some(Core { line, ..Core::default() });
            }
            [.., "statistics", name] if STATISTICS.contains(name) => {
                self.unit = Some(match attributes.get("unit").map(String::as_str) {
                    None | Some("us") => Unit::Us,
                    Some("ns") => Unit::Ns,
                    Some(other) => {
                        let shown: String = other.chars().take(20).collect();
                        let reason = format!("'{shown}' is not a unit of rteval; expected us or ns");
                        return Err(ImportError::line(line, &format!("{name} unit"), reason));
                    }
                });
            }
            [.., "histogram", "bucket"] => {
                let value = |key: &str| {
                    let word = attributes.get(key).map_or("", String::as_str);
                    number(word, line, format!("bucket {key}"))
                };
                let (index, count) = (value("index")?, value("value")?);
                let index = i64::try_from(index).unwrap_or(i64::MAX);
                let index = in_ns(index, Unit::Us, &format!("line {line}, bucket index"))?;
                if let Some(core) = self.core() {
                    let sum = core.bins.entry(index).or_default();
                    *sum = sum.checked_add(count).ok_or_else(|| {
                        ImportError::line(line, "bucket value", "counts add up to more than 2^64")
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The current core, or the sum of all cores.
    fn core(&mut self) -> Option<&mut Core> {
        let in_core = self.path.iter().any(|name| name == "core");
        let in_system = self.path.iter().any(|name| name == "system");
        match (in_core, in_system) {
            (true, _) => self.cores.last_mut(),
            (_, true) => self.system.as_mut(),
            _ => None,
        }
    }

    fn text(&mut self, line: u64, text: &str, imported: &mut Imported) -> Result<()> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let value = || Some(text.to_owned());
        match path.as_slice() {
            ["rteval", "SystemInfo", "uname", "node"] => imported.system.host = value(),
            ["rteval", "SystemInfo", "uname", "kernel"] => imported.system.release = value(),
            ["rteval", "SystemInfo", "uname", "arch"] => imported.system.machine = value(),
            ["rteval", "SystemInfo", "cmdline"] => imported.system.command_line = value(),
            ["rteval", "SystemInfo", "Kernel", "ClockSource", "source"] => {
                imported.system.clock_source.get_or_insert(text.to_owned());
            }
            [.., "statistics", name] if STATISTICS.contains(name) => {
                let unit_ns = self.unit.unwrap_or(Unit::Us).ns();
                let read = match *name {
                    "samples" => decimal_ns(text, 1, line, name)?,
                    "mean" | "standard_deviation" => exponential_ns(text, unit_ns, line, name)?,
                    _ => decimal_ns(text, unit_ns, line, name)?,
                };
                let name = (*name).to_owned();
                if let Some(core) = self.core() {
                    core.values.insert(name, read);
                }
            }
            [.., "breaktrace"] | [.., "abort_report"] => {}
            _ => {}
        }
        Ok(())
    }

    fn finish(self, mut imported: Imported) -> Result<Imported> {
        let tool = self.tool.ok_or_else(|| {
            ImportError::field("Measurements", "it contains neither a cyclictest nor a timerlat result")
        })?;
        let timerlat = tool == "timerlat";
        imported.tool = format!("rteval's {tool}");
        imported.measures = if timerlat {
            "from timerlat's timer to its interrupt, its thread and the return to user space, all in one"
        } else {
            rt_tests::MEASURES_OF_CYCLICTEST
        };
        if timerlat {
            imported.remarks.push(
                "rteval adds up timerlat's interrupt, thread and return in one histogram: each cycle counts two or three \
                 times, and readings beyond the histogram are missing"
                    .to_owned(),
            );
        }
        imported.remarks.push(
            "rteval loads the machine while it measures; its loads are in its report and are not imported"
                .to_owned(),
        );
        let known = imported.command.as_deref().and_then(command_line::cyclictest);
        // The file does not have the version of rt-tests.
        imported.wake = (!timerlat).then(|| known.as_ref().and_then(|known| known.wake(None)).into());
        if let Some(system) = self.system.as_ref().filter(|_| !self.cores.is_empty()) {
            imported.contradictions.extend(contradictions_with_cores(system, &self.cores));
        }
        let cores = if self.cores.is_empty() { self.system.into_iter().collect() } else { self.cores };
        let mut streams = Vec::new();
        for (number, core) in cores.into_iter().enumerate() {
            let line = core.line;
            let mut stream = stream(number as u32, core, &mut imported)?;
            if streams.iter().any(|other: &Stream| other.cpu == stream.cpu) {
                let name = stream.name();
                return Err(ImportError::line(line, "core", format!("{name} appears twice")));
            }
            if let Some(known) = &known {
                stream.interval_ns = known.interval_ns;
                stream.policy = known.policy;
            }
            streams.push(stream);
        }
        imported.phases.push(ImportedPhase { label: tool, streams });
        Ok(imported)
    }
}

/// Contradictions between the system's statistics and the cores. RunData in cyclictest.py adds every bucket and every
/// maximum both to the core and to the system.
fn contradictions_with_cores(system: &Core, cores: &[Core]) -> Vec<String> {
    let mut contradictions = Vec::new();
    let mut differs = |key: &str, found: Option<i64>, unit_ns: i64, unit: &str| {
        let stated = system.values.get(key).copied();
        if let (Some(stated), Some(found)) = (stated, found)
            && stated != found
        {
            let shown = |value: i64| format!("{}{unit}", value as f64 / unit_ns as f64);
            contradictions.push(format!(
                "line {} ff., system, {key}: it is {}, but the cores give {}",
                system.line,
                shown(stated),
                shown(found)
            ));
        }
    };
    let all =
        |key: &str| -> Vec<i64> { cores.iter().filter_map(|core| core.values.get(key).copied()).collect() };
    let samples = all("samples");
    if samples.len() == cores.len() {
        let sum = samples.iter().fold(0i64, |sum, samples| sum.saturating_add(*samples));
        differs("samples", Some(sum), 1, "");
    }
    // A core without samples has no extremes.
    differs("minimum", all("minimum").into_iter().min(), 1000, " us");
    differs("maximum", all("maximum").into_iter().max(), 1000, " us");
    contradictions
}

fn stream(number: u32, core: Core, imported: &mut Imported) -> Result<Stream> {
    let name = core.id.map_or_else(|| "system".to_owned(), |id| format!("core {id}"));
    let place = format!("line {} ff., {name}", core.line);
    let bins = core.bins.iter().filter(|(_, count)| **count > 0);
    let bins = bins.map(|(ns, count)| Bin { lower_ns: *ns, upper_ns: ns + 1000, count: *count }).collect();
    let mut counts = Counts { bins, resolution_ns: 1000, ..Counts::default() };
    let total = counts.total(&place)?;
    let of = |key: &str| core.values.get(key).copied();
    if let Some(samples) = of("samples").filter(|samples| *samples as u64 != total) {
        imported
            .contradictions
            .push(format!("{place}, samples: it is {samples}, but the buckets hold {total}"));
    }
    if of("maximum").is_none() && total > 0 {
        imported.remarks.push(format!(
            "{name}: rteval omitted its statistics, which it does if a reading is beyond its buckets; the maximum shown is \
             the highest bucket, and there was a higher one"
        ));
    }
    counts.min_ns = of("minimum").or(counts.bins.first().map(|bin| bin.lower_ns));
    counts.max_is_stated = of("maximum").is_some();
    counts.max_at_least = !counts.max_is_stated;
    counts.max_ns = of("maximum").or(counts.bins.last().map(|bin| bin.lower_ns));
    // For a single sample rteval computes no mean and deviation and writes 0 (RunData.reduce in cyclictest.py).
    if total > 1 {
        counts.mean_ns = of("mean").map(|ns| ns as f64);
        counts.deviation_ns = of("standard_deviation").map(|ns| ns as f64);
    }
    // If the maximum equals the number of buckets, it is in no bucket, but rteval does not omit the statistics.
    if let (Some(max_ns), Some(last)) = (counts.max_ns, counts.bins.last().copied())
        && max_ns >= last.upper_ns
    {
        counts.bins.push(Bin { lower_ns: last.upper_ns, upper_ns: i64::MAX, count: 1 });
        imported.remarks.push(format!(
            "{name}: the maximum is beyond the buckets; rteval does not count such readings, so only the maximum is imported"
        ));
    }
    if counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (None, None);
    }
    counts.check(&place)?;
    let mut stream = Stream::of_thread(number, Readings::Counts(Box::new(counts)));
    (stream.cpu, stream.priority) = (core.id, core.priority);
    stream.label = core.id.is_none().then(|| "all CPUs".to_owned());
    Ok(stream)
}

/// Reads a number as Python's `str` prints it: with an exponent below 0.0001.
fn exponential_ns(text: &str, unit_ns: i64, line: u64, field: &str) -> Result<i64> {
    let value = text.trim().parse::<f64>().ok().filter(|value| (0.0..1e12).contains(value));
    let value = value.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::line(line, field, format!("'{shown}' is not a valid time"))
    })?;
    Ok((value * unit_ns as f64) as i64)
}

fn run_time_ns(attributes: &BTreeMap<String, String>) -> Option<u64> {
    let part = |key: &str| -> Option<u64> {
        attributes
            .get(key)
            .map_or(Some(0.0), |text| text.parse::<f64>().ok())
            .filter(|n| (0.0..1e9).contains(n))
            .map(|n| n as u64)
    };
    let seconds = ((part("days")? * 24 + part("hours")?) * 60 + part("minutes")?) * 60 + part("seconds")?;
    seconds.checked_mul(1_000_000_000).filter(|ns| *ns > 0)
}
