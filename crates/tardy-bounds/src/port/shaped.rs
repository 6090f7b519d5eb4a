//! Classes with a credit-based shaper, and preemption.
//!
//! The credit of a class changes by its idle slope times the time, less what it sends, so in any interval from an empty queue without
//! credit to a credit of at most c it sends at least slope * length - c: the service of a share of the rate after a latency (De Azua
//! and Boyer, Complete modelling of AVB in network calculus framework, RTNS 2014, whose largest credit is that below without
//! other classes than shaped ones above). A frame starts when what was sent before it satisfies that, and is then sent at the rate of the
//! port.
//!
//! The largest credit: while it is above 0 and frames wait, the port sends one frame of a lower class at most, and what the higher classes
//! send. If these send at most b + r * length, then credit <= slope * length and
//! credit <= lower + b + r * length - (rate - slope) * length, which meet at length = (lower + b) / (1 - r).

use tardy_tsn::simulate::fragments::{DIVISION_OCTETS, UNDIVIDED_OCTETS};
use tardy_tsn::transmission_time;

use super::super::NoBound;
use super::super::arrival::Arrival;
use super::super::delay::Demand;
use super::{Crossing, Inflow, Phases, Port};

/// The simulator's times are whole ns: a frame leaves up to 1 ns after its credit is 0, and starts up to 1 ns after it arrived.
const ROUNDING_PS: i64 = 2000;

/// What a class with a credit-based shaper sends at most, and at least.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    pub(super) class: usize,
    /// The idle slope and the rate of the port, in bit/s.
    slope: i128,
    rate: i128,
    /// How long the class can wait before it sends at its slope, in ps.
    latency_ps: i128,
    /// What it sends at most in addition to its slope: its largest credit less its smallest, in ps of transmission.
    burst_ps: i128,
    /// Its longest and its shortest frame, in ps.
    longest_ps: i64,
    shortest_ps: i64,
}

impl Shaping {
    /// As the staircase of a flow: frames of the longest size, at the slope, and the burst as a jitter.
    pub(super) fn demand(&self) -> Demand {
        let ps = |ps: i128| i64::try_from(ps).unwrap_or(i64::MAX / 4);
        let period_ps = ps(i128::from(self.longest_ps) * self.rate / self.slope).max(1);
        let jitter_ps = ps((self.burst_ps * self.rate + self.slope - 1) / self.slope);
        let arrival = Arrival { burst: 1, period_ps, jitter_ps };
        Demand { arrival, work_ps: self.longest_ps, early_ps: None }
    }

    /// How many of its shortest frames are as long as its longest.
    pub(super) fn frames_in_longest(&self) -> i64 {
        (self.longest_ps + self.shortest_ps - 1) / self.shortest_ps
    }
}

impl Port {
    /// The order in which classes are served: the higher class first, and express classes before preemptible ones.
    pub(super) fn precedence(&self, class: usize) -> (bool, usize) {
        (!self.rules.is_preemptible(class), class)
    }

    pub(super) fn idle_slope(&self, class: usize) -> Option<u64> {
        self.rules.idle_slopes.get(class).copied().flatten()
    }

    /// The flows of lower classes, with the work that they can delay this class by: a frame, or a fragment that cannot be divided.
    pub(super) fn lower(&self, class: usize) -> impl Iterator<Item = Crossing> {
        let undivided_ps = self.octets_ps(UNDIVIDED_OCTETS);
        let is_express = !self.rules.is_preemptible(class);
        let lower =
            self.crossings.iter().filter(move |other| self.precedence(other.class) < self.precedence(class));
        lower.map(move |crossing| match is_express && self.rules.is_preemptible(crossing.class) {
            true => Crossing { work_ps: crossing.work_ps.min(undivided_ps), ..crossing.clone() },
            false => crossing.clone(),
        })
    }

    fn octets_ps(&self, octets: u32) -> i64 {
        i64::try_from(transmission_time::octets_ps(octets, self.rules.bits_per_second))
            .unwrap_or(i64::MAX / 4)
    }

    /// A demand of the class `of`, with what its frames add if they interrupt one of `class`. `frames`: how many are counted as one.
    pub(super) fn with_divisions(&self, class: usize, of: usize, demand: Demand, frames: i64) -> Demand {
        if !self.rules.is_preemptible(class) || self.rules.is_preemptible(of) {
            return demand;
        }
        let each_ps = self.octets_ps(DIVISION_OCTETS) + ROUNDING_PS;
        Demand { work_ps: demand.work_ps.saturating_add(frames.saturating_mul(each_ps)), ..demand }
    }

    /// What the shaper of a class guarantees, from the classes above it.
    pub(super) fn shaping(
        &self,
        class: usize,
        slope: u64,
        inflows: &[Option<Inflow>],
        (bounded, unbounded, above): (&[(usize, i64)], &[usize], &[Shaping]),
        flow_names: &[String],
    ) -> Result<Shaping, NoBound> {
        let (slope, rate) = (i128::from(slope), i128::from(self.rules.bits_per_second));
        let overload =
            || NoBound::Overload { port: self.name.clone(), flow: self.flow_without_rate(class, flow_names) };
        if unbounded.iter().any(|of| !above.iter().any(|shaping| shaping.class == *of)) {
            return Err(overload());
        }
        let mut burst_ps: i128 = above.iter().map(|shaping| shaping.burst_ps).sum();
        let mut taken: i128 = above.iter().map(|shaping| shaping.slope).sum();
        for (of, delay_ps) in bounded.iter().filter(|(of, _)| self.idle_slope(*of).is_none()) {
            for demand in self.demands(&self.members(*of), inflows, *delay_ps, flow_names, Phases(false))? {
                let Arrival { burst, period_ps, jitter_ps } = demand.arrival;
                let (work, period, jitter) = (
                    i128::from(burst) * i128::from(demand.work_ps),
                    i128::from(period_ps),
                    i128::from(jitter_ps),
                );
                burst_ps += work + (work * jitter + period - 1) / period;
                taken += (work * rate + period - 1) / period;
            }
        }
        if taken + slope > rate {
            return Err(overload());
        }
        let lower_ps = i128::from(self.lower(class).map(|crossing| crossing.work_ps).max().unwrap_or(0));
        let free = rate - taken;
        let latency_ps = ((lower_ps + burst_ps) * rate + free - 1) / free + i128::from(ROUNDING_PS);
        let own = self.crossings.iter().filter(|crossing| crossing.class == class);
        let works: Vec<i64> = own.map(|crossing| crossing.work_ps).collect();
        let longest_ps = works.iter().copied().max().unwrap_or(1);
        let shortest_ps = works.iter().copied().min().unwrap_or(1).max(1);
        let credit_ps = (latency_ps * slope + rate - 1) / rate;
        let debt_ps = (i128::from(longest_ps) * (rate - slope) + rate - 1) / rate;
        Ok(Shaping { class, slope, rate, latency_ps, burst_ps: credit_ps + debt_ps, longest_ps, shortest_ps })
    }

    pub(super) fn shaped_service(&self, shaping: &Shaping) -> super::Service {
        let whole = |value: i128| i64::try_from(value).unwrap_or(i64::MAX / 4);
        super::Service::Shaped {
            latency_ps: whole(shaping.latency_ps),
            slope: whole(shaping.slope),
            rate: whole(shaping.rate),
            shortest_ps: shaping.shortest_ps,
        }
    }
}
