//! One phase: probes started, watched until they end, and their series taken over.

use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

use tardy_record::event::EventKind;
use tardy_record::pins::{StimulusPlan, StimulusSource};
use tardy_record::plan::{NoisePlan, PhasePlan, ProbePlan, TimerPlan, Wake};
use tardy_record::series::{Series, SeriesKind};
use tardy_record::wiggle::{Pace, Through, WigglePlan};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::shared_map::{MapError, SharedMap};
use tardy_sys::signals::wait_readable;

use super::cause_watch::CauseWatch;
use super::command_phase;
use super::echo_series::Counted;
use super::echo_watch::EchoWatch;
use super::foreign_phase;
use super::house::House;
use super::level_watch::LevelWatch;
use super::live_series::LiveSeries;
use super::map_place;
use super::probe_child::ProbeChild;
use super::sample_drain::{SampleDrain, Turn};
use super::tracer_phase;
use super::wire_watch::{self, WireWatch};
use crate::pins::{PinGuard, held_by};
use tardy_host::gpio::pwm;
use tardy_host::watch::Occasion;
use tardy_probe::cells::{CELLS, HEADER_RUN_START};
use tardy_probe::order::{DrivenPin, Granted, Order, Reply, Work};
use tardy_probe::sample_ring;
use tardy_probe::timer::reading::{Of, Place};
use tardy_probe::wiggle::made_up_echo;

/// The house wakes this often at the most.
pub(super) const TICK_NS: u64 = 1_000_000_000;
/// The house looks this often for samples of a fake, whose threads wait for it.
const FAKE_SAMPLES_NS: u64 = 1_000_000;
/// From saying go to the common start: time for every thread to reach its first wait.
const START_DELAY_NS: u64 = 50_000_000;
/// How long a probe may take to get ready: it locks and touches its memory, perhaps on a slow board under load.
pub(super) const READY_NS: u64 = 30_000_000_000;
/// How long a probe may take to notice that it shall stop, beyond two of its intervals.
const STOP_GRACE_NS: u64 = 3_000_000_000;

/// How a phase ended.
pub(super) enum End {
    /// As planned.
    Complete,
    /// By a person, a signal, or the end of a probe before its time.
    Interrupted,
}

