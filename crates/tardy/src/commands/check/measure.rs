//! `tardy check --measure`: changes tried one at a time, and what each did.

use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tardy_analyse::doctor::{self as analysis, Diagnosis, Observation};
use tardy_host::facts::SystemAnswers;
use tardy_host::trace::tracefs::Offer as TraceOffer;
use tardy_measure::doctor::{
    Change, Ending, Offer, Request, Standing, Steps, Subject, check_nothing_is_left, conduct, offers,
    order_of_round,
};
use tardy_present::doctor::{Done, Offered, offers as offers_text, text};
use tardy_record::cpu_list;
use tardy_record::plan::Plan;
use tardy_record::units::format_duration_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;

use crate::args::{CheckArgs, TrialFlags};
use crate::commands::{origin, output};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::recipe::{GpioTable, NoiseTable, Recipe, RunTable, TimerTable};
use crate::resolve::{Extras, Machine, Pins, UsageError, resolve, wrong};

/// Measured and not counted, at the start of each trial.
const WARMUP: &str = "500ms";
/// What a trial takes beside its warm-up and its duration, about: loads begin, the probe gets ready, both end.
const AROUND_NS: u64 = 700_000_000;
/// So many rounds are tried beyond those that it takes, since one may turn out not to count.
const SPARE_ROUNDS: u32 = 2;
/// More rounds than these are a slip of the fingers.
const ROUNDS_MAX: u32 = 200;
/// A trial needs so many wake-ups for a p99.9.
const WAKE_UPS_MIN: u64 = 1000;

/// What was asked for, resolved.
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
    /// Names, round by round, in their order.
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

/// Tries what can be tried on this machine.
pub(super) fn run(arguments: &CheckArgs) -> Result<Exit> {
    let flags = &arguments.trials;
    let resolved = resolved(arguments)?;
    let left = check_nothing_is_left(&KernelFiles::under(&arguments.kernel_root));
    if flags.dry_run {
        left.unwrap_or_else(|reason| output::tell(&reason));
        show_plan(&resolved, arguments.json)?;
        return Ok(Exit::Done);
    }
    left.map_err(|reason| anyhow!(reason))?;
    if resolved.changes.is_empty() {
        show_plan(&resolved, arguments.json)?;
        output::tell("nothing can be tried here; what stands in the way is on standard output");
        return Ok(Exit::CouldNot);
    }
    if flags.fake.is_none() {
        for spec in &resolved.plan.phases[0].loads {
            tardy_load::parse(spec)
                .and_then(|spec| spec.check_programs())
                .map_err(|error| wrong("load", error))?;
        }
    }
    tell_beforehand(&resolved, flags.quiet);
    let is_real = flags.fake.is_none() && KernelFiles::under(&arguments.kernel_root).is_real();
    let request = Request {
        plan: resolved.plan.clone(),
        changes: resolved.changes.clone(),
        rounds: resolved.rounds,
        keep: flags.output.clone(),
        origin: &|| origin::of_this_command(SystemTime::now(), flags.fake),
        answers: if is_real { SystemAnswers::ask() } else { SystemAnswers::none() },
        exe: std::env::current_exe()
            .context("tardy does not find its own program, which serves as the probe")?,
        kernel_root: arguments.kernel_root.clone(),
        fake: flags.fake,
    };
    let mut observations = Vec::new();
    let mut progress = Progress::new(flags.quiet);
    let ending = conduct(&request, &mut progress, &mut |trial| {
        let reading = trial.run.and_then(|run| analysis::reading(&run));
        let change = trial.change.map(|change| change.name().to_owned());
        observations.push(Observation { round: trial.round, change, reading });
    });
    progress.close_line();
    match ending {
        Ok(ending) => present(&resolved, ending, &observations, arguments),
        Err(reason) if observations.is_empty() => Err(anyhow!(reason)),
        Err(reason) => {
            // What was measured until then is worth its table.
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
            trials: trials_in_words(&resolved.plan, resolved.rounds),
            offered: resolved.offers.iter().map(offered).collect(),
            interrupted,
        };
        output::print(&text(&done, &diagnosis, output::colour()))?;
    }
    if let Some(directory) = &arguments.trials.output {
        output::tell(&format!("runs in {}", directory.display()));
    }
    Ok(if diagnosis.rounds == 0 && !interrupted { Exit::Invalid } else { Exit::Done })
}

