//! A kernel file whose text was replaced.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::kernel_files::KernelFiles;

use crate::journal::{Undo, Undone, tagged};
use crate::trace::tracefs::PLACES as TRACEFS;

/// A text that tardy writes into a kernel file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// A decimal integer.
    Number,
    /// CPUs, such as `0-3,5`. It may be empty.
    CpuList,
    /// A lower-case word, such as the name of a governor.
    Word,
    /// An option of the osnoise tracer.
    Option,
}

/// Every kernel file that tardy changes. `#` is a number.
const FILES: [(&str, Text); 5] = [
    ("/proc/sys/kernel/timer_migration", Text::Number),
    ("/proc/sys/kernel/sched_rt_runtime_us", Text::Number),
    ("/sys/devices/system/cpu/cpu#/cpufreq/scaling_governor", Text::Word),
    ("/sys/kernel/debug/sched/fair_server/cpu#/runtime", Text::Number),
    ("/proc/irq/#/smp_affinity_list", Text::CpuList),
];

/// Every file of tracefs that tardy changes outside its own instances.
const TRACE_FILES: [(&str, Text); 13] = [
    ("tracing_thresh", Text::Number),
    ("osnoise/cpus", Text::CpuList),
    ("osnoise/options", Text::Option),
    ("osnoise/period_us", Text::Number),
    ("osnoise/runtime_us", Text::Number),
    ("osnoise/stop_tracing_us", Text::Number),
    ("osnoise/stop_tracing_total_us", Text::Number),
    ("osnoise/timerlat_period_us", Text::Number),
    ("hwlat_detector/mode", Text::Word),
    ("hwlat_detector/width", Text::Number),
    ("hwlat_detector/window", Text::Number),
    ("rv/monitors/rtapp/pagefault/enable", Text::Number),
    ("rv/monitors/rtapp/sleep/enable", Text::Number),
];

/// A file of /proc/sys, /proc/irq, /sys or tracefs whose text was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedFile {
    /// The file.
    pub path: String,
    /// Its old text.
    pub old: String,
    /// The text that tardy wrote, if the file's content is the text that was written. A file that contains another text
    /// when it is to be restored was changed by another process, and is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

impl Undo for ReplacedFile {
    fn kind(&self) -> &'static str {
        super::REPLACED_FILE.name
    }

    fn describe(&self) -> String {
        format!("{}, which was '{}'", self.path, self.old)
    }

    fn to_json(&self) -> Value {
        tagged(self.kind(), self)
    }

    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        self.check()?;
        self.restore(files)
    }
}

impl ReplacedFile {
    /// Checks that tardy changes the file, and that it contained the old text at some time: the journal may be forged.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(text) = text_of(&self.path) else {
            return Err(format!("{} is not a file that tardy changes", self.path));
        };
        if text.fits(&self.old) {
            Ok(())
        } else {
            Err(format!("'{}' is not a value of {}", self.old, self.path))
        }
    }

    /// Writes the old text back, wherever the file is.
    ///
    /// # Errors
    /// The kernel's error, with the path.
    pub(super) fn restore(&self, files: &KernelFiles) -> Result<Undone, String> {
        let Self { path, old, new } = self;
        if let Some(new) = new {
            let now = files.text(path).map_err(|error| error.to_string())?;
            if now == *old {
                return Ok(Undone::WasSo);
            }
            if now != *new {
                let what = format!("{path} was '{old}', tardy wrote '{new}', and now it is '{now}'");
                return Ok(Undone::LeftAlone(what));
            }
        }
        files.write(path, old).map(|()| Undone::Done).map_err(|error| error.to_string())
    }
}

/// The text that the file at `path` contains; `None` if it is not a file that tardy changes.
fn text_of(path: &str) -> Option<Text> {
    let in_tracefs = TRACEFS.iter().find_map(|place| path.strip_prefix(place)?.strip_prefix('/'));
    let known = |(pattern, _): &&(&str, Text)| is_of_pattern(in_tracefs.unwrap_or(path), pattern);
    let files = if in_tracefs.is_some() { TRACE_FILES.as_slice() } else { FILES.as_slice() };
    files.iter().find(known).map(|(_, text)| *text)
}

/// Whether `path` is `pattern`, in which `#` is a number.
fn is_of_pattern(path: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('#') else { return path == pattern };
    let number = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    number
        .is_some_and(|number| (1..=10).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()))
}

impl Text {
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Number => text.parse::<i64>().is_ok(),
            Self::CpuList => text.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'-'),
            Self::Word => {
                (1..=32).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-')
            }
            Self::Option => text.strip_prefix("NO_").unwrap_or(text) == "OSNOISE_WORKLOAD",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(path: &str, old: &str) -> String {
        let file = ReplacedFile { path: path.to_owned(), old: old.to_owned(), new: None };
        file.undo(&KernelFiles::under(std::path::Path::new("/nonexistent"))).unwrap_err()
    }

    #[test]
    fn only_files_that_tardy_changes_are_restored() {
        for (path, expected) in [
            ("/proc/sys/kernel/timer_migration", true),
            ("/sys/kernel/debug/sched/fair_server/cpu12/runtime", true),
            ("/sys/kernel/tracing/osnoise/period_us", true),
            ("/sys/kernel/debug/tracing/tracing_thresh", true),
            ("/proc/sys/kernel/core_pattern", false),
            ("/proc/sys/kernel/modprobe", false),
            ("/sys/kernel/debug/sched/fair_server/cpu1/../../x/runtime", false),
            ("/sys/kernel/debug/sched/fair_server/cpu/runtime", false),
            ("/sys/kernel/tracing/kprobe_events", false),
            ("/sys/x", false),
            ("/etc/passwd", false),
            ("/proc/1/mem", false),
        ] {
            let refused = undo(path, "1").contains("is not a file that tardy changes");
            assert_eq!(refused, !expected, "{path}");
        }
    }

    #[test]
    fn only_values_of_the_file_are_restored() {
        let governor = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
        let irq = "/proc/irq/24/smp_affinity_list";
        let options = "/sys/kernel/tracing/osnoise/options";
        let migration = "/proc/sys/kernel/timer_migration";
        for (path, old, expected) in [
            (governor, "powersave", true),
            (governor, "a b", false),
            (irq, "0-3,5", true),
            (irq, "x", false),
            (options, "NO_OSNOISE_WORKLOAD", true),
            (options, "PANIC_ON_STOP", false),
            (migration, "-1", true),
            (migration, "|/tmp/x", false),
        ] {
            assert_eq!(undo(path, old).contains("is not a value of"), !expected, "{path} {old}");
        }
    }

    #[test]
    fn a_text_written_by_another_process_stays() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        let path = "/sys/kernel/debug/tracing/tracing_thresh";
        let place = files.resolve(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        let file = ReplacedFile { path: path.to_owned(), old: "1".to_owned(), new: Some("2".to_owned()) };
        for (found, left) in [("2", "1"), ("1", "1"), ("3", "3")] {
            std::fs::write(&place, found).unwrap();
            let undone = file.undo(&files).unwrap();
            assert_eq!(files.text(path).unwrap(), left);
            assert_eq!(matches!(undone, Undone::LeftAlone(_)), found == "3", "{undone:?}");
        }
    }

    #[test]
    fn an_entry_of_an_earlier_version_is_read() {
        let entry: Value = serde_json::from_str(r#"{"kind":"file","path":"/sys/x","old":"1"}"#).unwrap();
        let undo = (super::super::REPLACED_FILE.read)(&entry).unwrap();
        assert_eq!(undo.describe(), "/sys/x, which was '1'");
        assert_eq!(undo.to_json(), entry);
    }
}
