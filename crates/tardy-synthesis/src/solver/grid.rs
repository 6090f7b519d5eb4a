//! The grid on which the solver places frames: steps of time, the classes of equal periods, and the routes in steps.

use std::collections::{BTreeMap, BTreeSet};

use super::route::Route;
use crate::instance::{Instance, Link, greatest_common_divisor, least_entry_ns};
use crate::schedule::Placement;

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
    /// The permitted offsets: ranges, each from its first offset to before its end, in order; at least one.
    offsets: Vec<(u32, u32)>,
}

impl GridRoute {
    /// The ranges of permitted offsets within `from` to before `end`.
    pub(super) fn ranges_in(&self, (from, end): (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
        let within = self.offsets.iter().map(move |range| (range.0.max(from), range.1.min(end)));
        within.filter(|(first, end)| first < end)
    }

    /// The number of permitted offsets; at least 1.
    pub(super) fn count(&self) -> u32 {
        self.offsets.iter().map(|(first, end)| end - first).sum()
    }

    /// All permitted offsets, beginning with the one of this number and continuing with the first after the last.
    pub(super) fn offsets_from(&self, number: u32) -> impl Iterator<Item = u32> {
        let all = || self.offsets.iter().flat_map(|(first, end)| *first..*end);
        all().skip(number as usize).chain(all().take(number as usize))
    }

    /// The permitted offset of this number, which must be below [`Self::count`].
    pub(super) fn offset(&self, number: u32) -> u32 {
        let mut left = number;
        for (first, end) in &self.offsets {
            if left < end - first {
                return first + left;
            }
            left -= end - first;
        }
        self.offsets[0].0
    }
}

impl Grid {
    /// The grid for an instance, its routes and the places of the flows that keep theirs. Flows from `own` on stand for best effort:
    /// their lengths are rounded up to a step.
    pub(super) fn of(
        instance: &Instance,
        own: usize,
        routes: &[Vec<Route>],
        kept: &[Option<Placement>],
    ) -> Self {
        let mut port_of = vec![None; instance.links.len()];
        let mut ports = 0;
        for hop in routes.iter().flatten().flat_map(|route| &route.hops) {
            port_of[hop.link].get_or_insert_with(|| {
                ports += 1;
                ports - 1
            });
        }
        let mut periods: BTreeSet<u64> = instance.flows.iter().map(|flow| flow.period_ns).collect();
        let step_ns = step_ns(instance, own, &periods, u64::from(ports), kept);
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
        let windows = route.hops.iter().map(|hop| {
            let length_ns = instance.reserved_ns(of, hop.link);
            self.hop(hop.link, (hop.shift_ns, length_ns), period)
        });
        let windows = windows.collect::<Option<Vec<_>>>()?;
        let hops = route.hops.iter().map(|hop| {
            let length_ns = instance.reserved_ns(of, hop.link);
            self.hop(
                hop.link,
                self.with_early(instance, hop.link, (hop.shift_ns, length_ns), period)?,
                period,
            )
        });
        let hops = hops.collect::<Option<Vec<_>>>()?;
        let first = of.release_ns.div_ceil(self.step_ns) as u32;
        let mut offsets = vec![(first, period)];
        offsets.retain(|(first, end)| first < end);
        for (hop, of_route) in windows.iter().zip(&route.hops) {
            if instance.links[of_route.link].has_gates {
                // Between a window at the end of the list and one of the same class at its start, the gates are closed for an entry.
                let after_ns =
                    if instance.starts_at_zero { least_entry_ns(&instance.links[of_route.link]) } else { 0 };
                let length = u64::from(hop.length) + after_ns.div_ceil(self.step_ns);
                let length = u32::try_from(length).unwrap_or(u32::MAX).min(period);
                offsets = without_crossing(&offsets, &GridHop { length, ..*hop }, period);
            }
        }
        (!offsets.is_empty()).then_some(GridRoute { hops, offsets })
    }

    /// The one place of a flow that keeps its frames where they are, as a route with the offset 0. The frames may start between
    /// steps; all steps that they occupy in part count.
    pub(super) fn kept_route(&self, instance: &Instance, flow: usize, placement: &Placement) -> GridRoute {
        let of = &instance.flows[flow];
        let period = self.periods[self.class_of[flow]];
        let hops = placement.hops.iter().filter_map(|hop| {
            let length_ns = instance.reserved_ns(of, hop.link);
            let whole = (0, u64::from(period) * self.step_ns);
            let reserved =
                self.with_early(instance, hop.link, (hop.start_ns, length_ns), period).unwrap_or(whole);
            self.hop(hop.link, reserved, period).or_else(|| self.hop(hop.link, whole, period))
        });
        GridRoute { hops: hops.collect(), offsets: vec![(0, 1)] }
    }

    /// A start and a length in ns as steps; `None` if it is longer than the period.
    fn hop(&self, link: usize, (start_ns, length_ns): (u64, u64), period: u32) -> Option<GridHop> {
        let length = (start_ns % self.step_ns + length_ns).div_ceil(self.step_ns);
        Some(GridHop {
            port: self.port_of[link]?,
            shift: (start_ns / self.step_ns % u64::from(period)) as u32,
            length: u32::try_from(length).ok().filter(|length| *length <= period)?,
        })
    }

