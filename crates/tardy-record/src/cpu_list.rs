//! Lists of CPUs as the kernel writes them: `0-3,6` (cpuset(7), "List format").

use std::fmt::Write as _;

/// The largest number of CPUs that any kernel supports is below this; a list that names more is damaged or hostile.
const CPU_LIMIT: u32 = 65_536;

/// Parses `0-3,6` into ascending CPU numbers without duplicates. Accepts strides, as in `0-31:2/4` and the kernel's
/// `0-63:1/2`.
///
/// Returns `None` if the text is not a CPU list. An empty text is the empty list.
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1/1"));
        let (used, group) = stride.split_once('/')?;
        let (used, group): (u32, u32) = (used.parse().ok()?, group.parse().ok()?);
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last >= CPU_LIMIT || first > last || group == 0 {
            return None;
        }
        cpus.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
    }
    Some(distinct(cpus))
}

/// The CPUs in ascending order, each once.
pub fn distinct(cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut cpus: Vec<u32> = cpus.into_iter().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Parses a fact about CPUs that are kept apart, such as [`crate::facts::Cpu::isolated`]: a list, `none`, or the value of a kernel's parameter,
/// in which flags precede the list (`managed_irq,domain,2-3`).
pub fn parse_kept_apart(text: &str) -> Option<Vec<u32>> {
    if text == "none" {
        return Some(Vec::new());
    }
    let is_flag = |word: &&str| !word.starts_with(|c: char| c.is_ascii_digit());
    let list: Vec<&str> = text.split(',').skip_while(is_flag).collect();
    parse(&list.join(","))
}

/// Parses a mask such as that of /proc/irq/default_smp_affinity: hexadecimal words separated by commas, the lowest CPUs last.
pub fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let digits: Vec<u32> =
        text.trim().chars().filter(|c| *c != ',').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    if digits.is_empty() || digits.len() as u32 * 4 > CPU_LIMIT {
        return None;
    }
    let bits = digits.iter().rev().zip(0u32..).flat_map(|(digit, place)| {
        (0..4).filter(move |bit| digit >> bit & 1 == 1).map(move |bit| place * 4 + bit)
    });
    Some(bits.collect())
}

/// Formats CPU numbers as the kernel's masks: hexadecimal, 32 CPUs between commas, the lowest CPUs last.
pub fn format_mask(cpus: &[u32]) -> String {
    let last = cpus.iter().max().copied().unwrap_or(0);
    let words: Vec<u32> = (0..=last / 32)
        .map(|word| cpus.iter().filter(|cpu| *cpu / 32 == word).fold(0, |bits, cpu| bits | 1 << (cpu % 32)))
        .collect();
    let mut text = String::new();
    for word in words.iter().rev() {
        text += &if text.is_empty() { format!("{word:x}") } else { format!(",{word:08x}") };
    }
    text
}

/// Formats ascending CPU numbers as `0-3,6`.
pub fn format(cpus: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let length = rest.iter().zip(first..).take_while(|(cpu, expected)| **cpu == *expected).count();
        let last = first + length as u32 - 1;
        if !text.is_empty() {
            text.push(',');
        }
        let _ = if last > first { write!(text, "{first}-{last}") } else { write!(text, "{first}") };
        rest = &rest[length..];
    }
    text
}