/// Runs phase `index` of the plan.
pub(super) fn run(house: &mut House<'_>, index: usize) -> Result<End, String> {
    let plan = house.request.plan.phases[index].clone();
    let work = match &plan.probe {
        ProbePlan::Timer(timer) => Work::Timer(timer.clone()),
        ProbePlan::Kernel(kernel) => Work::Timer(kernel.timer.clone()),
        ProbePlan::Noise(noise) => Work::Noise(noise.clone()),
        ProbePlan::Reaction(reaction) => Work::Reaction(reaction.clone()),
        ProbePlan::Wiggle(wiggle) => match &wiggle.pace {
            Pace::Timer(timer) => Work::Timer(timer.clone()),
            Pace::Fastest(fastest) => Work::Toggle(fastest.clone()),
            Pace::Command { words } => return command_phase::run(house, index, &plan, wiggle, words),
        },
        ProbePlan::Tracer(tracer) => return tracer_phase::run(house, index, &plan, tracer),
        ProbePlan::Foreign(foreign) => return foreign_phase::run(house, index, &plan, foreign),
        ProbePlan::Switch(_) => return Err("a switch is tested by 'tardy tsn test'".to_owned()),
    };
    house.start_loads(&plan)?;
    let map = make_map(house, index, &plan, &work)?;
    map.header(HEADER_RUN_START).set(house.clock.start_ns());
    house.watchers.read_before(house.clock.now_ns());
    let mut causes = trace_for_causes(house, &map, &work);
    let stop_trace = causes.as_ref().and_then(CauseWatch::stop_file);
    let guard = watch_over_pins(house, &plan)?;
    let mut echo = open_echo(house, index, &plan).inspect_err(|_| drop(map.remove()))?;
    let mut probes = start_probes(house, &map, index, &plan, &work, stop_trace.as_ref())?;
    let mut live = live_series(house, &map, index, &plan, &work);
    let tids = get_ready(house, &mut probes, &mut live, index, &plan)?;
    let granted: Vec<Granted> = live.iter().map(LiveSeries::granted).collect();
    house.observer.threads(&tids, &granted);
    let mut levels = match &plan.probe {
        ProbePlan::Kernel(kernel) => {
            let started = LevelWatch::start(house, index, &plan, kernel, &tids);
            Some(started.inspect_err(|_| drop(map.remove()))?)
        }
        _ => None,
    };
    let wire = WireWatch::open(house, &map, index, &plan).inspect_err(|_| drop(map.remove()))?;
    let start_ns = house.clock.start_ns() + house.clock.now_ns() + START_DELAY_NS;
    if let Some(levels) = &mut levels {
        levels.set_start(start_ns);
    }
    if let Some(causes) = &mut causes {
        causes.begin(&tids, live.iter().map(LiveSeries::granted), start_ns, &plan);
    }
    if let Some(echo) = &mut echo {
        listen(echo, house, &plan, start_ns).inspect_err(|_| drop(map.remove()))?;
    }
    // A phase may be over before the house, on a CPU that it shares, gets to its next reading.
    house.read_loads(house.clock.now_ns());
    for probe in &mut probes {
        probe.go(start_ns)?;
    }
    let counted_from_ns = house.clock.now_ns() + START_DELAY_NS + plan.warmup_ns;
    let house_start_ns = house.clock.start_ns();
    let mut watch = Watch {
        house,
        map: &map,
        probes,
        live,
        drain: plan.probe.timer().and_then(|timer| SampleDrain::new(&map, index, timer, house_start_ns)),
        levels,
        causes,
        wire,
        echo,
        guard,
        plan: &plan,
        index,
        counts_from_ns: Some(counted_from_ns),
        stopping_since: None,
    };
    let end = watch.until_the_end();
    watch.take_over(end)
}

/// Makes the trace for causes, if it is wanted; where it cannot be had, the measurement goes on without and says so.
fn trace_for_causes<'m>(house: &mut House<'_>, map: &'m SharedMap, work: &Work) -> Option<CauseWatch<'m>> {
    let Work::Timer(timer) = work else { return None };
    let made = CauseWatch::make(house, map, timer, timer.causes?);
    made.inspect_err(|reason| {
        let remark = format!("no cause can be traced: {reason}");
        house.observer.say(&remark);
        house.note(EventKind::Warning, &remark, 0);
    })
    .ok()
}

fn make_map(house: &House<'_>, index: usize, plan: &PhasePlan, work: &Work) -> Result<SharedMap, String> {
    let path = map_place::of_phase(&house.run.origin.id, index)
        .ok_or("the run has no usable id; please report it")?;
    let slots = match work {
        Work::Timer(timer) => {
            let shortest_ns = timer.threads.iter().map(|thread| thread.interval_ns).min().unwrap_or(u64::MAX);
            if house.takes_samples() { sample_ring::slots_for(shortest_ns) } else { 0 }
        }
        Work::Noise(_) | Work::Toggle(_) => sample_ring::GAP_SLOTS,
        Work::Reaction(_) if wire_watch::has_log(house, &plan.probe) => sample_ring::GAP_SLOTS,
        Work::Reaction(_) => 0,
    };
    SharedMap::create_with_rings(&path, work.block_count(), CELLS, slots).map_err(|error| match error {
        MapError::Io { .. } if slots > 0 && house.takes_samples() => format!(
            "{error}; tardy counts in /dev/shm and hands samples over there, at least 4 s of them for each CPU: \
             make room, or leave --samples out"
        ),
        MapError::Io { .. } => {
            format!("{error}; tardy counts in /dev/shm, which must be mounted and writable")
        }
        MapError::Foreign { .. } => error.to_string(),
    })
}

