//! A phase that another program measures: a co-kernel's own. It runs under the house's loads and watchers, and what it
//! prints is imported as its file would be.

use std::os::fd::AsRawFd;

use tardy_formats::ImportOptions;
use tardy_record::Series;
use tardy_record::event::EventKind;
use tardy_record::foreign::ForeignPlan;
use tardy_record::plan::PhasePlan;
use tardy_record::series::{Level, SeriesKind};
use tardy_record::units::format_duration_ns;
use tardy_sys::signals::wait_readable;

use super::house::House;
use super::phase::{End, TICK_NS};
use super::program::{self, Program, STOP_GRACE_NS, last_line};
use super::tracer_phase::SignOfLife;
use tardy_host::co_kernel::LATMUS_PLOT;
use tardy_host::watch::Occasion;

/// How long it may take beyond what it was told: it warms up, and prints its histogram.
const GRACE_NS: u64 = 15_000_000_000;
/// It must have measured for at least this share of the time asked for: its last second may be cut off.
const MEASURED_MIN: f64 = 0.8;

/// Runs phase `index` of the plan, which `foreign` measures.
pub(super) fn run(
    house: &mut House<'_>,
    index: usize,
    plan: &PhasePlan,
    foreign: &ForeignPlan,
) -> Result<End, String> {
    house.start_loads(plan)?;
    let _sign = SignOfLife::make(&house.run.origin.id, index)?;
    let begin_ns = house.clock.now_ns();
    house.watchers.read_before(begin_ns);
    let program = Program::start(&foreign.run)?;
    let early = |gravity: &String| format!("{} sets its timers early, by {gravity} (gravity)", foreign.tool);
    let remarks = foreign.gravity.iter().map(early).collect();
    house.begin_phase(plan, begin_ns, remarks);
    house.loads_begin(index);
    let until_ns = begin_ns + plan.planned_ns() + GRACE_NS;
    let mut watch = Watch {
        house,
        index,
        plan,
        begin_ns,
        until_ns,
        program,
        output: Vec::new(),
        stopping: false,
        killed: false,
    };
    let end = watch.until_the_end()?;
    watch.take_over(foreign);
    Ok(end)
}

/// A phase that is under way. Times are ns from the start of the run.
struct Watch<'h, 'o, 'p> {
    house: &'h mut House<'o>,
    index: usize,
    plan: &'p PhasePlan,
    begin_ns: u64,
    until_ns: u64,
    program: Program,
    output: Vec<u8>,
    stopping: bool,
    killed: bool,
}

