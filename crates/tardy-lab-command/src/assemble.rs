//! Assembles guests that are ready to boot: kernels, modules, tools and orders.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use tardy_init::orders::{IdleCriterion, Orders};
use tardy_lab::experiment::Experiment;
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::modules::Module;
use tardy_lab::kernel::{self, Kernel, KernelSelection, KernelSpec, Request, own_modules};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_lab::session::{self, Confinement};
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_record::load_spec::{LoadSpec, LoadTask};
use tardy_sys::scheduling;
use tardy_tsn::kernel_modules::KERNEL_MODULES;

use crate::guest_program;
use tardy_args::LabRecipe;
use tardy_args::{ExperimentArgs, GuestFlags};
use tardy_command::output;

/// The default kernels: the most common comparison.
pub(crate) const DEFAULT_KERNELS: [&str; 2] = ["debian:6.12", "debian:6.12-rt"];
const DEFAULT_GUEST_CPUS: u32 = 2;
/// The name of the run file in the guest.
pub(crate) const RUN_FILE: &str = "run.run.json";
/// Names of links to busybox in the guest, for shell commands of recipes.
const BUSYBOX_NAMES: [&str; 16] = [
    "sh", "cat", "cp", "dd", "echo", "find", "ls", "nc", "ping", "rm", "seq", "sleep", "tar", "true", "yes",
    "gzip",
];

/// Guests that are ready to boot.
pub(crate) struct Prepared {
    /// The recipe's name.
    pub(crate) recipe: String,
    /// The recipe's description, in one sentence.
    pub(crate) about: String,
    /// The title of the recipe's chapter in the report of all articles.
    pub(crate) chapter: Option<String>,
    /// The path of the guests' program.
    pub(crate) guest_program: PathBuf,
    /// The experiment in each guest.
    pub(crate) experiment: Experiment,
    /// The guests, in the order of their kernels.
    pub(crate) guests: Vec<Guest>,
    /// CPUs of the host that guests may be pinned to.
    pub(crate) cores: Vec<u32>,
    /// How the emulators are confined.
    pub(crate) confinement: Confinement,
}

impl Prepared {
    /// Prints a warning if a hostile guest could do harm.
    pub(crate) fn warn_if_unconfined(&self) {
        if self.confinement == Confinement::Unconfined {
            output::report("unconfined: what runs in a guest can do everything on this machine that you can");
        }
    }
}

/// A guest.
pub(crate) struct Guest {
    /// The guest's name in file names.
    pub(crate) slug: String,
    pub(crate) kernel: Kernel,
    /// Modules to load, in order.
    pub(crate) modules: Vec<Module>,
}

/// Finds kernels, tools and the guest's tardy, and combines them with the orders.
pub(crate) fn assemble(
    recipe: &LabRecipe,
    orders: Orders,
    mut files: Vec<(String, Entry)>,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let flags = &arguments.guest;
    let machine = recipe.lab.machine();
    let specs = kernel_specs(recipe, flags.refresh, notice)?;
    // Before hundreds of megabytes are downloaded for a guest that cannot start.
    let program = guest_program::find(flags.guest_tardy.as_deref(), machine.arch())?;
    let confinement = session::confinement(machine, pace(flags)?, flags.unconfined)?;
    files.extend(tools(recipe, machine, notice)?);
    let modules = modules_wanted(recipe, &orders);
    let at_rest = requests(&recipe.lab.modules_at_rest);
    let guests = guests(&specs, machine, flags.refresh, [&modules, &at_rest], notice)?;
    Ok(Prepared {
        recipe: recipe.name().to_owned(),
        about: recipe.measurement.about.clone().unwrap_or_default(),
        chapter: recipe.lab.chapter.clone(),
        guest_program: program.path,
        experiment: Experiment {
            machine,
            pace: pace(flags)?,
            memory_mib: recipe.lab.memory().mib(),
            patience: Duration::from_nanos(flags.patience.ns()),
            orders,
            parts: Parts { tardy: program.content, files, ..Parts::default() },
        },
        guests,
        cores: scheduling::affinity().context("cannot read which CPUs this process may use")?,
        confinement,
    })
}

