//! Delays of a queue: the distance between what arrives and what is sent at least.
//!
//! The delay of a first-in first-out queue is at most the horizontal deviation of its arrival and service curves (Le
//! Boudec and Thiran, Network Calculus, Theorem 1.4.2). The curves are staircases, so it is computed at their steps.

use super::arrival::Arrival;
use super::service::Service;

/// The most steps of an arrival curve that are examined, and the most bursts in a hyperperiod.
const STEPS_MAX: usize = 20_000;
const BURSTS_MAX: i64 = 2_000;
/// The longest delay that is computed, in ps: 1,000 s.
const DELAY_MAX_PS: i64 = 1_000_000_000_000_000;

/// A flow at a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) arrival: Arrival,
    /// The work of a frame, in ps.
    pub(super) work_ps: i64,
    /// The earliest arrival of a burst in ps of the simulation, if it is known; others follow at multiples of the period.
    pub(super) early_ps: Option<i64>,
}

impl Demand {
    fn utilisation(&self) -> f64 {
        self.arrival.rate() * self.work_ps as f64
    }

    fn work_in(&self, length_ps: i64) -> i64 {
        self.arrival.frames_in(length_ps).saturating_mul(self.work_ps)
    }
}

/// A class's queue with everything that delays it.
#[derive(Clone, Debug)]
pub(super) struct Queue<'a> {
    /// The flows of the class.
    pub(super) own: &'a [Demand],
    /// Flows of higher classes. Their jitter includes their longest delay here: a frame that is sent in an interval
    /// arrived in it, or at most that long before.
    pub(super) higher: &'a [Demand],
    /// What the class and the higher classes are guaranteed.
    pub(super) service: &'a Service,
}

/// Why there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unbounded {
    /// More arrives than is sent.
    Overload,
    /// The bound would take too long to compute, or exceeds the longest delay.
    TooLong,
}