impl Watch<'_, '_, '_> {
    /// Waits until the program's output ends. A second interruption, or no end in time, kills it.
    fn until_the_end(&mut self) -> Result<End, String> {
        let mut next_tick_ns = self.house.clock.now_ns() + TICK_NS;
        loop {
            let now_ns = self.house.clock.now_ns();
            let fds = [self.house.signals.as_raw_fd(), self.program.output_fd()];
            let ready = wait_readable(&fds, next_tick_ns.saturating_sub(now_ns))
                .map_err(|error| error.to_string())?;
            if ready[0] && self.house.signals.take().is_some() && !self.stop() {
                self.give_up("was asked twice to end, and was killed");
                break;
            }
            let ended = self.program.has_ended();
            // What it printed last is read even where it has ended.
            let closed = (ready[1] || ended) && self.program.read(&mut self.output);
            if closed || ended {
                break;
            }
            let now_ns = self.house.clock.now_ns();
            if now_ns >= self.until_ns {
                self.give_up("did not end in time, and was killed");
                break;
            }
            if now_ns >= next_tick_ns {
                self.tick();
                next_tick_ns = now_ns + TICK_NS;
            }
        }
        Ok(if self.stopping { End::Interrupted } else { End::Complete })
    }

    /// Asks the program to end, as Ctrl-C would; it prints what it has. Whether that was the first time.
    fn stop(&mut self) -> bool {
        if std::mem::replace(&mut self.stopping, true) {
            return false;
        }
        self.house.note(EventKind::Interrupted, "asked to end", 0);
        self.house.observer.interrupted();
        self.program.interrupt();
        self.until_ns = self.house.clock.now_ns() + STOP_GRACE_NS;
        true
    }

    /// Kills the program, of which the phase says so.
    fn give_up(&mut self, what: &str) {
        self.killed = true;
        self.program.kill();
        let tool = self.plan.probe.foreign().map_or("the program", |foreign| foreign.tool.as_str());
        self.house.spoil(self.index, format!("{tool} {what}"));
    }

    fn tick(&mut self) {
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Tick);
        self.house.read_loads(now_ns);
        self.house.report(self.index, now_ns.saturating_sub(self.begin_ns), None, 0);
        if self.house.file.is_due(now_ns) {
            self.house.refresh_surroundings();
            self.house.checkpoint();
        }
    }

    /// Makes series of what was printed, and writes the run.
    fn take_over(&mut self, foreign: &ForeignPlan) {
        let ended = self.program.end();
        let now_ns = self.house.clock.now_ns();
        self.house.loads_end();
        self.house.watchers.read(now_ns, Occasion::Boundary);
        if let Some(status) = ended
            && !status.success()
            && !self.stopping
            && !self.killed
        {
            let how = program::how(status);
            self.house
                .spoil(self.index, format!("{} ended with {how}: {}", foreign.tool, last_line(&self.output)));
        }
        self.house.run.phases[self.index].end_ns = Some(now_ns);
        match self.import(foreign) {
            Ok(()) => {}
            Err(reason) => {
                let told = last_line(&self.output);
                self.house.spoil(
                    self.index,
                    format!("what {} printed makes no run: {reason}; its last line: {told}", foreign.tool),
                );
            }
        }
        self.house.refresh_surroundings();
        self.house.run.refresh_progress();
        self.house.end_phase(self.index);
    }

    fn import(&mut self, foreign: &ForeignPlan) -> Result<(), String> {
        let format = tardy_formats::detect::by_name(&foreign.format).ok_or("its format has no importer")?;
        let options = ImportOptions::default();
        let imported = tardy_formats::import_bytes(
            plot_in(&foreign.format, &self.output),
            &foreign.tool,
            Some(format),
            &options,
        );
        let run = imported.map_err(|error| error.to_string())?.run;
        let phase = &mut self.house.run.phases[self.index];
        for imported in run.phases {
            phase.remarks.extend(imported.remarks);
            phase.spoilt_by.extend(imported.spoilt_by);
        }
        for mut series in run.series {
            self.hold_against_plan(foreign, &series);
            series.phase = self.index;
            if let SeriesKind::Foreign(kind) = &mut series.kind {
                // What answers for the machine is the task that a program is; the levels below it stand beside.
                kind.beside = series.level != Level::UserThread;
            }
            self.house.run.series.push(series);
        }
        Ok(())
    }

    /// What the program says that it measured must be what it was asked for.
    fn hold_against_plan(&mut self, foreign: &ForeignPlan, series: &Series) {
        let tool = &foreign.tool;
        if let Some(level) = foreign.level.filter(|level| *level != series.level) {
            self.house.spoil(
                self.index,
                format!(
                    "{tool} was asked for the {}, and says it is the {}",
                    level.name(),
                    series.level.name()
                ),
            );
        }
        let interval_ns = series.foreign().and_then(|kind| kind.interval_ns.get());
        if let (Some(asked), Some(told)) = (foreign.period_ns.get(), interval_ns)
            && asked != told
        {
            let [asked, told] = [asked, told].map(format_duration_ns);
            self.house.spoil(
                self.index,
                format!("{tool} was asked for a period of {asked}, and says it is {told}"),
            );
        }
        let asked_ns = foreign.duration_ns.get().unwrap_or(0);
        if !self.stopping && (series.counted_ns as f64) < asked_ns as f64 * MEASURED_MIN {
            let [asked, told] = [asked_ns, series.counted_ns].map(format_duration_ns);
            self.house.spoil(
                self.index,
                format!("{tool} was asked to measure for {asked}, and measured for {told}"),
            );
        }
    }
}

/// What is to be imported: of a plot that stands behind other lines, its own lines, which begin with a comment.
fn plot_in<'a>(format: &str, output: &'a [u8]) -> &'a [u8] {
    if format != LATMUS_PLOT {
        return output;
    }
    let begins = |at: &usize| output[*at] == b'#' && (*at == 0 || output[*at - 1] == b'\n');
    (0..output.len()).find(begins).map_or(output, |at| &output[at..])
}
