//! How each field of a run is treated. A field that is not listed is removed.

/// How the text of a field is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Replaced.
    Remove,
    /// Kept, without MAC addresses and UUIDs.
    Keep,
    /// A kernel command line: parameters that matter to latency stay.
    KernelArguments,
    /// The value of a kernel option: `y`, `m`, `n` and numbers stay.
    Configuration,
    /// A load: its name and its options stay.
    Load,
    /// Another tool's command line: the tool and its options stay.
    ToolCommand,
    /// An argument of the emulator: everything except paths stays.
    EmulatorArgument,
    /// A kernel of the lab: the distribution's stays, without its options; a file does not.
    KernelOfLab,
    /// A version in another tool's file: words that are numbers stay, and names of known programs.
    Version,
    /// The file with the limit of a cgroup, whose path names users, services and containers.
    SourceOfCgroup,
    /// A text with the name of a kernel thread or a cgroup: what users name, such as servers and services, is removed.
    KernelThread,
    /// The name of a recipe: a built-in one stays.
    Recipe,
    /// The id of a published result, which stays.
    Published,
    /// A word of the command line of origin, which is reduced to the subcommand before.
    CommandOfOrigin,
    /// A run's id: date and number stay, a file name does not.
    Id,
    /// A date.
    Date,
    /// The label of a phase: a generated one stays, another becomes `phase N`.
    PhaseLabel,
    /// A name from the user's files, such as that of a flow: it becomes `name N`.
    Name,
    /// The name of a task: those of the kernel and of tardy stay, another becomes `task N`.
    Task,
    /// A sentence: it stays if only tardy can have written it.
    Sentence,
}

/// The treatment of the field, whose object is `parent`.
pub(super) fn treatment(field: &str, parent: &str) -> Treatment {
    let exact = || SPECIAL.iter().find(|(path, _)| *path == field).map(|(_, treatment)| *treatment);
    if let Some(treatment) = exact() {
        return treatment;
    }
    // The keys of these maps are kernel options, CPUs and vulnerabilities, in place of names of fields.
    if parent == "facts.kernel.config.value" {
        return Treatment::Configuration;
    }
    if KEPT.contains(&field) || KEPT_MAPS.contains(&parent) || CHOICES.contains(&field) {
        return Treatment::Keep;
    }
    let is_source = parent.starts_with("facts.") && field.strip_prefix(parent) == Some(".how");
    if is_source { Treatment::Keep } else { Treatment::Remove }
}

const SPECIAL: [(&str, Treatment); 51] = [
    ("origin.command", Treatment::CommandOfOrigin),
    ("origin.id", Treatment::Id),
    ("origin.name", Treatment::Name),
    ("origin.started_at", Treatment::Date),
    ("origin.trial.side", Treatment::Name),
    ("facts.kernel.command_line.value", Treatment::KernelArguments),
    ("lab.command_line", Treatment::KernelArguments),
    ("lab.arguments", Treatment::EmulatorArgument),
    ("lab.kernel.spec", Treatment::KernelOfLab),
    ("facts.scheduling.cgroup_rt.how", Treatment::SourceOfCgroup),
    ("plan.phases.probe.version", Treatment::Version),
    ("environment.kernel_threads.name", Treatment::KernelThread),
    ("environment.series.of", Treatment::KernelThread),
    ("facts.scheduling.kernel_threads.value.name", Treatment::KernelThread),
    ("series.worst.around.what", Treatment::KernelThread),
    ("loads.spec", Treatment::Load),
    ("plan.phases.loads", Treatment::Load),
    ("plan.phases.probe.command", Treatment::ToolCommand),
    ("plan.placement.cgroups.directory", Treatment::Name),
    ("plan.placement.remarks", Treatment::Sentence),
    ("plan.recipe", Treatment::Recipe),
    ("plan.published", Treatment::Published),
    ("plan.phases.label", Treatment::PhaseLabel),
    ("phases.label", Treatment::PhaseLabel),
    ("series.label", Treatment::Name),
    ("series.kind.answer", Treatment::Name),
    ("series.kind.channel", Treatment::Name),
    ("series.kind.flow", Treatment::Name),
    ("series.kind.listener", Treatment::Name),
    ("series.kind.port", Treatment::Name),
    ("plan.phases.probe.flows.name", Treatment::Name),
    ("plan.phases.probe.flows.misclassified.class", Treatment::Name),
    ("plan.phases.probe.flows.misclassified.declared", Treatment::Name),
    ("plan.phases.probe.flows.misclassified.switch", Treatment::Name),
    ("switch.name", Treatment::Name),
    ("switch.ports.port", Treatment::Name),
    ("series.worst.moment.events.from.name", Treatment::Task),
    ("series.worst.moment.events.to.name", Treatment::Task),
    ("series.worst.moment.events.task.name", Treatment::Task),
    ("events.text", Treatment::Sentence),
    ("environment.watchers.left_out", Treatment::Sentence),
    ("facts.kernel.contradictions", Treatment::Sentence),
    ("loads.parts.deaths.how", Treatment::Sentence),
    ("loads.remarks", Treatment::Sentence),
    ("phases.remarks", Treatment::Sentence),
    ("phases.spoilt_by", Treatment::Sentence),
    ("plan.phases.probe.alone_because", Treatment::Sentence),
    ("switch.remarks", Treatment::Sentence),
    ("validity.limits", Treatment::Sentence),
    ("validity.spoilt_by", Treatment::Sentence),
    ("series.worst.overlaps", Treatment::Sentence),
];

