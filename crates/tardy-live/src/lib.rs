//! The lines of the live view, from the state of a run and the size of the terminal.

use tardy_analyse::late::{self, Late};
use tardy_analyse::quantile::CONFIDENCE;
use tardy_analyse::share_limits::{self, Length};
use tardy_measure::engine::{LiveSeries, LiveState};
use tardy_plot::numbers::{
    count, first_few, harmless, microseconds, one_in, per_cent, per_second, prefixed, short, three_digits,
    with_unit,
};
use tardy_plot::worst_cpus;
use tardy_present::bars;
use tardy_present::sections::outliers::around;
use tardy_present::terminal_text::Style;
use tardy_record::Histogram;
use tardy_record::plan::ProbePlan;
use tardy_record::series::Outlier;
use tardy_record::units::format_duration_ns;
use tardy_sys::terminal::Size;

/// From this width on, which is that of the table, it has full numbers, and the parts are separated by empty lines if there is room.
const WIDE: usize = 60;
/// The fewest lines of a histogram that is drawn.
const HISTOGRAM_ROWS_MIN: usize = 4;
/// The most lines of a histogram.
const HISTOGRAM_ROWS_MAX: usize = 24;
/// The most lines of the newest outlier with what was around it.
const OUTLIER_ROWS_MAX: usize = 4;
/// The widest histogram, in columns.
const HISTOGRAM_COLUMNS_MAX: usize = 100;

/// The column in which the text of a detail begins.
const INDENT: usize = 9;

/// A line: pieces of text and their styles.
pub type Line = Vec<(String, Style)>;

/// The lines for a terminal of this size: at most `size.rows`, each at most `size.columns` wide. `message` is the last message for
/// the user.
pub fn lines(state: &LiveState<'_>, size: Size, message: Option<&str>) -> Vec<Line> {
    let details = [outlier(state, size.columns), loads(state, size.columns), environment(state)];
    let mut top = heading(state, size.columns);
    let bottom = footer(state, message, size.columns);
    let table = Table::of(state, size.columns);
    let room = size.rows.saturating_sub(top.len() + bottom.len());

    // The table comes first, then one line of each detail, then further CPUs, and the histogram takes the rest.
    let least = room.min(table.rows_least());
    let first_lines = details.iter().filter(|lines| !lines.is_empty()).count().min(room - least);
    let table = table.lines((room - first_lines).min(table.rows()));
    let mut left = room - table.len();
    let mut shown: Vec<Vec<Line>> = Vec::new();
    for (index, lines) in details.iter().enumerate() {
        let later = details[index + 1..].iter().filter(|lines| !lines.is_empty()).count();
        let most = lines.len().min(left.saturating_sub(later).max(usize::from(left > 0)));
        left -= most;
        shown.push(first_lines_of(lines, most, size.columns));
    }
    let has_details = shown.iter().any(|lines| !lines.is_empty());
    let gaps = 2 + usize::from(has_details);
    let drawn = histogram(state, size.columns, left.saturating_sub(gaps));
    left -= drawn.len();

    let mut gap = |lines: &mut Vec<Line>| {
        if left > 0 {
            left -= 1;
            lines.push(Line::new());
        }
    };
    gap(&mut top);
    top.extend(table);
    if !drawn.is_empty() {
        gap(&mut top);
        top.extend(drawn);
    }
    if has_details {
        gap(&mut top);
        top.extend(shown.into_iter().flatten());
    }
    // The keys are on the last row.
    let rows = size.rows.saturating_sub(bottom.len());
    top.resize(rows, Line::new());
    top.extend(bottom);
    top.into_iter().take(size.rows).map(|line| cut(line, size.columns)).collect()
}

/// The first `most` of the lines. An ellipsis marks that there are more.
fn first_lines_of(lines: &[Line], most: usize, columns: usize) -> Vec<Line> {
    let mut first = lines[..most].to_vec();
    if let Some((text, _)) = first.last_mut().and_then(|line| line.last_mut()).filter(|_| most < lines.len())
    {
        *text = continued(text, columns.saturating_sub(INDENT));
    }
    first
}

