//! What the report shows of one run.

use serde::Serialize;
use tardy_analyse::causes::Cause;
use tardy_analyse::findings::{Findings, PhaseFindings};
use tardy_analyse::flows::FlowPhase;
use tardy_analyse::name::{self, Readings};
use tardy_analyse::noise::NoisePhase;
use tardy_analyse::reactions::{Overlay, overlays};
use tardy_analyse::row::Row;
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use super::plots::{self, Marks, PlotView};
use super::published_view::{self, PublishedView};
use super::run_tables::{self, Details, TableView};
use crate::latency::{self, count, harmless, microseconds, short, typeset};
use crate::plot::scope::Reactions;
use crate::plot::{self, curve};
use crate::{causes, flows, lab, levels, noise, notes, reactions, sentence, summary, wiggles};

/// Phases whose reactions are drawn; a recipe of many has its tables and curves.
const SCOPES_MAX: usize = 6;

/// One run.
#[derive(Debug, Serialize)]
pub(super) struct RunView {
    id: String,
    kicker: Vec<String>,
    headline: String,
    spoilt: Vec<String>,
    alarm: Option<String>,
    whose: Option<String>,
    limits: Vec<String>,
    plain: Vec<String>,
    verdict: Option<VerdictView>,
    no_verdict: Option<String>,
    numbers: Vec<KeyNumber>,
    readings: &'static str,
    slots: Option<SlotsView>,
    noise: Vec<NoiseView>,
    /// Whether it did nothing but look for gaps.
    only_gaps: bool,
    phases: Vec<PhaseView>,
    wakes: Vec<Vec<String>>,
    levels: Option<LevelsView>,
    reactions: Option<LevelsView>,
    scopes: Vec<PlotView>,
    wiggles: Option<LevelsView>,
    only_toggles: bool,
    causes: Option<CausesView>,
    published: Option<PublishedView>,
    lab: Vec<[String; 2]>,
    rounds: Vec<Vec<String>>,
    notes: Vec<String>,
    latency: Option<PlotView>,
    exceedance: Option<PlotView>,
    timeline: Option<PlotView>,
    heat: Option<PlotView>,
    details: Details,
}

#[derive(Debug, Serialize)]
struct VerdictView {
    kept: bool,
    outcome: String,
    rest: Vec<String>,
}

#[derive(Debug, Serialize)]
struct KeyNumber {
    name: String,
    value: String,
    unit: String,
    note: String,
}

#[derive(Debug, Serialize)]
struct LevelsView {
    table: TableView,
    notes: Vec<String>,
}

/// Why wake-ups were late.
#[derive(Debug, Serialize)]
struct CausesView {
    sentences: Vec<String>,
    moments: Vec<(String, Option<PlotView>)>,
    notes: Vec<String>,
}

/// Whether the slots of a switch held.
#[derive(Debug, Serialize)]
struct SlotsView {
    kept: Option<bool>,
    sentences: Vec<String>,
    tables: Vec<(String, TableView)>,
    notes: Vec<String>,
    cycle: Option<PlotView>,
    drift: Option<PlotView>,
}

