//! `tardy run`: resolve, measure, show.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use tardy_analyse::phase_lock;
use tardy_measure::co_kernel::CoKernel;
use tardy_measure::facts;
use tardy_measure::gpio::chips;
use tardy_measure::load;
use tardy_measure::run::result_file::{ResultFile, is_same_place};
use tardy_measure::run::{Outcome, Request, conduct};
use tardy_measure::trace::tracefs::Offer;
use tardy_present::sections::phase_lock as shown;
use tardy_record::facts::Facts;
use tardy_record::plan::Plan;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;

use super::{origin, output, report, show};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::recipe::Recipe;
use crate::resolve::{Extras, Machine, Pins, UsageError, resolve, wrong};
use crate::resolve_pins;
use crate::unused_options;

/// Measures.
pub(crate) fn run(arguments: &RunArgs) -> Result<Exit> {
    let plan = plan(arguments)?;
    if arguments.dry_run {
        resolve_pins::beforehand(&plan, &facts(arguments)).iter().for_each(|line| output::tell(line));
        output::print_json(&plan)?;
        return Ok(Exit::Done);
    }
    if arguments.fake.is_none() {
        check_programs(&plan)?;
    }
    let started = SystemTime::now();
    let request = Request {
        output: arguments.output.clone().unwrap_or_else(|| default_output(started)),
        origin: origin::of_this_command(started, arguments.fake),
        facts: facts(arguments),
        samples: arguments.samples.clone(),
        tells_samples: false,
        force: arguments.force,
        exe: std::env::current_exe()
            .context("tardy does not find its own program, which serves as the probe")?,
        kernel_root: arguments.kernel_root.clone(),
        fake: arguments.fake,
        plan,
    };
    resolve_pins::beforehand(&request.plan, &request.facts).iter().for_each(|line| output::tell(line));
    for warning in shown::warnings(&phase_lock::beforehand(&request.plan, &request.facts)) {
        output::tell(&warning);
    }
    let report = arguments.report.as_ref().map(|report| report_path(report.as_deref(), &request.output));
    if let Some(report) = &report {
        check_report_is_apart(report, &request)?;
    }
    let report = report.map(|report| ResultFile::claim(&report, arguments.force)).transpose()?;
    let mut progress = Progress::new(arguments.quiet);
    let outcome = conduct(&request, &mut progress);
    progress.close_line();
    present(&outcome?, arguments, &request.output, report.as_ref())
}

fn present(
    outcome: &Outcome,
    arguments: &RunArgs,
    run_file: &Path,
    report: Option<&ResultFile>,
) -> Result<Exit> {
    let Outcome { run, trouble } = outcome;
    show::print(run, arguments.json)?;
    output::tell(&format!("run file {}", run_file.display()));
    if let Some(samples) = &run.samples {
        output::tell(&format!("samples {}: {} kept, {} lost", samples.path, samples.kept, samples.lost));
    }
    if let Some(report) = report {
        report::write(std::slice::from_ref(run), report)?;
    }
    if let Some(trouble) = trouble {
        bail!("{trouble}");
    }
    Ok(Exit::of_run(run))
}

/// The last phase's load must not be found to be impossible when the others are over.
fn check_programs(plan: &Plan) -> Result<(), UsageError> {
    for load in plan.phases.iter().flat_map(|phase| &phase.loads) {
        load::parse(load).and_then(|spec| spec.check_programs()).map_err(|error| wrong("load", error))?;
    }
    Ok(())
}

