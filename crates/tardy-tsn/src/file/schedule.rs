//! The schedule of a port: `gates`, `base_time`, `cycle_time` and other keys.

use super::classes::class_number;
use super::keys::{Keys, Problems, Value};
use tardy_record::gates::{GateEntry, GateOperation};

use crate::network::{CLASSES_MAX, Class, Clock, Schedule, ScheduleEntry};
use crate::span::{Located, Span};
use toml::de::DeValue;

/// Bytes of a frame on the wire that the kernel does not count: preamble and start delimiter, check sequence, gap.
const OVERHEAD: u32 = 24;
/// The most entries that are read; TAPRIO's message holds about 2,300.
const ENTRIES_MAX: usize = 65_536;

/// Reads a port's schedule. A port without `gates` has no schedule, and must not have the other keys of one.
pub(super) fn read(keys: &mut Keys<'_>, classes: &[Class], problems: &mut Problems) -> Option<Schedule> {
    let gates = keys.take("gates");
    let span = gates.as_ref().map_or(keys.span, |gates| gates.span);
    let entries = gates.as_ref().map(|gates| entries(gates, classes, problems));
    let mut belonging: Vec<(Span, &str)> = Vec::new();
    let base_time = keys.instant("base_time", problems);
    let cycle_time = keys.duration("cycle_time", problems);
    let extension = keys.duration("cycle_time_extension", problems);
    let clock = clock(keys, span, problems);
    let whole = |keys: &mut Keys<'_>, key, most, problems: &mut Problems| {
        keys.number(key, 0..=most, problems).map(|number| number.map(|number| number as u32))
    };
    let overhead = whole(keys, "overhead", 1 << 15, problems);
    let flags = whole(keys, "flags", i64::from(u32::MAX), problems);
    let txtime_delay = keys
        .take("txtime_delay")
        .and_then(|value| value.duration(problems).and_then(|ns| in_32_bits(ns, &value, problems)));
    belonging.extend(base_time.as_ref().map(|value| (value.span, "base_time")));
    belonging.extend(cycle_time.as_ref().map(|value| (value.span, "cycle_time")));
    belonging.extend(extension.as_ref().map(|value| (value.span, "cycle_time_extension")));
    belonging.extend(clock.as_ref().filter(|clock| clock.span != span).map(|value| (value.span, "clock")));
    belonging.extend(overhead.as_ref().map(|value| (value.span, "overhead")));
    belonging.extend(flags.as_ref().map(|value| (value.span, "flags")));
    belonging.extend(txtime_delay.as_ref().map(|value| (value.span, "txtime_delay")));
    let Some(entries) = entries else {
        for (span, key) in belonging {
            problems
                .add(span, format!("{key} requires a gate control list; add gates = [ … ], or remove {key}"));
        }
        return None;
    };
    if classes.is_empty() {
        problems.add(span, "there are gates but no classes; add [[class]] for each class".to_owned());
    }
    Some(Schedule {
        entries,
        gates_span: span,
        base_time_ns: base_time.unwrap_or(Located::new(0, span)),
        cycle_time_ns: cycle_time,
        cycle_time_extension_ns: extension,
        clock,
        overhead: overhead.unwrap_or(Located::new(OVERHEAD, span)),
        flags: flags.unwrap_or(Located::new(0, span)),
        txtime_delay_ns: txtime_delay,
    })
}

/// `clock`: TAI by default, and no clock for "none".
fn clock(keys: &mut Keys<'_>, span: Span, problems: &mut Problems) -> Option<Located<Clock>> {
    let mut words: Vec<(&str, Option<Clock>)> =
        Clock::ALL.into_iter().map(|clock| (clock.word(), Some(clock))).collect();
    words.push(("none", None));
    match keys.word("clock", &words, problems) {
        Some(Located { value, span }) => value.map(|clock| Located::new(clock, span)),
        None => Some(Located::new(Clock::Tai, span)),
    }
}

fn entries(gates: &Value<'_>, classes: &[Class], problems: &mut Problems) -> Vec<ScheduleEntry> {
    let list = gates.list(problems).unwrap_or_default();
    if let Some(extra) = list.get(ENTRIES_MAX) {
        problems.add(extra.span, format!("gates has {} entries; at most {ENTRIES_MAX} are read", list.len()));
        return Vec::new();
    }
    list.iter().filter_map(|item| entry(item, classes, problems)).collect()
}

/// `{ open = ["blue"], for = "800us" }`
fn entry(value: &Value<'_>, classes: &[Class], problems: &mut Problems) -> Option<ScheduleEntry> {
    const OPERATIONS: [(&str, GateOperation); 3] = [
        ("set", GateOperation::Set),
        ("hold", GateOperation::SetAndHold),
        ("release", GateOperation::SetAndRelease),
    ];
    let mut keys = value.table("an entry of gates".to_owned(), problems)?;
    let open = keys.take("open");
    let mask = keys.number("mask", 0..=i64::from(u32::MAX), problems);
    let duration = keys
        .take("for")
        .map(|value| value.duration(problems).and_then(|ns| in_32_bits(ns, &value, problems)));
    let operation = keys.word("operation", &OPERATIONS, problems);
    let gate_mask = match (open, mask) {
        (Some(open), None) => gate_mask(&open, classes, problems),
        (None, Some(mask)) => Some(mask.map(|mask| mask as u32)),
        (Some(_), Some(mask)) => {
            problems.add(mask.span, "open and mask are alternatives; write one of them".to_owned());
            None
        }
        (None, None) if keys.has("mask") => None,
        (None, None) => {
            keys.missing("open", "[\"CLASS\"]", problems);
            None
        }
    };
    if duration.is_none() {
        keys.missing("for", "\"800us\"", problems);
    }
    keys.finish(problems);
    let operation = operation.map(|operation| operation.value).unwrap_or_default();
    let (gates, interval) = (gate_mask?, duration??);
    Some(ScheduleEntry {
        entry: GateEntry { operation, gates: gates.value, interval_ns: interval.value },
        gates_span: gates.span,
        interval_span: interval.span,
        span: value.span,
    })
}

/// `open`: a list of classes, "all" or "none".
fn gate_mask(open: &Value<'_>, classes: &[Class], problems: &mut Problems) -> Option<Located<u32>> {
    if let DeValue::String(word) = open.value {
        let all = (1u32 << classes.len().min(CLASSES_MAX)) - 1;
        let mask = match word.as_ref() {
            "all" => Some(all),
            "none" => Some(0),
            _ => None,
        };
        if mask.is_none() {
            problems.add(
                open.span,
                format!("open is a list of classes, \"all\" or \"none\"; write open = [\"{word}\"]"),
            );
        }
        return mask.map(|mask| Located::new(mask, open.span));
    }
    let mut mask = 0;
    for item in open.list(problems)? {
        let class = class_number(&item, classes, problems)?;
        if class.value >= 32 {
            problems.add(class.span, "a gate control list has gates for classes 0 to 31".to_owned());
            return None;
        }
        mask |= 1 << class.value;
    }
    Some(Located::new(mask, open.span))
}

/// TAPRIO's attribute has 32 bits.
fn in_32_bits(ns: Located<u64>, value: &Value<'_>, problems: &mut Problems) -> Option<Located<u32>> {
    let fitting = u32::try_from(ns.value).ok();
    if fitting.is_none() {
        problems.add(
            ns.span,
            format!("{} is more than 4.294967295s, TAPRIO's maximum; repeat the entry", value.key),
        );
    }
    fitting.map(|value| Located::new(value, ns.span))
}
