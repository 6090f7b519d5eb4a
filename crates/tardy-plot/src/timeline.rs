//! Maxima over time and, below them on the same time axis, temperatures, frequencies, interrupts, pressure and the work
//! of the loads.
//!
//! It is a single plot, so that a vertical line shows the other readings at the time of a maximum.

use tardy_analyse::name::{self, Readings};
use tardy_record::Run;
use tardy_record::Series;
use tardy_record::event::EventKind;
use tardy_record::units::format_duration_ns;

use super::Options;
use super::curve;
use super::environment::{self, Panel};
use super::frame::{Area, latency_label};
use super::scale::{Scale, time_label, time_ticks};
use super::svg::{Anchor, Head, Svg, polyline};
use crate::numbers::{harmless, short, typeset};
use crate::worst_cpus;

/// Height of the panel of maxima, in pixels.
const MAXIMA_HEIGHT: f64 = 190.0;
/// Its least height if the height of the plot is given.
const MAXIMA_MIN: f64 = 80.0;
/// Height of a panel of the environment including its name, in pixels.
const PANEL_HEIGHT: f64 = 66.0;
/// Of maxima closer together than this many pixels, only the highest is drawn.
const COLUMN: f64 = 1.5;
/// Lower maxima are drawn at this value, in ns, since a logarithmic axis has no 0.
const FLOOR_NS: f64 = 100.0;
/// Width of the name of a mark, in px.
const MARK_WIDTH: f64 = 52.0;

/// Maxima over time with the environment below.
pub fn draw(id: &str, run: &Run, peak: &str, options: &Options) -> String {
    let mut svg = Svg::default();
    let panels = environment::panels(run);
    let wide = !options.narrow() || run.own_series().any(name::is_unpinned);
    let gutter = if wide { 118.0 } else { 70.0 };
    let below = 26.0 + panels.len() as f64 * PANEL_HEIGHT + if panels.is_empty() { 14.0 } else { 24.0 };
    // The panels keep their height.
    let maxima_height =
        options.height.map_or(MAXIMA_HEIGHT, |height| (height - 28.0 - below).max(MAXIMA_MIN));
    let area = Area { left: 52.0, right: options.width - gutter, top: 28.0, bottom: 28.0 + maxima_height };
    let height = area.bottom + below;
    let span = span_ns(run);
    let x = Scale::linear(0.0, span, area.left, area.right);
    let y = maxima_scale(run, options, &area);
    let ticks = time_ticks(0.0, span, if options.narrow() { 4 } else { 8 });
    svg.open("over-time");
    phases(&mut svg, run, &x, &area, height);
    svg.close();
    svg.open("ticks");
    area.vertical_grid(&mut svg, &x, &ticks, |at| time_label(at, span));
    svg.close();
    area.name_y(&mut svg, &format!("{peak} of each block, µs"));
    area.mark(&mut svg, options.mark);
    svg.open("over-time");
    guide(&mut svg, run, &area, &x, height);
    checkpoints(&mut svg, run, &x, &area);
    svg.close();
    svg.open("drawn");
    area.horizontal_grid(&mut svg, &y, &y.ticks(6), latency_label);
    if let Some(limit) = options.limit_ns {
        area.limit_y(&mut svg, &y, limit as f64, &format!("limit {}", format_duration_ns(limit)));
    }
    maxima(&mut svg, run, &area, &x, &y);
    svg.close();
    for (index, panel) in panels.iter().enumerate() {
        let top = area.bottom + 26.0 + index as f64 * PANEL_HEIGHT;
        let strip = Area { top: top + 20.0, bottom: top + PANEL_HEIGHT - 6.0, ..area };
        draw_panel(&mut svg, panel, &strip, &x, &ticks, options.width);
    }
    area_end(&mut svg, &area, &panels, &x, &ticks, span, height);
    let head = Head {
        id,
        width: options.width,
        height,
        title: "Highest latency over time, and the environment",
        description: &describe(run, &panels),
        standalone: options.standalone,
        data: vec![
            ("x", x.data()),
            ("y", y.data()),
            ("kind", "timeline".into()),
            ("bottom", super::svg::number(area.bottom)),
        ],
    };
    svg.finish(&head)
}

/// From the start of the run to its last known event.
pub fn span_ns(run: &Run) -> f64 {
    let phases = run.phases.iter().map(|phase| phase.end_ns.unwrap_or(phase.start_ns));
    let slices = run.own_series().filter_map(|series| series.slices.last()).map(|slice| slice.end_ns);
    let worst = run.own_series().filter_map(|series| series.max_at_ns);
    let readings = run.environment.series.iter().filter_map(|series| series.at_ns.last().copied());
    phases.chain(slices).chain(worst).chain(readings).max().unwrap_or(0).max(1) as f64
}

