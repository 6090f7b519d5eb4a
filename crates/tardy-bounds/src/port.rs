//! One port: its queues, and the delay of each flow there.
//!
//! Higher classes are served first, and a frame in transmission is not interrupted, except by preemption (`port/shaped.rs`). Le Boudec and Thiran, Network
//! Calculus, section 1.3.3 (priorities), and section 6.2 (what is left over for a class). Gates: a class is served in its
//! windows only, and no frame starts that would not end in its window (IEEE 802.1Q 8.6.8.4).

pub(super) mod kernel;
mod shaped;

use super::NoBound;
use super::arrival::Arrival;
use super::delay::{Demand, Queue, Unbounded, divisor};
use super::service::{Service, Window, is_open_across, overlaps, without};
use shaped::Shaping;
use tardy_tsn::simulate::wiring::ClassRules;

/// A flow's frames before a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inflow {
    pub(super) arrival: Arrival,
    /// The earliest arrival of a burst in ps of the simulation, modulo the period; `None`: not known.
    pub(super) early_ps: Option<i64>,
}

/// A flow at a port.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    /// The index of the flow.
    pub(super) flow: usize,
    /// The place of the port on its route, from 0.
    pub(super) hop: usize,
    pub(super) class: usize,
    /// The time for which a frame occupies the device, in ps.
    pub(super) work_ps: i64,
    /// The part of that after its last bit, in ps.
    pub(super) gap_ps: i64,
    /// The shortest time from a frame's arrival to its last bit, in ps.
    pub(super) least_ps: i64,
    /// Whether frames are sent whenever no others wait, so that they have no delay here.
    pub(super) fills_gaps: bool,
    /// Whether its talker sends as fast as it can.
    pub(super) flat_out: bool,
    pub(super) kernel: KernelFrame,
}

/// A frame as the kernel's TAPRIO sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KernelFrame {
    pub(super) queue: u16,
    pub(super) charged_bytes: i64,
}

/// Openings as (open, close), in ps from the start of a cycle.
pub(super) type Spans = [(i64, i64)];

/// The result of a flow at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// The longest time from a frame's arrival to its last bit, for any phases, in ps.
    pub(super) delay_ps: Option<i64>,
    /// How much the time from the earliest arrival to the end exceeds its shortest, in ps.
    pub(super) variation_ps: i64,
}

/// The gates of a port.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    /// A start of the cycle, in ps of the simulation.
    pub(super) zero_ps: i64,
    pub(super) cycle_ps: i64,
    /// The openings of each class as (open, close), in ps from the start of the cycle; one of a whole cycle: always open.
    pub(super) openings: Vec<Vec<(i64, i64)>>,
}

/// What decides which frame a port sends.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    /// The highest class whose gate is open for long enough.
    Standard(Option<Gates>),
    /// The kernel's TAPRIO.
    Kernel(kernel::KernelPort),
    /// A bound is not possible, for this reason.
    Unknown(NoBound),
}

/// A port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) crossings: Vec<Crossing>,
    pub(super) selection: Selection,
    pub(super) rules: ClassRules,
    pub(super) is_host: bool,
    /// The capacity of a talker's token bucket, in ps. A frame passes this much earlier than it would be sent at the
    /// bucket's rate, but not before it arrives (the shaping curve of a greedy shaper, Le Boudec and Thiran, section 1.5).
    /// 0 if flows that send as fast as they can keep the bucket empty.
    pub(super) tokens_ps: i64,
}

/// Whether phases are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phases(pub(super) bool);

impl Port {
    /// The result of each of the port's flows. `inflows` are in the order of the crossings; `None`: without a bound.
    pub(super) fn passages(
        &self,
        inflows: &[Option<Inflow>],
        flow_names: &[String],
        phases: Phases,
    ) -> Vec<Result<Passage, NoBound>> {
        match &self.selection {
            Selection::Unknown(reason) => vec![Err(reason.clone()); self.crossings.len()],
            Selection::Kernel(kernel) => kernel.passages(self, inflows, flow_names, phases),
            Selection::Standard(gates) => self.by_priority(gates.as_ref(), inflows, flow_names, phases),
        }
    }