fn plan(arguments: &RunArgs) -> Result<Plan> {
    let recipe = arguments.recipe.as_deref().map_or_else(|| Ok(Recipe::default()), Recipe::find)?;
    let recipe = recipe.overridden_by(
        arguments.run.table(),
        arguments.timer.table(),
        arguments.noise.table(),
        arguments.gpio.table(),
    );
    let recipe = recipe.with_phases(arguments.run.phases())?;
    // Parts may have probes of their own, and what one cannot heed another can.
    if recipe.phase.is_empty() {
        let probe = recipe.run.probe.as_deref().unwrap_or("timer");
        unused_options::check(
            probe,
            &arguments.timer.table(),
            &arguments.noise.table(),
            &arguments.gpio.table(),
            arguments.samples.is_some(),
        )?;
    }
    let allowed = match arguments.fake {
        // The fake measures a machine that does not exist; it shall be the same one everywhere.
        Some(_) => vec![0, 1],
        None => scheduling::affinity().context("the kernel does not say which CPUs this process may use")?,
    };
    let trace = match arguments.fake {
        Some(_) => Offer::fake(),
        None => Offer::of(&KernelFiles::under(&arguments.kernel_root)),
    };
    let extras = Extras {
        scale: arguments.scale,
        ambient_c: arguments.ambient,
        housekeeping_cpu: arguments.housekeeping_cpu,
    };
    let co_kernel = match arguments.fake {
        Some(_) => Err("what another program prints is not made up; leave --fake out".to_owned()),
        None => {
            CoKernel::find(&KernelFiles::under(&arguments.kernel_root), std::env::var_os("PATH").as_deref())
        }
    };
    Ok(resolve(&recipe, extras, &Machine { allowed, trace, co_kernel, pins: pins(arguments, &recipe)? })?)
}

/// The GPIO chips; looked at only where a line is named.
fn pins(arguments: &RunArgs, recipe: &Recipe) -> Result<Pins> {
    let gpio = &recipe.gpio;
    let named = gpio.input.is_some() || gpio.output.is_some() || gpio.stimulus.is_some();
    let chips = match arguments.fake {
        Some(_) => chips::fake(),
        None if named => chips::all().map_err(|reason| anyhow!(reason))?,
        None => Vec::new(),
    };
    Ok(Pins::Known(chips))
}

fn facts(arguments: &RunArgs) -> Facts {
    let files = KernelFiles::under(&arguments.kernel_root);
    let answers = match arguments.fake {
        Some(_) => facts::SystemAnswers::none(),
        None => facts::SystemAnswers::ask(),
    };
    facts::collect(&files, &answers)
}

/// A name that is free: another run may have been started in the same second.
fn default_output(started: SystemTime) -> PathBuf {
    let stamp = origin::stamp(started);
    let numbered = (2..).map(|number| format!("tardy-{stamp}-{number}.run.json"));
    let mut names = std::iter::once(format!("tardy-{stamp}.run.json")).chain(numbered).map(PathBuf::from);
    names.find(|name| name.symlink_metadata().is_err()).expect("there is no end of numbers")
}

/// The report replaces neither the run file nor the samples, whatever --force says.
fn check_report_is_apart(report: &Path, request: &Request) -> Result<(), UsageError> {
    let taken = |path: &Path, what: &str| {
        let reason = format!("{} is the {what} already; choose another name for the report", path.display());
        if is_same_place(path, report) { Err(wrong("report", reason)) } else { Ok(()) }
    };
    taken(&request.output, "run file")?;
    request.samples.as_deref().map_or(Ok(()), |samples| taken(samples, "samples file"))
}

/// Where the report goes: as given, or beside the run file under its name.
fn report_path(given: Option<&Path>, run_file: &Path) -> PathBuf {
    if let Some(given) = given {
        return given.to_owned();
    }
    let name = run_file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem =
        name.strip_suffix(".run.json").or_else(|| name.strip_suffix(".json")).unwrap_or(&name).to_owned();
    run_file.with_file_name(stem + ".html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_lies_beside_its_run() {
        assert_eq!(report_path(None, Path::new("a/b.run.json")), Path::new("a/b.html"));
        assert_eq!(report_path(Some(Path::new("c.html")), Path::new("a/b.run.json")), Path::new("c.html"));
    }
}