fn maxima_scale(run: &Run, options: &Options, area: &Area) -> Scale {
    let all = || run.own_series().flat_map(|series| &series.block_maxima.maxima_ns).flatten();
    let low = all().min().map_or(1000.0, |min| (*min as f64).max(FLOOR_NS));
    let mut high = all().max().map_or(10_000.0, |max| (*max as f64).max(low * 2.0));
    if let Some(limit) = options.limit_ns.filter(|limit| *limit as f64 > high) {
        high = limit as f64;
    }
    // Room for the names of phases above the curves.
    let headroom = if run.phases.len() > 1 { 2.4 } else { 1.4 };
    Scale::logarithmic(low / 1.2, high * headroom, area.bottom, area.top)
}

fn phases(svg: &mut Svg, run: &Run, x: &Scale, area: &Area, height: f64) {
    if run.phases.len() < 2 {
        return;
    }
    for (index, phase) in run.phases.iter().enumerate() {
        let (from, to) = (x.at(phase.start_ns as f64), x.at(phase.end_ns.map_or(x.high(), |end| end as f64)));
        if index % 2 == 0 {
            svg.rectangle("phase", (from, area.top), to - from, height - area.top - 22.0);
        }
        let fit = ((to - from) / 6.2) as usize;
        if fit >= 4 {
            let label = short(&harmless(&phase.label), fit);
            svg.text("soft", ((from + to) / 2.0, area.top + 10.0), Anchor::Middle, &label);
        }
    }
}

/// Maxima over time: of a CPU in all phases, or of all CPUs together.
pub struct Maxima {
    /// The name of the CPU, safe for a terminal.
    pub label: String,
    /// CSS class of its colour.
    pub class: &'static str,
    /// The middle of each block in ns, and its maximum, for each phase.
    pub phases: Vec<Vec<(f64, Option<i64>)>>,
}

fn maxima(svg: &mut Svg, run: &Run, area: &Area, x: &Scale, y: &Scale) {
    let lines = lines(run);
    // Faint curves first, and all CPUs together last, so that the others are on top.
    let mut order: Vec<&Maxima> = lines.iter().collect();
    order.sort_by_key(|line| (line.class == curve::POOLED, line.class != "rest"));
    for line in order {
        for phase in &line.phases {
            svg.path(&format!("curve thin {}", line.class), &polyline(thinned(phase, x, y)));
        }
    }
    for (row, line) in lines.iter().filter(|line| line.class != "rest").enumerate() {
        let at = (area.right + 8.0, area.top + 9.0 + row as f64 * 14.0);
        svg.text(line.class, at, Anchor::Start, &short(&line.label, 18));
    }
    name_worst(svg, run, area, x, y);
}

/// The lines that are drawn: each CPU, or of many all together and the worst.
pub fn lines(run: &Run) -> Vec<Maxima> {
    // A CPU has the same colour in all phases.
    let mut groups: Vec<(String, Vec<&Series>)> = Vec::new();
    for series in run.own_series() {
        let name = name::of(series);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(series),
            None => groups.push((name, vec![series])),
        }
    }
    let highest = |group: &(String, Vec<&Series>)| group.1.iter().filter_map(|series| series.max_ns).max();
    let worst = worst_cpus::of(&groups.iter().map(highest).collect::<Vec<_>>())
        .filter(|_| run.own_series().all(|series| worst_cpus::are_of_cpus(Readings::of(series))));
    let pooled = worst.as_ref().map(|_| Maxima {
        label: format!("all {}", groups.len()),
        class: curve::POOLED,
        phases: (0..run.phases.len()).map(|phase| pooled(run, phase)).collect(),
    });
    if let Some(worst) = worst {
        groups = worst.shown.iter().map(|index| groups[*index].clone()).collect();
    }
    let weights: Vec<i64> = groups.iter().map(|group| highest(group).unwrap_or(i64::MIN)).collect();
    let line = |((label, group), class): ((String, Vec<&Series>), &'static str)| Maxima {
        label: harmless(&label),
        class,
        phases: group.into_iter().map(blocks).collect(),
    };
    let single = groups.into_iter().zip(curve::classes(&weights)).map(line);
    pooled.into_iter().chain(single).collect()
}