/// The text with an ellipsis behind it, in at most `width` columns.
fn continued(text: &str, width: usize) -> String {
    let room = width.saturating_sub(2);
    if text.chars().count() <= room { format!("{text} …") } else { short(&format!("{text} …"), width) }
}

fn plain(text: String) -> Line {
    vec![(text, Style::Plain)]
}

/// The phase, and how far it is.
fn heading(state: &LiveState<'_>, columns: usize) -> Vec<Line> {
    let progress = &state.progress;
    let seconds = |ns: u64| format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
    let mut first = vec![(harmless(progress.phase), Style::Bold)];
    if progress.of > 1 {
        first.push((format!(" ({} of {})", progress.number, progress.of), Style::Plain));
    }
    if let Some(limit_ns) = state.limit_ns {
        let is_exceeded = progress.worst.is_some_and(|(worst_ns, _)| worst_ns > limit_ns.cast_signed());
        let limit = format_duration_ns(limit_ns);
        let supported = supported(state, limit_ns);
        first.push(match is_exceeded {
            true => (format!("  limit {limit} exceeded{supported}"), Style::Bad),
            false => (format!("  limit {limit} not exceeded{supported}"), Style::Good),
        });
    }
    if !state.is_valid {
        first.push(("  INVALID".to_owned(), Style::Bad));
    }
    let share = progress.counted_ns as f64 / progress.planned_ns.max(1) as f64;
    let time = format!("{} of {}", seconds(progress.counted_ns), seconds(progress.planned_ns));
    let state = match (state.is_ending, progress.worst) {
        (true, _) => "  ending",
        (false, None) => "  warming up",
        (false, Some(_)) => "",
    };
    let percent = per_cent((share.clamp(0.0, 1.0) * 100.0).floor() / 100.0);
    let width = columns.saturating_sub(time.len() + state.len() + percent.len() + 4).min(40);
    let filled = ((share.clamp(0.0, 1.0) * width as f64) as usize).min(width);
    let second = vec![
        (format!("{time}  "), Style::Plain),
        ("█".repeat(filled), Style::Good),
        ("░".repeat(width - filled), Style::Faint),
        (format!("  {percent}{state}"), Style::Plain),
    ];
    vec![first, second]
}

/// The share of late wake-ups that the readings so far support, of the CPU with the highest; empty before the first readings. The
/// bound holds however often one looks, if late wake-ups are independent. A missed period counts as a late wake-up.
fn supported(state: &LiveState<'_>, limit_ns: u64) -> String {
    let counts = |series: &LiveSeries| {
        let missed = series.missed.unwrap_or(0);
        let (at_least, at_most) =
            late::in_histogram(&series.histogram, limit_ns.cast_signed(), series.worst_ns);
        Late {
            at_least: at_least.saturating_add(missed),
            at_most: at_most.saturating_add(missed),
            of: series.recorded.saturating_add(missed),
            dependence: None,
        }
    };
    let mut all: Vec<Late> = state.series.iter().filter(|series| series.recorded > 0).map(counts).collect();
    all.sort_unstable_by_key(|one| (one.at_most, one.of));
    all.dedup();
    // Of many CPUs the bound is computed only for those that can have the highest: none has more late wake-ups among fewer.
    let can_be_highest = |late: &&Late| {
        !all.iter().any(|one| one != *late && one.at_most >= late.at_most && one.of <= late.of)
    };
    let upper = |late: &Late| share_limits::upper(late, 1.0, CONFIDENCE, Length::ByData { cluster: 1 });
    let highest = all.iter().filter(can_be_highest).map(upper).reduce(f64::max);
    highest.map_or_else(String::new, |bound| {
        format!(": at most {} late ({})", one_in(bound), per_cent(CONFIDENCE))
    })
}

