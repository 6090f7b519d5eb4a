//! OS noise: the share of the time in which a CPU or a pin was stopped, and the probable causes.

use tardy_analyse::name::Readings;
use tardy_analyse::noise::{Certainty, CpuNoise, NoisePhase, Source};
use tardy_analyse::phases::PhaseFindings;
use tardy_compare::side_by_side::{NoisePair, Pair};
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::units::format_duration_ns;

use super::phase_terms::{distinct, scheduling};
use crate::figures;
use crate::page::{Element, KeyNumber, Page, PageTable, Place, figure, heading, paragraph, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::{Style, capitalised};
use tardy_plot::numbers::{
    count, harmless, microseconds, per_cent, period_text, rounded, short, three_digits, typeset, with_unit,
};
use tardy_plot::terms::Terms;
use tardy_plot::worst_cpus;

/// Heads of the table of CPUs.
const CPU_HEADS: [&str; 7] = ["", "noise", "gaps", "gaps/s", "longest, us", "after", "not periodic"];
/// Heads of the table of sources.
const SOURCE_HEADS: [&str; 7] =
    ["", "period", "gap, us", "longest, us", "jitter, us", "missing", "of the noise"];
/// Heads of the table that compares two runs.
const PAIR_HEADS: [&str; 5] = ["noise", "base", "candidate", "base, gaps/s", "candidate, gaps/s"];

const STRIP_CAPTION: &str = "The beginning of the run: each mark is a moment at which the CPU was taken away; its height is \
                             the length of the gap. Periodic noise shows as a comb.";
const GAPS_CAPTION: &str = "Number of gaps by length; both axes are logarithmic.";
const MISSING: &str = "Missing: periods of the source without a gap. A cause without 'perhaps' was confirmed by an interrupt \
                       counter with the same rate, or by the kernel's own settings.";

/// Terms for gaps.
const WORDS: Terms = Terms {
    distribution: "Each CPU",
    quantity: "length",
    tail: "Tail of the distribution",
    exceeding: "at least as long as each length",
    degree: "long",
    axis: "length of the gap, µs",
    peak: "longest gap",
    values: "lengths",
    more: "longer",
    pooled: "all CPUs",
};

/// OS noise.
pub struct Noise;

impl Section for Noise {
    fn name(&self) -> &'static str {
        "noise"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let phases = &context.findings.noise;
        for (phase, rest) in phases.iter().map(worst) {
            let phase = &phase;
            let mut block = text.block();
            block.titled_table(&title(phase), &cpu_table(phase));
            if let Some(rest) = rest {
                block.paragraph(Style::Faint, &rest);
            }
            let sources = source_table(phase);
            if !sources.is_empty() {
                block.line(Style::Plain, "");
                block.table(&sources);
                block.line(Style::Plain, "");
                block.paragraphs(Style::Plain, &causes(phase));
            }
            text.add(Part::Results, block);
        }
        let mut block = text.block();
        block.paragraphs(Style::Faint, &notes(phases));
        text.add(Part::Results, block);
        let mut conclusion = text.block();
        conclusion.paragraphs(Style::Bold, &sentences(phases));
        text.add(Part::Conclusion, conclusion);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        for phase in &context.findings.noise {
            let elements = elements(context.run, phase, page);
            page.add(Place::Before, elements);
        }
        if Readings::of_runs(&[context.run]) == Readings::Gaps {
            let numbers = numbers(&context.findings.noise);
            page.add(Place::Numbers, (!numbers.is_empty()).then_some(Element::Numbers { numbers }));
        }
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }

    fn comparison(&self, pair: &Pair) -> Option<(&'static str, Table)> {
        let mut table = Table::new(&PAIR_HEADS);
        pair_rows(&pair.noise).into_iter().for_each(|row| table.push(row));
        (!table.is_empty()).then_some(("Noise", table))
    }
}

