//! Records a simulation as a run, with the same series as a test of a real switch, so that the same report shows
//! both.

use tardy_record::flow::{FlowSeries, FrameCount, OutOfSlot, PhaseHistogram, StampSource};
use tardy_record::flow_recorder::{self, FlowRecorder};
use tardy_record::gates::GateEntry;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span, SwitchPlan};
use tardy_record::run::{Origin, Phase, Progress, Run, State};
use tardy_record::switch::{PortSchedule, Ptp, ScheduleSource, SwitchPlace, SwitchRecord};
use tardy_record::units::format_duration_ns;
use tardy_record::{Knowable, validity};

use super::engine::{self, Arrival, Duration, Fate, Listener, Lost, Tally};
use super::of_network::{Wired, link_bps, schedule_of, wire, zero_ns};
use super::wiring::{Wiring, WiringError};
use super::{Mode, Options};
use crate::network::{Flow, Network, Pace, Port, PortId, Schedule};
use crate::port_model;

/// How long frames can arrive after the talkers have stopped: this many cycles, but at least this many ns.
const DRAIN_CYCLES: u64 = 10;
const DRAIN_NS_MIN: u64 = 1_000_000_000;
/// The cycle of a flow with neither a schedule nor a period, in ns.
const CYCLE_NS: u64 = 1_000_000;

/// The latest base time that is a phase of the cycle and not a date, in ns: the longest cycle.
const PHASE_NS_MAX: i64 = 86_400_000_000_000;

/// A request for a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The network.
    pub network: &'a Network,
    /// How it is simulated.
    pub options: &'a Options,
    /// How long talkers send in each phase, in ns.
    pub talk_ns: u64,
    /// The phases: with the schedules (true) or without.
    pub phases: &'a [bool],
    /// The file's name and text.
    pub file: (&'a str, &'a str),
    /// The command line, without its output options.
    pub command: &'a [String],
    /// The version of tardy.
    pub version: &'a str,
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The run.
    pub run: Run,
    /// Counts of each flow's frames, in each phase.
    pub tallies: Vec<Vec<Tally>>,
    /// Frames sent, counted once for each port.
    pub frame_hops: u64,
}

/// Receives each event of a frame, in addition to the run.
pub trait Audience {
    /// A frame arrived in a phase with or without the schedules.
    fn arrived(&mut self, shaped: bool, arrival: &Arrival);

    /// A frame of a phase with or without the schedules does not arrive.
    fn lost(&mut self, shaped: bool, lost: &Lost);
}

/// Ignores all events.
impl Audience for () {
    fn arrived(&mut self, _shaped: bool, _arrival: &Arrival) {}

    fn lost(&mut self, _shaped: bool, _lost: &Lost) {}
}

/// Simulates and records a run: the same request gives the same bytes. `audience` receives each event of a frame.
///
/// # Errors
///
/// What [`wire`] refuses.
pub fn simulate(request: &Request<'_>, audience: &mut impl Audience) -> Result<Simulated, WiringError> {
    let mut run = empty_run(request);
    let (mut tallies, mut frame_hops, mut start_ns, mut measured_ns) = (Vec::new(), 0, 0, 0);
    let mut remarks = vec![models(request.options)];
    for (number, shaped) in request.phases.iter().copied().enumerate() {
        let Wired { wiring, remarks: of_phase } = wire(request.network, request.options, shaped)?;
        let mut recorders = Recorders::of(request, &wiring, shaped, start_ns, audience);
        let duration = Duration { talk_ns: request.talk_ns, drain_ns: drain_ns(request.network) };
        let outcome = engine::run(&wiring, duration, request.options.seed, &mut recorders);
        let series = recorders.flows.iter().zip(&outcome.flows);
        run.series.extend(series.map(|(recorder, tally)| recorder.series(number, Some(tally.sent), None)));
        // The last frames arrive after the talkers have stopped; the next phase begins after them.
        let end_ns = start_ns + request.talk_ns.max(recorders.last_ns);
        run.phases.push(Phase {
            label: SwitchPlan::label(shaped).to_owned(),
            start_ns,
            end_ns: Some(end_ns),
            until: None,
            remarks: starts(request)
                .filter(|_| shaped)
                .into_iter()
                .chain(fates(request.network, &outcome.flows))
                .collect(),
            spoilt_by: Vec::new(),
        });
        remarks.extend(of_phase);
        start_ns = end_ns;
        measured_ns += request.talk_ns;
        frame_hops += outcome.frame_hops;
        tallies.push(outcome.flows);
    }
    remarks.dedup();
    run.switch = Some(switch_record(request, remarks));
    run.progress.state = State::Complete;
    run.refresh_progress();
    run.progress.measured_ns = measured_ns;
    run.validity = validity::judge(&run);
    Ok(Simulated { run, tallies, frame_hops })
}

