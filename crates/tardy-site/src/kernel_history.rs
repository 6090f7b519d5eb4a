//! The history of a kernel, for the terminal and as a site: a page of all versions, and a page for each.

use tardy_compare::difference::Difference;
use tardy_plot::numbers::{counted, harmless, microseconds, per_cent, short, with_unit};
use tardy_plot::versions::{self, Place};
use tardy_search::kernel_history::{Change, Kernel, KernelHistory, Line, MovedBin, Step};

use tardy_present::effect::describe_ratio;
use tardy_present::figures::{self, Marks};
use tardy_present::page::{
    Cell, Element, Link, PageRow, PageTable, figure, folded_table, heading, paragraph,
};
use tardy_present::table::Table;
use tardy_present::terminal_text::{folded, typographic};

use crate::{SiteFile, SitePage};

/// The directory of the pages of kernels.
pub const KERNELS: &str = "kernels";
/// Longer words of a command line are shortened in labels.
const WORDS_MAX: usize = 24;

/// What the site needs in addition to the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The command that made it.
    pub command: String,
    /// The beginning of the command that repeats a boot: kernel and seed follow.
    pub again: String,
    /// The length of an instruction on the machine in ns; `None` if its clock did not count instructions.
    pub instruction_ns: Option<u64>,
    /// The program.
    pub made_by: String,
}

/// The history, about `width` columns wide. Ends with a newline.
pub fn text(history: &KernelHistory, width: usize) -> String {
    let mut lines = folded(&headline(history), width);
    for line in shown(history) {
        lines.push(String::new());
        lines.push(format!("{}, {}", harmless(&line.phase), line.number));
        let mut table = Table::of_words(&["kernel", "median, us", "lowest", "highest", ""]);
        for (at, kernel) in history.kernels.iter().enumerate() {
            let mut cells = vec![harmless(&kernel.spec)];
            cells.extend(line.spread(at).map_or_else(
                || vec!["-".to_owned(); 3],
                |[low, median, high]| [median, low, high].map(microseconds).to_vec(),
            ));
            cells.push(
                change_at(history, line, at)
                    .map_or_else(String::new, |change| describe_ratio(change.to / change.from)),
            );
            table.push(cells);
        }
        lines.extend(table.lines(width));
    }
    for problem in problems(history) {
        lines.extend(folded(&problem, width));
    }
    lines.join("\n") + "\n"
}

/// The lines that the terminal shows: the quantiles are on the page.
fn shown(history: &KernelHistory) -> impl Iterator<Item = &Line> {
    history.lines.iter().filter(|line| matches!(line.number.as_str(), "p50" | "p99" | "max"))
}

/// The change of a line at the version `at`, if it is claimed.
fn change_at<'a>(history: &'a KernelHistory, line: &Line, at: usize) -> Option<&'a Change> {
    let step = history.steps.iter().find(|step| step.after == at)?;
    step.changes.iter().find(|change| history.lines[change.line] == *line)
}

fn headline(history: &KernelHistory) -> String {
    let kernels = counted(history.kernels.len() as u64, "kernel", "kernels");
    let seeds = history.kernels.iter().map(|kernel| kernel.boots.len()).max().unwrap_or(0);
    let seeds = counted(seeds as u64, "seed", "seeds");
    let found = match (&history.too_few, history.claimed().count()) {
        (Some(reason), _) => reason.clone(),
        (None, 0) => "no step exceeds the spread over the seeds".to_owned(),
        (None, 1) => "1 step exceeds the spread over the seeds".to_owned(),
        (None, n) => format!("{n} steps exceed the spread over the seeds"),
    };
    format!("{} on {kernels}, {seeds} each: {found}.", harmless(&history.recipe))
}

fn problems(history: &KernelHistory) -> Vec<String> {
    let of_kernel = |kernel: &Kernel| {
        let spec = harmless(&kernel.spec);
        kernel
            .problems
            .iter()
            .map(move |problem| format!("{spec}: {}", harmless(problem)))
            .collect::<Vec<_>>()
    };
    history.kernels.iter().flat_map(of_kernel).collect()
}

