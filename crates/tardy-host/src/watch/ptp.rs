//! PTP: the offsets, path delays and port states that ptp4l or phc2sys writes to its log.

use std::collections::BTreeMap;

use tardy_record::environment::{Merge, ptp_port_state};

use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};
use crate::ptp_log::{Line, PtpLog, Statement};

/// The most changes of state that the remarks of a phase list.
const CHANGE_MAX: usize = 8;
/// A line may be so much later than the run's clock, which is read before the file is, in ns.
const LATER_NS: u64 = 1_000_000_000;

/// Watches a log of ptp4l or phc2sys.
pub(super) struct Ptp {
    log: PtpLog,
    /// The start of the run, in ns of CLOCK_MONOTONIC.
    start_ns: u64,
    /// Lines that were read and are not recorded yet.
    lines: Vec<Line>,
    /// A series for each quantity, and what it is of.
    series: BTreeMap<(&'static str, String), Values>,
    /// The number of each port's state.
    states: BTreeMap<u32, u8>,
    longest_ns: u64,
    quota: Quota,
    since: Since,
    /// Why the file could not be read.
    failed: Option<String>,
}

#[derive(Default)]
struct Values {
    slot: Slot,
    last: Option<(u64, f64)>,
}

/// What happened since the last remarks.
#[derive(Default)]
struct Since {
    offsets: u64,
    changes: Vec<String>,
    later: u64,
}

impl Ptp {
    /// Follows `log`, which began with `lines`. `start_ns` is the start of the run, in ns of CLOCK_MONOTONIC.
    pub(super) fn new(log: PtpLog, lines: Vec<Line>, start_ns: u64) -> Self {
        Self {
            log,
            start_ns,
            lines,
            series: BTreeMap::new(),
            states: BTreeMap::new(),
            longest_ns: 0,
            quota: Quota(32),
            since: Since::default(),
            failed: None,
        }
    }

    fn put(
        &mut self,
        readings: &mut Readings,
        at_ns: u64,
        (name, of): (&'static str, &str),
        value: f64,
        (unit, merge): (&'static str, Merge),
    ) {
        let values = self.series.entry((name, of.to_owned())).or_default();
        // Points of a series are in the order of their times.
        let at_ns = values.last.map_or(at_ns, |(last_ns, _)| at_ns.max(last_ns));
        let by = values.last.map_or(0.0, |(_, before)| value - before);
        values.last = Some((at_ns, value));
        readings.put_at(at_ns, &mut values.slot, &mut self.quota, value, by, || Head {
            name,
            of: of.to_owned(),
            cpu: None,
            unit,
            merge,
            change: format!("{name}, {of}"),
            change_unit: unit,
            grain: if merge == Merge::Min { 0.1 } else { 100.0 },
        });
    }

    fn record(&mut self, readings: &mut Readings, line: &Line, now_ns: u64) {
        let Some(at_ns) = line.at_ns.checked_sub(self.start_ns) else {
            if let Statement::State { port: port @ 1.., to, .. } = line.states {
                self.states.insert(port, to);
            }
            return;
        };
        if at_ns > now_ns.saturating_add(LATER_NS) {
            self.since.later += 1;
            return;
        }
        match &line.states {
            Statement::Offset { of, offset_ns, delay_ns } => {
                self.since.offsets += 1;
                self.put(readings, at_ns, ("PTP offset", of), *offset_ns as f64, NS);
                self.put_delay(readings, at_ns, of, *delay_ns);
            }
            Statement::Summary { of, rms_ns, max_ns, delay_ns } => {
                self.since.offsets += 1;
                self.put(readings, at_ns, ("PTP offset, largest", of), *max_ns as f64, NS);
                self.put(readings, at_ns, ("PTP offset, rms", of), *rms_ns as f64, NS);
                self.put_delay(readings, at_ns, of, *delay_ns);
            }
            Statement::State { port: port @ 1.., from, to, on } => {
                // A value holds from the point before it to its own.
                self.put(readings, at_ns, (STATE, &port_name(*port)), f64::from(*from), NUMBER);
                self.since.changes.push(format!(
                    "PTP port {port} changed from {} to {} at {:.3} s on {on}",
                    ptp_port_state(*from),
                    ptp_port_state(*to),
                    at_ns as f64 / 1e9,
                ));
                self.states.insert(*port, *to);
            }
            Statement::State { .. } | Statement::Other => {}
        }
    }

    fn put_delay(&mut self, readings: &mut Readings, at_ns: u64, of: &str, delay_ns: Option<i64>) {
        if let Some(delay_ns) = delay_ns {
            self.put(readings, at_ns, ("PTP path delay", of), delay_ns as f64, NS);
        }
    }
}

const STATE: &str = "PTP port state";
const NS: (&str, Merge) = ("ns", Merge::FarFromZero);
const NUMBER: (&str, Merge) = ("IEEE 1588", Merge::Min);

fn port_name(port: u32) -> String {
    format!("port {port}")
}

impl Watcher for Ptp {
    fn name(&self) -> &'static str {
        "ptp"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let mut lines = std::mem::take(&mut self.lines);
        // What is written while this reads is read in the next round.
        let (log, longest_ns) = (&mut self.log, &mut self.longest_ns);
        match round.room.run(longest_ns, || log.read_once(&mut lines)) {
            Ok(_) => self.failed = None,
            Err(error) => self.failed = Some(format!("{}: {error}", log.path().display())),
        }
        lines.iter().for_each(|line| self.record(readings, line, round.now_ns));
        let states: Vec<_> = self.states.iter().map(|(port, state)| (*port, *state)).collect();
        for (port, state) in states {
            self.put(readings, round.now_ns, (STATE, &port_name(port)), f64::from(state), NUMBER);
        }
    }

    fn left_out(&self) -> Option<String> {
        self.failed.clone()
    }

    fn take_remarks(&mut self) -> Vec<String> {
        let Since { offsets, mut changes, later } = std::mem::take(&mut self.since);
        let more = changes.len().saturating_sub(CHANGE_MAX);
        changes.truncate(CHANGE_MAX);
        let mut remarks = changes;
        if more > 0 {
            remarks.push(format!("the state of PTP ports changed {more} more times"));
        }
        let path = self.log.path().display().to_string();
        if offsets == 0 {
            remarks.push(format!(
                "no PTP offset was written to {path} in this phase; ptp4l writes one per second once it has a master, and with \
                 summary_interval less often"
            ));
        }
        if later > 0 {
            remarks.push(format!(
                "{later} lines of {path} are later than this machine's CLOCK_MONOTONIC and were left out: they are of another \
                 machine, or of an earlier boot"
            ));
        }
        if let Some((count, first)) = self.log.take_malformed() {
            remarks.push(format!("{count} lines of {path} were not understood; the first is '{first}'"));
        }
        remarks.extend(self.failed.as_ref().map(|reason| format!("PTP could not be followed: {reason}")));
        remarks
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use tardy_record::environment::{EnvSeries, Environment};
    use tardy_sys::kernel_files::KernelFiles;

    use super::super::{Occasion, WatchOptions, Watchers};
    use crate::ptp_log::PtpLog;

    const SECOND: u64 = 1_000_000_000;
    const FAULT: &str = include_str!("../../tests/ptp/fault.log");
    /// When ptp4l became uncalibrated, and when its cable was pulled, in s of CLOCK_MONOTONIC.
    const START_S: u64 = 70_379;

    fn series<'a>(environment: &'a Environment, name: &str) -> Option<&'a EnvSeries> {
        environment.series.iter().find(|series| series.name == name)
    }

