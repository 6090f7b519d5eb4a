//! A separate trace instance: a ring buffer with its own settings, removed when it is dropped.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::kernel_files::{KernelFileError, KernelFiles};

use super::events::EVENTS;
use super::page::PageLayout;
use super::reader::TraceReader;
use super::symbols;
use super::tracefs::Tracefs;
use crate::journal::{self, Entry, Kind, Place, Undo, Undone, tagged};

/// Buffer of each unmeasured CPU, in KiB: a measured thread's timer expires there only if the kernel migrates timers.
const OTHER_CPUS_KIB: u32 = 64;

/// How to undo a [`TraceInstance`]: before every other change, because a running tracer overrides restored settings.
pub const UNDO: Kind = Kind { name: "trace_instance", read: journal::read::<TraceInstance>, first: true };

/// Prefixes of the instances that a journal entry may remove.
const PLACES: [&str; 2] =
    ["/sys/kernel/tracing/instances/tardy-", "/sys/kernel/debug/tracing/instances/tardy-"];

/// An instance, as the journal stores it. Removing the instance removes all its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceInstance {
    /// Its directory in tracefs.
    pub path: String,
}

impl TraceInstance {
    fn is_of_tardy(&self) -> bool {
        let id = PLACES.iter().find_map(|place| self.path.strip_prefix(place));
        id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
    }
}

impl Undo for TraceInstance {
    fn kind(&self) -> &'static str {
        UNDO.name
    }

    fn describe(&self) -> String {
        format!("trace instance {}", self.path)
    }

    fn to_json(&self) -> Value {
        tagged(UNDO.name, self)
    }

    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        let path = &self.path;
        if !self.is_of_tardy() {
            return Err(format!("{path} is not a trace instance of tardy"));
        }
        // The run that made it may have mounted tracefs for itself alone.
        Tracefs::mount_if_missing(files);
        let _ = files.write(&format!("{path}/tracing_on"), "0");
        match files.remove_directory(path) {
            Err(error) if !error.is_absent() => Err(error.to_string()),
            _ => Ok(Undone::Done),
        }
    }
}

/// An instance. Dropping it removes it and all its settings.
#[derive(Debug)]
pub struct Instance {
    tracefs: Tracefs,
    /// Its directory.
    path: String,
    journal: Option<Entry>,
}