/// Fields that are kept, and why their texts identify no machine, user or project.
pub(super) const KEPT: [&str; 69] = [
    // Names that the kernel gives to its interrupts, functions and devices, and that tardy gives to its watchers.
    // An interrupt names its driver and the address of the device on its bus.
    "environment.interrupts.description",
    "environment.interrupts.source",
    "environment.series.name",
    "environment.series.unit",
    "environment.softirqs.description",
    "environment.softirqs.source",
    "environment.watchers.name",
    "facts.scheduling.kernel_threads.value.policy",
    "series.worst.around.unit",
    "series.worst.moment.events.function",
    "series.worst.moment.events.name",
    "self_cost.thread",
    "loads.parts.name",
    "loads.parts.unit",
    "plan.load_floors.part",
    // Hardware, kernel and distribution, which thousands of machines share.
    "facts.clock.available.value",
    "facts.clock.source.value",
    "facts.cpu.frequency_driver.value",
    "facts.cpu.hypervisor.value",
    "facts.cpu.idle_driver.value",
    "facts.cpu.idle_states.value.name",
    "facts.cpu.irq_affinity.value",
    "facts.cpu.isolated.value",
    "facts.cpu.microcode.value",
    "facts.cpu.model.value",
    "facts.cpu.nohz_full.value",
    "facts.cpu.rcu_nocbs.value",
    "facts.cpu.smt.value",
    "facts.kernel.co_kernel.value",
    "facts.kernel.machine.value",
    "facts.kernel.preemption_evidence.says",
    "facts.kernel.preemption_evidence.source",
    "facts.kernel.release.value",
    "facts.kernel.version.value",
    "facts.machine.board.value",
    "facts.machine.distribution.value",
    "facts.machine.firmware.value",
    "facts.scheduling.cgroup_rt.value",
    "facts.scheduling.lockable_memory.value",
    // GPIO chips and lines, as the device tree names them.
    "plan.phases.probe.echo.chip",
    "plan.phases.probe.echo.label",
    "plan.phases.probe.echo.name",
    "plan.phases.probe.input.chip",
    "plan.phases.probe.input.label",
    "plan.phases.probe.input.name",
    "plan.phases.probe.output.chip",
    "plan.phases.probe.output.label",
    "plan.phases.probe.output.name",
    "plan.phases.probe.stimulus.echo.chip",
    "plan.phases.probe.stimulus.echo.label",
    "plan.phases.probe.stimulus.echo.name",
    "plan.phases.probe.stimulus.source.chip",
    "plan.phases.probe.stimulus.source.line.chip",
    "plan.phases.probe.stimulus.source.line.label",
    "plan.phases.probe.stimulus.source.line.name",
    "series.kind.seen.line",
    // Programs and versions.
    "facts.tardy.build",
    "facts.tardy.version",
    "origin.build",
    "lab.emulator",
    "lab.kernel.package",
    "lab.kernel.release",
    "lab.machine",
    "plan.phases.probe.format",
    "plan.phases.probe.gravity",
    "plan.phases.probe.measures",
    "plan.phases.probe.tool",
    "switch.ports.clock",
    // The names of fields that an earlier redaction changed.
    "redacted",
];

/// Objects whose keys are CPUs or vulnerabilities, with texts that are kept for the reasons above.
pub(super) const KEPT_MAPS: [&str; 4] = [
    "facts.clock.event_devices.value",
    "facts.cpu.governor.value",
    "facts.cpu.mitigations.value",
    "facts.cpu.topology.value",
];

/// Fields whose texts are choices of the format or digests, not free text.
pub(super) const CHOICES: [&str; 59] = [
    "environment.series.merge",
    "events.kind",
    "facts.kernel.preemption.value",
    "lab.clock",
    "lab.device_tree_sha256",
    "lab.identity",
    "lab.initramfs_sha256",
    "lab.kernel.sha256",
    "lab.tardy_sha256",
    "loads.parts.first_pass",
    "phases.until.decision",
    "plan.phases.probe.answer_by",
    "plan.phases.probe.clock",
    "plan.phases.probe.kind",
    "plan.phases.probe.late_periods",
    "plan.phases.probe.level",
    "plan.phases.probe.pace.clock",
    "plan.phases.probe.pace.pace",
    "plan.phases.probe.pace.policy",
    "plan.phases.probe.pace.wake",
    "plan.phases.probe.policy",
    "plan.phases.probe.protocol",
    "plan.phases.probe.stimulus.source.by",
    "plan.phases.probe.through",
    "plan.phases.probe.timer.clock",
    "plan.phases.probe.timer.policy",
    "plan.phases.probe.timer.wake",
    "plan.phases.probe.tracer",
    "plan.phases.probe.wake",
    "plan.until.at",
    "progress.state",
    "series.kind.answer_by",
    "series.kind.causes.worst_untraced",
    "series.kind.clock",
    "series.kind.counter",
    "series.kind.edge",
    "series.kind.from",
    "series.kind.interval",
    "series.kind.kind",
    "series.kind.part",
    "series.kind.policy",
    "series.kind.resolved_by",
    "series.kind.seen.by",
    "series.kind.seen.policy",
    "series.kind.seen.through",
    "series.kind.source",
    "series.kind.stamped_by",
    "series.kind.thread.late.causes.why",
    "series.kind.thread.policy",
    "series.kind.timing",
    "series.kind.to",
    "series.kind.tracer",
    "series.kind.wake",
    "series.level",
    "series.quantity",
    "series.sum_of_squares_ns2",
    "series.worst.moment.events.what",
    "switch.place",
    "switch.ports.source",
];

/// The fields with a treatment of their own.
#[cfg(test)]
pub(super) fn special() -> impl Iterator<Item = &'static str> {
    SPECIAL.iter().map(|(field, _)| *field)
}
