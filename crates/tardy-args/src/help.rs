//! The definition of the command line as users see it: `-h` in one line for each of the usual options, `--help` complete.

use clap::{Command, CommandFactory};

use super::Cli;

/// The commands whose help is too long for one screen. Most share the options of recipes.
const LONG: [&[&str]; 7] = [
    &["run"],
    &["lab", "attach"],
    &["lab", "run"],
    &["lab", "verify"],
    &["lab", "bisect"],
    &["lab", "sweep"],
    &["lab", "history"],
];

/// What `-h` shows of the options of recipes, in one line each. Options that are not listed are only in `--help`.
const SHORT: &[(&str, &str)] = &[
    ("recipe", "Repeat this recipe: a name, or the path of a file; --help lists the names"),
    ("probe", "Choose what to measure: timer, noise, … [default: timer]"),
    ("command", "Program, statically linked, and its arguments, after `--`"),
    ("deadline", "End each cycle's work this long after its due time"),
    ("duration", "Measure each phase for this long [default: 1m]"),
    ("loops", "Measure this many cycles instead of a duration"),
    ("warmup", "Do not count this time at the start [default: 1s]"),
    ("repeat", "Repeat each wake method [default: 1]"),
    ("load", "Add a load: doload, cpu, 'cmd:COMMAND', …"),
    ("limit", "Compare the worst case with this limit"),
    ("thresholds", "Count the latencies above each of these"),
    ("phases", "Add a phase, such as 'doload 1m'"),
    ("scale", "Multiply all durations by this [default: 1]"),
    ("dry_run", "Print the plan and do nothing else"),
    ("wake", "Choose how threads wait, such as nanosleep or busy"),
    ("interval", "Set the time between deadlines [default: 200us]"),
    ("dither", "Delay each deadline at random by up to this"),
    ("policy", "Set the policy: fifo, rr, other or deadline"),
    ("priority", "Set the real-time priority [default: 90]"),
    ("cpus", "Measure these CPUs, such as 0-3,5 [default: all]"),
    ("dma_latency", "hold CPUs out of deep idle states, or leave them"),
    ("causes", "Trace the worst wake-ups, or those above TIME"),
    ("threshold", "Count gaps from this length on [default: 500ns]"),
    ("input_line", "Answer the rising edges of this line"),
    ("output_line", "Drive this line"),
    ("stimulus", "Generate the edges on this line"),
    ("echo", "Read the answer back on this line"),
    ("output", "Write the results here"),
    ("name", "Name the run [default: that of the run file]"),
    ("samples", "Write every sample to a CSV file too"),
    ("force", "Overwrite existing files"),
    ("report", "Write an HTML report too [default: next to the run]"),
    ("json", "Print JSON"),
    ("quiet", "Do not print progress"),
    ("one_line", "Print one line of progress, not the live view"),
    ("redact", "Remove what identifies the machine or the user"),
    ("kernel", "Boot this kernel, such as debian:6.12-rt; repeatable"),
    ("machine", "Emulate this machine: pc, virt or raspi3b"),
    ("memory_mib", "Give the guest this much memory [default: 512]"),
    ("realtime", "Let the guest's clock follow the host's time"),
    ("kvm", "Run the guest on the host's CPU with /dev/kvm"),
    ("guest_cpus", "Give the guest this many CPUs [default: 2]"),
    ("good", "A kernel that is good, such as debian:6.12-rt"),
    ("bad", "A kernel that is bad: another version or other words"),
    ("measure", "The number of a run, such as p99; of bisect 'p99>12us'"),
    ("option", "Try these values: preempt=none,full; repeatable"),
    ("combinations", "Try all combinations of the values"),
    ("seeds", "Run with this many seeds"),
    ("all", "Run the experiments of all articles"),
    ("rounds", "Boot each kernel this often [default: 5]"),
    ("refresh", "Check for newer kernels first"),
];

/// The options of the probes for pins and noise, which the lab's `-h` leaves out.
const NOT_IN_THE_LAB: [&str; 6] = ["threshold", "input_line", "output_line", "stimulus", "echo", "probe"];

/// What a short help says of the options that it leaves out.
const WHERE_ALL_ARE: &str = "--help explains every option, and lists the less usual ones.";

/// The definition of the command line. `version` is what `--version` prints.
pub fn command(version: &'static str) -> Command {
    LONG.iter().fold(Cli::command().version(version), |command, path| shortened(command, path))
}

/// The definition with the short help of the subcommand `path`.
fn shortened(command: Command, path: &[&str]) -> Command {
    match path {
        [name, rest @ ..] => command.mut_subcommand(*name, |command| shortened(command, rest)),
        [] => {
            let is_in_lab = command.get_arguments().any(|one| one.get_id() == "kernel");
            command
                .mut_args(|argument| with_short_help(argument, is_in_lab))
                .after_help(WHERE_ALL_ARE)
                .after_long_help("")
        }
    }
}

/// The option with its whole text in `--help`, and one line, or nothing, in `-h`.
fn with_short_help(argument: clap::Arg, is_in_lab: bool) -> clap::Arg {
    let id = argument.get_id().as_str();
    let whole = argument.get_long_help().or(argument.get_help()).cloned().unwrap_or_default();
    let short = SHORT.iter().find(|(name, _)| *name == id).map(|(_, short)| *short);
    match short.filter(|_| !(is_in_lab && NOT_IN_THE_LAB.contains(&id))) {
        Some(short) => argument.help(short).long_help(whole),
        None => argument.long_help(whole).hide_short_help(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subcommands(command: &Command) -> Vec<Command> {
        let below = command.get_subcommands().filter(|one| !one.is_hide_set()).flat_map(subcommands);
        std::iter::once(command.clone()).chain(below).collect()
    }

    #[test]
    fn the_short_help_of_each_command_fits_60_lines() {
        for width in [80, 100] {
            for one in subcommands(&command("").term_width(width)) {
                let help = one.clone().term_width(width).render_help().to_string();
                assert!(
                    help.lines().count() <= 60,
                    "{}: {} lines\n{help}",
                    one.get_name(),
                    help.lines().count()
                );
            }
        }
    }

    #[test]
    fn the_long_help_names_every_option_that_is_not_hidden() {
        for path in LONG {
            let mut definition = command("");
            let mut one = &mut definition;
            for name in path {
                one = one.find_subcommand_mut(name).unwrap();
            }
            let help = one.render_long_help().to_string();
            for argument in one.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let long = argument.get_long().map_or_else(String::new, |long| format!("--{long}"));
                assert!(help.contains(&long), "{long}");
            }
        }
    }

    #[test]
    fn every_line_of_the_short_help_belongs_to_an_option() {
        let ids: Vec<String> = subcommands(&command(""))
            .iter()
            .flat_map(|one| {
                one.get_arguments().map(|argument| argument.get_id().to_string()).collect::<Vec<_>>()
            })
            .collect();
        for (id, _) in SHORT {
            assert!(ids.iter().any(|one| one == id), "{id}");
        }
    }
}
