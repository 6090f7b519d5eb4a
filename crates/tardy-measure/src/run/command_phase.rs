//! A phase in which another program wiggles the pin, and tardy only listens to the echo: the baseline of another language.

use std::os::fd::AsRawFd;

use tardy_record::event::EventKind;
use tardy_record::plan::PhasePlan;
use tardy_record::wiggle::WigglePlan;
use tardy_sys::signals::wait_readable;

use super::echo_series::Counted;
use super::echo_watch::EchoWatch;
use super::house::House;
use super::phase::{End, TICK_NS, watch_over_pins};
use super::program::{self, Program, last_line};
use super::tracer_phase::SignOfLife;
use crate::pins::PinGuard;
use tardy_host::watch::Occasion;
use tardy_probe::wiggle::made_up_echo;

/// A made-up program's period.
const FAKE_PERIOD_NS: u64 = 40_000;

/// Runs phase `index` of the plan, in which `words` wiggle the pin.
pub(super) fn run(
    house: &mut House<'_>,
    index: usize,
    plan: &PhasePlan,
    wiggle: &WigglePlan,
    words: &[String],
) -> Result<End, String> {
    let line = wiggle.echo.as_ref().ok_or("the plan names no echo; please report it")?;
    house.start_loads(plan)?;
    let _sign = SignOfLife::make(&house.run.origin.id, index)?;
    let begin_ns = house.clock.now_ns();
    house.watchers.read_before(begin_ns);
    let fake = house.request.fake;
    let guard = watch_over_pins(house, plan)?;
    let mut echo = EchoWatch::open(index, line, false, fake.is_some())?;
    let program = if fake.is_some() { None } else { Some(Program::start(words)?) };
    house.begin_phase(plan, begin_ns, Vec::new());
    let from_ns = begin_ns + plan.warmup_ns;
    let to_ns = from_ns.saturating_add(plan.planned_ns());
    let run_start_ns = house.clock.start_ns();
    let counted =
        Counted { run_start_ns, from_ns: run_start_ns + from_ns, to_ns: run_start_ns.saturating_add(to_ns) };
    echo.begin(counted)?;
    if let Some(seed) = fake {
        echo.make_up(made_up_echo(counted.from_ns, counted.to_ns, FAKE_PERIOD_NS, seed));
        house.clock.advance_to(to_ns);
    }
    let mut watch = Watch {
        house,
        index,
        from_ns,
        to_ns,
        echo,
        program,
        guard,
        said: Vec::new(),
        has_begun: false,
        stopping: false,
    };
    let end = watch.until_the_end()?;
    watch.take_over();
    Ok(end)
}

/// A phase that is under way. Times are ns from the start of the run.
struct Watch<'h, 'o> {
    house: &'h mut House<'o>,
    index: usize,
    from_ns: u64,
    to_ns: u64,
    echo: EchoWatch,
    /// A fake runs none.
    program: Option<Program>,
    guard: Option<PinGuard>,
    /// What the program printed.
    said: Vec<u8>,
    /// Whether the counted part has.
    has_begun: bool,
    stopping: bool,
}

impl Watch<'_, '_> {
    /// Waits until the time is over, a person ends it, or the program has ended before its time.
    fn until_the_end(&mut self) -> Result<End, String> {
        let mut next_tick_ns = self.house.clock.now_ns() + TICK_NS;
        let mut is_open = true;
        loop {
            let now_ns = self.house.clock.now_ns();
            if now_ns >= self.from_ns && !std::mem::replace(&mut self.has_begun, true) {
                self.house.loads_begin(self.index);
            }
            if now_ns >= self.to_ns {
                break;
            }
            let Some(program) = &mut self.program else { break };
            let mut fds = vec![self.house.signals.as_raw_fd()];
            fds.extend(is_open.then(|| program.output_fd()));
            let next_ns =
                next_tick_ns.min(self.to_ns).min(if self.has_begun { u64::MAX } else { self.from_ns });
            let ready =
                wait_readable(&fds, next_ns.saturating_sub(now_ns)).map_err(|error| error.to_string())?;
            if ready[0] && self.house.signals.take().is_some() {
                self.house.note(EventKind::Interrupted, "asked to end", 0);
                self.house.observer.interrupted();
                self.stopping = true;
                break;
            }
            if ready.get(1).is_some_and(|ready| *ready) {
                is_open = !program.read(&mut self.said);
            }
            if program.has_ended() {
                self.program_ended_early();
                break;
            }
            if self.house.clock.now_ns() >= next_tick_ns {
                next_tick_ns = self.house.clock.now_ns() + TICK_NS;
                self.tick();
                if self.house.observer.wants_end() {
                    self.stopping = true;
                    break;
                }
            }
        }
        let spoilt = !self.house.run.phases[self.index].spoilt_by.is_empty();
        Ok(if self.stopping || spoilt { End::Interrupted } else { End::Complete })
    }

    fn program_ended_early(&mut self) {
        let Some(mut program) = self.program.take() else { return };
        program.read(&mut self.said);
        let how = program.end().map_or_else(|| "nobody knows how".to_owned(), program::how);
        self.house.spoil(
            self.index,
            format!(
                "the program that wiggles the pin ended before the phase did, with {how}: {}",
                last_line(&self.said)
            ),
        );
    }

    fn tick(&mut self) {
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Tick);
        self.house.read_loads(now_ns);
        if let Some(trouble) = self.echo.take_trouble() {
            self.house.spoil(self.index, trouble);
        }
        self.house.report(self.index, now_ns.saturating_sub(self.from_ns), None, 0);
        if self.house.file.is_due(now_ns) {
            self.refresh();
            self.house.checkpoint();
        }
    }

    fn refresh(&mut self) {
        let run = &mut self.house.run;
        run.series.retain(|series| series.phase < self.index);
        run.series.extend(self.echo.series());
        run.phases[self.index].start_ns = self.from_ns;
        self.house.refresh_surroundings();
        self.house.run.refresh_progress();
    }

    /// Ends the program and the listening, gives the pin back, and writes the run.
    fn take_over(&mut self) {
        if let Some(mut program) = self.program.take() {
            program.interrupt();
            program.end();
        }
        self.echo.end();
        if let Some(trouble) = self.echo.take_trouble() {
            self.house.spoil(self.index, trouble);
        }
        self.house.give_back(self.guard.take());
        self.house.loads_end();
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Boundary);
        self.refresh();
        let phase = &mut self.house.run.phases[self.index];
        phase.end_ns = Some(now_ns.min(self.to_ns).max(phase.start_ns));
        self.house.end_phase(self.index);
    }
}
