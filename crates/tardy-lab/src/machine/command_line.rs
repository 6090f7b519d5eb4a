//! The kernel's command line.

use super::{Machine, Pace};
use tardy_init::orders;

/// Functions that a kernel does not run at its boot, because no guest needs what they prepare (docs/adr/0026-shorter-boots.md).
/// A kernel ignores names that it does not have.
const LEFT_OUT: [&str; 4] = [
    // A source of random numbers for cryptography.
    "jent_mod_init",
    // The search for functions that ftrace cannot trace.
    "ftrace_check_for_weak_functions",
    // BPF programs as congestion control of TCP, and as a test.
    "bpf_tcp_ca_kfunc_init",
    "bpf_dummy_struct_ops_init",
];
/// The same for a guest without programs of its own: names of constants in the formats of trace events, which tardy does not read.
const LEFT_OUT_WITHOUT_PROGRAMS: &str = "trace_eval_init";
/// The same for a guest without modules: the certificates that modules are signed with.
const LEFT_OUT_WITHOUT_MODULES: &str = "load_system_certificate_list";

/// What a guest consists of in addition to the kernel and tardy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// It loads kernel modules.
    pub modules: bool,
    /// It has programs that are not tardy.
    pub programs: bool,
}

/// The kernel's command line on `machine`: the lab's parameters and then `append`, which can override them.
pub fn command_line(machine: Machine, pace: Pace, additions: Additions, append: &str) -> String {
    let console = match machine {
        Machine::Pc => "console=ttyS0",
        Machine::Virt | Machine::Raspi3b => "console=ttyAMA0",
    };
    let mut parameters = vec![
        console,
        // Printing to the console takes time in the kernel, on some machines with interrupts off.
        "quiet",
        // A panic reboots the machine at once, which ends the emulator (-no-reboot).
        "panic=-1",
        // These two randomisations would depend on entropy.
        "nokaslr",
        "randomize_kstack_offset=off",
        // The self-tests of ciphers take seconds after the boot.
        "cryptomgr.notests",
        // Without it the kernel checks its page tables, an eighth of a boot's instructions.
        "rodata=off",
    ];
    let blacklist = format!("initcall_blacklist={}", left_out(additions));
    parameters.push(&blacklist);
    if machine == Machine::Pc {
        // A test of the timer's interrupt in a loop of `pause`, at each of which the emulator leaves its translated code.
        parameters.push("no_timer_check");
    }
    if machine == Machine::Raspi3b && pace.cpus() == 1 {
        parameters.push("maxcpus=1");
    }
    let program = format!("rdinit={}", orders::PROGRAM);
    parameters.push(&program);
    if !append.trim().is_empty() {
        parameters.push(append.trim());
    }
    // The arguments after the two dashes go to the first program.
    parameters.extend(["--", orders::COMMAND]);
    parameters.join(" ")
}

/// The functions that the kernel of a guest with `additions` leaves out, separated by commas.
fn left_out(additions: Additions) -> String {
    let mut functions = LEFT_OUT.to_vec();
    if !additions.programs {
        functions.push(LEFT_OUT_WITHOUT_PROGRAMS);
    }
    if !additions.modules {
        functions.push(LEFT_OUT_WITHOUT_MODULES);
    }
    functions.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_with_modules_has_certificates_and_one_with_programs_has_names_in_formats() {
        let of = |modules, programs| {
            command_line(Machine::Pc, Pace::default(), Additions { modules, programs }, "")
        };
        for (modules, programs) in [(false, false), (false, true), (true, false), (true, true)] {
            let line = of(modules, programs);
            assert_eq!(line.contains(LEFT_OUT_WITHOUT_MODULES), !modules, "{line}");
            assert_eq!(line.contains(LEFT_OUT_WITHOUT_PROGRAMS), !programs, "{line}");
            assert!(LEFT_OUT.iter().all(|function| line.contains(function)), "{line}");
        }
    }
}
