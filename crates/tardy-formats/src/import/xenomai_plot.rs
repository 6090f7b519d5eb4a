//! The plot file of Xenomai's `latency` (-g): a point in the middle of each cell, at the height of its count plus one,
//! between one point at the lower edge of the first cell and one at the upper edge of the last (`dump_histo_gnuplot`).
//! These two are at height 1 and half a cell from their neighbours. The cells have one width, `-B`, which the file does
//! not state; `%g` rounds positions to six digits.

use std::io::Read;

use tardy_record::Bin;
use tardy_record::foreign::LatePeriods;

use super::{ImportOptions, decimal_ns, number, xenomai};
use crate::dates;
use crate::error::{ImportError, Result};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream};
use crate::lines::Lines;

/// Imports a plot file.
pub(crate) fn import(reader: &mut dyn Read, _options: &ImportOptions) -> Result<Imported> {
    let mut imported = Imported {
        tool: "Xenomai latency".to_owned(),
        measures: xenomai::MEASURES,
        late_periods: LatePeriods::Counted,
        ..Imported::default()
    };
    let mut lines = Lines::new(reader);
    let mut mode = String::new();
    let (mut period_ns, mut priority, mut result) = (None, None, None);
    let mut points: Vec<Point> = Vec::new();
    while let Some(line) = lines.next_line()? {
        let text = line.whole()?.trim();
        imported.cut_short = line.unended;
        if line.unended || text.is_empty() {
            continue;
        }
        if let Some(comment) = text.strip_prefix('#') {
            // The output of `xeno-config --info` follows in comments, and contains brackets too.
            if let Some((time, inner)) = comment.split_once('(').filter(|_| mode.is_empty()) {
                let mut parts = inner.trim_end_matches(')').split(',').map(str::trim);
                mode = parts.next().unwrap_or("").chars().take(64).collect();
                for part in parts {
                    let words: Vec<&str> = part.split_whitespace().collect();
                    match words.as_slice() {
                        [us, "us", "period"] => {
                            period_ns = us.parse::<u64>().ok().and_then(|us| us.checked_mul(1000))
                        }
                        ["priority", n] => priority = n.parse::<u32>().ok().filter(|n| *n <= 99),
                        _ => {}
                    }
                }
                imported.duration_ns = dates::duration_ns(time);
            } else if result.is_none() && comment.contains('|') && comment.contains('.') {
                let cells: Vec<&str> = comment.split('|').map(str::trim).collect();
                if let [min, mean, max, overruns, ..] = cells.as_slice() {
                    let us = |cell: &str, name: &str| decimal_ns(cell, 1000, line.number, name);
                    result = Some((
                        us(min, "lat min")?,
                        us(mean, "lat avg")?,
                        us(max, "lat max")?,
                        number(overruns, line.number, "overrun")?,
                    ));
                }
            }
            continue;
        }
        let (x, y) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let us = x.parse::<f64>().ok().filter(|us| (0.0..1e7).contains(us));
        let us = us.ok_or_else(|| ImportError::line(line.number, "x", "it is not a time in us"))?;
        let height = number(y.trim(), line.number, "y")?;
        if height == 0 || points.last().is_some_and(|before| before.ns > us * 1000.0) {
            let reason = "points must ascend and be at least 1, the height of a cell without samples";
            return Err(ImportError::line(line.number, "whole line", reason));
        }
        points.push(Point { ns: us * 1000.0, height, line: line.number });
    }
    imported.last_line = Some(lines.read_lines());
    let cells = cells(&points)?;
    imported.cut_short |= !cells.ended;
    let mut counts = Counts { bins: cells.bins, resolution_ns: 1, ..Counts::default() };
    match result {
        Some((min, mean, max, overruns)) => {
            (counts.min_ns, counts.max_ns) = (Some(min), Some(max));
            counts.max_is_stated = true;
            (counts.mean_ns, counts.missed) = (Some(mean as f64), Some(overruns));
        }
        None => {
            counts.max_at_least = true;
            counts.min_ns = counts.bins.first().map(|bin| bin.lower_ns);
            counts.max_ns = counts.bins.last().map(|bin| bin.upper_ns - 1);
            imported.remarks.push(
                "the file has no extremes; those shown are the edges of the outermost cells".to_owned(),
            );
        }
    }
    if counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns, counts.mean_ns) = (None, None, None);
    }
    xenomai::reconcile(&mut counts, period_ns, &mut imported.remarks);
    counts.open_last_for_maximum();
    counts.check("the comment with lat min and lat max")?;
    let mut stream = Stream::of_thread(0, Readings::Counts(Box::new(counts)));
    stream.level = xenomai::level(&mode).unwrap_or(stream.level);
    (stream.interval_ns, stream.priority) = (period_ns.filter(|ns| *ns > 0), priority);
    imported.phases.push(ImportedPhase { label: mode, streams: vec![stream] });
    Ok(imported)
}

