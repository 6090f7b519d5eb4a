//! Sets a switch up, or changes a running one to match its file.

use serde::Serialize;
use tardy_sys::clock::Clock;
use tardy_sys::netlink::NetlinkError;
use tardy_sys::taprio::{self, Shown, TaprioError};
use tardy_sys::{links, qdiscs};
use tardy_tsn::settings::{Settings, Taprio};

use super::change::Change;
use super::change_journal::ChangeJournal;
use super::displaced::Displaced;
use super::missing::explained;
use super::open_vswitch::OpenVSwitch;
use super::saved_states::{self, SavedStates, SwitchState};
use super::shaper::{ShaperRecord, is_changeable, is_same, lifting_limits, to_kernel};
use super::survey::{Allowances, Survey};
use super::timing::{self, Leak};
use super::{bridge, children, classifier};
use tardy_host::journal::Place;

/// The requested switch.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its settings.
    pub settings: Settings,
    /// The switch file's text, which is saved with the state.
    pub file: String,
    /// Whether other programs' bridges and queueing disciplines may be replaced.
    pub replace: bool,
    /// Whether to send the kernel requests that it is known to refuse.
    pub unchecked: bool,
    /// Whether the interface of the caller's own connection may become a port.
    pub even_own_connection: bool,
    /// Whether ports get their shapers. Otherwise every gate is always open.
    pub shaped: bool,
    /// The instance of Open vSwitch, for a bridge of that kind.
    pub open_vswitch: OpenVSwitch,
}

/// The result of setting a switch up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The changes in order; empty if everything was already as in the file.
    pub changed: Vec<String>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
    /// For how long gates were open while running schedules were replaced.
    pub leaks: Vec<Leak>,
    /// The shapers of ports that had none.
    pub installed: Vec<Installed>,
}

/// When the kernel accepted the shaper of a port that had none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// The port.
    pub port: String,
    /// Just before and just after, in ns on the schedule's clock.
    pub between_ns: (i64, i64),
}

/// Sets a switch up. If anything fails, all changes are undone. Steps are recorded in `journal` during the setup, and
/// in `saved_states` once the switch is up. Without a journal, the caller ensures that all steps end with the process.
/// The switch stays up once [`ChangeJournal::keep`] is called; dropping the journal undoes the changes.
///
/// # Errors
/// A message for the user: each obstacle or kernel error, one line each, and the steps that could not be undone.
pub fn apply(
    journal: Option<Place>,
    saved_states: &SavedStates,
    request: &Request,
) -> Result<(Applied, ChangeJournal), String> {
    let settings = &request.settings;
    let known = saved_states::up(saved_states, &settings.bridge.name)?;
    let allowed = Allowances {
        replace: request.replace,
        unchecked: request.unchecked,
        own_connection: request.even_own_connection,
    };
    let survey = Survey::look(settings, known.as_ref(), allowed, &request.open_vswitch)?;
    let mut changes = ChangeJournal::new(journal);
    let outcome = set_everything(request, &survey, known.as_ref(), &mut changes);
    let (applied, mut state) = match outcome {
        Ok(done) => done,
        Err(reason) => {
            let steps = changes.len();
            return Err(match changes.undo() {
                Ok(()) if steps == 0 => format!("{reason}\nnothing was changed"),
                Ok(()) => format!("{reason}\nall changes were undone"),
                Err(left) => {
                    format!("{reason}\nnot all changes could be undone: {left}\n'tardy restore' tries again")
                }
            });
        }
    };
    let mut steps = known.map(|state| state.steps).unwrap_or_default();
    // A replaced schedule needs no step: it is removed with its shaper.
    for step in changes.steps().filter(|step| !matches!(step.change, Change::Schedule { .. })) {
        // Only the first change of an object recorded its original state.
        if !steps.iter().any(|old| old.change.changes_the_same(&step.change)) {
            steps.push(step.clone());
        }
    }
    state.steps = steps;
    saved_states.save(&state)?;
    Ok((applied, changes))
}

