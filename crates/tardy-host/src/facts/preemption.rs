//! The preemption model in force, and whether it can be changed.

use tardy_record::facts::{Fact, Kernel, Preemption};
use tardy_sys::kernel_files::KernelFiles;

use super::SystemAnswers;
use super::kernel_config::KernelConfig;
use super::look::not_from;
use super::parameters::split;
use super::release::major_minor;

/// The file in which a PREEMPT_DYNAMIC kernel lists its modes, the current one in parentheses.
const MODE_FILE: &str = "/sys/kernel/debug/sched/preempt";
/// The kernel's log message when the mode is set.
const MODE_LOGGED: &str = "Dynamic Preempt: ";

/// Finds the model and whether it is dynamic. `kernel.real_time` must be set before.
pub(super) fn find(files: &KernelFiles, answers: &SystemAnswers, config: &KernelConfig, kernel: &mut Kernel) {
    kernel.preempt_dynamic = dynamic(files, answers, config, kernel);
    kernel.preemption = if kernel.real_time.get() == Some(&true) {
        Fact::known(Preemption::Rt, kernel.real_time.how.clone())
    } else if kernel.preempt_dynamic.get() == Some(&true) {
        mode(files, answers, config, kernel)
    } else {
        built_in(config, kernel)
    };
}

fn dynamic(
    files: &KernelFiles,
    answers: &SystemAnswers,
    config: &KernelConfig,
    kernel: &Kernel,
) -> Fact<bool> {
    let version = kernel.version.get().map(String::as_str);
    if version.is_some_and(|version| version.split_whitespace().any(|word| word == "PREEMPT_DYNAMIC")) {
        return Fact::known(true, "uname -v");
    }
    if files.exists(MODE_FILE) {
        return Fact::known(true, MODE_FILE);
    }
    if answers.logged(MODE_LOGGED).is_some() {
        return Fact::known(true, "the kernel's log");
    }
    match config.is_set("PREEMPT_DYNAMIC") {
        Some(set) => Fact::known(set, config.options.how.clone()),
        // Before 5.18 the version string of dynamic kernels contains only PREEMPT; dynamic kernels exist since 5.12.
        None => match kernel.release.get().and_then(|release| major_minor(release)) {
            Some(version) if version < (5, 12) => Fact::known(false, "uname -r: before 5.12 there was none"),
            _ => Fact::unknown("not in uname -v, the kernel's log or its configuration"),
        },
    }
}

/// The mode of a dynamic kernel, from the most to the least direct source.
fn mode(
    files: &KernelFiles,
    answers: &SystemAnswers,
    config: &KernelConfig,
    kernel: &Kernel,
) -> Fact<Preemption> {
    let file = files.text(MODE_FILE);
    if let Some(mode) =
        file.as_deref().ok().and_then(|text| named(text.split_once('(')?.1.split_once(')')?.0))
    {
        return Fact::known(mode, MODE_FILE);
    }
    if let Some(mode) = answers.logged(MODE_LOGGED).and_then(named) {
        return Fact::known(mode, "the kernel's log");
    }
    if let Some(mode) = asked_for(kernel) {
        return Fact::known(mode, "preempt= on the command line");
    }
    if let Some(mode) = configured(config) {
        return Fact::known(
            mode,
            format!("the default in {}; it may have been changed since", config.options.how),
        );
    }
    let reason =
        file.err().map_or_else(|| format!("{MODE_FILE}: no mode"), |error| not_from(MODE_FILE, &error));
    let log = match &answers.log {
        Some(Err(reason)) => reason.as_str(),
        _ => "no message",
    };
    Fact::unknown(format!("{reason}; the kernel's log: {log}; no preempt= on the command line"))
}

fn asked_for(kernel: &Kernel) -> Option<Preemption> {
    let (parameters, _) = split(kernel.command_line.get()?);
    parameters.iter().rev().find_map(|parameter| named(parameter.strip_prefix("preempt=")?))
}

fn named(mode: &str) -> Option<Preemption> {
    match mode.trim() {
        "none" => Some(Preemption::None),
        "voluntary" => Some(Preemption::Voluntary),
        "full" => Some(Preemption::Full),
        "lazy" => Some(Preemption::Lazy),
        _ => None,
    }
}

fn configured(config: &KernelConfig) -> Option<Preemption> {
    let options = [
        ("PREEMPT_LAZY", Preemption::Lazy),
        ("PREEMPT", Preemption::Full),
        ("PREEMPT__LL", Preemption::Full),
        ("PREEMPT_VOLUNTARY", Preemption::Voluntary),
        ("PREEMPT_NONE", Preemption::None),
    ];
    options.into_iter().find(|(option, _)| config.is_set(option) == Some(true)).map(|(_, model)| model)
}

/// The model of a kernel that has only one.
fn built_in(config: &KernelConfig, kernel: &mut Kernel) -> Fact<Preemption> {
    let version = kernel.version.get().filter(|version| version.starts_with('#'));
    let preemptible =
        version.map(|version| version.split_whitespace().any(|word| word.starts_with("PREEMPT")));
    match (configured(config), preemptible) {
        (Some(model), said) => {
            let fits = matches!(model, Preemption::Full | Preemption::Lazy);
            if said.is_none_or(|said| said == fits) {
                return Fact::known(model, config.options.how.clone());
            }
            kernel.contradictions.push(format!(
                "{} reports {}, but uname -v contradicts it: the file belongs to another kernel",
                config.options.how,
                model.name()
            ));
            Fact::unknown(format!("uname -v against {}", config.options.how))
        }
        (None, Some(true))
            if kernel.release.get().and_then(|r| major_minor(r)).is_some_and(|v| v < (6, 13)) =>
        {
            Fact::known(Preemption::Full, "uname -v")
        }
        (None, Some(true)) => {
            Fact::unknown("full or lazy: uname -v has PREEMPT, and no configuration is readable")
        }
        (None, Some(false)) => {
            Fact::unknown("voluntary or none: uname -v has no PREEMPT, and no configuration is readable")
        }
        (None, None) => Fact::unknown("not in uname -v nor in a configuration"),
    }
}
