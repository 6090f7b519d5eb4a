//! cyclictest's text: thread lines, quiet or live, and the histogram with its summary.
//!
//! One reader for both, since a run without -q prints both. Up to 2.6 every row is printed, then `# Total:`; from 2.7 on,
//! rows of zeros and the total are omitted. With -H, the last column is the total of all threads. Readings beyond
//! the histogram appear only in `# Histogram Overflows:`.

use std::collections::BTreeMap;
use std::io::Read;

use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Policy;
use tardy_record::{Bin, Knowable};

use super::cyclictest_line::{THREAD_MAX, ThreadLine};
use super::rows::{Rows, SUMS_DROPPED};
use super::rt_tests::{self, MEASURES_OF_CYCLICTEST};
use super::{ImportOptions, number};
use crate::command_line::{self, Cyclictest};
use crate::error::{ImportError, Result};
use crate::export::columns::{SERIES_MARK, SeriesComment};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use crate::lines::{Line, Lines};

/// cyclictest's HIST_MAX.
const ROW_MAX: u64 = 1_000_000_000;

/// The content of the text.
#[derive(Debug, Default)]
struct Text {
    /// The tool, if it is not cyclictest but prints the same lines.
    other_tool: Option<&'static str>,
    threads: BTreeMap<u32, (u64, ThreadLine)>,
    is_histogram: bool,
    /// Whether threads have several lines, as the live output has them; it is complete at any time.
    is_live: bool,
    rows: Rows,
    trailers: BTreeMap<&'static str, (u64, Vec<u64>)>,
    /// For each thread, the list below `# Histogram Overflow at cycle number:`.
    listed: BTreeMap<usize, Listed>,
    /// tardy's descriptions of the series, if tardy exported the file.
    own: Vec<SeriesComment>,
    /// The policy in the line of the load average.
    policy: Option<Policy>,
    /// Whether the tool warned that timers have the resolution of the tick.
    lacks_high_resolution: bool,
    dma_latency: Option<String>,
    break_value: Option<String>,
    /// Lines of `--spike`, which repeat readings that the threads' lines count.
    spikes: u64,
    /// cyclictest's message that it may not set its policy. It then measures nothing.
    refusal: Option<String>,
    cut_short: bool,
    last_line: u64,
}

/// Whether a line is cyclictest's message that it may not set its policy.
pub(crate) fn is_refusal(line: &str) -> bool {
    line.to_ascii_lowercase().contains("unable to change scheduling policy")
}

/// The policy that cyclictest calls `name`.
fn policy(name: &str) -> Option<Policy> {
    match name {
        "fifo" => Some(Policy::Fifo),
        "rr" => Some(Policy::Rr),
        "other" | "normal" => Some(Policy::Other),
        _ => None,
    }
}

/// The list of a thread's cycles beyond the histogram.
#[derive(Clone, Copy, Debug)]
struct Listed {
    line: u64,
    count: u64,
    highest: u64,
}

impl Listed {
    /// Reads ` 00074 00077 # 02234 others`. `None` if it is not a list or is empty.
    fn read(line: u64, text: &str) -> Option<Self> {
        let (cycles, others) = text.split_once('#').unwrap_or((text, "0"));
        let cycles = cycles.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
        let others: u64 = others.trim().trim_end_matches("others").trim().parse().ok()?;
        let highest = cycles.iter().copied().max()?;
        Some(Self { line, count: others.checked_add(cycles.len() as u64)?, highest })
    }

    /// A contradiction with `overflows` out of `total` cycles, if any.
    fn contradiction(self, thread: usize, overflows: u64, total: u64) -> Option<String> {
        let Self { line, count, highest } = self;
        if count != overflows {
            return Some(format!(
                "line {line}, thread {thread}: {count} cycles beyond the histogram are listed, but Histogram Overflows \
                 has {overflows}"
            ));
        }
        (highest > total).then(|| {
            format!("line {line}, thread {thread}: cycle {highest} is listed, but there were {total}")
        })
    }
}

const TRAILERS: [(&str, &str); 6] = [
    ("# Total:", "total"),
    ("# Min Latencies:", "min"),
    ("# Avg Latencies:", "avg"),
    ("# Max Latencies:", "max"),
    ("# Histogram Overflows:", "overflows"),
    ("# SMIs:", "smis"),
];

