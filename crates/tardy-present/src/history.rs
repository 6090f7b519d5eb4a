//! The history of many runs, for the terminal and as a page.

use tardy_analyse::shape::Shape;
use tardy_compare::difference::{Difference, Differences};
use tardy_compare::history::{Change, History, LEAST_RUNS, Line, RunInHistory};
use tardy_plot::Options;
use tardy_plot::history::{draw, name, value};
use tardy_plot::numbers::{counted, harmless, ratio, short};
use tardy_plot::runs_over_time::{self, ShownRun};

use crate::effect::describe_ratio;
use crate::figures::{self, Marks};
use crate::page::{Element, PageTable, RunPage, figure, heading, paragraph};
use crate::report;
use crate::table::Table;
use crate::terminal_text::{capitalised, folded};

/// Differences of a change that are printed in the terminal; the page and the JSON have all.
const SHOWN_DIFFERENCES: usize = 12;
/// Longer values of a fact are shortened in the terminal.
const VALUE_MAX: usize = 30;
/// Characters of the day of a start.
const DAY_LENGTH: usize = 10;
/// With fewer runs no change can be found with certainty.
const LEAST_FOR_A_CHANGE: usize = 2 * LEAST_RUNS;

/// The changes between the same two runs, of whichever figures.
struct Moment<'a> {
    before: &'a RunInHistory,
    after: &'a RunInHistory,
    /// The number of the first run after it, from 1.
    number: usize,
    changes: Vec<(&'a Line, &'a Change)>,
}

fn moments(history: &History) -> Vec<Moment<'_>> {
    let mut moments: Vec<Moment<'_>> = Vec::new();
    for (line, change) in history.changes() {
        match moments.last_mut().filter(|last| {
            last.changes.iter().any(|(_, one)| (one.before, one.after) == (change.before, change.after))
        }) {
            Some(last) => last.changes.push((line, change)),
            None => moments.push(Moment {
                before: &history.runs[change.before],
                after: &history.runs[change.after],
                number: change.after + 1,
                changes: vec![(line, change)],
            }),
        }
    }
    moments
}

impl Moment<'_> {
    fn title(&self) -> String {
        let started = match self.after.started_at.as_str() {
            "" => String::new(),
            at => format!(", started {at}"),
        };
        format!("Run {}, {}{started}", self.number, harmless(&self.after.name))
    }

    fn is_certain(&self) -> bool {
        self.changes.iter().any(|(_, change)| change.certain)
    }

    /// Each figure that changed, as a sentence.
    fn sentences(&self) -> Vec<String> {
        self.changes.iter().map(|(line, change)| sentence(line, change)).collect()
    }

    fn differences(&self) -> Vec<[String; 3]> {
        let found = self.changes.iter().find_map(|(_, change)| change.differences.as_ref());
        found.map(rows).unwrap_or_default()
    }

    fn without_differences(&self) -> String {
        format!("No recorded fact differs from the run before, {}.", harmless(&self.before.name))
    }
}

/// A change of a figure, as a sentence.
pub fn sentence(line: &Line, change: &Change) -> String {
    let [from, to] = [change.from, change.to].map(|one| value(line.figure, one));
    let size = if change.from > 0.0 {
        format!(", {}", describe_ratio(change.to / change.from))
    } else {
        String::new()
    };
    let certainty = match change {
        Change { certain: true, .. } => format!(" (p {})", probability(change.p)),
        Change { runs_on_the_shorter_side: runs, .. } if *runs < LEAST_RUNS => format!(
            " (p {}; {} on one side, and this is certain only with {LEAST_RUNS})",
            probability(change.p),
            counted(*runs as u64, "run", "runs")
        ),
        Change { .. } => format!(" (not certain, p {}: the next runs decide)", probability(change.p)),
    };
    format!(
        "{} of {}: {from} before, {to} after{size}{certainty}.",
        capitalised(&name(line.figure)),
        harmless(&line.experiment)
    )
}

fn probability(p: f64) -> String {
    // The least that random orders can show.
    if p <= 1e-4 { "at most 0.0001".to_owned() } else { format!("= {}", ratio(p)) }
}

