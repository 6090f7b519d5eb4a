//! The results in cyclictest's format: that of rt-tests 2.7, with the empty rows and the line of totals of 2.4, which scripts
//! read as well.

use std::fmt::Write as _;

use tardy_formats::cyclictest::{self, Circumstances, Thread};

use crate::counts::Counts;

/// The properties of a thread that are printed with its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its thread id; 0 until it is known.
    pub tid: u32,
    /// Its real-time priority.
    pub priority: u32,
    /// Its interval, in us.
    pub interval_us: u64,
    /// Its CPU; `None` if it is not pinned.
    pub cpu: Option<u32>,
}

/// The threads, without their rows.
fn heads_only<'a>(counts: &'a Counts, heads: &'a [Head]) -> impl Iterator<Item = Thread> + 'a {
    let thread = |(number, counted): (usize, &super::counts::Thread)| {
        let head = heads.get(number).copied().unwrap_or_default();
        Thread {
            tid: head.tid,
            priority: head.priority,
            interval_us: head.interval_us,
            cpu: Some(head.cpu.map_or(-1, i64::from)),
            node: Some(-1),
            cycles: counted.cycles,
            min: counted.min,
            max: counted.max,
            last: Some(counted.last),
            mean: Some(counted.mean()),
            overflows: counted.overflows,
            ..Thread::default()
        }
    };
    counts.threads.iter().enumerate().map(thread)
}

/// The threads with their rows.
fn threads(counts: &Counts, heads: &[Head]) -> Vec<Thread> {
    let whole = |(thread, counted): (Thread, &super::counts::Thread)| {
        let rows = counted.rows.iter().copied().enumerate().filter(|(_, count)| *count > 0);
        let rows = rows.map(|(row, count)| (row as u64, count)).collect();
        Thread { rows, overflow_cycles: counted.overflow_cycles.clone(), ..thread }
    };
    heads_only(counts, heads).zip(&counts.threads).map(whole).collect()
}

/// A line for each thread. With `--smi`, it ends with the number of SMIs on the thread's CPU.
pub fn summary(counts: &Counts, heads: &[Head], in_ns: bool, smis: Option<&[u64]>) -> String {
    let line = |(number, thread): (usize, Thread)| {
        let line = cyclictest::summary_line(number, &thread, in_ns);
        match smis.and_then(|smis| smis.get(number)) {
            Some(count) => format!("{} SMI:{count:8}\n", line.trim_end_matches('\n')),
            None => line,
        }
    };
    heads_only(counts, heads).enumerate().map(line).collect()
}

/// A reading's line, such as `       0:       4:      14`: thread, cycle, value, and with `--smi` the number of SMIs.
pub fn reading_line(number: usize, cycle: u64, value: u64, smis: Option<u64>) -> String {
    let smis = smis.map_or(String::new(), |count| format!("{count:8}"));
    format!("{number:8}:{cycle:8}:{value:8}{smis}\n")
}

/// The output of `-h` and `-H`, the latter with a column for all threads. With `--smi`, it has a line of SMIs.
pub fn histogram(counts: &Counts, all_column: bool, smis: Option<&[u64]>) -> String {
    let rows = counts.threads.first().map_or(0, |thread| thread.rows.len() as u64);
    let text = cyclictest::histogram(&threads(counts, &[]), Some(rows), all_column);
    let Some(smis) = smis else { return text };
    let smis: Vec<String> = smis.iter().map(|count| format!(" {count:05}")).collect();
    // The histogram ends with an empty line.
    format!("{}# SMIs:{}\n\n", text.strip_suffix('\n').unwrap_or(&text), smis.concat())
}

/// The lines that `-b` adds at the end.
pub fn break_lines(counts: &Counts, heads: &[Head]) -> String {
    let ids: Vec<String> = heads.iter().map(|head| format!("{:05}", head.tid)).collect();
    let mut text = format!("# Thread Ids: {}\n", ids.join(" "));
    if let Some((thread, value)) = counts.broken {
        let tid = heads.get(thread).map_or(0, |head| head.tid);
        let _ = write!(text, "# Break thread: {tid}\n# Break value: {value}\n");
    }
    text
}

/// The version of rt-tests that the JSON output states.
pub const FORMAT_OF: &str = "2.60";

/// The content of `--json`.
pub fn json(counts: &Counts, heads: &[Head], of: &Circumstances) -> String {
    cyclictest::json(&threads(counts, heads), of)
}

#[cfg(test)]
mod tests {
    use tardy_probe::sample_ring::Sample;

    use super::*;
    use crate::options::Options;

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
    fn a_summary_line_equals_that_of_cyclictest() {
        let counts = counts(1, &[&[6, 12, 1933]]);
        let head = Head { tid: 15321, priority: 90, interval_us: 200, cpu: Some(0) };
        assert_eq!(
            summary(&counts, &[head], false, None),
            "T: 0 (15321) P:90 I:200 C:      3 Min:      6 Act: 1933 Avg:  650 Max:    1933\n"
        );
        let one: &[i64] = &[6];
        let many = super::tests::counts(1, &[one; 13]);
        let last = summary(&many, &[Head::default(); 13], true, None);
        assert!(last.lines().last().unwrap().starts_with("T:12 (    0)"), "{last}");
    }

    /// As rt-tests 2.4 printed it for the same readings.
    #[test]
    fn a_histogram_equals_that_of_cyclictest() {
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
        assert_eq!(histogram(&counts(3, &[&[1, 2, 10], &[1, 1]]), true, None), expected);
    }

    /// The formats of rt-tests 2.4, print_stat and print_hist.
    #[test]
    fn smis_are_at_the_end_of_each_line_and_of_the_histogram() {
        let counts = counts(1, &[&[0], &[0]]);
        let lines = summary(&counts, &[Head::default(); 2], false, Some(&[0, 12]));
        let ends: Vec<&str> = lines.lines().map(|line| line.split_once("Max:").unwrap().1).collect();
        assert_eq!(ends, ["       0 SMI:       0", "       0 SMI:      12"]);
        assert!(histogram(&counts, false, Some(&[0, 12])).ends_with("# Thread 1:\n# SMIs: 00000 00012\n\n"));
        assert_eq!(reading_line(1, 4, 14, Some(2)), "       1:       4:      14       2\n");
        assert_eq!(reading_line(1, 4, 14, None), "       1:       4:      14\n");
    }

    #[test]
    fn json_escapes_the_command_line() {
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
    fn a_break_is_printed_with_its_thread() {
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
