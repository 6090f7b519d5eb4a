//! `--smi`: the number of system management interrupts on each thread's CPU, from the counter of Intel's CPUs (MSR 0x34).

use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::smi_counter::SmiCounter;

/// The SMIs on the CPUs of the threads since the start.
#[derive(Debug)]
pub struct SmiCounts {
    counters: Vec<SmiCounter>,
    last: Vec<u32>,
    counts: Vec<u64>,
}

/// Whether this processor has the counter: Intel's since Nehalem, which cannot be detected directly. rt-tests 2.7 and later assume
/// it of every Intel CPU of family 6.
pub fn is_supported(files: &KernelFiles) -> bool {
    let cpuinfo = files.text("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let (key, value) = cpuinfo.lines().find(|line| line.starts_with(name))?.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    let has_msr = field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "msr"));
    field("vendor_id").as_deref() == Some("GenuineIntel")
        && field("cpu family").as_deref() == Some("6")
        && has_msr
}

impl SmiCounts {
    /// Starts to count on `cpus`, one for each thread.
    ///
    /// # Errors
    /// A message for the user if a counter cannot be read.
    pub fn start(files: &KernelFiles, cpus: &[u32]) -> Result<Self, String> {
        let failed = |cpu: u32, error: std::io::Error| {
            format!(
                "--smi: the counter of CPU {cpu} cannot be read ({error}); 'modprobe msr' provides /dev/cpu/{cpu}/msr for root"
            )
        };
        let mut counts = Self { counters: Vec::new(), last: Vec::new(), counts: vec![0; cpus.len()] };
        for cpu in cpus {
            let counter = SmiCounter::open(files, *cpu).map_err(|error| failed(*cpu, error))?;
            counts.last.push(counter.read().map_err(|error| failed(*cpu, error))?);
            counts.counters.push(counter);
        }
        Ok(counts)
    }

    /// Reads the counters. A counter that cannot be read keeps its count.
    pub fn update(&mut self) {
        for ((counter, last), count) in self.counters.iter().zip(&mut self.last).zip(&mut self.counts) {
            if let Ok(now) = counter.read() {
                *count += u64::from(now.wrapping_sub(*last));
                *last = now;
            }
        }
    }

    /// The number of SMIs on each thread's CPU so far.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A root directory with the counter of CPU 2.
    fn root_with_counter(value: u32) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("dev/cpu/2")).unwrap();
        set(&root, value);
        root
    }

    fn set(root: &tempfile::TempDir, value: u32) {
        let mut msrs = vec![0; 0x34];
        msrs.extend(u64::from(value).to_ne_bytes());
        fs::write(root.path().join("dev/cpu/2/msr"), msrs).unwrap();
    }

    #[test]
    fn smis_are_counted_from_the_start_and_across_an_overflow_of_the_counter() {
        let root = root_with_counter(u32::MAX - 1);
        let files = KernelFiles::under(root.path());
        let mut counts = SmiCounts::start(&files, &[2, 2]).unwrap();
        assert_eq!(counts.counts(), [0, 0]);
        set(&root, 3);
        counts.update();
        assert_eq!(counts.counts(), [5, 5]);
        assert!(SmiCounts::start(&files, &[0]).unwrap_err().contains("/dev/cpu/0/msr"));
    }

    #[test]
    fn only_intel_processors_with_msrs_have_the_counter() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        let supported = |vendor: &str, family: &str, flags: &str| {
            let text = format!(
                "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\n"
            );
            fs::write(root.path().join("proc/cpuinfo"), text).unwrap();
            is_supported(&KernelFiles::under(root.path()))
        };
        assert!(supported("GenuineIntel", "6", "fpu msr tsc"));
        assert!(!supported("AuthenticAMD", "6", "fpu msr tsc"));
        assert!(!supported("GenuineIntel", "15", "fpu msr tsc"));
        assert!(!supported("GenuineIntel", "6", "fpu tsc"));
    }
}
