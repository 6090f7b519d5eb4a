//! From what was typed and what the recipe says to guests that can be booted.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::{Context, Result};
use tardy_lab::experiment::Experiment;
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::{self, IdleCriterion, Orders};
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::modules::Module;
use tardy_lab::kernel::{self, Kernel, KernelSpec, own_modules};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_measure::trace::tracefs::Offer;
use tardy_record::units::parse_duration_ns;
use tardy_sys::scheduling;

use super::{guest_tardy, switch};
use crate::args::{ExperimentArgs, GuestFlags};
use crate::commands::output;
use crate::commands::tsn::switch_file;
use crate::recipe::Recipe;
use crate::resolve::{self, Extras, UsageError, resolve, wrong};

/// The recipe where none is named.
const DEFAULT_RECIPE: &str = "lab-quick";
/// The kernels where neither flags nor recipe name any: the question that most people come with.
const DEFAULT_KERNELS: [&str; 2] = ["debian:6.12", "debian:6.12-rt"];
const DEFAULT_MEMORY_MIB: u32 = 512;
/// What a guest may have.
const MEMORY_MIB: RangeInclusive<u32> = 64..=65536;
const DEFAULT_GUEST_CPUS: u32 = 2;
/// Where the run is written in the guest, and its name there.
pub(super) const RUN_FILE: &str = "run.run.json";
/// Loads that send to another host; in a guest there is one.
const NETWORK_LOADS: [&str; 3] = ["doload", "network", "net"];
/// What a shell command of a recipe may name: busybox goes by these names where it is taken along.
const BUSYBOX_NAMES: [&str; 16] = [
    "sh", "cat", "cp", "dd", "echo", "find", "ls", "nc", "ping", "rm", "seq", "sleep", "tar", "true", "yes",
    "gzip",
];

/// Guests that can be booted.
pub(super) struct Prepared {
    /// The recipe's name.
    pub(super) recipe: String,
    /// What it says of itself.
    pub(super) about: String,
    /// What its chapter is called where every article is told.
    pub(super) chapter: Option<String>,
    /// What happens in each guest.
    pub(super) experiment: Experiment,
    /// The kernels, in the order asked for.
    pub(super) guests: Vec<Guest>,
    /// CPUs of this machine that guests may be pinned to.
    pub(super) cores: Vec<u32>,
}

/// One of them.
pub(super) struct Guest {
    /// For file names.
    pub(super) slug: String,
    pub(super) kernel: Kernel,
    /// Modules to load, in their order.
    pub(super) modules: Vec<Module>,
}

/// What was asked for, ready to be booted. `notice` is told what takes time.
pub(super) fn prepare(arguments: &ExperimentArgs, notice: &mut dyn FnMut(&str)) -> Result<Prepared> {
    let name = arguments.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
    if switch_file::describes_a_switch(name) {
        return switch::prepare(name, arguments, notice);
    }
    prepare_recipe(Recipe::find(name)?, arguments, notice)
}

