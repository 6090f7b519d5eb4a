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

/// Hyperperiods from the start that are examined if phases are known.
const HYPERPERIODS: i64 = 4;

/// A burst of a flow, ordered by its latest arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Burst {
    late_ps: i64,
    early_ps: i64,
    work_ps: i64,
    /// The index of the flow in the queue.
    flow: usize,
}

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
                worst_ps = worst_ps.max(done_ps - at_ps - self.service.last_frame_earlier_ps());
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
    /// all flows and of the gates are known. `None` if they are not, if a hyperperiod has too many bursts, or if the delays
    /// grow from one hyperperiod to the next.
    ///
    /// A frame ends by the latest end of any busy interval that contains it. An interval starts with the arrival of some
    /// frame, and what is sent in it arrived in it. Later arrivals within their jitter only make it end later, since departures
    /// increase with arrivals (Le Boudec and Thiran, Network Calculus, section 1.4: D = inf of A(s) + S(s, t)). No interval
    /// crosses a time by which all earlier frames have ended. The queue is empty at the start; if a hyperperiod has the same
    /// delays as the one before, all later ones have.
    pub(super) fn latest_ends_ps(&self) -> Option<Vec<i64>> {
        let hyperperiod_ps = self.hyperperiod_ps()?;
        let count: i64 = self.own.iter().map(|flow| hyperperiod_ps / flow.arrival.period_ps).sum();
        if count > BURSTS_MAX {
            return None;
        }
        let jitter_max_ps = self.jitter_max_ps();
        // Further bursts can arrive before a late one of the last hyperperiod that is examined.
        let until_ps = hyperperiod_ps.checked_mul(HYPERPERIODS)?.checked_add(2 * jitter_max_ps)?;
        let mut bursts = Vec::new();
        for (flow, demand) in self.own.iter().enumerate() {
            let Arrival { burst, period_ps, jitter_ps } = demand.arrival;
            if until_ps / period_ps > 8 * BURSTS_MAX {
                return None;
            }
            let work_ps = burst.saturating_mul(demand.work_ps);
            let mut early_ps = demand.early_ps?.rem_euclid(period_ps);
            while early_ps <= until_ps {
                bursts.push(Burst { late_ps: early_ps + jitter_ps, early_ps, work_ps, flow });
                early_ps += period_ps;
            }
        }
        bursts.sort_unstable();
        let mut earliest_from_ps = vec![i64::MAX; bursts.len() + 1];
        for (index, burst) in bursts.iter().enumerate().rev() {
            earliest_from_ps[index] = earliest_from_ps[index + 1].min(burst.early_ps);
        }
        // Of each hyperperiod, the delay of every burst in order of its flow and earliest arrival.
        let mut delays: Vec<Vec<(usize, i64, i64)>> = vec![Vec::new(); HYPERPERIODS as usize];
        let (mut begin, mut ended_ps) = (0, i64::MIN);
        let mut first_begins: Vec<i64> = vec![i64::MAX; HYPERPERIODS as usize];
        for (index, burst) in bursts.iter().enumerate() {
            if ended_ps <= earliest_from_ps[index] {
                begin = index;
            }
            let end_ps = self.latest_end_ps(&bursts, begin, index)?;
            ended_ps = ended_ps.max(end_ps);
            let number = usize::try_from(burst.early_ps / hyperperiod_ps).ok()?;
            if let Some(of_period) = delays.get_mut(number) {
                of_period.push((burst.flow, burst.early_ps % hyperperiod_ps, end_ps - burst.early_ps));
                first_begins[number] = first_begins[number].min(bursts[begin].early_ps);
            }
        }
        delays.iter_mut().for_each(|of_period| of_period.sort_unstable());
        // The last hyperperiod depends on the one before alone, and both are equal.
        let last = delays.len() - 1;
        let is_steady =
            delays[last] == delays[last - 1] && first_begins[last] >= (HYPERPERIODS - 2) * hyperperiod_ps;
        if !is_steady {
            return None;
        }
        let longest = |flow: usize| {
            let all = delays.iter().flatten().filter(|(of, _, _)| *of == flow);
            all.map(|(_, _, delay_ps)| *delay_ps).max().unwrap_or(0)
        };
        Some((0..self.own.len()).map(longest).collect())
    }

    /// The latest end of the burst at `index`, of which no busy interval contains one before `begin`. `bursts` are in
    /// the order of their latest arrival.
    fn latest_end_ps(&self, bursts: &[Burst], begin: usize, index: usize) -> Option<i64> {
        let late_ps = bursts[index].late_ps;
        let jitter_ps = self.jitter_max_ps();
        let first = bursts.partition_point(|burst| burst.late_ps < late_ps);
        let (mut work_ps, mut longest_ps, mut grain_ps) = (0i64, 0, 0);
        let mut add = |burst: &Burst| {
            let frame_ps = self.own[burst.flow].work_ps;
            work_ps = work_ps.saturating_add(burst.work_ps);
            longest_ps = longest_ps.max(frame_ps);
            grain_ps = divisor(frame_ps, grain_ps);
            (work_ps, longest_ps, grain_ps)
        };
        // Bursts that may precede it although they may also arrive later.
        let may_precede = bursts[first..].iter().take_while(|burst| burst.late_ps <= late_ps + jitter_ps);
        let mut sum = (0, 0, 0);
        for burst in may_precede.filter(|burst| burst.early_ps <= late_ps) {
            sum = add(burst);
        }
        let mut end_ps = self.done_by_these_ps(late_ps, jitter_ps, sum)?;
        for burst in bursts[begin.min(first)..first].iter().rev() {
            sum = add(burst);
            end_ps = end_ps.max(self.done_by_these_ps(burst.late_ps, jitter_ps, sum)?);
        }
        Some(end_ps)
    }

    /// When work of frames of at most some length, and of multiples of some grain, is done if the first of them arrives by
    /// `start_ps`. The interval may start earlier, by a jitter.
    fn done_by_these_ps(
        &self,
        start_ps: i64,
        jitter_ps: i64,
        (work_ps, longest_ps, grain_ps): (i64, i64, i64),
    ) -> Option<i64> {
        let service = |demand_ps| self.service.done_by_these_ps(start_ps, demand_ps, longest_ps, grain_ps);
        self.with_higher_ps(start_ps - jitter_ps, work_ps, service).ok()
    }

    /// When `work_ps` of the class is done, with everything that the higher classes send until then.
    fn done_ps(&self, arrival_ps: i64, served_ps: i64, work_ps: i64) -> Result<i64, Unbounded> {
        self.with_higher_ps(arrival_ps, work_ps, |demand_ps| self.service.done_ps(served_ps, demand_ps))
    }

    /// When `service` has done `work_ps` and what the higher classes send since `arrival_ps`.
    fn with_higher_ps(
        &self,
        arrival_ps: i64,
        work_ps: i64,
        service: impl Fn(i64) -> Option<i64>,
    ) -> Result<i64, Unbounded> {
        let mut demand_ps = work_ps;
        loop {
            let done_ps = service(demand_ps).ok_or(Unbounded::Overload)?;
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
        // With a jitter it may follow the other frame, and miss its window. A window has room for no more than the two frames of a
        // period, so what was left over once need not end, and phases give no bound.
        let late = Demand { arrival: own[0].arrival.later_by(160), ..own[0] };
        let own = [late, own[1]];
        let queue = Queue { own: &own, higher: &[], service: &service };
        assert_eq!(queue.latest_ends_ps(), None);
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
