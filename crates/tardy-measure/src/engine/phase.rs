//! One phase: starts loads and a source, watches them until the source ends, and adds their numbers to the run.

use std::rc::Rc;

use tardy_host::watch::Occasion;
use tardy_record::event::EventKind;
use tardy_record::plan::PhasePlan;
use tardy_record::reason::{self, Reason};
use tardy_record::series::Change;
use tardy_record::stop_rule::{Decision, RuledEnd};
use tardy_sys::clock::Clock;
use tardy_sys::memory;

use super::interruption::{Demand, Interruption};
use super::listener::UserRequest;
use super::observer::Observer;
use super::phase_map::PhaseMap;
use super::reading::{BrokenWait, Counted, OwnReads, Reading};
use super::source::{Finished, KillReason, Parts, PhaseContext, Ready, Source, Sources};
use super::supervisor::Supervisor;

/// Time between two readings of the source, the loads and the watchers.
const TICK_NS: u64 = 1_000_000_000;

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As planned.
    Complete,
    /// The user, a signal or an error that invalidates the phase ended it early.
    Interrupted,
}

/// Runs phase `index` of the plan.
///
/// # Errors
/// A message for the user, if the phase could not be set up, or ended without a series.
pub(super) fn run<'r>(
    supervisor: &mut Supervisor<'r>,
    sources: &dyn Sources<'r>,
    index: usize,
) -> Result<End, String> {
    supervisor.start_loads(&supervisor.request.plan.phases[index])?;
    let mut phase = Phase::make(supervisor, sources, index)?;
    let ready = phase.set_up(supervisor)?;
    phase.announce(supervisor, ready);
    phase.start(supervisor)?;
    phase.wait_for_end(supervisor);
    let end = phase.end(supervisor);
    phase.finish(supervisor)?;
    Ok(end)
}

/// Why a wait ended.
struct Woken {
    is_interrupted: bool,
    /// Whether the listener has requests of the user.
    has_requests: bool,
    /// Whether each descriptor of the source is readable.
    of_source: Vec<bool>,
}

/// A phase in progress. Dropping it cleans up, in the order of the fields: the source releases its pins before the
/// observers restore them, and both release the map.
struct Phase<'r> {
    source: Box<dyn Source + 'r>,
    observers: Vec<Box<dyn Observer + 'r>>,
    map: Rc<PhaseMap>,
    plan: &'r PhasePlan,
    index: usize,
    interruption: Interruption,
    is_killed: bool,
    /// Since the previous reading.
    broken_waits: Vec<BrokenWait>,
    /// When the counted part begins, in ns from the start of the run; `None` once it has begun.
    counts_from_ns: Option<u64>,
}

impl<'r> Phase<'r> {
    /// Creates the map, the source and the observers.
    fn make(supervisor: &Supervisor<'r>, sources: &dyn Sources<'r>, index: usize) -> Result<Self, String> {
        let request = supervisor.request;
        let plan = &request.plan.phases[index];
        let layout = sources.map_layout(request, plan);
        let map = Rc::new(PhaseMap::create(&request.origin.id, index, layout)?);
        let clock = Rc::clone(&supervisor.clock);
        let Parts { source, observers } =
            sources.make(PhaseContext { request, index, plan, map: Rc::clone(&map), clock })?;
        Ok(Self {
            source,
            observers,
            map,
            plan,
            index,
            interruption: Interruption::default(),
            is_killed: false,
            broken_waits: Vec::new(),
            counts_from_ns: None,
        })
    }

    /// Prepares the observers and sets up the source, which then waits for the common start.
    fn set_up(&mut self, supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        supervisor.watchers.read_before(supervisor.clock.now_ns());
        for observer in &mut self.observers {
            observer.prepare(supervisor)?;
        }
        self.source.set_up(supervisor)
    }

    /// Writes the phase into the run file, and informs the listener.
    fn announce(&mut self, supervisor: &mut Supervisor<'_>, ready: Ready) {
        supervisor.begin_phase(self.plan, ready.remarks);
        self.source.add_to_run(&mut supervisor.run);
        supervisor.checkpoint();
        supervisor.listener.threads(&ready.tids, &ready.granted);
    }

    /// Starts the observers and the source.
    fn start(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        for observer in &mut self.observers {
            observer.attach(supervisor)?;
        }
        let run_start_ns = supervisor.clock.start_ns();
        let mut start_ns = run_start_ns + supervisor.clock.now_ns() + self.source.start_delay_ns();
        if let Some(clock) = supervisor.request.starts_on_second_of {
            start_ns = next_second_ns(start_ns, clock.ahead_of_ns(Clock::Monotonic));
        }
        let from_ns = start_ns.saturating_add(self.source.warmup_ns(self.plan.warmup_ns));
        let to_ns = from_ns.saturating_add(self.plan.planned_ns());
        let counted = Counted { run_start_ns, start_ns, from_ns, to_ns };
        for observer in &mut self.observers {
            observer.begin(counted)?;
        }
        // If the supervisor shares a measured CPU, the phase may be over before its next reading.
        supervisor.loads.read(supervisor.clock.now_ns());
        let housekeeping_cpu = supervisor.request.plan.housekeeping_cpu;
        supervisor.watchers.avoid(self.source.wakes_on(housekeeping_cpu, start_ns));
        release_memory(supervisor);
        self.source.start(counted)?;
        self.counts_from_ns = Some(counted.counted_from_ns());
        Ok(())
    }

