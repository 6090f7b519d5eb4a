//! `tardy check --measure`: tries changes one at a time and measures the effect of each.

use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tardy_compare::doctor::{self as analysis, Diagnosis, Observation};
use tardy_host::cpus::Cpus;
use tardy_host::facts::SystemAnswers;
use tardy_host::trace::tracefs::Offer as TraceOffer;
use tardy_measure::doctor::{
    self, Change, Ending, Offer, Request, Standing, Steps, Subject, check_nothing_is_left, offers,
    order_of_round,
};
use tardy_present::doctor::{Done, Offered, offers as offers_text, text};
use tardy_recipe::options::{RunOptions, TimerOptions};
use tardy_recipe::plan::{Extras, Machine, Pins, resolve};
use tardy_recipe::values::{CpuSelection, DmaLatency, Duration, PositiveDuration};
use tardy_recipe::{Recipe, wrong};
use tardy_record::cpu_list;
use tardy_record::plan::Plan;
use tardy_record::units::{counted, format_duration_ns};
use tardy_sys::kernel_files::KernelFiles;

use crate::commands::programs;
use crate::commands::progress::Progress;
use tardy_args::{CheckArgs, TrialFlags};
use tardy_command::{Exit, origin, output};

/// Duration of a trial, by default.
const DURATION: PositiveDuration = PositiveDuration::from_ns(5_000_000_000);
/// Warm-up at the start of each trial, which is not counted.
const WARMUP: Duration = Duration::from_ns(500_000_000);
/// Approximate time to start and end the loads and the probe of a trial, in ns.
const AROUND_NS: u64 = 700_000_000;
/// Rounds in addition to those that significance requires, because a round may be invalid.
const SPARE_ROUNDS: u32 = 2;
/// Most rounds.
const ROUNDS_MAX: u32 = 200;
/// Fewest wake-ups of a trial, so that it has a p99.9.
const WAKE_UPS_MIN: u64 = 1000;

/// The plan of all trials.
struct Resolved {
    plan: Plan,
    offers: Vec<Offer>,
    changes: Vec<(Change, Steps)>,
    rounds: u32,
}

#[derive(Serialize)]
struct Planned<'a> {
    offers: &'a [Offer],
    rounds: u32,
    /// The names of the changes in each round, in the order of their trials.
    order: Vec<Vec<&'a str>>,
    trial: &'a Plan,
}

#[derive(Serialize)]
struct Answer<'a> {
    offers: &'a [Offer],
    interrupted: bool,
    diagnosis: &'a Diagnosis,
    trials: &'a [Observation],
}

/// Tries the changes that are possible on this machine.
pub(super) fn run(arguments: &CheckArgs) -> Result<Exit> {
    let flags = &arguments.trials;
    let resolved = resolved(arguments)?;
    let left = check_nothing_is_left(&KernelFiles::under(&arguments.kernel_root));
    if flags.dry_run {
        left.unwrap_or_else(|reason| output::report(&reason));
        show_plan(&resolved, arguments.json)?;
        return Ok(Exit::Done);
    }
    left.map_err(|reason| anyhow!(reason))?;
    if resolved.changes.is_empty() {
        show_plan(&resolved, arguments.json)?;
        output::report("no change can be tried here; the reasons are on standard output");
        return Ok(Exit::CouldNot);
    }
    if flags.fake.is_none() {
        for load in &resolved.plan.phases[0].loads {
            tardy_load::check_programs(load).map_err(|error| wrong("load", error))?;
        }
    }
    announce(&resolved, flags.quiet);
    let is_real = flags.fake.is_none() && KernelFiles::under(&arguments.kernel_root).is_real();
    let request = Request {
        plan: resolved.plan.clone(),
        changes: resolved.changes.clone(),
        rounds: resolved.rounds,
        keep: flags.output.clone(),
        origin: &|| origin::of_this_command(SystemTime::now(), flags.fake),
        answers: if is_real { SystemAnswers::ask() } else { SystemAnswers::none() },
        programs: programs::of_tardy()?,
        kernel_root: arguments.kernel_root.clone(),
        fake: flags.fake,
    };
    let mut observations = Vec::new();
    let mut progress = Progress::new(flags.quiet);
    let ending = doctor::run(&request, &mut progress, &mut |trial| {
        let reading = trial.run.and_then(|run| analysis::reading(&run));
        let change = trial.change.map(|change| change.name().to_owned());
        observations.push(Observation { round: trial.round, change, reading });
    });
    progress.close();
    match ending {
        Ok(ending) => present(&resolved, ending, &observations, arguments),
        Err(reason) if observations.is_empty() => Err(anyhow!(reason)),
        Err(reason) => {
            // Show the measurements so far.
            present(&resolved, Ending::Interrupted, &observations, arguments)?;
            Err(anyhow!(reason))
        }
    }
}

