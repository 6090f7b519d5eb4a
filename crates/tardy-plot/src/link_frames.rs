//! The frames of every link over a cycle as a Gantt chart: a row for each link, a colour for each flow.

use tardy_record::units::format_duration_ns;

use super::Options;
use super::frame::Area;
use super::numbers::{count, counted, harmless, short};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, number};

/// The height of a row.
pub(crate) const ROW: f64 = 22.0;
/// The height of a bar in a row.
pub(crate) const BAR: f64 = 14.0;
/// The number of colours of the style sheet.
pub(crate) const COLOURS: usize = 8;
const TOP: f64 = 30.0;
const BELOW: f64 = 40.0;
/// The most rows and frames that are drawn: more would be one colour.
const ROWS_MAX: usize = 40;
const FRAMES_MAX: usize = 6000;
/// The least width of a frame, in pixels.
const NARROWEST: f64 = 0.8;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// Its name.
    pub name: String,
    /// When the gates of best effort are open within the cycle: start and end, in ns.
    pub open_ns: Vec<(u64, u64)>,
    /// The flows that cross it.
    pub flows: Vec<FlowFrames>,
}

/// The frames of a flow on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFrames {
    /// The flow's number, which has its colour.
    pub flow: usize,
    /// Its name.
    pub name: String,
    /// Start and end of each frame within the cycle, in ns. One that continues in the next cycle ends after this one.
    pub frames_ns: Vec<(u64, u64)>,
}

/// The class of a flow's colour.
pub(crate) fn colour(flow: usize) -> String {
    format!("dot s{}", flow % COLOURS)
}

/// The room for names at the left, and the longest name in characters.
pub(crate) fn names(options: &Options) -> (f64, usize) {
    if options.narrow() { (92.0, 13) } else { (150.0, 22) }
}

/// States below the rows, whose end is at `at`, how many more there are.
pub(crate) fn not_drawn(svg: &mut Svg, at: (f64, f64), anchor: Anchor, hidden: usize, what: (&str, &str)) {
    if hidden > 0 {
        let text = format!("{} not drawn", counted(hidden as u64, what.0, what.1));
        svg.text("soft", (at.0, at.1 + 31.0), anchor, &text);
    }
}

/// Draws the links over a cycle of `cycle_ns`. Returns `None` without links.
pub fn draw(id: &str, cycle_ns: u64, links: &[LinkRow], options: &Options) -> Option<String> {
    let drawn = drawn(links);
    if drawn.is_empty() {
        return None;
    }
    let (left, name_max) = names(options);
    let bottom = TOP + ROW * drawn.len() as f64;
    let area = Area { left, right: options.width - 12.0, top: TOP, bottom };
    let x = Scale::linear(0.0, cycle_ns as f64, area.left, area.right);
    let mut svg = Svg::default();
    let title = format!(
        "Frames of {} in {}",
        counted(drawn.len() as u64, "link", "links"),
        format_duration_ns(cycle_ns)
    );
    svg.text("title", (4.0, 17.0), Anchor::Start, &title);
    let mut top = TOP;
    for link in drawn {
        for open_ns in &link.open_ns {
            let (from, to) = (x.at(open_ns.0 as f64), x.at(open_ns.1 as f64));
            svg.rectangle("phase", (from, top + 2.0), to - from, ROW - 4.0);
        }
        top += ROW;
    }
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 3 } else { 8 }), |ns| {
        format_duration_ns(ns as u64)
    });
    let mut top = TOP;
    for link in drawn {
        svg.text(
            "",
            (left - 8.0, top + ROW / 2.0 + 4.0),
            Anchor::End,
            &short(&harmless(&link.name), name_max),
        );
        for flow in &link.flows {
            draw_flow(&mut svg, flow, cycle_ns, top + (ROW - BAR) / 2.0, &x);
        }
        top += ROW;
        svg.line("hair", (area.left, top), (area.right, top));
    }
    not_drawn(
        &mut svg,
        (area.right, bottom),
        Anchor::End,
        links.len() - drawn.len(),
        ("more link is", "more links are"),
    );
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height: bottom + BELOW,
        title: &title,
        description: &describe(drawn),
        standalone: options.standalone,
        data: Vec::new(),
    }))
}

