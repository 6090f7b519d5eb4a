//! The line that cyclictest and its siblings print for a thread, live or at the end.
//!
//! `T: 0 (15321) P:90 I:200 C:  49964 Min:      6 Act:   12 Avg:   11 Max:    1933`, with or without the blanks after the
//! colons. cyclicdeadline's lines have no P, and signaltest's have no I. With `--smi`, a count of SMIs is at the end.

use super::number;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Unit};
use crate::lines::Line;

/// The most threads.
pub(crate) const THREAD_MAX: usize = 4096;

/// A thread's line. Values are in the tool's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadLine {
    pub(crate) thread: u32,
    /// Its thread id; 0 if the tool did not know it yet.
    tid: u64,
    /// `None` in cyclicdeadline's lines.
    pub(crate) priority: Option<u32>,
    /// `None` in signaltest's lines.
    pub(crate) interval_us: Option<u64>,
    pub(crate) cycles: u64,
    pub(crate) min: i64,
    pub(crate) act: i64,
    pub(crate) avg: i64,
    pub(crate) max: i64,
    /// The unit that the widths of its columns show; `None` if they show none.
    pub(crate) unit: Option<Unit>,
}

/// A value of a line: how many blanks precede it, and its digits.
#[derive(Clone, Copy)]
struct Width {
    blanks: usize,
    digits: usize,
}

impl Width {
    fn of(text: &str, name: &str) -> Option<Self> {
        let (_, after) = text.split_once(name)?;
        let blanks = after.len() - after.trim_start_matches(' ').len();
        let digits =
            after[blanks..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
        (digits > 0).then_some(Self { blanks, digits })
    }

    /// The width of the column. `None` without a blank: the value may be wider than its column.
    fn column(self) -> Option<usize> {
        (self.blanks > 0).then_some(self.blanks + self.digits)
    }
}

/// The lowest mean in ns that a thread woken by a timer can have: below it, eight columns hold us.
const LEAST_MEAN_NS: i64 = 500;

/// The unit that a line of cyclictest shows by the widths of its columns (print_stat of each version):
///
/// | version | I | C | Min | Act, Avg | unit |
/// |---|---|---|---|---|---|
/// | before rt-tests (0.11), Xenomai 2 | 8 | 8 | 8 | 8 | us |
/// | rt-tests 0.18 to 2.10 | as long as the value | 7 | 7 | 5 | us |
/// | the same with -N | as long as the value | 7 | 7 | 8 | ns |
/// | rt-tests 0.32 | as long as the value | 7 | 7 | 8 | us, or ns with -N |
///
/// `None` if the widths show none, or if both units are possible.
fn unit_by_width(text: &str, avg: i64) -> Option<Unit> {
    let column = |name: &str| Width::of(text, name)?.column();
    let wide = match (column("Act:"), column("Avg:")) {
        (Some(act), Some(avg)) if act != avg => return None,
        (act, avg) => act.or(avg)?,
    };
    let [interval, cycles, min] = ["I:", "C:", "Min:"].map(|name| Width::of(text, name));
    // An interval of eight digits, 10 s or more, would fill the old column.
    let is_as_long = |width: Width| width.blanks == 0 && width.digits < 8;
    let is_old = interval.is_some_and(|width| width.blanks > 0)
        || [cycles, min].into_iter().flatten().any(|width| width.column() == Some(8));
    let is_new = interval.is_some_and(is_as_long)
        || [cycles, min].into_iter().flatten().any(|width| width.column() == Some(7));
    match (wide, is_old, is_new) {
        (5, false, _) => Some(Unit::Us),
        (8, true, false) => Some(Unit::Us),
        (8, false, true) if avg >= LEAST_MEAN_NS => Some(Unit::Ns),
        _ => None,
    }
}

/// A field's name and its value, as in the line.
struct Fields<'a> {
    line: u64,
    all: Vec<(&'a str, &'a str)>,
    tid: &'a str,
}