fn present(
    resolved: &Resolved,
    ending: Ending,
    observations: &[Observation],
    arguments: &CheckArgs,
) -> Result<Exit> {
    let names: Vec<String> = resolved.changes.iter().map(|(change, _)| change.name().to_owned()).collect();
    let diagnosis = analysis::diagnose(&names, observations);
    let interrupted = ending == Ending::Interrupted;
    if arguments.json {
        let offers = &resolved.offers;
        output::print_json(&Answer { offers, interrupted, diagnosis: &diagnosis, trials: observations })?;
    } else {
        let done = Done {
            trials: describe_trials(&resolved.plan, resolved.rounds),
            offered: resolved.offers.iter().map(offered).collect(),
            interrupted,
        };
        output::print(&text(&done, &diagnosis, output::colour()))?;
    }
    if let Some(directory) = &arguments.trials.output {
        output::report(&format!("run files in {}", directory.display()));
    }
    Ok(if diagnosis.rounds == 0 && !interrupted { Exit::Invalid } else { Exit::Done })
}

fn resolved(arguments: &CheckArgs) -> Result<Resolved> {
    let flags = &arguments.trials;
    let files = KernelFiles::under(&arguments.kernel_root);
    let plan = plan(flags)?;
    let timer = plan.phases[0].probe.timer().context("trials use the timer probe")?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    let subject = Subject { cpus: plan.measured_cpus(), priority };
    let is_wanted = |offer: &Offer| flags.only.as_ref().is_none_or(|only| only.contains(&offer.change));
    let mut offers: Vec<Offer> = offers(&files, &subject).into_iter().filter(is_wanted).collect();
    if flags.fake.is_some() && files.is_real() {
        // A simulation must not change the real machine.
        for offer in &mut offers {
            offer.standing = Standing::NotHere { what: "--fake does not measure this machine".to_owned() };
        }
    }
    let can_be_tried = |offer: &Offer| match &offer.standing {
        Standing::CanBeTried(steps) => Some((offer.change, steps.clone())),
        _ => None,
    };
    let changes: Vec<(Change, Steps)> = offers.iter().filter_map(can_be_tried).collect();
    let default = analysis::least_rounds(changes.len()) as u32 + SPARE_ROUNDS;
    let rounds = flags.rounds.unwrap_or(default);
    if rounds == 0 || rounds > ROUNDS_MAX {
        return Err(
            wrong("rounds", format!("{rounds} rounds are out of range; expected 1 to {ROUNDS_MAX}")).into()
        );
    }
    Ok(Resolved { plan, offers, changes, rounds })
}