/// The content of a file from cyclictest, still without readings.
pub(super) fn without_readings() -> Imported {
    Imported {
        tool: "cyclictest".to_owned(),
        measures: MEASURES_OF_CYCLICTEST,
        late_periods: LatePeriods::Skipped,
        wake: Some(Knowable::Unknown),
        ..Imported::default()
    }
}

/// Imports cyclictest's text.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported { duration_is_exact: true, ..without_readings() };
    let known = from_command(options, &mut imported);
    let mut text = read(reader)?;
    if let Some(refusal) = text.refusal.as_ref().filter(|_| text.threads.is_empty() && !text.is_histogram) {
        let reason =
            format!("cyclictest measured nothing: \"{refusal}\"; run it as root or with CAP_SYS_NICE");
        return Err(ImportError::field("the file", reason));
    }
    let unit = unit(options, known.as_ref(), text.unit(), &mut imported, "cyclictest's text")?;
    (imported.cut_short, imported.last_line) = (text.cut_short, Some(text.last_line));
    if let Some(tool) = text.other_tool.and_then(rt_tests::tool_named) {
        imported.tool = tool.name.to_owned();
        (imported.measures, imported.late_periods) = (tool.measures, tool.late_periods);
        imported.wake = tool.wake();
        imported.duration_is_exact = false;
        if tool.name == "cyclicdeadline" {
            imported.remarks.push(rt_tests::MINIMA_OF_0.to_owned());
        }
    }
    if let Some(value) = &text.dma_latency {
        imported.remarks.push(format!(
            "cyclictest held /dev/cpu_dma_latency at {value}, which kept CPUs out of deep idle states"
        ));
    }
    if text.lacks_high_resolution {
        imported.remarks.push(
            "cyclictest warned that high-resolution timers are not available: timers expire at the kernel's tick, \
             and every latency may include a whole tick"
                .to_owned(),
        );
    }
    if text.spikes > 0 {
        imported
            .remarks
            .push(format!("{} single readings (--spike) are listed, and not imported", text.spikes));
    }
    if let Some(value) = &text.break_value {
        // The run ended before -D did.
        imported.duration_ns = None;
        imported
            .remarks
            .push(format!("the measurement stopped at the first latency above the limit of -b, {value}"));
    }
    if text.trailers.get("smis").is_some_and(|(_, counts)| counts.iter().any(|count| *count > 0)) {
        imported
            .remarks
            .push("system management interrupts occurred during the measurement (--smi)".to_owned());
    }
    let streams = if text.is_histogram {
        histogram(&mut text, unit, &mut imported)?
    } else {
        lines(&text, unit, &mut imported)?
    };
    if streams.is_empty() {
        return Err(ImportError::field("the file", "it contains neither a thread line nor a histogram"));
    }
    let mut phase = ImportedPhase { label: "cyclictest".to_owned(), streams };
    for stream in &mut phase.streams {
        if let Some(own) = text.own.get(stream.thread as usize) {
            stream.cpu = own.label.strip_prefix("cpu ").and_then(|cpu| cpu.parse().ok());
            stream.label = Some(own.label.clone());
        }
        complete(stream, known.as_ref(), text.threads.get(&stream.thread).map(|(_, line)| line));
        stream.policy = stream.policy.or(text.policy);
        if !text.own.is_empty() {
            // tardy's exports have 0 for an unknown priority.
            stream.priority = stream.priority.filter(|priority| *priority > 0);
        }
    }
    imported.phases.push(phase);
    Ok(imported)
}

/// Reads the user's --command.
pub(crate) fn from_command(options: &ImportOptions, imported: &mut Imported) -> Option<Cyclictest> {
    let command = options.command.as_ref()?;
    let known = command_line::cyclictest(command)?;
    imported.used.command = true;
    imported.command = Some(command.clone());
    imported.duration_ns = known.duration_ns;
    // The text has no version, so the default is unknown.
    imported.wake = Some(known.wake(None).into());
    Some(known)
}

