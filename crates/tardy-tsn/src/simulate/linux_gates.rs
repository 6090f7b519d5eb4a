//! The gates of the kernel's software TAPRIO (net/sched/sch_taprio.c, Linux 6.12 and 6.18).
//!
//! The kernel walks its list with one timer. When the timer fires, the next entry becomes current, the end of the opening of
//! each class's gate is stored, and each class gets a new budget of bytes: what the link carries from now to that end. All
//! deviations of the kernel from the standard follow from this, so the simulation takes the same steps. Entries that open the
//! same gate twice pass twice as many frames. The cost of a frame that is then refused stays charged. The simulation does not
//! wait for the end of a cycle that is longer than the list. While there is no current entry (before the base time, and from a
//! replacement until the timer fires) all gates are open.

use tardy_record::gates::{self, GateEntry};

use crate::network::CLASSES_MAX;
use crate::transmission_time;

/// The kernel's mask for "no entry", which has neither guard band nor budget.
const ALL_OPEN: u32 = u32::MAX;
/// A gate that does not close (`KTIME_MAX`).
const NEVER_NS: i64 = i64::MAX;
/// A budget that is not charged (`INT_MAX`).
const UNLIMITED: i64 = i32::MAX as i64;
/// `ETH_HLEN`.
const HEADER_BYTES: u32 = 14;
/// The longest service data unit that a virtual device accepts (`ETH_MAX_MTU`).
const MTU_MAX: u32 = 65_535;

/// The parameters of a schedule, as sent to the kernel.
#[derive(Clone, Debug)]
pub struct KernelOrder {
    /// The gate control list; at least one entry, none of 0 ns.
    pub entries: Vec<GateEntry>,
    /// `cycle_time`; 0 or `None`: the sum of the entries.
    pub cycle_ns: Option<u64>,
    /// `cycle_time_extension`.
    pub extension_ns: u64,
    /// `base_time`, in ns of the simulation.
    pub base_ns: i64,
    /// The number of traffic classes.
    pub classes: u8,
    /// The link's speed in Mbit/s, from ethtool; `None`: unknown, for which the kernel assumes 10.
    pub speed_mbps: Option<u64>,
    /// `overhead` of the size table; 0: no size table.
    pub overhead: u32,
    /// `max_sdu` of each class; 0: no limit.
    pub max_sdu: [u32; CLASSES_MAX],
}

/// Whether a frame can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Refused,
}

/// A running TAPRIO.
#[derive(Clone, Debug)]
pub struct KernelSchedule {
    picos_per_byte: u64,
    classes: usize,
    operating: Option<List>,
    administrative: Option<List>,
    current: Option<usize>,
    /// The schedule that replaces this one, and when.
    replacement: Option<(i64, List)>,
    /// When the timer expires, and its latency.
    expires_ns: i64,
    latency_ns: i64,
    fired_ns: i64,
    /// Observed times of the timer, in ascending order.
    seen_ns: Vec<i64>,
}

/// `struct sched_gate_list`.
#[derive(Clone, Debug)]
struct List {
    entries: Vec<Entry>,
    /// For each entry and class: how long the gate stays open from the start of the entry.
    open_for_ns: Vec<u64>,
    /// For each entry and class, as of the last time that the entry became current.
    closes_ns: Vec<i64>,
    budgets: Vec<i64>,
    cycle_ns: i64,
    cycle_end_ns: i64,
    extension_ns: i64,
    base_ns: i64,
    longest_bytes: [u32; CLASSES_MAX],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    gates: u32,
    interval_ns: i64,
    end_ns: i64,
}

impl KernelSchedule {
    /// A schedule that was installed before the simulation starts. If its base time is past, it has run since the
    /// last start of a cycle. `latency_ns` is the latency of the timer. `None` for a list without length.
    pub fn installed(order: &KernelOrder, latency_ns: u64) -> Option<Self> {
        let list = List::of(order)?;
        let start_ns = if order.base_ns > 0 { order.base_ns } else { order.base_ns % list.cycle_ns };
        Some(Self::starting(order, list, start_ns, latency_ns))
    }

    /// A schedule that was installed at `at_ns` of the simulation, which may be before its start: the list begins at the
    /// first start of a cycle after that (`taprio_get_start_time()`). A list that is shorter than its cycle then starts
    /// again whenever it ends, so its phase depends on `at_ns`.
    pub fn installed_at(order: &KernelOrder, at_ns: i64, latency_ns: u64) -> Option<Self> {
        let list = List::of(order)?;
        let start_ns = list.start_after(at_ns);
        Some(Self::starting(order, list, start_ns, latency_ns))
    }