/// The version without the revision of the package, for axes: `6.12.118-rt` of `debian:6.12-rt=6.12.118-1`, and the words that are
/// added to the command line.
fn label(kernel: &Kernel) -> String {
    let (name, words) = kernel.spec.split_once(",append=").unwrap_or((&kernel.spec, ""));
    let (series, version) = name.split_once('=').unwrap_or((name, name));
    let version = version.rsplit([':', '/']).next().unwrap_or_default();
    let version = version.split('-').next().unwrap_or_default();
    let rt = if series.ends_with("-rt") { "-rt" } else { "" };
    let words = words.trim_matches('\'');
    let words = if words.is_empty() { String::new() } else { format!(" {}", short(words, WORDS_MAX)) };
    harmless(&format!("{version}{rt}{words}"))
}

fn file_of(kernel: &Kernel) -> String {
    format!("{KERNELS}/{}.html", crate::file_name(&kernel.spec))
}

/// The files of the site, without run files: `index.html`, a page for each kernel, `history.json` and `history.csv`.
///
/// # Panics
/// If a value is not finite, which no run has.
pub fn site(history: &KernelHistory, about: &About) -> Vec<SiteFile> {
    let mut files = vec![crate::page(overview(history, about), &about.made_by)];
    for at in 0..history.kernels.len() {
        files.push(crate::page(kernel_page(history, about, at), &about.made_by));
    }
    let json = serde_json::to_string_pretty(history).expect("the history has finite numbers only") + "\n";
    files.push(SiteFile { path: "history.json".to_owned(), content: json });
    files.push(SiteFile { path: "history.csv".to_owned(), content: history.csv() });
    files
}

fn run_count(history: &KernelHistory) -> usize {
    history.kernels.iter().map(|kernel| kernel.boots.len()).sum()
}

fn overview(history: &KernelHistory, about: &About) -> SitePage {
    let kernels =
        [history.kernels.first(), history.kernels.last()].map(|kernel| kernel.map(label).unwrap_or_default());
    let title = format!("{} from {} to {}", harmless(&history.recipe), kernels[0], kernels[1]);
    let mut header = vec![paragraph("", &headline(history))];
    header.push(paragraph("note", &method(history, about)));
    header.push(Element::Code { text: harmless(&about.command) });
    header
        .push(crate::links(vec![link("history.json", "all values as JSON"), link("history.csv", "as CSV")]));
    header.extend(problems(history).iter().map(|problem| paragraph("note", problem)));
    let mut sections: Vec<Vec<Element>> = history.claimed().map(|step| of_step(history, step)).collect();
    sections.push(plots(history));
    sections.push(kernels_table(history, about));
    sections.push(unclaimed(history));
    let run_count = run_count(history);
    SitePage { path: "index.html".to_owned(), title, header, sections, run_count }
}

fn link(href: &str, text: &str) -> Link {
    Link { href: href.to_owned(), text: text.to_owned() }
}

fn method(history: &KernelHistory, about: &About) -> String {
    let unit = about.instruction_ns.map_or_else(String::new, |ns| {
        format!(
            " The emulated machine counts instructions of {ns} ns, so a boot with one seed has the same numbers everywhere, and they are \
             not a board's."
        )
    });
    format!(
        "A dot is the median over the seeds, a line their range. A step is claimed if {} permutation tests together would claim one between \
         equal kernels in at most 1 of 100 histories, and if it is at least 1 %.{unit}",
        history.tests
    )
}

/// A step as a section: each number that changed, the bins that moved, and what differs between the kernels.
fn of_step(history: &KernelHistory, step: &Step) -> Vec<Element> {
    let [before, after] = [step.before, step.after].map(|at| &history.kernels[at]);
    let mut elements = vec![heading(2, format!("{} to {}", label(before), label(after)))];
    let items = step.changes.iter().map(|change| sentence(history, change)).collect();
    elements.push(Element::List { class: "", items });
    let mut phases: Vec<&str> = Vec::new();
    for change in &step.changes {
        let phase = history.lines[change.line].phase.as_str();
        if !phases.contains(&phase) && !change.moved.is_empty() {
            phases.push(phase);
            elements
                .push(paragraph("", &format!("Wake-ups that moved, {}, in shares of all:", harmless(phase))));
            let heads = ["latency", "before", "after", "change"];
            elements.push(Element::Table(PageTable::new(
                "",
                &heads,
                change.moved.iter().map(moved_row).collect(),
            )));
        }
    }
    elements.extend(differences(step));
    elements.push(crate::links(vec![
        link(&file_of(before), &label(before)),
        link(&file_of(after), &label(after)),
    ]));
    elements.extend(explanation(before, after));
    elements
}