/// The unit from --unit, from --command, or from the file as `stated`. An error if all are missing.
pub(crate) fn unit(
    options: &ImportOptions,
    known: Option<&Cyclictest>,
    stated: Option<Unit>,
    imported: &mut Imported,
    format: &'static str,
) -> Result<Unit> {
    let by_command = known.and_then(|known| known.unit);
    let Some(given) = options.unit else {
        return by_command.or(stated).ok_or(ImportError::UnitUnknown { format });
    };
    if by_command.is_some_and(|by_command| by_command != given) {
        return Err(ImportError::field(
            "--unit and --command",
            "they contradict each other: cyclictest writes ns with -N and us without it",
        ));
    }
    imported.used.unit = true;
    if stated.is_some_and(|stated| stated != given) {
        let [given, stated] = [Some(given), stated].map(|unit| unit.map_or("", Unit::name));
        imported.remarks.push(format!(
            "the values are read as {given} because of --unit; the widths of the columns are those of {stated}"
        ));
    }
    Ok(given)
}

/// Adds the options of the command line to a thread's stream.
pub(crate) fn complete_from_command(stream: &mut Stream, known: &Cyclictest) {
    let distance_ns = known.distance_ns.saturating_mul(u64::from(stream.thread));
    if stream.interval_ns.is_none() {
        stream.interval_ns = known.interval_ns.and_then(|interval_ns| interval_ns.checked_add(distance_ns));
    }
    stream.policy = known.policy;
    if stream.priority.is_none() {
        stream.priority = known.priority.filter(|priority| *priority <= 99);
    }
    if known.pinned_in_order && stream.cpu.is_none() {
        stream.cpu = Some(stream.thread);
    }
}

fn complete(stream: &mut Stream, known: Option<&Cyclictest>, line: Option<&ThreadLine>) {
    if let Some(line) = line {
        stream.interval_ns = line.interval_us.and_then(|us| us.checked_mul(1000)).filter(|ns| *ns > 0);
        stream.priority = line.priority;
    }
    if let Some(known) = known {
        complete_from_command(stream, known);
    }
}

fn read(reader: &mut dyn Read) -> Result<Text> {
    let mut lines = Lines::new(reader);
    let mut text = Text::default();
    while let Some(line) = lines.next_line()? {
        let plain = without_cursor_codes(line.text);
        let start = plain.trim_start();
        if start.starts_with("T:") && start.contains(" Spike:") {
            text.spikes += 1;
            text.cut_short |= line.unended;
        } else if start.starts_with("T:") {
            match ThreadLine::read(line, start) {
                Ok(read) => text.thread(line.number, read)?,
                Err(_) if line.unended => text.cut_short = true,
                Err(error) => return Err(error),
            }
        } else if plain.starts_with('#') {
            text.comment(line, &plain)?;
        } else if let Some(rest) = plain.strip_prefix("policy: ") {
            text.policy = policy(rest.split(':').next().unwrap_or(""));
        } else if plain.contains("High resolution timers not available") {
            text.lacks_high_resolution = true;
        } else if plain.trim_end() == "Using all CPUS" {
            text.other_tool = Some("cyclicdeadline");
        } else if text.is_histogram && plain.starts_with(|c: char| c.is_ascii_digit()) {
            text.row(line)?;
        }
        if is_refusal(&plain) {
            text.refusal = Some(plain.trim().chars().take(80).collect());
        }
        // A comment that was cut off may still be valid, so only its missing line end shows it.
        text.cut_short |= line.unended && start.starts_with('#');
        if text.threads.len() > THREAD_MAX {
            return Err(ImportError::TooMuch(format!("more than {THREAD_MAX} threads")));
        }
    }
    text.last_line = lines.read_lines();
    Ok(text)
}

impl Text {
    /// The unit that the tool has, or that the widths of all lines of cyclictest show.
    fn unit(&self) -> Option<Unit> {
        // cyclicdeadline and signaltest have no option for ns.
        if self.other_tool.is_some() {
            return Some(Unit::Us);
        }
        let mut units = self.threads.values().filter_map(|(_, line)| line.unit);
        let first = units.next()?;
        units.all(|unit| unit == first).then_some(first)
    }

    fn thread(&mut self, line: u64, read: ThreadLine) -> Result<()> {
        match (read.priority, read.interval_us) {
            (None, _) => self.other_tool = Some("cyclicdeadline"),
            (_, None) => self.other_tool = Some("signaltest"),
            _ => {}
        }
        // cyclictest prints its histogram after all thread lines.
        if self.is_histogram {
            let reason =
                "follows a histogram and belongs to another measurement; split the file and import each part";
            return Err(ImportError::line(line, "T", reason));
        }
        match self.threads.insert(read.thread, (line, read)) {
            Some((_, before)) => {
                self.is_live = true;
                read.check_follows(&before, line)
            }
            None => Ok(()),
        }
    }