fn resolved(arguments: &CheckArgs) -> Result<Resolved> {
    let flags = &arguments.trials;
    let files = KernelFiles::under(&arguments.kernel_root);
    let plan = plan(flags)?;
    let timer = plan.phases[0].probe.timer().context("a trial is measured by timers")?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    let subject = Subject { cpus: plan.measured_cpus(), priority };
    let only = only(flags)?;
    let is_wanted = |offer: &Offer| only.as_ref().is_none_or(|only| only.contains(&offer.change));
    let mut offers: Vec<Offer> = offers(&files, &subject).into_iter().filter(is_wanted).collect();
    if flags.fake.is_some() && files.is_real() {
        // What is invented must not change what is real.
        for offer in &mut offers {
            offer.standing = Standing::NotHere { what: "the fake measures no machine".to_owned() };
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
        return Err(wrong("rounds", format!("{rounds} rounds; give 1 to {ROUNDS_MAX}")).into());
    }
    Ok(Resolved { plan, offers, changes, rounds })
}

fn only(flags: &TrialFlags) -> Result<Option<Vec<Change>>, UsageError> {
    let Some(names) = &flags.only else { return Ok(None) };
    let change = |name: &String| {
        let known = || Change::ALL.map(Change::name).join(", ");
        Change::of_name(name.trim()).ok_or_else(|| wrong("only", format!("'{name}' is none of {}", known())))
    };
    names.iter().map(change).collect::<Result<_, _>>().map(Some)
}

/// One trial: the timer probe with the machine as it is, idle states included.
fn plan(flags: &TrialFlags) -> Result<Plan> {
    let allowed = match flags.fake {
        Some(_) => vec![0, 1],
        None => scheduling::affinity().context("the kernel does not say which CPUs this process may use")?,
    };
    let others = if allowed.len() > 1 { &allowed[1..] } else { &allowed[..] };
    let run = RunTable {
        duration: Some(flags.duration.clone().unwrap_or_else(|| "5s".to_owned())),
        warmup: Some(WARMUP.to_owned()),
        load: flags.load.clone(),
        seed: flags.seed,
        ..RunTable::default()
    };
    let timer = TimerTable {
        cpus: Some(flags.cpus.clone().unwrap_or_else(|| cpu_list::format(others))),
        interval: flags.interval.clone(),
        priority: flags.priority,
        dma_latency: Some("leave".to_owned()),
        ..TimerTable::default()
    };
    let recipe = Recipe::default().overridden_by(run, timer, NoiseTable::default(), GpioTable::default());
    let extras = Extras { scale: 1.0, ambient_c: None, housekeeping_cpu: None };
    let co_kernel = Err("trials measure Linux's own timers".to_owned());
    let plan = resolve(
        &recipe,
        extras,
        &Machine { allowed, trace: TraceOffer::none(), co_kernel, pins: Pins::Known(Vec::new()) },
    )?;
    let wake_ups = plan.phases[0].cycles_planned().unwrap_or(0);
    if wake_ups < WAKE_UPS_MIN {
        let reason = format!(
            "a trial would have {wake_ups} wake-ups, and a p99.9 takes {WAKE_UPS_MIN}; give it longer"
        );
        return Err(wrong("duration", reason).into());
    }
    Ok(plan)
}

/// What is about to happen, and how long it will take.
fn tell_beforehand(resolved: &Resolved, quiet: bool) {
    let least = analysis::least_rounds(resolved.changes.len()) as u32;
    if resolved.rounds < least {
        let (rounds, changes) = (resolved.rounds, resolved.changes.len());
        output::tell(&format!(
            "too few rounds to tell anything from chance: {rounds}, where the number of changes ({changes}) takes {least}"
        ));
    }
    if !quiet {
        let names: Vec<&str> = resolved.changes.iter().map(|(change, _)| change.name()).collect();
        output::tell(&format!("{}: {}", expected(resolved), names.join(", ")));
    }
}

/// How many trials, and how long they take.
fn expected(resolved: &Resolved) -> String {
    let trials = u64::from(resolved.rounds) * (resolved.changes.len() as u64 + 1);
    let phase = &resolved.plan.phases[0];
    let ns = trials * (phase.planned_ns() + phase.warmup_ns + AROUND_NS);
    let seconds = format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
    format!("{}, {trials} trials in about {seconds}", trials_in_words(&resolved.plan, resolved.rounds))
}

fn trials_in_words(plan: &Plan, rounds: u32) -> String {
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
