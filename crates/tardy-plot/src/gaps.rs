//! The histogram of the lengths of gaps. Both axes are logarithmic, since a run may have ticks of microseconds as well
//! as stops of tens of milliseconds.

use tardy_analyse::name;
use tardy_analyse::noise::NoisePhase;
use tardy_record::{Histogram, Run};

use super::Options;
use super::curve;
use super::frame::{Area, count_label, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, steps};
use crate::numbers::{harmless, short};

/// Columns per octave.
const COLUMNS: f64 = 4.0;
/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// Draws the lengths of the gaps of each CPU in `phase`; `None` if there were no gaps.
pub fn draw(id: &str, run: &Run, phase: &NoisePhase, options: &Options) -> Option<String> {
    let series: Vec<&tardy_record::Series> = phase.cpus.iter().map(|cpu| &run.series[cpu.series]).collect();
    let low = series.iter().filter_map(|one| one.min_ns).min()?.max(1) as f64;
    let high = series.iter().filter_map(|one| one.max_ns).max()?.max(2) as f64;
    let mut svg = Svg::default();
    let height = if options.narrow() { 250.0 } else { 290.0 };
    let area = Area { left: 58.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 };
    let x = Scale::logarithmic(low / 1.1, high * 1.3, area.left, area.right);
    let columns: Vec<Vec<(f64, f64, u64)>> = series.iter().map(|one| columns(&one.measured)).collect();
    let most = columns.iter().flatten().map(|(_, _, count)| *count).max().unwrap_or(1);
    let y = Scale::logarithmic(0.5, (most as f64 * 1.6).max(10.0), area.bottom, area.top);
    area.horizontal_grid(&mut svg, &y, &y.ticks(if options.narrow() { 5 } else { 8 }), count_label);
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 4 } else { 8 }), latency_label);
    area.name_y(&mut svg, "gaps per quarter of an octave");
    area.name_x(&mut svg, "length of the gap, µs");
    area.mark(&mut svg, options.mark);
    let weights: Vec<i64> = series.iter().map(|one| one.max_ns.unwrap_or(0)).collect();
    let classes = curve::classes(&weights);
    for (place, one) in series.iter().enumerate() {
        let outline: Vec<(f64, f64, f64)> = columns[place]
            .iter()
            .map(|(from, to, count)| (x.at(from.max(x.low())), x.at(to.min(x.high())), y.at(*count as f64)))
            .collect();
        svg.path(&format!("curve thin {}", classes[place]), &steps(&outline, area.bottom));
        if classes[place] != "rest" {
            let at = (area.right - 6.0, area.top + LINE_HEIGHT * (place + 1) as f64);
            let label = short(&harmless(&name::of(one)), 24);
            svg.text(&format!("halo {}", classes[place]), at, Anchor::End, &label);
        }
    }
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Lengths of gaps",
        description: "For each CPU, the number of gaps by length; both axes are logarithmic.",
        standalone: options.standalone,
        data: vec![("x", x.data()), ("y", y.data()), ("kind", "gaps".into())],
    };
    Some(svg.finish(&head))
}

/// Lower edge and upper edge in ns, and count, of the columns that are not empty.
fn columns(histogram: &Histogram) -> Vec<(f64, f64, u64)> {
    let mut columns: Vec<(i64, u64)> = Vec::new();
    for bin in histogram.bins() {
        let column = (libm::log2(bin.lower_ns.max(1) as f64) * COLUMNS).floor() as i64;
        match columns.last_mut() {
            Some((last, count)) if *last == column => *count = count.saturating_add(bin.count),
            _ => columns.push((column, bin.count)),
        }
    }
    let edge = |column: i64| libm::exp2(column as f64 / COLUMNS);
    columns.into_iter().map(|(column, count)| (edge(column), edge(column + 1), count)).collect()
}
