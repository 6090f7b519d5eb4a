//! Counts and shows every reading during the run, as cyclictest does.

use std::io::Write;

use tardy_measure::engine::{Listener, RunProgress};
use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;
use tardy_probe::timer::sys_clock;
use tardy_record::Run;
use tardy_record::plan::{Plan, Policy};
use tardy_sys::clock::Clock;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::{self, Request};

use tardy_command::output;
use tardy_cyclictest::counts::Counts;
use tardy_cyclictest::options::Options;
use tardy_cyclictest::smi::SmiCounts;
use tardy_cyclictest::spikes::Spikes;
use tardy_cyclictest::stats_pipe::StatsPipe;
use tardy_cyclictest::status_file::StatusFile;
use tardy_cyclictest::text::{self, Head};

/// Counts and shows readings.
pub(super) struct Watcher {
    options: Options,
    policy: Policy,
    counts: Counts,
    heads: Vec<Head>,
    /// For `-o`, for each thread: the highest reading since the last printed line, and the number of readings since then.
    reduced: Vec<(u64, u64)>,
    /// The error if the kernel refused the requested policy.
    refused: Option<String>,
    frames: u64,
    shown_max: u64,
    reader_is_gone: bool,
    status: StatusFile,
    spikes: Option<Spikes>,
    /// How far the measuring clock is ahead of the monotonic clock, in ns.
    ahead_ns: i64,
    smis: Option<SmiCounts>,
    /// For `-v` with `--smi`: each thread's SMIs that have been printed.
    printed_smis: Vec<u64>,
    pipe: Option<StatsPipe>,
}

