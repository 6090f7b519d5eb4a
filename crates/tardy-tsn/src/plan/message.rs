//! The message that tardy sends for a port's shaper, field by field in the order of sending.

use std::fmt::Write;

use tardy_record::gates::GateOperation;

use crate::network::Clock;
use crate::settings::{PortSettings, Settings, Taprio};

/// The column of a field's value.
const VALUE_COLUMN: usize = 48;

/// The messages for all ports that have a schedule.
pub fn text(settings: &Settings) -> String {
    let mut text = String::new();
    for port in &settings.ports {
        if let Some(taprio) = &port.taprio {
            if !text.is_empty() {
                text.push('\n');
            }
            message(port, taprio, &mut text);
        }
    }
    text
}

fn message(port: &PortSettings, taprio: &Taprio, text: &mut String) {
    let _ = writeln!(text, "RTM_NEWQDISC  NLM_F_REQUEST NLM_F_ACK NLM_F_CREATE NLM_F_REPLACE");
    let mut field = |depth: usize, name: &str, value: &str| {
        let name = format!("{}{name}", "  ".repeat(depth));
        let _ = writeln!(text, "{}", format!("{name:<VALUE_COLUMN$}{value}").trim_end());
    };
    field(1, "tcm_ifindex", &format!("that of {}", port.interface));
    field(1, "tcm_handle", "7514:");
    field(1, "tcm_parent", "TC_H_ROOT");
    field(1, "TCA_KIND", "\"taprio\"");
    if taprio.overhead > 0 {
        field(1, "TCA_STAB", "");
        field(2, "TCA_STAB_BASE", &format!("overhead {}", taprio.overhead));
    }
    field(1, "TCA_OPTIONS", &format!("{} bytes", taprio.options_bytes()));
    priority_map(taprio, &mut field);
    entries(taprio, &mut field);
    field(2, "TCA_TAPRIO_ATTR_SCHED_BASE_TIME", &ns(taprio.base_time_ns));
    if let Some(id) = taprio.clockid {
        let name = Clock::ALL.into_iter().find(|clock| clock.id() == id).map_or("", Clock::name);
        field(2, "TCA_TAPRIO_ATTR_SCHED_CLOCKID", &format!("{id} ({name})"));
    }
    if let Some(cycle) = taprio.cycle_time_ns.filter(|cycle| *cycle != 0) {
        field(2, "TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME", &ns(cycle));
    }
    if let Some(extension) = taprio.cycle_time_extension_ns.filter(|extension| *extension != 0) {
        field(2, "TCA_TAPRIO_ATTR_SCHED_CYCLE_TIME_EXTENSION", &ns(extension));
    }
    if taprio.flags != 0 {
        field(2, "TCA_TAPRIO_ATTR_FLAGS", &format!("{:#x}", taprio.flags));
    }
    if let Some(delay) = taprio.txtime_delay_ns {
        field(2, "TCA_TAPRIO_ATTR_TXTIME_DELAY", &ns(i64::from(delay)));
    }
    for (class, bytes) in taprio.max_sdu.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        field(2, "TCA_TAPRIO_ATTR_TC_ENTRY", "");
        field(3, "TCA_TAPRIO_TC_ENTRY_INDEX", &class.to_string());
        field(3, "TCA_TAPRIO_TC_ENTRY_MAX_SDU", &format!("{bytes} bytes"));
    }
}

fn priority_map(taprio: &Taprio, field: &mut impl FnMut(usize, &str, &str)) {
    let list = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(" ");
    field(2, "TCA_TAPRIO_ATTR_PRIOMAP", "struct tc_mqprio_qopt, 82 bytes");
    field(3, "num_tc", &taprio.num_tc.to_string());
    field(3, "prio_tc_map", &list(&mut taprio.prio_tc_map.iter().map(ToString::to_string)));
    field(3, "hw", "0");
    field(3, "count", &list(&mut taprio.queues.iter().map(|range| range.count.to_string())));
    field(3, "offset", &list(&mut taprio.queues.iter().map(|range| range.offset.to_string())));
}

fn entries(taprio: &Taprio, field: &mut impl FnMut(usize, &str, &str)) {
    field(2, "TCA_TAPRIO_ATTR_SCHED_ENTRY_LIST", &format!("{} entries", taprio.entries.len()));
    let has_command = taprio.entry_has_command();
    for (place, entry) in taprio.entries.iter().enumerate() {
        field(3, "TCA_TAPRIO_SCHED_ENTRY", &format!("# {place}"));
        if has_command {
            let name = match entry.operation {
                GateOperation::Set => "SetGateStates",
                GateOperation::SetAndHold => "SetAndHoldMac",
                GateOperation::SetAndRelease => "SetAndReleaseMac",
            };
            let command = entry.operation.command();
            field(4, "TCA_TAPRIO_SCHED_ENTRY_CMD", &format!("{command} ({name})"));
        }
        field(4, "TCA_TAPRIO_SCHED_ENTRY_GATE_MASK", &format!("{:#04x}", entry.gates));
        field(4, "TCA_TAPRIO_SCHED_ENTRY_INTERVAL", &ns(i64::from(entry.interval_ns)));
    }
}

fn ns(value: i64) -> String {
    format!("{value} ns")
}
