//! A versus B: a headline that can be quoted, the numbers behind it, and what forbids one.

use serde::Serialize;
use tardy_analyse::{lab, outcome};
use tardy_compare::recommend::{self, Recommendation};
use tardy_compare::versus::{
    Disagreement, Exceedance, Experiment, Factor, Group, Quantity, Statistic, Strength, Test, Unit, Versus,
    WorstInEqualTime,
};
use tardy_plot::numbers::{
    count, first_few, harmless, microseconds, per_cent, ratio, rounded, short, three_digits, with_unit,
};
use tardy_plot::{Options, shift};
use tardy_record::Run;
use tardy_record::units::format_duration_ns;

use crate::compare::{listed, shape_text};
use crate::effect::{describe_ratio, interval_words, p_number, p_text, recommendation};
use crate::figures::{self, Marks};
use crate::page::{Element, PageTable, RunPage, figure, heading, paragraph, paragraphs};
use crate::table::Table;
use crate::terminal_text::{capitalised, folded, typographic};
use crate::{report, sections};

/// Longer names of groups are shortened in the headings of tables.
const NAME_MAX: usize = 20;
/// Longer names of groups are not repeated in the heading of the column of ratios.
const SHORT_NAME: usize = 10;
/// Longer values of facts are shortened.
const VALUE_MAX: usize = 40;
/// No more differences than these are named in a sentence.
const NAMED_MAX: usize = 3;

/// A comparison as JSON: with its headline first.
#[derive(Clone, Debug, Serialize)]
pub struct WithHeadline<'v> {
    headline: String,
    /// Which group to use, if both were measured in rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<Recommendation>,
    #[serde(flatten)]
    versus: &'v Versus,
}

impl<'v> WithHeadline<'v> {
    /// `versus` with its headline. `in_rounds` states whether both groups were measured in rounds.
    pub fn of(versus: &'v Versus, in_rounds: bool) -> Self {
        let recommendation = in_rounds.then(|| recommend::of_versus(versus)).flatten();
        Self { headline: headline(versus), recommendation, versus }
    }
}

/// The result in one or two sentences that can be quoted.
pub fn headline(versus: &Versus) -> String {
    let sides = [&versus.base, &versus.candidate].map(|group| group.observations.len());
    match versus.strength {
        Strength::NotComparable => {
            let mut names: Vec<String> =
                versus.differences.reasons.iter().map(|reason| harmless(reason)).collect();
            names.extend(versus.differences.obstacles.iter().map(|one| harmless(&one.name)));
            let more = match names.len().saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            names.truncate(NAMED_MAX);
            format!(
                "Not comparable: besides the factor under test ({}), this differs: {}{more}.",
                harmless(&versus.factor.to_string()),
                names.join("; ")
            )
        }
        Strength::DescriptiveOnly => format!(
            "Descriptive only, with one {} each: another boot of the same kernel might differ as much.{}",
            versus.unit.noun(),
            worst_of(versus).map(|text| format!(" {}.", capitalised(&text))).unwrap_or_default()
        ),
        Strength::TooFew { smallest_p, needed } => format!(
            "Too few {}: with {} against {} no difference can be shown at 5 %, since the smallest p-value is {}. Measure at \
             least {needed} of each ('tardy duration --boots {needed}').",
            versus.unit.plural(),
            sides[0],
            sides[1],
            three_digits(smallest_p)
        ),
        Strength::Tested => tested_headline(versus)
            .unwrap_or_else(|| format!("No statistic is determined in all {}.", versus.unit.plural())),
    }
}

/// The headline of a tested comparison: `B's p99.9 is 5.1 times lower (3.8 to 6.9); worst …`.
fn tested_headline(versus: &Versus) -> Option<String> {
    let (experiment, statistic) = primary(versus)?;
    let (effect, test) = (statistic.ratio?, statistic.test?);
    let place = place(versus, experiment);
    let (name, candidate) = (statistic.name, possessive(&versus.candidate));
    let words = match test.shows_a_difference() {
        true => {
            let interval = interval_words(&effect).map(|text| format!(" ({text})")).unwrap_or_default();
            format!("{candidate} {name}{place} is {}{interval}", describe_ratio(effect.estimate))
        }
        false => {
            let interval = interval_words(&effect)
                .map(|text| format!("; {candidate} is {text}, with 95 % confidence"))
                .unwrap_or_default();
            format!("No difference in {name}{place} is shown{interval}")
        }
    };
    Some(match worst_of(versus) {
        Some(worst) => format!("{words}; {worst}."),
        None => format!("{words}."),
    })
}

