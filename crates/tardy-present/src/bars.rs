//! A histogram drawn in characters: one line per bin, bars on a logarithmic count axis.
//!
//! Bins grow with the latency, in the steps of the E series of preferred numbers (1, 2.2, 4.7, …), so that a body of
//! microseconds and a tail of milliseconds fit on one screen. On the logarithmic count axis a single late wake-up is
//! visible next to a million punctual ones.

use tardy_record::Histogram;

use tardy_plot::numbers;

/// Steps of one decade, finest first: E24, E12, E6, E3, and whole decades.
const STEPS: [&[f64]; 5] = [
    &[
        1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2,
        6.8, 7.5, 8.2, 9.1,
    ],
    &[1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2],
    &[1.0, 1.5, 2.2, 3.3, 4.7, 6.8],
    &[1.0, 2.2, 4.7],
    &[1.0],
];
/// The largest number of bins that fits on a screen.
const BIN_MAX: usize = 22;
/// Values from 0 to this, in ns, share one bin.
const FLOOR_NS: f64 = 100.0;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One line of the drawing: values from `lower_ns` to below `upper_ns`, which may be infinite.
struct Line {
    lower_ns: f64,
    upper_ns: f64,
    count: u64,
}

/// The drawing's lines, at most `width` wide; none for an empty histogram.
pub fn lines(histogram: &Histogram, counted: &str, width: usize) -> Vec<String> {
    if histogram.has_no_distribution() {
        return Vec::new();
    }
    drawn(&rebinned(histogram), counted, width)
}

/// The same as [`lines`] in the finest steps that need at most `height` lines; none if no steps do.
pub fn lines_within(histogram: &Histogram, counted: &str, width: usize, height: usize) -> Vec<String> {
    if histogram.has_no_distribution() {
        return Vec::new();
    }
    let in_steps = |steps: &&[f64]| drawn(&in_steps(histogram, steps), counted, width);
    STEPS.iter().map(in_steps).find(|lines| lines.len() <= height).unwrap_or_default()
}

fn drawn(bins: &[Line], counted: &str, width: usize) -> Vec<String> {
    let Some(most) = bins.iter().map(|bin| bin.count).max().filter(|most| *most > 0) else {
        return Vec::new();
    };
    let labels: Vec<String> = bins.iter().map(label).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let count_width = numbers::count(most).len();
    let room = width.saturating_sub(label_width + count_width + 5).max(10);
    let decades = libm::log10(most as f64).ceil().max(1.0);
    let marks_width = width.saturating_sub(label_width + counted.chars().count() + 3);
    let mut lines = vec![axis(label_width, room, marks_width, decades, counted)];
    let mut gap = 0;
    for (bin, label) in bins.iter().zip(&labels) {
        gap = if bin.count == 0 { gap + 1 } else { 0 };
        match gap {
            0 => lines.push(bar_line(bin, label, label_width, room, decades)),
            1 => lines.push(format!("{label:>label_width$} │")),
            2 => lines.push(format!("{:>label_width$} ┊", "⋮")),
            _ => {}
        }
    }
    lines
}

fn bar_line(bin: &Line, label: &str, label_width: usize, room: usize, decades: f64) -> String {
    // Half a column is added to each bar, so that a count of 1 is visible.
    let share = (libm::log10(bin.count as f64) * room as f64 / decades).max(0.0) + 0.5;
    let eighths = (share.min(room as f64 + 0.5) * 8.0).round() as usize;
    let bar = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    format!("{label:>label_width$} │{bar} {}", numbers::count(bin.count))
}

/// The count axis: a mark at each decade, as far as they fit into `marks_width` columns.
fn axis(label_width: usize, room: usize, marks_width: usize, decades: f64, counted: &str) -> String {
    let mut text: Vec<char> = " ".repeat(marks_width.min(room + 8)).chars().collect();
    let mut free = 0;
    for decade in 0..=decades as u32 {
        let at = (f64::from(decade) * room as f64 / decades).round() as usize;
        let mark = numbers::prefixed(10f64.powi(decade as i32));
        if at >= free && at + mark.len() <= text.len() {
            text.splice(at..at + mark.len(), mark.chars());
            free = at + mark.len() + 1;
        }
    }
    let marks: String = text.into_iter().collect();
    format!("{:>label_width$}  {} {counted}", "us", marks.trim_end())
}

