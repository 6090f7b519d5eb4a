//! oslat's text: a row for each bin, a column for each core.
//!
//! The last bin also holds all higher values. A row is named after the upper end of its bin. Up to 2.4, the bin
//! includes this end; from 2.5 on, it does not, and bins may be finer than 1 us (-W), with fractions in their names.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;
use tardy_record::series::Quantity;

use super::{ImportOptions, decimal_ns, number};
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit};
use crate::lines::{Line, Lines};

const CORE_MAX: usize = 4096;

#[derive(Default)]
struct Text {
    version: Option<String>,
    /// Whether -B was given.
    is_biased: bool,
    cores: Vec<u32>,
    /// Upper end of the bin in ns as the row is named, line, counts.
    rows: Vec<(i64, u64, Vec<u64>)>,
    min: Option<(u64, Vec<i64>)>,
    max: Option<(u64, Vec<i64>)>,
    duration_ns: Option<u64>,
    cut_short: bool,
    last_line: u64,
}

/// Imports oslat's text.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let text = read(reader)?;
    if text.cores.is_empty() || text.rows.is_empty() {
        return Err(ImportError::field(
            "the file",
            "it contains neither cores nor rows; oslat did not finish",
        ));
    }
    let (Some((min_line, min)), Some((_, max))) = (&text.min, &text.max) else {
        return Err(ImportError::field(
            "the file",
            "ends before its minima and maxima, without which the last bin is meaningless",
        ));
    };
    for (line, values) in [&text.min, &text.max].into_iter().flatten() {
        if values.len() != text.cores.len() {
            let reason = format!("{} values for {} cores", values.len(), text.cores.len());
            return Err(ImportError::line(*line, "Minimum or Maximum", reason));
        }
    }
    let width_ns = text.rows.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(1000);
    let mut streams = Vec::new();
    for (column, core) in text.cores.iter().enumerate() {
        let place = format!("line {min_line}, core {core}");
        let of = |values: &[i64]| {
            values
                .get(column)
                .copied()
                .ok_or_else(|| ImportError::field(&place, "it has no minimum or maximum"))
        };
        let mut bins = text
            .rows
            .iter()
            .filter(|(_, _, counts)| counts[column] > 0)
            .map(|(upper, _, counts)| Bin {
                lower_ns: upper - width_ns,
                upper_ns: *upper,
                count: counts[column],
            })
            .collect::<Vec<Bin>>();
        let (min_ns, max_ns) = (of(min)?, of(max)?);
        place_bins(&mut bins, min_ns, text.version.as_deref(), text.is_biased);
        let (min_ns, max_ns) = (Some(min_ns), Some(max_ns));
        let mut counts =
            Counts { bins, min_ns, max_ns, max_is_stated: true, resolution_ns: 1000, ..Counts::default() };
        counts.open_last_for_maximum();
        counts.check(&place)?;
        let mut stream = Stream::of_thread(column as u32, Readings::Counts(Box::new(counts)));
        (stream.cpu, stream.quantity) = (Some(*core), Quantity::Noise);
        streams.push(stream);
    }
    Ok(Imported {
        tool: "oslat".to_owned(),
        version: text.version,
        measures: "how long a busy loop was stopped",
        late_periods: LatePeriods::NoSchedule,
        duration_ns: text.duration_ns,
        cut_short: text.cut_short,
        last_line: Some(text.last_line),
        phases: vec![ImportedPhase { label: "oslat".to_owned(), streams }],
        ..Imported::default()
    })
}

/// Moves bins to the readings that they hold.
///
/// Up to rt-tests 2.4, oslat rounds up to a us and names the bin from 0 to 1 us `1`; 2.5 also rounds up, but puts a
/// result of 1 into the bin named `2`; later versions truncate (insert_bucket and bucket_to_lat in oslat.c). A minimum
/// equal to the name of the lowest bin was therefore rounded up.
///
/// With -B, the shortest length of the warm-up is subtracted from each length, and shorter ones count as it: the lowest
/// bin, named one above it, begins at 0.
pub(super) fn place_bins(bins: &mut [Bin], min_ns: i64, version: Option<&str>, is_biased: bool) {
    let Some(first) = bins.first().copied() else { return };
    let includes_ends = version.is_some_and(rounds_up);
    let rounds_up = first.upper_ns == min_ns || includes_ends;
    // A file without its preamble and its command line: up to 2.4, only -B makes the lowest bin end above the minimum.
    let is_biased = is_biased || (includes_ends && min_ns < first.upper_ns);
    if rounds_up {
        for bin in &mut *bins {
            (bin.lower_ns, bin.upper_ns) = (bin.lower_ns + 1, bin.upper_ns + 1);
        }
    }
    if is_biased && min_ns < first.upper_ns {
        bins[0].lower_ns = 0;
    }
}

