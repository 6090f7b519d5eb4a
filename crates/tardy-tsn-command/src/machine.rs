//! This machine's interfaces and clocks, read without privileges.

use std::collections::BTreeMap;

use tardy_host::facts::has_option;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::{clock, links, processes, taprio};
use tardy_tsn::check::{Device, DeviceSpeed, Machine, Running};
use tardy_tsn::network::{Clock, Network};
use tardy_tsn::settings::Queues;

/// The interfaces of all ports with a schedule. Interfaces that do not exist here are left out.
pub(crate) fn read(network: &Network) -> Machine {
    let has_taprio = has_option(&KernelFiles::real(), "NET_SCH_TAPRIO");
    let mut machine = Machine { runs_ptp: runs_ptp(), now_ns: clocks(), has_taprio, ..Machine::default() };
    let Ok(present) = links::all() else { return machine };
    for port in network.switches.iter().flat_map(|switch| &switch.ports) {
        if port.schedule.is_some()
            && let Some(link) = present.iter().find(|link| link.name == port.interface.value)
        {
            machine.devices.insert(link.name.clone(), device(link));
        }
    }
    machine
}

/// This machine's clocks, in ns since their zero.
pub(crate) fn clocks() -> BTreeMap<Clock, i64> {
    let clocks = [
        (Clock::Tai, clock::Clock::Tai),
        (Clock::Realtime, clock::Clock::Realtime),
        (Clock::Monotonic, clock::Clock::Monotonic),
    ];
    let there = clocks.into_iter().filter(|(_, clock)| clock.resolution_ns().is_ok());
    there.map(|(name, clock)| (name, clock.now_ns())).collect()
}

/// Whether a PTP daemon runs; `None` if the processes cannot be listed.
fn runs_ptp() -> Option<bool> {
    let mut commands = processes::all().ok()?.into_iter().filter_map(processes::command_of);
    Some(commands.any(|command| matches!(command.as_str(), "ptp4l" | "ptpd")))
}

fn device(link: &links::LinkInfo) -> Device {
    let speed = match links::speed_mbps(&link.name) {
        Ok(Some(megabits)) => DeviceSpeed::BitsPerSecond(u64::from(megabits) * 1_000_000),
        // Without ethtool settings TAPRIO does not know the speed either.
        Ok(None) | Err(_) => DeviceSpeed::Unknown,
    };
    Device {
        tx_queues: Some(link.tx_queues),
        real_tx_queues: link.real_tx_queues().ok(),
        speed: Some(speed),
        mtu_max: Some(link.mtu_max).filter(|bytes| *bytes > 0),
        mtu: Some(link.mtu),
        ptp_clock: links::has_clock(&link.name).ok(),
        running: taprio::shown(&link.name).ok().flatten().map(|shown| running(&shown)),
    }
}

/// The kernel's description, in the types of the switch file.
fn running(shown: &taprio::Shown) -> Running {
    let queues = shown.classes.queues.iter();
    Running {
        prio_tc_map: shown.classes.of_priority,
        queues: queues.map(|range| Queues { count: range.count, offset: range.first }).collect(),
        clockid: shown.clock_id,
        flags: shown.flags,
    }
}