    fn comment(&mut self, line: Line<'_>, plain: &str) -> Result<()> {
        if let Some(words) = plain.strip_prefix(SERIES_MARK) {
            let own =
                SeriesComment::read(words).filter(|_| self.own.len() < THREAD_MAX).ok_or_else(|| {
                    ImportError::line(line.number, "comment", "expected tardy's description of a series")
                })?;
            self.own.push(own);
        } else if plain.starts_with("# Histogram") && !plain.contains("Overflow") {
            if self.is_histogram {
                let reason = "a second histogram in one file; split the file and import each part";
                return Err(ImportError::line(line.number, "# Histogram", reason));
            }
            self.is_histogram = true;
        } else if let Some(rest) = plain.strip_prefix("# /dev/cpu_dma_latency set to ") {
            self.dma_latency = Some(rest.chars().take(32).collect());
        } else if let Some(rest) = plain.strip_prefix("# Break value:") {
            self.break_value = Some(rest.trim().chars().take(32).collect());
        } else if let Some((thread, rest)) =
            plain.strip_prefix("# Thread ").and_then(|rest| rest.split_once(':'))
            && let Some(thread) = thread.parse::<usize>().ok().filter(|thread| *thread < THREAD_MAX)
        {
            // A list that is cut off cannot be counted.
            let listed = Listed::read(line.number, rest).filter(|_| !line.cut && !line.unended);
            self.listed.extend(listed.map(|listed| (thread, listed)));
        } else if let Some((label, key)) = TRAILERS.iter().find(|(label, _)| plain.starts_with(label)) {
            if line.unended {
                self.cut_short = true;
                return Ok(());
            }
            line.whole()?;
            let field = label.trim_start_matches("# ").trim_end_matches(':');
            let values = plain[label.len()..]
                .split_whitespace()
                .enumerate()
                .map(|(thread, word)| number(word, line.number, format_args!("{field}, thread {thread}")))
                .collect::<Result<Vec<u64>>>()?;
            if values.len() > THREAD_MAX + 1 {
                return Err(ImportError::line(line.number, field, "too many threads"));
            }
            if self.trailers.insert(key, (line.number, values)).is_some() {
                return Err(ImportError::line(line.number, field, "appears a second time"));
            }
        }
        Ok(())
    }

    fn row(&mut self, line: Line<'_>) -> Result<()> {
        let text = line.whole()?;
        if line.unended {
            // A row that was cut off may lack digits of its last count.
            self.cut_short = true;
            return Ok(());
        }
        let mut words = text.split_whitespace();
        let value = number(words.next().unwrap_or(""), line.number, "latency")?;
        if value > ROW_MAX {
            return Err(ImportError::line(
                line.number,
                "latency",
                "it is beyond any histogram of cyclictest",
            ));
        }
        let counts = words
            .enumerate()
            .map(|(column, word)| number(word, line.number, format_args!("column {}", column + 1)))
            .collect::<Result<Vec<u64>>>()?;
        self.rows.push(value, &counts, line.number, THREAD_MAX + 1)
    }
}

/// Removes `ESC [ … letter`, which live output uses to move up the screen.
pub(crate) fn without_cursor_codes(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let after = after.strip_prefix('[').unwrap_or(after);
        let end = after.find(|c: char| c.is_ascii_alphabetic());
        rest = end.map_or("", |end| &after[end + 1..]);
    }
    plain.push_str(rest);
    plain.into()
}

