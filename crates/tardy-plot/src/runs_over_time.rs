//! The distributions of many runs next to each other: as a heat map, and as curves one behind the other, as OSADL's farm shows its
//! boards.

use tardy_analyse::shape::{Shape, edge};

use super::Options;
use super::frame::{Area, latency_label};
use super::heat::{DEPTHS, depth, key, latency_axis};
use super::scale::Scale;
use super::svg::{Anchor, Head, Path, Svg};

/// A run in these plots.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownRun {
    /// Its number on the axis, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The day of its start; empty if it is unknown.
    pub day: String,
    /// Its distribution.
    pub shape: Shape,
}

/// The most curves one behind the other: the newest runs.
pub const MOST_CURVES: usize = 60;
/// The distance between two curves, at least and at most.
const STEP: [f64; 2] = [5.0, 18.0];
/// The height of a label.
const LABEL_HEIGHT: f64 = 12.0;
/// The height of a curve.
const CURVE_HEIGHT: f64 = 46.0;

/// The rows that have readings: the lowest and the highest. `None` if there are none.
fn rows(runs: &[ShownRun]) -> Option<(i32, i32)> {
    let all = || runs.iter().flat_map(|run| run.shape.0.iter().map(|(row, _)| *row));
    Some((all().min()?, all().max()?))
}

fn most(runs: &[ShownRun]) -> u64 {
    runs.iter().flat_map(|run| run.shape.0.iter().map(|(_, count)| *count)).max().unwrap_or(1)
}

/// Draws the heat map: a column for each run, the logarithm of the count as depth of colour. `None` if no run has readings.
pub fn heat(id: &str, title: &str, runs: &[ShownRun], options: &Options) -> Option<String> {
    let (lowest, highest) = rows(runs)?;
    let most = most(runs);
    let height = options.height.unwrap_or(if options.narrow() { 260.0 } else { 300.0 });
    let area = Area { left: 52.0, right: options.width - 12.0, top: 44.0, bottom: height - 40.0 };
    let x = axis(runs, &area);
    let y = Scale::logarithmic(edge(lowest), edge(highest + 1), area.bottom, area.top);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, title);
    svg.open("over-time");
    for wanted in 1..=DEPTHS {
        let mut path = Path::default();
        for run in runs {
            let [left, right] = [-0.5, 0.5].map(|half| x.at(run.number as f64 + half));
            for (row, _) in run.shape.0.iter().filter(|(_, count)| depth(*count, most) == wanted) {
                path.rectangle(left, y.at(edge(row + 1)), right.max(left + 0.5), y.at(edge(*row)));
            }
        }
        svg.path(&format!("h{wanted}"), &path.finish());
    }
    svg.close();
    latency_axis(&mut svg, &area, &y);
    if let Some(limit) = options.limit_ns {
        area.limit_y(&mut svg, &y, limit as f64, "limit");
    }
    number_axis(&mut svg, &area, &x, options);
    area.name_y(&mut svg, options.words.axis);
    area.mark(&mut svg, options.mark);
    key(&mut svg, &area, most, options.readings.name());
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height,
        title,
        description: &format!(
            "Each column is a run, each row a range of latencies; deeper colour is more {}.",
            options.readings.name()
        ),
        standalone: options.standalone,
        data: Vec::new(),
    }))
}

