//! Generates runs in the lab: two kernels, idle and loaded; a run with levels; a run in the host's time.

use tardy_record::facts::Fact;
use tardy_record::lab::{Lab, LabClock, LabKernel, Settled};
use tardy_record::plan::{KernelPlan, ProbePlan, Wake};
use tardy_record::run::State;
use tardy_record::series::{Level, SeriesKind, TraceSeries, TraceSource};
use tardy_record::{Run, validity};

use super::machine::facts;
use super::readings::{Behaviour, Stall, timer_series};
use super::{INTERVAL, SECOND, bare, finish};

/// Debian's standard kernel, idle and under doload.
pub(crate) fn standard() -> Run {
    let stalls = [Stall { at_ns: 9 * SECOND, ns: 612_000 }];
    run("lab-standard", false, &stalls)
}

/// The same experiment on Debian's PREEMPT_RT kernel.
pub(crate) fn rt() -> Run {
    run("lab-rt", true, &[])
}

/// The PREEMPT_RT kernel with the kernel's events recorded.
pub(crate) fn levels() -> Run {
    let mut run = bare_lab("lab-levels", true, &[("traced", vec!["doload".to_owned()])]);
    run.plan.published =
        ["g20-xenomai-irq", "g20-xenomai-kernel", "g20-xenomai-user"].map(String::from).into();
    let ProbePlan::Timer(timer) = run.plan.phases[0].probe.clone() else {
        unreachable!("made runs are of timers")
    };
    run.plan.phases[0].probe = ProbePlan::Kernel(KernelPlan { timer, buffer_kib: 1024, alone_because: None });
    for (level, base_ns) in [
        (Level::Irq, 2_100.0),
        (Level::Wakeup, 3_800.0),
        (Level::KernelThread, 6_200.0),
        (Level::UserThread, 8_900.0),
    ] {
        let mut series = timer_series(&run, 0, 0, &behaviour(base_ns, &[]));
        if level != Level::UserThread {
            series.label = format!("cpu 0, {level:?}").to_lowercase();
            series.level = level;
            series.kind = SeriesKind::Trace(TraceSeries {
                cpu: 0,
                source: TraceSource::Events,
                interval_ns: INTERVAL,
                beside: true,
                lost_events: 0,
            });
        }
        run.series.push(series);
    }
    finish(run, State::Complete)
}

/// The standard kernel in the host's time, on an emulated CPU.
pub(crate) fn realtime() -> Run {
    let mut run = standard();
    run.origin.id = "lab-realtime".into();
    let lab = run.lab.as_mut().expect("it is of the lab");
    lab.clock = LabClock::RealtimeEmulated;
    lab.settled.quiet = false;
    lab.settled.busy_percent = vec![71, 60, 44, 41, 52, 40, 38, 43];
    run.plan.limit_ns = Some(10 * INTERVAL);
    run.validity = validity::judge(&run);
    run
}

fn behaviour(base_ns: f64, stalls: &[Stall]) -> Behaviour<'_> {
    Behaviour { base_ns, spread: 0.1, spike_share: 0.02, spike_ns: 4_000.0, stalls }
}

fn run(id: &str, rt: bool, stalls: &[Stall]) -> Run {
    let mut run = bare_lab(id, rt, &[("idle", Vec::new()), ("loaded", vec!["doload".to_owned()])]);
    run.plan.recipe = "synthetic".into();
    run.plan.published =
        ["rpi3-4.9-standard-idle", "rpi3-4.9-rt-idle", "g20-rt-n", "g20-gpio-standard", "lost"]
            .map(String::from)
            .into();
    let base_ns = if rt { 5_900.0 } else { 4_100.0 };
    run.series.push(timer_series(&run, 0, 0, &behaviour(base_ns, &[])));
    run.series.push(timer_series(&run, 1, 0, &behaviour(base_ns * 1.7, stalls)));
    finish(run, State::Complete)
}

fn bare_lab(id: &str, rt: bool, phases: &[(&str, Vec<String>)]) -> Run {
    let planned: Vec<_> =
        phases.iter().map(|(_, loads)| (Wake::ClockNanosleep, 1, 6 * SECOND, loads.clone())).collect();
    let mut run = bare(id, machine(rt), &planned);
    run.plan.limit_ns = None;
    run.plan.thresholds_ns = Vec::new();
    for (index, (label, _)) in phases.iter().enumerate() {
        run.plan.phases[index].label = (*label).to_owned();
        run.phases[index].label = (*label).to_owned();
        if let ProbePlan::Timer(timer) = &mut run.plan.phases[index].probe {
            timer.threads.truncate(1);
        }
    }
    run.origin.host = "laptop".into();
    run.lab = Some(lab(rt));
    run
}

fn machine(rt: bool) -> tardy_record::facts::Facts {
    let mut facts = facts(rt);
    facts.cpu.model = Fact::known("QEMU TCG CPU version 2.5+".into(), "/proc/cpuinfo");
    facts.cpu.online = Fact::known(vec![0], "/sys/devices/system/cpu/online");
    facts.machine.board = Fact::known("QEMU Standard PC (Q35 + ICH9, 2009)".into(), "DMI");
    facts
}

fn lab(rt: bool) -> Lab {
    let hash = |letter: char| letter.to_string().repeat(64);
    let release = if rt { "6.12.48+deb13-rt-arm64" } else { "6.12.48+deb13-arm64" };
    Lab {
        identity: hash(if rt { 'b' } else { 'a' }),
        clock: LabClock::Instructions { shift: 1 },
        machine: "pc".into(),
        emulator: if rt { "7.2.22 (Debian 1:7.2+dfsg-7)" } else { "7.2.21 (Debian 1:7.2+dfsg-6)" }.into(),
        arguments: ["-machine", "q35", "-m", if rt { "1024" } else { "512" }, "-append", "quiet"]
            .map(String::from)
            .to_vec(),
        kernel: LabKernel {
            spec: if rt { "debian:6.12-rt" } else { "debian:6.12" }.into(),
            release: release.into(),
            package: Some(format!("linux-image-{release}=6.12.48-1")),
            sha256: hash(if rt { 'd' } else { 'c' }),
        },
        command_line: "quiet".into(),
        initramfs_sha256: hash('e'),
        tardy_sha256: hash('f'),
        device_tree_sha256: None,
        settled: Settled {
            quiet: true,
            booted_at_ns: 2_450_469_094,
            settled_at_ns: 3_953_428_861,
            window_ns: SECOND / 2,
            busy_percent: vec![0, 0, 0],
        },
    }
}