/// Name, value before, value after.
fn rows(differences: &Differences) -> Vec<[String; 3]> {
    let of = |prefix: &str, all: &[Difference]| -> Vec<[String; 3]> {
        let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), harmless);
        all.iter()
            .map(|one| [format!("{prefix}{}", harmless(&one.name)), shown(&one.base), shown(&one.candidate)])
            .collect()
    };
    let part = |all: &Option<Vec<Difference>>| all.clone().unwrap_or_default();
    let mut rows = of("", &differences.facts);
    rows.extend(of("command line: ", &part(&differences.command_line)));
    rows.extend(of("option ", &part(&differences.config)));
    rows
}

/// The history, about `width` columns wide. Ends with a newline.
pub fn text(history: &History, width: usize) -> String {
    let width = width.max(60);
    let mut lines = folded(&headline(history), width);
    for moment in moments(history) {
        lines.push(String::new());
        lines.extend(folded(&moment.title(), width));
        lines.extend(moment.sentences().iter().flat_map(|sentence| folded(&format!("  {sentence}"), width)));
        let differences = moment.differences();
        if differences.is_empty() {
            lines.extend(folded(&format!("  {}", moment.without_differences()), width));
            continue;
        }
        let mut table = Table::of_words(&["  changed at the same time", "before", "after"]);
        for [name, before, after] in differences.iter().take(SHOWN_DIFFERENCES) {
            table.push(vec![
                format!("  {}", short(name, VALUE_MAX)),
                short(before, VALUE_MAX),
                short(after, VALUE_MAX),
            ]);
        }
        lines.extend(table.lines(width));
        if differences.len() > SHOWN_DIFFERENCES {
            lines.push(format!(
                "  and {} more, with --json or in the page",
                differences.len() - SHOWN_DIFFERENCES
            ));
        }
    }
    let remarks = remarks(history);
    if !remarks.is_empty() {
        lines.push(String::new());
        lines.extend(remarks.iter().flat_map(|remark| folded(remark, width)));
    }
    lines.join("\n") + "\n"
}

/// How many runs there are, in which order, and whether anything changed.
fn headline(history: &History) -> String {
    let runs = counted(history.runs.len() as u64, "run", "runs");
    let order = if history.by_time {
        "in the order of their start"
    } else {
        "in the order given, since not every start is known"
    };
    let moments = moments(history);
    let found = match moments.len() {
        0 if history.lines.iter().all(|line| line.points.len() < LEAST_FOR_A_CHANGE) => {
            format!("too few to find a change: {LEAST_FOR_A_CHANGE} of the same experiment are needed")
        }
        0 => "no change".to_owned(),
        n => {
            let certain = moments.iter().filter(|moment| moment.is_certain()).count();
            let possible = match n - certain {
                0 => String::new(),
                possible => {
                    format!(", and {} at which one may have changed", counted(possible as u64, "run", "runs"))
                }
            };
            format!("{} at which a figure changed{possible}", counted(certain as u64, "run", "runs"))
        }
    };
    format!("{runs} {order}: {found}.")
}

/// What was followed without a change, and what was not followed.
fn remarks(history: &History) -> Vec<String> {
    let mut remarks = Vec::new();
    let (followed, few): (Vec<&Line>, Vec<&Line>) =
        history.lines.iter().partition(|line| line.points.len() >= LEAST_FOR_A_CHANGE);
    let unchanged: Vec<String> =
        followed.iter().filter(|line| line.changes.is_empty()).map(|line| named(line)).collect();
    if !unchanged.is_empty() {
        remarks.push(format!("Unchanged: {}.", unchanged.join("; ")));
    }
    if !few.is_empty() {
        let all: Vec<String> = few.iter().map(|line| named(line)).collect();
        remarks.push(format!("In fewer than {LEAST_FOR_A_CHANGE} runs: {}.", all.join("; ")));
    }
    let unusable = history.runs.iter().filter_map(|run| Some((run, run.unusable_because.as_ref()?)));
    let unusable: Vec<String> =
        unusable.map(|(run, reason)| format!("{} ({})", harmless(&run.name), harmless(reason))).collect();
    if !unusable.is_empty() {
        remarks.push(format!("Not used: {}.", unusable.join("; ")));
    }
    remarks
}

fn named(line: &Line) -> String {
    let mean =
        line.levels.last().map_or_else(String::new, |level| format!(", {}", value(line.figure, level.value)));
    format!("{} of {}{mean}", name(line.figure), harmless(&line.experiment))
}