    #[test]
    fn offsets_and_states_are_on_the_runs_time_axis_and_changes_are_remarks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ptp4l.log");
        let (before, during) = FAULT.split_at(FAULT.find("ptp4l[70380.049]").unwrap());
        fs::write(&path, before).unwrap();
        let (log, lines) = PtpLog::open(&path).unwrap();
        let files = KernelFiles::under(directory.path());
        let mut watchers = Watchers::new(&files, &WatchOptions::default(), || 0);
        watchers.follow_ptp(log, lines, START_S * SECOND);
        watchers.read(SECOND, Occasion::Boundary);
        watchers.take_remarks();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        write!(file, "{during}no line of ptp4l\nptp4l[99999.000]: master offset 1 s0 freq +0 path delay 1\n")
            .unwrap();
        watchers.read(5 * SECOND, Occasion::Tick);
        let remarks = watchers.take_remarks().join("\n");
        let environment = watchers.finish();

        let offset = series(&environment, "PTP offset").unwrap();
        assert_eq!((&offset.at_ns[..], &offset.values[..]), (&[1_049_000_000][..], &[-402.0][..]));
        assert_eq!((offset.of.as_str(), offset.unit.as_str()), ("master", "ns"));
        assert_eq!(series(&environment, "PTP path delay").unwrap().values, [2445.0]);
        // UNCALIBRATED until 1.778 s, then FAULTY until 3.812 s, then LISTENING.
        let state = series(&environment, "PTP port state").unwrap();
        assert_eq!(state.at_ns, [1_000_000_000, 1_778_000_000, 3_812_000_000, 5_000_000_000]);
        assert_eq!(state.values, [8.0, 8.0, 2.0, 4.0]);
        let change =
            "PTP port 1 changed from UNCALIBRATED to FAULTY at 1.778 s on FAULT_DETECTED (FT_UNSPECIFIED)";
        for part in [change, "1 lines of", "later than this machine's", "the first is 'no line of ptp4l'"] {
            assert!(remarks.contains(part), "{part}: {remarks}");
        }
        assert!(!remarks.contains("no PTP offset"), "{remarks}");
    }

    #[test]
    fn a_phase_without_an_offset_and_a_log_that_is_gone_are_remarked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ptp4l.log");
        fs::write(&path, "").unwrap();
        let (log, lines) = PtpLog::open(&path).unwrap();
        let mut watchers =
            Watchers::new(&KernelFiles::under(directory.path()), &WatchOptions::default(), || 0);
        watchers.follow_ptp(log, lines, 0);
        watchers.read(SECOND, Occasion::Boundary);
        let remarks = watchers.take_remarks().join("\n");
        assert!(remarks.contains("no PTP offset was written to"), "{remarks}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        watchers.read(2 * SECOND, Occasion::Tick);
        assert!(series(&watchers.finish(), "PTP offset").is_none());
    }
}