fn sentence(history: &KernelHistory, change: &Change) -> String {
    let Line { phase, number, .. } = &history.lines[change.line];
    typographic(&format!(
        "{number} of {}: {} before, {} after, {} (p = {:.1e})",
        harmless(phase),
        with_unit(change.from),
        with_unit(change.to),
        describe_ratio(change.to / change.from),
        change.p
    ))
}

fn moved_row(bin: &MovedBin) -> Vec<String> {
    let range = format!("{} to {} µs", microseconds(bin.lower_ns as f64), microseconds(bin.upper_ns as f64));
    let sign = if bin.after >= bin.before { "+" } else { "−" };
    let change = format!("{sign}{}", per_cent((bin.after - bin.before).abs()));
    vec![range, per_cent(bin.before), per_cent(bin.after), change]
}

/// What differs between the kernels, folded: each part with its number of differences.
fn differences(step: &Step) -> Vec<Element> {
    let parts: [(&str, Option<&Vec<Difference>>); 3] = [
        ("options of the configuration", step.differences.config.as_ref()),
        ("words of the command line", step.differences.command_line.as_ref()),
        ("other facts", Some(&step.differences.facts)),
    ];
    let part = |(name, all): &(&str, Option<&Vec<Difference>>)| {
        let all = all.filter(|all| !all.is_empty())?;
        let value = |value: &Option<String>| value.as_deref().map_or_else(|| "–".to_owned(), harmless);
        let rows = all.iter().map(|one| vec![harmless(&one.name), value(&one.base), value(&one.candidate)]);
        let table = PageTable::new("facts", &["", "before", "after"], rows.collect());
        folded_table(&format!("{} {name} differ", all.len()), table)
    };
    parts.iter().filter_map(part).collect()
}

/// The command that shows which functions changed.
fn explanation(before: &Kernel, after: &Kernel) -> Option<Element> {
    let [before, after] = [before.boots.first()?, after.boots.first()?].map(|boot| harmless(&boot.file));
    Some(Element::Code { text: format!("tardy lab explain {before} {after}") })
}

fn plots(history: &KernelHistory) -> Vec<Element> {
    let mut elements = vec![heading(2, "Version by version")];
    for (number, line) in history.lines.iter().enumerate() {
        let place = |(at, kernel): (usize, &Kernel)| Place {
            label: label(kernel),
            values: line.spread(at),
            is_step: change_at(history, line, at).is_some(),
        };
        let places: Vec<Place> = history.kernels.iter().enumerate().map(place).collect();
        let title = format!("{}, {}", line.number, line.phase);
        let plot = figures::both(&format!("line-{number}"), Marks::default(), |id, options| {
            Some(versions::draw(id, &title, &places, options))
        });
        elements.extend(figure(plot, ""));
    }
    elements
}

fn kernels_table(history: &KernelHistory, about: &About) -> Vec<Element> {
    let mut heads = vec!["kernel".to_owned()];
    for line in &history.lines {
        heads.push(format!("{}, {}", harmless(&line.phase), line.number));
        heads.extend(path_head(line, about));
    }
    let row = |(at, kernel): (usize, &Kernel)| {
        let mut cells = vec![Cell::Link(link(&file_of(kernel), &label(kernel)))];
        for line in &history.lines {
            let median = line.spread(at).map(|[_, median, _]| median);
            cells.push(Cell::Text(median.map_or_else(|| "–".to_owned(), microseconds)));
            cells.extend(path_head(line, about).map(|_| Cell::Text(instructions(median, about))));
        }
        PageRow { class: "", cells }
    };
    let rows: Vec<PageRow> = history.kernels.iter().enumerate().map(row).collect();
    let table = PageTable { heads, bodies: vec![rows], ..PageTable::default() };
    vec![heading(2, "Kernels"), paragraph("note", "Medians over the seeds, µs."), Element::Table(table)]
}

/// The heading of the instructions of the median path.
fn path_head(line: &Line, about: &About) -> Option<String> {
    let is_path = line.number == "p50" && about.instruction_ns.is_some();
    is_path.then(|| format!("{}, instructions", harmless(&line.phase)))
}