    fn by_priority(
        &self,
        gates: Option<&Gates>,
        inflows: &[Option<Inflow>],
        flow_names: &[String],
        phases: Phases,
    ) -> Vec<Result<Passage, NoBound>> {
        let mut passages: Vec<Result<Passage, NoBound>> =
            vec![Ok(Passage { delay_ps: None, variation_ps: 0 }); self.crossings.len()];
        let classes = self.crossings.iter().map(|crossing| crossing.class + 1).max().unwrap_or(0);
        // The higher classes with a bound, and their longest delays; those without.
        let mut bounded: Vec<(usize, i64)> = Vec::new();
        let mut unbounded: Vec<usize> = Vec::new();
        let mut shapings: Vec<Shaping> = Vec::new();
        let mut order: Vec<usize> = (0..classes).collect();
        order.sort_by_key(|class| std::cmp::Reverse(self.precedence(*class)));
        for class in order {
            let members: Vec<usize> =
                (0..self.crossings.len()).filter(|at| self.crossings[*at].class == class).collect();
            if members.is_empty() {
                continue;
            }
            let of_class = self.class_passages(
                class,
                &members,
                gates,
                inflows,
                (&bounded, &unbounded, &mut shapings),
                flow_names,
                phases,
            );
            match of_class {
                Ok((of_members, longest_ps)) => {
                    for (at, passage) in members.into_iter().zip(of_members) {
                        passages[at] = Ok(passage);
                    }
                    bounded.push((class, longest_ps));
                }
                Err(reason) => {
                    members.into_iter().for_each(|at| passages[at] = Err(reason.clone()));
                    unbounded.push(class);
                }
            }
        }
        passages
    }

    /// The results of the flows of a class, and the longest delay of any of its frames.
    #[expect(clippy::too_many_arguments, reason = "the state of the loop over the classes")]
    fn class_passages(
        &self,
        class: usize,
        members: &[usize],
        gates: Option<&Gates>,
        inflows: &[Option<Inflow>],
        (bounded, unbounded, shapings): (&[(usize, i64)], &[usize], &mut Vec<Shaping>),
        flow_names: &[String],
        phases: Phases,
    ) -> Result<(Vec<Passage>, i64), NoBound> {
        if members.iter().all(|at| self.crossings[*at].fills_gaps) {
            let passage = |at: &usize| {
                let delay_ps = self.crossings[*at].work_ps - self.crossings[*at].gap_ps;
                Passage { delay_ps: Some(delay_ps), variation_ps: delay_ps - self.crossings[*at].least_ps }
            };
            return Ok((members.iter().map(passage).collect(), 0));
        }
        if let Some(slope) = self.idle_slope(class) {
            let shaping =
                self.shaping(class, slope, inflows, (bounded, unbounded, &*shapings), flow_names)?;
            let service = self.shaped_service(&shaping);
            shapings.push(shaping);
            let own = self.demands(members, inflows, 0, flow_names, phases)?;
            let queue = Queue { own: &own, higher: &[], service: &service };
            let delay_ps = queue.delay_of_any_phase_ps().map_err(|why| match why {
                Unbounded::Overload => NoBound::Overload {
                    port: self.name.clone(),
                    flow: self.flow_without_rate(class, flow_names),
                },
                Unbounded::TooLong => NoBound::TooLong { port: self.name.clone() },
            })?;
            return Ok(self.finished(members, &own, Some(delay_ps), None));
        }
        let own = self.demands(members, inflows, 0, flow_names, phases)?;
        let mut counted: Vec<Demand> = Vec::new();
        for (of, delay_ps) in bounded {
            let members = self.members(*of);
            let demands = self.demands(&members, inflows, *delay_ps, flow_names, phases)?;
            counted.extend(demands.into_iter().map(|demand| self.with_divisions(class, *of, demand, 1)));
        }
        // A shaper limits a class whose flows have no bound.
        let (limited, unbounded): (Vec<usize>, Vec<usize>) =
            unbounded.iter().partition(|class| shapings.iter().any(|shaping| shaping.class == **class));
        for of in &limited {
            let demand = |shaping: &Shaping| {
                self.with_divisions(class, *of, shaping.demand(), shaping.frames_in_longest())
            };
            counted.extend(shapings.iter().find(|shaping| shaping.class == *of).map(demand));
        }
        let unbounded = unbounded.as_slice();
        let all_bounded: Vec<usize> = bounded.iter().map(|(class, _)| *class).chain(limited).collect();
        let all: Vec<usize> = all_bounded.iter().chain(unbounded).copied().collect();
        // Either the frames of higher classes are counted, or all of the time in which their gates are open is theirs.
        let variants: [(&[Demand], &[usize], &[usize]); 2] =
            [(&counted, &all_bounded, unbounded), (&[], &[], &all)];
        let mut best: Result<(Option<i64>, Option<Vec<i64>>), NoBound> = Err(NoBound::Overload {
            port: self.name.clone(),
            flow: self.flow_without_rate(class, flow_names),
        });
        for (higher, sharing, owning) in variants {
            let relevant: Vec<Demand> = if gates.is_none() || self.any_overlap(class, sharing, gates) {
                higher.to_vec()
            } else {
                Vec::new()
            };
            let Some(service) = self.service(class, members, gates, sharing, owning) else { continue };
            let queue = Queue { own: &own, higher: &relevant, service: &service };
            let any_phase = queue.delay_of_any_phase_ps();
            let ends = if phases.0 { queue.latest_ends_ps() } else { None };
            if any_phase == Err(Unbounded::Overload) && ends.is_none() {
                continue;
            }
            best = match (best, any_phase, ends) {
                (best, Err(_), None) => match best {
                    Err(NoBound::Overload { .. }) => Err(NoBound::TooLong { port: self.name.clone() }),
                    other => other,
                },
                (Ok((delay_ps, known)), any_phase, ends) => {
                    let delay_ps = [delay_ps, any_phase.ok()].into_iter().flatten().min();
                    let ends = match (known, ends) {
                        (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect()),
                        (a, b) => a.or(b),
                    };
                    Ok((delay_ps, ends))
                }
                (Err(_), any_phase, ends) => Ok((any_phase.ok(), ends)),
            };
            if all.is_empty() {
                break;
            }
        }
        if let Some((length_ps, work_ps)) = self.longest_that_fits_nowhere(class, members, gates) {
            return Err(NoBound::FitsNoWindow {
                port: self.name.clone(),
                window_ps: length_ps,
                frame_ps: work_ps,
            });
        }
        let (delay_ps, ends) = best?;
        let delay_ps = delay_ps.map(|delay_ps| (delay_ps - self.tokens_ps).max(0));
        let with_tokens =
            |(end_ps, flow): (i64, &Demand)| (end_ps - self.tokens_ps).max(flow.arrival.jitter_ps);
        let ends: Option<Vec<i64>> = ends.map(|ends| ends.into_iter().zip(&own).map(with_tokens).collect());
        Ok(self.finished(members, &own, delay_ps, ends.as_deref()))
    }

