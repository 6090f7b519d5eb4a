//! A run for the terminal.

use tardy_analyse::cost::WakeCost;
use tardy_analyse::findings::{Findings, PhaseFindings};
use tardy_analyse::flows::FlowPhase;
use tardy_analyse::loads::{LoadFindings, PartFindings};
use tardy_analyse::row::Row;
use tardy_analyse::{name, pool};
use tardy_record::plan::Wake;
use tardy_record::run::State;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use crate::latency::{self, count, harmless, microseconds, per_cent, per_second, short, with_unit};
use crate::table::Table;
use crate::{
    bars, causes, flows, imported, lab, levels, noise, notes, published, reactions, sentence, wiggles,
};

/// Below this width the summary is not folded further.
const WIDTH_MIN: usize = 60;
/// Phases beyond this have no histogram of their own: a recipe of thirty rounds must not scroll for pages.
const HISTOGRAM_PHASE_MAX: usize = 3;

/// Longer labels are shortened in tables: a name from outside must not push the numbers off the screen.
const LABEL_MAX: usize = 28;

/// Bold, red and so on, where the terminal takes them.
#[derive(Clone, Copy)]
struct Ink {
    colour: bool,
}

impl Ink {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn alarm(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// The summary of `run`, `width` columns wide, with ANSI colours where `colour` is set. Ends with a newline.
pub fn text(run: &Run, findings: &Findings, width: usize, colour: bool) -> String {
    let (width, ink) = (width.max(WIDTH_MIN), Ink { colour });
    let mut blocks = vec![head(run, findings.meaningless_because, width, ink)];
    blocks.extend(flow_blocks(run, findings, width, ink));
    for phase in &findings.phases {
        blocks.push(phase_block(run, phase, findings.phases.len(), width, ink));
    }
    blocks.extend(noise_blocks(findings, width, ink));
    blocks.push(folded_all(&notes::of(run, findings), width, |line| ink.faint(line)));
    blocks.push(levels_block(findings, width, ink));
    blocks.push(reactions_block(findings, width, ink));
    blocks.push(wiggles_block(findings, width, ink));
    blocks.push(causes_block(run, findings, width, ink));
    blocks.push(wakes_block(findings, width));
    blocks.push(rounds_block(findings, width));
    blocks.push(published_block(findings, width, ink));
    blocks.push(loads_block(findings, width));
    blocks.push(cost_block(run, findings, width));
    blocks.push(folded_all(&lab::lines(run), width, str::to_owned));
    blocks.push(conclusion(findings, width, ink));
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

/// Whether the slots of a switch held, of a run that is shown beside others; absent where it tested none.
pub fn slots(run: &Run, findings: &Findings, width: usize, colour: bool) -> Option<String> {
    if findings.flows.is_empty() {
        return None;
    }
    let (width, ink) = (width.max(WIDTH_MIN), Ink { colour });
    let mut blocks = vec![vec![ink.strong(&harmless(&name::of_run(run)))]];
    blocks.extend(findings.flows.iter().map(|phase| flow_table(phase, width)));
    blocks.push(folded_all(&flows::sentences(&findings.flows), width, |line| ink.strong(line)));
    Some(blocks.iter().map(|lines| lines.join("\n")).collect::<Vec<_>>().join("\n\n") + "\n")
}

/// What the kernel is; then, before any number, whether the numbers may be used.
fn head(run: &Run, meaningless_because: Option<&str>, width: usize, ink: Ink) -> Vec<String> {
    let mut lines = folded(&harmless(&run.headline()), width);
    lines = lines.iter().map(|line| ink.strong(line)).collect();
    for reason in sentence::spoilt(run) {
        lines.extend(folded(&format!("INVALID: {reason}"), width).iter().map(|line| ink.alarm(line)));
    }
    if let Some(why) = meaningless_because {
        lines.extend(folded(&format!("MEANINGLESS: {why}"), width).iter().map(|line| ink.alarm(line)));
    }
    if let Some(text) = lab::whose(run) {
        lines.extend(folded(&text, width));
    }
    for (index, limit) in sentence::limits(run).iter().enumerate() {
        let missing = index == 0 && run.progress.state != State::Complete;
        let paint = |line: &String| if missing { ink.strong(line) } else { line.clone() };
        lines.extend(folded(limit, width).iter().map(paint));
    }
    lines
}

fn phase_block(run: &Run, phase: &PhaseFindings, phases: usize, width: usize, ink: Ink) -> Vec<String> {
    let mut lines = folded(&phase_title(run, phase, phases), width);
    lines.push(String::new());
    if phase.rows.is_empty() {
        lines[1] = sentence::NO_SERIES.to_owned();
        return lines;
    }
    lines.extend(row_table(
        phase.rows.iter().chain(phase.all.as_ref().filter(|_| phase.rows.len() > 1)),
        width,
    ));
    let series: Vec<&Series> = phase.series.iter().map(|index| &run.series[*index]).collect();
    if phases <= HISTOGRAM_PHASE_MAX
        && phase.all.is_some()
        && let Ok(pool) = pool::of(&series)
    {
        let drawing = bars::lines(&pool.histogram, phase.readings.name(), width);
        if let Some((axis, bars)) = drawing.split_first() {
            lines.push(String::new());
            lines.push(ink.faint(axis));
            lines.extend(bars.iter().cloned());
        }
    }
    lines
}

/// How the phase was measured: `clock_nanosleep every 1ms, SCHED_FIFO 90, doload, for 1m`.
pub(crate) fn phase_title(run: &Run, phase: &PhaseFindings, phases: usize) -> String {
    let mut parts = Vec::new();
    if phases > 1 {
        parts.push(format!("Phase {}: {}", phase.phase + 1, harmless(&phase.label)));
    }
    let timers = phase.series.iter().filter_map(|index| run.series[*index].timer());
    let mut how: Vec<String> = timers
        .map(|timer| {
            let policy = timer.policy.name().to_uppercase();
            let priority =
                if timer.policy.has_priority() { format!(" {}", timer.priority) } else { String::new() };
            let every = format_duration_ns(timer.interval_ns);
            // The label of one phase among several names the wake method already.
            let wake =
                if phases > 1 && phase.label.contains(timer.wake.name()) { "" } else { timer.wake.name() };
            format!("{wake} every {every}, SCHED_{policy}{priority}").trim_start().to_owned()
        })
        .collect();
    how.dedup();
    match how.as_slice() {
        _ if phase.probe == "gpio-wiggle" => parts.extend(wiggles::title(run, phase.phase)),
        [] if phase.probe == "noise" => parts.extend(gaps_title(run, phase)),
        [] if phase.probe == "gpio-reaction" => parts.extend(reactions::title(run, phase.phase)),
        [] if phase.probe == "foreign" => parts.extend(imported::title(run, phase)),
        [] if !matches!(phase.probe, "timer" | "kernel") => {
            let name = if phase.label.contains(phase.probe) && phases > 1 { "" } else { phase.probe };
            parts.push(
                format!("{name} every {}", format_duration_ns(phase.period_ns)).trim_start().to_owned(),
            );
        }
        [] => parts.push(phase.wake.name().to_owned()),
        [one] => parts.push(one.clone()),
        [first, ..] => parts.push(format!("{first} and others")),
    }
    parts.push(match phase.loads.as_slice() {
        [] => "no load".to_owned(),
        loads => format!("load {}", harmless(&loads.join(" + "))),
    });
    parts.extend(phase.measured_ns.map(|ns| format!("for {}", sentence::rounded(ns))));
    parts.join(", ")
}

/// How noise was looked for: `a loop on tsc, SCHED_FIFO 1`.
fn gaps_title(run: &Run, phase: &PhaseFindings) -> Option<String> {
    let gaps = phase.series.iter().find_map(|index| run.series[*index].gaps())?;
    let policy = gaps.policy.name().to_uppercase();
    let priority = if gaps.policy.has_priority() { format!(" {}", gaps.priority) } else { String::new() };
    Some(format!("a loop that reads {}, SCHED_{policy}{priority}", gaps.counter.name()))
}

fn row_table<'a>(rows: impl Iterator<Item = &'a Row>, width: usize) -> Vec<String> {
    let mut table =
        Table::new(&["us", "recorded", "missed", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"]);
    for row in rows {
        table.push(row_cells(row));
    }
    table.lines(width)
}

fn row_cells(row: &Row) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), microseconds);
    let mut cells = vec![
        short(&harmless(&row.label), LABEL_MAX),
        count(row.recorded),
        row.missed_shown().map_or_else(|| "-".to_owned(), count),
        us(row.min_ns.map(|ns| ns as f64)),
        us(row.mean_ns),
    ];
    cells.extend(row.quantiles.iter().map(|quantile| latency::quantile(quantile.value)));
    cells.push(us(row.max_ns.map(|ns| ns as f64)));
    cells
}

fn levels_block(findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    let Some(found) = &findings.levels else { return Vec::new() };
    let mut table = Table::new(&levels::HEADS);
    levels::rows(found).into_iter().for_each(|row| table.push(row));
    let mut lines =
        vec!["Where it got late: levels side by side, all CPUs and rounds".to_owned(), String::new()];
    lines.extend(table.lines(width));
    lines.extend(folded_all(&levels::notes(found), width, |line| ink.faint(line)));
    lines
}

/// The way from the edge to the answer.
fn reactions_block(findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    if findings.reactions.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&reactions::HEADS);
    reactions::rows(findings).into_iter().for_each(|row| table.push(row));
    let mut lines = vec![reactions::TITLE.to_owned(), String::new()];
    lines.extend(table.lines(width));
    lines.extend(folded_all(&reactions::notes(findings), width, |line| ink.faint(line)));
    lines
}