/// The maxima that are drawn: for each line its label, and the middle of each block in ns with its maximum.
pub(crate) fn data(run: &Run) -> Vec<(String, Vec<(f64, i64)>)> {
    let recorded = |line: Maxima| {
        let blocks = line.phases.into_iter().flatten();
        (line.label, blocks.filter_map(|(at, max)| Some((at, max?))).collect())
    };
    lines(run).into_iter().map(recorded).collect()
}

/// The block maxima: the middle of each block, in ns, and its maximum.
fn blocks(series: &Series) -> Vec<(f64, Option<i64>)> {
    let blocks = &series.block_maxima;
    let middle = |index: usize| blocks.start_ns as f64 + (index as f64 + 0.5) * blocks.block_ns as f64;
    blocks.maxima_ns.iter().enumerate().map(|(index, max)| (middle(index), *max)).collect()
}

/// The maxima of all CPUs of a phase together, in the order of time.
fn pooled(run: &Run, phase: usize) -> Vec<(f64, Option<i64>)> {
    let series = run.own_series().filter(|series| series.phase == phase);
    let mut all: Vec<(f64, Option<i64>)> = series.flat_map(blocks).filter(|(_, max)| max.is_some()).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    all.dedup_by_key(|(at, _)| *at);
    all
}

/// Maxima as points, the highest of each column of pixels.
fn thinned(blocks: &[(f64, Option<i64>)], x: &Scale, y: &Scale) -> Vec<Option<(f64, f64)>> {
    let mut points: Vec<Option<(f64, f64)>> = Vec::new();
    for (middle, max) in blocks {
        let Some(max) = max else {
            points.push(None);
            continue;
        };
        let point = (x.at(*middle), y.at(*max as f64));
        match points.last_mut() {
            Some(Some(last)) if point.0 - last.0 < COLUMN => last.1 = last.1.min(point.1),
            _ => points.push(Some(point)),
        }
    }
    points
}