/// What took the CPUs in one phase.
#[derive(Debug, Serialize)]
struct NoiseView {
    title: String,
    sentences: Vec<String>,
    gaps: Option<PlotView>,
    strip: Option<PlotView>,
    cpus: TableView,
    sources: Option<TableView>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PhaseView {
    title: String,
    rows: Vec<Vec<String>>,
    all: Option<Vec<String>>,
}

impl RunView {
    /// What its part of the page is called.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// `id` is what its part of the page is called, and what the ids in it begin with.
pub(super) fn of(run: &Run, findings: &Findings, id: String) -> RunView {
    let readings = Readings::of_runs(&[run]);
    let marks = Marks { limit_ns: findings.limit_ns, mark: plot::mark(&[run]), readings };
    let curves = curve::curves(&[run]);
    let plot_id = |name: &str| format!("{id}-{name}");
    let only_gaps = !findings.noise.is_empty() && run.own_series().all(|series| series.gaps().is_some());
    // Lengths of gaps have plots of their own.
    let curves = if only_gaps { Vec::new() } else { curves };
    let only_toggles = readings == Readings::Toggles;
    let how = if only_toggles { "How long a toggle took" } else { "How late" };
    RunView {
        kicker: kicker(run),
        headline: harmless(&run.headline()),
        spoilt: sentence::spoilt(run),
        alarm: lab::alarm(run),
        whose: lab::whose(run),
        limits: sentence::limits(run),
        plain: plain(findings),
        verdict: findings.verdict.as_ref().and_then(verdict_view),
        no_verdict: sentence::no_verdict(findings),
        numbers: numbers(findings, only_gaps),
        readings: readings.name(),
        slots: slots_view(run, findings, &plot_id, marks),
        noise: findings.noise.iter().map(|phase| noise_view(run, phase, &plot_id, marks)).collect(),
        only_gaps,
        phases: findings.phases.iter().map(|phase| phase_view(run, phase, findings.phases.len())).collect(),
        wakes: findings.wakes.iter().map(|wake| cells(&wake.row)).collect(),
        levels: findings.levels.as_ref().map(levels_view),
        reactions: (!findings.reactions.is_empty()).then(|| reactions_view(findings)),
        scopes: scopes(run, findings, &plot_id, marks),
        wiggles: findings.wiggles.as_ref().map(|_| wiggles_view(findings)),
        only_toggles,
        causes: causes_view(run, findings, &plot_id, marks),
        published: published_view::of(findings),
        lab: run.lab.as_ref().map(lab::rows).unwrap_or_default(),
        rounds: rounds(findings),
        notes: notes::of(run, findings),
        latency: plots::latency(&plot_id("latency"), how, &curves, marks),
        exceedance: plots::exceedance(&plot_id("exceedance"), &curves, marks),
        timeline: plots::timeline(&plot_id("timeline"), run, marks),
        heat: plots::heat(&plot_id("heat"), run, marks),
        details: run_tables::of(run, findings),
        id,
    }
}

/// Where and when: the kernel of a run of the lab, host, board, distribution, date.
fn kicker(run: &Run) -> Vec<String> {
    let machine = &run.facts.machine;
    let known = [machine.board.get(), machine.distribution.get()];
    let date = run.origin.started_at.replace('T', " ").replace('Z', " UTC");
    let kernel = run.lab.as_ref().map(|_| name::of_run(run));
    let parts = [kernel.as_ref(), Some(&run.origin.host), known[0], known[1], Some(&date)];
    parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .map(|part| short(&harmless(part), 60))
        .collect()
}

/// One sentence of a run with one phase; of several, none: the tables compare them.
fn plain(findings: &Findings) -> Vec<String> {
    match findings.phases.as_slice() {
        [phase] => sentence::plain(phase).into_iter().map(typographic).collect(),
        _ => Vec::new(),
    }
}

/// Text made for the terminal with the signs of print.
fn typographic(text: String) -> String {
    text.replace(" us", "\u{a0}µs")
}

fn verdict_view(verdict: &tardy_analyse::verdict::Verdict) -> Option<VerdictView> {
    let mut sentences = sentence::verdict(verdict).into_iter().map(typographic);
    let outcome = sentences.next()?;
    Some(VerdictView { kept: verdict.late_at_most == 0, outcome, rest: sentences.collect() })
}

/// The numbers that one came for: of wake-ups if there were any, else of noise.
fn numbers(findings: &Findings, only_gaps: bool) -> Vec<KeyNumber> {
    if only_gaps {
        return noise_numbers(findings);
    }
    let phases: Vec<&PhaseFindings> =
        findings.phases.iter().filter(|phase| phase.readings != Readings::Gaps).collect();
    let late: Vec<&PhaseFindings> =
        phases.iter().copied().filter(|phase| phase.readings != Readings::Toggles).collect();
    let phases = if late.is_empty() { phases } else { late };
    phases.first().map_or_else(Vec::new, |first| key_numbers(&phases, first))
}

fn key_number(name: &str, value: String, note: String) -> KeyNumber {
    let (value, unit) = value
        .split_once('\u{a0}')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap_or((value, String::new()));
    KeyNumber { name: name.to_owned(), value, unit, note }
}

/// Of the noisiest CPU, and the longest gap of all.
fn noise_numbers(findings: &Findings) -> Vec<KeyNumber> {
    let cpus = || findings.noise.iter().flat_map(|phase| &phase.cpus);
    let Some(noisiest) = cpus().max_by(|a, b| a.share.total_cmp(&b.share)) else { return Vec::new() };
    let place = short(&harmless(&noisiest.label), 40);
    let mut numbers = vec![
        key_number("noise", crate::latency::per_cent(noisiest.share).replace(' ', "\u{a0}"), place.clone()),
        key_number("gaps a second", crate::latency::three_digits(noisiest.gaps_per_second), place),
    ];
    if let Some(longest) = cpus().filter(|cpu| cpu.longest_ns.is_some()).max_by_key(|cpu| cpu.longest_ns) {
        let at =
            longest.longest_at_ns.map_or_else(String::new, |ns| format!(", after {}", sentence::rounded(ns)));
        let note = format!("{}{at}", short(&harmless(&longest.label), 40));
        numbers.push(key_number("longest", typeset(longest.longest_ns.unwrap_or(0) as f64), note));
    }
    numbers
}

/// The numbers that one came for, of a run with one phase; with several, the worst of all and where.
fn key_numbers(phases: &[&PhaseFindings], first: &PhaseFindings) -> Vec<KeyNumber> {
    let number = key_number;
    let worst = phases.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)));
    let Some((phase, row)) = worst.filter(|(_, row)| row.max_ns.is_some()).max_by_key(|(_, row)| row.max_ns)
    else {
        return Vec::new();
    };
    let single = phases.len() == 1;
    let place = if single {
        harmless(&row.label)
    } else {
        format!("{}, {}", harmless(&row.label), harmless(&phase.label))
    };
    let at = row.max_at_ns.map_or_else(String::new, |ns| format!(", after {}", sentence::rounded(ns)));
    let mut numbers =
        vec![number("worst", typeset(row.max_ns.unwrap_or(0) as f64), short(&format!("{place}{at}"), 60))];
    if let Some(all) = first.all.as_ref().filter(|_| single) {
        let more = if first.readings == Readings::Toggles { "longer" } else { "later" };
        for (level, name, share) in
            [("p99.99", "p99.99", "1 in 10,000"), ("p99", "p99", "1 in 100"), ("p50", "median", "half")]
        {
            let note = format!("{share} {more}");
            let value = all
                .quantiles
                .iter()
                .find(|quantile| quantile.level == level)
                .and_then(|quantile| quantile.value);
            if let Some(value) = value {
                let figure = typeset(value.quoted_ns() as f64);
                numbers.push(number(name, latency::at_least(figure, value.at_least), note));
            }
        }
    }
    let total: u64 = phases.iter().filter_map(|phase| phase.all.as_ref()).map(|all| all.quoted_count).sum();
    let missed: u64 = phases.iter().flat_map(|phase| &phase.rows).filter_map(|row| row.missed.get()).sum();
    let measured: u64 = phases.iter().filter_map(|phase| phase.measured_ns).sum();
    let note = if measured > 0 { format!("in {}", sentence::rounded(measured)) } else { String::new() };
    numbers.push(number(
        first.readings.name(),
        count(total),
        if missed > 0 { format!("{note}, {} missed", count(missed)) } else { note },
    ));
    numbers
}

