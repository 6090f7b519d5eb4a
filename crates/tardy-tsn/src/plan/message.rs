//! The message that tardy sends for a port's shaper, field by field in the order of sending.

use std::fmt::Write;

use tardy_record::gates::GateOperation;

use crate::class_queueing::ChildKind;
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
    let is_preemptible = |class: usize| taprio.preemptible >> class & 1 == 1;
    let stated =
        taprio.max_sdu.iter().enumerate().filter(|(class, bytes)| **bytes > 0 || is_preemptible(*class));
    for (class, bytes) in stated {
        field(2, "TCA_TAPRIO_ATTR_TC_ENTRY", "");
        field(3, "TCA_TAPRIO_TC_ENTRY_INDEX", &class.to_string());
        if *bytes > 0 {
            field(3, "TCA_TAPRIO_TC_ENTRY_MAX_SDU", &format!("{bytes} bytes"));
        }
        if is_preemptible(class) {
            field(3, "TCA_TAPRIO_TC_ENTRY_FP", "2 (preemptible)");
        }
    }
    for child in &port.children {
        let _ = writeln!(text, "\nRTM_NEWQDISC  NLM_F_REQUEST NLM_F_ACK NLM_F_CREATE NLM_F_REPLACE");
        let mut field = |depth: usize, name: &str, value: &str| {
            let name = format!("{}{name}", "  ".repeat(depth));
            let _ = writeln!(text, "{}", format!("{name:<VALUE_COLUMN$}{value}").trim_end());
        };
        field(1, "tcm_ifindex", &format!("that of {}", port.interface));
        field(1, "tcm_parent", &format!("7514:{:x}", u32::from(child.queue) + 1));
        match child.kind {
            ChildKind::Etf { delta_ns, offload } => {
                field(1, "TCA_KIND", "\"etf\"");
                field(2, "TCA_ETF_PARMS", "struct tc_etf_qopt, 12 bytes");
                field(3, "delta", &ns(i64::from(delta_ns)));
                field(3, "clockid", "11 (CLOCK_TAI)");
                field(3, "flags", if offload { "offload, skip_sock_check" } else { "skip_sock_check" });
            }
            ChildKind::Cbs {
                idle_slope_kbps,
                send_slope_kbps,
                high_credit_bytes,
                low_credit_bytes,
                offload,
            } => {
                field(1, "TCA_KIND", "\"cbs\"");
                field(2, "TCA_CBS_PARMS", "struct tc_cbs_qopt, 20 bytes");
                field(3, "offload", if offload { "1" } else { "0" });
                field(3, "hicredit", &format!("{high_credit_bytes} bytes"));
                field(3, "locredit", &format!("{low_credit_bytes} bytes"));
                field(3, "idleslope", &format!("{idle_slope_kbps} kbit/s"));
                field(3, "sendslope", &format!("{send_slope_kbps} kbit/s"));
            }
        }
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
