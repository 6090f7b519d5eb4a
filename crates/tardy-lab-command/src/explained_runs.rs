//! The runs that `tardy lab explain` explains: run files, or a recipe that is measured first.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tardy_recipe::{Recipe, RecipeText, wrong};
use tardy_sys::files::PrivateDirectory;

use crate::assemble::DEFAULT_KERNELS;
use tardy_args::{LabExplainArgs, RedactionFlag};
use tardy_command::{executables, output};

/// The run files. Those of a recipe are removed when this is dropped.
pub(crate) struct ExplainedRuns {
    pub(crate) paths: Vec<PathBuf>,
    _directory: Option<PrivateDirectory>,
}

impl ExplainedRuns {
    /// How many there will be.
    pub(crate) fn count(arguments: &LabExplainArgs) -> usize {
        match &arguments.runs[..] {
            [recipe] if is_recipe(recipe) => kernels(arguments).len(),
            paths => paths.len(),
        }
    }

    /// Those of the command line. A recipe is measured on the kernels that are given.
    pub(crate) fn of(arguments: &LabExplainArgs) -> Result<Self> {
        match &arguments.runs[..] {
            [recipe] if is_recipe(recipe) => measured(recipe, arguments),
            paths if arguments.kernel.is_empty() => Ok(Self { paths: paths.to_vec(), _directory: None }),
            _ => {
                Err(wrong("kernel", "kernels are for a recipe, such as lab-quick; a run file has its own")
                    .into())
            }
        }
    }
}

/// Run files are JSON, so what ends in .toml is a recipe, and a name without a file may be a recipe that tardy contains.
fn is_recipe(word: &Path) -> bool {
    let is_own = || RecipeText::built_in().any(|recipe| Path::new(recipe.name()) == word);
    word.extension().is_some_and(|extension| extension == "toml") || (!word.exists() && is_own())
}

/// Measures in a process of its own, whose summary nobody wants to see here.
fn measured(recipe: &Path, arguments: &LabExplainArgs) -> Result<ExplainedRuns> {
    let kernels = kernels(arguments);
    if kernels.len() > 2 {
        return Err(wrong("kernel", "at most two kernels can be compared").into());
    }
    arguments.phase.as_deref().map_or(Ok(()), |label| has_phase(recipe, label))?;
    // As a guest's directory: what a process leaves that was killed, a later command of the lab removes.
    let directory = PrivateDirectory::create(&format!("tardy-guest-{}-", std::process::id()))?;
    let own = executables::caller()?;
    let mut tardy = Command::new(own);
    tardy.args(["lab", "run"]).arg(recipe).arg("-o").arg(directory.path()).stdout(Stdio::null());
    tardy.args(kernels.iter().flat_map(|kernel| ["--kernel", *kernel]));
    tardy.args(arguments.quiet.then_some("--quiet")).args(arguments.unconfined.then_some("--unconfined"));
    if !tardy.status().context("cannot start the measurement")?.success() {
        bail!("{} was not measured; nothing is explained", recipe.display());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory.path())? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".run.json") {
            let run = output::open_run(&path, RedactionFlag::default())?;
            let spec = run.lab.map(|lab| lab.kernel.spec);
            paths.push((kernels.iter().position(|kernel| Some(*kernel) == spec.as_deref()), path));
        }
    }
    // The first kernel that was given is A.
    paths.sort();
    let paths = paths.into_iter().map(|(_, path)| path).collect();
    Ok(ExplainedRuns { paths, _directory: Some(directory) })
}

/// Refuses a phase that no run of the recipe has, before anything is measured. What a label has after the name of its phase, the run
/// decides.
fn has_phase(recipe: &Path, label: &str) -> Result<()> {
    let phases = Recipe::find(&recipe.to_string_lossy())?.phase;
    if phases.is_empty() || phases.iter().any(|phase| label.starts_with(&phase.name)) {
        return Ok(());
    }
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    let (recipe, names) = (recipe.display(), names.join(", "));
    Err(wrong("phase", format!("{recipe} has no phase '{label}'; it has {names}")).into())
}

/// The kernels on which a recipe is measured.
fn kernels(arguments: &LabExplainArgs) -> Vec<&str> {
    let given: Vec<&str> = arguments.kernel.iter().map(String::as_str).collect();
    if given.is_empty() { DEFAULT_KERNELS.to_vec() } else { given }
}
