//! The emulator's arguments.

use super::{CONSOLE, DEVICE_TREE, INITRAMFS, KERNEL, Machine, Pace, Setup};

/// `wfi; b .-4`, two arm64 instructions: a CPU that starts there sleeps forever.
const SLEEP_FOREVER: u64 = 0x17ff_ffff_d503_207f;
/// The address of that loop for the unused CPUs of a Raspberry Pi 3: below the kernel, above the firmware's spin table.
const PARKING_ADDRESS: u32 = 0x800;

/// The CPU of a PC: an Atom C3000, as in industrial boards, in a version that QEMU does not change (docs/adr/0017).
const PC_CPU: &str = "Denverton-v2";
/// The PC without controllers of which no guest has a device: their descriptions take time at each boot.
const PC: &str = "q35,sata=off,smbus=off,i8042=off";
/// Features of that CPU that the guest does not have.
const PC_CPU_WITHOUT: [&str; 10] = [
    // The kernel would clear and copy pages with string instructions, of which the emulator counts every byte.
    "-erms",
    // QEMU 7.2 does not emulate these. A later version that does must not change the guest.
    "-rdseed",
    "-x2apic",
    "-tsc-deadline",
    "-sha-ni",
    "-spec-ctrl",
    "-arch-capabilities",
    "-ssbd",
    "-3dnowprefetch",
    "-xsavec",
];

/// QEMU's arguments in their order, without the program's name.
pub fn emulator_arguments(setup: &Setup) -> Vec<String> {
    let mut arguments = Arguments::default();
    machine(&mut arguments, setup);
    pace(&mut arguments, setup.machine, setup.pace);
    // No default devices, no screen and no network; a reboot ends the emulator.
    arguments.add("-nodefaults -no-user-config -display none -nic none -no-reboot");
    // The real-time clock starts at a fixed date and follows the guest's time.
    arguments.add("-rtc base=2020-01-01,clock=vm");
    channels(&mut arguments, setup.machine);
    arguments.add(&format!("-kernel {KERNEL} -initrd {INITRAMFS}"));
    if setup.machine.device_tree().is_some() {
        arguments.add(&format!("-dtb {DEVICE_TREE}"));
    }
    arguments.add_pair("-append", &setup.command_line);
    arguments.0
}

fn machine(arguments: &mut Arguments, setup: &Setup) {
    match setup.machine {
        Machine::Pc if !matches!(setup.pace, Pace::Kvm { .. }) => {
            // `rdrand` and the guest's other random numbers follow from the seed.
            arguments.add(&format!("-machine {PC} -seed 1 -cpu"));
            arguments.add(&[PC_CPU, &PC_CPU_WITHOUT.join(",")].join(","));
        }
        Machine::Pc => arguments.add(&format!("-machine {PC} -cpu host,-rdrand,-rdseed")),
        // The seed determines the entropy that the emulator writes into the device tree.
        Machine::Virt => arguments.add("-machine virt,gic-version=3 -cpu cortex-a57 -seed 1"),
        Machine::Raspi3b => arguments.add("-machine raspi3b -seed 1"),
    }
    match setup.machine {
        Machine::Raspi3b => arguments.add("-m 1024"),
        Machine::Pc | Machine::Virt => {
            arguments.add(&format!("-m {} -smp {}", setup.memory_mib, setup.pace.cpus()));
        }
    }
    if let (Some(cpus), 1) = (setup.machine.cpus(), setup.pace.cpus()) {
        park(arguments, cpus);
    }
}

/// Puts the unused CPUs to sleep. They would spin in the firmware, and with counted instructions each of their turns
/// delays the CPU that works: one second of the guest takes 19 s instead of 0.15 s.
fn park(arguments: &mut Arguments, cpus: u32) {
    arguments.add(&format!("-device loader,addr={PARKING_ADDRESS:#x},data={SLEEP_FOREVER:#x},data-len=8"));
    for cpu in 1..cpus {
        arguments.add(&format!("-device loader,addr={PARKING_ADDRESS:#x},cpu-num={cpu}"));
    }
}

fn pace(arguments: &mut Arguments, machine: Machine, pace: Pace) {
    match pace {
        // While the guest sleeps, its clock advances to the next timer at once (sleep=off). The recording is discarded;
        // its purpose is that the emulator's main loop and its CPU take turns
        // (docs/adr/0009-turns-for-the-emulator.md). QEMU cannot record a board with several CPUs, even if all but one
        // of them sleep.
        Pace::Instructions { shift } => {
            let turns = if machine.cpus().is_none() { ",rr=record,rrfile=/dev/null" } else { "" };
            arguments.add(&format!("-accel tcg -icount shift={shift},sleep=off{turns}"));
        }
        // With a thread for each CPU, a CPU may execute code that another one has just changed as it was before: the kernel, which
        // switches its trace points so, panics with "Oops: int3" (seen with QEMU 7.2, while other programs had the machine).
        Pace::Realtime { .. } => arguments.add("-accel tcg,thread=single"),
        Pace::Kvm { .. } => arguments.add("-accel kvm"),
    }
}

/// The console's log and the port for messages. QEMU writes to both while the guest's CPU is stopped.
fn channels(arguments: &mut Arguments, machine: Machine) {
    arguments.add("-chardev file,id=out,path=/dev/stdout");
    arguments.add(&format!("-serial file:{CONSOLE}"));
    match machine {
        Machine::Pc => {
            arguments.add("-device isa-debugcon,iobase=0xe9,chardev=out");
            arguments.add("-device isa-debug-exit,iobase=0x501,iosize=2");
        }
        // The guest's first program opens the console by semihosting, writes its messages, and ends the machine. Requests for
        // the host's files and commands cannot be turned off: the emulator is confined (session/confinement.rs).
        Machine::Virt | Machine::Raspi3b => {
            arguments.add("-semihosting-config enable=on,userspace=on,target=native,chardev=out");
        }
    }
}

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    /// Adds arguments that contain no blanks.
    fn add(&mut self, line: &str) {
        self.0.extend(line.split(' ').map(str::to_owned));
    }

    /// Adds an option and its value, which may contain blanks.
    fn add_pair(&mut self, option: &str, value: &str) {
        self.0.extend([option.to_owned(), value.to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Additions, command_line};

    fn golden(machine: Machine, pace: Pace) -> String {
        let command_line = command_line(machine, pace, Additions::default(), "preempt=none");
        emulator_arguments(&Setup { machine, pace, memory_mib: 512, command_line }).join("\n")
    }

    #[test]
    fn the_arguments_of_each_machine_are_fixed() {
        for machine in Machine::ALL {
            insta::assert_snapshot!(machine.name(), golden(machine, Pace::default()));
        }
        insta::assert_snapshot!("pc-realtime", golden(Machine::Pc, Pace::Realtime { cpus: 2 }));
        insta::assert_snapshot!("pc-kvm", golden(Machine::Pc, Pace::Kvm { cpus: 2 }));
        insta::assert_snapshot!("raspi3b-realtime", golden(Machine::Raspi3b, Pace::Realtime { cpus: 4 }));
    }
}