    /// A start and a length in ns, from the earliest time at which the frame can be in the queue: until its window opens, no other
    /// frame may enter the queue or find its gate open. `None` if that is longer than the period.
    fn with_early(
        &self,
        instance: &Instance,
        link: usize,
        (start_ns, length_ns): (u64, u64),
        period: u32,
    ) -> Option<(u64, u64)> {
        let early_ns = instance.links[link].early_ns;
        let period_ns = u64::from(period) * self.step_ns;
        (early_ns < period_ns).then(|| (start_ns + period_ns - early_ns, length_ns + early_ns))
    }
}

/// The offsets of `ranges` at which the frame does not continue from the end of its period to the start of the next one on this
/// link. A gate control list that ends with the period would have the window in two entries, and Linux grants its budget twice.
fn without_crossing(ranges: &[(u32, u32)], hop: &GridHop, period: u32) -> Vec<(u32, u32)> {
    // The frame starts within the last `length - 1` steps of the period: those offsets are one range, or one that continues at 0.
    let refused = hop.length.saturating_sub(1);
    let start = (u64::from(period) + u64::from(period - refused) - u64::from(hop.shift)) % u64::from(period);
    let (start, end) = (start as u32, start as u32 + refused);
    let parts = [(start, end.min(period)), (0, end.saturating_sub(period))];
    let mut left = ranges.to_vec();
    for (from, to) in parts.into_iter().filter(|(from, to)| from < to) {
        left = left
            .into_iter()
            .flat_map(|(first, end)| [(first, end.min(from)), (first.max(to), end)])
            .filter(|(first, end)| first < end)
            .collect();
    }
    left
}

/// The length of a step: the greatest common divisor of all times, or a longer one if the bitmaps would be too large. Frames that
/// stay where they are start at a step too, if that does not make the bitmaps too large.
fn step_ns(
    instance: &Instance,
    own: usize,
    periods: &BTreeSet<u64>,
    ports: u64,
    kept: &[Option<Placement>],
) -> u64 {
    let of_periods_ns = periods.iter().fold(0, |step, period| greatest_common_divisor(step, *period)).max(1);
    let sizes: BTreeSet<u32> = instance.flows[..own].iter().map(|flow| flow.wire_bytes).collect();
    let rates: BTreeMap<u64, &Link> =
        instance.links.iter().map(|link| (link.bits_per_second, link)).collect();
    // A frame, and the same with the gap after it.
    let lengths = sizes.iter().flat_map(|size| [*size, size + instance.gap_bytes]);
    let wires_ns = rates.values().flat_map(|link| lengths.clone().map(|length| link.wire_ns(length)));
    let delays_ns = instance.links.iter().map(Link::forwarding_ns);
    let early_ns = instance.links.iter().flat_map(|link| [link.early_ns, link.late_ns]);
    let exact_ns = wires_ns
        .chain(delays_ns)
        .chain(early_ns)
        .chain([instance.margin_ns])
        .fold(of_periods_ns, greatest_common_divisor);
    let bits_ns = ports * (periods.iter().sum::<u64>() + instance.hyperperiod_ns);
    let least_ns = bits_ns.div_ceil(BITS_MAX);
    let kept_ns = kept.iter().flatten().map(Placement::offset_ns).fold(exact_ns, greatest_common_divisor);
    match (kept_ns >= least_ns, exact_ns >= least_ns) {
        (true, _) => kept_ns,
        (false, true) => exact_ns,
        (false, false) => least_divisor(of_periods_ns, least_ns),
    }
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
    fn the_offsets_at_which_a_frame_crosses_the_end_of_its_period_are_refused() {
        for (shift, length) in (0..10).flat_map(|shift| (1..=10).map(move |length| (shift, length))) {
            let left = without_crossing(&[(1, 4), (5, 10)], &GridHop { port: 0, shift, length }, 10);
            let permitted =
                |offset: &u32| *offset != 0 && *offset != 4 && (offset + shift) % 10 + length <= 10;
            let expected: Vec<u32> = (0..10).filter(permitted).collect();
            let offsets: Vec<u32> = left.iter().flat_map(|(first, end)| *first..*end).collect();
            assert_eq!(offsets, expected, "{shift} {length}");
            if let Some(last) = expected.len().checked_sub(1) {
                let route = GridRoute { hops: Vec::new(), offsets: left };
                assert_eq!(route.count() as usize, expected.len());
                assert_eq!(
                    (0..=last).map(|number| route.offset(number as u32)).collect::<Vec<_>>(),
                    expected
                );
                let mut rotated = expected.clone();
                rotated.rotate_left(last);
                assert_eq!(route.offsets_from(last as u32).collect::<Vec<_>>(), rotated);
            }
        }
    }

    #[test]
    fn the_least_divisor_is_at_least_the_given_one() {
        assert_eq!([1, 2, 5, 7, 100, 101].map(|least| least_divisor(100, least)), [1, 2, 5, 10, 100, 100]);
    }
}
