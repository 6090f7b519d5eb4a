//! Context switches, forks and steal time, from /proc/stat.

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use super::number::{increase, lines, whole, words};
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

/// Length of the ticks that CPU time is counted in, in s (USER_HZ).
const TICK_S: f64 = 0.01;
/// Field of the steal time in a `cpuN` line, counting the label as 0 (proc_stat(5)).
const STEAL_FIELD: usize = 8;

/// Watches system-wide counters.
pub(super) struct System {
    file: Result<Polled, String>,
    switches: Counter,
    forks: Counter,
    /// Steal time by CPU, in the order of appearance.
    steal: Vec<(u32, Counter)>,
    quota: Quota,
}

/// A counter and its series, if it has one.
#[derive(Clone, Copy, Default)]
struct Counter {
    last: Option<u64>,
    series: Slot,
}

impl System {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let file = Polled::open(files, "/proc/stat");
        Self {
            file,
            switches: Counter::default(),
            forks: Counter::default(),
            steal: Vec::new(),
            quota: Quota(34),
        }
    }
}

impl Watcher for System {
    fn name(&self) -> &'static str {
        "system"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let Some(Read { content, seconds }) = self.file.as_mut().ok().and_then(|file| file.read(round.room))
        else {
            return;
        };
        let round = &round.over(seconds);
        for line in lines(content) {
            let mut words = words(line);
            match words.next() {
                Some(b"ctxt") => {
                    let now = words.next().and_then(whole);
                    self.switches.count(now, round, readings, &mut self.quota, || rate("context switches"));
                }
                Some(b"processes") => {
                    let now = words.next().and_then(whole);
                    self.forks.count(now, round, readings, &mut self.quota, || rate("forks"));
                }
                Some(label) => {
                    let Some(cpu) = label.strip_prefix(b"cpu").and_then(whole) else { continue };
                    let Ok(cpu) = u32::try_from(cpu) else { continue };
                    let now = words.nth(STEAL_FIELD - 1).and_then(whole);
                    let place = self.steal.iter().position(|(known, _)| *known == cpu).unwrap_or_else(|| {
                        self.steal.push((cpu, Counter::default()));
                        self.steal.len() - 1
                    });
                    self.steal[place].1.count_steal(now, round, readings, &mut self.quota, cpu);
                }
                None => {}
            }
        }
    }

    fn left_out(&self) -> Option<String> {
        self.file.as_ref().err().cloned()
    }
}

impl Counter {
    fn count(
        &mut self,
        now: Option<u64>,
        round: &Round<'_>,
        readings: &mut Readings,
        quota: &mut Quota,
        head: impl FnOnce() -> Head,
    ) {
        let by = now.and_then(|now| increase(&mut self.last, now));
        let (Some(by), Some(seconds)) = (by, round.seconds) else { return };
        let rate = by as f64 / seconds;
        readings.put(&mut self.series, quota, rate, rate, head);
    }

    /// Steal time gets a series only if there is any.
    fn count_steal(
        &mut self,
        now: Option<u64>,
        round: &Round<'_>,
        readings: &mut Readings,
        quota: &mut Quota,
        cpu: u32,
    ) {
        let ticks = now.and_then(|now| increase(&mut self.last, now));
        let (Some(ticks), Some(seconds)) = (ticks, round.seconds) else { return };
        if self.series.is_unused() && ticks == 0 {
            return;
        }
        let stolen = ticks as f64 * TICK_S;
        readings.put(&mut self.series, quota, 100.0 * stolen / seconds, 1000.0 * stolen / seconds, || Head {
            name: "steal",
            of: String::new(),
            cpu: Some(cpu),
            unit: "%",
            merge: Merge::Mean,
            change: format!("steal time, cpu {cpu}"),
            change_unit: "ms/s",
            grain: 5.0,
        });
    }
}

fn rate(name: &'static str) -> Head {
    Head {
        name,
        of: String::new(),
        cpu: None,
        unit: "1/s",
        merge: Merge::Mean,
        change: name.to_owned(),
        change_unit: "per second",
        grain: 50.0,
    }
}
