//! The trace for the causes of late wake-ups: an overwriting ring buffer that the late thread stops. The supervisor
//! then reads and restarts it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tardy_record::moment::{Happening, MOMENT_EVENTS_MAX, Moment, MomentEvent, OPEN_MAX, still_open};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;

use super::happenings::HappeningLayouts;
use super::instance::Instance;
use super::page::Piece;
use super::reader::TraceReader;
use super::symbols;
use super::tracefs::Tracefs;

/// A moment begins this long before the deadline, so that it shows what ran when the timer should have fired.
const BEFORE_NS: u64 = 100_000;
/// Time before the deadline in which to search for activities that had not ended; at least the wake-up's lateness.
const LOOK_BACK_NS: u64 = 5_000_000;

/// The trace instance with its reader.
pub struct MomentTrace {
    /// Dropped before the instance, which cannot be removed while its pipes are open.
    reader: TraceReader,
    instance: Instance,
    layouts: HappeningLayouts,
    files: KernelFiles,
    /// Time of the last start, on the monotonic clock.
    on_since_ns: u64,
}

/// An event on one CPU.
#[derive(Clone, Debug)]
struct Happened {
    at_ns: u64,
    what: Happening,
}

/// The content of a stopped trace, by CPU.
#[derive(Clone, Debug, Default)]
pub struct Stopped {
    cpus: BTreeMap<u32, OneCpu>,
}

#[derive(Clone, Debug, Default)]
struct OneCpu {
    /// Ordered by time.
    events: Vec<Happened>,
    whole_from_ns: u64,
}

/// A late wake-up. Times on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    /// The thread's number.
    pub tid: u32,
    /// Its real-time priority; 0 for none.
    pub priority: u32,
    /// Its CPU.
    pub cpu: u32,
    /// Its deadline.
    pub deadline_ns: u64,
    /// Time of the wake-up.
    pub at_ns: u64,
}

impl MomentTrace {
    /// Makes a stopped instance for run `id` that records `cpus`, with `buffer_kib` for each.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make(tracefs: &Tracefs, id: &str, cpus: &[u32], buffer_kib: u32) -> Result<Self, String> {
        let (layouts, events) = HappeningLayouts::of(tracefs)?;
        let page = tracefs.page()?;
        let instance = Instance::make(tracefs, &format!("{id}-causes"))?;
        instance.write("trace_clock", "mono")?;
        instance.make_room(cpus, buffer_kib)?;
        instance.watch_only(cpus)?;
        // Otherwise command names are looked up at every context switch, for a text that is never read.
        let _ = instance.write("trace_options", "norecord-cmd");
        for event in events {
            instance.write(&format!("events/{event}/enable"), "1")?;
        }
        let reader = instance.reader(page)?;
        Ok(Self { reader, instance, layouts, files: tracefs.files.clone(), on_since_ns: 0 })
    }

    /// The file that stops the trace when `0` is written to it.
    pub fn stop_file(&self) -> PathBuf {
        self.instance.file("tracing_on")
    }

    /// Starts or stops the trace.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_on(&mut self, on: bool) -> Result<(), String> {
        self.instance.write("tracing_on", if on { "1" } else { "0" })?;
        if on {
            self.on_since_ns = monotonic_ns();
        }
        Ok(())
    }

    /// Reads everything from a stopped trace and keeps the events that the `late` wake-ups need.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take(&mut self, late: &[Late]) -> Result<Stopped, String> {
        let mut stopped = Stopped::default();
        // Thousands of events are read, but only dozens are decoded.
        let from_ns = late.iter().map(Late::wanted_from_ns).min().unwrap_or(u64::MAX);
        let Self { reader, layouts, on_since_ns, .. } = self;
        reader.read(u64::MAX, |cpu, piece| {
            let nothing_yet = || OneCpu { events: Vec::new(), whole_from_ns: *on_since_ns };
            let one = stopped.cpus.entry(cpu).or_insert_with(nothing_yet);
            match piece {
                Piece::Event { at_ns, bytes } => {
                    if at_ns >= from_ns {
                        one.events.extend(layouts.happening(bytes).map(|what| Happened { at_ns, what }));
                    }
                }
                Piece::Lost { before_ns, .. } => {
                    one.events.clear();
                    one.whole_from_ns = before_ns;
                }
            }
        })?;
        Ok(stopped)
    }

    /// Replaces the addresses of timer functions by their names.
    pub fn name_functions<'m>(&self, moments: impl Iterator<Item = &'m mut Moment>) {
        let events = moments.flat_map(|moment| &mut moment.events);
        let mut functions: Vec<&mut String> = events
            .filter_map(|event| match &mut event.what {
                Happening::TimerBegin { function } => Some(function),
                _ => None,
            })
            .collect();
        let addresses: BTreeSet<u64> =
            functions.iter().filter_map(|function| symbols::address(function)).collect();
        if addresses.is_empty() {
            return;
        }
        let names = symbols::names(&self.files, &addresses);
        for function in &mut functions {
            if let Some(name) = symbols::address(function).and_then(|address| names.get(&address)) {
                (*function).clone_from(name);
            }
        }
    }
}

