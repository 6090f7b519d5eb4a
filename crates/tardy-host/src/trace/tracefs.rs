//! Finds tracefs and the events and tracers that this kernel offers, or the remedy if they are not available.

use std::path::Path;

use tardy_record::plan::Tracer;
use tardy_sys::kernel_files::{KernelFileError, KernelFiles};
use tardy_sys::mounts;

use super::events::{EVENTS, EventLayouts};
use super::format::Format;
use super::page::PageLayout;
use crate::container;

/// Mount points of tracefs: since Linux 4.1, and before.
pub(crate) const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The levels of kernel lockdown, the current one in brackets. Tracing is refused from `confidentiality` on
/// (security/lockdown in the kernel's source, LOCKDOWN_TRACEFS).
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// A mounted tracefs that this process may read.
#[derive(Clone, Debug)]
pub struct Tracefs {
    /// The root under which it is mounted.
    pub files: KernelFiles,
    /// Its mount point.
    pub path: &'static str,
}

impl Tracefs {
    /// Finds the mounted tracefs.
    ///
    /// # Errors
    /// A message with the configuration option, mount or privilege that is missing.
    pub fn find(files: &KernelFiles) -> Result<Self, String> {
        let mut refused = None;
        for path in PLACES {
            match files.text(&format!("{path}/events/header_page")) {
                Ok(_) => return Ok(Self { files: files.clone(), path }),
                Err(error) if error.is_absent() => {}
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(match (refused, lockdown(files)) {
            (_, Some(level)) => format!(
                "this kernel is locked down ({level}, {LOCKDOWN}), which refuses its trace to root too; boot with lockdown=none, \
                 or disable Secure Boot if the firmware sets it"
            ),
            (Some(error), None) => {
                format!(
                    "{error}; reading the kernel's trace needs root (try sudo) and a kernel that is not locked down"
                )
            }
            (None, None) => absence(files),
        })
    }

    /// Mounts tracefs for this thread and the processes that it starts, if the kernel has it and it is not mounted. Must be
    /// called before they start. [`Self::find`] reports failures, with the missing part.
    pub fn mount_if_missing(files: &KernelFiles) {
        let [place, _] = PLACES;
        let is_missing = PLACES.iter().all(|path| !files.exists(&format!("{path}/trace")));
        if files.is_real() && is_missing && files.exists(place) {
            let _ = mounts::mount_privately("tracefs", Path::new(place));
        }
    }

    /// The full path of `name` in it.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// The layouts of the four events and of pages.
    ///
    /// # Errors
    /// A message with the missing event or file, and the option that provides it.
    pub fn layouts(&self) -> Result<(PageLayout, EventLayouts), String> {
        let mut formats = [const { None }; 4];
        for (format, event) in formats.iter_mut().zip(EVENTS) {
            *format = Some(self.format(event)?);
        }
        let formats = formats.map(Option::unwrap_or_default);
        Ok((self.page()?, EventLayouts::of(&formats)?))
    }

    /// The format of one event, such as `sched/sched_switch`.
    ///
    /// # Errors
    /// If it is missing; names the option that provides it.
    pub fn format(&self, event: &str) -> Result<Format, String> {
        let text = self.files.text(&self.path(&format!("events/{event}/format")));
        text.map(|text| Format::parse(&text)).map_err(|error| no_event(event, &error))
    }

    /// The number by which perf_event_open(2) knows one event, such as `sched/sched_switch`.
    ///
    /// # Errors
    /// If it has none; names the option that provides it.
    pub fn event_id(&self, event: &str) -> Result<u64, String> {
        let path = self.path(&format!("events/{event}/id"));
        self.files.number(&path).map_err(|error| {
            format!(
                "{error}; the event {event} has a number for perf_event_open(2) with CONFIG_PERF_EVENTS only"
            )
        })
    }

    /// The layout of pages.
    ///
    /// # Errors
    /// If the kernel describes none.
    pub fn page(&self) -> Result<PageLayout, String> {
        let mut buffer = Vec::new();
        let header = self.files.open(&self.path("events/header_page"));
        // The kernel returns this file to the first read(2) only, so one call must read all of it.
        let page = header
            .as_ref()
            .map_err(ToString::to_string)?
            .read(&mut buffer)
            .map_err(|error| error.to_string())?;
        PageLayout::of(&Format::parse(&String::from_utf8_lossy(page)))
            .ok_or_else(|| "events/header_page describes an unknown page format; please report it".to_owned())
    }

    /// Checks that the kernel has this tracer.
    ///
    /// # Errors
    /// The configuration option that it lacks.
    pub fn has_tracer(&self, tracer: Tracer) -> Result<(), String> {
        let known = self.files.text(&self.path("available_tracers")).map_err(|error| error.to_string())?;
        match known.split_whitespace().any(|name| name == tracer.name()) {
            true => Ok(()),
            false => Err(format!("this kernel has no {} tracer ({})", tracer.name(), tracer.config_option())),
        }
    }
}

/// The events and tracers that this kernel offers for `--probe`, or the reasons why they are not available.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The events of timers and the scheduler.
    pub events: Result<(), String>,
    tracers: Tracers,
}

/// The tracers that are available: those in tracefs, all, or none with the reason.
#[derive(Clone, Debug)]
enum Tracers {
    Of(Tracefs),
    All,
    None(String),
}

impl Offer {
    /// Reads it from the kernel's files.
    pub fn of(files: &KernelFiles) -> Self {
        let tracefs = Tracefs::find(files);
        let layouts = tracefs.as_ref().map_err(Clone::clone).and_then(|tracefs| tracefs.layouts());
        Self { events: layouts.map(|_| ()), tracers: tracefs.map_or_else(Tracers::None, Tracers::Of) }
    }