    /// Wakes once per second, and when the source or an observer needs it, until the source has ended.
    fn wait_for_end(&mut self, supervisor: &mut Supervisor<'_>) {
        let mut next_tick_ns = supervisor.clock.now_ns() + TICK_NS;
        while !self.is_over() {
            let Some(woken) = self.wait(supervisor, next_tick_ns) else { break };
            self.begin_to_count(supervisor);
            if woken.is_interrupted {
                self.interrupt(supervisor);
            }
            if woken.has_requests {
                self.answer_requests(supervisor);
            }
            let reasons = self.source.on_wake(&woken.of_source);
            self.invalidate(supervisor, reasons);
            self.each_observer(supervisor, |observer, supervisor| observer.on_wake(supervisor));
            if supervisor.clock.now_ns() >= next_tick_ns {
                self.tick(supervisor);
                release_memory(supervisor);
                next_tick_ns = supervisor.clock.now_ns() + TICK_NS;
            }
            self.kill_if_unresponsive(supervisor);
        }
    }

    fn is_over(&self) -> bool {
        self.is_killed || self.source.has_ended()
    }

    /// Waits for a signal, a request of the user, a descriptor of the source, or the next time at which something is due. `None` if waiting
    /// failed, which invalidates the phase.
    fn wait(&mut self, supervisor: &mut Supervisor<'_>, next_tick_ns: u64) -> Option<Woken> {
        let mut descriptors = vec![supervisor.signals.descriptor()];
        descriptors.extend(supervisor.listener.descriptors());
        let of_source = descriptors.len();
        descriptors.extend(self.source.descriptors());
        let next_ns = next_tick_ns.min(self.counts_from_ns.unwrap_or(u64::MAX));
        let until_next_ns = next_ns.saturating_sub(supervisor.clock.now_ns());
        let observers_ns = self.observers.iter().map(|observer| observer.wait_ns()).min();
        let at_most_ns = until_next_ns.min(self.source.wait_ns()).min(observers_ns.unwrap_or(u64::MAX));
        let (from_ns, slept_before) = (supervisor.clock.now_ns(), supervisor.clock.sleeps());
        let waited = supervisor.clock.wait(&descriptors, at_most_ns);
        let sleeps = supervisor.clock.sleeps() - slept_before;
        let (due_ns, to_ns) = (from_ns.saturating_add(at_most_ns), supervisor.clock.now_ns());
        BrokenWait { from_ns, due_ns, to_ns }.note(sleeps, &mut self.broken_waits);
        match waited {
            Ok(mut readable) => {
                let of_source = readable.split_off(of_source);
                let is_interrupted = readable[0] && supervisor.signals.take();
                Some(Woken { is_interrupted, has_requests: readable[1..].contains(&true), of_source })
            }
            Err(error) => {
                let reason = Reason::SupervisorCannotWait { error: error.to_string() };
                supervisor.invalidate(self.index, reason);
                None
            }
        }
    }

    /// Notifies the loads once the warm-up is over.
    fn begin_to_count(&mut self, supervisor: &mut Supervisor<'_>) {
        if self.counts_from_ns.is_some_and(|from_ns| supervisor.clock.now_ns() >= from_ns) {
            self.counts_from_ns = None;
            supervisor.loads.begin_phase(self.index, supervisor.clock.now_ns());
        }
    }

    /// The user has interrupted: asks the source to end the first time, and kills it the second time.
    fn interrupt(&mut self, supervisor: &mut Supervisor<'_>) {
        if !self.interruption.is_by_user() {
            supervisor.listener.interrupted();
        }
        self.end_early(supervisor);
    }

    /// Answers the user's keys. A second request to end has no effect; only a second signal kills the source.
    fn answer_requests(&mut self, supervisor: &mut Supervisor<'_>) {
        for request in supervisor.listener.requests() {
            match request {
                UserRequest::End if !self.interruption.is_by_user() => self.interrupt(supervisor),
                UserRequest::End => {}
                UserRequest::Mark => supervisor.mark(),
            }
        }
    }

