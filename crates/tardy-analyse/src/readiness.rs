//! Whether a machine is ready for real-time work, and what prevents it.
//!
//! A pure function of the facts and the settings. Each check has a name (`docs/checks.md` lists them) and one of four
//! results: found, fine, unknown, or not applicable. A finding states the problem, its effect, its severity, and a remedy:
//! a command for a root shell, a kernel option, or a boot parameter, with what the remedy risks.
//!
//! An unknown fact is not a finding, with one exception: whether the kernel is PREEMPT_RT. It is never fine.

mod clock;
mod cpu;
mod environment;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod power;
mod scheduling;
#[cfg(test)]
mod tests;
mod watchdogs;
pub(crate) use scheduling::{fair_share, throttle};

use schemars::JsonSchema;
use serde::Serialize;
use tardy_record::Knowable;
use tardy_record::facts::{Fact, Facts};
use tardy_record::tuning::{Setting, Tuning};

/// Every check, in the order of its usual effect on latency.
const RULES: [Rule; 42] = [
    Rule { name: "preempt-rt", judge: kernel::real_time },
    Rule { name: "high-resolution-timers", judge: clock::high_resolution },
    Rule { name: "real-time-priority", judge: scheduling::priority },
    Rule { name: "cgroup-runtime", judge: scheduling::group_runtime },
    Rule { name: "hypervisor", judge: cpu::hypervisor },
    Rule { name: "debugging-options", judge: kernel::debugging },
    Rule { name: "throttling", judge: scheduling::throttling },
    Rule { name: "fair-server", judge: scheduling::fair_server },
    Rule { name: "preemption", judge: kernel::preemption },
    Rule { name: "cpu-quota", judge: scheduling::quota },
    Rule { name: "idle-states", judge: power::idle_states },
    Rule { name: "governor", judge: power::governor },
    Rule { name: "locked-memory", judge: scheduling::lockable_memory },
    Rule { name: "interrupt-affinity", judge: interrupts::affinity },
    Rule { name: "workqueues", judge: isolation::workqueues },
    Rule { name: "smt", judge: cpu::smt },
    Rule { name: "clock-source", judge: clock::source },
    Rule { name: "ksm", judge: memory::ksm },
    Rule { name: "numa-balancing", judge: memory::numa_balancing },
    Rule { name: "transparent-huge-pages", judge: memory::huge_pages },
    Rule { name: "expedited-rcu", judge: isolation::expedited_rcu },
    Rule { name: "container", judge: environment::container },
    Rule { name: "isolation", judge: isolation::isolation },
    Rule { name: "irqbalance", judge: interrupts::irqbalance },
    Rule { name: "shared-interrupts", judge: interrupts::shared },
    Rule { name: "tick", judge: isolation::tick },
    Rule { name: "rcu-callbacks", judge: isolation::rcu_callbacks },
    Rule { name: "swap", judge: memory::swap },
    Rule { name: "energy-preference", judge: power::energy_preference },
    Rule { name: "turbo", judge: power::turbo },
    Rule { name: "pcie-power", judge: power::pcie },
    Rule { name: "machine-check-polling", judge: watchdogs::machine_checks },
    Rule { name: "hard-lockup-detector", judge: watchdogs::hard },
    Rule { name: "soft-lockup-detector", judge: watchdogs::soft },
    Rule { name: "timer-migration", judge: isolation::timer_migration },
    Rule { name: "stat-interval", judge: isolation::stat_interval },
    Rule { name: "skew-tick", judge: clock::skew_tick },
    Rule { name: "file-systems", judge: environment::file_systems },
    Rule { name: "mitigations", judge: cpu::mitigations },
    Rule { name: "lockdown", judge: environment::lockdown },
    Rule { name: "boot-parameters", judge: kernel::boot_parameters },
    Rule { name: "evidence", judge: kernel::evidence },
];

/// A check: its name, and the function that judges a machine.
struct Rule {
    name: &'static str,
    judge: fn(&Machine<'_>) -> Judged,
}

/// What is known of the machine.
struct Machine<'a> {
    facts: &'a Facts,
    tuning: &'a Tuning,
}

