//! The running kernel.

use tardy_record::Knowable;
use tardy_record::facts::{Fact, Kernel};
use tardy_sys::kernel_files::KernelFiles;

use super::SystemAnswers;
use super::kernel_config::KernelConfig;
use super::look::Look;
use super::{co_kernel, evidence, parameters, preemption};

/// Collects the facts about the kernel.
pub(super) fn collect(files: &KernelFiles, answers: &SystemAnswers, config: KernelConfig) -> Kernel {
    let mut kernel = Kernel {
        release: or_answer(files.text_fact(&["/proc/sys/kernel/osrelease"]), &answers.release, "uname -r"),
        version: or_answer(files.text_fact(&["/proc/sys/kernel/version"]), &answers.version, "uname -v"),
        machine: machine(files, answers),
        command_line: files.text_fact(&["/proc/cmdline"]),
        co_kernel: co_kernel::find(files),
        ..Kernel::default()
    };
    evidence::weigh(files, &config, &mut kernel);
    preemption::find(files, answers, &config, &mut kernel);
    kernel.hz = ticks(&config);
    kernel.config = config.options;
    kernel.unowned_parameters = parameters::unowned(files, answers, &kernel);
    kernel
}

/// The content of a file, or the uname(2) result, which is the same, if the file is missing. `command` names the source
/// of both.
fn or_answer(from_file: Fact<String>, answer: &Option<String>, command: &str) -> Fact<String> {
    match (from_file.value, answer) {
        (Knowable::Known(text), _) => Fact::known(text, command),
        (Knowable::Unknown, Some(text)) => Fact::known(text.clone(), command),
        (Knowable::Unknown, None) => Fact::unknown(from_file.how),
    }
}

fn machine(files: &KernelFiles, answers: &SystemAnswers) -> Fact<String> {
    match &answers.machine {
        Some(machine) => Fact::known(machine.clone(), "uname -m"),
        None => files.text_fact(&["/proc/sys/kernel/arch"]),
    }
}

fn ticks(config: &KernelConfig) -> Fact<u32> {
    let Some(options) = config.options.get() else {
        return Fact::unknown(format!("no kernel configuration ({})", config.options.how));
    };
    match options.get("HZ").and_then(|hz| hz.parse().ok()) {
        Some(hz) => Fact::known(hz, format!("CONFIG_HZ in {}", config.options.how)),
        None => Fact::unknown(format!("no CONFIG_HZ in {}", config.options.how)),
    }
}