fn set_everything(
    request: &Request,
    survey: &Survey,
    known: Option<&SwitchState>,
    changes: &mut ChangeJournal,
) -> Result<(Applied, SwitchState), String> {
    let settings = &request.settings;
    let mut applied = Applied {
        changed: bridge::set_up(settings, survey, &request.open_vswitch, changes)?,
        ..Applied::default()
    };
    let classified = classifier::set(settings, known, changes)?;
    applied.changed.extend(classified.changed);
    applied.remarks.extend(classified.remarks);
    let mut shapers = Vec::new();
    for port in &settings.ports {
        match port.taprio.as_ref().filter(|_| request.shaped) {
            Some(taprio) => {
                shape(&port.interface, taprio, known, changes, &mut applied)?;
                let children = children::set(&port.interface, &port.children)?;
                if !children.is_empty() && taprio.flags == 0 {
                    restart_gates(&port.interface, taprio)?;
                }
                applied.changed.extend(children);
                shapers.push((port.interface.clone(), as_text(taprio)));
            }
            None => unshape(&port.interface, known, &mut applied)?,
        }
    }
    let state = SwitchState {
        name: settings.bridge.name.clone(),
        bridge_index: links::find(&settings.bridge.name)
            .map_err(|error| error.to_string())?
            .map(|link| link.index),
        file: request.file.clone(),
        steps: Vec::new(),
        shapers,
        classifier: classified.sent,
    };
    Ok((applied, state))
}

/// Sends a shaper again: the kernel stops the gates' timer if a discipline below it changes.
fn restart_gates(name: &str, taprio: &Taprio) -> Result<(), String> {
    let about = format!("shaper of {name}");
    let sent = taprio::prepare(name, &to_kernel(taprio)).and_then(|prepared| prepared.send());
    sent.map(drop).map_err(|error| describe_refusal(&about, error))
}

/// The text of a shaper, which is saved and compared.
fn as_text(taprio: &Taprio) -> String {
    serde_json::to_string(taprio).unwrap_or_default()
}