    /// A schedule whose list begins at `start_ns`.
    fn starting(order: &KernelOrder, mut list: List, start_ns: i64, latency_ns: u64) -> Self {
        let picos_per_byte = picos_per_byte(order);
        list.begin_at(start_ns, picos_per_byte);
        let mut schedule = Self {
            picos_per_byte,
            classes: usize::from(order.classes),
            operating: None,
            administrative: Some(list),
            current: None,
            replacement: None,
            expires_ns: start_ns,
            latency_ns: i64::try_from(latency_ns).unwrap_or(NEVER_NS),
            fired_ns: i64::MIN,
            seen_ns: Vec::new(),
        };
        if start_ns <= 0 {
            schedule.fire();
        }
        schedule
    }

    /// Makes the timer fire at observed times: at the first one that is not before its own. The observation is complete up to
    /// its last time.
    pub fn fires_as_seen(&mut self, seen_ns: Vec<i64>) {
        self.seen_ns = seen_ns;
    }

    /// Replaces this schedule by an equal one at `at_ns`, as `RTM_NEWQDISC` with `NLM_F_REPLACE` does.
    pub fn replaced_at(&mut self, at_ns: u64) {
        let list = self.operating.as_ref().or(self.administrative.as_ref()).cloned();
        self.replacement = list.map(|list| (at_ns as i64, list));
    }

    /// `taprio_change`: all gates are open until the timer of the previous schedule fires.
    fn replace(&mut self, mut list: List, now_ns: i64) {
        let start_ns = list.start_after(now_ns);
        list.begin_at(start_ns, self.picos_per_byte);
        self.current = None;
        self.expires_ns = self.expires_ns.min(start_ns);
        self.administrative = Some(list);
    }

    /// Fires the timer as often as it is due until `now_ns`.
    #[inline]
    pub(super) fn advance(&mut self, now_ns: u64) {
        let now_ns = now_ns as i64;
        if let Some((at_ns, list)) = self.replacement.take_if(|(at_ns, _)| *at_ns <= now_ns) {
            self.fire_until(at_ns);
            self.replace(list, at_ns);
        }
        self.fire_until(now_ns);
    }

    #[inline]
    fn fire_until(&mut self, now_ns: i64) {
        while self.fires_ns() <= now_ns {
            self.leap(now_ns);
            self.fired_ns = self.fires_ns();
            self.fire();
        }
    }

    /// When the timer fires next: a frame that is refused now is refused until then.
    #[inline]
    pub(super) fn next_change_ns(&self) -> u64 {
        let replaced_ns = self.replacement.as_ref().map_or(NEVER_NS, |(at_ns, _)| *at_ns);
        self.fires_ns().min(replaced_ns).max(0) as u64
    }

    #[inline]
    fn fires_ns(&self) -> i64 {
        let late_ns = self.expires_ns.saturating_add(self.latency_ns);
        let fires_ns = if self.seen_ns.is_empty() { late_ns } else { self.seen_or(late_ns) };
        fires_ns.max(self.fired_ns)
    }

    fn seen_or(&self, late_ns: i64) -> i64 {
        let next = self.seen_ns.partition_point(|seen_ns| *seen_ns < self.expires_ns);
        self.seen_ns.get(next).copied().unwrap_or(late_ns)
    }

    /// The open gates, one bit per class.
    #[inline]
    pub(super) fn mask(&self) -> u32 {
        match (&self.operating, self.current) {
            (Some(list), Some(current)) => list.entries[current].gates,
            _ => ALL_OPEN,
        }
    }

    /// Whether a frame of an open class can be sent at `now_ns`. Its cost is charged even if the budget is too small.
    #[inline]
    pub(super) fn ask(&mut self, class: u8, charged_bytes: u32, now_ns: u64) -> Verdict {
        let (Some(list), Some(current)) = (&mut self.operating, self.current) else { return Verdict::Pass };
        if list.entries[current].gates == ALL_OPEN {
            return Verdict::Pass;
        }
        let row = current * self.classes..(current + 1) * self.classes;
        let ends_ns = now_ns as i64 + (u64::from(charged_bytes) * self.picos_per_byte / 1000) as i64;
        if ends_ns >= list.closes_ns[row.start + usize::from(class)] {
            return Verdict::Refused;
        }
        let budgets = &mut list.budgets[row];
        for budget in budgets.iter_mut().filter(|budget| **budget != UNLIMITED) {
            *budget -= i64::from(charged_bytes);
        }
        if budgets[usize::from(class)] < 0 { Verdict::Refused } else { Verdict::Pass }
    }