fn phase_view(run: &Run, phase: &PhaseFindings, phases: usize) -> PhaseView {
    PhaseView {
        title: summary::phase_title(run, phase, phases),
        rows: phase.rows.iter().map(cells).collect(),
        all: phase.all.as_ref().filter(|_| phase.rows.len() > 1).map(cells),
    }
}

/// The cells of a line: label, recorded, missed, min, mean, quantiles, max.
pub(super) fn cells(row: &Row) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(|| "–".to_owned(), |ns| microseconds(ns).replace('-', "−"));
    let mut cells = vec![
        short(&harmless(&row.label), 40),
        count(row.recorded),
        row.missed_shown().map_or_else(|| "–".to_owned(), count),
        us(row.min_ns.map(|ns| ns as f64)),
        us(row.mean_ns),
    ];
    cells.extend(row.quantiles.iter().map(|quantile| latency::quantile(quantile.value).replace('-', "−")));
    cells.push(us(row.max_ns.map(|ns| ns as f64)));
    cells
}

fn slots_view(
    run: &Run,
    findings: &Findings,
    plot_id: &impl Fn(&str) -> String,
    marks: Marks,
) -> Option<SlotsView> {
    let phases = &findings.flows;
    if phases.is_empty() {
        return None;
    }
    let table = |phase: &FlowPhase| {
        let dashed = |cell: String| if cell == "-" { "–".to_owned() } else { cell };
        let rows = flows::rows(phase).into_iter().map(|row| row.into_iter().map(dashed).collect()).collect();
        let heads = flows::HEADS.map(|head| if head == "worst, us" { "worst, µs" } else { head }).to_vec();
        (short(&harmless(&phase.label), 60), TableView { heads, rows })
    };
    Some(SlotsView {
        kept: flows::all_held(phases),
        sentences: flows::sentences(phases).into_iter().map(typographic).collect(),
        tables: phases.iter().map(table).collect(),
        notes: flows::notes(run, phases).into_iter().map(typographic).collect(),
        cycle: plots::cycle(&plot_id("cycle"), run, phases, marks),
        drift: plots::drift(&plot_id("drift"), run, phases, marks),
    })
}

fn causes_view(
    run: &Run,
    findings: &Findings,
    plot_id: &impl Fn(&str) -> String,
    marks: Marks,
) -> Option<CausesView> {
    let lines = |lines: Vec<String>| lines.into_iter().map(typographic).collect::<Vec<_>>();
    let moment = |(number, cause): (usize, &Cause)| {
        let title = typographic(causes::title(run, cause));
        let plot = plots::moment(&plot_id(&format!("moment-{number}")), &title, cause, marks);
        (typographic(causes::sentence(run, cause)), plot)
    };
    let view = CausesView {
        sentences: lines(causes::conclusions(run, findings)),
        moments: causes::worst_first(findings)
            .into_iter()
            .take(causes::SHOWN_MAX)
            .enumerate()
            .map(moment)
            .collect(),
        notes: lines(causes::notes(run, findings)),
    };
    (!view.sentences.is_empty() || !view.moments.is_empty()).then_some(view)
}