impl Instance {
    /// Makes the instance `tardy-ID` for run `id`; it records nothing yet.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn make(tracefs: &Tracefs, id: &str) -> Result<Self, String> {
        let path = tracefs.path(&format!("instances/tardy-{id}"));
        // Journalled first, so that `tardy restore` can remove it after a crash.
        let journal = Place::own().note(&TraceInstance { path: path.clone() })?;
        let instance = Self { tracefs: tracefs.clone(), path, journal: Some(journal) };
        instance.tracefs.files.make_directory(&instance.path).map_err(|error| {
            format!("{error}; tardy measures in a trace instance, which needs root and Linux 3.10")
        })?;
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let file = format!("{}/{name}", self.path);
        self.tracefs.files.write(&file, text).map_err(|error| format!("{error} ('{text}')"))
    }

    /// Appends to one of its files.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn append(&self, name: &str, text: &str) -> Result<(), String> {
        let file = format!("{}/{name}", self.path);
        self.tracefs.files.append(&file, text).map_err(|error| format!("{error} ('{}')", text.trim()))
    }

    /// The content of one of its files.
    ///
    /// # Errors
    /// If it does not exist or is not readable.
    pub fn text(&self, name: &str) -> Result<String, KernelFileError> {
        self.tracefs.files.text(&format!("{}/{name}", self.path))
    }

    /// Records the wake-ups of the threads `tids` on `cpus`, with `buffer_kib` for each of these CPUs, and starts.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn trace_wake_ups(&self, tids: &[u32], cpus: &[u32], buffer_kib: u32) -> Result<(), String> {
        self.write("trace_clock", "mono")?;
        self.make_room(cpus, buffer_kib)?;
        // Otherwise command names are looked up at every context switch, for a text that is never read.
        let _ = self.write("trace_options", "norecord-cmd");
        for (event, filter) in EVENTS.iter().zip(filters(tids)) {
            self.write(&format!("events/{event}/filter"), &filter)?;
        }
        // Other timers, such as the tick's, are excluded if the kernel shows its function addresses.
        if let Some(address) = symbols::addresses(&self.tracefs.files, &["hrtimer_wakeup"]).into_keys().next()
        {
            let only = format!("function==0x{address:x}");
            let _ = self.write("events/timer/hrtimer_expire_entry/filter", &only);
        }
        for event in EVENTS {
            self.write(&format!("events/{event}/enable"), "1")?;
        }
        self.write("tracing_on", "1")
    }

    /// Gives `cpus` buffers of `kib` each, and all other CPUs small ones.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn make_room(&self, cpus: &[u32], kib: u32) -> Result<(), String> {
        self.write("buffer_size_kb", &OTHER_CPUS_KIB.to_string())?;
        for cpu in cpus {
            self.write(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), &kib.to_string())?;
        }
        Ok(())
    }

    /// Excludes the events of all CPUs but `cpus`.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn watch_only(&self, cpus: &[u32]) -> Result<(), String> {
        self.write("tracing_cpumask", &cpu_mask(cpus))
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.tracefs.files.resolve(&format!("{}/{name}", self.path))
    }

    /// A reader of everything that it records.
    ///
    /// # Errors
    /// If its pipes cannot be opened.
    pub fn reader(&self, page: PageLayout) -> Result<TraceReader, String> {
        let files = &self.tracefs.files;
        let open = |cpu: u32| {
            let pipe = files.open_pipe(&format!("{}/per_cpu/cpu{cpu}/trace_pipe_raw", self.path));
            pipe.map(|pipe| (cpu, pipe)).map_err(|error| error.to_string())
        };
        let cpus = self.cpus();
        if cpus.is_empty() {
            return Err(format!("{}/per_cpu lists no CPU; please report it", self.path));
        }
        Ok(TraceReader::new(cpus.into_iter().map(open).collect::<Result<_, _>>()?, page))
    }

    fn cpus(&self) -> Vec<u32> {
        let names = self.tracefs.files.names(&format!("{}/per_cpu", self.path)).unwrap_or_default();
        names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect()
    }

    /// How many events the buffers of all CPUs have lost.
    pub fn lost_events(&self) -> u64 {
        let lost = |cpu: u32| {
            let stats = self.text(&format!("per_cpu/cpu{cpu}/stats")).ok()?;
            let count =
                |key: &str| stats.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
            Some(
                count("overrun:")?
                    + count("commit overrun:").unwrap_or(0)
                    + count("dropped events:").unwrap_or(0),
            )
        };
        self.cpus().into_iter().filter_map(lost).sum()
    }
}

/// A CPU mask as the kernel parses it: hexadecimal 32-bit words, the highest first.
fn cpu_mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |cpu| cpu / 32 + 1);
    let word = |index: u32| {
        let bits =
            cpus.iter().filter(|cpu| *cpu / 32 == index).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
        format!("{bits:x}")
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

/// The filter of each of [`EVENTS`]. A range covers any number of threads in one expression; other threads inside the
/// range are skipped when the events are read.
fn filters(tids: &[u32]) -> [String; 4] {
    let (first, last) = (tids.iter().min().copied().unwrap_or(0), tids.iter().max().copied().unwrap_or(0));
    let among = |field: &str| match first == last {
        true => format!("{field}=={first}"),
        false => format!("{field}>={first}&&{field}<={last}"),
    };
    [among("common_pid"), "0".to_owned(), among("pid"), among("next_pid")]
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Stopped first: an instance with an active reader would stay busy.
        let _ = self.write("tracing_on", "0");
        let removed = self.tracefs.files.remove_directory(&self.path);
        let gone = removed.is_ok() || removed.is_err_and(|error| error.is_absent());
        if let Some(entry) = self.journal.take().filter(|_| gone) {
            entry.strike();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_highest_word_first() {
        assert_eq!(cpu_mask(&[0, 1, 5]), "23");
        assert_eq!(cpu_mask(&[0, 33]), "2,1");
    }
}