    fn end_early(&mut self, supervisor: &mut Supervisor<'_>) {
        match self.interruption.request(supervisor.clock.now_ns()) {
            Demand::End => {
                supervisor.note(EventKind::Interrupted, "asked to end", 0);
                self.source.stop();
            }
            Demand::Kill => self.kill(supervisor, KillReason::InterruptedTwice),
        }
    }

    /// Ends the phase if the plan has a rule by which its data end it.
    fn end_by_rule(&mut self, supervisor: &mut Supervisor<'_>) {
        let Some(rule) = supervisor.request.plan.until else { return };
        self.refresh_series(supervisor);
        let decision = self.decision(supervisor);
        if decision.is_some_and(|decision| rule.ends_at(decision)) {
            supervisor.note(EventKind::Phase, &format!("phase '{}' is decided", self.plan.label), 0);
            self.interruption.end_by_rule(supervisor.clock.now_ns());
            self.source.stop();
        }
    }

    /// What the readings in the run show about the plan's claim; `None` if the plan has no rule.
    fn decision(&self, supervisor: &Supervisor<'_>) -> Option<Decision> {
        let decide = supervisor.request.decide.filter(|_| supervisor.request.plan.until.is_some())?;
        Some(decide(&supervisor.run, self.index))
    }

    fn kill_if_unresponsive(&mut self, supervisor: &mut Supervisor<'_>) {
        let patience_ns = self.source.stop_patience_ns();
        if !self.is_over() && self.interruption.is_overdue(supervisor.clock.now_ns(), patience_ns) {
            self.kill(supervisor, KillReason::Unresponsive);
        }
    }

    fn kill(&mut self, supervisor: &mut Supervisor<'_>, reason: KillReason) {
        self.is_killed = true;
        let reasons = self.source.kill(reason);
        self.invalidate(supervisor, reasons);
    }

    /// Reads everything, reports, and writes a checkpoint if one is due.
    fn tick(&mut self, supervisor: &mut Supervisor<'_>) {
        let now_ns = supervisor.clock.now_ns();
        let (changes, overlaps) = self.read_watchers(supervisor, now_ns, Occasion::Tick);
        supervisor.loads.read(now_ns);
        let broken_waits = std::mem::take(&mut self.broken_waits);
        let (changes, overlaps, broken_waits) = (&changes, &overlaps, &broken_waits);
        let reading = Reading { now_ns, changes, overlaps, broken_waits, is_last: false };
        self.each_observer(supervisor, |observer, _| observer.collect());
        let reasons = self.source.read(&reading);
        self.invalidate(supervisor, reasons);
        self.each_observer(supervisor, |observer, supervisor| observer.read(supervisor, &reading));
        supervisor.report(self.index, self.source.as_ref(), self.interruption.is_requested());
        let is_useless = !supervisor.is_valid(self.index);
        if !self.interruption.is_by_user() && (is_useless || supervisor.listener.wants_end()) {
            self.end_early(supervisor);
        }
        if !self.interruption.is_requested() {
            self.end_by_rule(supervisor);
        }
        if !supervisor.request.is_in_guest {
            self.keep_progress(supervisor, now_ns);
        }
    }

    fn keep_progress(&mut self, supervisor: &mut Supervisor<'_>, now_ns: u64) {
        if supervisor.checkpoint_is_due(now_ns, self.map.has_counters()) {
            self.refresh(supervisor);
            supervisor.checkpoint();
        } else if self.map.has_counters() && supervisor.request.fake.is_none() {
            supervisor.write_counters(now_ns, self.index, self.map.shared());
        }
    }

    /// Reads the watchers. Returns the notable changes since the previous reading, and the reads that overlapped a wake-up.
    fn read_watchers(
        &self,
        supervisor: &mut Supervisor<'_>,
        now_ns: u64,
        occasion: Occasion,
    ) -> (Vec<Change>, OwnReads) {
        supervisor.watchers.read(now_ns, occasion);
        let reasons = supervisor.watchers.take_reasons();
        self.invalidate(supervisor, reasons);
        (supervisor.watchers.recent_changes(), supervisor.take_overlaps())
    }

    /// Updates the run from the last readings.
    fn refresh(&self, supervisor: &mut Supervisor<'_>) {
        self.refresh_series(supervisor);
        let run = &mut supervisor.run;
        self.source.add_to_run(run);
        if let Some(from_ns) = self.source.progress().counted_from_ns {
            run.phases[self.index].start_ns = from_ns;
        }
        supervisor.account_for_samples(self.is_over());
        supervisor.refresh_environment();
        supervisor.run.refresh_progress();
    }

    /// Updates the series of the run from the last readings.
    fn refresh_series(&self, supervisor: &mut Supervisor<'_>) {
        let run = &mut supervisor.run;
        let mut series = self.source.series();
        self.observers.iter().for_each(|observer| observer.add_to(&mut series));
        run.series.retain(|series| series.phase < self.index);
        run.series.extend(series);
    }