/// Pins that were wiggled as fast as they could be.
fn wiggles_block(findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    if findings.wiggles.is_none() {
        return Vec::new();
    }
    let mut table = Table::new(&wiggles::HEADS);
    wiggles::rows(findings).into_iter().for_each(|row| table.push(row));
    let mut lines = vec![wiggles::heading(findings).to_owned(), String::new()];
    lines.extend(table.lines(width));
    lines.extend(folded_all(&wiggles::notes(findings), width, |line| ink.faint(line)));
    lines
}

/// Why the worst wake-ups were late.
fn causes_block(run: &Run, findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    let mut lines = folded_all(&causes::conclusions(run, findings), width, |line| ink.strong(line));
    let shown = causes::worst_first(findings).into_iter().take(causes::SHOWN_MAX);
    lines.extend(shown.flat_map(|cause| {
        folded(&format!("{}: {}", causes::title(run, cause), causes::sentence(run, cause)), width)
    }));
    if !lines.is_empty() {
        lines.extend(folded_all(&causes::notes(run, findings), width, |line| ink.faint(line)));
    }
    lines
}

/// A table of flows for each phase of a switch's test, then what they mean.
fn flow_blocks(run: &Run, findings: &Findings, width: usize, ink: Ink) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = findings.flows.iter().map(|phase| flow_table(phase, width)).collect();
    if !blocks.is_empty() {
        blocks.push(folded_all(&flows::notes(run, &findings.flows), width, |line| ink.faint(line)));
    }
    blocks
}

