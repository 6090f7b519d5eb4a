//! `tardy tsn show`: the kernel's configuration of the active switches.

use std::fmt::Write;

use anyhow::{Result, anyhow, bail};
use tardy_record::units::format_duration_ns;
use tardy_switch::saved_states::SavedStates;
use tardy_switch::{PortView, ScheduleView, ShaperView, SwitchView};

use tardy_args::TsnShowArgs;
use tardy_command::{Exit, output};

/// Maximum number of printed entries of a gate control list.
const ENTRIES_PRINTED: usize = 32;

/// Shows one switch or all.
pub(crate) fn run(arguments: &TsnShowArgs) -> Result<Exit> {
    let saved_states = SavedStates::own();
    let names = match &arguments.name {
        Some(name) => vec![name.clone()],
        None => saved_states.names().map_err(|reason| anyhow!(reason))?,
    };
    let mut views = Vec::new();
    for name in &names {
        match tardy_switch::show(&saved_states, name).map_err(|reason| anyhow!(reason))? {
            Some(view) => views.push(view),
            None => bail!("no switch {name} of tardy is active in this network namespace"),
        }
    }
    if arguments.json {
        output::print_json(&views)?;
    } else if views.is_empty() {
        output::report("no switch of tardy is active in this network namespace");
    } else {
        output::print(&views.iter().map(text).collect::<String>())?;
    }
    let whole = |view: &SwitchView| view.bridge_is_there && view.ports.iter().all(is_whole);
    Ok(if views.iter().all(whole) { Exit::Done } else { Exit::Failed })
}

/// Whether a port belongs to the bridge, and its shaper exists and its gates run.
fn is_whole(port: &PortView) -> bool {
    let stopped = match &port.shaper {
        ShaperView::Gone => true,
        ShaperView::Shown { stands_still, .. } => *stands_still == Some(true),
        ShaperView::None | ShaperView::TooLong { .. } => false,
    };
    port.is_there && port.is_of_bridge && !stopped
}

fn text(view: &SwitchView) -> String {
    let mut text =
        format!("{}{}\n", view.name, if view.bridge_is_there { "" } else { ": its bridge is gone" });
    for port in &view.ports {
        port_text(&mut text, port);
    }
    text
}

fn port_text(text: &mut String, port: &PortView) {
    if !port.is_there {
        let _ = writeln!(
            text,
            "  {}: the interface is gone; create it and run 'tardy tsn apply', or 'tardy tsn remove'",
            port.name
        );
        return;
    }
    let speed = port
        .speed_mbps
        .map_or("unknown speed, assumed to be 10 Mbit/s".to_owned(), |mbps| format!("{mbps} Mbit/s"));
    let carrier = if port.has_carrier { "" } else { ", no carrier" };
    let _ = writeln!(text, "  {}: {speed}, {} queues{carrier}", port.name, port.tx_queues);
    if !port.is_of_bridge {
        text.push_str("    no longer a port of the bridge; 'tardy tsn apply' adds it\n");
    }
    match &port.shaper {
        ShaperView::None => {}
        ShaperView::Gone => text.push_str("    its shaper is gone; 'tardy tsn apply' restores it\n"),
        ShaperView::TooLong { entries_sent } => {
            let sent = entries_sent.map_or(String::new(), |entries| format!(" {entries} entries were sent;"));
            let _ = writeln!(
                text,
                "    a shaper exists, but the kernel cannot show one with more than about 880 entries:{sent} only a test with frames can verify it"
            );
        }
        ShaperView::Shown { operating, admin, waiting_frames, dropped, flags, stands_still, .. } => {
            if flags & 2 != 0 {
                text.push_str("    the gates are in the device (flags 2): whether they move is unknown\n");
            } else if flags & 1 != 0 {
                text.push_str("    no gates: frames get transmit times for ETF (flags 1)\n");
            }
            if *stands_still == Some(true) {
                text.push_str("    its gates have stopped; 'tardy tsn watch' repairs this\n");
            }
            let _ = writeln!(text, "    {waiting_frames} frames queued, {dropped} dropped");
            schedule_text(text, "operating", operating.as_ref());
            schedule_text(text, "pending", admin.as_ref());
        }
    }
}

fn schedule_text(text: &mut String, which: &str, schedule: Option<&ScheduleView>) {
    let Some(schedule) = schedule else { return };
    let _ = writeln!(
        text,
        "    {which}: base time {} ns, cycle {}, {} entries",
        schedule.base_time_ns,
        format_duration_ns(schedule.cycle_ns),
        schedule.entries.len()
    );
    for entry in schedule.entries.iter().take(ENTRIES_PRINTED) {
        let interval = format_duration_ns(u64::from(entry.interval_ns));
        let _ = writeln!(text, "      gates {:#06b} for {interval}", entry.gates);
    }
    if let Some(more) = schedule.entries.len().checked_sub(ENTRIES_PRINTED).filter(|more| *more > 0) {
        let _ = writeln!(text, "      and {more} more (--json shows them all)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> PortView {
        PortView {
            name: "swp1".to_owned(),
            is_there: true,
            is_of_bridge: true,
            has_carrier: true,
            speed_mbps: Some(100),
            tx_queues: 2,
            carrier_changes: 1,
            shaper: ShaperView::None,
        }
    }

    fn shown(port: &PortView) -> String {
        let mut text = String::new();
        port_text(&mut text, port);
        text
    }

    #[test]
    fn a_deleted_interface_is_not_a_port_of_10_megabit() {
        assert!(is_whole(&port()));
        let gone = PortView {
            is_there: false,
            is_of_bridge: false,
            has_carrier: false,
            speed_mbps: None,
            tx_queues: 0,
            shaper: ShaperView::Gone,
            ..port()
        };
        assert!(!is_whole(&gone));
        assert!(shown(&gone).contains("swp1: the interface is gone"), "{}", shown(&gone));
        assert!(!shown(&gone).contains("Mbit/s"), "{}", shown(&gone));
    }

    #[test]
    fn stopped_gates_fail_and_gates_that_are_not_in_software_do_not() {
        let shaper = |flags, stands_still| ShaperView::Shown {
            clock_id: None,
            operating: None,
            admin: None,
            flags,
            stands_still,
            waiting_frames: 0,
            dropped: 0,
        };
        let stopped = PortView { has_carrier: false, shaper: shaper(0, Some(true)), ..port() };
        assert!(!is_whole(&stopped));
        for flags in [1, 2] {
            let other = PortView { shaper: shaper(flags, None), ..port() };
            assert!(is_whole(&other));
            assert!(shown(&other).contains(&format!("(flags {flags})")), "{}", shown(&other));
        }
    }
}
