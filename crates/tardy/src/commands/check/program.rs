//! `tardy check PID`: whether a program is set up as real-time programs must be.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use tardy_attach::habits::Habits;
use tardy_attach::procfs::{self, Snapshot};
use tardy_attach::rules::{self, ProgramFacts, Ruling, State};
use tardy_attach::session::{Request, Session};
use tardy_attach::targets::{self, Target};
use tardy_host::trace::monitors::Monitors;
use tardy_plot::numbers::harmless;
use tardy_present::table::Table;
use tardy_record::units::format_duration_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::{EndSignals, wait_readable};

use crate::commands::attach;
use std::os::fd::AsRawFd;
use std::time::SystemTime;
use tardy_command::{Exit, origin, output};

/// How long threads are observed.
const OBSERVED_NS: u64 = 3_000_000_000;

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
    let facts = observed(pid)?;
    let rulings = rules::judge(&facts);
    if json {
        let rules = rulings.iter().map(|ruling| Rule {
            rule: ruling.rule,
            state: name(ruling.state),
            found: &ruling.found,
            remedy: ruling.remedy,
        });
        output::print_json(&Answer { pid, name: &facts.name, rules: rules.collect() })?;
    } else {
        output::print(&text(&facts, &rulings))?;
    }
    let is_broken = rulings.iter().any(|ruling| ruling.state == State::Broken);
    Ok(if is_broken { Exit::Failed } else { Exit::Done })
}

/// The program's settings, and what its threads do in a few seconds.
fn observed(pid: u32) -> Result<ProgramFacts> {
    let threads = targets::threads_of(pid);
    let mut facts =
        procfs::facts(&KernelFiles::real(), pid).ok_or_else(|| anyhow!(Target::Pid(pid).absent()))?;
    let signals = EndSignals::catch()?;
    let monitors = monitors();
    let before = Snapshot::of(&threads);
    let habits = match habits(pid, &signals) {
        Ok(habits) => habits,
        Err(error) => {
            output::report(&format!("only /proc is read: {}", tardy_command::message(&error)));
            wait_readable(&[signals.as_raw_fd()], OBSERVED_NS)?;
            BTreeMap::new()
        }
    };
    if !habits.is_empty() {
        facts.observed_ns = Some(OBSERVED_NS);
    }
    let used = Snapshot::of(&threads).since(&before);
    facts.monitors = monitors.map(|monitors| monitors.and_then(|mut monitors| monitors.reports()));
    for thread in &mut facts.threads {
        let of_thread = used.iter().find(|(known, _)| known.tid == thread.tid);
        thread.faults = of_thread.map(|(_, used)| used.faults);
        if let Some((interval_ns, habits)) = habits.get(&thread.tid) {
            (thread.interval_ns, thread.habits) = (*interval_ns, Some(*habits));
        }
    }
    Ok(facts)
}

/// The kernel's own monitors, enabled; `None` if it has none or its trace is not readable.
fn monitors() -> Option<Result<Monitors, String>> {
    Monitors::enable(&attach::tracefs().ok()?, &id()).transpose()
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
        lines.push(format!("  {} runs every {}", harmless(&thread.name), format_duration_ns(interval_ns)));
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
