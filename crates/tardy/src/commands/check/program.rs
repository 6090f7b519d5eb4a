//! `tardy check PID`: whether a program is set up as real-time programs must be.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_attach::habits::Habits;
use tardy_attach::procfs;
use tardy_attach::program::Program;
use tardy_attach::rules::{self, ProgramFacts, Ruling, State};
use tardy_attach::session::{Request, Session};
use tardy_attach::targets::{self, Found, Target};
use tardy_host::trace::monitors::{self, Monitors};
use tardy_plot::numbers::harmless;
use tardy_present::table::Table;
use tardy_record::units::{format_duration_ns, format_found_interval_ns};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::{EndSignals, wait_readable};

use crate::commands::attach;
use std::os::fd::AsRawFd;
use std::time::SystemTime;
use tardy_command::{Exit, origin, output};

/// How long threads are observed.
const OBSERVED_NS: u64 = 3_000_000_000;
/// How long a program that is started may set itself up.
const SET_UP_NS: u64 = 1_000_000_000;
/// Why the kernel's own monitors are not used.
const TOO_LATE: &str = "the kernel's own monitors see threads that start while they are enabled; `tardy check -- COMMAND` starts the program";
/// Why a program that ends meanwhile is not judged.
const ENDED: &str =
    "the program ended while it was observed, before it could be checked: that takes three seconds";

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    pid: u32,
    name: &'a str,
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
struct Rule<'a> {
    rule: &'a str,
    state: &'a str,
    found: &'a str,
    remedy: &'a str,
}

/// Checks the program that `word` names.
pub(super) fn run(word: &str, json: bool) -> Result<Exit> {
    let target = Target::of(word);
    let mut pids: Vec<u32> = target.threads().iter().map(|thread| thread.pid).collect();
    pids.dedup();
    let pid = match pids.as_slice() {
        [] => bail!(target.absent()),
        [pid] => *pid,
        [..] => bail!("several processes are called '{word}'; name one by its pid: {pids:?}"),
    };
    let mut facts = observed(pid, &EndSignals::catch()?)?;
    let has_monitors = attach::tracefs().is_ok_and(|tracefs| !monitors::available(&tracefs).is_empty());
    facts.monitors = has_monitors.then(|| Err(TOO_LATE.to_owned()));
    show(&facts, json)
}

/// Starts a program, checks it, and ends it.
pub(super) fn run_started(program: &str, words: &[String], json: bool) -> Result<Exit> {
    // Before anything is set up, which a signal would leave behind.
    let signals = EndSignals::catch()?;
    let monitors = attach::tracefs().ok().and_then(|tracefs| Monitors::enable(&tracefs, &id()).transpose());
    let mut started = Program::start(program, words, None, &signals).map_err(|reason| anyhow!(reason))?;
    let checked = check_started(&mut started, &signals, monitors);
    let ending = started.end();
    let facts = checked?;
    if let Some(ending) = ending.map_err(|reason| anyhow!(reason))? {
        output::report(&ending);
    }
    show(&facts, json)
}

/// Observes a program once it has set itself up.
fn check_started(
    started: &mut Program,
    signals: &EndSignals,
    monitors: Option<Result<Monitors, String>>,
) -> Result<ProgramFacts> {
    let begin_ns = monotonic_ns();
    wait_readable(&[signals.as_raw_fd()], SET_UP_NS)?;
    if started.has_ended() {
        bail!("the program ended within a second, before it could be checked");
    }
    is_whole(begin_ns, SET_UP_NS)?;
    let facts = observed(started.pid(), signals);
    if started.has_ended() {
        bail!(ENDED);
    }
    let mut facts = facts?;
    // From the start: rtapp:pagefault reports no more than the first one of a thread.
    facts.monitors = monitors.map(|monitors| monitors.and_then(|mut monitors| monitors.reports()));
    Ok(facts)
}

fn show(facts: &ProgramFacts, json: bool) -> Result<Exit> {
    let rulings = rules::judge(facts);
    if json {
        let rules = rulings.iter().map(|ruling| Rule {
            rule: ruling.rule,
            state: name(ruling.state),
            found: &ruling.found,
            remedy: ruling.remedy,
        });
        output::print_json(&Answer { pid: facts.pid, name: &facts.name, rules: rules.collect() })?;
    } else {
        output::print(&text(facts, &rulings))?;
    }
    let is_broken = rulings.iter().any(|ruling| ruling.state == State::Broken);
    Ok(if is_broken { Exit::Failed } else { Exit::Done })
}

