//! The JSON of the rt-tests (`--json`, file_version 1): cyclictest, oslat and the message-passing tests.
//!
//! Its irregularities: keys end in a colon, an unescaped command line may make the JSON invalid, readings beyond the histogram
//! are not counted, and the unit of a value may change without being stated.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Policy;
use tardy_record::series::{Level, Quantity};

use super::rt_tests::{MINIMA_OF_0, Tool, remember_minima_of_0, tool_named};
use super::{ImportOptions, cyclictest_text, json_threads, oslat_text};
use crate::command_line;
use crate::dates;
use crate::error::{ImportError, Result};
use crate::export::columns::SeriesComment;
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, System, Unit, in_ns};
use tardy_unpack::json::{self, Object};

/// Imports a document from rt-tests.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let (root, is_repaired) = json::parse_unescaped(reader, "cmdline:")?;
    let mut imported = of_document(root, options)?;
    if is_repaired {
        imported
            .remarks
            .push("the file is not valid JSON, since the tool did not escape its command line".to_owned());
    }
    Ok(imported)
}

fn of_document(mut root: Object, options: &ImportOptions) -> Result<Imported> {
    let (sysinfo, threads) = (root.object("sysinfo")?, root.object("thread")?);
    let command = root.text("cmdline:").or(root.text("cmdline")).map(str::to_owned);
    let words = command.clone().unwrap_or_default();
    let program = words.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let tool = program.into_iter().find(|word| tool_named(word).is_some()).unwrap_or("rt-tests");
    // tardy's exports have cyclictest's format and the version of tardy.
    let version = root.text("rt_test_version:").or(root.text("rt_test_version"));
    let tool = if version.is_some_and(|version| version.starts_with("tardy")) { "cyclictest" } else { tool };
    let mut imported = Imported {
        tool: tool.to_owned(),
        version: root.text("rt_test_version:").or(root.text("rt_test_version")).map(str::to_owned),
        command,
        system: system(sysinfo),
        ..Imported::default()
    };
    let (start, end) = (root.text("start_time"), root.text("end_time"));
    let (start, end) = (start.and_then(dates::parse_rfc2822), end.and_then(dates::parse_rfc2822));
    (imported.started, imported.ended) = (start, end);
    if start.zip(end).is_some_and(|(start, end)| end < start) {
        imported.contradictions.push("end_time: it is before start_time".to_owned());
    }
    let duration = start.zip(end).map(|(start, end)| end - start).filter(|seconds| *seconds > 0);
    imported.duration_ns = duration.and_then(|seconds| (seconds as u64).checked_mul(1_000_000_000));
    if root.count("return_code")?.is_some_and(|code| code != 0) {
        imported.contradictions.push("return_code: the tool reported a failure".to_owned());
    }
    let known = tool_named(tool);
    let threads = match threads {
        Some(threads) => threads,
        None => {
            let label = tool.to_owned();
            imported.phases.push(ImportedPhase { label, streams: Vec::new() });
            imported.measures = known.map_or("not known", |known| known.measures);
            imported.late_periods = LatePeriods::NoSchedule;
            return Ok(imported);
        }
    };
    let threads = json_threads::numbered(threads, "thread")?;
    if root.count("num_threads")?.is_some_and(|count| count != threads.len() as u64) {
        let reason = format!("num_threads: it is not {}, the number of threads in the file", threads.len());
        imported.contradictions.push(reason);
    }
    let mut totals = Vec::new();
    for (_, thread) in threads.iter().filter(|(_, thread)| thread.has("total") && !thread.has("cycles")) {
        totals.extend(thread.count("total")?.zip(thread.count("avg")?));
    }
    let rounds = rounds(&totals, &mut imported)?;
    let mut streams = Vec::new();
    for (number, thread) in threads {
        streams.push(match tool {
            "oslat" => oslat(number, thread, &mut imported)?,
            "cyclictest" => cyclictest(number, thread, &root, options, &mut imported)?,
            "cyclicdeadline" => {
                let stream = cyclictest(number, thread, &root, options, &mut imported)?;
                Stream { policy: Some(Policy::Deadline), ..stream }
            }
            _ => other(number, thread, known, rounds, &mut imported)?,
        });
    }
    finish(&mut imported, known);
    imported.phases.push(ImportedPhase { label: tool.to_owned(), streams });
    Ok(imported)
}

