//! The settings that tardy changes, as the journal has them.

use serde::{Deserialize, Serialize};
use tardy_record::pins::Line;
use tardy_sys::kernel_files::KernelFiles;

use crate::gpio;
use crate::switch::Step;

/// A setting that was changed, with what it takes to undo that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Setting {
    /// A trace instance that was made, and goes with all that is set in it.
    TraceInstance {
        /// Its directory in tracefs.
        path: String,
    },
    /// A change to the network.
    Network(Step),
    /// A line of a GPIO chip that was made an output, and was an input or nobody's before.
    Pin {
        /// The line.
        line: Line,
    },
    /// A file of /proc/sys, /sys or tracefs whose text was replaced.
    File {
        /// The file.
        path: String,
        /// What it held.
        old: String,
    },
}

impl Setting {
    /// What it is, for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::TraceInstance { path } => format!("trace instance {path}"),
            Self::Network(step) => step.in_words(),
            Self::Pin { line } => format!("GPIO line {} ({}), which was no output", line.place(), line.label),
            Self::File { path, old } => format!("{path}, which was '{old}'"),
        }
    }

    /// Puts it back as it was.
    ///
    /// # Errors
    /// In words.
    pub(super) fn undo(&self, files: &KernelFiles) -> Result<(), String> {
        self.check()?;
        match self {
            Self::TraceInstance { path } => {
                let _ = files.write(&format!("{path}/tracing_on"), "0");
                match files.remove_directory(path) {
                    Err(error) if !error.is_absent() => Err(error.to_string()),
                    _ => Ok(()),
                }
            }
            Self::Network(step) => step.undo(),
            Self::Pin { line } => gpio::put_back(line),
            Self::File { path, old } => files.write(path, old).map_err(|error| error.to_string()),
        }
    }

    /// A journal that someone else wrote must not make tardy write or remove just anything.
    fn check(&self) -> Result<(), String> {
        let (path, places) = match self {
            Self::TraceInstance { path } => {
                (path, ["/sys/kernel/tracing/instances/tardy-", "/sys/kernel/debug/tracing/instances/tardy-"])
            }
            // These look for themselves.
            Self::Network(_) | Self::Pin { .. } => return Ok(()),
            Self::File { path, .. } => (path, ["/proc/sys/", "/sys/"]),
        };
        let sound =
            places.iter().any(|place| path.starts_with(place)) && !path.split('/').any(|part| part == "..");
        if sound { Ok(()) } else { Err(format!("{path} is nothing that tardy changes")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tardy_changes_is_undone() {
        let instance = |path: &str| Setting::TraceInstance { path: path.to_owned() };
        let file = |path: &str| Setting::File { path: path.to_owned(), old: String::new() };
        assert!(instance("/sys/kernel/tracing/instances/tardy-1").check().is_ok());
        assert!(file("/proc/sys/kernel/x").check().is_ok());
        for bad in [
            instance("/sys/kernel/tracing/instances/perf"),
            instance("/sys/kernel/tracing/instances/tardy-1/../perf"),
            instance("/home"),
            file("/etc/passwd"),
            file("/sys/../etc/passwd"),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
