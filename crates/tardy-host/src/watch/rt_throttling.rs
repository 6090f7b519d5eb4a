//! Whether the kernel stopped real-time threads because they used too much CPU time, and changes of that limit.
//!
//! The kernel stops the real-time threads of a CPU that have used sched_rt_runtime_us of a sched_rt_period_us, until the period
//! ends (Documentation/scheduler/sched-rt-group.rst). It counts nothing, and logs a message the first time since boot. Since
//! Linux 6.12 the limit applies to real-time groups only (CONFIG_RT_GROUP_SCHED). The fair server, which replaces it, leaves no
//! trace.
//!
//! Alternative not chosen: `.rt_throttled` in the scheduler's file in debugfs. It is 1 only during a stop, by default for 50 ms
//! at a time, and reading the file takes the lock of every run queue.

use std::io;

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::kernel_log::{KernelLog, LogRead, Record};

use crate::facts::major_minor;

use super::number::signed;
use super::polled::Polled;
use super::readings::{Head, Quota, Readings, Slot};
use super::room::Room;
use super::{Round, Watcher};

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";
/// How the kernel's message begins (kernel/sched/rt.c).
const MESSAGE: &[u8] = b"sched: RT throttling activated";
/// At most this many records are read in one round; the others follow in the next ones.
const RECORDS_MAX: usize = 1000;
/// At most this many records are read before the run. The largest log holds fewer.
const OLD_RECORDS_MAX: usize = 1_000_000;

/// Watches the kernel log and the limit.
pub(super) struct RtThrottling {
    log: Result<Log, String>,
    limit: Option<Polled>,
    limit_us: Option<i64>,
    period_us: u64,
    /// Whether the limit applies to all real-time threads.
    applies_to_all: bool,
    /// Time of the last reading, in ns from the start of the run.
    last_at_ns: u64,
    series: Slot,
    remarks: Vec<String>,
}

/// The kernel log.
struct Log {
    file: KernelLog,
    /// Longest system call so far, in ns.
    longest_ns: u64,
    found: Found,
}

/// What the log contained so far.
#[derive(Default)]
struct Found {
    /// Number of the first record that was read; 0 is the first since boot.
    oldest: Option<u64>,
    /// Whether records were overwritten before they were read.
    has_gaps: bool,
    /// How often the message occurred.
    reports: u64,
}

impl RtThrottling {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let release = files.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let applies_to_all = major_minor(&release).is_none_or(|version| version < (6, 12));
        Self {
            log: Log::open(files, applies_to_all),
            limit: Polled::open(files, RUNTIME).ok(),
            limit_us: None,
            period_us: files.number(PERIOD).unwrap_or(1_000_000),
            applies_to_all,
            last_at_ns: 0,
            series: Slot::Unused,
            remarks: Vec::new(),
        }
    }

    fn read_limit(&mut self, round: &Round<'_>) {
        let Some(now) =
            self.limit.as_mut().and_then(|file| file.read(round.room)).and_then(|read| signed(read.content))
        else {
            return;
        };
        if let Some(before) = self.limit_us.replace(now).filter(|before| *before != now) {
            let at_s = round.now_ns as f64 / 1e9;
            self.remarks.push(format!("sched_rt_runtime_us changed from {before} to {now} at {at_s:.1} s"));
        }
    }

    fn remark(&self, now_ns: u64) -> String {
        let limit = self.limit_us.map_or_else(|| "unknown".to_owned(), |us| us.to_string());
        format!(
            "the kernel stopped real-time threads between {:.1} s and {:.1} s because they exceeded their limit (RT throttling, \
             sched_rt_runtime_us {limit} of {}); it reports only the first such stop since boot, so there may be more",
            self.last_at_ns as f64 / 1e9,
            now_ns as f64 / 1e9,
            self.period_us,
        )
    }
}

impl Log {
    /// Opens the log. Its old records show whether the first stop has been reported, which decides what later silence means
    /// only if the limit `applies_to_all` threads.
    fn open(files: &KernelFiles, applies_to_all: bool) -> Result<Self, String> {
        let open = if applies_to_all { KernelLog::open } else { KernelLog::open_at_end };
        let mut file = open(files).map_err(|error| format!("/dev/kmsg: {}", error.reason()))?;
        let mut found = Found::default();
        let _ = (0..OLD_RECORDS_MAX).find(|_| !found.take(file.read()));
        Ok(Self { file, longest_ns: 0, found })
    }

    /// Reads new records, and returns how many of them report throttling.
    fn new_reports(&mut self, room: &Room) -> u64 {
        let before = self.found.reports;
        let _ =
            (0..RECORDS_MAX).find(|_| !self.found.take(room.run(&mut self.longest_ns, || self.file.read())));
        self.found.reports - before
    }
}

impl Found {
    /// Whether there may be a further record.
    fn take(&mut self, read: io::Result<LogRead<'_>>) -> bool {
        match read {
            Ok(LogRead::Lines(records)) => {
                for record in Record::each(records) {
                    self.oldest.get_or_insert(record.number);
                    self.reports += u64::from(record.is_of_kernel() && record.message.starts_with(MESSAGE));
                }
                true
            }
            Ok(LogRead::Overwritten) => {
                self.has_gaps = true;
                true
            }
            Ok(LogRead::UpToDate) | Err(_) => false,
        }
    }

    /// Whether all messages since boot were read.
    fn is_complete(&self) -> bool {
        self.oldest == Some(0) && !self.has_gaps
    }
}

impl Watcher for RtThrottling {
    fn name(&self) -> &'static str {
        "RT throttling"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        self.read_limit(round);
        let reports = self.log.as_mut().map_or(0, |log| log.new_reports(round.room));
        if reports > 0 {
            self.remarks.push(self.remark(round.now_ns));
        }
        self.last_at_ns = round.now_ns;
        let Some(seconds) = round.seconds else { return };
        if self.series.is_unused() && reports == 0 {
            return;
        }
        let by = reports as f64;
        readings.put(&mut self.series, &mut Quota(1), by / seconds, by / seconds, || Head {
            name: "RT throttling reported",
            of: String::new(),
            cpu: None,
            unit: "1/s",
            merge: Merge::Mean,
            change: "RT throttling".to_owned(),
            change_unit: "reports/s",
            grain: 0.2,
        });
    }

    fn left_out(&self) -> Option<String> {
        let found = match &self.log {
            Ok(log) => &log.found,
            Err(reason) => return Some(reason.clone()),
        };
        let is_silent = found.reports == 0 && self.applies_to_all;
        let reasons = [
            (found.reports > 0).then_some("the kernel reports only the first stop since boot, and has reported it"),
            (is_silent && !found.is_complete())
                .then_some("the first stop since boot may be reported in a message that is overwritten"),
            (!self.applies_to_all).then_some(
                "since Linux 6.12 the kernel throttles real-time groups only (CONFIG_RT_GROUP_SCHED), reports only the first \
                 stop since boot, and does not report when its fair server stops real-time threads",
            ),
        ];
        let reasons: Vec<&str> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}
