//! Whether the measured CPUs stay online. The kernel moves the threads of a CPU that goes offline to another one.

use tardy_record::cpu_list;
use tardy_record::reason::Reason;
use tardy_sys::kernel_files::KernelFiles;

use super::polled::{Polled, Read};
use super::readings::Readings;
use super::{Round, Watcher};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Watches the measured CPUs.
pub(super) struct OnlineCpus {
    file: Result<Polled, String>,
    /// The measured CPUs that are online.
    left: Vec<u32>,
    reasons: Vec<Reason>,
}

impl OnlineCpus {
    pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> Self {
        Self { file: Polled::open(files, ONLINE), left: measured.to_vec(), reasons: Vec::new() }
    }
}

impl Watcher for OnlineCpus {
    fn name(&self) -> &'static str {
        "online CPUs"
    }

    fn read(&mut self, round: &Round<'_>, _readings: &mut Readings) {
        let Some(Read { content, .. }) = self.file.as_mut().ok().and_then(|file| file.read(round.room))
        else {
            return;
        };
        let Some(online) = cpu_list::parse(String::from_utf8_lossy(content).trim()) else { return };
        let (left, gone): (Vec<u32>, Vec<u32>) = self.left.iter().partition(|cpu| online.contains(cpu));
        self.left = left;
        self.reasons.extend(gone.into_iter().map(|cpu| Reason::CpuOffline { cpu, at_ns: round.now_ns }));
    }

    fn left_out(&self) -> Option<String> {
        self.file.as_ref().err().cloned()
    }

    fn take_reasons(&mut self) -> Vec<Reason> {
        std::mem::take(&mut self.reasons)
    }
}