/// Rules that were observed for a shorter time would seem to be followed.
fn is_whole(begin_ns: u64, wanted_ns: u64) -> Result<()> {
    let passed_ns = monotonic_ns() - begin_ns;
    if passed_ns < wanted_ns {
        bail!(
            "interrupted after {} of {}: nothing is judged",
            format_duration_ns(passed_ns),
            format_duration_ns(wanted_ns)
        );
    }
    Ok(())
}

/// The program's settings, and what its threads do in a few seconds.
fn observed(pid: u32, signals: &EndSignals) -> Result<ProgramFacts> {
    let threads = targets::threads_of(pid);
    let mut facts =
        procfs::facts(&KernelFiles::real(), pid).ok_or_else(|| anyhow!(Target::Pid(pid).absent()))?;
    let before = faults(&threads);
    let begin_ns = monotonic_ns();
    let habits = match habits(pid, signals) {
        Ok(habits) => habits,
        Err(error) => {
            output::report(&format!("only /proc is read: {}", tardy_command::message(&error)));
            wait_readable(&[signals.as_raw_fd()], OBSERVED_NS)?;
            BTreeMap::new()
        }
    };
    if targets::threads_of(pid).is_empty() {
        bail!(ENDED);
    }
    is_whole(begin_ns, OBSERVED_NS)?;
    if !habits.is_empty() {
        facts.observed_ns = Some(OBSERVED_NS);
    }
    let after = faults(&threads);
    for thread in &mut facts.threads {
        let both = after.get(&thread.tid).zip(before.get(&thread.tid));
        thread.faults = both.map(|(after, before)| procfs::faults_since(*after, *before));
        if let Some((interval_ns, habits)) = habits.get(&thread.tid) {
            (thread.interval_ns, thread.habits) = (*interval_ns, Some(*habits));
        }
    }
    Ok(facts)
}

/// Page faults of each thread so far, without and with disk access.
fn faults(threads: &[Found]) -> BTreeMap<u32, (u64, u64)> {
    threads.iter().filter_map(|thread| Some((thread.tid, procfs::faults_of(thread)?))).collect()
}

fn id() -> String {
    origin::of_this_command(SystemTime::now(), None).id
}

/// What the threads do, from the kernel's events.
fn habits(pid: u32, signals: &EndSignals) -> Result<BTreeMap<u32, (Option<u64>, Habits)>> {
    let request = Request {
        id: id(),
        named: pid.to_string(),
        target: Target::Pid(pid),
        warmup_ns: OBSERVED_NS,
        duration_ns: None,
        deadline_ns: None,
        limit_ns: None,
        buffer_kib: None,
        late_ns: None,
        places: false,
    };
    let session = Session::set_up(request, &attach::tracefs()?).map_err(|reason| anyhow!(reason))?;
    session.observe(signals).map_err(|reason| anyhow!(reason))
}

fn name(state: State) -> &'static str {
    match state {
        State::Followed => "followed",
        State::Broken => "broken",
        State::Unknown => "unknown",
    }
}

fn text(facts: &ProgramFacts, rulings: &[Ruling]) -> String {
    let mut lines =
        vec![format!("{} ({}), {} threads", harmless(&facts.name), facts.pid, facts.threads.len())];
    let periodic = facts.threads.iter().filter_map(|thread| Some((thread, thread.interval_ns?)));
    for (thread, interval_ns) in periodic {
        lines.push(format!(
            "  {} runs every {}",
            harmless(&thread.name),
            format_found_interval_ns(interval_ns)
        ));
    }
    let mut table = Table::of_words(&["rule", "state", "found"]);
    for ruling in rulings {
        table.push(vec![ruling.rule.to_owned(), name(ruling.state).to_owned(), harmless(&ruling.found)]);
    }
    lines.push(String::new());
    lines.extend(table.lines(output::width()));
    let broken: Vec<&Ruling> = rulings.iter().filter(|ruling| ruling.state == State::Broken).collect();
    if !broken.is_empty() {
        lines.push(String::new());
        lines.extend(broken.iter().map(|ruling| format!("{}: {}", ruling.rule, ruling.remedy)));
    }
    lines.join("\n") + "\n"
}