fn flow_table(phase: &FlowPhase, width: usize) -> Vec<String> {
    let mut table = Table::new(&flows::HEADS);
    flows::rows(phase).into_iter().for_each(|row| table.push(row));
    let mut lines = vec![format!("Slots, {}", short(&harmless(&phase.label), LABEL_MAX)), String::new()];
    lines.extend(table.lines(width));
    lines
}

/// What took the CPUs, for each phase that looked for it, then what must be known of that.
fn noise_blocks(findings: &Findings, width: usize, ink: Ink) -> Vec<Vec<String>> {
    let mut blocks = Vec::new();
    for phase in &findings.noise {
        let mut table = Table::new(&noise::CPU_HEADS);
        noise::cpu_rows(phase).into_iter().for_each(|row| table.push(row));
        let mut lines = vec![noise::title(phase), String::new()];
        lines.extend(table.lines(width));
        let sources = noise::source_rows(phase);
        if !sources.is_empty() {
            let mut table = Table::new(&noise::SOURCE_HEADS);
            sources.into_iter().for_each(|row| table.push(row));
            lines.push(String::new());
            lines.extend(table.lines(width));
            lines.push(String::new());
            lines.extend(folded_all(&noise::causes(phase), width, str::to_owned));
        }
        blocks.push(lines);
    }
    blocks.push(folded_all(&noise::notes(&findings.noise), width, |line| ink.faint(line)));
    blocks
}

fn wakes_block(findings: &Findings, width: usize) -> Vec<String> {
    if findings.wakes.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["Wake methods, all CPUs and rounds".to_owned(), String::new()];
    lines.extend(row_table(findings.wakes.iter().map(|wake| &wake.row), width));
    lines
}