impl Queue<'_> {
    /// A bound of the delay for any phases of flows and gates, in ps.
    pub(super) fn delay_of_any_phase_ps(&self) -> Result<i64, Unbounded> {
        self.check_load()?;
        let hyperperiod_ps = self.hyperperiod_ps().unwrap_or(i64::MAX);
        let mut worst_ps = 0;
        let mut steps = 0;
        for start in self.service.worst_starts() {
            let mut at_ps = 0;
            loop {
                let work_ps = self.own.iter().map(|flow| flow.work_in(at_ps)).fold(0, i64::saturating_add);
                let done_ps = self.done_ps(start.arrival_ps, start.served_ps, work_ps)? - start.arrival_ps;
                worst_ps = worst_ps.max(done_ps - at_ps);
                let next_ps = self.own.iter().map(|flow| flow.arrival.rises_after(at_ps)).min();
                // The queue is empty before the next frame, or everything repeats.
                let Some(next_ps) = next_ps.filter(|next_ps| *next_ps < done_ps) else { break };
                if next_ps >= hyperperiod_ps {
                    break;
                }
                at_ps = next_ps;
                steps += 1;
                if steps > STEPS_MAX {
                    return Err(Unbounded::TooLong);
                }
            }
        }
        Ok(worst_ps)
    }

    /// For each flow, how long after the earliest arrival of a burst its last frame is sent at the latest, if the phases of
    /// all flows and of the gates are known. `None` if they are not, or if the hyperperiod has too many frames.
    ///
    /// A frame ends by the latest end of any busy interval that contains it. An interval starts with the arrival of some
    /// frame, and what is sent in it arrived in it. Later arrivals within their jitter only make it end later, since departures
    /// increase with arrivals (Le Boudec and Thiran, Network Calculus, section 1.4: D = inf of A(s) + S(s, t)).
    pub(super) fn latest_ends_ps(&self) -> Option<Vec<i64>> {
        self.check_load().ok()?;
        let hyperperiod_ps = self.hyperperiod_ps()?;
        let bursts: i64 = self.own.iter().map(|flow| hyperperiod_ps / flow.arrival.period_ps).sum();
        if bursts > BURSTS_MAX {
            return None;
        }
        let mut all = Vec::new();
        let jitter_max_ps = self.jitter_max_ps();
        for flow in self.own {
            let first_ps = flow.early_ps?.rem_euclid(flow.arrival.period_ps);
            // Bursts of the hyperperiod before the one under examination, and of the time by which frames can be late.
            let around = hyperperiod_ps.checked_add(jitter_max_ps)? / flow.arrival.period_ps + 2;
            if around > 2 * BURSTS_MAX {
                return None;
            }
            for number in -around..around {
                let early_ps = first_ps + number * flow.arrival.period_ps;
                let work_ps = flow.arrival.burst.saturating_mul(flow.work_ps);
                all.push((early_ps.saturating_add(flow.arrival.jitter_ps), early_ps, work_ps));
            }
        }
        all.sort_unstable();
        let latest = |flow: &Demand| {
            let first_ps = flow.early_ps?.rem_euclid(flow.arrival.period_ps);
            let mut latest_ps = 0;
            for number in 0..hyperperiod_ps / flow.arrival.period_ps {
                let early_ps = first_ps + number * flow.arrival.period_ps;
                let late_ps = early_ps + flow.arrival.jitter_ps;
                latest_ps = latest_ps.max(self.latest_end_ps(&all, late_ps, hyperperiod_ps)? - early_ps);
            }
            Some(latest_ps)
        };
        self.own.iter().map(latest).collect()
    }

    /// The latest end of a frame that arrives at `late_ps`. `all`: bursts as latest arrival, earliest arrival and work,
    /// in ascending order.
    fn latest_end_ps(&self, all: &[(i64, i64, i64)], late_ps: i64, hyperperiod_ps: i64) -> Option<i64> {
        let (mut end_ps, mut work_ps) = (i64::MIN, 0i64);
        let upper = all.partition_point(|(latest_ps, _, _)| *latest_ps < late_ps);
        let ahead = all[upper..].iter().filter(|(_, early_ps, _)| *early_ps <= late_ps);
        work_ps += ahead.map(|(_, _, work_ps)| work_ps).sum::<i64>();
        // The interval may start earlier than its first frame's latest arrival, by that frame's jitter.
        let jitter_ps = self.jitter_max_ps();
        end_ps = end_ps.max(self.done_ps(late_ps - jitter_ps, late_ps, work_ps).ok()?);
        for &(start_ps, _, work_more_ps) in all[..upper].iter().rev() {
            if start_ps < late_ps - hyperperiod_ps {
                break;
            }
            work_ps += work_more_ps;
            end_ps = end_ps.max(self.done_ps(start_ps - jitter_ps, start_ps, work_ps).ok()?);
        }
        Some(end_ps)
    }

    /// When `work_ps` of the class is done, with everything that the higher classes send until then.
    fn done_ps(&self, arrival_ps: i64, served_ps: i64, work_ps: i64) -> Result<i64, Unbounded> {
        let mut demand_ps = work_ps;
        loop {
            let done_ps = self.service.done_ps(served_ps, demand_ps).ok_or(Unbounded::Overload)?;
            let length_ps = done_ps - arrival_ps;
            if length_ps > DELAY_MAX_PS {
                return Err(Unbounded::TooLong);
            }
            let higher_ps =
                self.higher.iter().map(|flow| flow.work_in(length_ps)).fold(0, i64::saturating_add);
            let needed_ps = work_ps.saturating_add(higher_ps);
            if needed_ps <= demand_ps {
                return Ok(done_ps);
            }
            demand_ps = needed_ps;
        }
    }

    fn jitter_max_ps(&self) -> i64 {
        self.own.iter().map(|flow| flow.arrival.jitter_ps).max().unwrap_or(0)
    }

    fn check_load(&self) -> Result<(), Unbounded> {
        let load: f64 = self.own.iter().chain(self.higher).map(Demand::utilisation).sum();
        // Exactly as much as is sent is permitted; without rounding it could not be recognised.
        if load > self.service.rate() * (1.0 + 1e-12) { Err(Unbounded::Overload) } else { Ok(()) }
    }

    /// The time after which everything repeats; `None` if it is too long.
    fn hyperperiod_ps(&self) -> Option<i64> {
        let mut common_ps = self.service.cycle_ps();
        for flow in self.own.iter().chain(self.higher) {
            let period_ps = flow.arrival.period_ps;
            common_ps = (common_ps / divisor(common_ps, period_ps)).checked_mul(period_ps)?;
            if common_ps > DELAY_MAX_PS {
                return None;
            }
        }
        Some(common_ps)
    }
}