/// Somebody who gives the pins back, whatever becomes of this process and the probe; and a stimulus that no thread makes
/// begins.
pub(super) fn watch_over_pins(house: &House<'_>, plan: &PhasePlan) -> Result<Option<PinGuard>, String> {
    match &plan.probe {
        _ if house.request.fake.is_some() => Ok(None),
        ProbePlan::Reaction(_) | ProbePlan::Wiggle(_) => {
            let files = KernelFiles::real();
            let guard = PinGuard::watch(&house.request.exe, &held_by(&plan.probe, &files)?)?;
            start_pwm(&plan.probe, &files)?;
            Ok(Some(guard))
        }
        _ => Ok(None),
    }
}

/// Claims the input on which a wiggle comes back, if there is one.
fn open_echo(house: &House<'_>, index: usize, plan: &PhasePlan) -> Result<Option<EchoWatch>, String> {
    let ProbePlan::Wiggle(WigglePlan { echo: Some(line), .. }) = &plan.probe else { return Ok(None) };
    EchoWatch::open(index, line, true, house.request.fake.is_some()).map(Some)
}

/// Begins to listen to it, for a probe that starts at `start_ns`.
fn listen(echo: &mut EchoWatch, house: &House<'_>, plan: &PhasePlan, start_ns: u64) -> Result<(), String> {
    let from_ns = start_ns + plan.warmup_ns;
    let to_ns = from_ns.saturating_add(plan.planned_ns());
    echo.begin(Counted { run_start_ns: house.clock.start_ns(), from_ns, to_ns })?;
    if let Some(seed) = house.request.fake {
        echo.make_up(made_up_echo(from_ns, to_ns, plan.probe.longest_interval_ns(), seed));
    }
    Ok(())
}

/// The pin that each cycle writes.
fn driven_pin(plan: &PhasePlan) -> Option<DrivenPin> {
    match &plan.probe {
        ProbePlan::Wiggle(wiggle) => Some(DrivenPin { line: wiggle.output.clone(), through: wiggle.through }),
        _ => None,
    }
}

/// How the pin of a wiggle is written.
fn through(plan: &PhasePlan) -> Through {
    driven_pin(plan).map_or_else(Through::default, |pin| pin.through)
}

fn start_pwm(probe: &ProbePlan, files: &KernelFiles) -> Result<(), String> {
    let ProbePlan::Reaction(reaction) = probe else { return Ok(()) };
    match reaction.stimulus.as_deref() {
        Some(StimulusPlan { source: StimulusSource::Pwm { chip, channel }, period_ns, .. }) => {
            pwm::start(files, chip, *channel, *period_ns)
        }
        _ => Ok(()),
    }
}

/// One probe process, or one for each thread where the method's timer belongs to the process.
fn start_probes(
    house: &House<'_>,
    map: &SharedMap,
    index: usize,
    plan: &PhasePlan,
    work: &Work,
    stop_trace: Option<&PathBuf>,
) -> Result<Vec<ProbeChild>, String> {
    let orders = processes(work).into_iter().map(|(first_block, work)| Order {
        map: map.path().to_owned(),
        first_block,
        house_pid: std::process::id(),
        work,
        pin: driven_pin(plan),
        warmup_ns: plan.warmup_ns,
        span: plan.span,
        thresholds_ns: house.request.plan.thresholds_ns.clone(),
        stop_trace: stop_trace.cloned(),
        // Another dither for every thread of every phase, the same ones in every run.
        seed: house.request.plan.seed.wrapping_add((index * 65_536 + first_block) as u64),
        fake: house.request.fake,
    });
    orders.map(|order| ProbeChild::start(&house.request.exe, &order)).collect()
}

/// The work of each process, and the number of its first thread.
fn processes(work: &Work) -> Vec<(usize, Work)> {
    match work {
        Work::Timer(timer) if timer.wake == Wake::Setitimer => {
            let alone =
                |(index, thread)| (index, Work::Timer(TimerPlan { threads: vec![thread], ..timer.clone() }));
            timer.threads.iter().copied().enumerate().map(alone).collect()
        }
        _ => vec![(0, work.clone())],
    }
}

