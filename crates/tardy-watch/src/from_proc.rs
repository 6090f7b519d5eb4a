//! What /proc shows of a program without the kernel's trace.

use serde::Serialize;
use tardy_attach::procfs::{Snapshot, Used};
use tardy_attach::targets::{self, Found};
use tardy_plot::numbers::{figure, harmless};
use tardy_present::table::Table;
use tardy_record::units::format_duration_ns;

/// A thread's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    process: u32,
    thread: u32,
    name: String,
    policy: String,
    /// From one sleep to the next on average; absent if it did not sleep.
    mean_interval_ns: Option<u64>,
    /// CPU time from one sleep to the next.
    cpu_ns_per_sleep: Option<u64>,
    /// Time of being ready while others had the CPU, from one sleep to the next.
    waited_ns_per_sleep: Option<u64>,
    preemptions: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// The differences of two samples of the threads' counters.
pub fn rows(before: &Snapshot, after: &Snapshot) -> Vec<Row> {
    let span_ns = after.at_ns - before.at_ns;
    after.since(before).iter().map(|(thread, used)| row(thread, *used, span_ns)).collect()
}

fn row(thread: &Found, used: Used, span_ns: u64) -> Row {
    let each = |ns: u64| ns.checked_div(used.sleeps);
    let policy = targets::scheduling_of(thread.tid).map_or_else(String::new, |(policy, priority)| {
        if policy.has_priority() { format!("{} {priority}", policy.name()) } else { policy.name().to_owned() }
    });
    Row {
        process: thread.pid,
        thread: thread.tid,
        name: thread.name.clone(),
        policy,
        mean_interval_ns: each(span_ns),
        cpu_ns_per_sleep: each(used.cpu_ns),
        waited_ns_per_sleep: each(used.waited_ns),
        preemptions: used.preemptions,
        minor_faults: used.faults.0,
        major_faults: used.faults.1,
    }
}

/// The rows as a table of this width, for samples that are `span_ns` apart.
pub fn text(rows: &[Row], span_ns: u64, width: usize) -> String {
    let heads =
        ["thread", "number", "policy", "sleeps every", "runs", "waits for CPU", "preempted", "page faults"];
    let mut table = Table::new(&heads);
    let us = |ns: Option<u64>| figure(ns.map(|ns| ns as f64), false);
    for row in rows {
        table.push(vec![
            harmless(&row.name),
            row.thread.to_string(),
            row.policy.clone(),
            us(row.mean_interval_ns),
            us(row.cpu_ns_per_sleep),
            us(row.waited_ns_per_sleep),
            row.preemptions.to_string(),
            (row.minor_faults + row.major_faults).to_string(),
        ]);
    }
    let head =
        format!("Means of {}, in us for each sleep\n\n", format_duration_ns(span_ns / 1_000_000 * 1_000_000));
    head + &table.lines(width).join("\n") + "\n"
}
