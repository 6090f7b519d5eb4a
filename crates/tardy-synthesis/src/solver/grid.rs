//! The grid on which the solver places frames: steps of time, the classes of equal periods, and the routes in steps.

use std::collections::{BTreeMap, BTreeSet};

use super::route::Route;
use crate::instance::{Instance, Link, greatest_common_divisor};

/// The most bits of one copy of the solver's bitmaps: 64 MiB.
const BITS_MAX: u64 = 1 << 29;

/// The grid of an instance.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// The length of a step, in ns. If it divides every time of the instance, nothing is lost: a schedule whose offsets are
    /// rounded down to a step stays valid.
    pub(super) step_ns: u64,
    /// The different periods, in steps; the hyperperiod is the last.
    pub(super) periods: Vec<u32>,
    /// The greatest common divisor of each two periods, in steps.
    common: Vec<Vec<u32>>,
    /// The index of each flow's period.
    pub(super) class_of: Vec<usize>,
    /// The index of each link's bitmaps; `None` if no route has the link.
    port_of: Vec<Option<u32>>,
    /// The number of links with bitmaps.
    pub(super) ports: usize,
}

/// A link of a route, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GridHop {
    /// The link's bitmaps.
    pub(super) port: u32,
    /// From the talker's start to the step in which the frame starts here.
    pub(super) shift: u32,
    /// The number of steps in which the frame occupies the link, at least in part.
    pub(super) length: u32,
}

/// A route in steps, and the offsets that are permitted for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GridRoute {
    pub(super) hops: Vec<GridHop>,
    /// The first permitted offset.
    pub(super) first: u32,
    /// The end of the permitted offsets.
    pub(super) end: u32,
}

impl Grid {
    /// The grid for an instance and its routes.
    pub(super) fn of(instance: &Instance, routes: &[Vec<Route>]) -> Self {
        let mut port_of = vec![None; instance.links.len()];
        let mut ports = 0;
        for hop in routes.iter().flatten().flat_map(|route| &route.hops) {
            port_of[hop.link].get_or_insert_with(|| {
                ports += 1;
                ports - 1
            });
        }
        let mut periods: BTreeSet<u64> = instance.flows.iter().map(|flow| flow.period_ns).collect();
        let step_ns = step_ns(instance, &periods, u64::from(ports));
        periods.insert(instance.hyperperiod_ns.max(step_ns));
        let periods: Vec<u32> = periods.iter().map(|period| (period / step_ns) as u32).collect();
        let divisor = |a: &u32, b: &u32| greatest_common_divisor(u64::from(*a), u64::from(*b)) as u32;
        let common = periods.iter().map(|a| periods.iter().map(|b| divisor(a, b)).collect()).collect();
        let class =
            |period_ns: u64| periods.partition_point(|period| u64::from(*period) * step_ns < period_ns);
        let class_of = instance.flows.iter().map(|flow| class(flow.period_ns)).collect();
        Self { step_ns, periods, common, class_of, port_of, ports: ports as usize }
    }

    /// The greatest common divisor of the periods of two classes, in steps.
    pub(super) fn common(&self, class: usize, other: usize) -> u32 {
        self.common[class][other]
    }

    /// A flow's route in steps; `None` if the frame would be late even if it never waits.
    pub(super) fn route(&self, instance: &Instance, flow: usize, route: &Route) -> Option<GridRoute> {
        let of = &instance.flows[flow];
        if of.deadline_ns.is_some_and(|deadline_ns| route.latency_ns > deadline_ns) || route.hops.is_empty() {
            return None;
        }
        let period = self.periods[self.class_of[flow]];
        let hops = route.hops.iter().map(|hop| {
            let within_ns = hop.shift_ns % self.step_ns;
            let length = (within_ns + hop.wire_ns + instance.margin_ns).div_ceil(self.step_ns);
            Some(GridHop {
                port: self.port_of[hop.link]?,
                shift: (hop.shift_ns / self.step_ns % u64::from(period)) as u32,
                length: u32::try_from(length).ok().filter(|length| *length <= period)?,
            })
        });
        let hops = hops.collect::<Option<Vec<_>>>()?;
        // The frame reaches its listeners within the period in which it was sent, unless its way is longer than that.
        let last_ns = of.period_ns.checked_sub(route.busy_ns).unwrap_or(of.period_ns - 1);
        let first = of.release_ns.div_ceil(self.step_ns) as u32;
        let end = ((last_ns / self.step_ns) as u32 + 1).min(period);
        (first < end).then_some(GridRoute { hops, first, end })
    }
}

/// The length of a step: the greatest common divisor of all times, or a longer one if the bitmaps would be too large.
fn step_ns(instance: &Instance, periods: &BTreeSet<u64>, ports: u64) -> u64 {
    let of_periods_ns = periods.iter().fold(0, |step, period| greatest_common_divisor(step, *period)).max(1);
    let sizes: BTreeSet<u32> = instance.flows.iter().map(|flow| flow.wire_bytes).collect();
    let rates: BTreeMap<u64, &Link> =
        instance.links.iter().map(|link| (link.bits_per_second, link)).collect();
    let wires_ns = rates.values().flat_map(|link| sizes.iter().map(|size| link.wire_ns(*size)));
    let delays_ns = instance.links.iter().map(Link::forwarding_ns);
    let exact_ns =
        wires_ns.chain(delays_ns).chain([instance.margin_ns]).fold(of_periods_ns, greatest_common_divisor);
    let bits_ns = ports * (periods.iter().sum::<u64>() + instance.hyperperiod_ns);
    let least_ns = bits_ns.div_ceil(BITS_MAX);
    if exact_ns >= least_ns { exact_ns } else { least_divisor(of_periods_ns, least_ns) }
}

/// The least divisor of `number` from `least` on; `number` itself if there is none.
fn least_divisor(number: u64, least: u64) -> u64 {
    let small = (1..=number.isqrt()).filter(|divisor| number.is_multiple_of(*divisor));
    small
        .flat_map(|divisor| [divisor, number / divisor])
        .filter(|divisor| *divisor >= least)
        .min()
        .unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_divisor_is_at_least_the_given_one() {
        assert_eq!([1, 2, 5, 7, 100, 101].map(|least| least_divisor(100, least)), [1, 2, 5, 10, 100, 100]);
    }
}
