//! What another process did to the measuring threads: stopped them, moved them, changed their policy or priority.

use tardy_record::cpu_list;
use tardy_record::reason::Reason;
use tardy_record::series::Outlier;
use tardy_sys::scheduling::{self, InForce};
use tardy_sys::thread_usage;

use super::live_series::LiveSeries;
use crate::engine::BrokenWait;

/// A stop shorter than this is not distinguished from other latenesses, in ns.
const STOP_NS_MIN: u64 = 10_000_000;
/// How many threads' counters are read in one second; the others follow in turn. One thread takes about 30 us.
const COUNTERS_EACH: usize = 8;

/// The measuring threads of a probe.
#[derive(Debug, Default)]
pub(super) struct ThreadWatch {
    threads: Vec<Thread>,
    turn: usize,
    /// Whether a thread could run on another CPU: reading its migrations takes 34,000 instructions of the kernel, during which one that
    /// is not preemptible does not switch.
    could_migrate: bool,
}

/// One thread, and its state at the last look.
#[derive(Debug)]
struct Thread {
    /// The block of the map that holds its worst samples and its totals at the end.
    block: usize,
    cpu: u32,
    tid: u32,
    /// Whether it is pinned; false once it is reported that it was moved.
    is_pinned: bool,
    /// `None` if it is not known, or once a change is reported.
    scheduling: Option<InForce>,
    migrations: Option<u64>,
    run_delay_ns: Option<u64>,
}

impl ThreadWatch {
    /// Watches no threads yet, on a machine with so many CPUs.
    pub(super) fn new(cpus: usize) -> Self {
        Self { could_migrate: cpus > 1, ..Self::default() }
    }

    /// Adds thread `tid`, which measures on `cpu` and counts in `block`. A thread with several blocks is added once.
    pub(super) fn add(&mut self, block: usize, cpu: u32, tid: u32, is_pinned: bool) {
        if self.threads.iter().any(|thread| thread.tid == tid) {
            return;
        }
        self.threads.push(Thread {
            block,
            cpu,
            tid,
            is_pinned,
            scheduling: scheduling::in_force(tid).ok(),
            migrations: (is_pinned && self.could_migrate).then(|| thread_usage::migrations_of(tid)).flatten(),
            run_delay_ns: thread_usage::run_delay_ns_of(tid),
        });
    }

    /// The changes since the last call.
    pub(super) fn changes(&mut self, at_ns: u64) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for thread in &mut self.threads {
            reasons.extend(thread.other_affinity(at_ns));
            reasons
                .extend(scheduling::in_force(thread.tid).ok().and_then(|now| thread.reschedule(now, at_ns)));
        }
        let count = self.threads.len();
        for _ in 0..COUNTERS_EACH.min(count) {
            let thread = &mut self.threads[self.turn % count];
            self.turn += 1;
            thread.run_delay_ns = thread_usage::run_delay_ns_of(thread.tid);
            if let Some(before) = thread.migrations
                && let Some(now) = thread_usage::migrations_of(thread.tid)
            {
                reasons.extend(thread.migrate(now.saturating_sub(before), at_ns));
            }
        }
        reasons
    }

    /// The changes until the threads ended. `series` are those of the map's blocks.
    pub(super) fn changes_at_end(&mut self, series: &[LiveSeries<'_>], at_ns: u64) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for thread in &mut self.threads {
            let Some(cells) = series.get(thread.block).and_then(LiveSeries::cells) else { continue };
            reasons.extend(cells.scheduling_at_end().and_then(|now| thread.reschedule(now, at_ns)));
            reasons.extend(thread.migrate(cells.migrations().unwrap_or(0), at_ns));
        }
        reasons
    }

    /// How long at least the supervisor and every thread were stopped at the same time, in ns; `None` if they were not.
    /// `worst` are the worst samples by block.
    ///
    /// The supervisor was woken in a wait and slept again, each thread was late during that wait, and no thread is known to have
    /// waited for a CPU: the kernel does not report that of a thread that has ended. A pause of the whole machine does not wake
    /// the supervisor twice.
    pub(super) fn stopped_ns(&self, broken_waits: &[BrokenWait], worst: &[Vec<Outlier>]) -> Option<u64> {
        let of_wait = |wait: &BrokenWait| {
            let gap = |thread: &Thread| longest_during(wait, worst.get(thread.block)?);
            let gaps: Option<Vec<u64>> = self.threads.iter().map(gap).collect();
            // A stop of the supervisor alone delays its wait by more than the threads.
            gaps?.into_iter().min().filter(|gap_ns| *gap_ns >= wait.late_ns() / 2)
        };
        let stopped_ns = broken_waits.iter().filter_map(of_wait).max().filter(|ns| *ns >= STOP_NS_MIN)?;
        let waited_for_cpu = |thread: &Thread| {
            let now_ns = thread_usage::run_delay_ns_of(thread.tid);
            now_ns
                .zip(thread.run_delay_ns)
                .is_some_and(|(now, before)| now.saturating_sub(before) > stopped_ns / 2)
        };
        (!self.threads.iter().any(waited_for_cpu)).then_some(stopped_ns)
    }
}

