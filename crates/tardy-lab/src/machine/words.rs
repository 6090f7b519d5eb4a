//! The emulator's command line.

use super::{CONSOLE, DEVICE_TREE, INITRAMFS, KERNEL, Machine, Pace, Setup};

/// `wfi; b .-4`, two arm64 instructions: a CPU that starts there sleeps for ever.
const SLEEP_FOR_EVER: u64 = 0x17ff_ffff_d503_207f;
/// Where the parked CPUs of a Raspberry Pi 3 are put to sleep: below the kernel, above the firmware's spin table.
const PARKING_ADDRESS: u32 = 0x800;

/// What QEMU is told, in its order, without the program's own name.
pub fn words(setup: &Setup) -> Vec<String> {
    let mut words = Words::default();
    machine(&mut words, setup);
    pace(&mut words, setup.machine, setup.pace);
    // Nothing that is not named here, no screen, no network, and a reboot is the end.
    words.all("-nodefaults -no-user-config -display none -nic none -no-reboot");
    // The clock on the board starts on the same day every time, and follows the guest's time.
    words.all("-rtc base=2020-01-01,clock=vm");
    channels(&mut words, setup.machine);
    words.all(&format!("-kernel {KERNEL} -initrd {INITRAMFS}"));
    if setup.machine.device_tree().is_some() {
        words.all(&format!("-dtb {DEVICE_TREE}"));
    }
    words.pair("-append", &setup.command_line);
    words.0
}

fn machine(words: &mut Words, setup: &Setup) {
    match setup.machine {
        // The host's entropy comes by these two instructions.
        Machine::Pc if !matches!(setup.pace, Pace::Kvm { .. }) => {
            words.all("-machine q35 -cpu max,-rdrand,-rdseed");
        }
        Machine::Pc => words.all("-machine q35 -cpu host,-rdrand,-rdseed"),
        // The seed decides what the emulator writes into the device tree as the kernel's entropy.
        Machine::Virt => words.all("-machine virt,gic-version=3 -cpu cortex-a57 -seed 1"),
        Machine::Raspi3b => words.all("-machine raspi3b -seed 1"),
    }
    match setup.machine {
        Machine::Raspi3b => words.all("-m 1024"),
        Machine::Pc | Machine::Virt => {
            words.all(&format!("-m {} -smp {}", setup.memory_mib, setup.pace.cpus()));
        }
    }
    if let (Some(cpus), 1) = (setup.machine.cpus(), setup.pace.cpus()) {
        park(words, cpus);
    }
}

/// The firmware's parked CPUs spin while they wait to be called, and in a counted guest each turn of theirs costs the
/// one that works: a second of the guest takes 19 s instead of 0.15.
fn park(words: &mut Words, cpus: u32) {
    words.all(&format!("-device loader,addr={PARKING_ADDRESS:#x},data={SLEEP_FOR_EVER:#x},data-len=8"));
    for cpu in 1..cpus {
        words.all(&format!("-device loader,addr={PARKING_ADDRESS:#x},cpu-num={cpu}"));
    }
}

fn pace(words: &mut Words, machine: Machine, pace: Pace) {
    match pace {
        // While the guest sleeps its clock leaps to the next timer (sleep=off). The record goes nowhere: what is wanted of
        // recording is that the emulator's main loop and its CPU take turns (docs/adr/0009-turns-for-the-emulator.md). QEMU
        // records no board of several CPUs, even if all but one of them sleep.
        Pace::Instructions { shift } => {
            let turns = if machine.cpus().is_none() { ",rr=record,rrfile=/dev/null" } else { "" };
            words.all(&format!("-accel tcg -icount shift={shift},sleep=off{turns}"));
        }
        Pace::Realtime { .. } => words.all("-accel tcg"),
        Pace::Kvm { .. } => words.all("-accel kvm"),
    }
}

/// The console's log, and the way out: both written while the guest's CPU stands still.
fn channels(words: &mut Words, machine: Machine) {
    words.all("-chardev file,id=out,path=/dev/stdout");
    words.all(&format!("-serial file:{CONSOLE}"));
    match machine {
        Machine::Pc => {
            words.all("-device isa-debugcon,iobase=0xe9,chardev=out");
            words.all("-device isa-debug-exit,iobase=0x501,iosize=2");
        }
        Machine::Virt | Machine::Raspi3b => {
            words.all("-semihosting-config enable=on,userspace=on,target=native,chardev=out");
        }
    }
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    /// Words that have no blanks in them.
    fn all(&mut self, line: &str) {
        self.0.extend(line.split(' ').map(str::to_owned));
    }

    fn pair(&mut self, option: &str, value: &str) {
        self.0.extend([option.to_owned(), value.to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::command_line;

    fn golden(machine: Machine, pace: Pace) -> String {
        let command_line = command_line(machine, pace, "preempt=none");
        words(&Setup { machine, pace, memory_mib: 512, command_line }).join("\n")
    }

    #[test]
    fn every_machine_is_told_the_same_every_time() {
        for machine in Machine::ALL {
            insta::assert_snapshot!(machine.name(), golden(machine, Pace::default()));
        }
        insta::assert_snapshot!("pc-realtime", golden(Machine::Pc, Pace::Realtime { cpus: 2 }));
        insta::assert_snapshot!("pc-kvm", golden(Machine::Pc, Pace::Kvm { cpus: 2 }));
        insta::assert_snapshot!("raspi3b-realtime", golden(Machine::Raspi3b, Pace::Realtime { cpus: 4 }));
    }
}
