//! Plots as separate files: every kind in every format, and their data.

use crate::recorded::run;
use resvg::usvg::roxmltree::Document;
use tardy_plot::Options;
use tardy_plot::print::for_print;
use tardy_present::plot_file::{Kind, Plot};
use tardy_record::Run;

fn plot<'a>(kind: Kind, runs: &'a [&'a Run]) -> Plot<'a> {
    Plot { kind, runs, versus: None, title: Some("A <title> & more".to_owned()), options: Options::default() }
}

/// The runs that a plot of this kind draws.
fn drawn<'a>(kind: Kind, both: &'a [&'a Run; 2]) -> &'a [&'a Run] {
    match kind {
        Kind::Compare | Kind::Quantiles => both,
        // Levels of the other run are not supported.
        Kind::ReturnLevels => &both[1..],
        _ => &both[..1],
    }
}

#[test]
fn every_kind_is_well_formed_in_every_format() {
    let (standard, steady) = (run("standard"), run("steady"));
    let both = [&standard, &steady];
    for kind in Kind::OF_RUNS {
        let plot = plot(kind, drawn(kind, &both));
        let svg = plot.svg().unwrap();
        let document = Document::parse(&svg).unwrap();
        let side = |name| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        let (width, height) = (side("width"), side("height"));
        assert_eq!(width, 860.0, "{kind:?}");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        let texts: Vec<&str> = texts.filter_map(|node| node.text()).collect();
        assert!(texts.contains(&"A <title> & more"), "{kind:?}: {texts:?}");
        let png = tardy_picture::png(&for_print(&svg), 2.0).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        let pixels = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((pixels(16), pixels(20)), (1720, (height * 2.0).ceil() as u32), "{kind:?}");
        let pdf = tardy_picture::pdf(&for_print(&svg)).unwrap();
        assert!(pdf.starts_with(b"%PDF-1.") && pdf.trim_ascii_end().ends_with(b"%%EOF"), "{kind:?}");
        assert!(pdf.windows(4).any(|part| part == b"Hack"), "{kind:?}: the PDF contains its font");
        let csv = plot.csv().unwrap();
        let columns = csv.lines().next().unwrap().split(',').count();
        assert!(csv.lines().count() > 10, "{kind:?}: {csv}");
        let unquoted = csv.lines().filter(|line| !line.contains('"'));
        unquoted.for_each(|line| assert_eq!(line.split(',').count(), columns, "{kind:?}: {line}"));
    }
}

#[test]
fn a_plot_has_the_requested_size() {
    let (standard, steady) = (run("standard"), run("steady"));
    let runs = [&standard, &steady];
    for kind in Kind::OF_RUNS {
        let options = Options { width: 640.0, height: Some(900.0), ..Options::default() };
        let plot = Plot { options, title: None, ..plot(kind, drawn(kind, &runs)) };
        let svg = plot.svg().unwrap();
        assert!(svg.contains("width=\"640\" height=\"900\""), "{kind:?}: {:.300}", svg);
    }
}

#[test]
fn a_plot_that_cannot_be_drawn_reports_why() {
    let (standard, empty) = (run("standard"), run("nothing-yet"));
    let reason = |kind, runs: &[&Run]| plot(kind, runs).svg().unwrap_err();
    let both = [&standard, &empty];
    assert_eq!(
        reason(Kind::Timeline, &both),
        "--kind timeline draws one run, and 2 are given; draw each into its own file"
    );
    assert_eq!(reason(Kind::Compare, &both[..1]), "--kind compare draws two or more runs, and one is given");
    for kind in [Kind::Timeline, Kind::Heatmap, Kind::Distribution, Kind::Exceedance] {
        let reason = reason(kind, &both[1..]);
        assert!(reason.ends_with(", so there is nothing to draw"), "{kind:?}: {reason}");
    }
}

/// The lines of CSV below the heads, each a list of cells. None of the labels has a comma.
fn cells(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

/// The scale of an axis, from the attribute of the drawing.
fn scale(svg: &str, axis: &str) -> impl Fn(f64) -> f64 {
    let (_, text) = svg.split_once(&format!("data-{axis}=\"")).unwrap();
    let (text, _) = text.split_once('"').unwrap();
    let parts: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let is_logarithmic = parts[0] == "log";
    let numbers: Vec<f64> = parts[1..].iter().map(|part| part.parse().unwrap()).collect();
    let &[low, high, from, to] = &numbers[..] else { panic!("{text}") };
    move |value| {
        let share = match is_logarithmic {
            true => libm::log(value.max(low) / low) / libm::log(high / low),
            false => (value - low) / (high - low),
        };
        from + share.clamp(0.0, 1.0) * (to - from)
    }
}

/// The commands of the curves, in drawing order.
fn curves(svg: &str) -> Vec<String> {
    let paths = svg.split("<path class=\"curve").skip(1);
    let commands = paths.filter_map(|path| Some(path.split_once(" d=\"")?.1.split_once('"')?.0.to_owned()));
    commands.collect()
}

/// The corners of each line of `M`, `m`, `h` and `v` commands, in tenths of a pixel.
fn corners(commands: &str) -> Vec<Vec<(i64, i64)>> {
    let mut lines: Vec<Vec<(i64, i64)>> = Vec::new();
    let letters: Vec<usize> = commands.match_indices(char::is_alphabetic).map(|(at, _)| at).collect();
    for (place, at) in letters.iter().enumerate() {
        let end = letters.get(place + 1).copied().unwrap_or(commands.len());
        let spaced = commands[at + 1..end].replace('-', " -");
        let numbers =
            spaced.split_whitespace().map(|number| (number.parse::<f64>().unwrap() * 10.0).round() as i64);
        let numbers: Vec<i64> = numbers.collect();
        let (x, y) = lines.last().and_then(|line| line.last()).copied().unwrap_or_default();
        let corner = match &commands[*at..=*at] {
            "M" => (numbers[0], numbers[1]),
            "m" => (x + numbers[0], y + numbers[1]),
            "h" => (x + numbers[0], y),
            "v" => (x, y + numbers[0]),
            other => panic!("{other} in a line of steps"),
        };
        match lines.last_mut().filter(|_| !commands[*at..].starts_with(['M', 'm'])) {
            Some(line) => line.push(corner),
            None => lines.push(vec![corner]),
        }
    }
    lines
}

fn tenths(px: f64) -> i64 {
    (px * 10.0).round() as i64
}

#[test]
fn the_data_of_a_histogram_are_its_columns() {
    let rt = run("rt");
    let runs = [&rt];
    let plot = plot(Kind::Histogram, &runs);
    let (svg, csv) = (plot.svg().unwrap(), plot.csv().unwrap());
    let (x, y) = (scale(&svg, "x"), scale(&svg, "y"));
    for (cpu, drawn) in ["cpu 0", "cpu 1"].iter().zip(curves(&svg)) {
        let rows: Vec<Vec<&str>> = cells(&csv).into_iter().filter(|row| row[0] == *cpu).collect();
        let lines = corners(&drawn);
        let level: Vec<(i64, i64, i64)> = (lines.iter().flat_map(|line| line.windows(2)))
            .filter(|pair| pair[0].1 == pair[1].1)
            .map(|pair| (pair[0].1, pair[0].0, pair[1].0))
            .collect();
        let mut width = 0;
        for row in &rows {
            let [from, to, count] = [row[1], row[2], row[3]].map(|cell| cell.parse::<f64>().unwrap());
            let (height, left, right) = (tenths(y(count)), tenths(x(from)), tenths(x(to)));
            let holds = |line: &(i64, i64, i64)| line.0 == height && line.1 <= left && line.2 >= right;
            assert!(level.iter().any(holds), "{row:?} of {cpu}");
            width += right - left;
        }
        assert_eq!(
            level.iter().map(|line| line.2 - line.1).sum::<i64>(),
            width,
            "{cpu}: nothing else is drawn"
        );
    }
}

#[test]
fn the_data_of_an_exceedance_plot_are_its_corners() {
    let rt = run("rt");
    let runs = [&rt];
    let plot = plot(Kind::Exceedance, &runs);
    let (svg, csv) = (plot.svg().unwrap(), plot.csv().unwrap());
    let (x, y) = (scale(&svg, "x"), scale(&svg, "y"));
    for (cpu, drawn) in ["cpu 0", "cpu 1"].iter().zip(curves(&svg)) {
        let rows = cells(&csv).into_iter().filter(|row| row[0] == *cpu);
        let data = rows.map(|row| [row[1], row[3]].map(|cell| cell.parse::<f64>().unwrap()));
        let data: Vec<[f64; 2]> = data.collect();
        assert_eq!(data[0][1], 1.0, "all readings are at or above the lowest");
        let at = |[ns, share]: &[f64; 2]| (tenths(x(*ns)), tenths(y(*share)));
        let drawn = corners(&drawn).concat();
        assert_eq!(drawn.last(), Some(&at(data.last().unwrap())));
        let (columns, rows): (Vec<i64>, Vec<i64>) = data.iter().map(at).unzip();
        // The first point is at the left end of the axis.
        for (across, down) in drawn.into_iter().skip(1) {
            assert!(columns.contains(&across) && rows.contains(&down), "{across} {down} of {cpu}");
        }
    }
}

#[test]
fn the_data_over_time_are_the_maxima_of_the_run() {
    let standard = run("standard");
    let runs = [&standard];
    let timeline = plot(Kind::Timeline, &runs).csv().unwrap();
    let heatmap = plot(Kind::Heatmap, &runs).csv().unwrap();
    for series in standard.own_series() {
        let recorded: Vec<i64> = series.block_maxima.maxima_ns.iter().copied().flatten().collect();
        let of_series = |line: &&str| line.contains(&format!("{},", series.label));
        let last = |line: &str| line.rsplit(',').next().unwrap().parse::<i64>().unwrap();
        let maxima = timeline.lines().filter(|line| line.starts_with("\"maximum, ns\","));
        let shown: Vec<i64> = maxima.filter(of_series).map(last).collect();
        assert_eq!(shown, recorded, "{}", series.label);
        let highest = heatmap.lines().filter(of_series).map(last).max();
        assert_eq!(highest, recorded.iter().copied().max(), "{}", series.label);
    }
    let counts = plot(Kind::Distribution, &runs).csv().unwrap();
    let counted: u64 = cells(&counts).iter().map(|row| row[4].parse::<u64>().unwrap()).sum();
    let slices = standard.own_series().flat_map(|series| &series.slices);
    assert_eq!(counted, slices.map(|slice| slice.histogram.total()).sum::<u64>());
}

#[test]
fn the_data_of_quantiles_are_those_of_the_tables() {
    let standard = run("standard");
    let csv = plot(Kind::Quantiles, &[&standard]).csv().unwrap();
    for row in &tardy_analyse::phases::of(&standard)[0].rows {
        for quantile in &row.quantiles {
            let value = quantile.value.unwrap();
            let known = |ns: Option<i64>| ns.map_or_else(String::new, |ns| ns.to_string());
            let line = format!(
                "{},{},{},{},{},{}\n",
                row.label,
                quantile.level,
                value.lower_ns,
                value.upper_ns,
                known(value.confidence_lower_ns),
                known(value.confidence_upper_ns)
            );
            assert!(csv.contains(&line), "{line} is not in {csv}");
        }
    }
}

#[test]
fn return_levels_that_are_not_supported_are_not_drawn() {
    let standard = run("standard");
    let reason = plot(Kind::ReturnLevels, &[&standard]).svg().unwrap_err();
    assert!(
        reason.contains("the highest values do not have one distribution. Measure for longer"),
        "{reason}"
    );
    let steady = run("steady");
    let csv = plot(Kind::ReturnLevels, &[&steady]).csv().unwrap();
    let fitted: Vec<&str> = csv.lines().filter(|line| line.contains(",fitted,")).collect();
    let number = |line: &str, column: usize| line.rsplit(',').nth(column).unwrap().parse::<i64>().unwrap();
    // Level, lower and upper end, from the right.
    assert!(
        fitted.iter().all(|line| number(line, 1) <= number(line, 2) && number(line, 2) <= number(line, 0)),
        "{csv}"
    );
    assert!(fitted.windows(2).all(|pair| number(pair[0], 2) < number(pair[1], 2)), "levels rise: {csv}");
}