    /// The results of flows from the bounds of their queue.
    pub(super) fn finished(
        &self,
        members: &[usize],
        own: &[Demand],
        delay_ps: Option<i64>,
        ends: Option<&[i64]>,
    ) -> (Vec<Passage>, i64) {
        let mut longest_ps = 0;
        let of_flow = |(index, at): (usize, &usize)| {
            let crossing = &self.crossings[*at];
            let jitter_ps = own[index].arrival.jitter_ps;
            let by_phase_ps = ends.map_or(i64::MAX, |ends| ends[index]);
            let by_delay_ps = delay_ps.map_or(i64::MAX, |delay_ps| delay_ps.saturating_add(jitter_ps));
            // From the earliest arrival to the latest end of the gap. The next port gets the frame before it.
            let longest_here_ps = by_phase_ps.min(by_delay_ps);
            longest_ps = longest_ps.max(longest_here_ps);
            Passage {
                delay_ps: delay_ps.map(|delay_ps| delay_ps - crossing.gap_ps),
                variation_ps: (longest_here_ps - crossing.gap_ps - crossing.least_ps).max(0),
            }
        };
        let passages = members.iter().enumerate().map(of_flow).collect();
        (passages, delay_ps.map_or(longest_ps, |delay_ps| delay_ps.min(longest_ps)))
    }

    fn members(&self, class: usize) -> Vec<usize> {
        (0..self.crossings.len()).filter(|at| self.crossings[*at].class == class).collect()
    }

