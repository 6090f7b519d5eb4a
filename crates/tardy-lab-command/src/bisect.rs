//! `tardy lab bisect`: which version of the kernel, which commit, which option of its configuration or which word of its command
//! line made a recipe's run bad.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use tardy_kbuild::build::{Builder, Built, Original};
use tardy_kbuild::commits;
use tardy_kbuild::error::BuildError;
use tardy_kbuild::source::SourceSpec;
use tardy_lab::kernel::listing;
use tardy_lab::kernel::spec::{DebianKernel, Source};
use tardy_lab::kernel::{KernelSelection, KernelSpec, selection};
use tardy_lab::packages::PackageStore;
use tardy_lab_report::bisection as shown;
use tardy_recipe::wrong;
use tardy_search::bisection::{Bisection, EndError};
use tardy_search::configuration::Setting;
use tardy_search::outcome::{Outcome, Step, Tested};
use tardy_search::parameters::{self, Change};
use tardy_search::{Verdict, delta};

use crate::assemble::print_notices;
use crate::build::request;
use crate::kept_boots::{self, Boot, KeptBoot};
use crate::prepare::{DEFAULT_RECIPE, machine_of, prepare_on};
use tardy_args::values::KernelChoice;
use tardy_args::{BuildSourceArgs, LabBisectArgs};
use tardy_command::{Exit, output};

/// The most options that are named.
const NAMED: usize = 4;

/// Searches among commits, among versions of Debian's kernels, or among the options or the words in which two kernels differ.
pub(crate) fn run(arguments: &LabBisectArgs) -> Result<Exit> {
    kept_boots::check_pace(&arguments.experiment)?;
    if arguments.experiment.lab.kernels.is_some() {
        return Err(wrong("kernel", "the kernels of a bisection are those of --good and --bad").into());
    }
    let store = PackageStore::of_this_user()?;
    let mut tests = Tests::of(arguments, &store);
    let (step, changes) = match &arguments.experiment.build {
        Some(from) => (Some(among_commits(&mut tests, from)?), None),
        None => among_kernels(&mut tests)?,
    };
    let condition = arguments.measure.to_string();
    let outcome = Outcome { condition, tested: tests.tested, step, changes };
    match arguments.json {
        true => output::print_json(&outcome)?,
        false => output::print(&shown::text(&outcome, &arguments.measure, output::width()))?,
    }
    Ok(Exit::Done)
}

fn among_kernels(tests: &mut Tests<'_>) -> Result<(Option<Step>, Option<Vec<Change>>)> {
    let LabBisectArgs { good, bad, .. } = tests.arguments;
    let [good, bad] = [one("good", good)?, one("bad", bad)?];
    match (&good.source, &bad.source) {
        (from, to) if from == to => Ok((None, Some(among_words(tests, &good, &bad)?))),
        (Source::Debian(from), Source::Debian(to)) if from.rt == to.rt && good.append == bad.append => {
            Ok((Some(among_versions(tests, [from, to], &good.append)?), None))
        }
        (Source::Build(from), Source::Build(to)) if good.append == bad.append => {
            Ok((None, Some(among_options(tests, [from, to], &good)?)))
        }
        _ => {
            let reason = format!(
                "{good} and {bad} differ in more than their version, their command line or their configuration; expected two versions \
                 of Debian's kernel, both with -rt or both without, two builds of one source (build:NAME), or one kernel with two \
                 command lines"
            );
            Err(wrong("bad", reason).into())
        }
    }
}

fn join(settings: &[Setting]) -> String {
    settings.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn one(option: &'static str, text: &str) -> Result<KernelSpec> {
    let choice: KernelChoice = text.parse().map_err(|error: String| wrong(option, error))?;
    match choice.selection() {
        KernelSelection::One(spec) => Ok(spec.clone()),
        KernelSelection::Several(_) => {
            Err(wrong(option, format!("'{text}' names several kernels; expected one")).into())
        }
    }
}

/// Runs kernels and judges them.
struct Tests<'a> {
    arguments: &'a LabBisectArgs,
    store: &'a PackageStore,
    directory: PathBuf,
    tested: Vec<Tested>,
}