/// A point of the plot.
#[derive(Clone, Copy)]
struct Point {
    ns: f64,
    height: u64,
    line: u64,
}

impl Point {
    /// How far `%g`, which prints six digits, may have moved it.
    fn rounding_ns(self) -> f64 {
        let us = self.ns / 1000.0;
        if us < 1.0 { 0.001 } else { 0.51 * 1000.0 * libm::pow(10.0, libm::log10(us).floor() - 5.0) }
    }
}

/// The occupied cells of a plot.
struct Cells {
    bins: Vec<Bin>,
    /// Whether the point at the upper edge of the last cell is there.
    ended: bool,
}

/// The cells of `points`: their width is the distance of points in the middle of cells, and their edges are multiples of
/// it. Every point is checked, because a missing or added one would shift all others.
fn cells(points: &[Point]) -> Result<Cells> {
    let [first, inner @ ..] = points else { return Ok(Cells { bins: Vec::new(), ended: false }) };
    if first.height != 1 {
        let reason = "the first point is the lower edge of the first cell, and has the height 1; the file's beginning is missing";
        return Err(ImportError::line(first.line, "y", reason));
    }
    // The last point in the middle of a cell, if the last point of all is an edge.
    let Some(middle) = inner.len().checked_sub(2).or(inner.len().checked_sub(1)) else {
        return Ok(Cells { bins: Vec::new(), ended: false });
    };
    let half_cells = middle as f64 + 0.5;
    let estimate_ns = (inner[middle].ns - first.ns) / half_cells;
    let tolerance_ns = (inner[middle].rounding_ns() + first.rounding_ns()) / half_cells;
    let (ended, width_ns, uneven) = roundest(estimate_ns, tolerance_ns, |width_ns| {
        let is_at = |point: &Point, cells: f64| {
            let ns = ((first.ns / width_ns).round() + cells) * width_ns;
            (point.ns - ns).abs() <= point.rounding_ns() + 0.001
        };
        let last = inner[inner.len() - 1];
        let ended = inner.len() >= 2 && last.height == 1 && is_at(&last, inner.len() as f64 - 1.0);
        let middles = inner[..inner.len() - usize::from(ended)].iter().enumerate();
        let uneven = middles
            .filter(|(index, point)| !is_at(point, *index as f64 + 0.5))
            .map(|(_, point)| point)
            .next();
        (ended, width_ns, uneven.or(Some(first).filter(|first| !is_at(first, 0.0))))
    });
    if let Some(uneven) = uneven {
        let reason =
            "the points are not at one distance, as latency writes them; a line is missing or was changed";
        return Err(ImportError::line(uneven.line, "x", reason));
    }
    let middles = &inner[..inner.len() - usize::from(ended)];
    let lowest = (first.ns / width_ns).round();
    let (lowest, width_ns) = (lowest as i64, width_ns as i64);
    let bin = |(index, point): (usize, &Point)| {
        let lower_ns = (lowest + index as i64) * width_ns;
        Bin { lower_ns, upper_ns: lower_ns + width_ns, count: point.height - 1 }
    };
    let bins = middles.iter().enumerate().map(bin).filter(|bin| bin.count > 0).collect();
    Ok(Cells { bins, ended })
}

/// The result of trying a width, and the first point that does not fit it.
type Fit<'a> = (bool, f64, Option<&'a Point>);

