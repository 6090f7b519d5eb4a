//! The kernel's own monitors of real-time programs, rtapp:pagefault and rtapp:sleep (CONFIG_RV_MON_RTAPP, since Linux 6.17;
//! Documentation/trace/rv/monitor_rtapp.rst). They watch all real-time threads of the machine while they are enabled.

use std::collections::BTreeMap;

use tardy_sys::clock::monotonic_ns;

use super::format::Field;
use super::instance::Instance;
use super::page::Piece;
use super::reader::TraceReader;
use super::tracefs::Tracefs;
use crate::journal::Place;
use crate::settings::Changed;

/// The monitors: their names in `rv/available_monitors`.
const MONITORS: [&str; 2] = ["rtapp:pagefault", "rtapp:sleep"];
/// What a monitor does about a report unless the administrator chose otherwise: nothing.
const NO_REACTOR: &str = "nop";
/// Buffer of each CPU, in KiB, for some ten thousand reports.
const BUFFER_KIB: u32 = 512;

/// What a monitor reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// The monitor's name.
    pub monitor: &'static str,
    /// How often it reported each thread.
    pub counts: BTreeMap<u32, u64>,
}

/// Enabled monitors. Dropping it disables those that it enabled.
#[derive(Debug)]
pub struct Monitors {
    /// Dropped before the instance, which cannot be removed while its pipes are open.
    reader: TraceReader,
    instance: Instance,
    enabled: Vec<Changed>,
    kind: Field,
    /// Of each monitor: its name, the number of its event, the thread.
    events: Vec<(&'static str, u64, Field)>,
}

/// The monitors that this kernel has.
pub fn available(tracefs: &Tracefs) -> Vec<&'static str> {
    let known = tracefs.files.text(&tracefs.path("rv/available_monitors")).unwrap_or_default();
    MONITORS.into_iter().filter(|name| known.lines().any(|line| line.trim() == *name)).collect()
}

impl Monitors {
    /// Enables those that this kernel has, for run `id`. `None` if it has none. A thread that is there already is not watched by all
    /// of them: of what it did before, some is unknown until it does it again (ltl_atoms_init() in kernel/trace/rv/monitors).
    ///
    /// # Errors
    /// Why they cannot be used.
    pub fn enable(tracefs: &Tracefs, id: &str) -> Result<Option<Self>, String> {
        let names = available(tracefs);
        let Some(first) = names.first() else { return Ok(None) };
        names.iter().try_for_each(|name| has_no_reactor(tracefs, name))?;
        let format = tracefs.format(&event(first))?;
        let kind = format.field("common_type").ok_or("this kernel's events have no common_type")?;
        let page = tracefs.page()?;
        let instance = Instance::make(tracefs, &format!("{id}-monitors"))?;
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        let reader = instance.reader(page)?;
        let mut this = Self { reader, instance, enabled: Vec::new(), kind, events: Vec::new() };
        for name in names {
            this.add(tracefs, name)?;
        }
        this.instance.write("tracing_on", "1")?;
        Ok(Some(this))
    }

    fn add(&mut self, tracefs: &Tracefs, monitor: &'static str) -> Result<(), String> {
        let event = event(monitor);
        let format = tracefs.format(&event)?;
        let thread = format.field("pid").ok_or_else(|| format!("this kernel's event {event} has no pid"))?;
        self.events.push((monitor, u64::from(format.id), thread));
        self.instance.write(&format!("events/{event}/enable"), "1")?;
        let file = tracefs.path(&format!("{}/enable", directory(monitor)));
        self.enabled.extend(Changed::make(&Place::own(), &tracefs.files, &file, "1")?);
        Ok(())
    }

    /// What they have reported until now.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn reports(&mut self) -> Result<Vec<Reports>, String> {
        let Self { reader, kind, events, .. } = self;
        let mut all: Vec<Reports> =
            (events.iter()).map(|(monitor, ..)| Reports { monitor, counts: BTreeMap::new() }).collect();
        reader.read(monotonic_ns(), |_, piece| {
            let Piece::Event { bytes, .. } = piece else { return };
            let number = kind.number(bytes);
            let index = events.iter().position(|(_, id, _)| number == Some(*id));
            let thread = index.and_then(|index| u32::try_from(events[index].2.number(bytes)?).ok());
            if let (Some(index), Some(thread)) = (index, thread) {
                *all[index].counts.entry(thread).or_default() += 1;
            }
        })?;
        Ok(all)
    }
}

/// The event of a monitor's reports.
fn event(monitor: &str) -> String {
    format!("rv/error_{}", monitor.rsplit(':').next().unwrap_or(monitor))
}

/// Its directory in tracefs.
fn directory(monitor: &str) -> String {
    format!("rv/monitors/{}", monitor.replace(':', "/"))
}

/// Refuses monitors that would do more than report: the reactor `panic` stops the machine.
fn has_no_reactor(tracefs: &Tracefs, monitor: &str) -> Result<(), String> {
    // Without CONFIG_RV_REACTORS there is no such file.
    let file = tracefs.path(&format!("{}/reactors", directory(monitor)));
    let Ok(text) = tracefs.files.text(&file) else { return Ok(()) };
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match chosen {
        Some(reactor) if reactor != NO_REACTOR => Err(format!(
            "the kernel's monitor {monitor} is not enabled, because it would react by '{reactor}'; write '{NO_REACTOR}' into {file}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tardy_sys::kernel_files::KernelFiles;

    use super::*;

    fn tracefs(files: &[(&str, &str)]) -> (tempfile::TempDir, Tracefs) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join("sys/kernel/tracing").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tracefs = Tracefs { files: KernelFiles::under(root.path()), path: "/sys/kernel/tracing" };
        (root, tracefs)
    }

    #[test]
    fn a_kernel_without_them_has_none() {
        let (_root, none) = tracefs(&[]);
        assert!(Monitors::enable(&none, "x").unwrap().is_none());
        let (_root, others) = tracefs(&[("rv/available_monitors", "wwnr\nrtapp\n")]);
        assert!(Monitors::enable(&others, "x").unwrap().is_none());
    }

    #[test]
    fn a_monitor_that_would_stop_the_machine_is_not_enabled() {
        let reactors = "rv/monitors/rtapp/sleep/reactors";
        let (_root, refused) = tracefs(&[(reactors, "nop\nprintk\n[panic]\n")]);
        let error = has_no_reactor(&refused, "rtapp:sleep").unwrap_err();
        assert!(error.contains("react by 'panic'") && error.contains(reactors), "{error}");
        let (_root, allowed) = tracefs(&[(reactors, "[nop]\nprintk\npanic\n")]);
        assert_eq!(has_no_reactor(&allowed, "rtapp:sleep"), Ok(()));
        assert_eq!(has_no_reactor(&allowed, "rtapp:pagefault"), Ok(()));
    }
}