/// The result of a check whose facts are known.
enum Outcome {
    Found(Vec<Finding>),
    /// The present setting.
    Fine(String),
    /// Why the check does not apply.
    NotApplicable(String),
}

/// A fact that the check needs is unknown: the place that was searched.
struct Unknown(String);

type Judged = Result<Outcome, Unknown>;

/// The verdict on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Readiness {
    /// Whether this is a PREEMPT_RT kernel and nothing blocks real-time work on it.
    pub ready: bool,
    /// Whether this is a PREEMPT_RT kernel.
    pub real_time: Knowable<bool>,
    /// Whether this is a PREEMPT_RT kernel, as a sentence with the evidence.
    pub headline: String,
    /// Kernel, preemption, governor, isolated CPUs and the verdict in one line, to be pasted.
    pub status: String,
    /// The findings, the most severe first, and those of one severity in the order of their usual effect.
    pub findings: Vec<Finding>,
    /// Every check and its result.
    pub checks: Vec<Check>,
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Its name, such as `swap`.
    pub name: &'static str,
    /// Its result.
    pub state: State,
    /// The finding, the present setting, the place that was searched, or why the check does not apply.
    pub detail: String,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It found a problem.
    Found,
    /// It found none.
    Fine,
    /// A fact that it needs is unknown.
    Unknown,
    /// This machine lacks what it checks.
    NotApplicable,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// The check that found it.
    pub check: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The problem, in a few words.
    pub what: String,
    /// Why it matters, in a sentence.
    pub why: String,
    /// The source of the fact.
    pub source: String,
    /// The remedy.
    pub remedy: Remedy,
    /// Alternative remedies, the better ones first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Remedy>,
    /// What the remedy risks or costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger: Option<String>,
}

/// Severity of a finding, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It prevents any real-time guarantee.
    Blocks,
    /// It delays wake-ups, at least under some loads.
    Hurts,
    /// Information, or a problem with little effect.
    Note,
}

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remedy {
    /// How to apply the text.
    pub kind: RemedyKind,
    /// The command, option or parameter itself.
    pub text: String,
}

/// What kind of change a remedy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemedyKind {
    /// Run it in a root shell; it lasts until the next boot, or permanently if it installs something.
    Command,
    /// Build the kernel with it.
    KernelOption,
    /// Add it to the kernel's command line and reboot.
    BootParameter,
    /// Remove it from the kernel's command line and reboot.
    RemoveBootParameter,
    /// Run it in a root shell of the host, not of this machine.
    HostCommand,
    /// Change the hardware, its firmware's settings, or what is plugged in.
    Hardware,
}

impl Remedy {
    fn command(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::Command, text: text.into() }
    }

    fn kernel_option(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::KernelOption, text: text.into() }
    }

    fn boot_parameter(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::BootParameter, text: text.into() }
    }
}

impl Finding {
    fn new(
        severity: Severity,
        what: impl Into<String>,
        why: &str,
        source: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        let (what, source) = (what.into(), source.into());
        let (check, why, alternatives, danger) = ("", why.to_owned(), Vec::new(), None);
        Self { check, severity, what, why, source, remedy, alternatives, danger }
    }

    /// The finding with another remedy, which is less good than those it has.
    fn or(mut self, remedy: Remedy) -> Self {
        self.alternatives.push(remedy);
        self
    }

    /// The finding with what its remedies risk or cost.
    fn danger(mut self, danger: &str) -> Self {
        self.danger = Some(danger.to_owned());
        self
    }
}

impl From<Finding> for Outcome {
    fn from(finding: Finding) -> Self {
        Self::Found(vec![finding])
    }
}

fn fine(setting: impl Into<String>) -> Judged {
    Ok(Outcome::Fine(setting.into()))
}

fn not_applicable(why: impl Into<String>) -> Judged {
    Ok(Outcome::NotApplicable(why.into()))
}