impl Measurement for Noise {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Noise
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Gaps
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    /// The counter and the scheduling: `a loop that reads tsc, SCHED_FIFO 1`.
    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let gaps = phase.series.iter().find_map(|index| run.series[*index].gaps())?;
        Some(format!("a loop that reads {}, {}", gaps.counter.name(), scheduling(gaps.policy, gaps.priority)))
    }

    /// None: [`Section::text`] adds the sentences about noise.
    fn sentence(&self, _phase: &PhaseFindings) -> Option<String> {
        None
    }

    /// A gap is not a wake-up: it has no schedule to miss.
    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        false
    }

    fn no_limit_because(&self) -> Option<&'static str> {
        Some("noise is how long a CPU was taken away, not how late a wake-up was")
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Noise(noise) = &plan.probe {
            planned.policy = noise.policy.name();
            planned.priorities = distinct(noise.threads.iter().map(|thread| u64::from(thread.priority)));
        }
        planned
    }
}

fn elements(run: &Run, phase: &NoisePhase, page: &Page) -> Vec<Element> {
    let phases = std::slice::from_ref(phase);
    let (phase, rest) = &worst(phase);
    let marks = page.marks();
    let mut elements = vec![heading(2, title(phase))];
    elements.extend(paragraphs("lead", &sentences(phases)));
    let strip = figures::strip(&page.plot_id(&format!("strip{}", phase.phase)), run, phase, marks);
    elements.extend(figure(strip, STRIP_CAPTION));
    elements.push(Element::Table(PageTable::typeset("", &cpu_table(phase))));
    elements.extend(rest.iter().map(|rest| paragraph("note", rest)));
    if !source_table(phase).is_empty() {
        elements.push(heading(3, "Periodic noise"));
        elements.push(Element::Table(PageTable::typeset("words-end", &source_table_with_causes(phase))));
    }
    elements.extend(paragraphs("note", &notes(phases)));
    let gaps = figures::gaps(&page.plot_id(&format!("gaps{}", phase.phase)), run, phase, marks);
    if let Some(gaps) = figure(gaps, GAPS_CAPTION) {
        elements.extend([heading(3, "Lengths of gaps"), gaps]);
    }
    elements
}

/// The noisiest CPU, and the longest gap.
fn numbers(phases: &[NoisePhase]) -> Vec<KeyNumber> {
    let cpus = || phases.iter().flat_map(|phase| &phase.cpus);
    let Some(noisiest) = cpus().max_by(|a, b| a.share.total_cmp(&b.share)) else { return Vec::new() };
    let place = short(&harmless(&noisiest.label), 40);
    let mut numbers = vec![
        KeyNumber::new("noise", &per_cent(noisiest.share).replace(' ', "\u{a0}"), place.clone()),
        KeyNumber::new("gaps per second", &three_digits(noisiest.gaps_per_second), place),
    ];
    let longest = cpus().filter_map(|cpu| Some((cpu.longest_ns?, cpu))).max_by_key(|(ns, _)| *ns);
    if let Some((longest_ns, cpu)) = longest {
        let at = cpu.longest_at_ns.map_or_else(String::new, |ns| format!(", after {}", rounded(ns)));
        let note = format!("{}{at}", short(&harmless(&cpu.label), 40));
        numbers.push(KeyNumber::new("longest", &typeset(longest_ns as f64), note));
    }
    numbers
}

fn pair_rows(pairs: &[NoisePair]) -> Vec<Vec<String>> {
    let phases = pairs.iter().any(|pair| pair.phase != pairs[0].phase);
    let row = |pair: &NoisePair| {
        let label = if phases { format!("{}, {}", pair.phase, pair.label) } else { pair.label.clone() };
        let [base, candidate] = pair.share.map(per_cent);
        let [base_gaps, candidate_gaps] = pair.gaps_per_second.map(three_digits);
        vec![short(&harmless(&label), 40), base, candidate, base_gaps, candidate_gaps]
    };
    pairs.iter().map(row).collect()
}