impl<'a> Fields<'a> {
    /// Splits `text` into fields. It may contain only names with a colon and one value each, and the thread id in
    /// brackets after the value of T.
    fn read(line: u64, text: &'a str) -> Result<Self> {
        let mut fields = Self { line, all: Vec::new(), tid: "0" };
        let mut rest = text.trim();
        while !rest.is_empty() {
            let before = fields.all.last().map_or("T", |(name, _)| *name);
            if let Some((tid, after)) =
                rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).filter(|_| before == "T")
            {
                (fields.tid, rest) = (tid.trim(), after.trim_start());
                continue;
            }
            let is_name =
                |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
            let Some((name, after)) = rest.split_once(':').filter(|(name, _)| is_name(name)) else {
                let shown: String = rest.chars().take(40).collect();
                let reason = format!("'{shown}' follows its value and belongs to no field");
                return Err(ImportError::line(line, before, reason));
            };
            if fields.all.iter().any(|(known, _)| *known == name) {
                let reason = "appears a second time; two lines are mixed";
                return Err(ImportError::line(line, name, reason));
            }
            let after = after.trim_start();
            // The blank between T and the brackets is optional.
            let is_end = |c: char| c.is_whitespace() || (name == "T" && c == '(');
            let (value, after) = after.split_at(after.find(is_end).unwrap_or(after.len()));
            fields.all.push((name, value));
            rest = after.trim_start();
        }
        Ok(fields)
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn required(&self, name: &str) -> Result<&'a str> {
        self.get(name).ok_or_else(|| ImportError::line(self.line, name, "is missing"))
    }

    fn count(&self, name: &str) -> Result<u64> {
        number(self.required(name)?, self.line, name)
    }

    fn signed(&self, name: &str) -> Result<i64> {
        let word = self.required(name)?;
        let digits = word.strip_prefix('-').unwrap_or(word);
        let digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        word.parse().ok().filter(|_| digits).ok_or_else(|| {
            let shown: String = word.chars().take(40).collect();
            ImportError::line(self.line, name, format!("'{shown}' is not a whole number of 63 bits"))
        })
    }
}

impl ThreadLine {
    /// Reads `text`, which is the text of `line` without cursor movements.
    ///
    /// # Errors
    /// If it is cut off, a field is missing or appears twice, or its value is not a number.
    pub(crate) fn read(line: Line<'_>, text: &str) -> Result<Self> {
        line.whole()?;
        // Digits may be missing at the end.
        if line.unended {
            return Err(ImportError::line(line.number, "whole line", "it is cut off"));
        }
        let fields = Fields::read(line.number, text)?;
        let has = |name: &str| fields.get(name).is_some();
        let thread = fields.count("T")?;
        let thread = u32::try_from(thread)
            .ok()
            .filter(|thread| (*thread as usize) < THREAD_MAX)
            .ok_or_else(|| ImportError::line(line.number, "T", format!("{thread} is not a thread number")))?;
        let priority = has("P").then(|| fields.count("P")).transpose()?;
        let avg = fields.signed("Avg")?;
        Ok(Self {
            thread,
            tid: number(fields.tid, line.number, "thread id")?,
            priority: priority.map(|priority| priority.min(99) as u32),
            interval_us: has("I").then(|| fields.count("I")).transpose()?,
            cycles: fields.count("C")?,
            min: fields.signed("Min")?,
            act: fields.signed("Act")?,
            avg,
            max: fields.signed("Max")?,
            unit: unit_by_width(text, avg),
        })
    }

    /// Checks the line against `before`, an earlier line of the same thread: within a measurement the count and the maximum
    /// never decrease and the minimum never increases.
    ///
    /// # Errors If the line belongs to another measurement. `line` is its number.
    pub(crate) fn check_follows(&self, before: &Self, line: u64) -> Result<()> {
        let text = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
        let (field, what, from, to) = match () {
            () if self.cycles < before.cycles => {
                ("C", "goes back", before.cycles.to_string(), self.cycles.to_string())
            }
            // The id is 0 until the thread runs.
            () if self.tid != before.tid && before.tid != 0 => {
                ("thread id", "changes", before.tid.to_string(), self.tid.to_string())
            }
            () if self.priority != before.priority => {
                let text = |priority: Option<u32>| text(priority.map(u64::from));
                ("P", "changes", text(before.priority), text(self.priority))
            }
            () if self.interval_us != before.interval_us => {
                ("I", "changes", text(before.interval_us), text(self.interval_us))
            }
            () if self.max < before.max => ("Max", "goes back", before.max.to_string(), self.max.to_string()),
            // Without readings, the minimum has its initial value.
            () if self.min > before.min && before.cycles > 0 => {
                ("Min", "rises", before.min.to_string(), self.min.to_string())
            }
            () => return Ok(()),
        };
        let reason = format!(
            "thread {} {what} from {from} to {to}; a second measurement begins here; split the file and import each part",
            self.thread
        );
        Err(ImportError::line(line, field, reason))
    }