/// The rows of all series.
struct Table {
    head: Line,
    /// The row of each series in the order in which they are shown.
    rows: Vec<Line>,
    /// The maximum of each row.
    maxima_ns: Vec<Option<i64>>,
    /// All CPUs together.
    total: Option<Line>,
    /// How many rows are shown at most; the others are folded.
    shown_max: usize,
}

impl Table {
    fn of(state: &LiveState<'_>, columns: usize) -> Self {
        let maxima: Vec<Option<i64>> = state.series.iter().map(|series| series.worst_ns).collect();
        let order: Vec<usize> = match worst_cpus::of(&maxima) {
            Some(worst) => worst.shown.into_iter().chain(worst.folded).collect(),
            None => (0..maxima.len()).collect(),
        };
        let heads = ["count", "last", "mean", "worst", "missed"].map(str::to_owned);
        Self {
            head: vec![(cells("us", &heads, columns), Style::Faint)],
            rows: order.iter().map(|index| row(state, &state.series[*index], columns)).collect(),
            maxima_ns: order.iter().map(|index| maxima[*index]).collect(),
            total: total(state).map(|series| row(state, &series, columns)),
            shown_max: worst_cpus::SHOWN_MAX,
        }
    }

    /// The lines of the whole table.
    fn rows(&self) -> usize {
        let folded = usize::from(self.rows.len() > self.shown_max);
        1 + self.rows.len().min(self.shown_max) + folded + usize::from(self.total.is_some())
    }

    /// The lines of the shortest useful table: the head, two CPUs, the folded ones, and all CPUs together.
    fn rows_least(&self) -> usize {
        self.rows().min(4 + usize::from(self.rows.len() > 2))
    }

    /// The table in at most `room` lines. CPUs for which there is no room are folded; the worst ones are shown.
    fn lines(&self, room: usize) -> Vec<Line> {
        let mut lines = vec![self.head.clone()];
        let for_rows = room.saturating_sub(1 + usize::from(self.total.is_some()));
        let all = self.rows.len();
        let shown = match all <= for_rows && all <= self.shown_max {
            true => all,
            false => for_rows.saturating_sub(1).min(self.shown_max),
        };
        let mut worst: Vec<usize> = (0..all).collect();
        worst.sort_by_key(|index| std::cmp::Reverse(self.maxima_ns[*index]));
        let folded = worst.split_off(shown.min(all));
        if all <= self.shown_max {
            worst.sort_unstable();
        }
        lines.extend(worst.iter().map(|index| self.rows[*index].clone()));
        if !folded.is_empty() {
            lines.push(vec![(self.folded(&folded), Style::Faint)]);
        }
        lines.extend(self.total.clone());
        lines.truncate(room);
        lines
    }

    fn folded(&self, folded: &[usize]) -> String {
        let maxima = || folded.iter().filter_map(|index| self.maxima_ns[*index]);
        let (count, noun) = (folded.len(), if folded.len() == 1 { "CPU" } else { "CPUs" });
        match maxima().min().zip(maxima().max()) {
            Some((least, most)) if least < most => {
                let (least, most) = (microseconds(least as f64), with_unit(most as f64));
                format!("{count} more {noun}: worst {least} to {most}")
            }
            Some((_, most)) => format!("{count} more {noun}: worst {}", with_unit(most as f64)),
            None => format!("{count} more {noun}: nothing recorded"),
        }
    }
}

/// All series together if they are of CPUs and there are several. It has no last reading.
fn total(state: &LiveState<'_>) -> Option<LiveSeries> {
    if state.series.len() < 2 || !are_of_cpus(state) {
        return None;
    }
    let all = &state.series;
    let recorded: u64 = all.iter().map(|series| series.recorded).sum();
    let sum_ns: f64 = all.iter().filter_map(|series| Some(series.mean_ns? * series.recorded as f64)).sum();
    Some(LiveSeries {
        label: "all".to_owned(),
        recorded,
        missed: all.iter().map(|series| series.missed).sum(),
        mean_ns: (recorded > 0).then(|| sum_ns / recorded as f64),
        worst_ns: all.iter().filter_map(|series| series.worst_ns).max(),
        ..LiveSeries::default()
    })
}