/// The history as a page. `place` names the directories, and `made_by` the program.
pub fn html(history: &History, place: &str, made_by: &str) -> String {
    let runs_of = counted(history.runs.len() as u64, "run", "runs");
    let title = format!("History of {runs_of} in {}", harmless(place));
    let mut header = vec![heading(1, title.clone())];
    header.extend(summary(history));
    let mut sections = sections(history);
    sections.push(vec![heading(2, "Runs"), Element::Table(runs(history))]);
    let page = RunPage { id: "history".to_owned(), header, sections, data: String::new() };
    report::html_of_page(title, page, history.runs.len(), made_by)
}

/// How many runs there are and what changed, and what was not followed.
pub fn summary(history: &History) -> Vec<Element> {
    let mut elements = vec![paragraph("", &headline(history))];
    elements.extend(remarks(history).iter().map(|remark| paragraph("note", remark)));
    elements
}

/// The newest change, as a sentence; `None` if there is none.
pub fn newest_change(history: &History) -> Option<String> {
    let moment = moments(history).pop()?;
    let started = moment.after.started_at.get(..DAY_LENGTH).unwrap_or("unknown day").to_owned();
    Some(format!("{started}: {}", moment.sentences().first()?))
}

/// Each change, the figures run by run, and the distributions run by run.
pub fn sections(history: &History) -> Vec<Vec<Element>> {
    let mut sections: Vec<Vec<Element>> = moments(history).iter().map(of_moment).collect();
    sections.push(plots(history));
    sections.push(distributions(history));
    sections
}

fn of_moment(moment: &Moment<'_>) -> Vec<Element> {
    let mut elements = vec![heading(2, moment.title())];
    elements.extend(moment.sentences().iter().map(|sentence| paragraph("", sentence)));
    let differences = moment.differences();
    if differences.is_empty() {
        elements.push(paragraph("note", &moment.without_differences()));
    }
    let several = counted(differences.len() as u64, "fact differs", "facts differ");
    let table =
        PageTable::new("facts", &["", "before", "after"], differences.into_iter().map(Vec::from).collect());
    if !table.is_empty() {
        let open = table.bodies.iter().map(Vec::len).sum::<usize>() <= SHOWN_DIFFERENCES;
        let summary = format!("{several} from the run before");
        elements.push(Element::Fold { summary, open, elements: vec![Element::Table(table)] });
    }
    elements
}

fn plots(history: &History) -> Vec<Element> {
    let mut elements = vec![heading(2, "Figures, run by run")];
    for (index, line) in history.lines.iter().enumerate().filter(|(_, line)| line.points.len() > 1) {
        let plot = figures::both(&format!("history-{index}"), Marks::default(), |id, options| {
            Some(draw(id, history, line, options))
        });
        elements.extend(figure(plot, ""));
    }
    elements
}

fn distributions(history: &History) -> Vec<Element> {
    let several = history.distributions.iter().filter(|one| one.runs.len() > 1);
    let mut elements = vec![heading(2, "Distributions, run by run")];
    for (index, of_one) in several.enumerate() {
        let title = harmless(&of_one.experiment);
        let shown = |(run, shape): &(usize, Shape)| ShownRun {
            number: run + 1,
            name: harmless(&history.runs[*run].name),
            day: history.runs[*run].started_at.get(..DAY_LENGTH).unwrap_or_default().to_owned(),
            shape: shape.clone(),
        };
        let runs: Vec<ShownRun> = of_one.runs.iter().map(shown).collect();
        for (name, draw) in [("heat", runs_over_time::heat as Draw), ("curves", runs_over_time::curves)] {
            let id = format!("distribution-{index}-{name}");
            let plot = figures::both(&id, Marks::default(), |id, options| draw(id, &title, &runs, options));
            elements.extend(figure(plot, ""));
        }
    }
    if elements.len() == 1 { Vec::new() } else { elements }
}

/// Draws the distributions of runs.
type Draw = fn(&str, &str, &[ShownRun], &Options) -> Option<String>;

fn runs(history: &History) -> PageTable {
    let row = |(index, run): (usize, &RunInHistory)| {
        let use_of = run
            .unusable_because
            .as_deref()
            .map_or_else(String::new, |reason| format!("not used: {}", harmless(reason)));
        vec![
            format!("{} {}", index + 1, harmless(&run.name)),
            run.started_at.clone(),
            harmless(&run.file),
            use_of,
        ]
    };
    PageTable::new(
        "facts",
        &["run", "started", "file", ""],
        history.runs.iter().enumerate().map(row).collect(),
    )
}