/// The longest lateness that overlaps `wait`, in ns.
fn longest_during(wait: &BrokenWait, worst: &[Outlier]) -> Option<u64> {
    let overlaps = |outlier: &&Outlier| {
        let due_ns = outlier.at_ns.saturating_sub(outlier.latency_ns.max(0).unsigned_abs());
        due_ns <= wait.to_ns && wait.from_ns <= outlier.at_ns
    };
    let late = worst.iter().filter(overlaps).map(|outlier| outlier.latency_ns.max(0).unsigned_abs());
    late.max()
}

impl Thread {
    fn other_affinity(&mut self, at_ns: u64) -> Option<Reason> {
        // An error means that the thread has ended.
        let allowed = scheduling::affinity_of(self.tid).ok()?;
        if !self.is_pinned || allowed == [self.cpu] {
            return None;
        }
        self.is_pinned = false;
        Some(Reason::ThreadMoved { cpu: self.cpu, allowed: cpu_list::format(&allowed), at_ns })
    }

    fn migrate(&mut self, times: u64, at_ns: u64) -> Option<Reason> {
        let is_moved = self.is_pinned && times > 0;
        self.is_pinned &= !is_moved;
        is_moved.then_some(Reason::ThreadMigrated { cpu: self.cpu, times, at_ns })
    }

