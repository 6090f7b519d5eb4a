//! Runs recipes and tests of switches. The host shows and judges their runs.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use tardy_host::facts::{self, SystemAnswers};
use tardy_measure::engine::{Listener, Outcome, Request, RunProgress};
use tardy_measure::{ProbeProgram, Programs};
use tardy_recipe::plan::{self, Extras, Machine};
use tardy_recipe::values::{PositiveDuration, scale};
use tardy_recipe::{Recipe, RecipeText};
use tardy_record::plan::Plan;
use tardy_record::run::Origin;
use tardy_switch::SwitchTest;
use tardy_switch::experiment::{self, ObservedFrame, Test};
use tardy_sys::kernel_files::KernelFiles;

/// Time during which the frames of a switch are counted, unless the orders name another.
const SWITCH_TEST_NS: u64 = 2_000_000_000;
/// Progress is reported once per minute.
const SECONDS_PER_REPORT: u64 = 60;

/// Prints a message for the host, which recognises it by its beginning.
pub(crate) fn report(text: &str) {
    eprintln!("tardy: {text}");
}

/// As [`recipe`], with the factor in `text` on all durations.
pub(crate) fn scaled_recipe(path: &str, output: &str, text: &str) -> Result<(), String> {
    recipe(path, output, scale(text)?)
}

/// Runs the recipe file `path` and writes the run file `output`.
pub(crate) fn recipe(path: &str, output: &str, scale: f64) -> Result<(), String> {
    let recipe = RecipeText::read(Path::new(path)).and_then(|text| Recipe::of(&text));
    let recipe = recipe.map_err(|error| error.to_string())?;
    let files = KernelFiles::real();
    let machine = Machine::this(&files, &recipe)?;
    let machine = machine.in_cgroup(&files, &recipe).map_err(|error| error.to_string())?;
    let extras = Extras { scale, ..Extras::NONE };
    let plan = plan::resolve(&recipe, extras, &machine).map_err(|error| error.to_string())?;
    let mut loads = plan.phases.iter().flat_map(|phase| &phase.loads);
    loads.try_for_each(tardy_load::check_programs).map_err(|error| error.to_string())?;
    let request = Request { requires_policy: recipe.asks_for_policy(), ..request(plan, output)? };
    let notices = plan::pin_notices(&request.plan, &request.facts);
    request.plan.placement.remarks.iter().chain(&notices).for_each(|notice| report(notice));
    end(tardy_measure::run(&request, &mut Messages::default()))
}

/// Tests the switch of the file `path` in network namespaces, and writes the run file `output`.
pub(crate) fn switch(path: &str, output: &str, time: Option<&str>) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let network = tardy_tsn::file::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    let duration_ns = match time {
        Some(time) => time.parse::<PositiveDuration>()?.ns(),
        None => SWITCH_TEST_NS,
    };
    let plan = experiment::plan(&network, path, duration_ns, &[true, false]);
    let request = Request { measures_in_process: true, ..request(plan, output)? };
    let test = Test {
        network,
        file_name: path.to_owned(),
        file: text,
        namespaces: true,
        keep_frames: false,
        follow: false,
        replacement: None,
    };
    let ignore = |_: bool, _: &ObservedFrame| {};
    let test = SwitchTest { test, frames: RefCell::new(Box::new(ignore)), followed: RefCell::default() };
    end(tardy_switch::test_switch(&request, &test, &mut Messages::default()))
}

fn request(plan: Plan, output: &str) -> Result<Request, String> {
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let files = KernelFiles::real();
    let boot_id = files.text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let facts = facts::collect(&files, &SystemAnswers::ask());
    // The host adds its own name, the time and the command.
    let origin = Origin { id: "guest".to_owned(), boot_id, ..Origin::default() };
    let programs = Programs { probe: ProbeProgram::new(&[], own.clone()), own, read_output: refuse_output };
    Ok(Request { is_in_guest: true, ..Request::new(plan, facts, origin, PathBuf::from(output), programs) })
}

/// The host refuses recipes with a co-kernel, whose latency program is the only one with output to read.
fn refuse_output(_format: &str, name: &str, _output: &[u8]) -> Result<tardy_record::Run, String> {
    Err(format!("the program for guests does not read the output of {name}"))
}

fn end(outcome: Result<Outcome, impl std::fmt::Display>) -> Result<(), String> {
    match outcome {
        Ok(Outcome { trouble: None, .. }) => Ok(()),
        Ok(Outcome { trouble: Some(trouble), .. }) => Err(trouble),
        Err(error) => Err(error.to_string()),
    }
}

/// Prints messages, and progress once per minute.
#[derive(Default)]
struct Messages {
    seconds: u64,
}

impl Listener for Messages {
    fn progress(&mut self, progress: &RunProgress<'_>) {
        self.seconds += 1;
        if self.seconds.is_multiple_of(SECONDS_PER_REPORT) {
            report(&progress.to_string());
        }
    }

    fn message(&mut self, text: &str) {
        report(text);
    }
}