    /// Everything, for a synthetic measurement.
    pub fn fake() -> Self {
        Self { events: Ok(()), tracers: Tracers::All }
    }

    /// Nothing, for a kernel that is not running yet.
    pub fn none() -> Self {
        let why = || "this kernel's tracefs was not checked".to_owned();
        Self { events: Err(why()), tracers: Tracers::None(why()) }
    }

    /// Checks that the kernel has `tracer`.
    ///
    /// # Errors
    /// The option that provides it.
    pub fn tracer(&self, tracer: Tracer) -> Result<(), String> {
        match &self.tracers {
            Tracers::Of(tracefs) => tracefs.has_tracer(tracer),
            Tracers::All => Ok(()),
            Tracers::None(why) => Err(why.clone()),
        }
    }
}

/// The level of lockdown that refuses the trace; `None` for a lower one, or if it is unknown.
fn lockdown(files: &KernelFiles) -> Option<&'static str> {
    let levels = files.text(LOCKDOWN).ok()?;
    levels.contains("[confidentiality]").then_some("confidentiality")
}

/// Why tracefs is not available.
fn absence(files: &KernelFiles) -> String {
    let known = files.text("/proc/filesystems").unwrap_or_default();
    if let Some(name) = container::name(files) {
        let [option, kubernetes] = container::TRACE;
        return format!(
            "tracefs is not mounted in this container ({name}); start it with `{option}` (podman, Docker), or in Kubernetes \
             with {kubernetes}"
        );
    }
    match known.split_whitespace().any(|name| name == "tracefs") {
        true if files.exists("/sys/kernel/tracing/trace") => {
            "this kernel's tracefs has no events: it was built without CONFIG_EVENT_TRACING".to_owned()
        }
        true => {
            "tracefs is not mounted; mount it with `mount -t tracefs tracefs /sys/kernel/tracing`".to_owned()
        }
        false => {
            "this kernel has no tracefs: it was built without CONFIG_FTRACE (and CONFIG_EVENT_TRACING, which \
                  any tracer there selects)"
                .to_owned()
        }
    }
}

fn no_event(event: &str, error: &KernelFileError) -> String {
    format!(
        "this kernel does not offer the event {event} ({}); it needs CONFIG_EVENT_TRACING, which any tracer under \
         CONFIG_FTRACE selects",
        error.reason()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn with(paths: &[(&str, &str)]) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in paths {
            let full = root.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
        let files = KernelFiles::under(root.path());
        (root, files)
    }

    #[test]
    fn errors_name_what_is_missing_and_the_remedy() {
        let reason = |paths: &[(&str, &str)]| Tracefs::find(&with(paths).1).unwrap_err();
        assert!(reason(&[("proc/filesystems", "nodev\tsysfs")]).contains("CONFIG_FTRACE"));
        let unmounted = reason(&[("proc/filesystems", "nodev\ttracefs")]);
        assert!(unmounted.contains("mount -t tracefs tracefs /sys/kernel/tracing"), "{unmounted}");
        let bare = [("proc/filesystems", "nodev\ttracefs"), ("sys/kernel/tracing/trace", "")];
        assert!(reason(&bare).contains("CONFIG_EVENT_TRACING"));
        let at = |levels| reason(&[bare[0], bare[1], ("sys/kernel/security/lockdown", levels)]);
        let locked = at("none integrity [confidentiality]\n");
        assert!(locked.contains("locked down (confidentiality, /sys/kernel/security/lockdown)"), "{locked}");
        assert!(locked.contains("boot with lockdown=none"), "{locked}");
        assert_eq!(at("none [integrity] confidentiality\n"), reason(&bare));
    }

    #[test]
    fn a_missing_tracer_is_reported_with_its_option() {
        let (_root, files) = with(&[
            ("sys/kernel/debug/tracing/events/header_page", ""),
            ("sys/kernel/debug/tracing/available_tracers", "osnoise function nop\n"),
        ]);
        let tracefs = Tracefs::find(&files).unwrap();
        assert_eq!(tracefs.path, "/sys/kernel/debug/tracing");
        assert_eq!(tracefs.has_tracer(Tracer::Osnoise), Ok(()));
        let reason = tracefs.has_tracer(Tracer::Timerlat).unwrap_err();
        assert!(reason.contains("CONFIG_TIMERLAT_TRACER"), "{reason}");
        assert!(tracefs.page().unwrap_err().contains("header_page"));
        assert!(tracefs.layouts().unwrap_err().contains("CONFIG_EVENT_TRACING"));
    }
}