fn rounds_block(findings: &Findings, width: usize) -> Vec<String> {
    if findings.rounds.is_empty() {
        return Vec::new();
    }
    let mut table =
        Table::new(&["maxima of repeated phases, us", "rounds", "lowest", "median", "highest", "ratio"]);
    for rounds in &findings.rounds {
        table.push(vec![
            harmless(&rounds.label),
            rounds.maxima_ns.len().to_string(),
            microseconds(rounds.lowest_ns as f64),
            microseconds(rounds.median_ns as f64),
            microseconds(rounds.highest_ns as f64),
            format!("{:.2}", rounds.highest_ns as f64 / rounds.lowest_ns.max(1) as f64),
        ]);
    }
    table.lines(width)
}

fn published_block(findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    let Some(beside) = &findings.published else { return Vec::new() };
    let mut lines = Vec::new();
    if !beside.matches.is_empty() {
        lines.extend(["Beside the published results".to_owned(), String::new()]);
        let mut table = Table::new(&published::HEADS);
        published::rows(beside).into_iter().for_each(|row| table.push(row));
        lines.extend(table.lines(width));
    }
    lines.extend(folded_all(&published::notes(beside), width, |line| ink.faint(line)));
    lines
}

fn loads_block(findings: &Findings, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for load in &findings.loads {
        lines.extend(folded(&load_line(load), width));
    }
    lines
}

fn load_line(load: &LoadFindings) -> String {
    let parts: Vec<String> = load.parts.iter().map(part_text).collect();
    format!("Load {}: {}", harmless(&load.spec), parts.join("; "))
}

/// What a part of a load achieved: `scheduler 45.3 k messages/s`.
pub(crate) fn part_text(part: &PartFindings) -> String {
    let name = harmless(&part.name);
    let died = match part.deaths {
        0 => "",
        _ => ", died",
    };
    match part.per_second {
        Some(rate) => format!("{name} {}{died}", per_second(rate, &harmless(&part.unit))),
        None => format!("{name} (nothing to count){died}"),
    }
}

fn cost_block(run: &Run, findings: &Findings, width: usize) -> Vec<String> {
    let Some(cost) = &findings.cost else { return Vec::new() };
    let mut parts = Vec::new();
    let cycle = |one: &WakeCost| {
        let spins = if one.wake == Wake::Busy { ", spinning through it" } else { "" };
        format!("{} of CPU time a cycle{spins}", with_unit(one.cpu_ns_per_cycle))
    };
    match cost.per_wake.as_slice() {
        [one] => parts.push(cycle(one)),
        several => parts.extend(several.iter().map(|one| format!("{} {}", one.wake.name(), cycle(one)))),
    }
    parts.push(counted(cost.page_faults, "page fault", "page faults"));
    parts.push(
        cost.migrations
            .map_or_else(|| "migrations unknown".to_owned(), |n| counted(n, "migration", "migrations")),
    );
    parts.push(counted(cost.involuntary_switches, "involuntary switch", "involuntary switches"));
    if let Some(share) = cost.housekeeping_share {
        parts.push(format!(
            "housekeeping took {} of cpu {} over the {} of the whole run",
            per_cent(share),
            run.plan.housekeeping_cpu,
            sentence::rounded(cost.whole_run_ns)
        ));
    }
    folded(&format!("tardy itself: {}.", parts.join(", ")), width)
}

fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { several })
}

fn conclusion(findings: &Findings, width: usize, ink: Ink) -> Vec<String> {
    let mut lines = Vec::new();
    if let [phase] = findings.phases.as_slice() {
        lines.extend(sentence::plain(phase).map(|text| folded(&text, width)).into_iter().flatten());
    }
    lines.extend(folded_all(&flows::sentences(&findings.flows), width, |line| ink.strong(line)));
    lines.extend(folded_all(&noise::sentences(&findings.noise), width, |line| ink.strong(line)));
    lines.extend(sentence::no_verdict(findings).map(|text| ink.strong(&text)));
    if let Some(verdict) = &findings.verdict {
        let (outcome, rest) = match sentence::verdict(verdict).split_first() {
            Some((outcome, rest)) => (outcome.clone(), rest.to_vec()),
            None => return lines,
        };
        lines.extend(folded(&outcome, width).iter().map(|line| ink.strong(line)));
        lines.extend(folded_all(&rest, width, str::to_owned));
    }
    lines
}

fn folded_all(texts: &[String], width: usize, paint: impl Fn(&str) -> String) -> Vec<String> {
    texts.iter().flat_map(|text| folded(text, width)).map(|line| paint(&line)).collect()
}

/// Text in lines of at most `width`, broken between words.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