impl Watcher {
    /// A watcher for a run of `plan`. `smis` counts SMIs on the threads' CPUs, and `pipe` gives the current state to other processes.
    pub(super) fn new(
        options: &Options,
        plan: &Plan,
        smis: Option<SmiCounts>,
        pipe: Option<StatsPipe>,
    ) -> Self {
        let timer = plan.phases.iter().find_map(|phase| phase.probe.timer());
        let threads = timer.map(|timer| timer.threads.clone()).unwrap_or_default();
        let head = |thread: &tardy_record::plan::ThreadPlan| Head {
            tid: 0,
            priority: thread.priority,
            interval_us: thread.interval_ns / 1000,
            cpu: thread.pinned.then_some(thread.cpu),
        };
        let mut watcher = Self {
            policy: options.policy,
            counts: Counts::new(options, threads.len()),
            heads: threads.iter().map(head).collect(),
            reduced: vec![(0, 0); threads.len()],
            refused: None,
            frames: 0,
            shown_max: 0,
            reader_is_gone: false,
            status: StatusFile::create(),
            spikes: options.spike.map(|limit| Spikes::above(limit, options.spike_nodes)),
            ahead_ns: match options.spike.filter(|_| options.fake.is_none()) {
                Some(_) => sys_clock(options.clock).ahead_of_ns(Clock::Monotonic),
                None => 0,
            },
            smis,
            printed_smis: vec![0; threads.len()],
            pipe,
            options: options.clone(),
        };
        watcher.show_status();
        watcher
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(super) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// The error if the kernel refused the requested policy. Like cyclictest, tardy then does not measure with another.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Reports readings that were lost because the machine was too busy to collect them.
    pub(super) fn report_missing_readings(&self, run: &Run) {
        let recorded = run.recorded_samples();
        let counted: u64 = self.counts.threads.iter().map(|thread| thread.cycles).sum();
        if self.counts.broken.is_none() && counted < recorded {
            let missing = recorded - counted;
            output::report(&format!(
                "{missing} of {recorded} readings are missing from the output: they arrived faster than they could be counted"
            ));
        }
    }

    /// A line for each thread.
    pub(super) fn summary(&self) -> String {
        text::summary(&self.counts, &self.heads, self.options.in_ns, self.smis())
    }

    /// The number of SMIs on each thread's CPU, with `--smi`.
    pub(super) fn smis(&self) -> Option<&[u64]> {
        self.smis.as_ref().map(SmiCounts::counts)
    }

    /// Counts the SMIs since the last reading of their counters.
    pub(super) fn read_smis(&mut self) {
        if let Some(smis) = &mut self.smis {
            smis.update();
        }
    }

    /// The list of `--spike`; empty without.
    pub(super) fn spikes(&self) -> String {
        self.spikes.as_ref().map_or(String::new(), Spikes::text)
    }

    /// The lines of all threads below a line with the policy and the load average, overwriting the previous ones.
    pub(super) fn frame(&self) -> String {
        let up = match self.frames {
            0 => String::new(),
            _ => format!("\x1b[{}A", self.heads.len() + 2),
        };
        let load = KernelFiles::real().text("/proc/loadavg").unwrap_or_default();
        let policy = match (self.policy, self.options.policy_name) {
            (Policy::Other, name) => format!("{name}/other"),
            (_, name) => name.to_owned(),
        };
        format!("{up}policy: {policy}: loadavg: {}          \n\n{}", load.trim_end(), self.summary())
    }

    /// The output for SIGUSR1 and SIGUSR2: the lines of all threads.
    fn status_text(&self) -> String {
        let line = format!("#{}\n", "-".repeat(27));
        format!("{line}# cyclictest current status:\n{}{line}", self.summary())
    }

    fn answer_requests(&mut self) {
        while let Some(request) = signals::take_request() {
            let text = self.status_text();
            match request {
                // The run continues if standard error is closed.
                Request::First => drop(std::io::stderr().lock().write_all(text.as_bytes())),
                Request::Second => self.status.write(&text),
            }
        }
    }

    fn show_status(&mut self) {
        let text = self.status_text();
        self.status.write(&text);
    }

    fn max(&self) -> u64 {
        self.counts.threads.iter().map(|thread| thread.max).max().unwrap_or(0)
    }

    /// A line for each reading, or for the highest of several (`-o`).
    fn print_reading(&mut self, thread: usize, value: u64) {
        let cycle = self.counts.threads[thread].cycles - 1;
        let (highest, waiting) = &mut self.reduced[thread];
        (*highest, *waiting) = ((*highest).max(value), *waiting + 1);
        if *waiting < self.options.reduction {
            return;
        }
        let smis = self.smis.as_ref().map(|smis| {
            let count = smis.counts()[thread];
            count - std::mem::replace(&mut self.printed_smis[thread], count)
        });
        let line = text::reading_line(thread, cycle, *highest, smis);
        self.reduced[thread] = (0, 0);
        self.print(&line);
    }

    /// Prints to standard output. The run ends if it is closed (`| head`).
    fn print(&mut self, text: &str) {
        let mut out = std::io::stdout().lock();
        self.reader_is_gone |= out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }
}

impl Listener for Watcher {
    fn progress(&mut self, _now: &RunProgress<'_>) {
        self.read_smis();
        self.show_status();
        if let Some(pipe) = &self.pipe {
            pipe.offer(|| self.summary());
        }
        let is_news = !self.options.refresh_on_max || self.max() > self.shown_max;
        if self.options.quiet || self.options.verbose || !is_news {
            return;
        }
        self.shown_max = self.max();
        let frame = self.frame();
        self.frames += 1;
        self.print(&frame);
    }

    fn message(&mut self, text: &str) {
        output::report(text);
    }

    /// cyclictest ends silently and prints its results.
    fn interrupted(&mut self) {}

    fn threads(&mut self, tids: &[u32], granted: &[Granted]) {
        for ((head, tid), granted) in self.heads.iter_mut().zip(tids).zip(granted) {
            head.tid = *tid;
            if granted.policy != self.policy {
                let name = self.policy.name().to_uppercase();
                self.refused = Some(format!(
                    "the kernel refused SCHED_{name}, and cyclictest does not measure with another policy; run as root, or remove -p \
                     and --policy"
                ));
            }
        }
    }

    fn sample(&mut self, thread: usize, sample: Sample) {
        if !self.counts.add(thread, sample) {
            return;
        }
        let value = self.counts.value(sample);
        if let Some(spikes) = &mut self.spikes {
            spikes.add(thread, value, sample.at_ns.wrapping_add_signed(self.ahead_ns) / 1000);
        }
        if self.options.verbose {
            self.print_reading(thread, value);
        }
    }

    fn wants_end(&mut self) -> bool {
        self.answer_requests();
        self.refused.is_some() || self.counts.broken.is_some() || self.reader_is_gone
    }
}
