//! A switch file with the schedule in it.
//!
//! The text of the file stays as it is, with its comments. Only the keys of the schedule are replaced: `gates`, `base_time`,
//! `cycle_time` and `cycle_time_extension` of the ports with scheduled flows, and `offset` of these flows.

use std::ops::Range;

use tardy_record::gates::GateEntry;
use tardy_record::units::{format_duration_ns, format_signed_duration_ns};
use tardy_tsn::file;
use tardy_tsn::network::{Network, Pace, Switch};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::read::network::Scheduled;
use crate::schedule::{PortGates, Schedule};

/// The keys of a port's schedule that are replaced.
const PORT_KEYS: [&str; 4] = ["gates", "base_time", "cycle_time", "cycle_time_extension"];

/// What is written.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    /// The offsets.
    pub schedule: &'a Schedule,
    /// The gate control lists.
    pub ports: &'a [PortGates],
    /// The base time of every list, in ns of its clock.
    pub base_time_ns: i64,
}

/// A replacement of a part of the text.
struct Edit {
    range: Range<usize>,
    text: String,
}

/// The text of a switch file with the schedule in it.
///
/// # Errors
///
/// The ports or flows are not written as tables of their own.
pub fn text(
    text: &str,
    network: &Network,
    scheduled: &Scheduled,
    timing: &Timing<'_>,
) -> Result<String, String> {
    let root = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let mut edits = Vec::new();
    for port in timing.ports {
        let Some(id) = scheduled.ports[port.link] else { continue };
        let switch = &network.switches[id.switch];
        let table = nth(root.get_ref(), "switch", id.switch).and_then(|switch| nth(switch, "port", id.port));
        let table =
            table.ok_or_else(|| format!("switch {} has no table for each port", switch.name.value))?;
        let added = base_time(timing.base_time_ns) + &gates(switch, &port.entries);
        edits.extend(replaced(text, table, "interface", &PORT_KEYS, &added));
    }
    for (flow, placement) in timing.schedule.iter() {
        let place = scheduled.flows[flow];
        let table = nth(root.get_ref(), "flow", place).ok_or("the flows are not tables")?;
        let offset = format!("offset = \"{}\"", format_duration_ns(placement.offset_ns()));
        edits.extend(replaced(text, table, "name", &["offset"], &offset));
    }
    let edited = apply(text, edits);
    check(&edited, network, scheduled, timing)?;
    Ok(edited)
}

/// The table with this index below a key, which has one table or a list of tables.
fn nth<'t>(table: &'t DeTable<'t>, key: &str, index: usize) -> Option<&'t DeTable<'t>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(one) => Some(one).filter(|_| index == 0),
        DeValue::Array(list) => match list.get(index)?.get_ref() {
            DeValue::Table(one) => Some(one),
            _ => None,
        },
        _ => None,
    }
}

/// The edits that remove `keys` from a table and add `text` in a line of its own after the line of `after`.
fn replaced(text: &str, table: &DeTable<'_>, after: &str, keys: &[&str], added: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    for key in keys {
        edits.extend(
            range_of(table, key).map(|range| Edit { range: whole_lines(text, range), text: String::new() }),
        );
    }
    if let Some(range) = range_of(table, after) {
        let end = line_end(text, range.end);
        let newline = if text[..end].ends_with('\n') { "" } else { "\n" };
        edits.push(Edit { range: end..end, text: format!("{newline}{added}\n") });
    }
    edits
}

/// The bytes of a key and its value.
fn range_of(table: &DeTable<'_>, name: &str) -> Option<Range<usize>> {
    let (key, value): (&Spanned<_>, &Spanned<DeValue<'_>>) =
        table.iter().find(|(key, _)| key.get_ref().as_ref() == name)?;
    Some(key.span().start..value.span().end)
}

/// The byte after the end of the line at `at`.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length + 1)
}

/// `range` with the indentation before it, and a comment and the end of the line after it.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let is_first = text[start..range.start].trim().is_empty();
    let end = line_end(text, range.end);
    let rest = text[range.end..end].trim();
    if is_first && (rest.is_empty() || rest.starts_with('#')) { start..end } else { range }
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut edited, mut at) = (String::with_capacity(text.len() * 2), 0);
    for edit in edits {
        edited.push_str(&text[at.min(edit.range.start)..edit.range.start]);
        edited.push_str(&edit.text);
        at = edit.range.end;
    }
    edited.push_str(&text[at..]);
    edited
}

/// The line of the base time; none for that of a list without one.
fn base_time(base_time_ns: i64) -> String {
    match base_time_ns {
        0 => String::new(),
        ns => format!("base_time = \"{}\"\n", format_signed_duration_ns(ns)),
    }
}

fn gates(switch: &Switch, entries: &[GateEntry]) -> String {
    let classes = switch.classes.len();
    let all = (1_u32 << classes) - 1;
    let line = |entry: &GateEntry| {
        let open = match entry.gates {
            0 => "\"none\"".to_owned(),
            gates if gates == all && classes > 1 => "\"all\"".to_owned(),
            gates => {
                let open = (0..classes).filter(|class| gates >> class & 1 == 1);
                let names: Vec<String> = open.map(|class| quoted(&switch.class_name(class as u8))).collect();
                format!("[{}]", names.join(", "))
            }
        };
        format!("  {{ open = {open}, for = \"{}\" }},\n", format_duration_ns(u64::from(entry.interval_ns)))
    };
    format!("gates = [\n{}]", entries.iter().map(line).collect::<String>())
}

/// A name as a string of TOML.
fn quoted(name: &str) -> String {
    toml::Value::String(name.to_owned()).to_string()
}

/// Reads the edited text again: it must have this schedule, and otherwise be the same.
fn check(edited: &str, network: &Network, scheduled: &Scheduled, timing: &Timing<'_>) -> Result<(), String> {
    const ADVICE: &str =
        "write each port as [[switch.port]] and each flow as [[flow]], with a line for each key";
    let again =
        file::parse(edited).map_err(|error| format!("the schedule cannot be added: {error}; {ADVICE}"))?;
    for port in timing.ports {
        let Some(id) = scheduled.ports[port.link] else { continue };
        let of = &again.switches[id.switch].ports[id.port];
        let written = of.schedule.as_ref().map(tardy_tsn::network::Schedule::gate_entries);
        let base_time_ns = of.schedule.as_ref().map(|schedule| schedule.base_time_ns.value);
        if written.as_ref() != Some(&port.entries) || base_time_ns != Some(timing.base_time_ns) {
            return Err(format!("the gates of {} cannot be added; {ADVICE}", of.interface.value));
        }
    }
    for (flow, placement) in timing.schedule.iter() {
        let of = &again.flows[scheduled.flows[flow]];
        let is_written =
            matches!(of.pace, Pace::Periodic { offset_ns, .. } if offset_ns == placement.offset_ns());
        if !is_written {
            return Err(format!("the offset of flow '{}' cannot be added; {ADVICE}", of.name.value));
        }
    }
    let is_same = again.links == network.links && again.flows.len() == network.flows.len();
    if is_same { Ok(()) } else { Err(format!("the schedule cannot be added; {ADVICE}")) }
}
