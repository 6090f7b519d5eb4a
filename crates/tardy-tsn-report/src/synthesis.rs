//! The output of `tardy tsn synthesize`: a verdict, the ports with the longest lists, what these fit into, what stays of an older
//! schedule, and what the flows can expect.

mod expectation;
mod kept;
mod page;
mod pictures;

use std::fmt::Write;

use tardy_plot::numbers::{count, counted, first_few, per_cent, with_unit};
use tardy_record::units::format_duration_ns;
use tardy_synthesis::summary::{ENTRIES_OF_HARDWARE, ENTRIES_OF_NETLINK, ENTRIES_OF_TC, Port, Summary};

pub use page::{Evidence, html};
pub use pictures::Pictures;

use tardy_present::table::Table;
use tardy_present::terminal_text::{printable, wrapped};

/// The most ports that are shown.
const PORTS_SHOWN: usize = 8;

/// The whole text. Ends with a newline.
pub fn of(outcome: &Summary, width: usize) -> String {
    let mut text = verdict(outcome);
    if !outcome.ports.is_empty() {
        text.push('\n');
        for line in table(&outcome.ports).lines(width) {
            text += &line;
            text.push('\n');
        }
        text.push('\n');
        text += &fits(&outcome.ports);
    }
    if let Some(tightest) = &outcome.tightest {
        let slack = format_duration_ns(tightest.slack_ns);
        let _ = writeln!(text, "Least slack: {slack}, of flow {}.", tightest.flow);
    }
    for sentence in outcome.kept.iter().flat_map(kept::sentences) {
        push(&mut text, &sentence, width);
    }
    if let Some(verified) = &outcome.verified {
        text.push('\n');
        for line in expectation::table(verified).lines(width) {
            text += &printable(&line);
            text.push('\n');
        }
        text.push('\n');
        for sentence in expectation::sentences(verified) {
            push(&mut text, &sentence, width);
        }
    }
    text += &effort(outcome);
    text
}

/// Adds a sentence, in lines of this width.
fn push(text: &mut String, sentence: &str, width: usize) {
    for line in wrapped(sentence, width) {
        *text += &printable(&line);
        text.push('\n');
    }
}

fn verdict(outcome: &Summary) -> String {
    let placed =
        format!("{} of {}", count(outcome.placed as u64), counted(outcome.flows as u64, "flow", "flows"));
    let cycle = format_duration_ns(outcome.hyperperiod_ns);
    match outcome.verdict {
        "scheduled" => format!("Scheduled: {placed}, repeating every {cycle}. The check found no fault.\n"),
        "starved" => {
            let reason = outcome.reason.as_deref().unwrap_or("");
            format!("No schedule was found: {reason}. With that share {placed} are placed.\n")
        }
        "infeasible" => {
            let reason = outcome.reason.as_deref().unwrap_or("");
            format!("No schedule exists: {reason}. The check confirmed the proof. {placed} are placed.\n")
        }
        _ if outcome.left_out.is_empty() => {
            format!(
                "Not decided: {placed} are placed, and a port has more entries than --max-entries permits.\n"
            )
        }
        _ => format!(
            "Not decided: {placed} are placed, and the check found no fault in these. Left out: {}.\n\
             No proof was found that they cannot be placed; try a higher --effort.\n",
            first_few(&outcome.left_out, ", ")
        ),
    }
}

fn table(ports: &[Port]) -> Table {
    let mut longest: Vec<&Port> = ports.iter().collect();
    longest.sort_by(|a, b| b.entries.cmp(&a.entries).then(b.load.total_cmp(&a.load)));
    of_ports(longest.into_iter().take(PORTS_SHOWN))
}

/// A row for each of these ports.
fn of_ports<'p>(ports: impl Iterator<Item = &'p Port>) -> Table {
    let mut table = Table::new(&["port", "flows", "load", "cycle", "entries", "best effort", "waits"]);
    for port in ports {
        table.push(vec![
            port.link.clone(),
            count(port.flows as u64),
            per_cent(port.load),
            format_duration_ns(port.cycle_ns),
            count(port.entries as u64),
            per_cent(port.best_effort),
            port.best_effort_wait_ns.map_or_else(|| "for ever".to_owned(), format_duration_ns),
        ]);
    }
    table
}

/// What the gate control lists fit into.
fn fits(ports: &[Port]) -> String {
    let hidden = ports.len().saturating_sub(PORTS_SHOWN);
    let mut text = String::new();
    if hidden > 0 {
        let _ = writeln!(
            text,
            "{} with fewer entries (--json lists all).",
            counted(hidden as u64, "more port", "more ports")
        );
    }
    let within = |most: usize| {
        let fitting = ports.iter().filter(|port| port.entries <= most).count();
        if fitting == ports.len() {
            "all".to_owned()
        } else {
            format!("{} of {}", count(fitting as u64), count(ports.len() as u64))
        }
    };
    let _ = writeln!(
        text,
        "Lists that fit tc ({ENTRIES_OF_TC} entries): {}; hardware with {ENTRIES_OF_HARDWARE}: {}; Linux by netlink ({}): {}.",
        within(ENTRIES_OF_TC),
        within(ENTRIES_OF_HARDWARE),
        count(ENTRIES_OF_NETLINK as u64),
        within(ENTRIES_OF_NETLINK),
    );
    text
}

fn effort(outcome: &Summary) -> String {
    let Summary { effort, effort_limit, seed, .. } = outcome;
    let stopped = match outcome.stopped {
        true => format!("; --time-limit ended the search, and --effort {effort} repeats it"),
        false => String::new(),
    };
    let took = with_unit(outcome.seconds * 1e9);
    format!("Effort {effort} of {effort_limit}, seed {seed}, {took}{stopped}.\n")
}