fn are_of_cpus(state: &LiveState<'_>) -> bool {
    state.series.iter().all(|series| series.label.starts_with("cpu "))
}

fn row(state: &LiveState<'_>, series: &LiveSeries, columns: usize) -> Line {
    let us = |ns: Option<i64>| ns.map_or_else(String::new, |ns| microseconds(ns as f64));
    let number = |n: u64| if columns >= WIDE { count(n) } else { prefixed(n as f64) };
    let values = [
        number(series.recorded),
        us(series.last_ns),
        series.mean_ns.map_or_else(String::new, microseconds),
        us(series.worst_ns),
        series.missed.map_or_else(String::new, number),
    ];
    let text = cells(&short(&harmless(&series.label), 10), &values, columns);
    let is_over = |limit_ns: u64| series.worst_ns.is_some_and(|worst| worst > limit_ns.cast_signed());
    let style = match state.limit_ns {
        Some(limit_ns) if is_over(limit_ns) => Style::Bad,
        _ if series.missed.is_some_and(|missed| missed > 0) => Style::Middling,
        _ => Style::Plain,
    };
    vec![(text, style)]
}

/// A row of the table: a label and five numbers.
fn cells(label: &str, values: &[String; 5], columns: usize) -> String {
    let [count, last, mean, worst, missed] = values;
    if columns >= WIDE {
        format!("{label:<10}{count:>13}{last:>9}{mean:>9}{worst:>10}{missed:>9}")
    } else {
        format!("{label:<7}{count:>7}{last:>6}{mean:>6}{worst:>7}{missed:>7}")
    }
}

/// The histogram of all CPUs, or of the first series if the series are of different kinds.
fn histogram(state: &LiveState<'_>, columns: usize, rows: usize) -> Vec<Line> {
    if rows < HISTOGRAM_ROWS_MIN {
        return Vec::new();
    }
    let counted = match &state.plan.probe {
        ProbePlan::Timer(_) | ProbePlan::Tracer(_) | ProbePlan::Kernel(_) => "wake-ups",
        ProbePlan::Noise(_) => "gaps",
        _ => "readings",
    };
    let mut all = Histogram::default();
    let pooled = if are_of_cpus(state) { state.series.len() } else { 1 };
    for series in state.series.iter().take(pooled) {
        // Series of one source share a layout.
        let _ = all.merge(&series.histogram);
    }
    let columns = columns.min(HISTOGRAM_COLUMNS_MAX);
    let lines = bars::lines_within(&all, counted, columns, rows.min(HISTOGRAM_ROWS_MAX));
    lines.into_iter().map(plain).collect()
}

/// The newest of the worst readings, with what was around it.
fn outlier(state: &LiveState<'_>, columns: usize) -> Vec<Line> {
    let of_series = |series: &'_ LiveSeries| Some((series.newest_outlier.clone()?, harmless(&series.label)));
    let newest = state.series.iter().filter_map(of_series).max_by_key(|(outlier, _)| outlier.at_ns);
    let Some((outlier, label)) = newest else { return Vec::new() };
    let ago = format_duration_ns(state.now_ns.saturating_sub(outlier.at_ns) / 1_000_000_000 * 1_000_000_000);
    let what = format!("{} on {label}, {ago} ago", with_unit(outlier.latency_ns as f64));
    labelled("outlier", &format!("{what}: {}", surrounding(&outlier)), columns, OUTLIER_ROWS_MAX)
}

fn surrounding(outlier: &Outlier) -> String {
    let around = around(outlier);
    if around.is_empty() { "nothing unusual around it".to_owned() } else { first_few(&around, "; ") }
}