/// Whether this version rounds lengths up to the name of their bin: all up to 2.4. Versions are written with two digits
/// behind the point, so that 2.4 is `2.40`, and `2.10` is 2.1 or 2.10.
fn rounds_up(version: &str) -> bool {
    matches!(version.trim(), "2.00" | "2.20" | "2.30" | "2.40") || version.starts_with("1.")
}

fn read(reader: &mut dyn Read) -> Result<Text> {
    let mut lines = Lines::new(reader);
    let mut text = Text::default();
    while let Some(line) = lines.next_line()? {
        let plain = line.text.trim();
        if let Some(version) = plain.strip_prefix("oslat V") {
            text.version = Some(version.trim().chars().take(32).collect());
            continue;
        }
        text.is_biased |= plain.starts_with("Global bias set to");
        let Some((name, rest)) = plain.split_once(':') else { continue };
        if line.unended {
            text.cut_short = true;
            continue;
        }
        text.field(line, name.trim(), rest)?;
    }
    text.last_line = lines.read_lines();
    Ok(text)
}

impl Text {
    fn field(&mut self, line: Line<'_>, name: &str, rest: &str) -> Result<()> {
        match name {
            "Core" if !self.cores.is_empty() || !self.rows.is_empty() => {
                let reason = "a second line names cores; split the file and import each part";
                return Err(ImportError::line(line.number, "Core", reason));
            }
            "Core" => {
                let cores = values(line, rest, |word| number(word, line.number, "Core"))?;
                self.cores = cores.into_iter().map(|core| u32::try_from(core).unwrap_or(u32::MAX)).collect();
            }
            "Minimum" => self.min = Some((line.number, extremes(line, rest)?)),
            "Maximum" => self.max = Some((line.number, extremes(line, rest)?)),
            "Duration" => {
                let all =
                    values(line, rest, |word| decimal_ns(word, 1_000_000_000, line.number, "Duration"))?;
                self.duration_ns = all.iter().max().and_then(|ns| u64::try_from(*ns).ok());
            }
            _ => {
                let Some(value) = name.strip_suffix("(us)").map(str::trim) else { return Ok(()) };
                if !value.starts_with(|c: char| c.is_ascii_digit()) {
                    return Ok(());
                }
                line.whole()?;
                let upper = decimal_ns(value, 1000, line.number, "bin")?;
                let counts = values(line, rest, |word| number(word, line.number, "count"))?;
                if counts.len() != self.cores.len() {
                    let reason = format!("{} counts for {} cores", counts.len(), self.cores.len());
                    return Err(ImportError::line(line.number, "whole line", reason));
                }
                if self.rows.last().is_some_and(|(before, _, _)| *before >= upper) {
                    return Err(ImportError::line(line.number, "bin", "it does not ascend"));
                }
                self.rows.push((upper, line.number, counts));
            }
        }
        Ok(())
    }
}

/// Parses the words before the first one in brackets.
fn values<T>(line: Line<'_>, rest: &str, value: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let words = rest.split_whitespace().take_while(|word| !word.starts_with('('));
    let values = words.map(value).collect::<Result<Vec<T>>>()?;
    if values.len() > CORE_MAX {
        return Err(ImportError::line(line.number, "whole line", "too many cores"));
    }
    Ok(values)
}

fn extremes(line: Line<'_>, rest: &str) -> Result<Vec<i64>> {
    let unit = if rest.contains("(ns)") { Unit::Ns } else { Unit::Us };
    values(line, rest, |word| decimal_ns(word, unit.ns(), line.number, "extreme"))
}
