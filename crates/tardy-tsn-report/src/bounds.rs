//! The output of `tardy tsn bounds`: each flow's longest delay, next to the longest that was simulated.

use std::fmt::Write;

use serde::Serialize;
use tardy_bounds::{FlowBound, QueueBound};
use tardy_plot::numbers::{count, counted};
use tardy_record::units::format_duration_ns;

use tardy_present::table::Table;
use tardy_present::terminal_text::{printable, wrapped};

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its bounds.
    #[serde(flatten)]
    pub bound: FlowBound,
    /// The longest simulated time from sending to receiving, in ns; `None`: no frame arrived.
    pub simulated_ns: Option<u64>,
    /// The most frames under way in a simulation.
    pub simulated_under_way: Option<u64>,
    /// The limit in the file, in ns.
    pub deadline_ns: Option<u64>,
}

impl Row {
    /// Whether its bound is longer than its deadline.
    pub fn exceeds_deadline(&self) -> bool {
        self.bound.delay_ns.zip(self.deadline_ns).is_some_and(|(bound_ns, limit_ns)| bound_ns > limit_ns)
    }
}

/// The whole text. Ends with a newline.
pub fn of(rows: &[Row], queues: &[QueueBound], model: &str, width: usize) -> String {
    let bounded = rows.iter().filter(|row| row.bound.delay_ns.is_some()).count() as u64;
    let late = rows.iter().filter(|row| row.exceeds_deadline()).count() as u64;
    let mut text =
        format!("{} of {} a bound", count(bounded), counted(rows.len() as u64, "flow has", "flows have"));
    if late > 0 {
        let _ = write!(text, "; {} a bound above the deadline", counted(late, "flow has", "flows have"));
    }
    text.push_str(".\n");
    for line in wrapped(&format!("Computed with {model}."), width) {
        text += &printable(&line);
        text.push('\n');
    }
    text.push('\n');
    push_table(&mut text, &flows(rows), width);
    text.push('\n');
    push_table(&mut text, &of_queues(queues), width);
    for row in rows {
        if let Some(why) = &row.bound.why_none {
            let _ = write!(text, "\nNo bound for {}:", printable(&row.bound.flow));
            for line in wrapped(why, width.saturating_sub(2)) {
                let _ = write!(text, "\n  {}", printable(&line));
            }
            text.push('\n');
        }
    }
    text
}

fn push_table(text: &mut String, table: &Table, width: usize) {
    for line in table.lines(width) {
        *text += &printable(&line);
        text.push('\n');
    }
}

fn duration(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), format_duration_ns)
}

fn flows(rows: &[Row]) -> Table {
    let mut table = Table::new(&["flow", "least", "simulated", "bound", "deadline", "under way", "bound"]);
    for row in rows {
        let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), count);
        table.push(vec![
            row.bound.flow.clone(),
            duration(row.bound.least_ns),
            duration(row.simulated_ns),
            row.bound.delay_ns.map_or_else(|| "no bound".to_owned(), format_duration_ns),
            duration(row.deadline_ns),
            number(row.simulated_under_way),
            number(row.bound.frames_under_way),
        ]);
    }
    table
}

fn of_queues(queues: &[QueueBound]) -> Table {
    let mut table = Table::new(&["port", "class", "frames", "sent in"]);
    for queue in queues {
        table.push(vec![
            queue.port.clone(),
            queue.class.to_string(),
            queue.frames.map_or_else(|| "no bound".to_owned(), count),
            duration(queue.work_ns),
        ]);
    }
    table
}
