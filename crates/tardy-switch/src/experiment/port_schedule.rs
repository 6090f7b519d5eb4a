//! The schedule of a switch's port.

use tardy_record::Knowable;
use tardy_record::gates;
use tardy_record::switch::{PortSchedule, ScheduleSource};
use tardy_sys::links;
use tardy_sys::taprio;
use tardy_tsn::network::{Port, Switch};
use tardy_tsn::settings;

use crate::shaper;

/// The schedule that runs on a port: as the kernel shows it, or as it was sent if the kernel cannot show it. `None` if
/// the port has none.
pub(super) fn schedule_of(switch: &Switch, port: &Port) -> Option<PortSchedule> {
    let schedule = port.schedule.as_ref()?;
    let name = &port.interface.value;
    let shown = taprio::shown(name).ok().flatten().and_then(|shown| shown.operating.or(shown.admin));
    let source = if shown.is_some() { ScheduleSource::ReadBack } else { ScheduleSource::Sent };
    let runs = match shown {
        Some(shown) => shown,
        None => shaper::to_kernel(&settings::taprio_of(switch, port)?).schedule,
    };
    let entries = shaper::gate_entries(&runs);
    Some(PortSchedule {
        port: name.clone(),
        source,
        clock: schedule.clock.as_ref().map_or("CLOCK_TAI", |clock| clock.value.name()).to_owned(),
        base_ns: runs.base_time_ns,
        // The kernel's software uses the sum of the entries if the requested cycle is longer.
        cycle_ns: taprio::cycle_ns(&runs).min(gates::sum_ns(&entries)),
        entries,
        link_bps: match links::speed_mbps(name) {
            Ok(Some(mbps)) => Knowable::Known(u64::from(mbps) * 1_000_000),
            _ => Knowable::Unknown,
        },
        overhead_bytes: schedule.overhead.value,
    })
}
