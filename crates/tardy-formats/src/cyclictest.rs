//! Writes cyclictest's output with its exact spacing: thread lines, histogram and JSON (rt-tests 2.4, print_stat,
//! print_hist and rt_write_json). tardy's exports and its replacement for cyclictest use it.

use std::collections::BTreeMap;

use serde::Serialize;

/// The minimum that cyclictest prints before the first reading (the initial `stat->min`).
pub const MIN_OF_NONE: u64 = 1_000_000;

/// One thread. Values are in the unit of the results, us or ns, truncated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// A name. cyclictest itself does not name its threads.
    pub label: Option<String>,
    /// Its thread id; 0 if unknown.
    pub tid: u32,
    /// The real-time priority; 0 if the thread has none or it is unknown.
    pub priority: u32,
    /// The interval between wake-ups in us; 0 if unknown.
    pub interval_us: u64,
    /// Its CPU; -1 if it is not pinned; `None` if unknown.
    pub cpu: Option<i64>,
    /// The NUMA node of its CPU; -1 if it was not requested.
    pub node: Option<i64>,
    /// The number of readings.
    pub cycles: u64,
    /// The lowest reading; [`MIN_OF_NONE`] if there is none.
    pub min: u64,
    /// The highest reading; 0 if there is none.
    pub max: u64,
    /// Whether the highest reading is a lower bound. It is then left out.
    pub max_at_least: bool,
    /// The lowest and the highest reading in ns, if they are known more precisely than in whole units.
    pub exact_ns: Option<(i64, i64)>,
    /// The last reading. `None` if it was not kept.
    pub last: Option<u64>,
    /// The mean, readings beyond the rows included; 0 without readings. `None` if unknown.
    pub mean: Option<f64>,
    /// The values that occurred, with their counts.
    pub rows: BTreeMap<u64, u64>,
    /// The number of readings beyond the rows.
    pub overflows: u64,
    /// The cycle numbers of the first of these readings, as many as were kept.
    pub overflow_cycles: Vec<u64>,
}

/// The line of a thread, in which unknown values are 0:
/// `T: 0 (15321) P:90 I:200 C:  49964 Min:      6 Act:   12 Avg:   11 Max:    1933`.
pub fn summary_line(number: usize, thread: &Thread, in_ns: bool) -> String {
    let Thread { tid, priority, interval_us, cycles, min, max, .. } = thread;
    let (last, mean) = (thread.last.unwrap_or(0), thread.mean.unwrap_or(0.0) as u64);
    let wide = if in_ns { 8 } else { 5 };
    format!(
        "T:{number:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} Min:{min:7} Act:{last:wide$} \
         Avg:{mean:wide$} Max:{max:8}\n"
    )
}

