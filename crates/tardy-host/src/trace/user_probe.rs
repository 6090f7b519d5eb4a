//! Events at instructions of programs (uprobes), removed when they are dropped.

use std::fs::File;
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::kernel_files::KernelFiles;

use super::tracefs::{PLACES, Tracefs};
use crate::journal::{self, Entry, Kind, Place, Undo, Undone, tagged};

/// How to undo a [`UserProbe`]. Instances come first: an event that one of them records cannot be removed.
pub const UNDO: Kind = Kind { name: "user_probe", read: journal::read::<UserProbe>, first: false };

/// The file of tracefs that defines these events.
const FILE: &str = "uprobe_events";
/// What the names of tardy's groups of events begin with.
const GROUP: &str = "tardy_";

/// An event at an instruction, as the journal stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserProbe {
    /// The file of tracefs that defines it.
    pub file: String,
    /// Its name, `tardy_NUMBER/NAME`.
    pub event: String,
}

impl UserProbe {
    fn is_of_tardy(&self) -> bool {
        let is_plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let names = self.event.strip_prefix(GROUP).and_then(|rest| rest.split_once('/'));
        PLACES.iter().any(|place| self.file == format!("{place}/{FILE}"))
            && names.is_some_and(|(number, name)| is_plain(number) && is_plain(name))
    }

    fn remove(&self, files: &KernelFiles) -> Result<(), String> {
        match files.append(&self.file, &format!("-:{}\n", self.event)) {
            Err(error) if !error.is_absent() => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}

impl Undo for UserProbe {
    fn kind(&self) -> &'static str {
        UNDO.name
    }

    fn describe(&self) -> String {
        format!("event {} in {}", self.event, self.file)
    }

    fn to_json(&self) -> Value {
        tagged(UNDO.name, self)
    }

    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        if !self.is_of_tardy() {
            return Err(format!("{} in {} is not an event of tardy", self.event, self.file));
        }
        Tracefs::mount_if_missing(files);
        self.remove(files).map(|()| Undone::Done)
    }
}

/// Events of this process. Dropping them removes them; what records them must be dropped before.
#[derive(Debug)]
pub struct UserProbes {
    tracefs: Tracefs,
    probes: Vec<(UserProbe, Option<Entry>)>,
}

impl UserProbes {
    /// None yet.
    pub fn new(tracefs: &Tracefs) -> Self {
        Self { tracefs: tracefs.clone(), probes: Vec::new() }
    }

    /// Makes an event at the instruction at `offset` of the very file that the descriptor refers to, whatever names it has by now: the kernel
    /// follows the descriptor's link in /proc when the event is written. The caller has read the instruction from this file. Returns
    /// the event's name.
    ///
    /// # Errors
    /// The kernel's error: it has no CONFIG_UPROBE_EVENTS, or there is no instruction.
    pub fn add(&mut self, file: &File, offset: u64) -> Result<String, String> {
        let event = format!("{GROUP}{}/mark{}", std::process::id(), self.probes.len());
        let probe = UserProbe { file: self.tracefs.path(FILE), event: event.clone() };
        let entry = Place::own().note(&probe)?;
        let descriptor = file.as_raw_fd();
        let text = format!("p:{event} /proc/self/fd/{descriptor}:{offset:#x}\n");
        let made = self.tracefs.files.append(&probe.file, &text);
        match made {
            Ok(()) => {
                self.probes.push((probe, Some(entry)));
                Ok(event)
            }
            Err(error) => {
                entry.strike();
                Err(format!("{error}; events in programs need CONFIG_UPROBE_EVENTS"))
            }
        }
    }
}

impl Drop for UserProbes {
    fn drop(&mut self) {
        for (probe, entry) in &mut self.probes {
            let removed = probe.remove(&self.tracefs.files);
            if let Some(entry) = entry.take().filter(|_| removed.is_ok()) {
                entry.strike();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_of_tardy_are_removed() {
        let probe = |file: &str, event: &str| UserProbe { file: file.to_owned(), event: event.to_owned() };
        let file = "/sys/kernel/tracing/uprobe_events";
        assert!(probe(file, "tardy_12/mark0").is_of_tardy());
        for (file, event) in [
            (file, "perf_12/mark0"),
            (file, "tardy_/mark0"),
            (file, "tardy_1/a\n-:perf/b"),
            (file, "tardy_1"),
            ("/etc/passwd", "tardy_12/mark0"),
        ] {
            let forged = probe(file, event);
            assert!(forged.undo(&KernelFiles::under("/nonexistent")).is_err(), "{forged:?}");
        }
    }
}
