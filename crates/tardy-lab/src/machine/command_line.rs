//! The kernel's command line.

use super::{Machine, Pace};
use crate::guest::orders;

/// The kernel's command line on `machine`: what the lab needs, and `append` after it, so that a person's words win.
pub fn command_line(machine: Machine, pace: Pace, append: &str) -> String {
    let console = match machine {
        Machine::Pc => "console=ttyS0",
        Machine::Virt | Machine::Raspi3b => "console=ttyAMA0",
    };
    let mut words = vec![
        console,
        // Printing to the console is work in the kernel, with interrupts off on some: only what is wrong is printed.
        "quiet",
        // A panic ends the machine, and the emulator with it (-no-reboot).
        "panic=-1",
        // Whatever the host's entropy would decide is decided here.
        "nokaslr",
        "randomize_kstack_offset=off",
        // The self-tests of ciphers go on for seconds after the boot, and are not what anybody measures.
        "cryptomgr.notests",
    ];
    if machine == Machine::Raspi3b && pace.cpus() == 1 {
        words.push("maxcpus=1");
    }
    let program = format!("rdinit={}", orders::PROGRAM);
    words.push(&program);
    if !append.trim().is_empty() {
        words.push(append.trim());
    }
    // What follows the two dashes is for the first program.
    words.extend(["--", orders::COMMAND]);
    words.join(" ")
}