fn lines(text: &Text, unit: Unit, imported: &mut Imported) -> Result<Vec<Stream>> {
    imported.remarks.push(
        "the file has only a count and extremes of each thread, not a distribution: there are no quantiles"
            .to_owned(),
    );
    let mut streams = Vec::new();
    for (thread, (number, line)) in &text.threads {
        let place = format!("line {number}, thread {thread}");
        imported.has_no_end |= text.is_live;
        let (min_ns, max_ns) = (in_ns(line.min, unit, &place)?, in_ns(line.max, unit, &place)?);
        let mut counts = Counts::extremes(line.cycles, min_ns, max_ns, unit.ns() as u64);
        // While a thread runs, its sum may be one reading ahead of its count, and the mean is wrong.
        let (cycles, ahead) = (line.cycles as f64, line.avg > line.max);
        if !(ahead && line.avg as f64 * cycles <= line.max as f64 * (cycles + 1.0)) {
            counts.mean_ns = Some(in_ns(line.avg, unit, &place)? as f64);
        }
        if let Some(own) = text.own.get(*thread as usize) {
            imported.contradictions.extend(own.refine(&mut counts, unit).err());
        }
        imported.contradictions.extend(line.own_contradiction(*number));
        counts.check(&place)?;
        streams.push(Stream::of_thread(*thread, Readings::Counts(Box::new(counts))));
    }
    // The tool numbers its threads from 0, and prints all of them.
    if let Some(absent) = text.threads.keys().zip(0u32..).find_map(|(thread, n)| (*thread != n).then_some(n))
    {
        imported.cut_short = true;
        imported
            .remarks
            .push(format!("the line of thread {absent} is missing, which may have been the latest"));
    }
    Ok(streams)
}

fn histogram(text: &mut Text, unit: Unit, imported: &mut Imported) -> Result<Vec<Stream>> {
    let names_threads = text.trailers.contains_key("min") || text.trailers.contains_key("avg");
    if !names_threads && text.own.is_empty() && text.rows.drop_sums() {
        imported.remarks.push(SUMS_DROPPED.to_owned());
    }
    let columns = text.rows.width();
    let of = |key: &str| text.trailers.get(key).map(|(line, values)| (*line, values.as_slice()));
    let threads = of("min").or(of("avg")).map_or(columns, |(_, values)| values.len());
    if threads == 0 {
        return Err(ImportError::field("the histogram", "it has neither rows nor threads"));
    }
    if !text.own.is_empty() && text.own.len() != threads {
        let reason = format!("{threads} threads, but comments on {} series", text.own.len());
        return Err(ImportError::field("# tardy series", reason));
    }
    let has_total = columns == threads + 1;
    if columns != threads && !has_total && columns > 0 {
        let reason = format!("{columns} columns of counts for {threads} threads");
        return Err(ImportError::line(text.rows.first_line(), "whole line", reason));
    }
    if has_total {
        text.rows.check_total()?;
    }
    check_trailers(text, threads)?;
    if columns == 0 && of("total").is_some_and(|(_, totals)| totals.iter().any(|total| *total > 0)) {
        imported.remarks.push(
            "the rows of the histogram are missing: the file has only a count and extremes of each thread"
                .to_owned(),
        );
    }
    remark_missing_trailers(text, imported);
    // In versions that print every row, the last row marks the end of the histogram.
    let reach = text.rows.reach();
    let mut streams = Vec::new();
    for thread in 0..threads {
        let place = format!("thread {thread}");
        let value = |key: &str| of(key).and_then(|(line, values)| Some((line, *values.get(thread)?)));
        let bins = text.rows.take_bins(thread, unit);
        let mut counts = Counts { bins, resolution_ns: unit.ns() as u64, ..Counts::default() };
        let total = value("total");
        if let (0, Some((_, total @ 1..))) = (columns, total) {
            // The rows were removed. The summary still has the number of readings in them.
            counts.bins = vec![Bin { lower_ns: 0, upper_ns: i64::MAX, count: total }];
        }
        let in_rows = counts.total(&place)?;
        if let Some((line, total)) = total.filter(|(_, total)| *total != in_rows) {
            imported.contradictions.push(format!(
                "line {line}, Total, thread {thread}: it is {total}, but the rows add up to {in_rows}"
            ));
        }
        if let Some((_, overflows)) = value("overflows").filter(|_| columns == 0 && in_rows > 0) {
            counts.bins[0].count = in_rows.saturating_add(overflows);
        } else if let Some((_, overflows)) = value("overflows") {
            counts.add_overflows(in_ns(reach as i64, unit, &place)?, overflows);
            let total = counts.total(&place)?;
            let listed = text.listed.get(&thread);
            imported
                .contradictions
                .extend(listed.and_then(|listed| listed.contradiction(thread, overflows, total)));
        }
        let extreme = |key: &str| -> Result<Option<i64>> {
            let Some((line, value)) = value(key) else { return Ok(None) };
            let place = format!("line {line}, thread {thread}");
            let value = i64::try_from(value)
                .map_err(|_| ImportError::field(&place, "it is longer than a measurement can be"))?;
            in_ns(value, unit, &place).map(Some)
        };
        let own_max = text.own.get(thread).and_then(|own| own.max_ns);
        counts.max_is_stated = value("max").is_some() || own_max.is_some();
        counts.max_at_least = !counts.max_is_stated;
        counts.min_ns = extreme("min")?.or(counts.bins.first().map(|bin| bin.lower_ns));
        counts.max_ns = extreme("max")?.or(own_max).or(counts.bins.last().map(|bin| bin.lower_ns));
        counts.mean_ns = extreme("avg")?.map(|ns| ns as f64);
        // If the number of readings beyond the rows is missing, a maximum beyond them is one such reading.
        if let (None, Some(max)) = (of("overflows"), counts.max_ns)
            && counts.bins.last().is_some_and(|bin| max >= bin.upper_ns)
        {
            let lower_ns = in_ns(reach as i64, unit, &place)?;
            counts.bins.push(Bin { lower_ns, upper_ns: i64::MAX, count: 1 });
            imported.remarks.push(format!(
                "{place}: the number of readings beyond the rows is missing; only the maximum is imported"
            ));
        }
        if counts.bins.is_empty() {
            (counts.min_ns, counts.max_ns, counts.mean_ns) = (None, None, None);
        }
        if imported.tool == "cyclicdeadline" {
            rt_tests::remember_minima_of_0(&mut counts);
        }
        if let Some(own) = text.own.get(thread) {
            let overflows = value("overflows").map_or(own.beyond, |(_, overflows)| overflows);
            if overflows != own.beyond {
                imported.contradictions.push(format!(
                    "Histogram Overflows, {place}: it is {overflows}, but tardy's comment on '{}' has {}",
                    own.label, own.beyond
                ));
            }
            imported.contradictions.extend(own.refine(&mut counts, unit).err());
            counts.rounded_up = true;
        }
        if let Some((line, lived)) = text.threads.get(&(thread as u32)) {
            imported.contradictions.extend(lived.contradiction(*line, unit, &counts));
        }
        let line =
            of("min").map_or_else(|| "the histogram".to_owned(), |(line, _)| format!("lines {line} ff."));
        counts.check(&format!("{line}, Min and Max Latencies, {place}"))?;
        streams.push(Stream::of_thread(thread as u32, Readings::Counts(Box::new(counts))));
    }
    Ok(streams)
}

