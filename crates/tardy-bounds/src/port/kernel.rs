//! A port behind the kernel's software TAPRIO: gates that pass frames at once, and a device that sends them in order.
//!
//! The kernel passes frames to the device as long as gate, guard band and budget permit. The delay is that of the gates,
//! and then that of a first-in first-out queue (the device's ring). A bound needs three things: the class shares its windows with
//! no other, since refused frames of another are charged to its budget; its own frames never exhaust the budget; and
//! the ring never fills, since the gates could not pass a frame then.

use super::super::NoBound;
use super::super::arrival::Arrival;
use super::super::delay::{Demand, Queue, Unbounded};
use super::super::service::Service;
use super::{Gates, Inflow, Passage, Phases, Port};

/// The kernel's gates and the device behind them.
#[derive(Clone, Debug)]
pub(crate) struct KernelPort {
    pub(crate) gates: Gates,
    /// Each entry's mask, start and duration in ps.
    pub(crate) entries: Vec<(u32, i64, i64)>,
    pub(crate) picos_per_byte: i64,
    /// The latency of the timer that opens gates, in ps.
    pub(crate) latency_ps: i64,
    /// The frames that the device accepts in advance; `None`: any number.
    pub(crate) ring_frames: Option<i64>,
}

/// What the gates do to a flow.
struct Gated {
    delay_ps: i64,
    /// From the earliest arrival to the latest passage.
    latest_ps: i64,
}

impl KernelPort {
    pub(crate) fn passages(
        &self,
        port: &Port,
        inflows: &[Option<Inflow>],
        flow_names: &[String],
        phases: Phases,
    ) -> Vec<Result<Passage, NoBound>> {
        let gated: Vec<Result<Gated, NoBound>> =
            (0..port.crossings.len()).map(|at| self.gated(port, at, inflows, flow_names, phases)).collect();
        let ring = self.through_ring(port, &gated, inflows, phases);
        gated
            .into_iter()
            .enumerate()
            .map(|(at, gated)| {
                let gated = gated?;
                let (ring_delay_ps, ring_ends_ps) = ring.as_ref().map_err(Clone::clone)?;
                let crossing = &port.crossings[at];
                let jitter_ps = inflows[at].map_or(0, |inflow| inflow.arrival.jitter_ps);
                let ring_delay_ps = ring_delay_ps - crossing.gap_ps;
                let delay_ps = gated.delay_ps.saturating_add(ring_delay_ps);
                let by_phase_ps = ring_ends_ps.as_ref().map_or(i64::MAX, |ends| ends[at] - crossing.gap_ps);
                let latest_ps = (gated.latest_ps.saturating_add(ring_delay_ps))
                    .min(by_phase_ps)
                    .min(delay_ps.saturating_add(jitter_ps));
                Ok(Passage { delay_ps: Some(delay_ps), variation_ps: (latest_ps - crossing.least_ps).max(0) })
            })
            .collect()
    }

