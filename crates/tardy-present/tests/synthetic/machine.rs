//! Machines: two kernels on the same board.

use std::collections::BTreeMap;

use tardy_record::facts::{Fact, Facts, Preemption};
use tardy_record::per_cpu::PerCpu;
use tardy_record::run::Origin;

pub(crate) fn origin(id: &str) -> Origin {
    Origin {
        id: id.to_owned(),
        name: None,
        host: "raspberry".into(),
        boot_id: "5f2c8a4e-0000-4000-8000-000000000001".into(),
        started_at: "2026-11-21T09:39:00Z".into(),
        command: ["tardy", "run", "--load", "doload", "--limit", "1ms"].map(String::from).to_vec(),
        build: String::new(),
        trial: None,
    }
}

pub(crate) fn facts(rt: bool) -> Facts {
    let mut facts = Facts::default();
    let text = |value: &str, how: &str| Fact::known(value.to_owned(), how);
    let kernel = &mut facts.kernel;
    kernel.release = text(if rt { "6.12.48+deb13-rt-arm64" } else { "6.12.48+deb13-arm64" }, "uname -r");
    let version = if rt {
        "#1 SMP PREEMPT_RT Debian 6.12.48-1 (2025-09-20)"
    } else {
        "#1 SMP Debian 6.12.48-1 (2025-09-20)"
    };
    kernel.version = text(version, "uname -v");
    kernel.machine = text("aarch64", "uname -m");
    kernel.real_time = Fact::known(rt, if rt { "/sys/kernel/realtime" } else { "uname -v" });
    kernel.preemption =
        Fact::known(if rt { Preemption::Rt } else { Preemption::Voluntary }, "/proc/config.gz");
    kernel.preempt_dynamic = Fact::known(false, "/proc/config.gz");
    kernel.hz = Fact::known(250, "/proc/config.gz");
    let line = "root=/dev/mmcblk0p2 rootwait console=tty1";
    kernel.command_line = text(
        &if rt { format!("{line} isolcpus=1 dwg_otg.speed=1") } else { format!("{line} quiet") },
        "/proc/cmdline",
    );
    kernel.config = Fact::known(config(rt), "/proc/config.gz");
    kernel.co_kernel = text("none", "/proc/xenomai, /dev/evl");
    facts.clock.source =
        text("arch_sys_counter", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    facts.clock.high_resolution = Fact::known(true, "/proc/timer_list");
    facts.cpu.model = text("Cortex-A53", "/proc/cpuinfo");
    facts.cpu.online = Fact::known(vec![0, 1], "/sys/devices/system/cpu/online");
    let governor = if rt { "performance" } else { "ondemand" };
    facts.cpu.governor = Fact::known(
        PerCpu::from_iter((0..2).map(|cpu| (cpu, governor.to_owned()))),
        "cpufreq/scaling_governor",
    );
    facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc/sys/kernel/sched_rt_runtime_us");
    facts.machine.board = text("Raspberry Pi 3 Model B", "/proc/device-tree/model");
    facts.machine.distribution = text("Debian GNU/Linux 13 (trixie)", "/etc/os-release");
    facts.tardy.version = "0.1.0".into();
    facts.tardy.build = "aarch64-unknown-linux-musl, release".into();
    facts
}

fn config(rt: bool) -> BTreeMap<String, String> {
    let mut config: BTreeMap<String, String> = ["SMP", "HIGH_RES_TIMERS", "NO_HZ_IDLE", "CPU_FREQ"]
        .map(|name| (name.to_owned(), "y".to_owned()))
        .into();
    config.insert("HZ".into(), "250".into());
    let only: &[&str] = if rt {
        &["PREEMPT_RT", "PREEMPT_COUNT"]
    } else {
        &["PREEMPT_VOLUNTARY", "TRANSPARENT_HUGEPAGE", "NUMA_BALANCING", "SCHED_AUTOGROUP"]
    };
    config.extend(only.iter().map(|name| ((*name).to_owned(), "y".to_owned())));
    config
}