/// Sends a port its shaper, if it differs.
fn shape(
    name: &str,
    taprio: &Taprio,
    known: Option<&SwitchState>,
    changes: &mut ChangeJournal,
    applied: &mut Applied,
) -> Result<(), String> {
    let wanted = to_kernel(taprio);
    let about = format!("shaper of {name}");
    let describe = |error: NetlinkError| explained(&about, &error);
    let shown = taprio::shown(name).map_err(describe)?;
    let sent_before = known.and_then(|state| state.shapers.iter().find(|(port, _)| port == name));
    let there = is_there(name, shown.as_ref()).map_err(describe)?;
    let as_sent = sent_before.is_some_and(|(_, text)| *text == as_text(taprio));
    match &shown {
        Some(shown) if is_same(shown, &wanted) => return Ok(()),
        // Too long to be shown, and the same as the one that was sent.
        None if there && as_sent => return Ok(()),
        _ => {}
    }
    warn_of_speed(name, applied);
    let wanted = shown.as_ref().map_or_else(|| wanted.clone(), |shown| lifting_limits(&wanted, shown));
    let running = shown.as_ref().filter(|shown| is_changeable(shown, &wanted));
    let clock = wanted.clock_id.and_then(Clock::of_id);
    if let (Some(Shown { operating: Some(operating), .. }), Some(clock)) = (running, clock) {
        let classes = wanted.classes.queues.len();
        let prepared = taprio::prepare(name, &wanted).map_err(|error| describe_refusal(&about, error))?;
        let send = || prepared.send().map(drop).map_err(|error| describe_refusal(&about, error));
        // The kernel reads a request with another clock completely, then refuses it: the clock of a running shaper is
        // fixed.
        let refused = taprio::Taprio { clock_id: Some(another_clock(&wanted)), ..wanted.clone() };
        let refused = taprio::prepare(name, &refused).map_err(|error| describe_refusal(&about, error))?;
        let rehearse = || drop(refused.send());
        let Some(was) = shown.as_ref().and_then(ShaperRecord::of) else { return Ok(()) };
        changes.step(Change::Schedule { name: name.to_owned(), was: Box::new(was) }, || {
            let schedules = timing::Pair { running: operating, wanted: &wanted.schedule };
            let leak = timing::replace(name, schedules, clock, classes, rehearse, send)?;
            applied.leaks.push(leak);
            Ok(())
        })?;
        applied.changed.push(format!("{name}: schedule replaced while it ran"));
        return Ok(());
    }
    if there {
        // Classes, clock and flags of a running shaper are fixed, and the replacement of a list that is not shown
        // cannot be timed.
        qdiscs::delete_root(name).map_err(describe)?;
        applied.remarks.push(format!(
            "{name}: its shaper was removed and set again, and every gate was open in between"
        ));
    }
    let was = Displaced::at(name);
    if let Some(was) = &was {
        let later = if was.is_restorable() {
            "is restored when the switch is removed"
        } else {
            "cannot be restored; set it again by hand when the switch is removed"
        };
        applied.remarks.push(format!("{name}: {} was replaced, and {later}", was.describe()));
    }
    changes.step(Change::Shaper { name: name.to_owned(), was }, || {
        let prepared = taprio::prepare(name, &wanted).map_err(|error| describe_refusal(&about, error))?;
        let now_ns = || clock.map_or(0, Clock::now_ns);
        let before_ns = now_ns();
        prepared.send().map_err(|error| describe_refusal(&about, error))?;
        applied.installed.push(Installed { port: name.to_owned(), between_ns: (before_ns, now_ns()) });
        Ok(())
    })?;
    applied.changed.push(format!("{name}: time-aware shaper with {} entries", wanted.schedule.entries.len()));
    Ok(())
}

/// A valid clock other than the shaper's.
fn another_clock(shaper: &taprio::Taprio) -> i32 {
    /// CLOCK_MONOTONIC and CLOCK_TAI.
    const CLOCKS: [i32; 2] = [1, 11];
    if shaper.clock_id == Some(CLOCKS[0]) { CLOCKS[1] } else { CLOCKS[0] }
}

/// Whether the port has tardy's shaper, even if the kernel cannot show it.
fn is_there(name: &str, shown: Option<&Shown>) -> Result<bool, NetlinkError> {
    if shown.is_some_and(|shown| shown.handle == super::HANDLE) {
        return Ok(true);
    }
    let ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(super::HANDLE);
    Ok(qdiscs::classes_of(name)?.iter().any(ours))
}

/// Removes a port's shaper, if tardy set one.
fn unshape(name: &str, known: Option<&SwitchState>, applied: &mut Applied) -> Result<(), String> {
    let had = known.is_some_and(|state| state.shapers.iter().any(|(port, _)| port == name));
    if had && is_there(name, None).unwrap_or(false) {
        qdiscs::delete_root(name).map_err(|error| explained(&format!("shaper of {name}"), &error))?;
        applied.changed.push(format!("{name}: time-aware shaper removed"));
    }
    Ok(())
}

fn warn_of_speed(name: &str, applied: &mut Applied) {
    if !matches!(links::speed_mbps(name), Ok(Some(_))) {
        applied.remarks.push(format!(
            "{name}: the kernel does not know the link's speed and assumes 10 Mbit/s; set it by 'ethtool -s {name} speed N', or plug the cable in first"
        ));
    }
}

fn describe_refusal(about: &str, error: TaprioError) -> String {
    match error {
        TaprioError::Kernel(error) => explained(about, &error),
        long @ TaprioError::TooLong { .. } => format!("{about}: {long}"),
    }
}

#[cfg(test)]
mod tests;