fn finish(imported: &mut Imported, known: Option<&Tool>) {
    imported.measures =
        known.map_or("unknown: the tool is not in tardy's list of rt-tests", |known| known.measures);
    imported.late_periods = known.map_or(LatePeriods::Unknown, |known| known.late_periods);
    // Dates are whole seconds, so their difference is meaningful for long runs only.
    imported.duration_is_exact = imported.tool == "cyclictest";
    imported.wake = known.and_then(Tool::wake);
    if imported.tool == "cyclicdeadline" {
        imported.remarks.push(MINIMA_OF_0.to_owned());
    }
    if imported.tool == "cyclictest"
        && let Some(known) = imported.command.as_deref().and_then(command_line::cyclictest)
    {
        // -b and signals end a run before -D does; the dates of its start and end have whole seconds.
        let elapsed_ns = imported
            .started
            .zip(imported.ended)
            .map(|(start, end)| (end - start).max(0) as u64 * 1_000_000_000);
        let ended_early = |ns: u64| elapsed_ns.is_some_and(|elapsed_ns| elapsed_ns + 1_000_000_000 < ns);
        imported.duration_ns = known.duration_ns.filter(|ns| !ended_early(*ns)).or(imported.duration_ns);
        // Every version with JSON uses clock_nanosleep unless an option changes it.
        imported.wake = Some(known.wake(Some(true)).into());
    }
}

fn system(sysinfo: Option<Object>) -> System {
    let Some(sysinfo) = sysinfo else { return System::default() };
    let text = |key: &str| sysinfo.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
    System {
        host: text("nodename"),
        release: text("release"),
        version: text("version"),
        machine: text("machine"),
        realtime: sysinfo.count("realtime").ok().flatten(),
        ..System::default()
    }
}

