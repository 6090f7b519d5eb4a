//! The guest of a run in the lab, and the differences between two guests.

use tardy_record::Run;
use tardy_record::lab::{Lab, LabClock};

/// The number of digits of a hash that are shown.
const HASH_DIGITS: usize = 12;

/// Describes the unit that the clock of a guest counted.
pub fn clock(clock: LabClock) -> String {
    match clock {
        LabClock::Instructions { shift } => format!("instructions ({} ns each)", instruction_ns(shift)),
        LabClock::RealtimeEmulated => "the host's time (emulated CPU)".to_owned(),
        LabClock::RealtimeKvm => "the host's time (its own CPU)".to_owned(),
    }
}

/// The duration of an instruction in ns: 2^shift (QEMU, docs/devel/tcg-icount).
pub fn instruction_ns(shift: u32) -> u64 {
    1u64.checked_shl(shift).unwrap_or(u64::MAX)
}

/// The reason why the latencies of `run` mean nothing; `None` if they are meaningful, at least as those of a virtual
/// machine.
pub fn meaningless_because(run: &Run) -> Option<&'static str> {
    meaningless_by(run.lab.as_ref()?.clock)
}

/// The reason why latencies of a lab with this clock mean nothing; `None` if they are meaningful.
pub fn meaningless_by(clock: LabClock) -> Option<&'static str> {
    match clock {
        LabClock::RealtimeEmulated => {
            Some("the CPU was emulated in software in the host's time, so the emulator was measured")
        }
        LabClock::Instructions { .. } | LabClock::RealtimeKvm => None,
    }
}

/// The beginning of a hash.
pub fn short_hash(hash: &str) -> String {
    hash.chars().take(HASH_DIGITS).collect()
}

/// The parts of the lab that the numbers of a run depend on, as names and values; hashes are shortened.
///
/// The kernel's command line and release are not included: they are among the facts of every run.
pub fn parts(lab: &Lab) -> Vec<(String, String)> {
    let named = |name: &str, value: String| (format!("lab: {name}"), value);
    let mut parts = vec![
        named("clock", clock(lab.clock)),
        named("machine", lab.machine.clone()),
        named("emulator", lab.emulator.clone()),
        named("kernel image", short_hash(&lab.kernel.sha256)),
        named("initramfs", short_hash(&lab.initramfs_sha256)),
        named("tardy", short_hash(&lab.tardy_sha256)),
    ];
    // Only the version of the package: its name contains the kernel's release, which is among the facts.
    let version = |package: &String| package.rsplit('=').next().unwrap_or_default().to_owned();
    parts.extend(lab.kernel.package.iter().map(|package| named("package version", version(package))));
    parts.extend(lab.device_tree_sha256.iter().map(|hash| named("device tree", short_hash(hash))));
    parts
}

/// The emulator's arguments in `lab` that are not in `other`, without the kernel's command line; `None` if there are
/// none.
pub fn arguments_of_its_own(lab: &Lab, other: &Lab) -> Option<String> {
    let theirs = options(other);
    let own: Vec<String> = options(lab).into_iter().filter(|option| !theirs.contains(option)).collect();
    (!own.is_empty()).then(|| own.join(" "))
}

/// The emulator's arguments, each with its value: `-m 512`. The kernel's command line is left out.
pub fn options(lab: &Lab) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for word in &lab.arguments {
        match options.last_mut() {
            Some(option) if !word.starts_with('-') => *option = format!("{option} {word}"),
            _ => options.push(word.clone()),
        }
    }
    options.retain(|option| !option.starts_with("-append"));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab(arguments: &[&str]) -> Lab {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Lab {
            identity: String::new(),
            clock: LabClock::Instructions { shift: 1 },
            machine: "pc".to_owned(),
            emulator: String::new(),
            arguments,
            kernel: Default::default(),
            command_line: String::new(),
            initramfs_sha256: String::new(),
            tardy_sha256: String::new(),
            device_tree_sha256: None,
            settled: Default::default(),
        }
    }

    #[test]
    fn arguments_are_compared_with_their_values() {
        let one = lab(&["-m", "512", "-no-reboot", "-append", "quiet"]);
        let other = lab(&["-m", "1024", "-no-reboot", "-append", "loud"]);
        assert_eq!(arguments_of_its_own(&one, &other).as_deref(), Some("-m 512"));
        assert_eq!(arguments_of_its_own(&other, &one).as_deref(), Some("-m 1024"));
        assert_eq!(arguments_of_its_own(&one, &one), None);
    }

    #[test]
    fn an_instruction_lasts_a_power_of_two() {
        assert_eq!(clock(LabClock::Instructions { shift: 1 }), "instructions (2 ns each)");
        assert_eq!(instruction_ns(0), 1);
        assert_eq!(instruction_ns(200), u64::MAX);
    }
}
