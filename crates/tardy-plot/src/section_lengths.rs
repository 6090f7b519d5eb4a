//! The histogram of the lengths of sections with interrupts or preemption off. Both axes are logarithmic.

use tardy_record::census::{Lengths, SectionKind};

use super::Options;
use super::frame::{Area, count_label, latency_label};
use super::scale::Scale;
use super::svg::{Anchor, Head, Svg, steps};
use super::terms::section_name;

/// Height of a line of names.
const LINE_HEIGHT: f64 = 13.0;

/// Draws the lengths of these kinds; `None` if there are none. `ns` is the time of an instruction.
pub fn draw(
    id: &str,
    lengths: &[Lengths],
    kinds: &[SectionKind],
    ns: u64,
    options: &Options,
) -> Option<String> {
    let of_kinds: Vec<&Lengths> = lengths.iter().filter(|one| kinds.contains(&one.kind)).collect();
    let bins = || of_kinds.iter().flat_map(|one| &one.bins);
    let high = bins().map(|(_, to, _)| *to).max()?;
    let low = bins().map(|(from, ..)| *from).min()?.max(1);
    let most = bins().map(|(.., count)| *count).max()?;
    let height = if options.narrow() { 250.0 } else { 290.0 };
    let area = Area { left: 58.0, right: options.width - 12.0, top: 26.0, bottom: height - 40.0 };
    let time = |instructions: u64| (instructions * ns) as f64;
    let x = Scale::logarithmic(time(low) / 1.1, time(high) * 1.3, area.left, area.right);
    let y = Scale::logarithmic(0.5, (most as f64 * 1.6).max(10.0), area.bottom, area.top);
    let mut svg = Svg::default();
    area.horizontal_grid(&mut svg, &y, &y.ticks(if options.narrow() { 5 } else { 8 }), count_label);
    area.vertical_grid(&mut svg, &x, &x.ticks(if options.narrow() { 4 } else { 8 }), latency_label);
    area.name_y(&mut svg, "sections per eighth of an octave");
    area.name_x(&mut svg, "length of the section, µs");
    for (place, one) in of_kinds.iter().enumerate() {
        let column = |(from, to, count): &(u64, u64, u64)| {
            (x.at(time(*from).max(x.low())), x.at(time(*to)), y.at(*count as f64))
        };
        let outline: Vec<(f64, f64, f64)> = one.bins.iter().map(column).collect();
        svg.path(&format!("curve thin s{place}"), &steps(&outline, area.bottom));
        let at = (area.right - 6.0, area.top + LINE_HEIGHT * (place + 1) as f64);
        svg.text(&format!("halo s{place}"), at, Anchor::End, section_name(one.kind));
    }
    Some(svg.finish(&Head {
        id,
        width: options.width,
        height,
        title: "Lengths of sections",
        description: "The number of sections by length; both axes are logarithmic.",
        standalone: options.standalone,
        data: vec![("x", x.data()), ("y", y.data()), ("kind", "section-lengths".into())],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_an_outline_and_a_name() {
        let lengths = |kind| Lengths { kind, bins: vec![(0, 1, 3), (8, 9, 1_000), (40, 44, 1)] };
        let all =
            [SectionKind::InterruptsOff, SectionKind::PreemptionOff, SectionKind::Postponed].map(lengths);
        let kinds = [SectionKind::InterruptsOff, SectionKind::PreemptionOff];
        let svg = draw("id", &all, &kinds, 2, &Options::default()).unwrap();
        assert_eq!(svg.matches("curve thin").count(), 2, "{svg}");
        assert!(svg.contains("interrupts off") && svg.contains("preemption off"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(draw("id", &all[2..], &kinds, 2, &Options::default()), None);
    }
}