    fn reschedule(&mut self, now: InForce, at_ns: u64) -> Option<Reason> {
        let from = self.scheduling.take_if(|before| *before != now)?;
        Some(Reason::ThreadRescheduled { cpu: self.cpu, from: from.to_string(), to: now.to_string(), at_ns })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const MS: u64 = 1_000_000;

    fn outlier(latency_ms: i64, at_ms: u64) -> Outlier {
        Outlier {
            latency_ns: latency_ms * MS.cast_signed(),
            at_ns: at_ms * MS,
            cycle: 0,
            around: Vec::new(),
            overlaps: None,
            moment: None,
        }
    }

    /// A watch of `threads` threads that all have this thread's counters.
    fn watch(threads: usize) -> ThreadWatch {
        let tid = scheduling::thread_id();
        let thread = |block| Thread {
            block,
            cpu: 0,
            tid,
            is_pinned: false,
            scheduling: None,
            migrations: None,
            run_delay_ns: thread_usage::run_delay_ns_of(tid),
        };
        ThreadWatch { threads: (0..threads).map(thread).collect(), turn: 0, could_migrate: true }
    }

    #[test]
    fn threads_that_are_late_together_during_a_broken_wait_were_stopped() {
        let wait = [BrokenWait { from_ns: 1000 * MS, due_ns: 2000 * MS, to_ns: 4000 * MS }];
        let late = vec![outlier(60_000, 70_000), outlier(2500, 3900), outlier(4, 2000)];
        let stopped =
            |waits: &[BrokenWait], worst: &[Vec<Outlier>]| watch(worst.len()).stopped_ns(waits, worst);
        assert_eq!(stopped(&wait, &[late.clone(), vec![outlier(2000, 3900)]]), Some(2000 * MS));
        assert_eq!(stopped(&[], std::slice::from_ref(&late)), None, "the machine paused: one sleep");
        assert_eq!(stopped(&wait, &[late.clone(), Vec::new()]), None, "only the supervisor was stopped");
        let pause = vec![outlier(20, 3900)];
        assert_eq!(
            stopped(&wait, &[late.clone(), pause.clone()]),
            None,
            "the supervisor was stopped for longer"
        );
        let in_time = [BrokenWait { due_ns: 4000 * MS, ..wait[0] }];
        assert_eq!(
            stopped(&in_time, &[late.clone(), pause]),
            Some(20 * MS),
            "the stop ended before the wait"
        );
        assert_eq!(stopped(&wait, &[late, vec![outlier(9, 3900)]]), None, "too short to tell");
    }

    #[test]
    fn a_thread_that_waited_for_its_cpu_was_not_stopped() {
        let mut watch = watch(1);
        let wait = [BrokenWait { from_ns: 0, due_ns: 100 * MS, to_ns: 100 * MS }];
        let worst = [vec![outlier(50, 90)]];
        let waited =
            |ns: u64| thread_usage::run_delay_ns_of(scheduling::thread_id()).map(|now| now.checked_sub(ns));
        match waited(40 * MS) {
            Some(Some(before)) => watch.threads[0].run_delay_ns = Some(before),
            Some(None) => println!("skipped: this thread has hardly waited"),
            None => println!("skipped: the kernel does not measure it"),
        }
        let has_waited =
            watch.threads[0].run_delay_ns.is_some() && waited(40 * MS).is_some_and(|known| known.is_some());
        assert_eq!(watch.stopped_ns(&wait, &worst).is_none(), has_waited);
    }

    /// Runs `on` with the id of a thread that waits.
    fn with_thread(on: impl FnOnce(u32)) {
        let (end, ended) = mpsc::channel::<()>();
        let (started, tid) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            started.send(scheduling::thread_id()).unwrap();
            let _ = ended.recv();
        });
        on(tid.recv().unwrap());
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn another_policy_is_a_reason_once() {
        with_thread(|tid| {
            let mut watch = ThreadWatch::new(2);
            watch.add(0, 1, tid, false);
            assert_eq!(watch.changes(MS), [""; 0]);
            let status =
                std::process::Command::new("chrt").args(["-b", "-p", "0", &tid.to_string()]).status();
            assert!(status.is_ok_and(|status| status.success()), "chrt (util-linux)");
            let expected = "another process changed the thread on cpu 1 from SCHED_OTHER to SCHED_BATCH (chrt), noticed at 2.0 s";
            assert_eq!(watch.changes(2000 * MS), [expected]);
            assert_eq!(watch.changes(3000 * MS), [""; 0]);
        });
    }

    #[test]
    fn a_migration_of_a_pinned_thread_is_a_reason() {
        with_thread(|tid| {
            let mut watch = ThreadWatch::new(2);
            let allowed = scheduling::affinity_of(tid).unwrap();
            watch.add(0, allowed[0], tid, true);
            let thread = &mut watch.threads[0];
            assert_eq!(thread.migrate(0, MS), None);
            let expected = format!(
                "the thread pinned to cpu {} ran on another CPU (2 migrations), noticed at 2.0 s",
                allowed[0]
            );
            assert_eq!(thread.migrate(2, 2000 * MS), Some(Reason::from(expected)));
            assert_eq!(thread.migrate(3, 3000 * MS), None, "it is reported once");
        });
    }
}