    /// The longest frame of a class that is queued, in bytes with the Ethernet header.
    #[inline]
    pub fn longest_bytes(&self, class: u8) -> u32 {
        self.operating.as_ref().map_or(u32::MAX, |list| list.longest_bytes[usize::from(class)])
    }

    /// `advance_sched`: the timer's handler.
    fn fire(&mut self) {
        if self.operating.is_none() {
            self.operating = self.administrative.take();
        }
        let classes = self.classes;
        let Some(list) = &mut self.operating else {
            self.expires_ns = NEVER_NS;
            return;
        };
        let current = self.current.filter(|&current| list.entries[current].end_ns != list.base_ns);
        let Some(current) = current else {
            // The end, closings and budgets of the first entry keep their values: set beforehand for a schedule that
            // starts, from the previous cycle for one that is being replaced.
            self.current = Some(0);
            self.expires_ns = list.entries[0].end_ns;
            return;
        };
        let start_ns = list.entries[current].end_ns;
        let restarts = current + 1 == list.entries.len() || start_ns == list.cycle_end_ns;
        let mut next = current + 1;
        if restarts {
            next = 0;
            list.cycle_end_ns += list.cycle_ns;
        }
        let mut end_ns = (start_ns + list.entries[next].interval_ns).min(list.cycle_end_ns);
        list.note_closings(next, classes, start_ns);
        let latest_ns = end_ns.saturating_add(list.extension_ns);
        if let Some(new) = self.administrative.take_if(|new| new.base_ns <= latest_ns) {
            // The first entry of the new list runs from now on, even before its own start.
            (next, end_ns) = (0, new.entries[0].end_ns);
            self.operating = Some(new);
        }
        let Some(list) = &mut self.operating else { return };
        list.entries[next].end_ns = end_ns;
        list.fill_budgets(next, classes, self.picos_per_byte);
        self.current = Some(next);
        self.expires_ns = end_ns;
    }

    /// Skips whole repetitions of the list in which no frame was sent.
    fn leap(&mut self, now_ns: i64) {
        let (Some(list), Some(_), None) = (&mut self.operating, self.current, &self.administrative) else {
            return;
        };
        let Some(period_ns) = list.period_ns() else { return };
        let count = (now_ns - self.expires_ns - self.latency_ns) / period_ns - 1;
        if count <= 0 {
            return;
        }
        self.expires_ns += count * period_ns;
        // The end of the cycle of a list that is shorter than its cycle moves away, and is never reached.
        list.cycle_end_ns += count * list.cycle_ns;
        for entry in &mut list.entries {
            entry.end_ns += count * period_ns;
        }
    }
}

/// The transmission time of a byte, as the kernel rounds it.
fn picos_per_byte(order: &KernelOrder) -> u64 {
    transmission_time::picos_per_byte(order.speed_mbps.unwrap_or(0).saturating_mul(1_000_000))
}

impl List {
    fn of(order: &KernelOrder) -> Option<Self> {
        let picos_per_byte = picos_per_byte(order);
        let sum_ns = gates::sum_ns(&order.entries).cast_signed();
        let cycle_ns =
            order.cycle_ns.filter(|cycle| *cycle > 0).map_or(Some(sum_ns), |ns| i64::try_from(ns).ok())?;
        if sum_ns == 0 || cycle_ns == 0 {
            return None;
        }
        let entry = |entry: &GateEntry| Entry {
            gates: entry.gates,
            interval_ns: i64::from(entry.interval_ns),
            end_ns: 0,
        };
        let cells = order.entries.len() * usize::from(order.classes);
        let mut list = Self {
            entries: order.entries.iter().map(entry).collect(),
            open_for_ns: vec![0; cells],
            closes_ns: vec![0; cells],
            budgets: vec![0; cells],
            cycle_ns,
            cycle_end_ns: 0,
            extension_ns: i64::try_from(order.extension_ns).unwrap_or(NEVER_NS / 2),
            base_ns: order.base_ns,
            longest_bytes: [u32::MAX; CLASSES_MAX],
        };
        for class in 0..usize::from(order.classes) {
            list.measure_openings(class, usize::from(order.classes));
            list.longest_bytes[class] = list.longest_frame(class, order, picos_per_byte);
        }
        Some(list)
    }