/// The models of gates and ports.
fn models(options: &Options) -> String {
    format!("Simulated with {}", port_model::describe(options.mode, options.ports, Some(options.ring_frames)))
}

/// A message for the user if schedules start at a date, so that a switch has all gates open until then.
fn starts(request: &Request<'_>) -> Option<String> {
    let switches = request.network.switches.iter();
    let ports = switches.flat_map(|switch| &switch.ports).filter(|port| port.schedule.is_some());
    let base_ns = |port: &Port| port.schedule.as_ref().map_or(0, |schedule| schedule.base_time_ns.value);
    let last = ports.max_by_key(|port| base_ns(port)).filter(|port| base_ns(port) > PHASE_NS_MAX)?;
    let when = match request.options.lead_ns {
        0 => "then".to_owned(),
        lead_ns => format!("{} before", format_duration_ns(lead_ns)),
    };
    Some(format!(
        "The schedule of {} starts at its base_time, {} s on its clock, and the simulation starts {when}: before that time a switch has \
         all gates open, and no slot is in force",
        last.interface.value,
        base_ns(last) / 1_000_000_000,
    ))
}

/// Messages for the user about frames that did not arrive.
fn fates(network: &Network, tallies: &[Tally]) -> Vec<String> {
    let mut fates = Vec::new();
    for (flow, tally) in network.flows.iter().zip(tallies) {
        for fate in Fate::ALL {
            let frames = tally.of(fate);
            if frames > 0 {
                fates.push(format!("flow '{}': {frames} frames {}", flow.name.value, fate.describe()));
            }
        }
    }
    fates
}

/// How long frames can arrive after the talkers have stopped, in ns.
pub fn drain_ns(network: &Network) -> u64 {
    let ports = network.switches.iter().flat_map(|switch| &switch.ports);
    let longest = ports.filter_map(|port| Some(port.schedule.as_ref()?.cycle_ns())).max().unwrap_or(0);
    longest.saturating_mul(DRAIN_CYCLES).max(DRAIN_NS_MIN)
}

fn empty_run(request: &Request<'_>) -> Run {
    let phases = request.phases.len() as u64;
    let mut facts = tardy_record::facts::Facts::default();
    request.version.clone_into(&mut facts.tardy.version);
    let word = match request.options.mode {
        Mode::Standard => "standard",
        Mode::Linux => "linux",
    };
    let origin = Origin {
        id: format!("simulated-{word}-{}", request.options.seed),
        command: request.command.to_vec(),
        ..Origin::default()
    };
    let progress = Progress { planned_ns: phases.saturating_mul(request.talk_ns), ..Progress::default() };
    Run { progress, ..Run::begun(origin, plan(request), facts) }
}

