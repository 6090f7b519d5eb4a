//! What a reader of a run of the lab must know: what its clock counts, what is not modelled, how the boot came to rest.

use tardy_analyse::lab;
use tardy_record::Run;
use tardy_record::lab::{Lab, LabClock, Settled};
use tardy_record::units::format_duration_ns;

use crate::latency::harmless;
use crate::sentence;

/// More windows than these are not shown one by one: the last ones are.
const WINDOW_MAX: usize = 6;

/// What stands before any number of `run`, in the loudest voice there is; absent where its latencies mean something.
pub fn alarm(run: &Run) -> Option<String> {
    lab::meaningless_because(run).map(|why| format!("These latencies mean nothing: {why}."))
}

/// Whose latencies the numbers are, in two sentences at most; absent for a machine of its own.
pub fn whose(run: &Run) -> Option<String> {
    run.lab.as_ref().map(|lab| whose_of(&lab.machine, lab.clock))
}

/// Whose latencies those of an emulated `machine` are.
pub(crate) fn whose_of(machine: &str, clock: LabClock) -> String {
    let machine = harmless(machine);
    match clock {
        LabClock::Instructions { shift } => format!(
            "An emulated {machine}: a latency here counts instructions, {} ns each, on the kernel's real code path, and \
             is the same every time. Nothing cache- or DRAM-shaped is modelled, so this is not a board's time.",
            lab::instruction_ns(shift)
        ),
        LabClock::RealtimeEmulated => {
            format!(
                "An emulated {machine} in the host's time: good for seeing that something works, and no more."
            )
        }
        LabClock::RealtimeKvm => format!(
            "A virtual {machine} on the host's CPU: these latencies are those of a virtual machine, the host's own in \
             them, and not a board's."
        ),
    }
}

/// What the numbers depend on, a name and a value a row.
pub fn rows(lab: &Lab) -> Vec<[String; 2]> {
    let row = |name: &str, value: String| [name.to_owned(), harmless(&value)];
    let mut rows = vec![
        row("machine", lab.machine.clone()),
        row("clock", lab::clock(lab.clock)),
        row("kernel", format!("{}, which is {}", lab.kernel.spec, lab.kernel.release)),
        row("package", lab.kernel.package.clone().unwrap_or_else(|| "none: an image by path".to_owned())),
        row("emulator", format!("QEMU {}", lab.emulator)),
        row("at rest", settled(&lab.settled)),
        row("command line", lab.command_line.clone()),
        row("identity", lab.identity.clone()),
    ];
    rows.extend(lab.device_tree_sha256.iter().map(|hash| row("device tree", hash.clone())));
    rows
}

/// How the boot's own work died down.
pub fn settled(settled: &Settled) -> String {
    let at = |ns| sentence::rounded(ns);
    let left_out = if settled.busy_percent.len() > WINDOW_MAX { "…, " } else { "" };
    let last = &settled.busy_percent[settled.busy_percent.len().saturating_sub(WINDOW_MAX)..];
    let busy: Vec<String> = last.iter().map(|percent| percent.to_string()).collect();
    let work = match last {
        [] => String::new(),
        _ => format!(
            ": busy for {left_out}{} % of the time in windows of {}",
            busy.join(", "),
            format_duration_ns(settled.window_ns)
        ),
    };
    let came = if settled.quiet {
        format!("at rest after {}", at(settled.settled_at_ns))
    } else {
        format!("NOT AT REST after {}, and measured all the same", at(settled.settled_at_ns))
    };
    format!("booted after {}, {came}{work}", at(settled.booted_at_ns))
}

/// The same in a paragraph, for the terminal.
pub fn lines(run: &Run) -> Vec<String> {
    let Some(lab) = &run.lab else { return Vec::new() };
    let package = lab.kernel.package.as_ref().map_or_else(String::new, |package| format!(" from {package}"));
    let texts = [
        format!(
            "Lab: {}, {}{package}, on {} by QEMU {}.",
            lab.kernel.spec, lab.kernel.release, lab.machine, lab.emulator
        ),
        format!("{}.", sentence::capitalised(&settled(&lab.settled))),
        format!("Identity {}: another run of it gives the same numbers.", lab::short_hash(&lab.identity)),
    ];
    let repeats = matches!(lab.clock, LabClock::Instructions { .. });
    texts.into_iter().take(if repeats { 3 } else { 2 }).map(|text| harmless(&text)).collect()
}