/// What the loads do.
fn loads(state: &LiveState<'_>, columns: usize) -> Vec<Line> {
    if state.loads.is_empty() {
        return labelled("load", "none", columns, 1);
    }
    let rate = |load: &tardy_load::LoadRate| match load.per_second {
        _ if !load.alive => format!("{} has ended", load.part),
        Some(rate) => format!("{} {}", load.part, per_second(rate, load.unit)),
        None => format!("{} running", load.part),
    };
    labelled("load", &state.loads.iter().map(rate).collect::<Vec<_>>().join(", "), columns, 3)
}

/// The highest temperature, and the range of the frequencies.
fn environment(state: &LiveState<'_>) -> Vec<Line> {
    let of = |name: &'static str| state.environment.iter().filter(move |reading| reading.name == name);
    let hottest = of("temperature").max_by(|a, b| a.value.total_cmp(&b.value));
    let temperature = hottest.map(|reading| {
        format!("{} °C {}", three_digits(reading.value), harmless(&reading.of)).trim_end().to_owned()
    });
    let slowest = of("frequency").map(|reading| reading.value).min_by(f64::total_cmp);
    let fastest = of("frequency").map(|reading| reading.value).max_by(f64::total_cmp);
    let frequency = slowest.zip(fastest).map(|(slowest, fastest)| match slowest < fastest {
        true => format!("{slowest:.0} to {fastest:.0} MHz"),
        false => format!("{fastest:.0} MHz"),
    });
    let text = match (temperature, frequency) {
        (None, None) => "temperature and frequency unknown".to_owned(),
        (None, Some(frequency)) => format!("temperature unknown, {frequency}"),
        (Some(temperature), None) => format!("{temperature}, frequency unknown"),
        (Some(temperature), Some(frequency)) => format!("{temperature}, {frequency}"),
    };
    vec![vec![("machine  ".to_owned(), Style::Faint), (text, Style::Plain)]]
}

/// A message in one line.
pub fn message(text: &str, columns: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    short(&harmless(&words.join(" ")), columns)
}

/// The last message, and the keys.
fn footer(state: &LiveState<'_>, message: Option<&str>, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(message) = message {
        lines.push(vec![(self::message(message, columns), Style::Middling)]);
    }
    let marks = match state.marks {
        _ if columns < WIDE => String::new(),
        0 => String::new(),
        1 => " (1 so far)".to_owned(),
        marks => format!(" ({marks} so far)"),
    };
    let mut keys: Line = vec![
        ("q".to_owned(), Style::Bold),
        (" end   ".to_owned(), Style::Plain),
        ("m".to_owned(), Style::Bold),
        (format!(" mark this moment{marks}"), Style::Plain),
    ];
    if let Some(cost_ns) = state.frame_cost_ns.filter(|_| columns >= WIDE) {
        keys.push((format!("   drawing {:.1} ms/s", cost_ns as f64 / 1e6), Style::Faint));
    }
    lines.push(keys);
    lines
}

/// A text behind a label, folded to `columns`, in at most `rows` lines.
fn labelled(label: &str, text: &str, columns: usize, rows: usize) -> Vec<Line> {
    let mut folded: Vec<String> = vec![String::new()];
    let width = columns.saturating_sub(INDENT).max(1);
    for word in text.split_whitespace() {
        let line = folded.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            folded.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    if folded.len() > rows {
        folded.truncate(rows);
        let last = folded.last_mut().expect("there is always a line");
        *last = continued(last, width);
    }
    let line = |(number, text): (usize, String)| {
        let label = if number == 0 { label } else { "" };
        vec![(format!("{label:<INDENT$}"), Style::Faint), (text, Style::Plain)]
    };
    folded.into_iter().enumerate().map(line).collect()
}

/// The line in at most `columns` columns.
fn cut(line: Line, columns: usize) -> Line {
    let mut left = columns;
    let mut kept = Line::new();
    for (text, style) in line {
        let length = text.chars().count();
        kept.push((if length > left { short(&text, left) } else { text }, style));
        left = left.saturating_sub(length);
        if left == 0 {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests;