fn live_series<'a>(
    house: &House<'_>,
    map: &'a SharedMap,
    index: usize,
    plan: &'a PhasePlan,
    work: &'a Work,
) -> Vec<LiveSeries<'a>> {
    let place = |of, policy| Place {
        phase: index,
        of,
        granted: Granted { policy, priority: 0, pinned: false },
        run_start_ns: house.clock.start_ns(),
    };
    let planned_ns = plan.planned_ns();
    let series = |block, place| LiveSeries::new(map.block(block), place, planned_ns);
    match work {
        Work::Timer(timer) => {
            let place = |thread| place(Of::Timer { timer, thread }, timer.policy);
            let threads = timer.threads.iter().enumerate();
            threads.map(|(block, thread)| series(block, place(thread))).collect()
        }
        Work::Noise(NoisePlan { policy, threads, .. }) => {
            let gaps = |(block, thread)| {
                series(block, place(Of::Noise(thread), *policy)).with_gaps(map.ring(block), planned_ns)
            };
            threads.iter().enumerate().map(gaps).collect()
        }
        Work::Reaction(reaction) => {
            let spans = (0..reaction.spans().len()).map(|span| Of::Reaction { reaction, span });
            let all = spans.chain(reaction.echo().map(|_| Of::Echo(reaction)));
            all.enumerate().map(|(block, of)| series(block, place(of, reaction.policy))).collect()
        }
        Work::Toggle(NoisePlan { policy, threads, .. }) => {
            let thread = &threads[0];
            let toggles = series(0, place(Of::Toggles { thread, through: through(plan) }, *policy));
            let holes = series(1, place(Of::Holes(thread), *policy));
            vec![toggles, holes.with_gaps(map.ring(1), planned_ns)]
        }
    }
}

/// Of pins all series are one thread's, but for what comes back to the one that makes a stimulus.
fn grant_pins<'l, 'm: 'l>(threads: &[Granted], series: impl Iterator<Item = &'l mut LiveSeries<'m>>) {
    for series in series {
        let thread = usize::from(series.is_echo()).min(threads.len().saturating_sub(1));
        threads.get(thread).into_iter().for_each(|granted| series.set_granted(*granted));
    }
}

/// Waits until every probe stands ready, and notes what was refused. Gives the ids of the threads.
fn get_ready(
    house: &mut House<'_>,
    probes: &mut [ProbeChild],
    live: &mut [LiveSeries<'_>],
    index: usize,
    plan: &PhasePlan,
) -> Result<Vec<u32>, String> {
    let mut all_tids = Vec::new();
    let mut remarks: Vec<String> = Vec::new();
    let mut next = live.iter_mut();
    for probe in probes {
        let ready = wait_readable(&[probe.descriptor()], READY_NS).map_err(|error| error.to_string())?;
        if !ready[0] {
            return Err(format!(
                "the probe (pid {}) did not get ready within {} s",
                probe.pid(),
                READY_NS / TICK_NS
            ));
        }
        match probe.reply()? {
            Reply::Ready { threads, tids, refused } => {
                all_tids.extend(tids);
                match &plan.probe {
                    ProbePlan::Reaction(_) | ProbePlan::Wiggle(_) => grant_pins(&threads, next.by_ref()),
                    _ => threads
                        .into_iter()
                        .zip(&mut next)
                        .for_each(|(granted, series)| series.set_granted(granted)),
                }
                remarks.extend(refused);
            }
            Reply::Failed { reason } => return Err(reason),
            Reply::Done => return Err("the probe ended before it began; please report it".to_owned()),
        }
    }
    if let ProbePlan::Kernel(kernel) = &plan.probe {
        let alone = kernel.alone_because.as_ref();
        remarks.extend(alone.map(|why| format!("{why}, so nothing checks the events' levels")));
    }
    remarks.sort();
    remarks.dedup();
    for remark in &remarks {
        if !house.run.phases.iter().any(|phase| phase.remarks.contains(remark)) {
            house.observer.say(remark);
        }
    }
    let start_ns = house.clock.now_ns();
    debug_assert_eq!(house.run.phases.len(), index);
    // From here on the map alone is not enough: whoever recovers the run must find its phase in the file.
    house.begin_phase(plan, start_ns, remarks);
    Ok(all_tids)
}

/// Of the same edges the wire's own series answers for the phase: it is what an oscilloscope would have shown.
fn stand_beside(series: &mut Series) {
    if let SeriesKind::Reaction(reaction) = &mut series.kind {
        reaction.beside = true;
    }
}

/// A phase that is under way.
struct Watch<'h, 'o, 'm> {
    house: &'h mut House<'o>,
    map: &'m SharedMap,
    probes: Vec<ProbeChild>,
    live: Vec<LiveSeries<'m>>,
    /// If every sample is kept.
    drain: Option<SampleDrain<'m>>,
    /// If the kernel's events are recorded beside.
    levels: Option<LevelWatch>,
    /// If the kernel is traced for causes.
    causes: Option<CauseWatch<'m>>,
    /// If the stimulus keeps a log of its own.
    wire: Option<WireWatch<'m>>,
    /// If the edges of a pin come back.
    echo: Option<EchoWatch>,
    /// If a pin is driven.
    guard: Option<PinGuard>,
    plan: &'m PhasePlan,
    index: usize,
    /// When the counted part begins, until it has.
    counts_from_ns: Option<u64>,
    stopping_since: Option<u64>,
}

