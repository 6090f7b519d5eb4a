//! The kernel's command line.

use super::{Machine, Pace};
use tardy_init::orders;

/// The kernel's command line on `machine`: the lab's parameters and then `append`, which can override them.
pub fn command_line(machine: Machine, pace: Pace, append: &str) -> String {
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
        // A third of a boot's instructions: checks of the kernel's own tables, and a source of random numbers
        // (docs/adr/0026-shorter-boots.md).
        "rodata=off",
        "initcall_blacklist=jent_mod_init,ftrace_check_for_weak_functions",
    ];
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