    /// A contradiction within the line, if any.
    pub(crate) fn own_contradiction(&self, line: u64) -> Option<String> {
        let Self { thread, cycles, min, act, max, .. } = *self;
        let (field, said) = match () {
            () if cycles == 0 => return None,
            () if cycles == 1 && min != max => ("C", format!("its one reading is both {min} and {max}")),
            () if act > max => ("Act", format!("it is {act}, above the maximum of {max}")),
            // cyclicdeadline treats a minimum of 0 as none, and tardy writes 0 for unknown values.
            () if act < min && act != 0 => ("Act", format!("it is {act}, below the minimum of {min}")),
            () => return None,
        };
        Some(format!("line {line}, {field}, thread {thread}: {said}"))
    }

    /// A contradiction with the histogram after the line, if any. The line may be from any time during the measurement.
    pub(crate) fn contradiction(&self, line: u64, unit: Unit, counts: &Counts) -> Option<String> {
        let units = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(unit.ns()));
        let total = counts.bins.iter().fold(0u64, |sum, bin| sum.saturating_add(bin.count));
        let (min, max) = (units(counts.min_ns)?, units(counts.max_ns)?);
        let (name, said, known) = match () {
            () if self.cycles == 0 => return None,
            () if self.cycles > total => ("C", self.cycles.to_string(), format!("{total} readings")),
            () if self.max > max => ("Max", self.max.to_string(), format!("a maximum of {max}")),
            () if self.min < min => ("Min", self.min.to_string(), format!("a minimum of {min}")),
            () => return None,
        };
        let thread = self.thread;
        Some(format!("line {line}, {name}, thread {thread}: it is {said}, but the histogram has {known}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ThreadLine> {
        ThreadLine::read(Line { number: 3, text, cut: false, unended: false }, text)
    }

    const WHOLE: &str = "T: 0 (15321) P:90 I:200 C:  49964 Min:      6 Act:   12 Avg:   11 Max:    1933";

    #[test]
    fn a_line_is_read_with_and_without_its_blanks() {
        let line = read(WHOLE).unwrap();
        assert_eq!((line.tid, line.priority, line.interval_us), (15_321, Some(90), Some(200)));
        assert_eq!((line.cycles, line.min, line.act, line.avg, line.max), (49_964, 6, 12, 11, 1933));
        let squeezed = read("T:0(15321) P:90 I:200 C:49964 Min:6 Act:12 Avg:11 Max:1933").unwrap();
        assert_eq!(squeezed, ThreadLine { unit: None, ..line });
        assert_eq!(read(&format!("{WHOLE} SMI:       0")).unwrap(), line);
        let deadline = read("T: 1 ( 9885) I:6000 C: 334 Min: 5 Act: 15 Avg: 38 Max: 100").unwrap();
        assert_eq!((deadline.thread, deadline.tid, deadline.priority), (1, 9885, None));
    }

    #[test]
    fn the_width_of_the_columns_shows_the_unit() {
        let unit = |act: &str, avg: &str| {
            let line =
                WHOLE.replace("Act:   12", &format!("Act:{act}")).replace("Avg:   11", &format!("Avg:{avg}"));
            read(&line).unwrap().unit
        };
        assert_eq!(unit("   12", "   11"), Some(Unit::Us));
        assert_eq!(unit("    2812", "    2711"), Some(Unit::Ns));
        assert_eq!(unit("   12345", "12345678"), Some(Unit::Ns), "one column is full");
        assert_eq!(unit("123456", "   11"), Some(Unit::Us), "one value is wider than its column");
        assert_eq!(unit("12345", "12345"), None);
        assert_eq!(unit(" 12", " 11"), None, "blanks were removed");
        assert_eq!(unit("   12", "      11"), None);
        assert_eq!(unit("      12", "      11"), None, "0.32 prints us so, and no mean is 11 ns");
    }

    /// Before rt-tests, and in Xenomai 2, every column has eight digits, in us.
    #[test]
    fn eight_digits_for_interval_cycles_and_minimum_are_us() {
        const OLD: &str =
            "T: 0 ( 2718) P:90 I:    1000 C:   10000 Min:      14 Act:      47 Avg:      52 Max:     170";
        let unit = |from: &str, to: &str| {
            assert!(OLD.contains(from));
            read(&OLD.replacen(from, to, 1)).unwrap().unit
        };
        assert_eq!(unit("P:90", "P:90"), Some(Unit::Us));
        assert_eq!(unit("C:   10000", "C:12345678"), Some(Unit::Us), "a long measurement");
        assert_eq!(unit("Act:      47 Avg:      52", "Act:    4700 Avg:    5200"), Some(Unit::Us));
        assert_eq!(unit("I:    1000", "I:1000"), None, "columns of two versions");
        assert_eq!(unit("Min:      14", "Min:     14"), None, "columns of two versions");
    }

    #[test]
    fn a_malformed_number_is_not_read_up_to_its_first_bad_character() {
        for (from, to, expected) in [
            ("Max:    1933", "Max:  12,900", "line 3, Max: '12,900' is not a whole number"),
            ("Max:    1933", "Max: 12.900", "line 3, Max: '12.900' is no"),
            ("Max:    1933", "Max: 9.5e2", "line 3, Max: '9.5e2' is no"),
            ("Max:    1933", "Max: +9", "line 3, Max: '+9' is no"),
            ("Max:    1933", "Max: 900 12", "line 3, Max: '12' follows its value"),
            ("Max:    1933", "Max:", "line 3, Max: '' is no"),
            ("C:  49964", "C: 1,000,000", "line 3, C: '1,000,000' is not a count"),
            ("Max:    1933", "Max:  90T: 1 (2) P:80", "line 3, Max: '1 (2) P:80' follows its value"),
            ("Max:    1933", "Max:  90 T: 1 (2) P:80", "line 3, T: appears a second time"),
            ("Act:   12 ", "", "line 3, Act: is missing"),
            ("(15321)", "(15x)", "line 3, thread id: '15x' is not a count"),
        ] {
            assert!(WHOLE.contains(from));
            let error = read(&WHOLE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn a_line_of_another_measurement_is_rejected() {
        let first = read(WHOLE).unwrap();
        let on = |from: &str, to: &str| {
            let line = read(&WHOLE.replacen("C:  49964", "C: 60000", 1).replacen(from, to, 1)).unwrap();
            line.check_follows(&first, 4).map_err(|error| error.to_string())
        };
        assert_eq!(first.check_follows(&first, 4).ok(), Some(()), "a screen may appear twice");
        assert_eq!(on("1933", "1934"), Ok(()));
        assert_eq!(on("Min:      6", "Min: 5"), Ok(()));
        for (from, to, expected) in [
            ("C: 60000", "C: 9", "line 4, C: thread 0 goes back from 49964 to 9"),
            ("(15321)", "(15322)", "line 4, thread id: thread 0 changes from 15321 to 15322"),
            ("P:90", "P:80", "line 4, P: thread 0 changes from 90 to 80"),
            ("I:200", "I:300", "line 4, I: thread 0 changes from 200 to 300"),
            ("1933", "1932", "line 4, Max: thread 0 goes back from 1933 to 1932"),
            ("Min:      6", "Min: 7", "line 4, Min: thread 0 rises from 6 to 7"),
        ] {
            let error = on(from, to).unwrap_err();
            assert!(error.contains(expected) && error.contains("split the file"), "{to}: {error}");
        }
        let begun = read("T: 1 (    0) P:90 I:500 C: 0 Min:1000000 Act: 0 Avg: 0 Max: 0").unwrap();
        let runs = read("T: 1 (12284) P:90 I:500 C: 0 Min:1000001 Act: 0 Avg: 0 Max: 0").unwrap();
        assert_eq!(runs.check_follows(&begun, 4).ok(), Some(()));
    }

    #[test]
    fn contradictions_within_a_line_are_found() {
        let told = |text: &str| read(text).unwrap().own_contradiction(3);
        assert_eq!(told(WHOLE), None);
        assert_eq!(
            told(&WHOLE.replace("Act:   12", "Act: 1934")),
            Some("line 3, Act, thread 0: it is 1934, above the maximum of 1933".to_owned())
        );
        assert!(told(&WHOLE.replace("Act:   12", "Act: 5")).is_some_and(|told| told.contains("below")));
        assert!(told(&WHOLE.replace("  49964", "1")).is_some_and(|told| told.contains("C, thread 0")));
        assert_eq!(told("T: 1 (0) P:90 I:500 C: 0 Min:1000000 Act: 0 Avg: 0 Max: 0"), None);
    }
}