/// The histogram that `-h` and `-H` print. It has all rows below `every_row` (rt-tests up to 2.6), or if that is
/// `None`, the rows with a count and their neighbours. With `all_column` and several threads, it has a column of sums.
/// It has a line of means if all means are known, and one of maxima if none of them is a lower bound.
pub fn histogram(threads: &[Thread], every_row: Option<u64>, all_column: bool) -> String {
    let sum_column = all_column && threads.len() > 1;
    let mut text = "# Histogram\n".to_owned();
    let mut row = |value: u64| {
        let mut cells: Vec<u64> =
            threads.iter().map(|thread| thread.rows.get(&value).copied().unwrap_or(0)).collect();
        cells.extend(sum_column.then(|| sum(cells.iter().copied())));
        let cells: Vec<String> = cells.iter().map(|count| format!("{count:06}")).collect();
        text.push_str(&format!("{value:06} {}\n", cells.join("\t")));
    };
    match every_row {
        Some(rows) => (0..rows).for_each(&mut row),
        None => {
            let counts: Vec<&BTreeMap<u64, u64>> = threads.iter().map(|thread| &thread.rows).collect();
            let beyond = threads.iter().any(|thread| thread.overflows > 0);
            rows_to_plot(&counts, beyond).into_iter().for_each(&mut row);
        }
    }
    let line = |name: &str, width: usize, of: &dyn Fn(&Thread) -> u64, sum: Option<u64>| {
        let values = threads.iter().map(of).chain(sum.filter(|_| sum_column));
        let values: Vec<String> = values.map(|value| format!("{value:0width$}")).collect();
        format!("# {name}: {}\n", values.join(" "))
    };
    let total = |thread: &Thread| sum(thread.rows.values().copied());
    text += &line("Total", 9, &total, Some(sum(threads.iter().map(total))));
    text += &line("Min Latencies", 5, &|thread| thread.min, None);
    if threads.iter().all(|thread| thread.mean.is_some()) {
        text += &line("Avg Latencies", 5, &|thread| thread.mean.unwrap_or(0.0) as u64, None);
    }
    if !threads.iter().any(|thread| thread.max_at_least) {
        let highest = threads.iter().map(|thread| thread.max).max();
        text += &line("Max Latencies", 5, &|thread| thread.max, highest);
    }
    let overflows = sum(threads.iter().map(|thread| thread.overflows));
    text += &line("Histogram Overflows", 5, &|thread| thread.overflows, Some(overflows));
    text += "# Histogram Overflow at cycle number:\n";
    for (number, thread) in threads.iter().enumerate() {
        text.push_str(&format!("# Thread {number}:"));
        thread.overflow_cycles.iter().for_each(|cycle| text.push_str(&format!(" {cycle:05}")));
        let others = thread.overflows - thread.overflow_cycles.len() as u64;
        if others > 0 {
            text.push_str(&format!(" # {others:05} others"));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// The rows with a count and their empty neighbours. gnuplot's `histeps` draws a row halfway to the next one, so that
/// without neighbours one late reading would look like hundreds. If readings are `beyond` the rows, the last row is the
/// end.
pub(crate) fn rows_to_plot(counts: &[&BTreeMap<u64, u64>], beyond: bool) -> Vec<u64> {
    let occupied = || counts.iter().flat_map(|rows| rows.keys().copied());
    let last = occupied().max().filter(|_| beyond);
    let mut rows: Vec<u64> = occupied()
        .flat_map(|value| [value.saturating_sub(1), value, value.saturating_add(1)])
        .filter(|value| last.is_none_or(|last| *value <= last))
        .collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The JSON's description of the run, without the threads.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The command line.
    pub command_line: String,
    /// The version of rt-tests, or the name of the program that writes its format.
    pub version: String,
    /// The start as in RFC 2822. `None` if unknown.
    pub start_time: Option<String>,
    /// The end.
    pub end_time: Option<String>,
    /// The machine.
    pub system: System,
    /// Whether values are in ns.
    pub in_ns: bool,
    /// The exit status.
    pub return_code: u8,
}

/// `sysinfo`. Empty values are unknown and left out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct System {
    /// The name of the kernel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sysname: String,
    /// The name of the machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nodename: String,
    /// The kernel's release.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// The kernel's version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The architecture.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// 1 for a real-time kernel, 0 for any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realtime: Option<u8>,
}

#[derive(Serialize)]
struct Json<'a> {
    file_version: u8,
    #[serde(rename = "cmdline:")]
    command_line: &'a str,
    #[serde(rename = "rt_test_version:")]
    version: &'a str,
    tardy_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<&'a str>,
    return_code: u8,
    sysinfo: &'a System,
    num_threads: usize,
    resolution_in_ns: u8,
    thread: BTreeMap<usize, JsonThread<'a>>,
}

#[derive(Serialize)]
struct JsonThread<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    histogram: &'a BTreeMap<u64, u64>,
    cycles: u64,
    min: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avg: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<i64>,
}

/// The document that `--json` writes: cyclictest's keys, with the colon at the end of two of them, but always valid
/// JSON. A key with an unknown value is left out.
pub fn json(threads: &[Thread], of: &Circumstances) -> String {
    let all = Json {
        file_version: 1,
        command_line: &of.command_line,
        version: &of.version,
        tardy_version: env!("CARGO_PKG_VERSION"),
        start_time: of.start_time.as_deref(),
        end_time: of.end_time.as_deref(),
        return_code: of.return_code,
        sysinfo: &of.system,
        num_threads: threads.len(),
        resolution_in_ns: u8::from(of.in_ns),
        thread: threads.iter().map(json_thread).enumerate().collect(),
    };
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

fn json_thread(thread: &Thread) -> JsonThread<'_> {
    JsonThread {
        label: thread.label.as_deref(),
        histogram: &thread.rows,
        cycles: thread.cycles,
        min: thread.min,
        max: (!thread.max_at_least).then_some(thread.max),
        min_ns: thread.exact_ns.map(|(min, _)| min),
        max_ns: thread.exact_ns.filter(|_| !thread.max_at_least).map(|(_, max)| max),
        avg: thread.mean.map(|mean| (mean * 100.0).round() / 100.0),
        cpu: thread.cpu,
        node: thread.node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reading_is_drawn_as_one_row() {
        let one = BTreeMap::from([(0, 5), (3, 1), (90, 1)]);
        let other = BTreeMap::from([(4, 1)]);
        assert_eq!(rows_to_plot(&[&one, &other], false), [0, 1, 2, 3, 4, 5, 89, 90, 91]);
        assert_eq!(rows_to_plot(&[&one], true), [0, 1, 2, 3, 4, 89, 90], "91 is beyond");
        assert_eq!(rows_to_plot(&[], true), [0; 0]);
    }
}