/// The greatest common divisor.
pub(super) fn divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::service::Window;
    use super::*;

    fn flow(burst: i64, period_ps: i64, work_ps: i64) -> Demand {
        Demand { arrival: Arrival { burst, period_ps, jitter_ps: 0 }, work_ps, early_ps: None }
    }

    fn at(early_ps: i64, flow: Demand) -> Demand {
        Demand { early_ps: Some(early_ps), ..flow }
    }

    fn window(open_ps: i64, close_ps: i64, longest_ps: i64, cycle_ps: i64) -> Service {
        let window =
            Window { open_ps, close_ps, blocked_at_open_ps: 0, blocked_inside_ps: 0, grain_ps: longest_ps };
        Service::Gated { zero_ps: 0, cycle_ps, windows: vec![window], longest_ps }
    }

    #[test]
    fn a_burst_on_a_rate_latency_server_waits_latency_and_burst() {
        // Le Boudec and Thiran, section 1.4.1: b / R + T for a leaky bucket (r, b) with r <= R.
        let service = Service::Always { blocked_ps: 30 };
        let own = [flow(5, 1000, 10)];
        let queue = Queue { own: &own, higher: &[], service: &service };
        assert_eq!(queue.delay_of_any_phase_ps(), Ok(30 + 50));
    }

    #[test]
    fn response_times_of_fixed_priorities_are_those_of_the_literature() {
        // Audsley and others (1993), the recurrence of response times, for C = 3, 3, 5 and T = 7, 12, 20: R = 3, 6, 20.
        let service = Service::Always { blocked_ps: 0 };
        let (first, second) = (flow(1, 7, 3), flow(1, 12, 3));
        let alone = Queue { own: &[first], higher: &[], service: &service };
        assert_eq!(alone.delay_of_any_phase_ps(), Ok(3));
        let own = [second];
        let higher = [first];
        let queue = Queue { own: &own, higher: &higher, service: &service };
        assert_eq!(queue.delay_of_any_phase_ps(), Ok(6));
        let (third, too_much) = ([flow(1, 20, 5)], [flow(1, 20, 7)]);
        let higher = [first, second];
        let queue = Queue { own: &third, higher: &higher, service: &service };
        assert_eq!(queue.delay_of_any_phase_ps(), Ok(20));
        let queue = Queue { own: &too_much, higher: &higher, service: &service };
        assert_eq!(queue.delay_of_any_phase_ps(), Err(Unbounded::Overload));
    }

    #[test]
    fn a_frame_that_just_misses_its_window_waits_for_the_next() {
        let service = window(0, 250, 100, 1000);
        let own = [flow(1, 1000, 100)];
        let queue = Queue { own: &own, higher: &[], service: &service };
        // It arrives at 150, after the last start of a frame of 100, and is sent from 1000 to 1100.
        assert_eq!(queue.delay_of_any_phase_ps(), Ok(950));
    }

    #[test]
    fn a_frame_with_a_known_phase_waits_for_nothing_if_its_window_is_open() {
        let service = window(0, 250, 100, 1000);
        let own = [at(0, flow(1, 1000, 100)), at(50, flow(1, 1000, 100))];
        let queue = Queue { own: &own, higher: &[], service: &service };
        assert_eq!(queue.latest_ends_ps(), Some(vec![100, 150]));
        // With a jitter it may follow the other frame, and miss its window.
        let late = Demand { arrival: own[0].arrival.later_by(160), ..own[0] };
        let own = [late, own[1]];
        let queue = Queue { own: &own, higher: &[], service: &service };
        assert_eq!(queue.latest_ends_ps(), Some(vec![1100, 1050]));
    }

    #[test]
    fn a_window_that_is_exactly_full_has_a_bound() {
        let service = window(0, 100, 100, 1000);
        let own = [at(0, flow(1, 2000, 100)), at(1000, flow(1, 2000, 100))];
        let queue = Queue { own: &own, higher: &[], service: &service };
        assert_eq!(queue.latest_ends_ps(), Some(vec![100, 100]));
        assert_eq!(queue.delay_of_any_phase_ps(), Ok(2100));
    }
}