/// The first links, with as many frames as are drawn.
fn drawn(links: &[LinkRow]) -> &[LinkRow] {
    let mut frames = 0;
    let fits = |link: &&LinkRow| {
        frames += link.flows.iter().map(|flow| flow.frames_ns.len()).sum::<usize>();
        frames <= FRAMES_MAX
    };
    let count = links.iter().take(ROWS_MAX).take_while(fits).count();
    &links[..count.max(1).min(links.len())]
}

/// The frames of a flow as one path.
fn draw_flow(svg: &mut Svg, flow: &FlowFrames, cycle_ns: u64, top: f64, x: &Scale) {
    let mut path = String::new();
    let parts = flow.frames_ns.iter().flat_map(|(start_ns, end_ns)| {
        [(*start_ns, (*end_ns).min(cycle_ns)), (0, end_ns.saturating_sub(cycle_ns))]
    });
    for (start_ns, end_ns) in parts.filter(|(start_ns, end_ns)| start_ns < end_ns) {
        let from = x.at(start_ns as f64);
        let to = x.at(end_ns as f64).max(from + NARROWEST);
        path += &format!(
            "M{} {}H{}V{}H{}Z",
            number(from),
            number(top),
            number(to),
            number(top + BAR),
            number(from)
        );
    }
    let first_ns = flow.frames_ns.first().map_or(0, |frame| frame.0);
    let about = format!(
        "{}: {}, the first at {}",
        harmless(&flow.name),
        counted(flow.frames_ns.len() as u64, "frame", "frames"),
        format_duration_ns(first_ns)
    );
    svg.named_path(&colour(flow.flow), &path, &about);
}

fn describe(links: &[LinkRow]) -> String {
    let link = |link: &LinkRow| {
        let frames: usize = link.flows.iter().map(|flow| flow.frames_ns.len()).sum();
        format!(
            "{}: {} of {}.",
            harmless(&link.name),
            counted(frames as u64, "frame", "frames"),
            counted(link.flows.len() as u64, "flow", "flows")
        )
    };
    let all: Vec<String> = links.iter().map(link).collect();
    format!("{} rows. {}", count(links.len() as u64), all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(frames_ns: Vec<(u64, u64)>) -> LinkRow {
        let flows = vec![FlowFrames { flow: 9, name: "torque".to_owned(), frames_ns }];
        LinkRow { name: "a→b".to_owned(), open_ns: vec![(500, 1000)], flows }
    }

    #[test]
    fn a_flow_is_one_path_in_its_colour_and_continues_at_the_start_of_the_cycle() {
        let svg = draw("links", 1000, &[link(vec![(0, 100), (950, 1050)])], &Options::default()).unwrap();
        let (_, path) = svg.split_once("class=\"dot s1\" d=\"").unwrap();
        assert_eq!(path.split('"').next().unwrap().matches('M').count(), 3, "{svg}");
        assert!(svg.contains("torque: 2 frames, the first at 0s"), "{svg}");
        assert!(svg.contains("class=\"phase\""), "{svg}");
    }

    #[test]
    fn links_beyond_the_most_that_are_drawn_are_counted() {
        let links: Vec<LinkRow> = (0..50).map(|_| link(vec![(0, 100)])).collect();
        let svg = draw("links", 1000, &links, &Options::default()).unwrap();
        assert!(svg.contains("10 more links are not drawn"), "{svg}");
        let crowded: Vec<LinkRow> =
            (0..5).map(|_| link((0..4000).map(|at| (at, at + 1)).collect())).collect();
        let svg = draw("links", 4000, &crowded, &Options::default()).unwrap();
        assert!(svg.contains("4 more links are not drawn"), "one link is always drawn");
        assert_eq!(draw("links", 1000, &[], &Options::default()), None);
    }
}
