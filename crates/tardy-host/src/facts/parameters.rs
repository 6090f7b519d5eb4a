//! Boot parameters that no part of the kernel uses.
//!
//! Example: `dwg_otg.speed=1`, in use for years; the module is called dwc_otg, and the kernel does not report a
//! parameter for a module that is never loaded. Three kinds are found:
//!
//! - `module.parameter` whose module is neither loaded nor built in (/sys/module, modules.builtin,
//!   modules.builtin.modinfo) nor loadable (modules.dep, modules.order). Prefixes that belong to programs or to the
//!   kernel's core ([`NOT_MODULES`]) are skipped. Without a module tree the answer is unknown.
//! - a parameter that differs by one typing error from one that affects latency ([`LATENCY`]), such as `isolcpu=3`.
//! - a parameter that this kernel was built without, such as `nohz_full=` without CONFIG_NO_HZ_FULL.
//!
//! Other parameters without a dot are skipped: the kernel passes unknown ones to init, perhaps on purpose.

use std::collections::BTreeSet;

use tardy_record::facts::{Fact, Kernel, UnownedParameter};
use tardy_sys::kernel_files::{KernelFileError, KernelFiles};

use super::SystemAnswers;
use super::look::not_from;
use super::release::major_minor;

/// Prefixes before a dot that are not modules: programs that read the command line, and core parts of the kernel whose
/// parameters are not shown in /sys/module.
const NOT_MODULES: [&str; 52] = [
    "acpi",
    "androidboot",
    "apic",
    "apparmor",
    "bootconfig",
    "boot",
    "cloud_init",
    "console",
    "coreos",
    "cryptdevice",
    "dasd",
    "debug",
    "ds",
    "earlycon",
    "efi",
    "flatcar",
    "fsck",
    "ftrace",
    "hv",
    "ignition",
    "init",
    "inst",
    "ip",
    "kernel",
    "kgdboc",
    "live",
    "locale",
    "luks",
    "lvm",
    "mce",
    "md",
    "memtest",
    "net",
    "netcfg",
    "nfs",
    "ostree",
    "plymouth",
    "printk",
    "quotacheck",
    "rcupdate",
    "rcutree",
    "rd",
    "root",
    "selinux",
    "srcutree",
    "sysctl",
    "systemd",
    "tpm",
    "udev",
    "vconsole",
    "workqueue",
    "xen",
];

/// Parameters that affect latency, and similar ones with which they must not be confused.
const LATENCY: [&str; 26] = [
    "clocksource",
    "cpu_isolation",
    "highres",
    "hugepages",
    "hugepagesz",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kthread_cpus",
    "mitigations",
    "nmi_watchdog",
    "nohz_full",
    "nosoftlockup",
    "nowatchdog",
    "numa_balancing",
    "preempt",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "skew_tick",
    "threadirqs",
    "transparent_hugepage",
    "nmi_backtrace",
    "default_hugepagesz",
    "watchdog_thresh",
    "amd_pstate",
    "softlockup_panic",
];

/// Parameters that need a configuration option, and the option.
const BUILT_FOR: [(&str, &str); 6] = [
    ("isolcpus", "CPU_ISOLATION"),
    ("nohz_full", "NO_HZ_FULL"),
    ("preempt", "PREEMPT_DYNAMIC"),
    ("rcu_nocb_poll", "RCU_NOCB_CPU"),
    ("rcu_nocbs", "RCU_NOCB_CPU"),
    ("threadirqs", "IRQ_FORCED_THREADING"),
];

/// Finds the parameters of `kernel.command_line` that no part of the kernel uses.
pub(super) fn unowned(
    files: &KernelFiles,
    answers: &SystemAnswers,
    kernel: &Kernel,
) -> Fact<Vec<UnownedParameter>> {
    let Some(line) = kernel.command_line.get() else {
        return Fact::unknown(kernel.command_line.how.clone());
    };
    let (parameters, _for_init) = split(line);
    let modules = Modules::read(files, kernel.release.get().or(answers.release.as_ref()));
    let mut found = Vec::new();
    let mut undecided = Vec::new();
    for parameter in &parameters {
        match module_of(parameter) {
            Some(module) => match modules.owns(files, &module) {
                Some(true) => {}
                Some(false) => found.push(no_module(parameter, &module, &modules.resembling(&module))),
                None => undecided.push(parameter.as_str()),
            },
            None => found.extend(slip(parameter).or_else(|| not_built_for(parameter, kernel))),
        }
    }
    conclude(found, &undecided, &modules)
}

