//! Describes a run in the lab: the clock and the machine of the guest, and when the guest was idle after the boot.

use tardy_analyse::lab;
use tardy_record::Run;
use tardy_record::lab::{Lab, LabClock, Settled};
use tardy_record::units::format_duration_ns;

use crate::terminal_text::capitalised;
use tardy_plot::numbers::{harmless, rounded};

/// The largest number of windows that are shown; earlier ones are left out.
const WINDOW_MAX: usize = 6;

/// The reason why the latencies of `run` mean nothing, as a sentence; `None` if they are meaningful.
pub fn alarm(run: &Run) -> Option<String> {
    lab::meaningless_because(run).map(|why| format!("These latencies mean nothing: {why}."))
}

/// The meaning of a latency on an emulated machine, in at most two sentences; `None` for a real machine.
pub fn whose(run: &Run) -> Option<String> {
    run.lab.as_ref().map(|lab| whose_of(&lab.machine, lab.clock))
}

/// The meaning of a latency on an emulated `machine`.
pub(crate) fn whose_of(machine: &str, clock: LabClock) -> String {
    let machine = harmless(machine);
    match clock {
        LabClock::Instructions { shift } => format!(
            "An emulated {machine}: a latency is a number of instructions of {} ns each on the kernel's real code path, \
             and is the same in every run. Caches and DRAM are not modelled, so this is not a board's time.",
            lab::instruction_ns(shift)
        ),
        LabClock::RealtimeEmulated => {
            format!("An emulated {machine} in the host's time: this run shows only that the software works.")
        }
        LabClock::RealtimeKvm => format!(
            "A virtual {machine} on the host's CPU: these are latencies of a virtual machine, including the host's \
             own, and not those of a board."
        ),
    }
}

/// Everything that the numbers depend on, with a name and a value per row.
pub fn rows(lab: &Lab) -> Vec<[String; 2]> {
    let row = |name: &str, value: String| [name.to_owned(), harmless(&value)];
    let mut rows = vec![
        row("machine", lab.machine.clone()),
        row("clock", lab::clock(lab.clock)),
        row("kernel", format!("{}, which is {}", lab.kernel.spec, lab.kernel.release)),
        row("package", lab.kernel.package.clone().unwrap_or_else(|| "none: an image by path".to_owned())),
        row("emulator", format!("QEMU {}", lab.emulator)),
        row("idle", settled(&lab.settled)),
        row("command line", lab.command_line.clone()),
        row("identity", lab.identity.clone()),
    ];
    rows.extend(lab.device_tree_sha256.iter().map(|hash| row("device tree", hash.clone())));
    rows
}

/// The times at which the guest had booted and at which it was idle.
pub fn settled(settled: &Settled) -> String {
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
    let idle = if settled.quiet {
        format!("idle after {}", rounded(settled.settled_at_ns))
    } else {
        format!("NOT IDLE after {}, measured anyway", rounded(settled.settled_at_ns))
    };
    format!("booted after {}, {idle}{work}", rounded(settled.booted_at_ns))
}

/// Describes the lab of `run` in sentences for the terminal; empty for a real machine.
pub fn lines(run: &Run) -> Vec<String> {
    let Some(lab) = &run.lab else { return Vec::new() };
    let package = lab.kernel.package.as_ref().map_or_else(String::new, |package| format!(" from {package}"));
    let texts = [
        format!(
            "Lab: {}, {}{package}, on {} by QEMU {}.",
            lab.kernel.spec, lab.kernel.release, lab.machine, lab.emulator
        ),
        format!("{}.", capitalised(&settled(&lab.settled))),
        format!("Identity {}: every run with it gives the same numbers.", lab::short_hash(&lab.identity)),
    ];
    let repeats = matches!(lab.clock, LabClock::Instructions { .. });
    texts.into_iter().take(if repeats { 3 } else { 2 }).map(|text| harmless(&text)).collect()
}
