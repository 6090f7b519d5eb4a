//! Bounds by network calculus: the longest delay of each flow, and the most frames that are under way or in a queue.
//!
//! The ports, frames and talkers are those of the simulator's `Wiring`; the computation shares nothing else with it. Each
//! port is a server with an arrival curve for each flow (`arrival.rs`) and a service curve for each class (`service.rs`). A port
//! increases a flow's jitter by the variation of its delay, which is the flow's arrival curve at the next port (Le Boudec and
//! Thiran, Network Calculus, Theorem 1.4.3). If ports depend on each other in a circle, the jitters are increased until
//! nothing changes. Each frame's delay depends on earlier arrivals alone, so the first frame that exceeded its bound would
//! contradict it.
//!
//! docs/tsn.md lists what the model includes.

mod arrival;
mod build;
mod delay;
pub mod measured;
mod port;
mod service;

use std::fmt;

use serde::Serialize;
use tardy_record::units::format_duration_ns;
use tardy_tsn::network::Network;
use tardy_tsn::simulate;
use tardy_tsn::simulate::wiring::WiringError;

use build::Model;
use port::{Inflow, Passage, Phases};

/// Rounds over all ports until nothing changes. Without a circle, as many as the longest route has ports are enough.
const ROUNDS_MAX: usize = 300;
/// A frame's arrival is rounded up to whole ns at each hop.
const ROUNDING_PS: i64 = 1000;

/// What the bounds assume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The gates, the ports, the talkers' jitter, and the latency of the kernel's timer. What starts or replaces a schedule
    /// (`lead_ns`, `replaced_after_ns`, `installed_ns`, `gate_timer_ns`) is not part of a bound.
    pub simulated: simulate::Options,
    /// Whether talkers and gates have the phases of the file. Otherwise all phases are possible.
    pub known_phases: bool,
    /// By how much a switch may be faster than its forwarding time, in ns.
    pub forwarding_variation_ns: u64,
}

impl Options {
    /// Bounds for what `simulated` simulates, with the phases of the file.
    pub fn of(simulated: simulate::Options) -> Self {
        Self { simulated, known_phases: true, forwarding_variation_ns: 0 }
    }
}

/// The bounds of a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// In the order of the network's flows.
    pub flows: Vec<FlowBound>,
    /// The queues that flows pass, in the order of the ports.
    pub queues: Vec<QueueBound>,
}

/// The bounds of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowBound {
    /// The flow's name.
    pub flow: String,
    /// The longest latency, in ns: from the first bit sent to the last bit received; `None`: no bound.
    pub delay_ns: Option<u64>,
    /// The shortest time from sending a frame to receiving it, in ns, if it never waits.
    pub least_ns: Option<u64>,
    /// The most frames that are sent and not yet received; `None`: no bound.
    pub frames_under_way: Option<u64>,
    /// Why there is no bound.
    pub why_none: Option<String>,
    /// The same, for programs.
    #[serde(skip)]
    pub reason: Option<NoBound>,
    /// The ports on its route, from the talker's.
    pub hops: Vec<HopBound>,
}

/// The bound of a flow at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HopBound {
    /// The port.
    pub port: String,
    /// The longest time from a frame's arrival in the queue to its last bit sent, in ns.
    pub delay_ns: Option<u64>,
}

/// The bounds of a class's queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueBound {
    /// The port.
    pub port: String,
    /// The class.
    pub class: u8,
    /// The most frames in the queue and in transmission; `None`: no bound.
    pub frames: Option<u64>,
    /// How long the port needs to send them, in ns; `None`: no bound.
    pub work_ns: Option<u64>,
}

/// Why a flow has no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoBound {
    /// More arrives than the port or the class's gate passes.
    Overload {
        /// The port.
        port: String,
        /// A flow that sends as fast as it can, and has no rate.
        flow: Option<String>,
    },
    /// A frame is longer than every window of its class.
    FitsNoWindow {
        /// The port.
        port: String,
        /// The longest window, in ps.
        window_ps: i64,
        /// The longest frame, in ps.
        frame_ps: i64,
    },
    /// The bound is too long, or would take too long to compute.
    TooLong {
        /// The port.
        port: String,
    },
    /// The frames are longer than the class permits, and are dropped.
    Dropped {
        /// The port.
        port: String,
    },
    /// The frames do not arrive.
    Astray,
    /// Another flow of the same queue has no bound before this port.
    Behind {
        /// The port.
        port: String,
        /// The other flow.
        flow: String,
    },
    /// Ports depend on each other, and no finite delays satisfy all of them.
    Circle {
        /// A port of the circle.
        port: String,
    },
    /// Linux's TAPRIO charges frames of one class to the budgets of the others.
    SharedBudget {
        /// The port.
        port: String,
    },
    /// The ring of the network card can be full when the gate opens.
    RingFills {
        /// The port.
        port: String,
    },
    /// The port's behaviour has no model here.
    NoModel {
        /// The port.
        port: String,
        /// What has no model.
        what: &'static str,
    },
}

