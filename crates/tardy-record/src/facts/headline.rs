//! The first line of every report: which kernel was measured.
//!
//! An article was once published about a kernel that its author wrongly believed to be real-time. The headline
//! therefore calls a kernel real-time only on evidence, names the evidence, and points out a release name that suggests
//! real-time if the kernel is not real-time.

use super::{Facts, Kernel, Preemption};

impl Facts {
    /// One sentence without a full stop: whether this is a real-time kernel, which kernel it is, and the evidence.
    pub fn headline(&self) -> String {
        let kernel = &self.kernel;
        let release = kernel.release.get().map_or("the kernel, whose release is unknown,", String::as_str);
        match kernel.real_time.get() {
            Some(true) => {
                format!("This is a real-time kernel: {release} is PREEMPT_RT (from {})", kernel.real_time.how)
            }
            Some(false) => {
                let model = kernel.model();
                let (start, end) = match kernel.co_kernel.get().filter(|core| *core != "none") {
                    Some(core) => ("This is not a PREEMPT_RT kernel", format!("; {core} runs alongside it")),
                    None if kernel.name_promises_real_time() => {
                        ("This is not a real-time kernel, despite its name", String::new())
                    }
                    None => ("This is not a real-time kernel", String::new()),
                };
                format!("{start}: {release} {model}{end}")
            }
            None if kernel.contradictions.is_empty() => {
                format!(
                    "Whether this is a real-time kernel is unknown: {release} gives no evidence ({})",
                    kernel.real_time.how
                )
            }
            None => format!(
                "Whether this is a real-time kernel is unknown: {release} contradicts itself ({})",
                kernel.contradictions.join("; ")
            ),
        }
    }
}

impl Kernel {
    /// Whether the release has a part such as `rt17` or `realtime`, which is not evidence.
    pub fn name_promises_real_time(&self) -> bool {
        let Some(release) = self.release.get() else { return false };
        release.to_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
            part == "realtime"
                || part == "preemptrt"
                || part.strip_prefix("rt").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        })
    }

    /// The model of a kernel without PREEMPT_RT, as the end of a sentence.
    fn model(&self) -> String {
        let dynamic = self.preempt_dynamic.get() == Some(&true);
        match (dynamic, self.preemption.get()) {
            (true, Some(now)) => {
                format!("is PREEMPT_DYNAMIC, now {} (from {})", mode(*now), self.preemption.how)
            }
            (true, None) => format!("is PREEMPT_DYNAMIC, its mode unknown ({})", self.preemption.how),
            (false, Some(model)) => format!("is {} (from {})", model.name(), self.preemption.how),
            (false, None) => format!("has no PREEMPT_RT (from {})", self.real_time.how),
        }
    }
}

/// The name of the mode on the command line: `preempt=…`.
fn mode(model: Preemption) -> &'static str {
    match model {
        Preemption::Rt => "rt",
        Preemption::Full => "full",
        Preemption::Lazy => "lazy",
        Preemption::Voluntary => "voluntary",
        Preemption::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fact;
    use super::*;

    fn kernel(release: &str, real_time: Fact<bool>) -> Facts {
        let release = Fact::known(release.to_owned(), "uname -r");
        Facts { kernel: Kernel { release, real_time, ..Kernel::default() }, ..Facts::default() }
    }

    #[test]
    fn a_name_is_not_evidence() {
        let facts = kernel("3.2.27-rt42", Fact::known(false, "uname -v"));
        assert_eq!(
            facts.headline(),
            "This is not a real-time kernel, despite its name: 3.2.27-rt42 has no PREEMPT_RT (from uname -v)"
        );
        for (name, promises) in [
            ("6.12.43+deb13-rt-amd64", true),
            ("4.9.47-rt37-v7+", true),
            ("5.4.0-smart", false),
            ("6.1-rtl", false),
        ] {
            assert_eq!(kernel(name, Fact::default()).kernel.name_promises_real_time(), promises, "{name}");
        }
    }

    #[test]
    fn unknown_is_stated() {
        let text = Facts::default().headline();
        assert!(text.starts_with("Whether this is a real-time kernel is unknown"), "{text}");
        assert!(text.contains("not looked for"), "{text}");
    }

    #[test]
    fn the_dynamic_mode_is_named_with_its_source() {
        let mut facts = kernel("6.18.44", Fact::known(false, "uname -v"));
        facts.kernel.preempt_dynamic = Fact::known(true, "uname -v");
        facts.kernel.preemption = Fact::known(Preemption::None, "the kernel's log");
        assert_eq!(
            facts.headline(),
            "This is not a real-time kernel: 6.18.44 is PREEMPT_DYNAMIC, now none (from the kernel's log)"
        );
    }

    #[test]
    fn a_co_kernel_is_not_the_kernel() {
        let mut facts = kernel("2.6.38.8-ipipe+", Fact::known(false, "uname -v"));
        facts.kernel.co_kernel = Fact::known("Xenomai 2.6.0".into(), "/proc/xenomai/version");
        assert!(facts.headline().ends_with("; Xenomai 2.6.0 runs alongside it"), "{}", facts.headline());
    }
}