fn conclude(
    found: Vec<UnownedParameter>,
    undecided: &[&str],
    modules: &Modules,
) -> Fact<Vec<UnownedParameter>> {
    let how = "the command line against /sys/module and the module tree";
    if undecided.is_empty() {
        return Fact::known(found, how);
    }
    let reason = modules.unreadable.as_deref().unwrap_or("the module tree is not readable");
    let undecided = undecided.join(" ");
    if found.is_empty() {
        return Fact::unknown(format!("the owner of {undecided} is unknown: {reason}"));
    }
    Fact::known(found, format!("{how}; the owner of {undecided} is unknown: {reason}"))
}

/// Splits a command line as the kernel does (lib/cmdline.c, `next_arg`): at white space outside double quotes. The
/// second part, after `--`, is for init.
pub(super) fn split(line: &str) -> (Vec<String>, Vec<String>) {
    let mut words: Vec<String> = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is always one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    match words.iter().position(|word| word == "--") {
        Some(end) => {
            let for_init = words.split_off(end + 1);
            words.pop();
            (words, for_init)
        }
        None => (words, Vec::new()),
    }
}

/// The name of a parameter, with `-` as `_` as the kernel treats it.
fn name_of(parameter: &str) -> String {
    parameter.split('=').next().unwrap_or_default().replace('-', "_")
}

/// The module of a `module.parameter`; `None` if it does not look like one.
fn module_of(parameter: &str) -> Option<String> {
    let name = name_of(parameter);
    let (module, rest) = name.split_once('.')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    };
    (is_name(module) && is_name(rest)).then(|| module.to_owned())
}

fn no_module(parameter: &str, module: &str, resembling: &Option<String>) -> UnownedParameter {
    UnownedParameter {
        parameter: parameter.to_owned(),
        reason: format!("no module {module}"),
        resembles: resembling.as_ref().map(|meant| {
            let rest = parameter.split_once('.').map_or("", |(_, rest)| rest);
            format!("{meant}.{rest}")
        }),
    }
}

/// Whether `typed` becomes `known` by one letter changed, omitted, inserted, or swapped with its neighbour.
fn is_one_slip(typed: &str, known: &str) -> bool {
    strsim::osa_distance(typed, known) == 1
}

fn slip(parameter: &str) -> Option<UnownedParameter> {
    let name = name_of(parameter);
    if name.len() < 7 || LATENCY.contains(&name.as_str()) {
        return None;
    }
    let meant = LATENCY.into_iter().find(|known| is_one_slip(&name, known))?;
    let value = parameter.split_once('=').map_or(String::new(), |(_, value)| format!("={value}"));
    Some(UnownedParameter {
        parameter: parameter.to_owned(),
        reason: "the kernel has no such parameter".to_owned(),
        resembles: Some(format!("{meant}{value}")),
    })
}

fn not_built_for(parameter: &str, kernel: &Kernel) -> Option<UnownedParameter> {
    let config = kernel.config.get()?;
    let name = name_of(parameter);
    let (_, option) = BUILT_FOR.into_iter().find(|(built_for, _)| *built_for == name)?;
    // isolcpus needed no option before 4.15.
    let version = kernel.release.get().and_then(|release| major_minor(release));
    let always = option == "CPU_ISOLATION" && version.is_none_or(|version| version < (4, 15));
    (!always && !config.contains_key(option)).then(|| UnownedParameter {
        parameter: parameter.to_owned(),
        reason: format!("needs CONFIG_{option}"),
        resembles: None,
    })
}

/// The modules of a machine.
struct Modules {
    /// Names, with `-` as `_`.
    names: BTreeSet<String>,
    /// Why the module tree could not be read; `None` if it was.
    unreadable: Option<String>,
}

