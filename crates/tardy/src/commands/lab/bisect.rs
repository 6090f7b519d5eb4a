//! `tardy lab bisect`: which version of the kernel, or which word of its command line, made a recipe's run bad.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::Serialize;
use tardy_lab::kernel::listing;
use tardy_lab::kernel::spec::{DebianKernel, Source};
use tardy_lab::kernel::{KernelSelection, KernelSpec, selection};
use tardy_lab::packages::PackageStore;
use tardy_present::table::Table;
use tardy_recipe::wrong;
use tardy_search::bisection::{Bisection, EndError};
use tardy_search::measure::Condition;
use tardy_search::parameters::{self, Change};
use tardy_search::{Verdict, delta};

use super::assemble::print_notices;
use super::kept_boots::{self, Boot, KeptBoot};
use super::prepare::{DEFAULT_RECIPE, machine_of, prepare_on};
use crate::args::LabBisectArgs;
use crate::args::values::KernelChoice;
use crate::commands::output;
use crate::exit::Exit;

/// Searches among versions of Debian's kernels, or among the words in which two command lines differ.
pub(super) fn run(arguments: &LabBisectArgs) -> Result<Exit> {
    kept_boots::check_pace(&arguments.experiment)?;
    if arguments.experiment.lab.kernels.is_some() {
        return Err(wrong("kernel", "the kernels of a bisection are those of --good and --bad").into());
    }
    let [good, bad] = [one("good", &arguments.good)?, one("bad", &arguments.bad)?];
    let mut tests = Tests::of(arguments);
    let (step, changes) = match (&good.source, &bad.source) {
        (from, to) if from == to => (None, Some(among_words(&mut tests, &good, &bad)?)),
        (Source::Debian(from), Source::Debian(to)) if from.rt == to.rt && good.append == bad.append => {
            (Some(among_versions(&mut tests, [from, to], &good.append)?), None)
        }
        _ => {
            let reason = format!(
                "{good} and {bad} differ in more than their version or their command line; expected two versions of Debian's \
                 kernel, both with -rt or both without, or one kernel with two command lines"
            );
            return Err(wrong("bad", reason).into());
        }
    };
    let found = Found { condition: arguments.measure.to_string(), tested: tests.tested, step, changes };
    match arguments.json {
        true => output::print_json(&found)?,
        false => output::print(&found.text(&arguments.measure, output::width()))?,
    }
    Ok(Exit::Done)
}

fn one(option: &'static str, choice: &KernelChoice) -> Result<KernelSpec> {
    match choice.selection() {
        KernelSelection::One(spec) => Ok(spec.clone()),
        KernelSelection::Several(_) => {
            Err(wrong(option, format!("'{choice}' names several kernels; expected one")).into())
        }
    }
}

/// The result of a search.
#[derive(Serialize)]
struct Found {
    /// What is bad.
    condition: String,
    /// What was tested, in the order of the tests.
    tested: Vec<Tested>,
    /// The last good kernel and the first bad one.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Step>,
    /// The smallest set of changes of the command line that makes it bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<Change>>,
}

/// Two adjacent versions.
#[derive(Serialize)]
struct Step {
    last_good: String,
    first_bad: String,
    /// Those between them that could not be tested.
    untestable: Vec<String>,
}

/// A kernel that was tested.
#[derive(Clone, Serialize)]
struct Tested {
    kernel: String,
    /// The number that the condition is about; `None` if there is none.
    value: Option<f64>,
    verdict: Verdict,
    /// Why it could not be tested.
    problem: Option<String>,
    /// The run file.
    file: Option<PathBuf>,
    /// Whether it was run now, as opposed to an earlier search.
    is_new: bool,
}

/// Runs kernels and judges them.
struct Tests<'a> {
    arguments: &'a LabBisectArgs,
    directory: PathBuf,
    tested: Vec<Tested>,
}

impl<'a> Tests<'a> {
    fn of(arguments: &'a LabBisectArgs) -> Self {
        let recipe = arguments.experiment.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
        let stem = output::stem(Path::new(recipe));
        let directory = arguments.output.clone();
        let directory = directory.unwrap_or_else(|| PathBuf::from(format!("tardy-lab-bisect-{stem}")));
        Self { arguments, directory, tested: Vec::new() }
    }

    /// Runs a kernel unless it was run before, and judges it.
    fn test(&mut self, spec: &KernelSpec) -> Result<Verdict> {
        let condition = &self.arguments.measure;
        let experiment = &self.arguments.experiment;
        let (prepared, _) = prepare_on(experiment, vec![spec.clone()], 0, &mut print_notices())?;
        let boots = [Boot { guest: &prepared.guests[0], seed: None }];
        let booted = kept_boots::boot_each(&prepared, &boots, &self.directory, self.arguments.quiet)?;
        let kernel = spec.to_string();
        let tested = match booted.into_iter().next().expect("one guest was booted") {
            Ok(KeptBoot { path, run, is_new }) => {
                let value = condition.measure.of(&run);
                let verdict = match &value {
                    Ok(value) if condition.is_bad(*value) => Verdict::Bad,
                    Ok(_) => Verdict::Good,
                    Err(_) => Verdict::Untestable,
                };
                let (value, problem) = (value.clone().ok(), value.err());
                Tested { kernel, value, verdict, problem, file: Some(path), is_new }
            }
            Err(error) => Tested {
                kernel,
                value: None,
                verdict: Verdict::Untestable,
                problem: Some(error),
                file: None,
                is_new: true,
            },
        };
        if !self.arguments.quiet {
            output::report(&format!("{}: {}", tested.kernel, tested.describe(condition)));
        }
        let verdict = tested.verdict;
        self.tested.push(tested);
        Ok(verdict)
    }

