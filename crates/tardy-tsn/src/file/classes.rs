//! `[[class]]` and `priority_map`.

use toml::de::DeValue;

use super::keys::{Keys, Problems, Value};
use super::values::nearest;
use crate::network::{CLASSES_MAX, Class, QueueRange};
use crate::span::Located;

/// Reads a `[[class]]`.
pub(super) fn class(number: usize, mut keys: Keys<'_>, problems: &mut Problems) -> Class {
    let span = keys.span;
    let name = keys.text("name", problems).unwrap_or_else(|| Located::new(number.to_string(), span));
    if name.value.is_empty() || name.value.len() > 64 || name.value.chars().any(char::is_control) {
        problems.add(name.span, "a class's name has 1 to 64 letters".to_owned());
    }
    if name.value.parse::<usize>().is_ok_and(|other| other != number) {
        problems.add(
            name.span,
            format!("class {number} cannot be called '{}': that is the number of another class", name.value),
        );
    }
    let queues = keys.take("queues").and_then(|value| value.parsed(problems, queue_range));
    let max_sdu = keys
        .number("max_sdu", 1..=i64::from(u32::MAX), problems)
        .map(|bytes| bytes.map(|bytes| bytes as u32));
    let etf_delta_ns = etf_delta(&mut keys, problems);
    let idle_slope = keys.rate("idle_slope", problems);
    if let (Some(_), Some(slope)) = (&etf_delta_ns, &idle_slope) {
        problems.add(
            slope.span,
            "a class has etf_delta or idle_slope, not both: a queue has one discipline".to_owned(),
        );
    }
    let preemptible =
        keys.take("preemptible").and_then(|value| Some(Located::new(value.flag(problems)?, value.span)));
    keys.finish(problems);
    Class { name, queues, max_sdu, etf_delta_ns, idle_slope, preemptible, span }
}

/// The kernel's attribute is signed with 32 bits, and ETF drops a frame that it gets after its transmit time.
pub(super) fn etf_delta(keys: &mut Keys<'_>, problems: &mut Problems) -> Option<Located<u32>> {
    const MOST_NS: u64 = 1_000_000_000;
    let delta = keys.duration("etf_delta", problems)?;
    if !(1..=MOST_NS).contains(&delta.value) {
        problems.add(
            delta.span,
            "etf_delta is from 1ns to 1s: ETF drops a frame whose timer fires after its transmit time, so write more than a timer \
             can be late, such as 300us"
                .to_owned(),
        );
        return None;
    }
    Some(delta.map(|ns| ns as u32))
}

/// `count@offset`, as tc writes it.
fn queue_range(text: &str) -> Result<QueueRange, String> {
    let wrong = || format!("'{text}' is not a range of queues; write count@offset, such as 1@0");
    let (count, offset) = text.split_once('@').ok_or_else(wrong)?;
    let number = |part: &str| part.trim().parse::<u16>().map_err(|_| wrong());
    Ok(QueueRange { count: number(count)?, offset: number(offset)? })
}

pub(super) fn priority_map(
    value: &Value<'_>,
    classes: &[Class],
    problems: &mut Problems,
) -> Located<Vec<Located<u8>>> {
    let list = value.list(problems).unwrap_or_default();
    if let Some(extra) = list.get(CLASSES_MAX) {
        problems.add(
            extra.span,
            format!("priority_map has {} entries; there are {CLASSES_MAX} priorities", list.len()),
        );
    }
    let map = list.iter().filter_map(|item| class_number(item, classes, problems)).collect();
    Located::new(map, value.span)
}

/// A class by its name or number. A number beyond the classes is accepted here: [`crate::check`] reports the kernel's
/// answer.
pub(super) fn class_number(
    value: &Value<'_>,
    classes: &[Class],
    problems: &mut Problems,
) -> Option<Located<u8>> {
    if let DeValue::Integer(_) = value.value {
        return value.number(0..=255, problems).map(|number| number.map(|number| number as u8));
    }
    let name = value.text(problems)?;
    let found = classes.iter().position(|class| class.name.value == name.value);
    if found.is_none() {
        let names = || classes.iter().map(|class| class.name.value.as_str());
        let advice = match nearest(name.value, names()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None if classes.is_empty() => "add [[class]] for each class".to_owned(),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        problems.add(name.span, format!("there is no class '{}'; {advice}", name.value));
    }
    found.map(|number| Located::new(number as u8, name.span))
}
