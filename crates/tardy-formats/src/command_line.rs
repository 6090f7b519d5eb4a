//! Reads the properties of a measurement from the tool's command line.
//!
//! Options are read as getopt reads them: short ones may be combined, and a value may be attached or in the next word.
//! Unknown options are skipped, since most of them do not affect the values in a run.

use tardy_record::plan::{Policy, Wake};

use crate::imported::Unit;

/// cyclictest's command line (cyclictest.8, rt-tests 2.x).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cyclictest {
    pub(crate) unit: Option<Unit>,
    pub(crate) interval_ns: Option<u64>,
    /// The difference between the intervals of one thread and the next.
    pub(crate) distance_ns: u64,
    pub(crate) priority: Option<u32>,
    pub(crate) policy: Option<Policy>,
    pub(crate) duration_ns: Option<u64>,
    /// Whether thread 0 is on CPU 0, thread 1 on CPU 1 and so on.
    pub(crate) pinned_in_order: bool,
    sleep: Sleep,
}

/// The options that decide how cyclictest waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sleep {
    /// -n, or -S or -U, which imply it.
    nanosleep: bool,
    /// -x.
    posix_timers: bool,
    /// -s.
    system: bool,
    /// -r.
    relative: bool,
}

impl Cyclictest {
    /// How the threads waited. Up to rt-tests 1.1, POSIX timers are the default and -n selects clock_nanosleep; from
    /// 1.2 on, clock_nanosleep is the default and -x selects POSIX timers (`use_nanosleep` in cyclictest.c).
    /// `default_is_nanosleep` is `None` if the version is unknown. Without an option, the result is `None` then.
    pub(crate) fn wake(&self, default_is_nanosleep: Option<bool>) -> Option<Wake> {
        let Sleep { nanosleep, posix_timers, system, relative } = self.sleep;
        let nanosleep = match (posix_timers, nanosleep) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => default_is_nanosleep?,
        };
        Some(match (nanosleep, system) {
            (true, false) if !relative => Wake::ClockNanosleep,
            (true, _) => Wake::Nanosleep,
            (false, true) => Wake::Setitimer,
            (false, false) => Wake::TimerSettime,
        })
    }
}

/// Options that take a value. The value must not be read as options.
const WITH_VALUE: &str = "AbcCdDFhHilopqtTaRW";

/// Reads `command`. `None` if it is not cyclictest's.
pub(crate) fn cyclictest(command: &str) -> Option<Cyclictest> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let tool = words.iter().position(|word| word.rsplit('/').next() == Some("cyclictest"))?;
    let mut found =
        Cyclictest { unit: Some(Unit::Us), interval_ns: Some(1_000_000), ..Cyclictest::default() };
    let (mut smp, mut histogram, mut distance) = (false, false, None);
    let (mut affinity, mut affinity_list) = (false, false);
    let mut words = words[tool + 1..].iter().copied().peekable();
    while let Some(word) = words.next() {
        let (name, inline) = match word.strip_prefix("--") {
            Some(long) => match long.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value)),
                None => (long.to_owned(), None),
            },
            None if word.starts_with('-') => {
                for (name, value) in short_options(word) {
                    let value = value.or_else(|| {
                        let takes = WITH_VALUE.contains(name) && !"aqt".contains(name);
                        let next = words.peek().copied().filter(|next| !next.starts_with('-'));
                        next.filter(|_| takes || ("at".contains(name) && next.is_some_and(is_list)))
                    });
                    if value.is_some_and(|value| words.peek() == Some(&value) && !word.ends_with(value)) {
                        words.next();
                    }
                    take(&mut found, &name.to_string(), value, &mut distance);
                    smp |= name == 'S';
                    histogram |= matches!(name, 'h' | 'H');
                    affinity |= name == 'a';
                    affinity_list |= name == 'a' && value.is_some();
                }
                continue;
            }
            None => continue,
        };
        let short = match name.as_str() {
            "interval" => "i",
            "priority" | "prio" => "p",
            "duration" => "D",
            "distance" => "d",
            "nsecs" => "N",
            "policy" => "policy",
            "smp" => "S",
            "histogram" | "histofall" => "h",
            "affinity" => "a",
            "nanosleep" => "n",
            "numa" => "U",
            "posix_timers" => "x",
            "system" => "s",
            "relative" => "r",
            _ => continue,
        };
        let takes = matches!(short, "i" | "p" | "D" | "d" | "policy" | "h");
        let next = words.peek().copied().filter(|next| takes && inline.is_none() && !next.starts_with('-'));
        if next.is_some() {
            words.next();
        }
        take(&mut found, short, inline.or(next), &mut distance);
        smp |= short == "S";
        histogram |= short == "h";
        affinity |= short == "a";
        affinity_list |= short == "a" && inline.is_some();
    }
    if found.policy.is_none() {
        found.policy = Some(if found.priority.is_some_and(|priority| priority > 0) {
            Policy::Fifo
        } else {
            Policy::Other
        });
    }
    // -S implies -a -t. The distance is 500 us unless a histogram is made (rt-tests 2.4, cyclictest.c).
    found.pinned_in_order = (smp || affinity) && !affinity_list;
    found.distance_ns = if histogram { 0 } else { distance.unwrap_or(500_000) };
    Some(found)
}