    /// Why the search cannot begin: what the ends showed.
    fn ends_do_not_differ(&self, error: EndError) -> anyhow::Error {
        let condition = &self.arguments.measure;
        let shown = |one: &Tested| format!("{}: {}", one.kernel, one.describe(condition));
        let all: Vec<String> = self.tested.iter().take(2).map(shown).collect();
        anyhow!(
            "{error}, with {condition} as the condition for bad, so there is nothing to search; {}. Choose another value in --measure, \
             or other kernels",
            all.join("; ")
        )
    }
}

impl Tested {
    fn describe(&self, condition: &Condition) -> String {
        let measure = &condition.measure;
        match (self.value, self.verdict) {
            (Some(value), Verdict::Bad) => format!("{measure} {}, bad", measure.shown(value)),
            (Some(value), _) => format!("{measure} {}, good", measure.shown(value)),
            (None, _) => {
                let problem = self.problem.as_deref().unwrap_or_default();
                let log = problem.lines().skip(1).find(|line| line.starts_with("console log: "));
                let lines = problem.lines().next().into_iter().chain(log);
                format!("cannot be tested: {}", lines.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

fn among_versions(tests: &mut Tests<'_>, ends: [&DebianKernel; 2], append: &str) -> Result<Step> {
    let experiment = &tests.arguments.experiment;
    let arch = machine_of(experiment)?.arch();
    let store = PackageStore::of_this_user()?;
    let available = listing::versions(&store, arch, experiment.guest.refresh, &mut print_notices())?;
    let kernels = selection::between(ends, append, &available)?;
    if kernels.len() < 2 {
        return Err(wrong("bad", format!("{} is the good and the bad kernel", kernels[0])).into());
    }
    let mut bisection = Bisection::among(kernels.len());
    if !tests.arguments.quiet {
        output::report(&format!("{} kernels, at most {} boots", kernels.len(), bisection.left()));
    }
    while let Some(at) = bisection.next().map_err(|error| tests.ends_do_not_differ(error))? {
        bisection.record(at, tests.test(&kernels[at])?);
    }
    let found = bisection.found();
    let name = |at: usize| kernels[at].to_string();
    Ok(Step {
        last_good: name(found.last_good),
        first_bad: name(found.first_bad),
        untestable: found.untestable.into_iter().map(name).collect(),
    })
}

/// A search ended by an error, or by ends that do not differ.
enum Ended {
    Ends(EndError),
    Failed(anyhow::Error),
}

impl From<EndError> for Ended {
    fn from(error: EndError) -> Self {
        Self::Ends(error)
    }
}

fn among_words(tests: &mut Tests<'_>, good: &KernelSpec, bad: &KernelSpec) -> Result<Vec<Change>> {
    let changes = parameters::changes(&good.append, &bad.append);
    if changes.is_empty() {
        return Err(wrong("bad", format!("{bad} does not differ from {good}")).into());
    }
    let of = |set: &[usize]| set.iter().map(|at| &changes[*at]).collect::<Vec<_>>();
    let found = delta::minimise(changes.len(), |set| {
        let spec = KernelSpec { append: parameters::with(&good.append, &of(set)), ..good.clone() };
        tests.test(&spec).map_err(Ended::Failed)
    });
    let found = found.map_err(|ended| match ended {
        Ended::Ends(error) => tests.ends_do_not_differ(error),
        Ended::Failed(error) => error,
    })?;
    Ok(of(&found).into_iter().cloned().collect())
}

impl Found {
    fn text(&self, condition: &Condition, width: usize) -> String {
        let measure = condition.measure.to_string();
        let mut table = Table::of_words(&["kernel", &measure, ""]);
        for one in &self.tested {
            let value = one.value.map_or_else(|| "-".to_owned(), |value| condition.measure.shown(value));
            let verdict = match one.verdict {
                Verdict::Good => "good",
                Verdict::Bad => "bad",
                Verdict::Untestable => "cannot be tested",
            };
            table.push(vec![one.kernel.clone(), value, verdict.to_owned()]);
        }
        let mut lines = table.lines(width);
        let new = self.tested.iter().filter(|one| one.is_new).count();
        lines.push(format!(
            "{} boots, {} of them from an earlier search",
            self.tested.len(),
            self.tested.len() - new
        ));
        lines.push(String::new());
        if let Some(Step { last_good, first_bad, untestable }) = &self.step {
            lines.push(format!("first bad: {first_bad}"));
            lines.push(format!("last good: {last_good}"));
            if !untestable.is_empty() {
                lines.push(format!("between them, not tested: {}", untestable.join(", ")));
            }
        }
        for change in self.changes.iter().flatten() {
            lines.push(format!("bad because of: {change}"));
        }
        lines.extend(self.what_next());
        lines.join("\n") + "\n"
    }

    /// The command that explains the difference.
    fn what_next(&self) -> Option<String> {
        let last = |verdict| {
            let found = self.tested.iter().filter(|one| one.verdict == verdict);
            let wanted = self.step.as_ref().map(|step| match verdict {
                Verdict::Good => &step.last_good,
                _ => &step.first_bad,
            });
            let mut found = found.filter(|one| wanted.is_none_or(|wanted| *wanted == one.kernel));
            found.next_back().and_then(|one| one.file.as_ref())
        };
        let (good, bad) = (last(Verdict::Good)?, last(Verdict::Bad)?);
        Some(format!("what they spend their time on: tardy lab explain {} {}", good.display(), bad.display()))
    }
}