/// The phase with the worst of many CPUs, and one line about the others; with all CPUs if they are few.
fn worst(phase: &NoisePhase) -> (NoisePhase, Option<String>) {
    let longest = |cpu: &CpuNoise| cpu.longest_ns.and_then(|ns| i64::try_from(ns).ok());
    let maxima: Vec<Option<i64>> = phase.cpus.iter().map(longest).collect();
    let Some(worst) = worst_cpus::of(&maxima) else { return (phase.clone(), None) };
    let part = |indices: &[usize]| -> Vec<CpuNoise> {
        indices.iter().map(|index| phase.cpus[*index].clone()).collect()
    };
    let shares = || worst.folded.iter().map(|index| phase.cpus[*index].share);
    let (least, most) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    let rest = format!(
        "{} more CPUs: noise {} to {}, no longer gap",
        worst.folded.len(),
        per_cent(least),
        per_cent(most)
    );
    (NoisePhase { cpus: part(&worst.shown), ..phase.clone() }, Some(rest))
}

/// A row for each CPU.
fn cpu_table(phase: &NoisePhase) -> Table {
    let mut table = Table::new(&CPU_HEADS);
    phase.cpus.iter().for_each(|cpu| table.push(cpu_row(cpu)));
    table
}

/// A row for each source of each CPU.
fn source_table(phase: &NoisePhase) -> Table {
    let mut table = Table::new(&SOURCE_HEADS);
    sources(phase).for_each(|(cpu, source)| table.push(source_row(&harmless(&cpu.label), source)));
    table
}

fn source_table_with_causes(phase: &NoisePhase) -> Table {
    let mut heads = SOURCE_HEADS.to_vec();
    heads.push("probable cause");
    let mut table = Table::new(&heads);
    for (cpu, source) in sources(phase) {
        let mut row = source_row(&harmless(&cpu.label), source);
        row.push(cause_text(source));
        table.push(row);
    }
    table
}

fn sources(phase: &NoisePhase) -> impl Iterator<Item = (&CpuNoise, &Source)> {
    phase.cpus.iter().flat_map(|cpu| cpu.sources.iter().map(move |source| (cpu, source)))
}

fn cpu_row(cpu: &CpuNoise) -> Vec<String> {
    let dash = || "-".to_owned();
    vec![
        short(&harmless(&cpu.label), 28),
        per_cent(cpu.share),
        count(cpu.gaps),
        three_digits(cpu.gaps_per_second),
        cpu.longest_ns.map_or_else(dash, |ns| microseconds(ns as f64)),
        cpu.longest_at_ns.map_or_else(dash, rounded),
        cpu.rest_share.map_or_else(dash, per_cent),
    ]
}

fn source_row(label: &str, source: &Source) -> Vec<String> {
    let period = &source.period;
    let all = period.events + period.missing;
    vec![
        short(label, 28),
        period_text(period.period_ns, period.period_error_ns),
        microseconds(period.length_ns as f64),
        microseconds(period.longest_ns as f64),
        microseconds(period.jitter_ns),
        format!("{} of {}", count(period.missing), count(all)),
        per_cent(source.share_of_noise),
    ]
}

/// The probable causes in the order of the table of sources, each with its CPUs.
fn causes(phase: &NoisePhase) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for cpu in &phase.cpus {
        for source in &cpu.sources {
            let text = cause_text(source);
            let (period, error) = (source.period.period_ns, source.period.period_error_ns);
            // The periods that two CPUs measure for the same source agree to about three digits.
            let line = format!("{}: {text}", period_text(period, error.max(period * 1e-3)));
            match groups.iter_mut().find(|(known, _)| *known == line) {
                Some((_, cpus)) => cpus.push(&cpu.label),
                None => groups.push((line, vec![&cpu.label])),
            }
        }
    }
    let cpus = |labels: &[&str]| harmless(&labels.join(", "));
    groups.iter().map(|(line, labels)| format!("{line} ({})", cpus(labels))).collect()
}

/// The title of a phase's table.
fn title(phase: &NoisePhase) -> String {
    match phase.label.as_str() {
        "noise" => "Noise".to_owned(),
        label if phase.of_pin => format!("Holes, {}", short(&harmless(label), 40)),
        label => format!("Noise, {}", short(&harmless(label), 40)),
    }
}

