//! Setting a switch up, or changing one that is up into what its file says now.

use tardy_sys::clock::Clock;
use tardy_sys::netlink::NetlinkError;
use tardy_sys::taprio::{self, Shown, TaprioError};
use tardy_sys::{links, qdiscs};
use tardy_tsn::settings::{Settings, Taprio};

use super::displaced::Displaced;
use super::ledger::Ledger;
use super::missing::explained;
use super::open_vswitch::OpenVSwitch;
use super::shaper::{ShaperRecord, is_changeable, is_same, lifting_limits, to_kernel};
use super::state::{self, Shelf, SwitchState};
use super::step::Change;
use super::survey::{Allowances, Survey};
use super::timing::{self, Leak};
use super::{bridge, classifier};
use tardy_host::journal::Place;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The switch.
    pub settings: Settings,
    /// The switch file's text, which is written down with it.
    pub file: String,
    /// Whether bridges and queueing disciplines that are not tardy's may be replaced.
    pub replace: bool,
    /// Whether the kernel shall be asked also for what it is known to refuse.
    pub unchecked: bool,
    /// Whether the interface of the caller's own connection may become a port.
    pub even_own_connection: bool,
    /// Whether ports get their shapers; without, every gate is open all the time.
    pub shaped: bool,
    /// Whose Open vSwitch makes the bridge, where it is one of that.
    pub open_vswitch: OpenVSwitch,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What was changed, in order; empty: everything was as the file says already.
    pub changed: Vec<String>,
    /// What a person should know.
    pub remarks: Vec<String>,
    /// For how long gates were open while running schedules were replaced.
    pub leaks: Vec<Leak>,
}

/// Sets a switch up. Whatever fails, all that was done before it is undone; steps are noted in `journal` while it goes on,
/// and in `shelf` once it is up. Without a journal the caller sees to it that all of it goes with the process. The
/// switch stays up once [`Ledger::keep`] is called; dropping the ledger takes back what was done.
///
/// # Errors
/// In words, what stands in the way or what the kernel says, a line for each; and what could not be undone.
pub fn apply(journal: Option<Place>, shelf: &Shelf, request: &Request) -> Result<(Applied, Ledger), String> {
    let settings = &request.settings;
    let known = state::up(shelf, &settings.bridge.name)?;
    let allowed = Allowances {
        replace: request.replace,
        unchecked: request.unchecked,
        own_connection: request.even_own_connection,
    };
    let survey = Survey::look(settings, known.as_ref(), allowed, &request.open_vswitch)?;
    let mut ledger = Ledger::new(journal);
    let outcome = set_everything(request, &survey, known.as_ref(), &mut ledger);
    let (applied, mut state) = match outcome {
        Ok(done) => done,
        Err(reason) => {
            let steps = ledger.len();
            return Err(match ledger.undo() {
                Ok(()) if steps == 0 => format!("{reason}\nnothing was changed"),
                Ok(()) => format!("{reason}\nwhat had been changed was put back"),
                Err(left) => {
                    format!("{reason}\nnot everything could be put back: {left}\n'tardy restore' tries again")
                }
            });
        }
    };
    let mut steps = known.map(|state| state.steps).unwrap_or_default();
    // A schedule that took another's place goes with its shaper.
    for step in ledger.steps().filter(|step| !matches!(step.change, Change::Schedule { .. })) {
        // The first time that something was changed says how it was before.
        if !steps.iter().any(|old| old.change.is_of_the_same(&step.change)) {
            steps.push(step.clone());
        }
    }
    state.steps = steps;
    shelf.put(&state)?;
    Ok((applied, ledger))
}