/// The kernels that the recipe or its flags name, each once.
pub(crate) fn kernel_specs(
    recipe: &LabRecipe,
    refresh: bool,
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<KernelSpec>> {
    let selections: Vec<KernelSelection> = match &recipe.lab.kernels {
        Some(kernels) => kernels.iter().map(|kernel| kernel.selection().clone()).collect(),
        None => {
            let parse = |text: &str| KernelSelection::parse(text).map_err(|error| wrong("kernel", error));
            DEFAULT_KERNELS.into_iter().map(parse).collect::<Result<_, _>>()?
        }
    };
    if selections.is_empty() {
        return Err(wrong("kernels", "the list is empty; name a kernel, or remove the key").into());
    }
    let store = PackageStore::of_this_user()?;
    let specs = kernel::expand(&store, &selections, recipe.lab.machine().arch(), refresh, notice)?;
    for (number, spec) in specs.iter().enumerate() {
        if specs[..number].iter().any(|other| other.slug() == spec.slug()) {
            return Err(wrong("kernel", format!("'{spec}' is given twice")).into());
        }
    }
    Ok(specs)
}

pub(crate) fn pace(flags: &GuestFlags) -> Result<Pace, UsageError> {
    let cpus = flags.guest_cpus.unwrap_or(DEFAULT_GUEST_CPUS);
    match (flags.realtime, flags.kvm) {
        (true, _) => Ok(Pace::Realtime { cpus }),
        (_, true) => Ok(Pace::Kvm { cpus }),
        _ if flags.guest_cpus.is_some_and(|cpus| cpus != 1) => Err(wrong(
            "guest-cpus",
            "a guest whose clock counts instructions has one CPU: the emulator would run several in turn on one counter, so \
             latencies between CPUs would depend on the emulator's switching; add --realtime for a functional test",
        )),
        _ => Ok(Pace::default()),
    }
}

/// The condition to begin the measurement. With the host's time an emulated CPU is too slow to become idle, so the wait is
/// short; latencies are meaningless then.
pub(crate) fn idle_criterion(pace: Pace) -> IdleCriterion {
    match pace {
        Pace::Realtime { .. } => IdleCriterion { limit_ns: 2_000_000_000, ..IdleCriterion::default() },
        Pace::Instructions { .. } | Pace::Kvm { .. } => IdleCriterion::default(),
    }
}

/// The tasks of all loads of the recipe.
pub(crate) fn tasks(recipe: &Recipe) -> impl Iterator<Item = &LoadTask> {
    let of_phases = recipe.phase.iter().filter_map(|phase| phase.load.as_deref()).flatten();
    recipe.run.loads().iter().chain(of_phases).flat_map(LoadSpec::tasks)
}

/// Programs that the recipe names, with their libraries, from the distribution's packages.
fn tools(recipe: &LabRecipe, machine: Machine, notice: &mut dyn FnMut(&str)) -> Result<Vec<(String, Entry)>> {
    let mut files = Vec::new();
    for tool in recipe.lab.tools.iter().map(String::as_str).chain(shell_for_commands(recipe)) {
        let (package, path) = tool.split_once(':').ok_or_else(|| {
            wrong(
                "tools",
                format!("'{tool}': expected PACKAGE:PATH, for example rt-tests:/usr/bin/cyclictest"),
            )
        })?;
        let root = PackageStore::of_this_user()?.fetch_tool_root(machine.arch(), &[package], notice)?;
        files.extend(libraries::tool(&root.root, path)?);
        if path.ends_with("/busybox") {
            let link = |name: &str| (format!("bin/{name}"), Entry::Link { target: path.to_owned() });
            files.extend(BUSYBOX_NAMES.map(link));
        }
    }
    Ok(files)
}

/// The shell for commands of the recipe, unless the recipe has one.
fn shell_for_commands(recipe: &LabRecipe) -> Option<&'static str> {
    let runs_commands = tasks(&recipe.measurement).any(|task| matches!(task, LoadTask::Command { .. }));
    let has_a_shell = recipe.lab.tools.iter().any(|tool| tool.ends_with("/busybox") || tool.ends_with("/sh"));
    (runs_commands && !has_a_shell).then_some("busybox-static:/bin/busybox")
}

fn modules_wanted(recipe: &LabRecipe, orders: &Orders) -> Vec<ModuleRequest> {
    let mut modules = requests(&recipe.lab.modules);
    let veth = ModuleRequest::parse("veth");
    if orders.peer && !modules.contains(&veth) {
        modules.push(veth);
    }
    modules
}

/// The modules of Debian's kernels that the cache keeps: those of `wanted`, of the recipes of the lab, and of switches.
pub(crate) fn kept_modules<'a>(wanted: impl IntoIterator<Item = &'a ModuleRequest>) -> Vec<String> {
    let of_recipes = LabRecipe::built_in().flat_map(|recipe| requests(&recipe.lab.modules));
    let all: Vec<ModuleRequest> = wanted.into_iter().cloned().chain(of_recipes).collect();
    let named = all.iter().filter_map(ModuleRequest::name);
    let mut names: Vec<String> = KERNEL_MODULES.into_iter().chain(named).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn requests(modules: &[String]) -> Vec<ModuleRequest> {
    modules.iter().map(|module| ModuleRequest::parse(module)).collect()
}

fn guests(
    specs: &[KernelSpec],
    machine: Machine,
    refresh: bool,
    [modules, at_rest]: [&[ModuleRequest]; 2],
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<Guest>> {
    let keep = kept_modules(modules.iter().chain(at_rest));
    let store = PackageStore::of_this_user()?;
    let guest = |spec: &KernelSpec| -> Result<Guest> {
        let request = Request { arch: machine.arch(), refresh, keep: &keep };
        let kernel = kernel::find(spec, request, notice)?;
        let modules = own_modules::build_wanted(&store, &kernel, modules, notice)?;
        let at_rest = own_modules::build_wanted(&store, &kernel, at_rest, notice)?;
        let modules = kernel::modules_of(&store, &kernel, [&modules, &at_rest], notice)?;
        Ok(Guest { slug: spec.slug(), kernel, modules })
    };
    specs.iter().map(guest).collect()
}

/// A function that prints messages about steps that take time.
pub(crate) fn print_notices() -> impl FnMut(&str) {
    |text: &str| output::report(text)
}