/// The probable cause of a source.
fn cause_text(source: &Source) -> String {
    match (&source.cause.name, source.cause.certainty) {
        (Some(name), Certainty::Found) => harmless(name),
        (Some(name), _) => format!("perhaps: {}", harmless(name)),
        (None, _) => "unknown".to_owned(),
    }
}

/// Notes to the tables.
fn notes(phases: &[NoisePhase]) -> Vec<String> {
    let cpus = || phases.iter().flat_map(|phase| &phase.cpus);
    let mut notes = Vec::new();
    let thresholds: Vec<u64> = cpus().map(|cpu| cpu.threshold_ns).collect();
    if let (Some(least), Some(most)) = (thresholds.iter().min(), thresholds.iter().max()) {
        let text = if least == most {
            format_duration_ns(*least)
        } else {
            format!("{} to {}", format_duration_ns(*least), format_duration_ns(*most))
        };
        let iteration = cpus().filter_map(|cpu| cpu.loop_ns).max_by(f64::total_cmp);
        let iteration =
            iteration.map_or_else(String::new, |ns| format!("; an iteration of the loop takes {ns:.1} ns"));
        notes.push(format!("Gaps of {text} and more are counted{iteration}."));
    }
    let blind = cpus().map(|cpu| cpu.blind_share).fold(0.0, f64::max);
    if blind > 1e-3 {
        notes.push(format!(
            "The loop spent {} of the time recording gaps and could not detect others then; a longer --threshold records fewer.",
            per_cent(blind)
        ));
    }
    for (cpu, source, drift) in drifts(phases) {
        notes.push(format!(
            "{}: the period of {} drifts by {} ppm per second.",
            harmless(cpu),
            period_text(source.period.period_ns, source.period.period_error_ns),
            three_digits(drift)
        ));
    }
    if cpus().any(|cpu| !cpu.sources.is_empty()) {
        notes.push(MISSING.to_owned());
    }
    notes
}

fn drifts(phases: &[NoisePhase]) -> Vec<(&str, &Source, f64)> {
    let cpus = phases.iter().flat_map(|phase| &phase.cpus);
    let sources = cpus.flat_map(|cpu| cpu.sources.iter().map(move |source| (cpu.label.as_str(), source)));
    sources.filter_map(|(label, source)| Some((label, source, source.period.drift_ppm_per_s?))).collect()
}

/// The result, a sentence for each phase.
fn sentences(phases: &[NoisePhase]) -> Vec<String> {
    phases.iter().filter_map(sentence).collect()
}

fn sentence(phase: &NoisePhase) -> Option<String> {
    let worst = phase.cpus.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
    let longest = phase.cpus.iter().filter_map(|cpu| Some((cpu.longest_ns?, cpu))).max_by_key(|(ns, _)| *ns);
    let Some((longest_ns, longest)) = longest else {
        let gap = if phase.of_pin { "hole" } else { "gap" };
        return Some(format!("No {gap} was as long as the threshold."));
    };
    let noisiest = if phase.cpus.len() > 1 {
        format!("on {}, the noisiest, ", harmless(&worst.label))
    } else {
        String::new()
    };
    let source = worst.sources.first().map_or_else(String::new, |source| {
        let most =
            if source.share_of_noise > 0.5 { "most of it" } else { "the largest part that has a period" };
        format!(
            "; {most} every {}, {} at a time ({})",
            period_text(source.period.period_ns, source.period.period_error_ns),
            with_unit(source.period.length_ns as f64),
            cause_text(source)
        )
    });
    if phase.of_pin {
        return Some(format!(
            "The pin did not change for {} of the time{source}. The longest hole was {}.",
            per_cent(worst.share),
            with_unit(longest_ns as f64),
        ));
    }
    Some(capitalised(&format!(
        "{noisiest}noise took {} of the time{source}. The longest gap, {}, was on {}.",
        per_cent(worst.share),
        with_unit(longest_ns as f64),
        harmless(&longest.label)
    )))
}