impl fmt::Display for NoBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = |ps: &i64| format_duration_ns((ps.unsigned_abs()).div_ceil(1000));
        match self {
            Self::Overload { port, flow: Some(flow) } => {
                write!(f, "{port}: flow '{flow}' has no rate, and more can arrive than the port sends")
            }
            Self::Overload { port, flow: None } => write!(f, "{port}: more can arrive than the port sends"),
            Self::FitsNoWindow { port, window_ps, frame_ps } => {
                write!(f, "{port}: a frame takes {}, the longest window {}", ns(frame_ps), ns(window_ps))
            }
            Self::TooLong { port } => {
                write!(f, "{port}: the bound is longer than 1,000 s, or takes too long to compute")
            }
            Self::Dropped { port } => {
                write!(f, "{port}: drops the frames, which are longer than their class permits")
            }
            Self::Astray => write!(f, "its frames do not arrive"),
            Self::Behind { port, flow } => write!(f, "{port}: flow '{flow}' in the same queue has no bound"),
            Self::Circle { port } => {
                write!(f, "{port}: the delays depend on each other in a circle, and grow without a limit")
            }
            Self::SharedBudget { port } => {
                write!(
                    f,
                    "{port}: Linux charges the frames of other classes in the same window to the class's budget"
                )
            }
            Self::RingFills { port } => write!(f, "{port}: the ring can be full when the gate opens"),
            Self::NoModel { port, what } => write!(f, "{port}: {what}"),
        }
    }
}

/// Computes the bounds.
///
/// # Errors
///
/// What the simulator refuses ([`tardy_tsn::simulate::of_network::wire`]).
pub fn of(network: &Network, options: &Options) -> Result<Bounds, WiringError> {
    let model = Model::of(network, options)?;
    Ok(Solution::of(&model, Phases(options.known_phases)).bounds())
}

/// The jitters at every port, and what follows from them.
struct Solution<'a> {
    model: &'a Model,
    /// For each flow and hop: before the port, and the result there.
    inflows: Vec<Vec<Option<Inflow>>>,
    passages: Vec<Vec<Result<Passage, NoBound>>>,
    /// Ports with delays that grow without a limit.
    growing: Vec<bool>,
}

impl<'a> Solution<'a> {
    fn of(model: &'a Model, phases: Phases) -> Self {
        let per_hop = |flow: &build::FlowModel| vec![Some(flow.released); flow.hops.len()];
        let none = |flow: &build::FlowModel| vec![Err(NoBound::Astray); flow.hops.len()];
        let mut solution = Self {
            model,
            inflows: model.flows.iter().map(per_hop).collect(),
            passages: model.flows.iter().map(none).collect(),
            growing: vec![false; model.ports.len()],
        };
        loop {
            let mut changed: Vec<usize> = Vec::new();
            for _ in 0..ROUNDS_MAX {
                changed = solution.round(phases);
                if changed.is_empty() {
                    return solution;
                }
            }
            // Whatever still changes is in a circle, or after one.
            let in_circles: Vec<usize> =
                changed.iter().copied().filter(|port| model.is_in_circle(*port)).collect();
            for port in if in_circles.is_empty() { changed } else { in_circles } {
                solution.growing[port] = true;
            }
        }
    }

    /// Computes every port once. Returns the ports whose results changed.
    fn round(&mut self, phases: Phases) -> Vec<usize> {
        let mut changed = Vec::new();
        for (number, port) in self.model.ports.iter().enumerate() {
            let inflows: Vec<Option<Inflow>> =
                port.crossings.iter().map(|crossing| self.inflows[crossing.flow][crossing.hop]).collect();
            let passages = if self.growing[number] {
                vec![Err(NoBound::Circle { port: port.name.clone() }); port.crossings.len()]
            } else {
                port.passages(&inflows, &self.model.names, phases)
            };
            let mut is_changed = false;
            for (crossing, passage) in port.crossings.iter().zip(passages) {
                let place = &mut self.passages[crossing.flow][crossing.hop];
                is_changed |= *place != passage;
                *place = passage;
                self.pass_on(crossing.flow, crossing.hop);
            }
            if is_changed {
                changed.push(number);
            }
        }
        changed
    }