/// The experiment and the statistic of the headline.
fn primary(versus: &Versus) -> Option<(&Experiment, &Statistic)> {
    let experiment = versus.experiments.get(versus.primary?)?;
    Some((experiment, experiment.statistic(versus.primary_statistic?)?))
}

/// The name of an experiment in a sentence; empty if there is only one.
fn place(versus: &Versus, experiment: &Experiment) -> String {
    match versus.experiments.len() {
        1 => String::new(),
        _ => format!(" in '{}'", short(&harmless(&experiment.label), VALUE_MAX)),
    }
}

/// `worst in equal time over 5 boots each: 1.1 ms and 14 us`; `None` if it is not known.
fn worst_of(versus: &Versus) -> Option<String> {
    let worst: WorstInEqualTime = primary(versus)?.0.worst?;
    let each = match worst.of_each {
        1 => String::new(),
        count => format!(" over {} each", versus.unit.counted(count)),
    };
    let [base, candidate] = [worst.base_ns, worst.candidate_ns].map(|ns| with_unit(ns as f64));
    Some(format!("worst in equal time{each}: {base} and {candidate}"))
}

fn name(group: &Group) -> String {
    harmless(&group.name)
}

fn possessive(group: &Group) -> String {
    let name = name(group);
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

/// The comparison for the terminal, `width` columns wide. If both groups were measured in rounds, it ends with a recommendation.
/// Ends with a newline.
pub fn text(versus: &Versus, in_rounds: bool, width: usize) -> String {
    let width = width.max(60);
    let mut blocks = vec![folded(&headline(versus), width)];
    blocks.push(groups(versus).iter().flat_map(|line| folded(line, width)).collect());
    if let Some(table) = obstacle_table(versus) {
        blocks.push(table.lines(width));
    }
    blocks.push(listed("Measured differently:", &harmless_all(&versus.differences.reasons), width));
    for experiment in &versus.experiments {
        let mut lines = folded(&title(versus, experiment), width);
        lines.extend(table(versus, experiment, "us").lines(width));
        lines.extend(sentences(versus, experiment, "us").iter().flat_map(|line| folded(line, width)));
        blocks.push(lines);
    }
    blocks.push(differences(versus).iter().flat_map(|line| folded(line, width)).collect());
    blocks.push(listed("Left out:", &harmless_all(&versus.left_out), width));
    blocks.push(legend(versus).map(|text| folded(&text, width)).unwrap_or_default());
    if let Some(found) = in_rounds.then(|| recommend::of_versus(versus)).flatten() {
        blocks.push(folded(&recommendation(&found), width));
    }
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

fn harmless_all(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| harmless(text)).collect()
}

/// The groups, how the p-value was computed, and what is assumed.
fn groups(versus: &Versus) -> Vec<String> {
    let group = |group: &Group| {
        let runs: usize = group.observations.iter().map(Vec::len).sum();
        let observations = versus.unit.counted(group.observations.len());
        let of_runs =
            if runs == group.observations.len() { String::new() } else { format!(" of {runs} runs") };
        format!("{}: {observations}{of_runs}", name(group))
    };
    let mut lines = vec![format!(
        "{}. {}. Under test: {}.",
        group(&versus.base),
        group(&versus.candidate),
        harmless(&versus.factor.to_string())
    )];
    lines.extend(
        primary(versus).and_then(|(_, statistic)| statistic.test).map(|test| test_sentence(versus, &test)),
    );
    if versus.unit == Unit::Run {
        lines.push(
            "All runs are of one boot: the comparison is about this boot, and another may differ.".to_owned(),
        );
    }
    lines.extend(versus.assumptions.iter().map(|one| format!("{}.", capitalised(&harmless(one)))));
    lines
}

fn test_sentence(versus: &Versus, test: &Test) -> String {
    let (units, assignments) = (versus.unit.plural(), count(test.assignments));
    match test.exact {
        true => format!(
            "{}, exact: the share of all {assignments} divisions of these {units} into two groups that differ at least as much.",
            p_text(test.p)
        ),
        false => format!(
            "{}, from {assignments} random divisions of these {units} into two groups, since all are too many to count.",
            p_text(test.p)
        ),
    }
}

fn title(versus: &Versus, experiment: &Experiment) -> String {
    let (label, loads) = (harmless(&experiment.label), harmless(&outcome::under(&experiment.loads)));
    let under = if label.contains(&loads) { String::new() } else { format!(" ({loads})") };
    let words = sections::words(sections::ALL, experiment.readings);
    format!(
        "{label}{under}, {}, {}: medians over {}",
        experiment.readings.name(),
        words.pooled,
        versus.unit.plural()
    )
}

/// The statistics of one experiment. `unit` is that of times.
fn table(versus: &Versus, experiment: &Experiment, unit: &str) -> Table {
    let [base, candidate] = [&versus.base, &versus.candidate].map(|group| short(&name(group), NAME_MAX));
    let column = match candidate.chars().count() {
        0..=SHORT_NAME => format!("{candidate} is"),
        _ => "difference".to_owned(),
    };
    let mut table = Table::new(&[unit, &base, &candidate, &column, "95 % interval", "p"]);
    for statistic in &experiment.statistics {
        let value = |value: Option<f64>| match (value, statistic.quantity) {
            (None, _) => "n/a".to_owned(),
            (Some(ns), Quantity::Ns) => microseconds(ns),
            (Some(share), Quantity::Share) => per_cent(share),
        };
        table.push(vec![
            statistic.name.to_owned(),
            value(statistic.base_median),
            value(statistic.candidate_median),
            statistic.ratio.map_or_else(|| "-".to_owned(), |effect| describe_ratio(effect.estimate)),
            statistic.ratio.as_ref().and_then(interval_words).unwrap_or_else(|| "-".to_owned()),
            statistic.test.map_or_else(String::new, |test| p_number(test.deciding_p())),
        ]);
    }
    table
}

/// What the table of an experiment does not show.
fn sentences(versus: &Versus, experiment: &Experiment, unit: &str) -> Vec<String> {
    let candidate = name(&versus.candidate);
    let mut sentences: Vec<String> = experiment
        .shape
        .map(|shape| shape_text(sections::ALL, &shape, experiment.readings, unit, &candidate))
        .into_iter()
        .collect();
    sentences
        .extend(experiment.exceedance.as_ref().map(|exceedance| exceedance_sentence(versus, exceedance)));
    if let Some(worst) = experiment.worst {
        sentences
            .push(format!("The worst values are those of the first {} of each CPU.", rounded(worst.time_ns)));
    }
    sentences
}

fn exceedance_sentence(versus: &Versus, exceedance: &Exceedance) -> String {
    let [base, candidate] = [&versus.base, &versus.candidate].map(name);
    let [late_base, late_candidate] = exceedance.late.map(count);
    let [of_base, of_candidate] = exceedance.of.map(count);
    let counts = format!(
        "Later than {}: {late_base} of {of_base} in {base}, {late_candidate} of {of_candidate} in {candidate}",
        format_duration_ns(exceedance.limit_ns)
    );
    let interval = match (exceedance.low, exceedance.high) {
        (Some(low), Some(high)) => format!(", {} to {} with 95 % confidence", ratio(low), ratio(high)),
        (Some(low), None) => format!(", at least {} with 95 % confidence", ratio(low)),
        (None, Some(high)) => format!(", at most {} with 95 % confidence", ratio(high)),
        (None, None) => String::new(),
    };
    let found = match exceedance.ratio {
        None => return format!("{counts}."),
        Some(found) if found.is_finite() => format!("{} times as often{interval}", ratio(found)),
        Some(_) => format!("only in {candidate}{interval} times as often"),
    };
    let dispersion = match exceedance.dispersion > 1.0 {
        true => format!(
            " The counts vary {} times as much as independent ones, and were divided by that.",
            three_digits(exceedance.dispersion)
        ),
        false => String::new(),
    };
    format!("{counts}: {found} ({}).{dispersion}", p_text(exceedance.p))
}

/// What differs although it must not.
fn obstacle_table(versus: &Versus) -> Option<Table> {
    let [base, candidate] = [&versus.base, &versus.candidate].map(|group| short(&name(group), NAME_MAX));
    let mut table = Table::of_words(&["NOT COMPARABLE", &base, &candidate]);
    for one in &versus.differences.obstacles {
        table.push(vec![short(&harmless(&one.name), VALUE_MAX), values(&one.base), values(&one.candidate)]);
    }
    (!table.is_empty()).then_some(table)
}

fn values(values: &[Option<String>]) -> String {
    let all: Vec<String> = values
        .iter()
        .map(|value| value.as_ref().map_or_else(|| "absent".to_owned(), |text| harmless(text)))
        .collect();
    short(&all.join(" / "), VALUE_MAX)
}

/// What differs and may: the factor, and what follows from it.
fn differences(versus: &Versus) -> Vec<String> {
    let named = |all: &[Disagreement]| -> Vec<String> {
        all.iter()
            .map(|one| {
                format!("{} ({} and {})", harmless(&one.name), values(&one.base), values(&one.candidate))
            })
            .collect()
    };
    let differences = &versus.differences;
    let mut lines = Vec::new();
    match differences.under_test.is_empty() {
        false => lines.push(format!("Under test: {}.", first_few(&named(&differences.under_test), "; "))),
        true if !differences.recipe.is_empty() => {
            lines.push(format!("Under test: {}.", first_few(&harmless_all(&differences.recipe), "; ")));
        }
        true if versus.factor != Factor::Recipe => {
            lines.push(format!(
                "The groups do not differ in the factor ({}).",
                harmless(&versus.factor.to_string())
            ));
        }
        true => {}
    }
    if !differences.may_follow.is_empty() {
        lines.push(format!("May follow from it: {}.", first_few(&named(&differences.may_follow), "; ")));
    }
    lines
}

fn legend(versus: &Versus) -> Option<String> {
    let is_estimated = matches!(versus.strength, Strength::Tested | Strength::TooFew { .. });
    is_estimated.then(|| {
        let tests = versus.experiments.iter().flat_map(|one| &one.statistics);
        let secondary = tests.filter(|one| one.test.is_some_and(|test| test.p_corrected.is_some())).count();
        let corrected = match secondary {
            0 => String::new(),
            1 => " The other p-value is not corrected: it is the only one.".to_owned(),
            tests => format!(" The other {tests} p-values are corrected for their number (Holm)."),
        };
        format!(
            "One {} is one observation. Differences are Hodges-Lehmann estimates, the medians of all differences between two {}, not the \
             differences of the medians, with the intervals of the rank test, each at 95 %.{corrected} See docs/compare.md.",
            versus.unit.noun(),
            versus.unit.plural()
        )
    })
}

/// The comparison as a page. `made_by` names the program.
pub fn html(versus: &Versus, runs: &[&Run], made_by: &str) -> String {
    let [base, candidate] = [&versus.base, &versus.candidate].map(name);
    let page_title = format!("{base} and {candidate}");
    let mut header = vec![heading(1, page_title.clone()), paragraph("lead", &headline(versus))];
    header.extend(paragraphs("note", &groups(versus)));
    let mut sections = Vec::new();
    if !versus.differences.obstacles.is_empty() || !versus.differences.reasons.is_empty() {
        let mut elements = vec![heading(2, "Not comparable")];
        elements
            .extend(obstacle_table(versus).map(|table| Element::Table(PageTable::typeset("words", &table))));
        elements.extend(paragraphs("note", &harmless_all(&versus.differences.reasons)));
        sections.push(elements);
    }
    for (number, experiment) in (1..).zip(&versus.experiments) {
        sections.push(section(versus, experiment, runs, number));
    }
    let mut notes = differences(versus);
    notes.extend(versus.left_out.iter().map(|one| format!("Left out: {}.", harmless(one))));
    notes.extend(legend(versus));
    if !notes.is_empty() {
        let mut elements = vec![heading(2, "What differs")];
        elements.extend(paragraphs("note", &notes));
        sections.push(elements);
    }
    let page = RunPage { id: "versus".to_owned(), header, sections, data: String::new() };
    report::html_of_page(page_title, page, runs.len(), made_by)
}

fn section(versus: &Versus, experiment: &Experiment, runs: &[&Run], number: usize) -> Vec<Element> {
    let mut elements = vec![heading(2, typographic(&title(versus, experiment)))];
    elements.push(Element::Table(PageTable::typeset("stacked", &table(versus, experiment, "µs"))));
    elements.extend(paragraphs("note", &sentences(versus, experiment, "µs")));
    let marks = Marks {
        limit_ns: None,
        mark: runs
            .iter()
            .any(|run| lab::meaningless_because(run).is_some())
            .then_some("latencies mean nothing"),
        readings: experiment.readings,
        words: sections::words(sections::ALL, experiment.readings),
    };
    let [base, candidate] = [&versus.base, &versus.candidate].map(name);
    let draw = |id: &str, options: &Options| shift::draw(id, &experiment.shift, &base, &candidate, options);
    let caption = format!(
        "The shift function: quantiles of {candidate} minus those of {base}. {}",
        shift::band_text(experiment.shift.band)
    );
    elements.extend(figure(figures::both(&format!("shift-{number}"), marks, draw), &caption));
    elements
}