fn set_everything(
    request: &Request,
    survey: &Survey,
    known: Option<&SwitchState>,
    ledger: &mut Ledger,
) -> Result<(Applied, SwitchState), String> {
    let settings = &request.settings;
    let mut applied = Applied {
        changed: bridge::set_up(settings, survey, &request.open_vswitch, ledger)?,
        ..Applied::default()
    };
    let classified = classifier::set(settings, known, ledger)?;
    applied.changed.extend(classified.changed);
    applied.remarks.extend(classified.remarks);
    let mut shapers = Vec::new();
    for port in &settings.ports {
        match port.taprio.as_ref().filter(|_| request.shaped) {
            Some(taprio) => {
                shape(&port.interface, taprio, known, ledger, &mut applied)?;
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

/// A shaper as it is compared and written down.
fn as_text(taprio: &Taprio) -> String {
    serde_json::to_string(taprio).unwrap_or_default()
}

/// Gives a port its shaper, where it has it not.
fn shape(
    name: &str,
    taprio: &Taprio,
    known: Option<&SwitchState>,
    ledger: &mut Ledger,
    applied: &mut Applied,
) -> Result<(), String> {
    let wanted = to_kernel(taprio);
    let about = format!("shaper of {name}");
    let in_words = |error: NetlinkError| explained(&about, &error);
    let shown = taprio::shown(name).map_err(in_words)?;
    let sent_before = known.and_then(|state| state.shapers.iter().find(|(port, _)| port == name));
    let there = is_there(name, shown.as_ref()).map_err(in_words)?;
    let as_sent = sent_before.is_some_and(|(_, text)| *text == as_text(taprio));
    match &shown {
        Some(shown) if is_same(shown, &wanted) => return Ok(()),
        // Too long to be shown, and the same as what was sent.
        None if there && as_sent => return Ok(()),
        _ => {}
    }
    warn_of_speed(name, applied);
    let wanted = shown.as_ref().map_or_else(|| wanted.clone(), |shown| lifting_limits(&wanted, shown));
    let running = shown.as_ref().filter(|shown| is_changeable(shown, &wanted));
    let clock = wanted.clock_id.and_then(Clock::of_id);
    if let (Some(Shown { operating: Some(operating), .. }), Some(clock)) = (running, clock) {
        let classes = wanted.classes.queues.len();
        let prepared = taprio::prepare(name, &wanted).map_err(|error| in_words_of(&about, error))?;
        let send = || prepared.send().map(drop).map_err(|error| in_words_of(&about, error));
        // With another clock the kernel reads all of it and then refuses: the clock of a running shaper cannot change.
        let refused = taprio::Taprio { clock_id: Some(another_clock(&wanted)), ..wanted.clone() };
        let refused = taprio::prepare(name, &refused).map_err(|error| in_words_of(&about, error))?;
        let rehearse = || drop(refused.send());
        let Some(was) = shown.as_ref().and_then(ShaperRecord::of) else { return Ok(()) };
        ledger.step(Change::Schedule { name: name.to_owned(), was: Box::new(was) }, || {
            let schedules = timing::Pair { running: operating, wanted: &wanted.schedule };
            let leak = timing::replace(name, schedules, clock, classes, rehearse, send)?;
            applied.leaks.push(leak);
            Ok(())
        })?;
        applied.changed.push(format!("{name}: schedule replaced while it ran"));
        return Ok(());
    }
    if there {
        // Classes, clock and flags cannot be changed while it runs, and a list that is not shown cannot be timed by.
        qdiscs::delete_root(name).map_err(in_words)?;
        applied.remarks.push(format!(
            "{name}: its shaper was taken away and made anew, and between the two every gate was open"
        ));
    }
    let was = Displaced::at(name);
    if let Some(was) = &was {
        let later = if was.returns() {
            "comes back when the switch is taken away"
        } else {
            "is lost: it cannot be brought back, set it again by hand when the switch is taken away"
        };
        applied.remarks.push(format!("{name}: {} was there, and {later}", was.describe()));
    }
    ledger.step(Change::Shaper { name: name.to_owned(), was }, || {
        taprio::replace(name, &wanted).map(drop).map_err(|error| in_words_of(&about, error))
    })?;
    applied.changed.push(format!("{name}: time-aware shaper with {} entries", wanted.schedule.entries.len()));
    Ok(())
}

/// A clock that the kernel knows, and that is not the shaper's.
fn another_clock(shaper: &taprio::Taprio) -> i32 {
    /// CLOCK_MONOTONIC and CLOCK_TAI.
    const CLOCKS: [i32; 2] = [1, 11];
    if shaper.clock_id == Some(CLOCKS[0]) { CLOCKS[1] } else { CLOCKS[0] }
}

/// Whether the port has a shaper of tardy's, shown or too long to be shown.
fn is_there(name: &str, shown: Option<&Shown>) -> Result<bool, NetlinkError> {
    if shown.is_some_and(|shown| shown.handle == super::HANDLE) {
        return Ok(true);
    }
    let ours = |(kind, handle): &(String, u32)| kind == "taprio" && handle >> 16 == u32::from(super::HANDLE);
    Ok(qdiscs::classes_of(name)?.iter().any(ours))
}

/// Takes a port's shaper away, where tardy gave it one.
fn unshape(name: &str, known: Option<&SwitchState>, applied: &mut Applied) -> Result<(), String> {
    let had = known.is_some_and(|state| state.shapers.iter().any(|(port, _)| port == name));
    if had && is_there(name, None).unwrap_or(false) {
        qdiscs::delete_root(name).map_err(|error| explained(&format!("shaper of {name}"), &error))?;
        applied.changed.push(format!("{name}: time-aware shaper taken away"));
    }
    Ok(())
}

fn warn_of_speed(name: &str, applied: &mut Applied) {
    if !matches!(links::speed_mbps(name), Ok(Some(_))) {
        applied.remarks.push(format!(
            "{name}: the kernel does not know the link's speed and reckons with 10 Mbit/s; 'ethtool -s {name} speed N' tells it, or plug the cable in first"
        ));
    }
}

fn in_words_of(about: &str, error: TaprioError) -> String {
    match error {
        TaprioError::Kernel(error) => explained(about, &error),
        long @ TaprioError::TooLong { .. } => format!("{about}: {long}"),
    }
}

#[cfg(test)]
mod tests;