impl<'a> Tests<'a> {
    fn of(arguments: &'a LabBisectArgs, store: &'a PackageStore) -> Self {
        let recipe = arguments.experiment.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
        let stem = output::stem(Path::new(recipe));
        let directory = arguments.output.clone();
        let directory = directory.unwrap_or_else(|| PathBuf::from(format!("tardy-lab-bisect-{stem}")));
        Self { arguments, store, directory, tested: Vec::new() }
    }

    /// Runs a kernel unless it was run before, and judges it.
    fn test(&mut self, name: String, spec: &KernelSpec) -> Result<Verdict> {
        let condition = &self.arguments.measure;
        let experiment = &self.arguments.experiment;
        let (prepared, _) = prepare_on(experiment, vec![spec.clone()], 0, &mut print_notices())?;
        let boots = [Boot { guest: &prepared.guests[0], seed: None }];
        let booted = kept_boots::boot_each(&prepared, &boots, &self.directory, self.arguments.quiet)?;
        let tested = match booted.into_iter().next().expect("one guest was booted") {
            Ok(KeptBoot { path, run, is_new }) => Tested::judged(name, condition, &run, path, is_new),
            Err(error) => Tested::untestable(name, error),
        };
        Ok(self.record(tested))
    }

    /// The same for a kernel that was built. A source that cannot be built cannot be tested.
    fn test_built(
        &mut self,
        name: String,
        built: Result<Built, BuildError>,
        append: &str,
    ) -> Result<Verdict> {
        match built {
            Ok(built) => {
                let spec = KernelSpec::parse(&built.kernel.exact_name())?;
                self.test(name, &KernelSpec { append: append.to_owned(), ..spec })
            }
            Err(error) if error.is_of_source() => {
                Ok(self.record(Tested::untestable(name, error.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn record(&mut self, tested: Tested) -> Verdict {
        if !self.arguments.quiet {
            output::report(&format!(
                "{}: {}",
                tested.kernel,
                shown::describe(&tested, &self.arguments.measure)
            ));
        }
        let verdict = tested.verdict;
        self.tested.push(tested);
        verdict
    }

    /// Searches in an ordered list.
    fn bisect(
        &mut self,
        names: &[String],
        mut test: impl FnMut(&mut Self, usize) -> Result<Verdict>,
    ) -> Result<Step> {
        if names.len() < 2 {
            return Err(wrong("bad", format!("{} is the good and the bad end", names[0])).into());
        }
        let mut bisection = Bisection::among(names.len());
        if !self.arguments.quiet {
            output::report(&format!("{} candidates, at most {} boots", names.len(), bisection.left()));
        }
        while let Some(at) = bisection.next().map_err(|error| self.ends_do_not_differ(error))? {
            bisection.record(at, test(self, at)?);
        }
        Ok(Step::named(&bisection.found(), |at| names[at].clone()))
    }

    /// Searches for the smallest set of changes that is bad.
    fn minimise(
        &mut self,
        changes: Vec<Change>,
        mut test: impl FnMut(&mut Self, &[usize]) -> Result<Verdict>,
    ) -> Result<Vec<Change>> {
        let found = delta::minimise(changes.len(), |set| test(self, set).map_err(Ended::Failed));
        let found = found.map_err(|ended| match ended {
            Ended::Ends(error) => self.ends_do_not_differ(error),
            Ended::Failed(error) => error,
        })?;
        Ok(found.into_iter().map(|at| changes[at].clone()).collect())
    }

    /// Why the search cannot begin: what the ends showed.
    fn ends_do_not_differ(&self, error: EndError) -> anyhow::Error {
        let condition = &self.arguments.measure;
        let describe = |one: &Tested| format!("{}: {}", one.kernel, shown::describe(one, condition));
        let all: Vec<String> = self.tested.iter().take(2).map(describe).collect();
        anyhow!(
            "{error}, with {condition} as the condition for bad, so there is nothing to search; {}. Choose another value in --measure, \
             or other kernels",
            all.join("; ")
        )
    }
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

fn among_versions(tests: &mut Tests<'_>, ends: [&DebianKernel; 2], append: &str) -> Result<Step> {
    let experiment = &tests.arguments.experiment;
    let arch = machine_of(experiment)?.arch();
    let available = listing::versions(tests.store, arch, experiment.guest.refresh, &mut print_notices())?;
    let kernels = selection::between(ends, append, &available)?;
    let names: Vec<String> = kernels.iter().map(ToString::to_string).collect();
    tests.bisect(&names, |tests, at| tests.test(names[at].clone(), &kernels[at]))
}

fn among_words(tests: &mut Tests<'_>, good: &KernelSpec, bad: &KernelSpec) -> Result<Vec<Change>> {
    let changes = parameters::changes(&good.append, &bad.append);
    if changes.is_empty() {
        return Err(wrong("bad", format!("{bad} does not differ from {good}")).into());
    }
    tests.minimise(changes.clone(), |tests, set| {
        let made: Vec<&Change> = set.iter().map(|at| &changes[*at]).collect();
        let spec = KernelSpec { append: parameters::with(&good.append, &made), ..good.clone() };
        tests.test(spec.to_string(), &spec)
    })
}

/// Searches among the options in which two builds of one source differ. What Kconfig makes of a part of them is built; sets that it
/// makes the same of are built and run once.
fn among_options(tests: &mut Tests<'_>, names: [&String; 2], good: &KernelSpec) -> Result<Vec<Change>> {
    let arch = machine_of(&tests.arguments.experiment)?.arch();
    let find = |name: &String| Original::find(&tests.store.cache, arch, name);
    let [from, to] = [find(names[0])?, find(names[1])?];
    if !from.has_source_of(&to) {
        let reason = format!("build:{} and build:{} were not built of the same source", names[0], names[1]);
        return Err(wrong("bad", reason).into());
    }
    let differences = from.differences(&to, tests.store, &mut print_notices())?;
    if differences.is_empty() {
        return Err(wrong(
            "bad",
            format!("the configurations of build:{} and build:{} do not differ", names[0], names[1]),
        )
        .into());
    }
    let name = |settings: &[Setting]| match settings {
        [] => format!("build:{}", names[0]),
        few if few.len() <= NAMED => format!("build:{} with {}", names[0], join(few)),
        many => format!("build:{} with {} of {} options", names[0], many.len(), differences.len()),
    };
    let changes = differences.iter().map(tardy_kbuild::differences::Difference::change).collect();
    let builder = Builder::new(tests.store, arch)?;
    tests.minimise(changes, |tests, set| {
        let settings: Vec<Setting> = set.iter().map(|at| differences[*at].to.clone()).collect();
        let built = from.variant(&builder, &settings, false, &mut print_notices());
        tests.test_built(name(&settings), built, &good.append)
    })
}

/// Searches among the commits of a git tree, each built with the same configuration.
fn among_commits(tests: &mut Tests<'_>, from: &BuildSourceArgs) -> Result<Step> {
    let LabBisectArgs { good, bad, experiment, .. } = tests.arguments;
    let directory = Path::new(&from.source);
    let commits = commits::between(directory, good, bad)?;
    let names: Vec<String> = commits.iter().map(ToString::to_string).collect();
    let builder = Builder::new(tests.store, machine_of(experiment)?.arch())?;
    tests.bisect(&names, |tests, at| {
        let revision = commits[at].id.clone();
        let source = SourceSpec::Commit { directory: directory.to_owned(), revision };
        let built = builder.build(&request(from, source)?, &mut print_notices());
        tests.test_built(names[at].clone(), built, "")
    })
}
