//! What cyclictest prints and writes, to the blank: the lines of threads, the histogram, the JSON (rt-tests 2.4, print_stat,
//! print_hist and rt_write_json). What tardy exports and what its stand-in for cyclictest prints come from here.

use std::collections::BTreeMap;

use serde::Serialize;

/// The least that cyclictest says before there is any reading (its `stat->min` to begin with).
pub const MIN_OF_NONE: u64 = 1_000_000;

/// One thread. Values are in the unit of the results, us or ns, cut off to whole ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// A name that cyclictest does not give its threads.
    pub label: Option<String>,
    /// The kernel's id of it; 0 where it is not known.
    pub tid: u32,
    /// Real-time priority; 0 for none, and where it is not known.
    pub priority: u32,
    /// From one wake-up to the next, in us; 0 where it is not known.
    pub interval_us: u64,
    /// Its CPU; -1 where it has none of its own; absent where nobody knows.
    pub cpu: Option<i64>,
    /// Its CPU's memory node; -1 where that was not asked for.
    pub node: Option<i64>,
    /// How many readings there were.
    pub cycles: u64,
    /// The lowest; [`MIN_OF_NONE`] where there is none.
    pub min: u64,
    /// The highest; 0 where there is none.
    pub max: u64,
    /// The lowest and the highest in ns, where they are known more exactly than in whole units.
    pub exact_ns: Option<(i64, i64)>,
    /// The last one; absent where it was not kept.
    pub last: Option<u64>,
    /// The mean, readings beyond the rows with it, 0 of none; absent where it is not known.
    pub mean: Option<f64>,
    /// How often each value was, those that never were left out.
    pub rows: BTreeMap<u64, u64>,
    /// How many were beyond the rows.
    pub overflows: u64,
    /// The first of their cycles, as far as they were kept.
    pub overflow_cycles: Vec<u64>,
}

/// `T: 0 (15321) P:90 I:200 C:  49964 Min:      6 Act:   12 Avg:   11 Max:    1933`. What is not known is 0 there.
pub fn summary_line(number: usize, thread: &Thread, in_ns: bool) -> String {
    let Thread { tid, priority, interval_us, cycles, min, max, .. } = thread;
    let (last, mean) = (thread.last.unwrap_or(0), thread.mean.unwrap_or(0.0) as u64);
    let wide = if in_ns { 8 } else { 5 };
    format!(
        "T:{number:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} Min:{min:7} Act:{last:wide$} \
         Avg:{mean:wide$} Max:{max:8}\n"
    )
}

/// What `-h` and `-H` print: up to rt-tests 2.6 `every_row` below that; without it those that have a count, and those beside them. With `all_column`
/// a column of all threads, unless there is only one, which is its own sum. A line of means is there where all are known.
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
    let highest = threads.iter().map(|thread| thread.max).max();
    text += &line("Max Latencies", 5, &|thread| thread.max, highest);
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

/// The rows that have a count, and those beside them, which have none: gnuplot's `histeps` draws a row as far as halfway to the
/// next one, and one late reading would look like hundreds. Where readings lie `beyond` the rows, the last one says how far
/// the histogram goes, and nothing follows it.
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

/// What the JSON says of the run beside the threads.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The words that it was called with.
    pub command_line: String,
    /// The version of rt-tests whose format it is, or whose it is instead.
    pub version: String,
    /// When it began, as RFC 2822 has it; absent where that is not known.
    pub start_time: Option<String>,
    /// When it ended.
    pub end_time: Option<String>,
    /// The machine.
    pub system: System,
    /// Whether values are in ns.
    pub in_ns: bool,
    /// The exit status.
    pub return_code: u8,
}

/// `sysinfo`; what is empty is not known, and left out.
#[derive(Clone, Debug, Default, Serialize)]
pub struct System {
    /// The kernel's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sysname: String,
    /// The machine's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nodename: String,
    /// The kernel's release.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
    /// And its version.
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
    max: u64,
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

/// What `--json` writes: the same keys, two of them with the colons that cyclictest gives them, and always valid JSON. A key
/// whose value is not known is left out.
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
        max: thread.max,
        min_ns: thread.exact_ns.map(|(min, _)| min),
        max_ns: thread.exact_ns.map(|(_, max)| max),
        avg: thread.mean.map(|mean| (mean * 100.0).round() / 100.0),
        cpu: thread.cpu,
        node: thread.node,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reading_is_one_row_and_not_all_up_to_the_next() {
        let one = BTreeMap::from([(0, 5), (3, 1), (90, 1)]);
        let other = BTreeMap::from([(4, 1)]);
        assert_eq!(rows_to_plot(&[&one, &other], false), [0, 1, 2, 3, 4, 5, 89, 90, 91]);
        assert_eq!(rows_to_plot(&[&one], true), [0, 1, 2, 3, 4, 89, 90], "91 is beyond");
        assert_eq!(rows_to_plot(&[], true), [0; 0]);
    }
}