fn noise_view(run: &Run, phase: &NoisePhase, plot_id: &impl Fn(&str) -> String, marks: Marks) -> NoiseView {
    let phases = std::slice::from_ref(phase);
    let dashed = |cell: String| if cell == "-" { "–".to_owned() } else { cell };
    let typeset = |rows: Vec<Vec<String>>| -> Vec<Vec<String>> {
        rows.into_iter().map(|row| row.into_iter().map(dashed).map(typographic).collect()).collect()
    };
    let heads = |heads: &[&'static str]| -> Vec<&'static str> {
        let head = |head: &&'static str| match *head {
            "longest, us" => "longest, µs",
            "gap, us" => "gap, µs",
            "jitter, us" => "jitter, µs",
            other => other,
        };
        heads.iter().map(head).collect()
    };
    let mut source_heads = heads(&noise::SOURCE_HEADS);
    source_heads.push("what it probably is");
    let causes = phase.cpus.iter().flat_map(|cpu| &cpu.sources).map(noise::cause_text);
    let with_cause = |(mut row, cause): (Vec<String>, String)| {
        row.push(cause);
        row
    };
    let sources: Vec<Vec<String>> =
        noise::source_rows(phase).into_iter().zip(causes).map(with_cause).collect();
    NoiseView {
        title: noise::title(phase),
        sentences: noise::sentences(phases).into_iter().map(typographic).collect(),
        gaps: plots::gaps(&plot_id(&format!("gaps{}", phase.phase)), run, phase, marks),
        strip: plots::strip(&plot_id(&format!("strip{}", phase.phase)), run, phase, marks),
        cpus: TableView { heads: heads(&noise::CPU_HEADS), rows: typeset(noise::cpu_rows(phase)) },
        sources: (!sources.is_empty()).then(|| TableView { heads: source_heads, rows: typeset(sources) }),
        notes: noise::notes(phases).into_iter().map(typographic).collect(),
    }
}

fn levels_view(found: &tardy_analyse::levels::Levels) -> LevelsView {
    let mut heads = levels::HEADS.to_vec();
    heads[0] = "level, µs";
    let cell = |cell: String| if cell == "-" { "–".to_owned() } else { cell };
    let rows = levels::rows(found).into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    let notes = levels::notes(found).into_iter().map(typographic).collect();
    LevelsView { table: TableView { heads, rows }, notes }
}

fn reactions_view(findings: &Findings) -> LevelsView {
    let mut heads = reactions::HEADS.to_vec();
    heads[0] = "span, µs";
    let notes = reactions::notes(findings).into_iter().map(typographic).collect();
    LevelsView { table: TableView { heads, rows: reactions::rows(findings) }, notes }
}

/// All reactions of each phase, as on an oscilloscope.
fn scopes(run: &Run, findings: &Findings, plot_id: &impl Fn(&str) -> String, marks: Marks) -> Vec<PlotView> {
    let draw = |overlay: &Overlay| {
        let series = &run.series[overlay.series];
        let reactions = Reactions {
            histogram: &series.measured,
            max_ns: series.max_ns?,
            from: &harmless(&overlay.from),
            to: &harmless(&overlay.to),
            title: findings.phases.get(series.phase).map_or("", |phase| &phase.label),
        };
        plots::scope(&plot_id(&format!("scope-{}", series.phase + 1)), &reactions, marks)
    };
    overlays(run).iter().take(SCOPES_MAX).filter_map(draw).collect()
}

fn wiggles_view(findings: &Findings) -> LevelsView {
    let heads = wiggles::HEADS.map(|head| if head == "hole, us" { "hole, µs" } else { head }).to_vec();
    let typeset = |row: Vec<String>| row.into_iter().map(typographic).collect();
    let rows = wiggles::rows(findings).into_iter().map(typeset).collect();
    let notes = wiggles::notes(findings).into_iter().map(typographic).collect();
    LevelsView { table: TableView { heads, rows }, notes }
}

fn rounds(findings: &Findings) -> Vec<Vec<String>> {
    let us = |ns: i64| microseconds(ns as f64);
    let row = |rounds: &tardy_analyse::rounds::Rounds| {
        vec![
            short(&harmless(&rounds.label), 40),
            rounds.maxima_ns.len().to_string(),
            us(rounds.lowest_ns),
            us(rounds.median_ns),
            us(rounds.highest_ns),
        ]
    };
    findings.rounds.iter().map(row).collect()
}

/// A duration for a table.
pub(super) fn duration(ns: u64) -> String {
    format_duration_ns(ns)
}