    /// The inflow of a flow's next port.
    fn pass_on(&mut self, flow: usize, hop: usize) {
        let Some(next) = self.inflows[flow].get(hop + 1).map(|_| hop + 1) else { return };
        let of_flow = &self.model.flows[flow];
        let here = &of_flow.hops[hop];
        let inflow = self.inflows[flow][hop];
        self.inflows[flow][next] = match (&self.passages[flow][hop], inflow) {
            (Ok(passage), Some(inflow)) => {
                let variation_ps = passage.variation_ps + here.cable_variation_ps + ROUNDING_PS;
                let least_ps = here.least_ps + here.cable_least_ps;
                Some(Inflow {
                    arrival: arrival::Arrival { jitter_ps: variation_ps, ..inflow.arrival },
                    early_ps: inflow.early_ps.map(|early_ps| early_ps + least_ps),
                })
            }
            _ => None,
        };
    }

    fn bounds(&self) -> Bounds {
        let flows = (0..self.model.flows.len()).map(|flow| self.flow_bound(flow)).collect();
        let mut queues = Vec::new();
        for port in &self.model.ports {
            let classes =
                port.crossings.iter().map(|crossing| crossing.class).max().map_or(0, |last| last + 1);
            for class in 0..classes {
                let mut members = port.crossings.iter().filter(|crossing| crossing.class == class).peekable();
                if members.peek().is_none() || port.is_host {
                    continue;
                }
                let mut frames = members.map(|crossing| {
                    let inflow = self.inflows[crossing.flow][crossing.hop]?;
                    let passage = self.passages[crossing.flow][crossing.hop].as_ref().ok()?;
                    let frames =
                        inflow.arrival.frames_in(passage.longest_ps(crossing.least_ps)).cast_unsigned();
                    Some((frames, frames.saturating_mul(crossing.work_ps.cast_unsigned())))
                });
                let sum = frames.try_fold((0u64, 0u64), |(frames, work_ps), one| {
                    let (more, more_ps) = one?;
                    Some((frames.saturating_add(more), work_ps.saturating_add(more_ps)))
                });
                queues.push(QueueBound {
                    port: port.name.clone(),
                    class: class as u8,
                    frames: sum.map(|(frames, _)| frames),
                    work_ns: sum.map(|(_, work_ps)| work_ps.div_ceil(1000)),
                });
            }
        }
        Bounds { flows, queues }
    }

    fn flow_bound(&self, flow: usize) -> FlowBound {
        let model = &self.model.flows[flow];
        let mut reason = model.ends_early.clone();
        let (mut least_ps, mut delay_ps) = (0i64, Some(0i64));
        let mut hops = Vec::new();
        for (hop, here) in model.hops.iter().enumerate() {
            let passage = &self.passages[flow][hop];
            hops.push(HopBound {
                port: here.port.clone(),
                delay_ns: passage.as_ref().ok().map(|passage| up_to_ns(passage.longest_ps(here.least_ps))),
            });
            match passage {
                Ok(passage) => {
                    let cable_ps = here.cable_least_ps + here.cable_variation_ps + ROUNDING_PS;
                    least_ps += here.least_ps + here.cable_least_ps;
                    let jitter_ps = passage.variation_ps + here.cable_variation_ps + ROUNDING_PS;
                    // Since the talker sent it: by the sum of the delays, or since its earliest possible sending.
                    let by_hops_ps = delay_ps.zip(passage.delay_ps).map(|(sum, here)| sum + here + cable_ps);
                    let by_phase_ps = least_ps + jitter_ps;
                    delay_ps = Some(by_hops_ps.map_or(by_phase_ps, |by_hops_ps| by_hops_ps.min(by_phase_ps)));
                }
                Err(why) => {
                    reason = Some(why.clone());
                    break;
                }
            }
        }
        let has_bound = reason.is_none() && !model.hops.is_empty();
        let delay_ps = delay_ps.filter(|_| has_bound);
        FlowBound {
            flow: self.model.names[flow].clone(),
            delay_ns: delay_ps.map(up_to_ns),
            least_ns: has_bound.then(|| least_ps.max(0).cast_unsigned() / 1000),
            frames_under_way: delay_ps
                .map(|delay_ps| model.released.arrival.frames_in(delay_ps).cast_unsigned()),
            why_none: reason.as_ref().map(ToString::to_string),
            reason,
            hops,
        }
    }
}

impl Passage {
    /// The longest time from a frame's arrival to its last bit.
    fn longest_ps(&self, least_ps: i64) -> i64 {
        let since_earliest_ps = self.variation_ps + least_ps;
        self.delay_ps.map_or(since_earliest_ps, |delay_ps| delay_ps.min(since_earliest_ps))
    }
}

fn up_to_ns(ps: i64) -> u64 {
    ps.max(0).cast_unsigned().div_ceil(1000)
}