/// Draws the newest runs as curves one behind the other, the newest in front: latency to the right, the logarithm of the count
/// upwards. `None` if no run has readings.
pub fn curves(id: &str, title: &str, runs: &[ShownRun], options: &Options) -> Option<String> {
    let shown = &runs[runs.len().saturating_sub(MOST_CURVES)..];
    let (lowest, highest) = rows(shown)?;
    let most = most(shown);
    let step = (240.0 / shown.len() as f64).clamp(STEP[0], STEP[1]);
    // Labels of curves do not overlap.
    let label_every = (LABEL_HEIGHT / step).ceil() as usize;
    let height = 44.0 + CURVE_HEIGHT + step * (shown.len() as f64 - 1.0) + 46.0;
    let right = options.width - if options.narrow() { 12.0 } else { 92.0 };
    let area = Area { left: 14.0, right, top: 44.0, bottom: height - 40.0 };
    let x = Scale::logarithmic(edge(lowest), edge(highest + 1), area.left, area.right);
    let mut svg = Svg::default();
    svg.text("title", (4.0, 16.0), Anchor::Start, title);
    svg.open("ticks");
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 4 } else { 8 }), latency_label);
    svg.close();
    for (at, run) in shown.iter().enumerate() {
        // The oldest is drawn first and highest, so that each newer one covers those behind it.
        let floor = area.bottom - step * (shown.len() - 1 - at) as f64;
        let rise = |count: u64| CURVE_HEIGHT * libm::log1p(count as f64) / libm::log1p(most as f64);
        svg.named_path("ridge", &curve(&run.shape, &x, floor, rise), &run.name);
        if !options.narrow() && (shown.len() - 1 - at).is_multiple_of(label_every) {
            let label = if run.day.is_empty() { format!("run {}", run.number) } else { run.day.clone() };
            svg.text("soft", (area.right + 6.0, floor + 3.0), Anchor::Start, &label);
        }
    }
    if let Some(limit) = options.limit_ns {
        area.limit_x(&mut svg, &x, limit as f64, "limit");
    }
    area.name_x(&mut svg, options.words.axis);
    area.mark(&mut svg, options.mark);
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height,
        title,
        description: &format!(
            "The distributions of {} runs one behind the other, the newest in front; the count is logarithmic.",
            shown.len()
        ),
        standalone: options.standalone,
        data: Vec::new(),
    }))
}

/// The outline of a distribution as steps, closed at its floor.
fn curve(shape: &Shape, x: &Scale, floor: f64, rise: impl Fn(u64) -> f64) -> String {
    let mut path = Path::default();
    path.begin(x.at(x.low()), floor);
    let mut next = None;
    for (row, count) in &shape.0 {
        let [left, right] = [*row, row + 1].map(|row| x.at(edge(row)));
        if next != Some(*row) {
            if let Some(before) = next {
                path.to(x.at(edge(before)), floor);
            }
            path.to(left, floor);
        }
        let top = floor - rise(*count);
        path.to(left, top);
        path.to(right, top);
        next = Some(row + 1);
    }
    if let Some(before) = next {
        path.to(x.at(edge(before)), floor);
    }
    path.to(x.at(x.high()), floor);
    path.end();
    path.finish()
}

fn axis(runs: &[ShownRun], area: &Area) -> Scale {
    let numbers = || runs.iter().map(|run| run.number as f64);
    let (first, last) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(0.0, f64::max));
    Scale::linear(first - 0.5, last + 0.5, area.left, area.right)
}

fn number_axis(svg: &mut Svg, area: &Area, x: &Scale, options: &Options) {
    let ticks = x.ticks(if options.narrow() { 4 } else { 8 }).into_iter().filter(|tick| tick.fract() == 0.0);
    area.time_axis(svg, x, &ticks.collect::<Vec<_>>(), |tick| format!("{tick}"));
    area.name_x(svg, "run");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: usize, rows: &[(i32, u64)]) -> ShownRun {
        ShownRun {
            number,
            name: format!("night <{number}>"),
            day: format!("2026-10-{:02}", number % 28 + 1),
            shape: Shape(rows.to_vec()),
        }
    }

    #[test]
    fn each_of_the_newest_runs_has_a_curve_and_the_newest_is_the_last() {
        let runs: Vec<ShownRun> = (1..=80).map(|number| run(number, &[(50, 900), (53, 3)])).collect();
        let drawn = curves("c", "a & b", &runs, &Options::default()).unwrap();
        assert_eq!(drawn.matches("class=\"ridge\"").count(), MOST_CURVES);
        assert!(!drawn.contains("night &lt;20&gt;") && drawn.contains("night &lt;21&gt;"));
        let place = |text: &str| drawn.find(text).unwrap();
        assert!(place("night &lt;79&gt;") < place("night &lt;80&gt;"), "the newest is in front");
        assert!(drawn.contains("2026-10-25") && drawn.contains("a &amp; b"));
    }

    #[test]
    fn a_column_has_a_cell_for_each_row_with_readings() {
        let runs = [run(1, &[(50, 1000), (60, 1)]), run(2, &[(50, 1000)])];
        let drawn = heat("h", "title", &runs, &Options::default()).unwrap();
        let cells: usize = drawn.split("<path").skip(1).map(|path| path.matches('z').count()).sum();
        assert_eq!(cells, 3, "{drawn}");
    }

    #[test]
    fn runs_without_readings_have_no_plot() {
        assert!(heat("h", "", &[run(1, &[])], &Options::default()).is_none());
        assert!(curves("c", "", &[], &Options::default()).is_none());
    }
}
