//! Testing a switch: its flows sent through it, with its shaper and without, and when each frame arrived.
//!
//! Everything happens on one machine. Talkers, switches and listeners are network namespaces, and cables are veth pairs,
//! or tap devices with this process as the wire between them where a port shall have a speed of its own
//! (`cable.rs`). Frames carry their number and when they were sent; the listener's kernel says when they came. The result
//! is a run like any other: a series for each flow in each phase.

mod build;
mod cable;
mod dequeue;
mod flow_paths;
mod frame;
mod listener;
mod machine;
mod observed;
mod own_open_vswitch;
mod phase;
mod plan;
mod readings;
mod stamps;
mod talker;

use std::collections::BTreeMap;

use tardy_record::event::{self, Event, EventKind};
use tardy_record::facts::Facts;
use tardy_record::run::{Origin, Phase, Run, State};
use tardy_record::switch::{PortSchedule, SwitchPlace, SwitchRecord};
use tardy_record::{Knowable, validity};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::clock_discipline;
use tardy_tsn::network::Network;

use build::Scene;
pub use observed::ObservedFrame;
pub use plan::plan;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The switches, hosts and flows.
    pub network: Network,
    /// The switch file's name.
    pub file_name: String,
    /// The switch file's text.
    pub file: String,
    /// For how long frames are counted in each phase, in ns.
    pub duration_ns: u64,
    /// Whether everything is built of network namespaces; otherwise talkers and listeners are interfaces of this machine,
    /// and the switch is up already.
    pub namespaces: bool,
    /// The phases: whether each has the shaper.
    pub phases: Vec<bool>,
    /// Whose run it is.
    pub origin: Origin,
    /// What is known of the machine.
    pub facts: Facts,
    /// Whether every frame is told of, one by one. They are kept in memory until their phase is over, 262,144 of each
    /// listener at most; the phase's remarks say how many more there were.
    pub keep_frames: bool,
}

/// Builds the network, sends the flows, and tears it down again: what came of it. `tell` is told how it goes on, `each` of
/// every frame if they are kept, with whether its phase had the shaper, `interrupted` is asked whether to stop between phases.
///
/// # Errors
/// In words: what is missing to build it, or what the kernel says.
pub fn conduct(
    request: &Request,
    tell: &mut dyn FnMut(&str),
    each: &mut dyn FnMut(bool, &ObservedFrame),
    interrupted: &dyn Fn() -> bool,
) -> Result<Run, String> {
    let network = &request.network;
    let start_ns = monotonic_ns();
    let plan = plan(&request.network, &request.file_name, request.duration_ns, &request.phases);
    let mut run = Run::begun(request.origin.clone(), plan, request.facts.clone());
    let mut schedules: BTreeMap<String, PortSchedule> = BTreeMap::new();
    let mut remarks = Vec::new();
    let mut state = State::Complete;
    for (index, shaped) in request.phases.iter().enumerate() {
        if interrupted() {
            state = State::Interrupted;
            break;
        }
        let label = run.plan.phases[index].label.clone();
        let scene = set_scene(request, &label, *shaped, tell)?;
        for schedule in scene.schedules() {
            schedules.insert(schedule.port.clone(), schedule.clone());
        }
        remarks.extend(
            scene.remarks().iter().filter(|one| !remarks.contains(*one)).cloned().collect::<Vec<_>>(),
        );
        tell(&format!("{label}: sending {} flows", network.flows.len()));
        let outcome = phase::run(request, &scene, index, start_ns)?;
        outcome.frames.iter().for_each(|frame| each(*shaped, frame));
        event::push(&mut run.events, phase_event(outcome.start_ns, &label));
        run.phases.push(Phase {
            label,
            start_ns: outcome.start_ns,
            end_ns: Some(outcome.end_ns),
            remarks: outcome.remarks,
            spoilt_by: outcome.spoilt_by,
        });
        run.series.extend(outcome.series);
    }
    run.switch = Some(SwitchRecord {
        name: network.switches.first().map(|switch| switch.name.value.clone()).unwrap_or_default(),
        file_name: request.file_name.clone(),
        file: request.file.clone(),
        place: if request.namespaces { SwitchPlace::Namespaces } else { SwitchPlace::Ports },
        ports: schedules.into_values().collect(),
        ptp: readings::ptp(),
        tai_minus_utc_s: clock_discipline::read().map(|clock| clock.tai_minus_utc_s).ok().into(),
        remarks,
    });
    run.progress.state = state;
    run.refresh_progress();
    run.validity = validity::judge(&run);
    Ok(run)
}

/// The network, built anew for each phase, so that nothing that waits in one arrives in the next; or what is there.
fn set_scene(
    request: &Request,
    label: &str,
    shaped: bool,
    tell: &mut dyn FnMut(&str),
) -> Result<Scene, String> {
    let network = &request.network;
    if !request.namespaces {
        return Scene::of_machine(network, shaped);
    }
    let (switches, hosts) = (network.switches.len(), network.hosts.len());
    tell(&format!("{label}: building {switches} switches and {hosts} hosts"));
    Scene::build(network, &request.file, shaped)
}

fn phase_event(at_ns: u64, label: &str) -> Event {
    Event { at_ns, kind: EventKind::Phase, text: format!("{label} began"), took_ns: 0, count: 1 }
}

/// TAI − UTC as it is just now.
fn tai_minus_utc() -> Knowable<i32> {
    clock_discipline::read().map(|clock| clock.tai_minus_utc_s).ok().into()
}
