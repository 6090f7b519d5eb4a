//! The state that a probe shares with its observers.

use std::cell::{Ref, RefCell, RefMut};
use std::path::PathBuf;
use std::rc::Rc;

use tardy_probe::order::Granted;
use tardy_sys::shared_map::SharedMap;

use super::live_series::LiveSeries;
use super::setup::{Counter, ProbeSetup};
use super::thread_watch::ThreadWatch;
use crate::engine::PhaseContext;

/// The map, its readings, and the threads that count in it.
pub(crate) struct ProbeState<'r> {
    map: Rc<SharedMap>,
    series: RefCell<Vec<LiveSeries<'r>>>,
    tids: RefCell<Vec<u32>>,
    watched: RefCell<ThreadWatch>,
    stop_trace: RefCell<Option<PathBuf>>,
}

impl<'r> ProbeState<'r> {
    /// The state before anything is read.
    pub(crate) fn new(context: &PhaseContext<'r>, setup: &ProbeSetup<'r>) -> Self {
        let map = context.map.shared();
        let run_start_ns = context.clock.start_ns();
        // A phase that its data may end early begins with the shortest slices, or it would have one.
        let ends_by_data = context.request.plan.until.is_some();
        let planned_ns = if ends_by_data { 0 } else { context.plan.planned_ns() };
        let series = |(block, counter): (usize, &Counter<'r>)| {
            let place = counter.place(context.index, run_start_ns);
            let series = LiveSeries::new(Rc::clone(map), block, place, planned_ns);
            if counter.has_gaps { series.with_gaps(planned_ns) } else { series }
        };
        Self {
            map: Rc::clone(map),
            series: RefCell::new(setup.counters.iter().enumerate().map(series).collect()),
            tids: RefCell::default(),
            watched: RefCell::default(),
            stop_trace: RefCell::default(),
        }
    }

    /// The map.
    pub(crate) fn map(&self) -> &SharedMap {
        &self.map
    }

    /// The series, in the order of the map's blocks.
    pub(crate) fn series(&self) -> Ref<'_, Vec<LiveSeries<'r>>> {
        self.series.borrow()
    }

    /// The series for updating, in the order of the map's blocks.
    pub(super) fn series_mut(&self) -> RefMut<'_, Vec<LiveSeries<'r>>> {
        self.series.borrow_mut()
    }

    /// Kernel ids of the measuring threads, once they are ready.
    pub(crate) fn tids(&self) -> Vec<u32> {
        self.tids.borrow().clone()
    }

    /// What other processes may change about the threads.
    pub(super) fn watched(&self) -> RefMut<'_, ThreadWatch> {
        self.watched.borrow_mut()
    }

    /// How the thread of each series is scheduled.
    pub(crate) fn granted(&self) -> Vec<Granted> {
        self.series().iter().map(LiveSeries::granted).collect()
    }

    /// Stores the ids and the scheduling of the threads, once they are ready. They are added to `watched`.
    pub(super) fn set_threads(
        &self,
        tids: &[u32],
        granted: &[Granted],
        setup: &ProbeSetup<'_>,
        mut watched: ThreadWatch,
        is_synthetic: bool,
    ) {
        self.tids.replace(tids.to_vec());
        for (block, (series, counter)) in self.series_mut().iter_mut().zip(&setup.counters).enumerate() {
            // A synthetic probe has no thread for the stimulus.
            let granted = granted.get(counter.thread).or(granted.last());
            granted.into_iter().for_each(|granted| series.set_granted(*granted));
            if let Some(tid) = tids.get(counter.thread).filter(|_| !is_synthetic) {
                watched.add(block, series.cpu(), *tid, series.granted().pinned);
            }
        }
        self.watched.replace(watched);
    }

    /// Sets the file through which a late thread stops the kernel's trace.
    pub(crate) fn set_stop_trace(&self, file: Option<PathBuf>) {
        self.stop_trace.replace(file);
    }

    pub(super) fn stop_trace(&self) -> Option<PathBuf> {
        self.stop_trace.borrow().clone()
    }
}