fn cyclictest(
    number: u32,
    mut thread: Object,
    root: &Object,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<Stream> {
    let known = imported.command.as_deref().and_then(command_line::cyclictest);
    let unit = match root.count("resolution_in_ns")? {
        Some(0) => Unit::Us,
        Some(1) => Unit::Ns,
        Some(other) => {
            let reason = format!("{other} is not a unit; expected 0 for us or 1 for ns");
            return Err(ImportError::field("resolution_in_ns", reason));
        }
        None => cyclictest_text::unit(options, known.as_ref(), None, imported, "this cyclictest's JSON")?,
    };
    let histogram = thread.object("histogram")?;
    let cycles = thread.required("cycles", thread.count("cycles")?)?;
    let path = |key: &str| thread.path_of(key);
    let value =
        |key: &str| -> Result<i64> { in_ns(thread.required(key, thread.whole(key)?)?, unit, &path(key)) };
    let (min_ns, max_ns) = (value("min")?, value("max")?);
    let listed = match histogram {
        Some(histogram) => json_threads::bins(histogram.into_rows()?, unit, &path("histogram"))?,
        None => Vec::new(),
    };
    let mut counts = if listed.is_empty() {
        Counts::extremes(cycles, min_ns, max_ns, unit.ns() as u64)
    } else {
        let mut counts = Counts { bins: listed, resolution_ns: unit.ns() as u64, ..Counts::default() };
        let in_bins = counts.total(&path("histogram"))?;
        match cycles.checked_sub(in_bins) {
            Some(overflows) => {
                let reach_ns = counts.bins.last().map_or(0, |bin| bin.upper_ns);
                counts.add_overflows(reach_ns, overflows);
            }
            None => {
                let reason = format!("it is {cycles}, but the histogram holds {in_bins}");
                return Err(ImportError::field(path("cycles"), reason));
            }
        }
        (counts.min_ns, counts.max_ns) = (Some(min_ns), Some(max_ns));
        counts
    };
    if cycles > 0
        && counts.bins.len() == 1
        && counts.bins[0].upper_ns == i64::MAX
        && counts.overflows.is_none()
    {
        let reason = "there is no distribution: all wake-ups were beyond the histogram, or -h was not given";
        imported.remarks.push(format!("thread {number}: {reason}"));
    }
    if imported.tool == "cyclicdeadline" {
        remember_minima_of_0(&mut counts);
    }
    let factor = unit.ns() as f64;
    counts.mean_ns = thread.number("avg")?.map(|mean| mean * factor);
    // Only tardy's exports have exact extremes.
    let own = SeriesComment {
        label: number.to_string(),
        min_ns: thread.whole("min_ns")?,
        max_ns: thread.whole("max_ns")?,
        beyond: 0,
    };
    if let Err(contradiction) = own.refine(&mut counts, unit) {
        imported.contradictions.push(format!("{}: {contradiction}", path("min_ns, max_ns")));
    }
    counts.rounded_up = own.min_ns.is_some();
    counts.check(&path("min, max"))?;
    let mut stream = Stream::of_thread(number, Readings::Counts(Box::new(counts)));
    stream.cpu = cpu(&thread)?;
    // Only tardy's exports name threads.
    stream.label = thread.text("label").map(|label| label.chars().take(200).collect());
    if let Some(known) = &known {
        cyclictest_text::complete_from_command(&mut stream, known);
    }
    Ok(stream)
}

/// The thread's CPU; `None` if it is missing, or -1, which stands for a thread that is not pinned.
fn cpu(thread: &Object) -> Result<Option<u32>> {
    match thread.whole("cpu")? {
        None | Some(-1) => Ok(None),
        Some(cpu) => u32::try_from(cpu).map(Some).map_err(|_| {
            ImportError::field(thread.path_of("cpu"), format!("{cpu} is not the number of a CPU"))
        }),
    }
}

/// Reads a thread of oslat. Its bins have 1 us, or -W ns. The last bin holds everything above.
fn oslat(number: u32, mut thread: Object, imported: &mut Imported) -> Result<Stream> {
    let histogram = thread.object("histogram")?;
    let rows = thread.required("histogram", histogram)?.into_rows()?;
    let unit = if rows.first_fraction().is_some() { Unit::Ns } else { Unit::Us };
    let value = |key: &str| -> Result<i64> {
        in_ns(thread.required(key, thread.whole(key)?)?, unit, &thread.path_of(key))
    };
    let (min_ns, max_ns) = (value("min")?, value("max")?);
    let width_ns = rows.width().unwrap_or(1000).max(1);
    let mut bins = rows.into_bins(|upper_ns, count| Bin { lower_ns: upper_ns - width_ns, upper_ns, count });
    let version = imported.version.as_deref();
    let mut words = imported.command.iter().flat_map(|command| command.split_whitespace());
    let is_bias = |word: &str| {
        word == "--bias" || (word.starts_with('-') && !word.starts_with("--") && word.contains('B'))
    };
    let is_biased = words.any(is_bias);
    oslat_text::place_bins(&mut bins, min_ns, version, is_biased);
    let mut counts = Counts {
        bins,
        min_ns: Some(min_ns),
        max_ns: Some(max_ns),
        resolution_ns: unit.ns() as u64,
        ..Counts::default()
    };
    counts.open_last_for_maximum();
    if counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (None, None);
    }
    counts.check(&thread.path_of("min, max"))?;
    if number == 0 {
        imported.remarks.push(
            "oslat's averages are not imported: they count each reading as the upper end of its bin"
                .to_owned(),
        );
    }
    let mut stream = Stream::of_thread(number, Readings::Counts(Box::new(counts)));
    stream.cpu = cpu(&thread)?;
    stream.quantity = Quantity::Noise;
    let duration = thread.number("duration")?.filter(|seconds| (0.0..1e9).contains(seconds));
    let duration_ns = duration.map(|seconds| (seconds * 1e9) as u64);
    imported.duration_ns = if number == 0 { duration_ns } else { imported.duration_ns.max(duration_ns) };
    Ok(stream)
}