/// Draws a mark and the value at the highest maximum of the run.
fn name_worst(svg: &mut Svg, run: &Run, area: &Area, x: &Scale, y: &Scale) {
    let worst = run.own_series().filter_map(|series| Some((series.max_ns?, series.max_at_ns?, series)));
    if let Some((max, at, _)) = worst.max_by_key(|(max, _, _)| *max) {
        let point = (x.at(at as f64), y.at(max as f64));
        svg.dot("rest", point, 2.6);
        let (anchor, offset) =
            if point.0 > area.right - 80.0 { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
        svg.text("halo", (point.0 + offset, point.1 + 3.0), anchor, &typeset(max as f64));
    }
}

/// Draws a vertical line through all panels at the time of the highest maximum.
fn guide(svg: &mut Svg, run: &Run, area: &Area, x: &Scale, height: f64) {
    let worst = run.own_series().filter_map(|series| series.max_ns.zip(series.max_at_ns)).max();
    if let Some((_, at)) = worst {
        svg.line("guide", (x.at(at as f64), area.top), (x.at(at as f64), height - 22.0));
    }
}

/// Draws checkpoints as ticks under the maxima, since writing the run file is also a load.
fn checkpoints(svg: &mut Svg, run: &Run, x: &Scale, area: &Area) {
    for event in run.events.iter().filter(|event| event.kind == EventKind::Checkpoint) {
        let at = x.at(event.at_ns as f64);
        svg.line("tick", (at, area.bottom - 5.0), (at, area.bottom));
    }
    marks(svg, run, x, area);
}

/// Draws the moments that the user marked during the run, named where there is room.
fn marks(svg: &mut Svg, run: &Run, x: &Scale, area: &Area) {
    let mut free = f64::MIN;
    for event in run.events.iter().filter(|event| event.kind == EventKind::Mark) {
        let at = x.at(event.at_ns as f64);
        svg.line("guide", (at, area.top), (at, area.bottom));
        if at >= free {
            svg.text("soft", (at + 3.0, area.top + 10.0), Anchor::Start, &event.text);
            free = at + MARK_WIDTH;
        }
    }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, strip: &Area, x: &Scale, ticks: &[f64], width: f64) {
    let y = Scale::linear(panel.low, panel.high, strip.bottom, strip.top);
    svg.open("ticks");
    for tick in ticks {
        svg.line("hair", (x.at(*tick), strip.top), (x.at(*tick), strip.bottom));
    }
    svg.close();
    svg.line("grid", (strip.left, strip.bottom), (strip.right, strip.bottom));
    svg.text("", (strip.left, strip.top - 6.0), Anchor::Start, &panel.name);
    svg.text("soft", (strip.left - 6.0, strip.top + 7.0), Anchor::End, &environment::value_label(panel.high));
    svg.text("soft", (strip.left - 6.0, strip.bottom), Anchor::End, &environment::value_label(panel.low));
    svg.open_with("over-time panel", &[("y", y.data()), ("name", panel.name.clone())]);
    for line in panel.lines.iter().rev() {
        let points = line.points.iter().map(|(at, value)| (x.at(*at as f64), y.at(*value)));
        let label = if line.label.is_empty() { &panel.name } else { &line.label };
        svg.named_path(&format!("curve thin {}", line.class), &polyline(columns(points)), label);
    }
    svg.close();
    let room = ((width - strip.right - 10.0) / 6.6) as usize;
    let named: Vec<_> =
        panel.lines.iter().filter(|line| !line.label.is_empty() && line.class != "rest").take(3).collect();
    for (row, line) in named.iter().enumerate() {
        let last = y.at(line.points.last().map_or(panel.low, |(_, value)| *value));
        let at = if named.len() == 1 { last + 3.5 } else { strip.top + 8.0 + row as f64 * 13.0 };
        svg.text(line.class, (strip.right + 8.0, at), Anchor::Start, &short(&line.label, room));
    }
    let others = panel.lines.len() - named.len() + panel.left_out;
    if others > 0 && !named.is_empty() {
        svg.text("soft", (strip.right, strip.top - 6.0), Anchor::End, &format!("and {others} more"));
    }
}

/// Thins points to the first and the last of each column of pixels and those that extend its range. The last one is where the line
/// leaves the column, so steps stay steps.
fn columns(points: impl Iterator<Item = (f64, f64)>) -> Vec<Option<(f64, f64)>> {
    let mut thinned: Vec<Option<(f64, f64)>> = Vec::new();
    let mut column: Option<(f64, f64, f64)> = None;
    let mut left_out: Option<(f64, f64)> = None;
    for (x, y) in points {
        match &mut column {
            Some((start, low, high)) if x - *start < COLUMN => {
                let extends = y < *low || y > *high;
                (*low, *high) = (low.min(y), high.max(y));
                left_out = (!extends).then_some((x, y));
                thinned.extend(extends.then_some(Some((x, y))));
            }
            _ => {
                column = Some((x, y, y));
                thinned.extend(left_out.take().map(Some));
                thinned.push(Some((x, y)));
            }
        }
    }
    thinned.extend(left_out.map(Some));
    thinned
}

/// Draws the time axis again below the last panel.
fn area_end(svg: &mut Svg, area: &Area, panels: &[Panel], x: &Scale, ticks: &[f64], span: f64, height: f64) {
    if panels.is_empty() {
        area.name_x(svg, "time from the start");
        return;
    }
    svg.open("ticks");
    for tick in ticks {
        svg.text("soft", (x.at(*tick), height - 8.0), Anchor::Middle, &time_label(*tick, span));
    }
    svg.close();
    if ticks.last().is_none_or(|last| x.at(*last) < area.right - 60.0)
        || area.left < 60.0 && area.right > 500.0
    {
        svg.text("soft", (area.right + 18.0, height - 8.0), Anchor::Start, "from the start");
    }
}

fn describe(run: &Run, panels: &[Panel]) -> String {
    let worst = run.own_series().filter_map(|series| series.max_ns.zip(series.max_at_ns)).max();
    let worst = worst.map_or_else(String::new, |(max, at)| {
        format!("Highest of all: {} at {}. ", typeset(max as f64), time_label(at as f64, span_ns(run)))
    });
    let names: Vec<&str> = panels.iter().map(|panel| panel.name.as_str()).collect();
    format!(
        "{worst}Below, on the same time axis: {}.",
        if names.is_empty() { "nothing".to_owned() } else { names.join("; ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_steps_stay_steps() {
        let step = |from: f64, to: f64, value: f64| [(from, value), (to, value)];
        // The second and the third step are narrower than a column of pixels.
        let steps = [
            step(0.0, 100.0, 1.0),
            step(100.0, 100.2, 5.0),
            step(100.2, 100.3, 2.0),
            step(100.3, 200.0, 3.0),
        ];
        let thinned: Vec<(f64, f64)> = columns(steps.into_iter().flatten()).into_iter().flatten().collect();
        assert_eq!(thinned.last(), Some(&(200.0, 3.0)));
        for pair in thinned.windows(2) {
            let ((x, y), (next_x, next_y)) = (pair[0], pair[1]);
            assert!(y == next_y || next_x - x < COLUMN, "a slope from {:?} to {:?}", pair[0], pair[1]);
        }
    }
}