/// The plan of a trial: the timer probe, without preventing idle states.
fn plan(flags: &TrialFlags) -> Result<Plan> {
    let cpus = match flags.fake {
        Some(_) => Cpus::alike(vec![0, 1]),
        None => Cpus::of_this_process(&KernelFiles::real()).map_err(|reason| anyhow!(reason))?,
    };
    let (allowed, _) = cpus.all();
    let others = if allowed.len() > 1 { &allowed[1..] } else { &allowed[..] };
    let recipe = Recipe {
        run: RunOptions {
            duration: Some(flags.duration.unwrap_or(DURATION)),
            warmup: Some(WARMUP),
            load: flags.load.clone(),
            seed: flags.seed,
            ..RunOptions::default()
        },
        timer: TimerOptions {
            cpus: Some(flags.cpus.clone().unwrap_or_else(|| CpuSelection::List(others.to_vec()))),
            interval: flags.interval,
            priority: flags.priority,
            dma_latency: Some(DmaLatency::Leave),
            ..TimerOptions::default()
        },
        ..Recipe::default()
    };
    let machine = Machine {
        cpus,
        trace: TraceOffer::none(),
        co_kernel: Err("trials measure Linux's timers".to_owned()),
        pins: Pins::Known(Vec::new()),
    };
    let plan = resolve(&recipe, Extras::NONE, &machine)?;
    let wake_ups = plan.phases[0].cycles_planned().unwrap_or(0);
    if wake_ups < WAKE_UPS_MIN {
        let has = counted(wake_ups, "wake-up", "wake-ups");
        let reason = format!("a trial has {has}, but a p99.9 needs {WAKE_UPS_MIN}; increase --duration");
        return Err(wrong("duration", reason).into());
    }
    Ok(plan)
}

/// Reports the trials and their expected duration.
fn announce(resolved: &Resolved, quiet: bool) {
    let least = analysis::least_rounds(resolved.changes.len()) as u32;
    if resolved.rounds < least {
        let (rounds, changes) = (resolved.rounds, resolved.changes.len());
        output::report(&format!(
            "{rounds} rounds are too few for a significant result; {changes} changes need {least}"
        ));
    }
    if !quiet {
        let names: Vec<&str> = resolved.changes.iter().map(|(change, _)| change.name()).collect();
        output::report(&format!("{}: {}", expected(resolved), names.join(", ")));
    }
}

/// The number of trials and their expected duration, for the user.
fn expected(resolved: &Resolved) -> String {
    let trials = u64::from(resolved.rounds) * (resolved.changes.len() as u64 + 1);
    let phase = &resolved.plan.phases[0];
    let ns = trials * (phase.planned_ns() + phase.warmup_ns + AROUND_NS);
    let seconds = format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
    format!("{}, {trials} trials in about {seconds}", describe_trials(&resolved.plan, resolved.rounds))
}

fn describe_trials(plan: &Plan, rounds: u32) -> String {
    let phase = &plan.phases[0];
    let load =
        if phase.loads.is_empty() { String::new() } else { format!(" under {}", phase.loads.join(" + ")) };
    let s = if rounds == 1 { "" } else { "s" };
    let duration = format_duration_ns(phase.planned_ns());
    format!("{rounds} round{s} of {duration} on CPU {}{load}", cpu_list::format(&plan.measured_cpus()))
}

fn show_plan(resolved: &Resolved, json: bool) -> Result<()> {
    let names: Vec<&str> =
        std::iter::once("baseline").chain(resolved.changes.iter().map(|(change, _)| change.name())).collect();
    if json {
        let order = |round| {
            let order = order_of_round(resolved.plan.seed, round, names.len());
            order.into_iter().map(|index| names[index]).collect()
        };
        return output::print_json(&Planned {
            offers: &resolved.offers,
            rounds: resolved.rounds,
            order: (1..=resolved.rounds).map(order).collect(),
            trial: &resolved.plan,
        });
    }
    let offered: Vec<Offered> = resolved.offers.iter().map(offered).collect();
    let mut text = offers_text(&offered, output::colour());
    if !resolved.changes.is_empty() {
        text += &format!("\n{}\n", expected(resolved));
    }
    output::print(&text)
}

fn offered(offer: &Offer) -> Offered {
    let (standing, what) = match &offer.standing {
        Standing::CanBeTried(steps) => ("can be tried", format!("{}, then {}", steps.now, steps.becomes)),
        Standing::AlreadySo { what } => ("already so", what.clone()),
        Standing::NotPermitted { what } => ("root could try", what.clone()),
        Standing::NotHere { what } => ("not here", what.clone()),
    };
    Offered { name: offer.change.name().to_owned(), standing, what }
}