/// Every article's experiment that the lab can do.
pub(super) fn prepare_chapters(
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<Prepared>> {
    let recipes = Recipe::all().filter(|recipe| recipe.lab.chapter.is_some());
    let mut chapters = Vec::new();
    for recipe in recipes {
        chapters.push(prepare_recipe(recipe, arguments, notice)?);
    }
    for name in switch_file::built_in() {
        chapters.push(switch::prepare(name, arguments, notice)?);
    }
    Ok(chapters)
}

fn prepare_recipe(
    recipe: Recipe,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let recipe = recipe.overridden_by(
        arguments.run.table(),
        arguments.timer.table(),
        arguments.noise.table(),
        arguments.gpio.table(),
    );
    let pace = pace(&arguments.guest)?;
    resolve_for_guest(&recipe, arguments.scale, pace)?;
    let orders = orders(&recipe, arguments.scale, pace)?;
    let files = vec![recipe_file(&recipe)?];
    assemble(recipe, orders, files, &arguments.guest, notice)
}

/// Finds kernels, tools and the guest's tardy, and puts them together with the orders.
pub(super) fn assemble(
    recipe: Recipe,
    orders: Orders,
    mut files: Vec<(String, Entry)>,
    flags: &GuestFlags,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let machine = machine(flags, &recipe)?;
    let specs = kernel_specs(flags, &recipe)?;
    let (pace, patience, memory_mib) = (pace(flags)?, patience(flags)?, memory_mib(flags, &recipe)?);
    files.extend(tools(&recipe, machine, notice)?);
    let modules = modules_wanted(&recipe, &orders);
    let at_rest = requests(&recipe.lab.modules_at_rest);
    let guests = guests(&specs, machine, flags.refresh, [&modules, &at_rest], notice)?;
    let tardy = guest_tardy::find(flags.guest_tardy.as_deref(), machine.arch())?;
    Ok(Prepared {
        recipe: recipe.name.clone().unwrap_or_default(),
        about: recipe.about.clone().unwrap_or_default(),
        chapter: recipe.lab.chapter.clone(),
        experiment: Experiment {
            machine,
            pace,
            memory_mib,
            patience,
            orders,
            parts: Parts { tardy, files, ..Parts::default() },
        },
        guests,
        cores: scheduling::affinity().context("the kernel does not say which CPUs this process may use")?,
    })
}

/// Finds every mistake that the guest would find, before anything is booted. What its kernel's trace offers only it can
/// say.
fn resolve_for_guest(recipe: &Recipe, scale: f64, pace: Pace) -> Result<(), UsageError> {
    let allowed = (0..pace.cpus()).collect();
    let extras = Extras { scale, ambient_c: None, housekeeping_cpu: None };
    let co_kernel = Err("the lab has no kernel with a co-kernel".to_owned());
    let machine =
        resolve::Machine { allowed, trace: Offer::fake(), co_kernel, pins: resolve::Pins::Elsewhere };
    resolve(recipe, extras, &machine).map(drop)
}

fn memory_mib(flags: &GuestFlags, recipe: &Recipe) -> Result<u32, UsageError> {
    let mib = flags.memory.or(recipe.lab.memory_mib).unwrap_or(DEFAULT_MEMORY_MIB);
    if MEMORY_MIB.contains(&mib) {
        return Ok(mib);
    }
    let (least, most) = (MEMORY_MIB.start(), MEMORY_MIB.end());
    Err(wrong("memory_mib", format!("{mib} is not between {least} and {most} MiB")))
}

fn machine(flags: &GuestFlags, recipe: &Recipe) -> Result<Machine, UsageError> {
    let Some(name) = flags.machine.as_ref().or(recipe.lab.machine.as_ref()) else {
        return Ok(Machine::default());
    };
    Machine::ALL.into_iter().find(|machine| machine.name() == name).ok_or_else(|| {
        wrong("machine", format!("'{name}' is none of {}", Machine::ALL.map(Machine::name).join(", ")))
    })
}

fn kernel_specs(flags: &GuestFlags, recipe: &Recipe) -> Result<Vec<KernelSpec>, UsageError> {
    let default = || DEFAULT_KERNELS.map(str::to_owned).to_vec();
    let of_recipe = || recipe.lab.kernels.clone().unwrap_or_else(default);
    let texts = if flags.kernel.is_empty() { of_recipe() } else { flags.kernel.clone() };
    if texts.is_empty() {
        return Err(wrong(
            "kernels",
            "the recipe's list of kernels is empty; name one, or leave the key out".to_owned(),
        ));
    }
    let specs: Result<Vec<KernelSpec>, UsageError> = texts
        .iter()
        .map(|text| KernelSpec::parse(text).map_err(|error| wrong("kernel", error.to_string())))
        .collect();
    let specs = specs?;
    for (number, spec) in specs.iter().enumerate() {
        if specs[..number].iter().any(|other| other.slug() == spec.slug()) {
            return Err(wrong("kernel", format!("'{}' is given twice", texts[number])));
        }
    }
    Ok(specs)
}

pub(super) fn pace(flags: &GuestFlags) -> Result<Pace, UsageError> {
    let cpus = flags.guest_cpus.unwrap_or(DEFAULT_GUEST_CPUS);
    match (flags.realtime, flags.kvm) {
        (true, _) => Ok(Pace::Realtime { cpus }),
        (_, true) => Ok(Pace::Kvm { cpus }),
        _ if flags.guest_cpus.is_some_and(|cpus| cpus != 1) => Err(wrong(
            "guest-cpus",
            "a guest whose clock counts instructions has one CPU, because the emulator runs several in turn on one \
             counter and a latency across them would be that of its turns; add --realtime for a functional run"
                .to_owned(),
        )),
        _ => Ok(Pace::default()),
    }
}

fn patience(flags: &GuestFlags) -> Result<Duration, UsageError> {
    let ns = parse_duration_ns(&flags.patience).map_err(|error| wrong("patience", error.to_string()))?;
    if ns == 0 {
        return Err(wrong("patience", "0 would end every guest at once; give a time such as 5m".to_owned()));
    }
    Ok(Duration::from_nanos(ns))
}

fn orders(recipe: &Recipe, scale: f64, pace: Pace) -> Result<Orders> {
    let mut run = vec![orders::PROGRAM.to_owned(), "run".to_owned(), recipe_path(recipe)];
    run.extend(["-o".to_owned(), format!("{}/{RUN_FILE}", orders::RESULTS)]);
    if scale != 1.0 {
        run.extend(["--scale".to_owned(), scale.to_string()]);
    }
    let mut orders = Orders { idle: idle_criterion(pace), commands: vec![run], ..Orders::default() };
    for line in &recipe.lab.outside {
        orders.peer = true;
        orders.peer_commands.push(line.split_whitespace().map(str::to_owned).collect());
    }
    if sends(recipe) {
        orders.peer = true;
        orders
            .peer_commands
            .push([orders::PROGRAM, "load", "sink", orders::GUEST_ADDRESS].map(str::to_owned).to_vec());
    }
    Ok(orders)
}

/// In the host's time an emulated CPU is too slow to be idle, and nothing that follows means anything.
pub(super) fn idle_criterion(pace: Pace) -> IdleCriterion {
    match pace {
        Pace::Realtime { .. } => IdleCriterion { limit_ns: 2_000_000_000, ..IdleCriterion::default() },
        Pace::Instructions { .. } | Pace::Kvm { .. } => IdleCriterion::default(),
    }
}

/// Whether any load of the recipe sends to another host.
fn sends(recipe: &Recipe) -> bool {
    loads(recipe).any(|load| NETWORK_LOADS.contains(&load))
}

fn loads(recipe: &Recipe) -> impl Iterator<Item = &str> {
    let of_phases = recipe.phase.iter().filter_map(|phase| phase.load.as_ref());
    recipe.run.load.iter().chain(of_phases).flatten().map(String::as_str)
}

/// Where the recipe lies in the guest. Its name is part of the run.
fn recipe_path(recipe: &Recipe) -> String {
    format!("/lab/{}.toml", recipe.name.as_deref().unwrap_or("recipe"))
}

/// The recipe as the guest reads it: what was typed laid over it, and without what only people read.
fn recipe_file(recipe: &Recipe) -> Result<(String, Entry)> {
    let mut told = Recipe { notes: None, ..recipe.clone() };
    if sends(recipe) && told.run.peer.is_none() {
        told.run.peer = Some(orders::PEER_ADDRESS.to_owned());
    }
    let text = toml::to_string(&told).context("the recipe cannot be written for the guest")?;
    Ok((recipe_path(recipe), Entry::File { content: text.into_bytes(), executable: false }))
}

/// Programs that the recipe names, with what they need, from the distribution's packages.
fn tools(recipe: &Recipe, machine: Machine, notice: &mut dyn FnMut(&str)) -> Result<Vec<(String, Entry)>> {
    let mut files = Vec::new();
    for tool in recipe.lab.tools.iter().map(String::as_str).chain(shell_for_commands(recipe)) {
        let (package, path) = tool.split_once(':').ok_or_else(|| {
            wrong(
                "tools",
                format!("'{tool}' does not say PACKAGE:PATH, such as rt-tests:/usr/bin/cyclictest"),
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

/// The shell that commands of the recipe run in, where it brings none.
fn shell_for_commands(recipe: &Recipe) -> Option<&'static str> {
    let runs_commands = loads(recipe).any(|load| load.starts_with("cmd:"));
    let brings_one = recipe.lab.tools.iter().any(|tool| tool.ends_with("/busybox") || tool.ends_with("/sh"));
    (runs_commands && !brings_one).then_some("busybox-static:/bin/busybox")
}

fn modules_wanted(recipe: &Recipe, orders: &Orders) -> Vec<ModuleRequest> {
    let mut modules = requests(&recipe.lab.modules);
    let veth = ModuleRequest::parse("veth");
    if orders.peer && !modules.contains(&veth) {
        modules.push(veth);
    }
    modules
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
    let guest = |spec: &KernelSpec| -> Result<Guest> {
        let kernel = kernel::find(spec, machine.arch(), refresh, notice)?;
        let store = PackageStore::of_this_user()?;
        let modules = own_modules::build_wanted(&store, &kernel, modules, notice)?;
        let at_rest = own_modules::build_wanted(&store, &kernel, at_rest, notice)?;
        let modules = kernel::modules::resolve(&kernel, &modules, &at_rest)?;
        Ok(Guest { slug: spec.slug(), kernel, modules })
    };
    specs.iter().map(guest).collect()
}

/// Tells a person what takes time.
pub(super) fn tell_notice() -> impl FnMut(&str) {
    |text: &str| output::tell(text)
}