/// The fit of a width, in whole ns, within `tolerance_ns` of `estimate_ns`: of the widths that all points fit, the one with the
/// fewest digits. Users choose round widths, and `%g` may leave several possible.
fn roundest<'a>(estimate_ns: f64, tolerance_ns: f64, fit: impl Fn(f64) -> Fit<'a>) -> Fit<'a> {
    let (least, most) = ((estimate_ns - tolerance_ns).max(1.0), estimate_ns + tolerance_ns);
    for step in [1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1.0] {
        let mut width_ns = (least / step).ceil() * step;
        while width_ns <= most {
            let fit = fit(width_ns);
            if fit.2.is_none() {
                return fit;
            }
            width_ns += step;
        }
    }
    fit(estimate_ns.round().max(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// C's `%g`: six significant digits, without trailing zeros.
    fn printed(value: f64) -> String {
        let exponent: i32 = format!("{value:.5e}").rsplit_once('e').unwrap().1.parse().unwrap();
        if (-4..6).contains(&exponent) {
            let text = format!("{value:.*}", (5 - exponent).max(0) as usize);
            return if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            };
        }
        let text = format!("{value:.5e}");
        let (mantissa, _) = text.split_once('e').unwrap();
        format!("{}e+{exponent:02}", mantissa.trim_end_matches('0').trim_end_matches('.'))
    }

    /// The file that `dump_histo_gnuplot` writes for these counts of cells, the first of which is `lowest`.
    fn plot(cells: &[u64], lowest: u64, width_ns: u64, extremes_ns: Option<(i64, i64)>) -> String {
        let us = |cells: f64| printed(cells * width_ns as f64 / 1000.0);
        let mut text = "# 00:00:10 (in-kernel timer handler, 1000 us period, priority 99)\n".to_owned();
        if let Some((min, max)) = extremes_ns {
            let [min, max] = [min, max].map(|ns| ns as f64 / 1000.0);
            text += "# ----lat min|----lat avg|----lat max|-overrun|---msw|\n";
            text += &format!("# {min:11.3}|{min:11.3}|{max:11.3}|       0|     0|\n");
        }
        text += &format!("{} 1\n", us(lowest as f64));
        for (index, count) in cells.iter().enumerate() {
            text += &format!("{} {}\n", us(lowest as f64 + index as f64 + 0.5), count + 1);
        }
        text + &format!("{} 1\n", us(lowest as f64 + cells.len() as f64))
    }

    fn imported(text: &str) -> Result<(Vec<Bin>, Imported)> {
        let imported = import(&mut text.as_bytes(), &ImportOptions::default())?;
        let Readings::Counts(counts) = &imported.phases[0].streams[0].readings else { unreachable!() };
        Ok((counts.bins.clone(), imported))
    }

    proptest! {
        /// The first and the last cell that latency writes have a count; those between may be empty.
        #[test]
        fn every_file_that_latency_writes_has_its_cells(
            first in 1u64..9, between in prop::collection::vec(0u64..3, 0..400), last in 1u64..9,
            lowest in 0u64..300, width_ns in prop_oneof![1u64..200, (1u64..400).prop_map(|n| n * 100)],
        ) {
            let cells: Vec<u64> = [vec![first], between, vec![last]].concat();
            let (bins, imported) = imported(&plot(&cells, lowest, width_ns, None)).unwrap();
            let edge = |index: usize| ((lowest + index as u64) * width_ns) as i64;
            let expected: Vec<Bin> = (0..cells.len())
                .map(|index| Bin { lower_ns: edge(index), upper_ns: edge(index + 1), count: cells[index] })
                .filter(|bin| bin.count > 0)
                .collect();
            prop_assert_eq!(bins, expected);
            prop_assert!(!imported.cut_short);
        }
    }

    #[test]
    fn a_single_cell_has_the_width_between_its_edges() {
        let (bins, _) = imported(&plot(&[7], 3, 1000, Some((3001, 3999)))).unwrap();
        assert_eq!(bins, [Bin { lower_ns: 3000, upper_ns: 4000, count: 7 }]);
    }

    #[test]
    fn positions_beyond_six_digits_are_rounded() {
        let mut cells = vec![0; 1_000_100];
        (cells[0], cells[1_000_099]) = (5, 1);
        let (bins, _) = imported(&plot(&cells, 1, 1000, None)).unwrap();
        assert_eq!(bins[1], Bin { lower_ns: 1_000_100_000, upper_ns: 1_000_101_000, count: 1 });
    }

    #[test]
    fn a_plot_without_its_end_is_cut_off_and_one_without_a_line_is_an_error() {
        let text = plot(&[3, 0, 0, 5, 1], 2, 1000, None);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for kept in 3..lines.len() {
            assert!(imported(&lines[..kept].concat()).unwrap().1.cut_short, "{kept} lines");
        }
        for left_out in 1..lines.len() - 1 {
            let text = [&lines[..left_out], &lines[left_out + 1..]].concat().concat();
            assert!(imported(&text).is_err(), "without line {}", left_out + 1);
        }
    }

    #[test]
    fn early_wake_ups_are_below_zero_if_only_they_can_be() {
        let (bins, imported) = imported(&plot(&[1, 1, 2, 0, 4], 0, 1000, Some((-4500, 1200)))).unwrap();
        let expected = [(-4999, -3999, 4), (-2999, -1999, 2), (0, 1000, 1), (1000, 2000, 1)];
        assert_eq!(bins, expected.map(Bin::from));
        assert!(imported.remarks.iter().any(|remark| remark.contains("drops their sign")));
    }

    #[test]
    fn the_unfinished_second_may_exceed_the_extremes() {
        let (bins, imported) = imported(&plot(&[1, 3000, 5], 0, 1000, Some((1100, 1200)))).unwrap();
        let Readings::Counts(counts) = &imported.phases[0].streams[0].readings else { unreachable!() };
        assert_eq!((counts.min_ns, counts.max_ns, bins.len()), (Some(0), Some(2999), 3));
        assert!(imported.remarks.iter().any(|remark| remark.contains("6 of its readings")));
        let error = super::tests::imported(&plot(&[1, 2999, 3], 0, 1000, Some((1100, 1200)))).unwrap_err();
        assert!(error.to_string().contains("the lowest bin"), "only 3 readings can be outside: {error}");
    }
}
