//! cyclictest's output, to the blank: what scripts look for (rt-tests 2.4, print_stat, print_hist and rt_write_json; of
//! rt-tests 2.7 and later they read rows without readings and the line of totals all the same).

use std::fmt::Write as _;

use serde::Serialize;
use std::collections::BTreeMap;

use super::counts::{Counts, Thread};

/// What stands beside a thread's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The kernel's id of it; 0 until it is known.
    pub(super) tid: u32,
    pub(super) priority: u32,
    pub(super) interval_us: u64,
    /// Its CPU; absent where it is not pinned.
    pub(super) cpu: Option<u32>,
}

/// `T: 0 (15321) P:90 I:200 C:  49964 Min:      6 Act:   12 Avg:   11 Max:    1933`.
pub(super) fn summary_line(number: usize, head: &Head, thread: &Thread, in_ns: bool) -> String {
    let Head { tid, priority, interval_us, .. } = head;
    let Thread { cycles, min, last, max, .. } = thread;
    let mean = thread.mean() as u64;
    let wide = if in_ns { 8 } else { 5 };
    format!(
        "T:{number:2} ({tid:5}) P:{priority:2} I:{interval_us} C:{cycles:7} Min:{min:7} Act:{last:wide$} \
         Avg:{mean:wide$} Max:{max:8}\n"
    )
}

/// `       0:       4:      14`.
pub(super) fn reading_line(number: usize, cycle: u64, value: u64) -> String {
    format!("{number:8}:{cycle:8}:{value:8}\n")
}

/// What `-h` and `-H` print; the latter with a column of all threads.
pub(super) fn histogram(counts: &Counts, all_column: bool) -> String {
    let threads = &counts.threads;
    // One thread is its own sum.
    let sum_column = all_column && threads.len() > 1;
    let mut text = "# Histogram\n".to_owned();
    let rows = threads.first().map_or(0, |thread| thread.rows.len());
    for row in 0..rows {
        let mut cells: Vec<u64> = threads.iter().map(|thread| thread.rows[row]).collect();
        cells.extend(sum_column.then(|| cells.iter().sum::<u64>()));
        let cells: Vec<String> = cells.iter().map(|count| format!("{count:06}")).collect();
        let _ = writeln!(text, "{row:06} {}", cells.join("\t"));
    }
    let line = |name: &str, width: usize, of: &dyn Fn(&Thread) -> u64, sum: Option<u64>| {
        let values: Vec<u64> = threads.iter().map(of).chain(sum.filter(|_| sum_column)).collect();
        let values: Vec<String> = values.iter().map(|value| format!("{value:0width$}")).collect();
        format!("# {name}: {}\n", values.join(" "))
    };
    let total = |thread: &Thread| thread.rows.iter().sum::<u64>();
    text += &line("Total", 9, &total, Some(threads.iter().map(total).sum()));
    text += &line("Min Latencies", 5, &|thread| thread.min, None);
    text += &line("Avg Latencies", 5, &|thread| thread.mean() as u64, None);
    text += &line("Max Latencies", 5, &|thread| thread.max, threads.iter().map(|thread| thread.max).max());
    let overflows = threads.iter().map(|thread| thread.overflows).sum();
    text += &line("Histogram Overflows", 5, &|thread| thread.overflows, Some(overflows));
    text += "# Histogram Overflow at cycle number:\n";
    for (number, thread) in threads.iter().enumerate() {
        let _ = write!(text, "# Thread {number}:");
        thread.overflow_cycles.iter().for_each(|cycle| {
            let _ = write!(text, " {cycle:05}");
        });
        let others = thread.overflows - thread.overflow_cycles.len() as u64;
        if others > 0 {
            let _ = write!(text, " # {others:05} others");
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// What `-b` adds at the end.
pub(super) fn break_lines(counts: &Counts, heads: &[Head]) -> String {
    let ids: Vec<String> = heads.iter().map(|head| format!("{:05}", head.tid)).collect();
    let mut text = format!("# Thread Ids: {}\n", ids.join(" "));
    if let Some((thread, value)) = counts.broken {
        let tid = heads.get(thread).map_or(0, |head| head.tid);
        let _ = write!(text, "# Break thread: {tid}\n# Break value: {value}\n");
    }
    text
}

/// What the JSON says of the run beside the counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Circumstances {
    pub(super) command_line: String,
    pub(super) start_time: String,
    pub(super) end_time: String,
    pub(super) system: System,
    pub(super) in_ns: bool,
    pub(super) return_code: u8,
}

/// `sysinfo`.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct System {
    pub(super) sysname: String,
    pub(super) nodename: String,
    pub(super) release: String,
    pub(super) version: String,
    pub(super) machine: String,
    pub(super) realtime: u8,
}

/// The version of rt-tests whose output this is; tardy's own stands beside it.
const FORMAT_OF: &str = "2.60";

#[derive(Serialize)]
struct Json<'a> {
    file_version: u8,
    #[serde(rename = "cmdline:")]
    command_line: &'a str,
    #[serde(rename = "rt_test_version:")]
    version: &'a str,
    tardy_version: &'a str,
    start_time: &'a str,
    end_time: &'a str,
    return_code: u8,
    sysinfo: &'a System,
    num_threads: usize,
    resolution_in_ns: u8,
    thread: BTreeMap<usize, JsonThread>,
}

