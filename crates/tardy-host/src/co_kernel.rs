//! Co-kernels: Xenomai's Cobalt and EVL, and the latency program that each ships (`latency`, `latmus`).
//!
//! A program for a co-kernel must be linked against its library on the machine that has it. tardy therefore runs the
//! program that ships with the co-kernel and imports its output.

use std::path::{Path, PathBuf};

use tardy_record::series::Level;
use tardy_sys::kernel_files::KernelFiles;

/// The installation directories of Xenomai and EVL, searched last.
const PLACES: [&str; 4] = ["usr/xenomai/bin", "usr/lib/xenomai/testsuite", "usr/evl/bin", "usr/evl/tests"];
/// Bins of the histogram, 1 us each: 10 ms, as in the AT91SAM article.
const CELLS: u32 = 10_000;

/// The import format of `latmus -g`.
pub const LATMUS_PLOT: &str = "latmus-plot";
/// The import format of Xenomai's `latency`.
const XENOMAI: &str = "xenomai";

/// A co-kernel and its latency program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoKernel {
    kind: Kind,
    program: PathBuf,
    gravity: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Xenomai,
    Evl,
}

impl CoKernel {
    /// The levels that it measures, the program's default first.
    pub const LEVELS: [Level; 3] = [Level::UserThread, Level::KernelThread, Level::Irq];

    /// Finds the co-kernel by the kernel's files, and its program in `directories` or in the co-kernel's installation
    /// directory.
    ///
    /// # Errors
    /// A message for the user that names the missing part and how to get it.
    pub fn find(files: &KernelFiles, directories: &[PathBuf]) -> Result<Self, String> {
        let kind = if files.exists("/proc/xenomai") {
            Kind::Xenomai
        } else if files.exists("/dev/evl/control") || files.exists("/sys/devices/virtual/evl") {
            Kind::Evl
        } else {
            return Err("this machine has neither Xenomai's Cobalt core (/proc/xenomai) nor EVL's (/dev/evl/control): boot a \
                        kernel with one of them, or measure this kernel's own levels with --probe kernel"
                .to_owned());
        };
        let name = kind.program();
        let in_places = PLACES.map(|place| files.resolve(&format!("/{place}")));
        let directories = directories.iter().cloned().chain(in_places);
        let program = directories.map(|directory| directory.join(name)).find(|file| is_program(file));
        let program = program.ok_or_else(|| {
            format!(
                "{} runs here, but its program '{name}' is neither in the directories of programs nor in /{}: {}",
                kind.name(),
                PLACES.join(", /"),
                kind.package()
            )
        })?;
        Ok(Self { kind, program, gravity: gravity(files) })
    }

    /// The tool's name in runs.
    pub fn tool(&self) -> &'static str {
        match self.kind {
            Kind::Xenomai => "Xenomai latency",
            Kind::Evl => "EVL latmus",
        }
    }

    /// The import format of the program's output.
    pub fn format(&self) -> &'static str {
        match self.kind {
            Kind::Xenomai => XENOMAI,
            Kind::Evl => LATMUS_PLOT,
        }
    }

    /// The time by which the co-kernel sets its timers early (gravity), which lowers every reported latency by the same amount.
    /// `None` if the kernel does not report it.
    pub fn gravity(&self) -> Option<&str> {
        self.gravity.as_deref()
    }

    /// The command line that runs the program at `level`.
    pub fn command(
        &self,
        level: Level,
        period_us: u64,
        priority: u32,
        cpu: u32,
        seconds: u64,
    ) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        let mut words = vec![program];
        let level = match (self.kind, level) {
            (Kind::Xenomai, Level::Irq) => "-t2",
            (Kind::Xenomai, Level::KernelThread) => "-t1",
            (Kind::Xenomai, _) => "-t0",
            (Kind::Evl, Level::Irq) => "-i",
            (Kind::Evl, Level::KernelThread) => "-k",
            (Kind::Evl, _) => "-u",
        };
        words.push(level.to_owned());
        if self.kind == Kind::Xenomai {
            words.extend(["-h".to_owned(), format!("-H{CELLS}")]);
        }
        words.extend([
            "-p".to_owned(),
            period_us.to_string(),
            "-P".to_owned(),
            priority.to_string(),
            "-c".to_owned(),
            cpu.to_string(),
            "-T".to_owned(),
            seconds.to_string(),
        ]);
        if self.kind == Kind::Evl {
            // Without a file name, -g prints the histogram to standard output after the other lines.
            words.push("-g".to_owned());
        }
        words
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Xenomai => "Xenomai",
            Self::Evl => "EVL",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Xenomai => "latency",
            Self::Evl => "latmus",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Xenomai => "it is part of Xenomai's testsuite",
            Self::Evl => "it is part of libevl",
        }
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Parses `gravity: irq=99 kernel=1341 user=1341` of Xenomai 3 (kernel/cobalt/posix/clock.c), or one number in ns of
/// Xenomai 2.
fn gravity(files: &KernelFiles) -> Option<String> {
    if let Ok(text) = files.text("/proc/xenomai/clock/coreclk") {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("gravity:"))?;
        let parts: Vec<String> = line
            .split_whitespace()
            .filter_map(|part| part.split_once('='))
            .map(|(level, ns)| format!("{level} {ns} ns"))
            .collect();
        return (!parts.is_empty()).then(|| parts.join(", "));
    }
    let ns: u64 = files.text("/proc/xenomai/latency").ok()?.trim().parse().ok()?;
    Some(format!("{ns} ns"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, KernelFiles) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let files = KernelFiles::under(root.path());
        (root, files)
    }

    #[test]
    fn errors_name_what_is_missing() {
        let (_root, bare) = machine(&[]);
        assert!(CoKernel::find(&bare, &[]).unwrap_err().contains("--probe kernel"));
        let (_root, core) = machine(&[("proc/xenomai/version", "3.1")]);
        let reason = CoKernel::find(&core, &[]).unwrap_err();
        assert!(reason.contains("'latency'") && reason.contains("testsuite"), "{reason}");
        let (_root, core) = machine(&[("dev/evl/control", "")]);
        assert!(CoKernel::find(&core, &[]).unwrap_err().contains("'latmus'"));
    }

    #[test]
    fn each_level_has_a_command_line_and_gravity_is_read() {
        let (root, files) = machine(&[
            ("proc/xenomai/version", "3.1"),
            ("proc/xenomai/clock/coreclk", "gravity: irq=99 kernel=1341 user=1341\ndevices: timer\n"),
            ("usr/xenomai/bin/latency", "#!/bin/sh"),
        ]);
        let core = CoKernel::find(&files, &[]).unwrap();
        assert_eq!(core.gravity(), Some("irq 99 ns, kernel 1341 ns, user 1341 ns"));
        let words = core.command(Level::Irq, 500, 99, 0, 10).join(" ");
        let program = root.path().join("usr/xenomai/bin/latency");
        assert_eq!(words, format!("{} -t2 -h -H10000 -p 500 -P 99 -c 0 -T 10", program.display()));
        let (_root, old) = machine(&[("proc/xenomai/latency", "1234\n"), ("usr/xenomai/bin/latency", "")]);
        assert_eq!(CoKernel::find(&old, &[]).unwrap().gravity(), Some("1234 ns"));
    }
}