fn is_list(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// The options in a word such as `-Sp90`, each with the value in the same word.
fn short_options(word: &str) -> Vec<(char, Option<&str>)> {
    let mut options = Vec::new();
    let mut rest = &word[1..];
    while let Some(name) = rest.chars().next() {
        let after = &rest[name.len_utf8()..];
        let value = Some(after).filter(|after| is_list(after) && WITH_VALUE.contains(name));
        options.push((name, value));
        if value.is_some() {
            break;
        }
        rest = after;
    }
    options
}

fn take(found: &mut Cyclictest, name: &str, value: Option<&str>, distance: &mut Option<u64>) {
    let number = value.and_then(|value| value.parse::<u64>().ok()).filter(|number| *number < 1 << 40);
    match name {
        "i" => found.interval_ns = number.map(|us| us * 1000),
        "d" => *distance = number.map(|us| us * 1000),
        "p" => found.priority = number.and_then(|number| u32::try_from(number).ok()),
        "N" => found.unit = Some(Unit::Ns),
        "n" | "S" | "U" => found.sleep.nanosleep = true,
        "x" => found.sleep.posix_timers = true,
        "s" => found.sleep.system = true,
        "r" => found.sleep.relative = true,
        "D" => found.duration_ns = value.and_then(duration_ns),
        "policy" => {
            found.policy = match value {
                Some("fifo") => Some(Policy::Fifo),
                Some("rr") => Some(Policy::Rr),
                Some("other" | "normal") => Some(Policy::Other),
                _ => None,
            }
        }
        _ => {}
    }
}

/// `10`, `10s`, `5m`, `2h`, `1d` as rt-tests reads them: seconds without a unit.
pub(crate) fn duration_ns(text: &str) -> Option<u64> {
    let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(seconds)?.checked_mul(1_000_000_000).filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_version_decide_how_a_thread_waits() {
        let of = |command: &str, default: Option<bool>| cyclictest(command).unwrap().wake(default);
        // Command lines from the articles, with rt-tests before 1.2.
        for (command, expected) in [
            ("cyclictest -m -a -t -n -p99", Wake::ClockNanosleep),
            ("cyclictest -m -a -t -p99", Wake::TimerSettime),
            ("cyclictest -m -a -t -s -n -p99", Wake::Nanosleep),
            ("cyclictest -m -a -t -s -p99", Wake::Setitimer),
            ("cyclictest -l50000000 -m -S -p90 -i200 -h400 -q", Wake::ClockNanosleep),
        ] {
            assert_eq!(of(command, Some(false)), Some(expected), "{command}");
        }
        assert_eq!(of("cyclictest -m -a -t -p99", None), None, "the version decides");
        assert_eq!(
            of("cyclictest -Sp90", None),
            Some(Wake::ClockNanosleep),
            "-S implies -n, or it is the default"
        );
        assert_eq!(of("cyclictest -t -p99", Some(true)), Some(Wake::ClockNanosleep));
        assert_eq!(of("cyclictest -t -r -p99", Some(true)), Some(Wake::Nanosleep));
        assert_eq!(of("cyclictest -t --relative -p99", Some(true)), Some(Wake::Nanosleep));
        assert_eq!(of("cyclictest -xt -p99", None), Some(Wake::TimerSettime));
        assert_eq!(of("cyclictest --posix_timers --system", None), Some(Wake::Setitimer));
    }

    #[test]
    fn command_lines_from_articles_are_read() {
        let osadl = cyclictest("cyclictest -l100000000 -m -Sp90 -i200 -h400 -q").unwrap();
        assert_eq!((osadl.interval_ns, osadl.priority, osadl.distance_ns), (Some(200_000), Some(90), 0));
        assert_eq!(
            (osadl.unit, osadl.policy, osadl.pinned_in_order),
            (Some(Unit::Us), Some(Policy::Fifo), true)
        );
        let nanoseconds = cyclictest("sudo /usr/bin/cyclictest -N -p 80 -t1 -n -i 500 -D 5m").unwrap();
        assert_eq!(nanoseconds.unit, Some(Unit::Ns));
        assert_eq!((nanoseconds.priority, nanoseconds.interval_ns), (Some(80), Some(500_000)));
        assert_eq!((nanoseconds.duration_ns, nanoseconds.distance_ns), (Some(300_000_000_000), 500_000));
        let old = cyclictest("cyclictest -m -a -t -p99").unwrap();
        assert_eq!((old.interval_ns, old.priority, old.pinned_in_order), (Some(1_000_000), Some(99), true));
        let long =
            cyclictest("cyclictest --interval=250 --priority 70 --policy=rr --affinity=1-2 --nsecs").unwrap();
        assert_eq!(
            (long.interval_ns, long.policy, long.pinned_in_order),
            (Some(250_000), Some(Policy::Rr), false)
        );
        assert_eq!(cyclictest("oslat -D 8"), None);
        assert_eq!(cyclictest("cyclictest").unwrap().policy, Some(Policy::Other));
    }
}