impl Modules {
    fn read(files: &KernelFiles, release: Option<&String>) -> Self {
        let mut names: BTreeSet<String> =
            files.names("/sys/module").unwrap_or_default().into_iter().collect();
        let Some(release) = release.filter(|release| !release.contains('/')) else {
            return Self { names, unreadable: Some("the kernel's release is unknown".to_owned()) };
        };
        let tree = format!("/lib/modules/{release}");
        let mut list = |file: &str| -> Result<(), KernelFileError> {
            let text = files.text(&format!("{tree}/{file}"))?;
            names.extend(text.lines().filter_map(in_list));
            Ok(())
        };
        let built_in = list("modules.builtin");
        let loadable = list("modules.dep").or_else(|_| list("modules.order"));
        if let Ok(text) = files.text(&format!("{tree}/modules.builtin.modinfo")) {
            names.extend(
                text.split('\0').filter_map(|field| Some(field.split_once('.')?.0.replace('-', "_"))),
            );
        }
        let unreadable = match (built_in, loadable) {
            (Ok(()), Ok(())) => None,
            (Err(error), _) => Some(not_from(&format!("{tree}/modules.builtin"), &error)),
            (_, Err(error)) => Some(not_from(&format!("{tree}/modules.dep"), &error)),
        };
        Self { names, unreadable }
    }

    /// Whether the module exists; `None` if unknown.
    fn owns(&self, files: &KernelFiles, module: &str) -> Option<bool> {
        let known = NOT_MODULES.contains(&module)
            || self.names.contains(module)
            || files.exists(&format!("/sys/module/{module}"));
        if known { Some(true) } else { self.unreadable.is_none().then_some(false) }
    }

    fn resembling(&self, module: &str) -> Option<String> {
        self.names.iter().find(|name| is_one_slip(module, name)).cloned()
    }
}

/// The module in a line of modules.dep, modules.order or modules.builtin: `kernel/drivers/x/some-name.ko.xz: …`.
fn in_list(line: &str) -> Option<String> {
    let path = line.split(':').next()?;
    let file = path.rsplit('/').next()?;
    Some(file.split_once(".ko").or_else(|| file.split_once(".o"))?.0.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_a_letter_changed_omitted_inserted_or_swapped() {
        for (typed, known) in [
            ("dwg_otg", "dwc_otg"),
            ("isolcpu", "isolcpus"),
            ("isolcppus", "isolcpus"),
            ("nohz_fulll", "nohz_full"),
            ("thraedirqs", "threadirqs"),
        ] {
            assert!(is_one_slip(typed, known), "{typed}");
        }
        for (typed, known) in [("same", "same"), ("abc", "xyz"), ("", "ab"), ("dwx_otx", "dwc_otg")] {
            assert!(!is_one_slip(typed, known), "{typed}");
        }
    }

    #[test]
    fn the_command_line_is_split_like_the_kernel_does() {
        let (parameters, for_init) = split("a=\"b c\" quiet  dyndbg=\"file x +p\" -- --addr 0.0.0.0:2024");
        assert_eq!(parameters, ["a=b c", "quiet", "dyndbg=file x +p"]);
        assert_eq!(for_init, ["--addr", "0.0.0.0:2024"]);
    }

    #[test]
    fn a_dot_in_a_value_does_not_name_a_module() {
        assert_eq!(module_of("dwg_otg.speed=1").as_deref(), Some("dwg_otg"));
        assert_eq!(module_of("snd-hda-intel.power_save=0").as_deref(), Some("snd_hda_intel"));
        for no in ["root=/dev/sda1.x", "10.0.0.1", "ip=10.0.0.2", "a.=1", ".b=1", "/boot/vmlinuz-6.1.0", "x"]
        {
            assert!(no == "10.0.0.1" || module_of(no).is_none(), "{no}");
        }
    }

    #[test]
    fn typing_errors_are_found_and_correct_parameters_are_not_reported() {
        assert_eq!(slip("isolcpu=3").unwrap().resembles.as_deref(), Some("isolcpus=3"));
        assert_eq!(slip("nohzfull=1-3").unwrap().resembles.as_deref(), Some("nohz_full=1-3"));
        for right in LATENCY.iter().chain(&["quiet", "root=x", "panic=1", "nohz-full=3", "splash"]) {
            assert!(slip(right).is_none(), "{right}");
        }
    }

    #[test]
    fn module_lists_name_modules() {
        assert_eq!(in_list("kernel/drivers/usb/core/usbcore.ko").as_deref(), Some("usbcore"));
        assert_eq!(in_list("kernel/sound/snd-pcm.ko.xz: kernel/sound/snd.ko.xz").as_deref(), Some("snd_pcm"));
        assert_eq!(in_list("nonsense"), None);
    }
}