    /// How the phase ended.
    fn end(&self, supervisor: &Supervisor<'_>) -> End {
        let is_cut_off = self.interruption.is_by_user() || !supervisor.is_valid(self.index);
        if is_cut_off { End::Interrupted } else { End::Complete }
    }

    /// Takes the final numbers and writes them. Removes the map only after that.
    fn finish(mut self, supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        let Finished { remarks, reasons } = self.source.finish();
        supervisor.remark(self.index, remarks);
        self.invalidate(supervisor, reasons);
        if self.counts_from_ns.take().is_some() {
            supervisor.loads.begin_phase(self.index, supervisor.clock.now_ns());
        }
        supervisor.loads.end_phase(supervisor.clock.now_ns());
        let now_ns = supervisor.clock.now_ns();
        let (changes, overlaps) = self.read_watchers(supervisor, now_ns, Occasion::Boundary);
        let remarks = supervisor.watchers.take_remarks();
        supervisor.remark(self.index, remarks);
        let broken_waits = std::mem::take(&mut self.broken_waits);
        let (changes, overlaps, broken_waits) = (&changes, &overlaps, &broken_waits);
        let reading = Reading { now_ns, changes, overlaps, broken_waits, is_last: true };
        let reasons = self.source.read(&reading);
        self.invalidate(supervisor, reasons);
        self.each_observer(supervisor, |observer, supervisor| observer.finish(supervisor, &reading));
        supervisor.run.self_cost.extend(self.source.costs());
        let end_ns = self.source.progress().counted_to_ns.unwrap_or(now_ns);
        supervisor.run.phases[self.index].end_ns = Some(end_ns);
        self.refresh(supervisor);
        let early = self.interruption.is_by_rule();
        let until = self.decision(supervisor).map(|decision| RuledEnd { decision, early });
        supervisor.run.phases[self.index].until = until;
        supervisor.end_phase(self.index);
        self.remove_map(supervisor);
        self.require_series(supervisor)
    }

    fn remove_map(&self, supervisor: &mut Supervisor<'_>) {
        if let Err(error) = self.map.remove() {
            let warning = format!("{} could not be removed: {error}", self.map.shared().path().display());
            supervisor.note(EventKind::Warning, &warning, 0);
        }
    }

    /// Returns the reasons as an error if the phase is invalid and has no series, unless its source may lack series.
    fn require_series(&self, supervisor: &Supervisor<'_>) -> Result<(), String> {
        let has_series = supervisor.run.series.iter().any(|series| series.phase == self.index);
        if has_series || self.source.may_lack_series() || supervisor.is_valid(self.index) {
            return Ok(());
        }
        Err(reason::joined(&supervisor.run.phases[self.index].spoilt_by))
    }

    fn invalidate(&self, supervisor: &mut Supervisor<'_>, reasons: Vec<Reason>) {
        reasons.into_iter().for_each(|reason| supervisor.invalidate(self.index, reason));
    }

    /// Calls every observer. An error invalidates the phase; the remaining observers are called nevertheless.
    fn each_observer(
        &mut self,
        supervisor: &mut Supervisor<'_>,
        mut call: impl FnMut(&mut (dyn Observer + 'r), &mut Supervisor<'_>) -> Result<(), String>,
    ) {
        for observer in &mut self.observers {
            if let Err(reason) = call(observer.as_mut(), supervisor) {
                supervisor.invalidate(self.index, Reason::from(reason));
            }
        }
    }
}

/// Releases the memory that the supervisor does not need until its next tick, unless it measures itself. Mapping it again took the
/// standard kernel of a guest up to 10 us.
fn release_memory(supervisor: &Supervisor<'_>) {
    if !supervisor.request.measures_in_process && !supervisor.request.is_in_guest {
        memory::release_unused();
    }
}

/// The first moment from `from_ns` on, on the monotonic clock, at which a clock that is `ahead_ns` ahead of it shows a full second.
fn next_second_ns(from_ns: u64, ahead_ns: i64) -> u64 {
    const SECOND_NS: i64 = 1_000_000_000;
    let past_second_ns = (from_ns as i64).wrapping_add(ahead_ns).rem_euclid(SECOND_NS);
    from_ns + (SECOND_NS - past_second_ns).rem_euclid(SECOND_NS) as u64
}

#[cfg(test)]
mod tests {
    use super::next_second_ns;

    #[test]
    fn a_phase_can_start_on_a_full_second_of_its_clock() {
        assert_eq!(next_second_ns(1_200_000_000, 0), 2_000_000_000);
        assert_eq!(next_second_ns(2_000_000_000, 0), 2_000_000_000);
        assert_eq!(next_second_ns(2_000_000_001, 300_000_000), 2_700_000_000);
        assert_eq!(next_second_ns(2_000_000_000, -300_000_000), 2_300_000_000);
    }
}