    /// The flows at these crossings, with their jitter increased.
    pub(super) fn demands(
        &self,
        members: &[usize],
        inflows: &[Option<Inflow>],
        more_jitter_ps: i64,
        flow_names: &[String],
        phases: Phases,
    ) -> Result<Vec<Demand>, NoBound> {
        let demand = |at: &usize| {
            let crossing = &self.crossings[*at];
            let inflow = inflows[*at].ok_or_else(|| NoBound::Behind {
                port: self.name.clone(),
                flow: flow_names[crossing.flow].clone(),
            })?;
            Ok(Demand {
                arrival: inflow.arrival.later_by(more_jitter_ps),
                work_ps: crossing.work_ps,
                early_ps: inflow.early_ps.filter(|_| phases.0),
            })
        };
        members.iter().map(demand).collect()
    }

    /// A flow of this class or a higher one that sends as fast as it can.
    pub(super) fn flow_without_rate(&self, class: usize, flow_names: &[String]) -> Option<String> {
        let flat_out = |crossing: &&Crossing| crossing.flat_out && crossing.class >= class;
        self.crossings.iter().find(flat_out).map(|crossing| flow_names[crossing.flow].clone())
    }

    fn any_overlap(&self, class: usize, others: &[usize], gates: Option<&Gates>) -> bool {
        let Some(gates) = gates else { return true };
        others.iter().any(|other| {
            gates.openings[class]
                .iter()
                .any(|window| overlaps(*window, &gates.openings[*other], gates.cycle_ps))
        })
    }

    /// The longest opening and the longest frame of a class, if the frame is longer.
    fn longest_that_fits_nowhere(
        &self,
        class: usize,
        members: &[usize],
        gates: Option<&Gates>,
    ) -> Option<(i64, i64)> {
        let gates = gates?;
        if gates.is_always_open(class) {
            return None;
        }
        let longest_ps = gates.openings[class].iter().map(|(open, close)| close - open).max().unwrap_or(0);
        let work_ps = members.iter().map(|at| self.crossings[*at].work_ps).max()?;
        (work_ps > longest_ps).then_some((longest_ps, work_ps))
    }

    /// What a class is guaranteed: together with the classes `sharing`, and without the windows of the classes `owning`.
    /// `None`: nothing.
    fn service(
        &self,
        class: usize,
        members: &[usize],
        gates: Option<&Gates>,
        sharing: &[usize],
        owning: &[usize],
    ) -> Option<Service> {
        // An interrupted frame is longer, and may end after the gates of express classes have opened.
        if self.rules.is_preemptible(class) && !owning.is_empty() {
            return None;
        }
        let lower: Vec<Crossing> = self.lower(class).collect();
        let Some(gates) = gates else {
            let blocked_ps = lower.iter().map(|crossing| crossing.work_ps).max().unwrap_or(0);
            return owning.is_empty().then_some(Service::Always { blocked_ps });
        };
        let cycle_ps = gates.cycle_ps;
        let mut windows = gates.openings[class].clone();
        for other in owning {
            windows = without(&windows, &gates.openings[*other], cycle_ps);
        }
        if gates.is_always_open(class) && windows == gates.openings[class] {
            let blocked_ps = lower.iter().map(|crossing| crossing.work_ps).max().unwrap_or(0);
            return Some(Service::Always { blocked_ps });
        }
        let longest_ps = members.iter().map(|at| self.crossings[*at].work_ps).max()?;
        let exact = members.iter().fold(0, |grain, at| divisor(self.crossings[*at].work_ps, grain)).max(1);
        let blocked = |applies: &dyn Fn(&Spans) -> bool| {
            let those = lower.iter().filter(|crossing| applies(&gates.openings[crossing.class]));
            those.map(|crossing| crossing.work_ps).max().unwrap_or(0)
        };
        let window = |&(open_ps, close_ps): &(i64, i64)| Window {
            open_ps,
            close_ps,
            blocked_at_open_ps: blocked(&|openings| is_open_across(open_ps, openings, cycle_ps)),
            blocked_inside_ps: blocked(&|openings| overlaps((open_ps, close_ps), openings, cycle_ps)),
            grain_ps: match sharing
                .iter()
                .any(|other| overlaps((open_ps, close_ps), &gates.openings[*other], cycle_ps))
            {
                true => 1,
                false => exact,
            },
        };
        let windows: Vec<Window> = windows.iter().map(window).collect();
        (!windows.is_empty()).then_some(Service::Gated {
            zero_ps: gates.zero_ps,
            cycle_ps,
            windows,
            longest_ps,
        })
    }
}

impl Gates {
    pub(super) fn is_always_open(&self, class: usize) -> bool {
        self.openings[class].iter().any(|(open, close)| close - open >= self.cycle_ps)
    }
}