/// The value of a fact that a check needs.
fn known<T>(fact: &Fact<T>) -> Result<&T, Unknown> {
    fact.get().ok_or_else(|| Unknown(fact.how.clone()))
}

/// The value of a setting that a check needs; `None` if the kernel does not have it.
fn set<T>(setting: &Setting<T>) -> Result<Option<&T>, Unknown> {
    Ok(known(setting)?.as_ref())
}

impl Machine<'_> {
    /// The words of the kernel's command line, without those for init.
    fn boot_words(&self) -> Result<impl DoubleEndedIterator<Item = &str>, Unknown> {
        let line = known(&self.facts.kernel.command_line)?;
        let for_the_kernel = line.split_once(" -- ").map_or(line.as_str(), |(before, _)| before);
        Ok(for_the_kernel.split_whitespace())
    }

    /// The value of the last boot parameter `name=value`.
    fn boot_value(&self, name: &str) -> Result<Option<&str>, Unknown> {
        Ok(self.boot_words()?.rev().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')))
    }

    /// Whether the kernel was built with an option; `None` if its configuration is unknown.
    fn built_with(&self, option: &str) -> Option<bool> {
        Some(self.facts.kernel.config.get()?.contains_key(option))
    }
}

/// Judges a machine by its facts and settings.
pub fn judge(facts: &Facts, tuning: &Tuning) -> Readiness {
    let machine = Machine { facts, tuning };
    let mut findings = Vec::new();
    let mut checks = Vec::with_capacity(RULES.len());
    for Rule { name, judge } in RULES {
        let (state, detail) = match judge(&machine) {
            Ok(Outcome::Found(mut found)) => {
                found.iter_mut().for_each(|finding| finding.check = name);
                let all: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
                let detail = all.join("; ");
                findings.extend(found);
                (State::Found, detail)
            }
            Ok(Outcome::Fine(setting)) => (State::Fine, setting),
            Ok(Outcome::NotApplicable(why)) => (State::NotApplicable, why),
            Err(Unknown(how)) => (State::Unknown, how),
        };
        checks.push(Check { name, state, detail });
    }
    findings.sort_by_key(|finding| finding.severity);
    let real_time = facts.kernel.real_time.value;
    let blocked = findings.iter().any(|finding| finding.severity == Severity::Blocks);
    let ready = real_time.get() == Some(true) && !blocked;
    let (headline, status) = (facts.headline(), status(&machine, ready));
    Readiness { ready, real_time, headline, status, findings, checks }
}

/// `6.12.117-rt, PREEMPT_RT, performance, isolated 2-3: ready`.
fn status(machine: &Machine<'_>, ready: bool) -> String {
    let (kernel, cpu) = (&machine.facts.kernel, &machine.facts.cpu);
    let release = kernel.release.get().map_or("kernel unknown", String::as_str);
    let model = match (kernel.real_time.get(), kernel.preemption.get()) {
        (Some(true), _) => "PREEMPT_RT",
        (Some(false), Some(model)) => model.name(),
        (Some(false), None) => "not PREEMPT_RT",
        (None, _) => "preemption unknown",
    };
    let governor = match (cpu.governor.get(), cpu.frequency_driver.get()) {
        (Some(governors), _) => governors.line(String::clone),
        (None, Some(driver)) if driver == "none" => "no frequency scaling".to_owned(),
        _ => "governor unknown".to_owned(),
    };
    let isolated = match isolation::isolated(machine) {
        Ok(cpus) if cpus.is_empty() => "isolated none".to_owned(),
        Ok(cpus) => format!("isolated {}", tardy_record::cpu_list::format(&cpus)),
        Err(_) => "isolated unknown".to_owned(),
    };
    let verdict = if ready { "ready" } else { "not ready" };
    format!("{release}, {model}, {governor}, {isolated}: {verdict}")
}

/// Major and minor version of the kernel, by its release.
fn version(facts: &Facts) -> Option<(u32, u32)> {
    let mut numbers = facts.kernel.release.get()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