impl Late {
    /// The time from which events of its CPU are decoded.
    fn wanted_from_ns(&self) -> u64 {
        self.deadline_ns.saturating_sub(LOOK_BACK_NS.max(self.at_ns.saturating_sub(self.deadline_ns)))
    }
}

impl Stopped {
    /// The moment of a late wake-up, with timer functions as addresses; `None` if the trace was stopped before the
    /// wake-up, or started so late that most of the delay is missing.
    pub fn moment(&self, late: &Late) -> Option<Moment> {
        let one = self.cpus.get(&late.cpu)?;
        // A trace that another thread stopped lacks the end of this wake-up.
        if one.events.last()?.at_ns < late.deadline_ns {
            return None;
        }
        let from_ns = late.deadline_ns.saturating_sub(BEFORE_NS);
        let begin = one.events.partition_point(|event| event.at_ns < from_ns);
        let end = one.events.partition_point(|event| event.at_ns <= late.at_ns);
        // If there are too many events, the last ones are kept, because they explain the end of the delay.
        let first = begin.max(end.saturating_sub(MOMENT_EVENTS_MAX - OPEN_MAX));
        let whole_from_ns = match first > begin {
            true => one.events[first].at_ns,
            false => one.whole_from_ns.max(from_ns),
        };
        if whole_from_ns > u64::midpoint(late.deadline_ns, late.at_ns) {
            return None;
        }
        let since_deadline = |at_ns: u64| at_ns as i64 - late.deadline_ns as i64;
        let event = |happened: &Happened| MomentEvent {
            at_ns: since_deadline(happened.at_ns),
            what: happened.what.clone(),
        };
        let open = still_open(&one.events[..first], |event| &event.what);
        let events = open.into_iter().chain(&one.events[first..end]);
        Some(Moment {
            tid: late.tid,
            priority: late.priority,
            whole_from_ns: since_deadline(whole_from_ns),
            waits_from_ns: None,
            events: events.map(event).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Late = Late { tid: 7, priority: 90, cpu: 1, deadline_ns: 1_000_000, at_ns: 1_300_000 };

    fn stopped(times_ns: &[u64], whole_from_ns: u64) -> Stopped {
        let happened = |at_ns: &u64| Happened { at_ns: *at_ns, what: Happening::TimerEnd };
        let one = OneCpu { events: times_ns.iter().map(happened).collect(), whole_from_ns };
        Stopped { cpus: BTreeMap::from([(1, one)]) }
    }

    #[test]
    fn a_moment_is_from_before_the_deadline_to_the_wake_up() {
        let times_ns = [500_000, 950_000, 1_000_000, 1_200_000, 1_300_000, 1_300_001];
        let moment = stopped(&times_ns, 400_000).moment(&LATE).unwrap();
        let at_ns: Vec<i64> = moment.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(at_ns, [-50_000, 0, 200_000, 300_000]);
        assert_eq!(moment.whole_from_ns, -100_000);
        assert_eq!(stopped(&times_ns, 980_000).moment(&LATE).unwrap().whole_from_ns, -20_000);
    }

    #[test]
    fn a_trace_that_ended_before_has_no_moment() {
        assert_eq!(stopped(&[900_000, 999_999], 0).moment(&LATE), None);
        assert_eq!(stopped(&[900_000, 1_100_000], 0).moment(&Late { cpu: 0, ..LATE }), None);
        // Started in the last third of the delay.
        assert_eq!(stopped(&[1_250_000, 1_290_000], 1_200_000).moment(&LATE), None);
    }

    #[test]
    fn of_too_many_events_the_last_are_kept_with_their_start() {
        let times_ns: Vec<u64> = (0..MOMENT_EVENTS_MAX as u64 + 100).map(|index| 1_100_000 + index).collect();
        let moment = stopped(&times_ns, 0).moment(&LATE).unwrap();
        assert_eq!(moment.events.len(), MOMENT_EVENTS_MAX - OPEN_MAX);
        assert_eq!(moment.whole_from_ns, 100_000 + 100 + OPEN_MAX as i64);
    }

    #[test]
    fn activities_that_began_earlier_and_continue_are_kept() {
        let begin = |name: &str| Happening::VectorBegin { name: name.to_owned() };
        let end = |name: &str| Happening::VectorEnd { name: name.to_owned() };
        let events = [(500_000, begin("over")), (500_001, end("over")), (600_000, begin("open"))]
            .into_iter()
            .chain([(1_200_000, end("open"))])
            .map(|(at_ns, what)| Happened { at_ns, what })
            .collect();
        let stopped = Stopped { cpus: BTreeMap::from([(1, OneCpu { events, whole_from_ns: 400_000 })]) };
        let moment = stopped.moment(&LATE).unwrap();
        let at_ns: Vec<i64> = moment.events.iter().map(|event| event.at_ns).collect();
        assert_eq!(at_ns, [-400_000, 200_000]);
        assert_eq!(moment.whole_from_ns, -100_000);
    }
}