/// Reads a thread or pair of a program that writes only a count and extremes.
fn other(
    number: u32,
    mut thread: Object,
    known: Option<&Tool>,
    rounds: Option<u64>,
    imported: &mut Imported,
) -> Result<Stream> {
    let (sender, receiver) = (thread.object("sender")?, thread.object("receiver")?);
    let of = receiver.as_ref().unwrap_or(&thread);
    let us =
        |key: &str| -> Result<i64> { in_ns(of.required(key, of.whole(key)?)?, Unit::Us, &of.path_of(key)) };
    let mean = of.number("avg")?;
    let count = match &sender {
        Some(sender) => sender.required("samples", sender.count("samples")?)?,
        None => match thread.count("cycles")? {
            Some(cycles) => cycles,
            None => rounds.ok_or_else(|| ImportError::field(thread.path_of("cycles"), "is missing"))?,
        },
    };
    let mut counts = Counts::extremes(count, us("min")?, us("max")?, 1000);
    counts.mean_ns = mean.map(|mean| mean * 1000.0);
    counts.check(&of.path_of("min, max"))?;
    if number == 0 {
        let what = known.map_or("the tool", |known| known.name);
        imported.remarks.push(format!(
            "{what} writes only a count and extremes, not a distribution: there are no quantiles"
        ));
    }
    let mut stream = Stream::of_thread(number, Readings::Counts(Box::new(counts)));
    stream.level = Level::UserThread;
    stream.cpu = cpu(of)?;
    let priority = match of.count("priority")? {
        Some(priority) => Some(priority),
        None => thread.count("prio")?,
    };
    stream.priority =
        priority.and_then(|priority| u32::try_from(priority).ok()).filter(|priority| *priority <= 99);
    let interval = match &sender {
        Some(sender) => sender.count("interval")?,
        None => None,
    };
    stream.interval_ns = interval.and_then(|us| us.checked_mul(1000)).filter(|ns| *ns > 0);
    // Two pairs may share a CPU, so their number is part of the name.
    if receiver.is_some() {
        stream.label = Some(format!("pair {number}"));
    }
    if thread.has("prio") {
        stream.label = Some(format!("priority {}", stream.priority.unwrap_or(0)));
    }
    Ok(stream)
}

/// The number of rounds of rt-migrate-test, which the file does not state. It is the same for all threads; each has a total in
/// us, and a mean, which is the total divided by the rounds, truncated. `None` without such threads.
///
/// # Errors If no number of rounds agrees with the totals and the means of all threads.
fn rounds(totals: &[(u64, u64)], imported: &mut Imported) -> Result<Option<u64>> {
    if totals.is_empty() {
        return Ok(None);
    }
    let least = totals.iter().map(|(total, mean)| total / mean.saturating_add(1) + 1).max().unwrap_or(1);
    let most =
        totals.iter().map(|(total, mean)| total.checked_div(*mean).unwrap_or(u64::MAX)).min().unwrap_or(1);
    if least > most {
        let reason = "the threads' totals and means are not of one number of rounds";
        return Err(ImportError::field("thread", reason));
    }
    let stated = loops(imported);
    let usual = stated.or(Some(ROUNDS)).filter(|rounds| (least..=most).contains(rounds));
    if let Some(stated) = stated.filter(|stated| Some(*stated) != usual) {
        imported.contradictions.push(format!(
            "cmdline: it has -l {stated}, but the threads' totals and means are of at least {least} rounds and at most {most}"
        ));
    }
    if usual.is_none() && least < most {
        imported.remarks.push(format!(
            "the number of rounds is between {least} and {most}, from totals and means; {least} are imported"
        ));
    }
    Ok(Some(usual.unwrap_or(least)))
}

/// rt-migrate-test's default number of rounds.
const ROUNDS: u64 = 50;

/// The value of -l or --loops in the command line.
fn loops(imported: &Imported) -> Option<u64> {
    let command = imported.command.as_deref()?;
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(value) = word.strip_prefix("--loops=") {
            return value.parse().ok();
        }
        match word.strip_prefix("-l") {
            Some("") => return words.next()?.parse().ok(),
            Some(value) => return value.parse().ok(),
            None if word == "--loops" => return words.next()?.parse().ok(),
            None => {}
        }
    }
    None
}