fn plan(request: &Request<'_>) -> Plan {
    let phase = |shaped: bool| PhasePlan {
        label: SwitchPlan::label(shaped).to_owned(),
        round: 1,
        loads: Vec::new(),
        warmup_ns: 0,
        span: Span::DurationNs(request.talk_ns),
        probe: ProbePlan::Switch(SwitchPlan { shaped, flows: request.network.flow_plans() }),
    };
    let about = Some(request.network.about.clone()).filter(|about| !about.is_empty());
    Plan {
        recipe: request.file.0.to_owned(),
        about,
        published: request.network.published.clone(),
        scale: 1.0,
        seed: request.options.seed,
        phases: request.phases.iter().map(|shaped| phase(*shaped)).collect(),
        ..Plan::default()
    }
}

fn switch_record(request: &Request<'_>, remarks: Vec<String>) -> SwitchRecord {
    let names: Vec<&str> = request.network.switches.iter().map(|switch| switch.name.value.as_str()).collect();
    let mut ports = Vec::new();
    for (number, switch) in request.network.switches.iter().enumerate() {
        for (place, port) in switch.ports.iter().enumerate() {
            let id = PortId { switch: number, port: place };
            let schedule = port.schedule.as_ref();
            ports.extend(schedule.map(|schedule| port_schedule(request, id, schedule)));
        }
    }
    SwitchRecord {
        name: names.join(", "),
        file_name: request.file.0.to_owned(),
        file: request.file.1.to_owned(),
        place: SwitchPlace::Simulator,
        ports,
        ptp: Ptp::default(),
        tai_minus_utc_s: Knowable::Unknown,
        remarks,
    }
}

/// The port's name, with that of its switch if there are several.
fn port_name(network: &Network, id: PortId) -> String {
    let switch = &network.switches[id.switch];
    let interface = &switch.ports[id.port].interface.value;
    if network.switches.len() == 1 { interface.clone() } else { format!("{}/{interface}", switch.name.value) }
}

/// The schedule as it operates in this mode: Linux ignores the part of a cycle after its list, the standard fills it
/// with the last state.
fn port_schedule(request: &Request<'_>, id: PortId, schedule: &Schedule) -> PortSchedule {
    let mut entries = schedule.gate_entries();
    let (sum_ns, written_ns) = (schedule.sum_ns(), schedule.cycle_ns());
    let mut cycle_ns = if written_ns == 0 { sum_ns } else { written_ns };
    let gates = request.options.mode.at(schedule);
    match gates {
        Mode::Linux => cycle_ns = cycle_ns.min(sum_ns),
        Mode::Standard => {
            let last = entries.last().map_or(0, |last| last.gates);
            entries.extend(GateEntry::lasting(last, cycle_ns.saturating_sub(sum_ns)));
        }
    }
    let zero_ns = zero_ns(request.network, request.options);
    let base_ns = schedule.base_time_ns.value;
    // Linux repeats the list and not the cycle, so phases count from the first list; see KernelSchedule::installed.
    let base_ns = if base_ns > zero_ns || gates == Mode::Standard {
        base_ns
    } else {
        let past_ns = i128::from(base_ns) - i128::from(zero_ns);
        zero_ns.saturating_add((past_ns % i128::from(written_ns.max(1))) as i64)
    };
    PortSchedule {
        port: port_name(request.network, id),
        source: ScheduleSource::Simulated,
        clock: schedule.clock.as_ref().map_or("", |clock| clock.name()).to_owned(),
        base_ns,
        cycle_ns,
        entries,
        link_bps: Knowable::from(link_bps(request.network, request.options, id)),
        overhead_bytes: schedule.overhead.value,
    }
}

/// One recorder for each flow.
struct Recorders<'f, A> {
    flows: Vec<FlowRecorder>,
    start_ns: u64,
    zero_ns: i64,
    /// The last arrival, in ns from the start of the phase.
    last_ns: u64,
    shaped: bool,
    audience: &'f mut A,
}