/// Adds remarks on summary lines that are missing below the rows.
fn remark_missing_trailers(text: &Text, imported: &mut Imported) {
    let trailers = [
        ("min", "Min Latencies"),
        ("avg", "Avg Latencies"),
        ("max", "Max Latencies"),
        ("overflows", "Histogram Overflows"),
    ];
    let is_missing = |key: &str| !text.trailers.contains_key(key);
    let missing: Vec<&str> =
        trailers.into_iter().filter(|(key, _)| is_missing(key)).map(|(_, name)| name).collect();
    if is_missing("overflows") {
        imported.cut_short = true;
    }
    if !missing.is_empty() {
        imported.remarks.push(format!("missing below the rows: {}", missing.join(", ")));
    }
    if is_missing("max") {
        imported.remarks.push(
            "the file ends before its maxima; those shown are the highest bins, and readings beyond the histogram are \
             unknown"
                .to_owned(),
        );
    }
}

/// Checks the summary below the rows: the number of values, and the value of all threads (`-H`) against each thread's.
fn check_trailers(text: &Text, threads: usize) -> Result<()> {
    for (label, key) in TRAILERS.iter().filter(|(_, key)| *key != "smis") {
        let Some((line, values)) = text.trailers.get(key) else { continue };
        let (of_each, of_all) = values.split_at(threads.min(values.len()));
        let expected = match *key {
            "max" => of_each.iter().copied().max(),
            "total" | "overflows" => of_each.iter().try_fold(0u64, |sum, value| sum.checked_add(*value)),
            _ => None,
        };
        let reason = match (of_all, expected) {
            ([], _) if of_each.len() == threads => continue,
            ([said], Some(expected)) if *said == expected => continue,
            ([said], Some(expected)) => {
                format!("the value of all threads is {said}, but the values of the threads give {expected}")
            }
            _ => format!("{} values for {threads} threads", values.len()),
        };
        let field = label.trim_start_matches("# ").trim_end_matches(':');
        return Err(ImportError::line(*line, field, reason));
    }
    Ok(())
}
