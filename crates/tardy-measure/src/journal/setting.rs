//! The settings that tardy changes, as the journal has them.

use serde::{Deserialize, Serialize};
use tardy_record::pins::Line;
use tardy_sys::kernel_files::KernelFiles;

use super::ThreadRank;
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
    /// A line of a GPIO chip that was exported in sysfs, and was nobody's before.
    ExportedPin {
        /// The line.
        line: Line,
        /// Its number there.
        number: u32,
    },
    /// A PWM output that was set up, and was nobody's before.
    Pwm {
        /// Its controller, such as `pwmchip0`.
        chip: String,
        /// The controller's channel.
        channel: u32,
    },
    /// A file of /proc/sys, /proc/irq, /sys or tracefs whose text was replaced.
    File {
        /// The file.
        path: String,
        /// What it held.
        old: String,
        /// What tardy wrote, where it reads back as it is written: if something else stands there by then, somebody
        /// else has changed it meanwhile, and it is left alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new: Option<String>,
    },
    /// A kernel thread that got another policy or priority.
    Thread(ThreadRank),
}

/// How an undoing came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was.
    Done,
    /// It was as it had been before there was anything to undo: it was never changed, or somebody else put it back.
    WasSo,
    /// Somebody else has changed it meanwhile, so it stays as they have left it; in words.
    LeftAlone(String),
}

impl Setting {
    /// What it is, for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::TraceInstance { path } => format!("trace instance {path}"),
            Self::Network(step) => step.in_words(),
            Self::Pin { line } => format!("GPIO line {} ({}), which was no output", line.place(), line.label),
            Self::ExportedPin { line, number } => {
                format!("GPIO line {} ({}), exported in sysfs as {number}", line.place(), line.label)
            }
            Self::Pwm { chip, channel } => format!("PWM output {chip}:{channel}, which nobody had"),
            Self::File { path, old, .. } => format!("{path}, which was '{old}'"),
            Self::Thread(thread) => thread.in_words(),
        }
    }

    /// Puts it back as it was, whoever has noted it.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        self.check()?;
        self.take_back(files)
    }

    /// Puts it back as it was.
    ///
    /// # Errors
    /// In words.
    pub(super) fn take_back(&self, files: &KernelFiles) -> Result<Undone, String> {
        match self {
            Self::TraceInstance { path } => {
                let _ = files.write(&format!("{path}/tracing_on"), "0");
                match files.remove_directory(path) {
                    Err(error) if !error.is_absent() => Err(error.to_string()),
                    _ => Ok(Undone::Done),
                }
            }
            Self::Pin { line } => gpio::put_back(line).map(|()| Undone::Done),
            Self::ExportedPin { line, number } => gpio::unexport(line, *number, files),
            Self::Pwm { chip, channel } => gpio::stop_pwm(chip, *channel, files),
            Self::Network(step) => step.undo().map(|()| Undone::Done),
            Self::File { path, old, new } => {
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
            Self::Thread(thread) => thread.take_back(files),
        }
    }

    /// A journal that someone else wrote must not make tardy write or remove just anything.
    fn check(&self) -> Result<(), String> {
        let (path, places): (&str, &[&str]) = match self {
            Self::TraceInstance { path } => (
                path,
                &["/sys/kernel/tracing/instances/tardy-", "/sys/kernel/debug/tracing/instances/tardy-"],
            ),
            // These look for themselves.
            Self::Network(_)
            | Self::Thread(_)
            | Self::Pin { .. }
            | Self::ExportedPin { .. }
            | Self::Pwm { .. } => return Ok(()),
            Self::File { path, .. } => (path, &["/proc/sys/", "/proc/irq/", "/sys/"]),
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
        let file = |path: &str| Setting::File { path: path.to_owned(), old: String::new(), new: None };
        assert!(instance("/sys/kernel/tracing/instances/tardy-1").check().is_ok());
        assert!(file("/proc/sys/kernel/x").check().is_ok());
        assert!(file("/proc/irq/24/smp_affinity_list").check().is_ok());
        for bad in [
            instance("/sys/kernel/tracing/instances/perf"),
            instance("/sys/kernel/tracing/instances/tardy-1/../perf"),
            instance("/home"),
            file("/etc/passwd"),
            file("/proc/1/mem"),
            file("/sys/../etc/passwd"),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_somebody_else_has_changed_since_is_theirs() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        std::fs::create_dir_all(root.path().join("sys")).unwrap();
        let setting =
            Setting::File { path: "/sys/x".to_owned(), old: "1".to_owned(), new: Some("2".to_owned()) };
        for (found, left) in [("2", "1"), ("1", "1"), ("3", "3")] {
            std::fs::write(root.path().join("sys/x"), found).unwrap();
            let undone = setting.undo(&files).unwrap();
            assert_eq!(files.text("/sys/x").unwrap(), left);
            assert_eq!(matches!(undone, Undone::LeftAlone(_)), found == "3", "{undone:?}");
        }
    }

    #[test]
    fn a_journal_of_an_earlier_tardy_is_read() {
        let line = r#"{"kind":"file","path":"/sys/x","old":"1"}"#;
        let setting: Setting = serde_json::from_str(line).unwrap();
        assert_eq!(setting, Setting::File { path: "/sys/x".to_owned(), old: "1".to_owned(), new: None });
    }
}