    /// When the list begins if it is installed at `at_ns` (`taprio_get_start_time`).
    fn start_after(&self, at_ns: i64) -> i64 {
        if self.base_ns > at_ns {
            self.base_ns
        } else {
            self.base_ns + ((at_ns - self.base_ns) / self.cycle_ns + 1) * self.cycle_ns
        }
    }

    /// How often the list repeats: when its cycle or its last entry ends. `None` if the first entry is longer than the
    /// cycle, since the first cycle then differs from the others.
    fn period_ns(&self) -> Option<i64> {
        let sum_ns = self.entries.iter().map(|entry| entry.interval_ns).sum();
        (self.entries[0].interval_ns <= self.cycle_ns).then(|| self.cycle_ns.min(sum_ns))
    }

    /// `taprio_calculate_gate_durations`: from each entry to the one that closes the gate, across the end of the
    /// list.
    fn measure_openings(&mut self, class: usize, classes: usize) {
        let open = |entry: &Entry| entry.gates.checked_shr(class as u32).unwrap_or(0) & 1 == 1;
        let count = self.entries.len();
        if self.entries.iter().all(open) {
            let sum: i64 = self.entries.iter().map(|entry| entry.interval_ns).sum();
            (0..count).for_each(|entry| self.open_for_ns[entry * classes + class] = sum as u64);
            return;
        }
        // Two passes, backwards, so that openings that continue at the start of the list are known at its end.
        let mut behind_ns = 0;
        for entry in (0..2 * count).rev().map(|index| index % count) {
            let Entry { interval_ns, .. } = self.entries[entry];
            behind_ns = if open(&self.entries[entry]) { behind_ns + interval_ns as u64 } else { 0 };
            self.open_for_ns[entry * classes + class] = behind_ns;
        }
    }

    /// `taprio_update_queue_max_sdu`.
    fn longest_frame(&self, class: usize, order: &KernelOrder, picos_per_byte: u64) -> u32 {
        let classes = usize::from(order.classes);
        let openings = self.open_for_ns.iter().skip(class).step_by(classes);
        let longest_ns = openings.copied().max().unwrap_or(0);
        let from_file = match order.max_sdu[class] {
            0 => u32::MAX,
            limit => limit,
        };
        let from_gates = if longest_ns as i64 == self.cycle_ns {
            u32::MAX
        } else {
            let bytes = (longest_ns * 1000 / picos_per_byte) as u32;
            // With a size table, the limit is at least one byte of payload; without one, the kernel's subtraction
            // wraps.
            let bytes = match order.overhead {
                0 => bytes,
                overhead => (bytes.wrapping_sub(overhead) as i32).max(HEADER_BYTES as i32 + 1) as u32,
            };
            Some(bytes.wrapping_sub(HEADER_BYTES)).filter(|sdu| *sdu <= MTU_MAX).unwrap_or(u32::MAX)
        };
        from_gates.min(from_file).saturating_add(HEADER_BYTES)
    }

    /// `setup_first_end_time`.
    fn begin_at(&mut self, start_ns: i64, picos_per_byte: u64) {
        let classes = self.open_for_ns.len() / self.entries.len();
        self.cycle_end_ns = start_ns + self.cycle_ns;
        self.entries[0].end_ns = start_ns + self.entries[0].interval_ns;
        self.note_closings(0, classes, start_ns);
        self.fill_budgets(0, classes, picos_per_byte);
    }

    fn note_closings(&mut self, entry: usize, classes: usize, start_ns: i64) {
        for cell in entry * classes..(entry + 1) * classes {
            let open_for_ns = self.open_for_ns[cell] as i64;
            self.closes_ns[cell] =
                if open_for_ns == self.cycle_ns { NEVER_NS } else { start_ns + open_for_ns };
        }
    }

    /// `taprio_set_budgets`.
    fn fill_budgets(&mut self, entry: usize, classes: usize, picos_per_byte: u64) {
        for cell in entry * classes..(entry + 1) * classes {
            let open_for_ns = self.open_for_ns[cell];
            self.budgets[cell] = if open_for_ns as i64 == self.cycle_ns {
                UNLIMITED
            } else {
                i64::from((open_for_ns * 1000 / picos_per_byte) as i32)
            };
        }
    }
}

#[cfg(test)]
mod tests;