fn label(bin: &Line) -> String {
    if bin.upper_ns <= 0.0 {
        return "early".to_owned();
    }
    if bin.upper_ns == f64::INFINITY {
        return format!("≥ {}", numbers::microseconds(bin.lower_ns));
    }
    format!("{}–{}", numbers::microseconds(bin.lower_ns), numbers::microseconds(bin.upper_ns))
}

/// The histogram in the finest steps that fit on a screen.
fn rebinned(histogram: &Histogram) -> Vec<Line> {
    let finer = &STEPS[..4];
    finer.iter().map(|steps| in_steps(histogram, steps)).find(|lines| lines.len() <= BIN_MAX).unwrap_or_else(
        || {
            // The coarsest steps: eleven decades of three steps each.
            in_steps(histogram, STEPS[3])
        },
    )
}

fn in_steps(histogram: &Histogram, steps: &[f64]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (Some(first), Some(last)) = (histogram.bins().first(), histogram.bins().last()) else { return lines };
    // Values in a last bin without an upper end have a separate line, since their position is unknown.
    let end = if last.is_open() { last.lower_ns as f64 } else { f64::INFINITY };
    if first.lower_ns < 0 {
        lines.push(Line { lower_ns: f64::NEG_INFINITY, upper_ns: 0.0, count: 0 });
    }
    let mut lower = 0.0;
    let mut uppers: Vec<f64> = edges(steps).map(|edge| at_wide_bin(histogram, edge)).collect();
    uppers.dedup();
    for upper in uppers {
        if upper > first.lower_ns as f64 && lower <= last.lower_ns as f64 && lower < end {
            lines.push(Line { lower_ns: lower, upper_ns: upper.min(end), count: 0 });
        }
        lower = upper;
    }
    if last.is_open() {
        lines.push(Line { lower_ns: end, upper_ns: f64::INFINITY, count: 0 });
    }
    for bin in histogram.bins() {
        let at = lines.partition_point(|line| line.upper_ns <= bin.lower_ns as f64);
        if let Some(line) = lines.get_mut(at) {
            line.count += bin.count;
        }
    }
    lines
}

/// If a bin is wider than this share of its lower edge, the edges of lines are moved to the bin's edges; tardy's own bins have
/// 1/128.
const WIDE: f64 = 1.0 / 64.0;

/// `edge`, or if it is inside a wide bin, the nearer edge of the bin: where its values are within the bin is unknown.
fn at_wide_bin(histogram: &Histogram, edge: f64) -> f64 {
    let bins = histogram.bins();
    let at = bins.partition_point(|bin| bin.upper_ns as f64 <= edge);
    let Some(bin) = bins.get(at).filter(|bin| !bin.is_open()) else { return edge };
    let (lower, upper) = (bin.lower_ns as f64, bin.upper_ns as f64);
    if lower >= edge || upper - lower <= WIDE * lower || upper <= 0.0 {
        return edge;
    }
    if edge - lower < upper - edge && lower > 0.0 { lower } else { upper }
}

/// The edges of the lines in ns, from the floor to beyond any latency.
fn edges(steps: &[f64]) -> impl Iterator<Item = f64> {
    (0..18)
        .flat_map(move |decade| steps.iter().map(move |step| (FLOOR_NS * 10f64.powi(decade) * step).round()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_wide_bin_is_divided(bins in prop::collection::vec((0i64..4, 100i64..5_000), 1..60)) {
            let mut at = 0;
            let mut all = Vec::new();
            for (gap, width) in bins {
                all.push((at + gap * 300, at + gap * 300 + width, 1).into());
                at += gap * 300 + width;
            }
            let histogram = Histogram::from_bins(all).unwrap();
            let lines = rebinned(&histogram);
            for bin in histogram.bins() {
                let (lower, upper) = (bin.lower_ns as f64, bin.upper_ns as f64);
                if upper - lower > WIDE * lower {
                    prop_assert!(lines.iter().any(|line| line.lower_ns <= lower && upper <= line.upper_ns), "{bin:?}");
                }
            }
        }

        #[test]
        fn every_value_is_counted(values in prop::collection::btree_set(-1_000i64..3_000_000_000, 1..200)) {
            let bins = values.iter().map(|value| (*value, *value + 1, 1).into()).collect();
            let histogram = Histogram::from_bins(bins).unwrap();
            let shown: u64 = rebinned(&histogram).iter().map(|line| line.count).sum();
            prop_assert_eq!(shown, histogram.total());
        }
    }
}