#[derive(Serialize)]
struct JsonThread {
    histogram: BTreeMap<usize, u64>,
    cycles: u64,
    min: u64,
    max: u64,
    avg: f64,
    cpu: i64,
    node: i64,
}

/// What `--json` writes: the same keys, two of them with the colons that cyclictest gives them, and always valid JSON.
pub(super) fn json(counts: &Counts, heads: &[Head], of: &Circumstances) -> String {
    let thread = |(number, thread): (usize, &Thread)| {
        let rows = thread.rows.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        let one = JsonThread {
            histogram: rows.collect(),
            cycles: thread.cycles,
            min: thread.min,
            max: thread.max,
            avg: (thread.mean() * 100.0).round() / 100.0,
            cpu: heads.get(number).and_then(|head| head.cpu).map_or(-1, i64::from),
            node: -1,
        };
        (number, one)
    };
    let all = Json {
        file_version: 1,
        command_line: &of.command_line,
        version: FORMAT_OF,
        tardy_version: env!("CARGO_PKG_VERSION"),
        start_time: &of.start_time,
        end_time: &of.end_time,
        return_code: of.return_code,
        sysinfo: &of.system,
        num_threads: counts.threads.len(),
        resolution_in_ns: u8::from(of.in_ns),
        thread: counts.threads.iter().enumerate().map(thread).collect(),
    };
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use tardy_measure::probe::sample_ring::Sample;

    use super::*;
    use crate::cyclictest::options::Options;

    fn counts(rows: u64, late_us: &[&[i64]]) -> Counts {
        let mut counts = Counts::new(&Options { histogram: Some(rows), ..Options::default() }, late_us.len());
        for (thread, late_us) in late_us.iter().enumerate() {
            for late in *late_us {
                counts.add(thread, Sample { cycle: 0, at_ns: 0, late_ns: late * 1000 });
            }
        }
        counts
    }

    #[test]
    fn a_summary_line_is_cyclictests_to_the_blank() {
        let counts = counts(1, &[&[6, 12, 1933]]);
        let head = Head { tid: 15321, priority: 90, interval_us: 200, cpu: Some(0) };
        assert_eq!(
            summary_line(0, &head, &counts.threads[0], false),
            "T: 0 (15321) P:90 I:200 C:      3 Min:      6 Act: 1933 Avg:  650 Max:    1933\n"
        );
        assert!(summary_line(12, &head, &counts.threads[0], true).starts_with("T:12 (15321)"));
    }

    /// As rt-tests 2.4 printed it for the same readings.
    #[test]
    fn a_histogram_is_cyclictests_to_the_blank() {
        let expected = "# Histogram\n\
            000000 000000\t000000\t000000\n\
            000001 000001\t000002\t000003\n\
            000002 000001\t000000\t000001\n\
            # Total: 000000002 000000002 000000004\n\
            # Min Latencies: 00001 00001\n\
            # Avg Latencies: 00004 00001\n\
            # Max Latencies: 00010 00001 00010\n\
            # Histogram Overflows: 00001 00000 00001\n\
            # Histogram Overflow at cycle number:\n\
            # Thread 0: 00002\n\
            # Thread 1:\n\n";
        assert_eq!(histogram(&counts(3, &[&[1, 2, 10], &[1, 1]]), true), expected);
    }

    #[test]
    fn json_is_valid_whatever_was_typed() {
        let of = Circumstances { command_line: "cyclictest \"a\\b\"".to_owned(), ..Circumstances::default() };
        let text = json(&counts(5, &[&[1, 9]]), &[Head::default()], &of);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["cmdline:"], "cyclictest \"a\\b\"");
        assert_eq!(value["thread"]["0"]["histogram"]["1"], 1);
        assert_eq!(
            (&value["thread"]["0"]["cycles"], &value["thread"]["0"]["cpu"]),
            (&2.into(), &(-1).into())
        );
    }

    #[test]
    fn a_break_is_told_with_its_thread() {
        let mut counts = Counts::new(&Options { break_us: Some(3), ..Options::default() }, 1);
        let heads = [Head { tid: 77, ..Head::default() }];
        assert_eq!(break_lines(&counts, &heads), "# Thread Ids: 00077\n");
        counts.add(0, Sample { cycle: 0, at_ns: 0, late_ns: 4500 });
        assert_eq!(
            break_lines(&counts, &heads),
            "# Thread Ids: 00077\n# Break thread: 77\n# Break value: 4\n"
        );
    }
}