impl Watch<'_, '_, '_> {
    /// Waits until every probe has ended. What spoils the phase on the way goes into its record.
    fn until_the_end(&mut self) -> End {
        let mut next_tick_ns = self.house.clock.now_ns() + TICK_NS;
        while !self.probes.is_empty() {
            let now_ns = self.house.clock.now_ns();
            let fds: Vec<RawFd> = std::iter::once(self.house.signals.as_raw_fd())
                .chain(self.probes.iter().map(ProbeChild::descriptor))
                .collect();
            let next_ns = next_tick_ns.min(self.counts_from_ns.unwrap_or(u64::MAX));
            let wait_ns =
                next_ns.saturating_sub(now_ns).min(self.samples_wait_ns()).min(self.causes_wait_ns());
            let Ok(ready) = wait_readable(&fds, wait_ns) else { break };
            self.begin_to_count();
            if ready[0] && self.house.signals.take().is_some() {
                if self.stopping_since.is_none() {
                    self.house.observer.interrupted();
                }
                self.stop();
            }
            self.hear(&ready[1..]);
            let looked = self.causes.as_mut().map_or(Ok(()), CauseWatch::look);
            self.note_trouble(looked);
            if self.house.request.fake.is_some() {
                self.live.iter_mut().for_each(LiveSeries::take_gaps);
                self.take_samples();
            }
            if self.house.clock.now_ns() >= next_tick_ns {
                self.tick();
                next_tick_ns = self.house.clock.now_ns() + TICK_NS;
            }
            self.give_up_on_the_deaf();
        }
        let cut_off =
            self.stopping_since.is_some() || !self.house.run.phases[self.index].spoilt_by.is_empty();
        if cut_off { End::Interrupted } else { End::Complete }
    }

    /// Tells the loads once the warm-up is over.
    fn begin_to_count(&mut self) {
        if self.counts_from_ns.is_some_and(|from_ns| self.house.clock.now_ns() >= from_ns) {
            self.counts_from_ns = None;
            self.house.loads_begin(self.index);
        }
    }

    /// Asks the probes to end; at the second time, ends them.
    fn stop(&mut self) {
        (0..self.map.block_count()).for_each(|block| self.map.block(block).ask_to_end());
        self.probes.iter_mut().for_each(ProbeChild::say_end);
        if self.stopping_since.is_some() {
            self.probes.clear();
        } else {
            self.stopping_since = Some(self.house.clock.now_ns());
            self.house.note(EventKind::Interrupted, "asked to end", 0);
        }
    }

    fn hear(&mut self, ready: &[bool]) {
        let mut ready = ready.iter();
        let mut reasons = Vec::new();
        self.probes.retain_mut(|probe| {
            if !ready.next().copied().unwrap_or(false) {
                return true;
            }
            match probe.reply() {
                Ok(Reply::Done) => probe.see_out(),
                Ok(Reply::Failed { reason }) | Err(reason) => reasons.push(reason),
                Ok(Reply::Ready { .. }) => {
                    reasons.push("a probe got ready twice; please report it".to_owned())
                }
            }
            false
        });
        for reason in reasons {
            self.house.spoil(self.index, reason);
        }
    }

    /// A probe that waits on a clock that was set back would never see that it shall stop.
    fn give_up_on_the_deaf(&mut self) {
        let patience_ns = STOP_GRACE_NS + 2 * self.plan.probe.longest_interval_ns();
        if self.stopping_since.is_some_and(|since| self.house.clock.now_ns() > since + patience_ns) {
            for probe in self.probes.drain(..) {
                let reason =
                    format!("the probe (pid {}) did not stop when asked, and was killed", probe.pid());
                self.house.spoil(self.index, reason);
            }
        }
    }

    /// Once a second: read everything, say how far it is, write if it is time.
    fn tick(&mut self) {
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Tick);
        self.house.read_loads(now_ns);
        let changes = self.house.watchers.recent_changes();
        let collected = self.levels.as_mut().map_or(Ok(()), LevelWatch::collect);
        self.note_trouble(collected);
        for series in &mut self.live {
            series.take_gaps();
            series.read();
            series.cut_slice(false);
            series.annotate_worst(&changes);
        }
        self.collect_wire();
        if let Some(levels) = &mut self.levels {
            levels.count(&self.live);
            levels.annotate_worst(now_ns, &changes);
        }
        self.take_samples();
        self.report();
        if self.stopping_since.is_none() && self.house.observer.wants_end() {
            self.stop();
        }
        if self.house.file.is_due(now_ns) {
            self.refresh();
            self.house.checkpoint();
        }
    }

    /// Takes what the wire noted, once the cells say from when the thread counts, and what went wrong with an echo.
    fn collect_wire(&mut self) {
        let trouble = self.echo.as_mut().and_then(EchoWatch::take_trouble);
        self.note_trouble(trouble.map_or(Ok(()), Err));
        let Some(wire) = &mut self.wire else { return };
        let collected = wire.collect(&self.live[0]);
        self.note_trouble(collected);
    }

    /// Notes, once, that the kernel's trace could not be read.
    fn note_trouble(&mut self, outcome: Result<(), String>) {
        if let Err(reason) = outcome {
            self.house.spoil(self.index, reason);
        }
    }

    /// How long samples may wait besides: the tick is soon enough for all but a fake's.
    fn samples_wait_ns(&self) -> u64 {
        let rings = self.drain.is_some() || self.live.iter().any(LiveSeries::has_gaps);
        if rings && self.house.request.fake.is_some() { FAKE_SAMPLES_NS } else { u64::MAX }
    }

    /// How long the trace for causes may wait.
    fn causes_wait_ns(&self) -> u64 {
        let next_ns = self.causes.as_ref().map_or(u64::MAX, CauseWatch::next_look_ns);
        next_ns.saturating_sub(monotonic_ns())
    }

    fn take_samples(&mut self) {
        // A fake that has failed is in no order any more, and its other threads must not wait for it.
        let fake = self.house.request.fake.is_some();
        let orderly =
            fake && !self.probes.is_empty() && self.house.run.phases[self.index].spoilt_by.is_empty();
        let turn = if orderly { Turn::OneByOne } else { Turn::All };
        if let Some(drain) = &mut self.drain {
            drain.drain(self.house, &self.live, turn);
        }
    }

    fn report(&mut self) {
        let cells = || self.live.iter().filter_map(|series| Some((series.cells()?, series.cpu())));
        let counted_ns = cells().map(|(cells, _)| cells.counted_to_ns() - cells.counted_from_ns()).max();
        let worst = cells().filter_map(|(cells, cpu)| Some((cells.max_ns()?, cpu))).max();
        let missed = cells().map(|(cells, _)| cells.missed()).sum();
        self.house.report(self.index, counted_ns.unwrap_or(0), worst, missed);
    }

    /// Brings the run up to date with the last readings.
    fn refresh(&mut self) {
        let run = &mut self.house.run;
        run.series.retain(|series| series.phase < self.index);
        for (index, live) in self.live.iter().enumerate() {
            let Some(mut series) = live.series() else { continue };
            if let Some(causes) = &self.causes {
                causes.add_to(index, &mut series);
            }
            run.series.push(series);
        }
        run.series.extend(self.levels.iter().flat_map(LevelWatch::series));
        let wire: Vec<Series> =
            self.wire.iter().flat_map(|wire| wire.series(self.live[0].granted())).collect();
        if !wire.is_empty() {
            run.series.iter_mut().filter(|series| series.phase == self.index).for_each(stand_beside);
        }
        run.series.extend(wire);
        run.series.extend(self.echo.iter().filter_map(EchoWatch::series));
        let counted: Vec<_> = self.live.iter().filter_map(LiveSeries::cells).collect();
        if let Some(from_ns) = counted.iter().map(|cells| cells.counted_from_ns()).min() {
            run.phases[self.index].start_ns = from_ns.saturating_sub(self.house.clock.start_ns());
        }
        self.house.account_for_samples(self.probes.is_empty());
        self.house.refresh_surroundings();
        self.house.run.refresh_progress();
    }

    /// When the last counted wake-up was, in ns from the start of the run.
    fn counted_to_ns(&self) -> u64 {
        let counted = self.live.iter().filter_map(LiveSeries::cells).map(|cells| cells.counted_to_ns()).max();
        counted.map_or(self.house.clock.now_ns(), |ns| ns.saturating_sub(self.house.clock.start_ns()))
    }

    /// Takes the final numbers over into the run, writes it, and only then removes the map.
    fn take_over(&mut self, end: End) -> Result<End, String> {
        for series in &mut self.live {
            series.take_gaps();
            series.read_remains();
            let counted_to = series.cells().map_or(0, |cells| cells.counted_to_ns());
            self.house.clock.advance_to(counted_to.saturating_sub(self.house.clock.start_ns()));
        }
        self.echo.iter_mut().for_each(EchoWatch::end);
        self.collect_wire();
        self.house.give_back(self.guard.take());
        self.take_samples();
        self.begin_to_count();
        self.house.loads_end();
        self.house.watchers.read(self.house.clock.now_ns(), Occasion::Boundary);
        let changes = self.house.watchers.recent_changes();
        for series in &mut self.live {
            series.cut_slice(true);
            series.annotate_worst(&changes);
        }
        let now_ns = self.house.clock.now_ns();
        let finished = self.levels.as_mut().map_or(Ok(()), |levels| {
            let outcome = levels.finish(&self.live);
            levels.annotate_worst(now_ns, &changes);
            outcome
        });
        self.note_trouble(finished);
        let finished = self.causes.as_mut().map_or(Ok(()), CauseWatch::finish);
        self.note_trouble(finished);
        self.house.run.self_cost.extend(self.live.iter().filter_map(LiveSeries::cost));
        self.house.run.phases[self.index].end_ns = Some(self.counted_to_ns());
        self.refresh();
        self.house.end_phase(self.index);
        if let Err(error) = self.map.remove() {
            self.house.note(
                EventKind::Warning,
                &format!("{} was left behind: {error}", self.map.path().display()),
                0,
            );
        }
        if self.house.run.series.iter().all(|series| series.phase != self.index) {
            let reasons = self.house.run.phases[self.index].spoilt_by.join("; ");
            if !reasons.is_empty() {
                return Err(reasons);
            }
        }
        Ok(end)
    }
}