impl<A: Audience> Listener for Recorders<'_, A> {
    fn arrived(&mut self, arrival: &Arrival) {
        let since_ns = arrival.arrived_ns.saturating_sub(self.zero_ns).max(0) as u64;
        self.last_ns = self.last_ns.max(since_ns);
        if let Some(recorder) = self.flows.get_mut(arrival.flow as usize) {
            recorder.arrived(flow_recorder::Arrival {
                sequence: arrival.sequence,
                sent_ns: arrival.sent_ns,
                received_ns: arrival.arrived_ns,
                at_ns: self.start_ns + since_ns,
                wire_bytes: u64::from(arrival.bytes),
            });
        }
        self.audience.arrived(self.shaped, arrival);
    }

    fn lost(&mut self, lost: &Lost) {
        self.audience.lost(self.shaped, lost);
    }
}

impl<'f, A> Recorders<'f, A> {
    fn of(request: &Request<'_>, wiring: &Wiring, shaped: bool, start_ns: u64, audience: &'f mut A) -> Self {
        let recorder = |(number, flow)| recorder(request, wiring, number, flow, shaped, start_ns);
        let flows = request.network.flows.iter().enumerate().map(recorder).collect();
        Self { flows, start_ns, zero_ns: wiring.zero_ns, last_ns: 0, shaped, audience }
    }
}

fn recorder(
    request: &Request<'_>,
    wiring: &Wiring,
    number: usize,
    flow: &Flow,
    shaped: bool,
    start_ns: u64,
) -> FlowRecorder {
    let network = request.network;
    let way = network.way_out(flow).unwrap_or_default();
    let last = way.last().copied();
    let known = schedule_of(network, flow);
    let schedule = known.map(|(id, schedule)| port_schedule(request, id, schedule));
    // Only the schedule of the flow's last port defines windows for it, if it starts before the talkers stop.
    let end_ns = wiring.zero_ns.saturating_add_unsigned(request.talk_ns);
    let in_force = schedule.as_ref().is_some_and(|schedule| schedule.base_ns < end_ns);
    let keeps_slots = shaped && in_force && known.map(|(id, _)| id) == last;
    let stream = &wiring.streams[number];
    let end = (stream.first_hop + u32::from(stream.hops)).saturating_sub(1);
    let guard_ns = wiring.hops.get(end as usize).map_or(0, |hop| hop.on_cable.busy_ns());
    let class = last.map_or(0, |id| network.switches[id.switch].class_of(&flow.marks));
    let own_cycle_ns = match flow.pace {
        Pace::Periodic { period_ns, .. } => period_ns,
        Pace::FlatOut => CYCLE_NS,
    };
    // A frame's phase is measured at the port, without the propagation time of the last cable.
    let cable_ns = last.and_then(|id| network.links.iter().find(|link| ends_at(link, id)));
    let cable_ns = cable_ns.map_or(0, |link| link.propagation_ns);
    let base_ns = schedule.as_ref().map_or(wiring.zero_ns, |schedule| schedule.base_ns);
    let about = FlowSeries {
        flow: flow.name.value.clone(),
        class,
        port: last.map(|id| port_name(network, id)).unwrap_or_default(),
        listener: network.hosts[flow.listener.value].name.value.clone(),
        stamped_by: StampSource::Simulated,
        cycle_ns: schedule.as_ref().map_or(own_cycle_ns, |schedule| schedule.cycle_ns),
        phases: PhaseHistogram::default(),
        windows: schedule
            .filter(|_| keeps_slots)
            .map_or_else(Vec::new, |schedule| schedule.windows(class, guard_ns)),
        frames: FrameCount::default(),
        early: OutOfSlot::default(),
        late: OutOfSlot::default(),
        drift: Vec::new(),
        dequeue_to_receive: None,
        at_gate: None,
        tai_minus_utc_s: Knowable::Unknown,
    };
    FlowRecorder::new(about, base_ns.saturating_add_unsigned(cable_ns), start_ns, request.talk_ns)
}

fn ends_at(link: &crate::network::Link, id: PortId) -> bool {
    let end = crate::network::End::Port(id);
    link.a == end || link.b == end
}