    /// The delay of the gates for the flow of a crossing.
    fn gated(
        &self,
        port: &Port,
        at: usize,
        inflows: &[Option<Inflow>],
        flow_names: &[String],
        phases: Phases,
    ) -> Result<Gated, NoBound> {
        let class = port.crossings[at].class;
        let members: Vec<usize> =
            (0..port.crossings.len()).filter(|other| port.crossings[*other].class == class).collect();
        let own = port.demands(&members, inflows, 0, flow_names, phases)?;
        let jitter_ps = own[members.iter().position(|other| *other == at).unwrap_or(0)].arrival.jitter_ps;
        if self.gates.is_always_open(class) {
            return Ok(Gated { delay_ps: 0, latest_ps: jitter_ps });
        }
        let shares = |mask: u32| {
            port.crossings.iter().any(|other| other.class != class && mask >> other.class & 1 == 1)
        };
        let mut own_entries = self.entries.iter().filter(|(mask, _, _)| mask >> class & 1 == 1);
        let queue = port.crossings[at].kernel.queue;
        let several_queues = members.iter().any(|other| port.crossings[*other].kernel.queue != queue);
        if several_queues || own_entries.any(|(mask, _, _)| shares(*mask)) {
            return Err(NoBound::SharedBudget { port: port.name.clone() });
        }
        // The kernel's time for the longest frame of the class, in whole ns as it computes it.
        let charged = |other: &usize| port.crossings[*other].kernel.charged_bytes;
        let longest_ps = members.iter().map(charged).max().unwrap_or(0) * self.picos_per_byte / 1000 * 1000;
        let usable: Vec<(i64, i64)> = self.gates.openings[class]
            .iter()
            .map(|(open, close)| (open + self.latency_ps, close - longest_ps))
            .filter(|(open, last)| open < last)
            .collect();
        if usable.is_empty() {
            let longest = self.gates.openings[class].iter().map(|(open, close)| close - open).max();
            return Err(NoBound::FitsNoWindow {
                port: port.name.clone(),
                window_ps: longest.unwrap_or(0),
                frame_ps: longest_ps,
            });
        }
        let again_ps = usable[0].0 + self.gates.cycle_ps;
        let opens_ps = usable.iter().skip(1).map(|(open, _)| *open).chain([again_ps]);
        let gaps_ps = usable.iter().zip(opens_ps).map(|((_, last), next)| next - last);
        let delay_ps = gaps_ps.max().unwrap_or(0);
        self.check_budget(port, class, (&members, &own), delay_ps, flow_names)?;
        let latest_ps = self
            .latest_by_phase_ps(at, inflows, &usable, phases)
            .map_or(delay_ps + jitter_ps, |latest_ps| latest_ps.min(delay_ps + jitter_ps));
        Ok(Gated { delay_ps, latest_ps })
    }

    /// Checks that the frames of the class never exhaust the budget of an entry. If the delays were longer at some
    /// time, the budget would have been exhausted before; so it never is.
    fn check_budget(
        &self,
        port: &Port,
        class: usize,
        (members, own): (&[usize], &[Demand]),
        delay_ps: i64,
        flow_names: &[String],
    ) -> Result<(), NoBound> {
        for &(mask, start_ps, duration_ps) in &self.entries {
            if mask >> class & 1 == 0 {
                continue;
            }
            let budget_bytes = self.budget_bytes(class, start_ps);
            let within_ps = duration_ps + self.latency_ps + delay_ps;
            let charged: i64 = members
                .iter()
                .zip(own)
                .map(|(at, flow)| {
                    flow.arrival.frames_in(within_ps).saturating_mul(port.crossings[*at].kernel.charged_bytes)
                })
                .fold(0, i64::saturating_add);
            if charged > budget_bytes {
                return Err(NoBound::Overload {
                    port: port.name.clone(),
                    flow: port.flow_without_rate(class, flow_names),
                });
            }
        }
        Ok(())
    }

    /// The budget of a class in an entry: what the link carries until the gate closes.
    fn budget_bytes(&self, class: usize, start_ps: i64) -> i64 {
        let cycle_ps = self.gates.cycle_ps;
        let open_for_ps = self.gates.openings[class].iter().find_map(|&(open, close)| {
            let shift =
                [0, cycle_ps].into_iter().find(|shift| (open..close).contains(&(start_ps + shift)))?;
            Some(close - shift - start_ps)
        });
        open_for_ps.unwrap_or(0) / self.picos_per_byte
    }

    /// From a flow's earliest arrival to its latest passage, if phases are known.
    fn latest_by_phase_ps(
        &self,
        at: usize,
        inflows: &[Option<Inflow>],
        usable: &[(i64, i64)],
        phases: Phases,
    ) -> Option<i64> {
        let inflow = inflows[at]?;
        let early_ps = inflow.early_ps.filter(|_| phases.0)?;
        let arrival = inflow.arrival;
        let (cycle_ps, zero_ps) = (self.gates.cycle_ps, self.gates.zero_ps);
        let repeats = cycle_ps / super::super::delay::divisor(cycle_ps, arrival.period_ps);
        if repeats > 100_000 {
            return None;
        }
        let passes_ps = |arrives_ps: i64| {
            let start_ps = arrives_ps - (arrives_ps - zero_ps).rem_euclid(cycle_ps) - cycle_ps;
            let cycles = (0..4).map(|cycle| start_ps + cycle * cycle_ps);
            let mut windows =
                cycles.flat_map(|from| usable.iter().map(move |(open, last)| (from + open, from + last)));
            windows.find(|(_, last)| arrives_ps < *last).map(|(open, _)| open.max(arrives_ps))
        };
        (0..repeats)
            .map(|number| {
                let early_ps = early_ps + number * arrival.period_ps;
                Some(passes_ps(early_ps + arrival.jitter_ps)? - early_ps)
            })
            .try_fold(0, |latest_ps, one| Some(i64::max(latest_ps, one?)))
    }