fn instructions(ns: Option<f64>, about: &About) -> String {
    let unit = about.instruction_ns.unwrap_or(1) as f64;
    ns.map_or_else(|| "–".to_owned(), |ns| format!("{:.0}", ns / unit))
}

/// The versions between which no step is claimed, with what differs between them.
fn unclaimed(history: &KernelHistory) -> Vec<Element> {
    let mut elements = vec![heading(2, "Without a step")];
    for step in history.steps.iter().filter(|step| step.changes.is_empty()) {
        let [before, after] = [step.before, step.after].map(|at| label(&history.kernels[at]));
        let elements_of_step = differences(step);
        if !elements_of_step.is_empty() {
            let summary = format!("{before} to {after}: what differs");
            elements.push(Element::Fold { summary, open: false, elements: elements_of_step });
        }
    }
    if elements.len() == 1 { Vec::new() } else { elements }
}

fn kernel_page(history: &KernelHistory, about: &About, at: usize) -> SitePage {
    let kernel = &history.kernels[at];
    let mut header =
        vec![paragraph("note", &format!("{}, {}", harmless(&kernel.release), harmless(&kernel.spec)))];
    let mut ways = vec![link("../index.html", "all kernels")];
    let neighbour = |at: Option<usize>| at.and_then(|at| history.kernels.get(at));
    for (what, neighbour) in [("before", neighbour(at.checked_sub(1))), ("after", neighbour(Some(at + 1)))] {
        ways.extend(neighbour.map(|kernel| {
            link(&format!("../{}", file_of(kernel)), &format!("the one {what}: {}", label(kernel)))
        }));
    }
    header.push(crate::links(ways));
    header.extend(kernel.problems.iter().map(|problem| paragraph("note", &harmless(problem))));
    let mut heads = vec!["seed"];
    let names: Vec<String> =
        history.lines.iter().map(|line| format!("{}, {}", harmless(&line.phase), line.number)).collect();
    heads.extend(names.iter().map(String::as_str));
    let row = |(number, boot): (usize, &tardy_search::kernel_history::Boot)| {
        let mut cells = vec![boot.seed.to_string()];
        let value =
            |line: &Line| line.values[at].get(number).map_or_else(|| "–".to_owned(), |ns| microseconds(*ns));
        cells.extend(history.lines.iter().map(value));
        cells
    };
    let rows = kernel.boots.iter().enumerate().map(row).collect();
    let mut sections = vec![vec![
        heading(2, "Seed by seed"),
        paragraph("note", "µs"),
        Element::Table(PageTable::new("", &heads, rows)),
    ]];
    sections.push(reproduced(about, kernel));
    let step = history.steps.iter().find(|step| step.after == at);
    if let Some(step) = step {
        let title = format!("Since {}", label(&history.kernels[step.before]));
        let mut elements = vec![heading(2, title)];
        let items: Vec<String> = step.changes.iter().map(|change| sentence(history, change)).collect();
        match items.is_empty() {
            true => elements.push(paragraph("", "No step is claimed.")),
            false => elements.push(Element::List { class: "", items }),
        }
        elements.extend(differences(step));
        sections.push(elements);
    }
    let title = format!("{} on {}", harmless(&history.recipe), label(kernel));
    SitePage { path: file_of(kernel), title, header, sections, run_count: kernel.boots.len() }
}

/// The command that gives each point again, and the hash that two equal runs share.
fn reproduced(about: &About, kernel: &Kernel) -> Vec<Element> {
    let mut elements = vec![heading(2, "Again")];
    if let Some(boot) = kernel.boots.first() {
        let text =
            format!("{} --kernel '{}' --seed {}", harmless(&about.again), harmless(&kernel.spec), boot.seed);
        elements.push(Element::Code { text });
    }
    let row = |boot: &tardy_search::kernel_history::Boot| PageRow {
        class: "",
        cells: vec![
            Cell::Text(boot.seed.to_string()),
            Cell::Text(boot.identity.chars().take(12).collect()),
            Cell::Link(link(&format!("../{}", boot.file), "run file")),
        ],
    };
    let heads = ["seed", "identity", ""].map(str::to_owned).to_vec();
    let rows: Vec<PageRow> = kernel.boots.iter().map(row).collect();
    elements.push(Element::Table(PageTable { heads, bodies: vec![rows], ..PageTable::default() }));
    elements
}