    /// The delay of the ring, and for each crossing the time from its earliest arrival at the gates to the latest end of
    /// its transmission if phases are known.
    fn through_ring(
        &self,
        port: &Port,
        gated: &[Result<Gated, NoBound>],
        inflows: &[Option<Inflow>],
        phases: Phases,
    ) -> Result<(i64, Option<Vec<i64>>), NoBound> {
        let mut demands = Vec::new();
        let mut limited: Vec<usize> = Vec::new();
        let mut frames_of = Vec::new();
        for (at, (crossing, gated)) in port.crossings.iter().zip(gated).enumerate() {
            match (gated, inflows[at]) {
                (Ok(gated), Some(inflow)) => {
                    let jitter_ps = gated.latest_ps;
                    demands.push(Demand {
                        arrival: Arrival { jitter_ps, ..inflow.arrival },
                        work_ps: crossing.work_ps,
                        early_ps: inflow.early_ps.filter(|_| phases.0),
                    });
                    frames_of.push(1);
                }
                (Err(reason), _) if self.gates.is_always_open(crossing.class) => return Err(reason.clone()),
                // The place in the list of a flow without a bound, whose class has the budgets of its entries below.
                _ => {
                    demands.push(Demand {
                        arrival: Arrival { burst: 0, period_ps: self.gates.cycle_ps, jitter_ps: 0 },
                        work_ps: 0,
                        early_ps: Some(0).filter(|_| phases.0),
                    });
                    frames_of.push(1);
                    if !limited.contains(&crossing.class) {
                        limited.push(crossing.class);
                    }
                }
            }
        }
        for class in limited {
            self.add_budgets(port, class, &mut demands, &mut frames_of);
        }
        let service = Service::Always { blocked_ps: 0 };
        let queue = Queue { own: &demands, higher: &[], service: &service };
        let overload = |error| match error {
            Unbounded::Overload => NoBound::Overload { port: port.name.clone(), flow: None },
            Unbounded::TooLong => NoBound::TooLong { port: port.name.clone() },
        };
        let delay_ps = queue.delay_of_any_phase_ps().map_err(overload)?;
        if let Some(ring_frames) = self.ring_frames {
            let waiting = demands.iter().zip(frames_of);
            let frames = waiting
                .map(|(flow, frames)| flow.arrival.frames_in(delay_ps).saturating_mul(frames))
                .fold(0, i64::saturating_add);
            if frames > ring_frames {
                return Err(NoBound::RingFills { port: port.name.clone() });
            }
        }
        Ok((delay_ps, queue.latest_ends_ps()))
    }

    /// Adds what the gates let pass of a class without a bound: in each entry at most the budget.
    fn add_budgets(&self, port: &Port, class: usize, demands: &mut Vec<Demand>, frames_of: &mut Vec<i64>) {
        let of_class = port.crossings.iter().filter(|crossing| crossing.class == class);
        let charged = |bytes: i64| bytes.max(1);
        // The largest ratio of a frame's work to its charge, rounded up, in ps per byte.
        let per_byte_ps = of_class
            .clone()
            .map(|crossing| {
                crossing.work_ps.saturating_add(charged(crossing.kernel.charged_bytes) - 1)
                    / charged(crossing.kernel.charged_bytes)
            })
            .max()
            .unwrap_or(0);
        let shortest_bytes =
            of_class.map(|crossing| charged(crossing.kernel.charged_bytes)).min().unwrap_or(1);
        for &(mask, start_ps, duration_ps) in &self.entries {
            if mask >> class & 1 == 0 {
                continue;
            }
            let budget_bytes = self.budget_bytes(class, start_ps);
            demands.push(Demand {
                arrival: Arrival {
                    burst: 1,
                    period_ps: self.gates.cycle_ps,
                    jitter_ps: duration_ps + self.latency_ps,
                },
                work_ps: budget_bytes.saturating_mul(per_byte_ps),
                early_ps: Some(self.gates.zero_ps + start_ps),
            });
            frames_of.push(budget_bytes / shortest_bytes + 1);
        }
    }
}
