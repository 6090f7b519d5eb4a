//! Confines the emulator, because what runs in a guest may be hostile.
//!
//! An arm64 guest may ask the emulator for the host's files and commands by semihosting, which carries the guest's
//! results and cannot be restricted to them. And emulators have had errors by which a guest took over the process.
//! Three layers stand between such a process and the host: the emulator's own sandbox, which filters system calls;
//! Landlock, which denies all files but those that the emulator needs; and, if tardy runs as root, an unprivileged user.

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_sys::confinement::{self as child, User};
use tardy_sys::landlock::{self, Access, Ruleset};

use super::Session;
use super::emulator_error::Unconfinable;
use super::installed::{Installed, SANDBOX};
use crate::machine::{CONSOLE, Pace};
use crate::observer::{MEMORY, OBSERVED, Observer};

/// The user of emulators that root starts. Debian reserves the ids from 65000, systemd assigns none from 65520 to 65533,
/// and containers whose ids are limited usually map 65536 of them.
const USER_ID: u32 = 65_531;
/// The longest file that an emulator may write: the guest's console, or what an observer saw. A verbose boot prints about 100 kB, an
/// observer 10 MB and 21 bytes for each wake-up; both are read into memory at the end. Results leave through a pipe, which has no
/// such limit.
pub(super) const FILE_BYTES_MAX: u64 = 64 << 20;

/// Files in its working directory that the emulator writes, if they are there.
const WRITTEN: [&str; 3] = [CONSOLE, OBSERVED, MEMORY];
/// Directories of shared libraries, the loader and the emulator's modules.
const LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];
/// The same, relative to the directory in which the emulator was installed.
const INSTALLED_LIBRARIES: [&str; 2] = ["lib", "lib64"];
/// The emulator's firmware, relative to that directory.
const FIRMWARE: [&str; 2] = ["share/qemu", "share/seabios"];
/// Other files that it reads: the loader's cache and entropy.
const FILES: [&str; 2] = ["/etc/ld.so.cache", "/dev/urandom"];
/// The recording of a run is discarded here (`rrfile`).
const DISCARDED: &str = "/dev/null";
/// The host's processor.
const KVM: &str = "/dev/kvm";

/// How an emulator is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// By the emulator's sandbox and at least one of these layers.
    Confined {
        /// The version of the kernel's Landlock.
        landlock: Option<u32>,
        /// The user that the emulator becomes.
        user: Option<User>,
        /// Whether the emulator may use the host's processor.
        kvm: bool,
    },
    /// Not: the emulator may do whatever this user may.
    Unconfined,
}

impl Confinement {
    /// All layers that this machine has, for a guest at this pace.
    ///
    /// # Errors
    /// If they do not suffice: system calls must be filtered, and access to files restricted.
    pub(super) fn find(emulator: &Installed, pace: Pace) -> Result<Self, Unconfinable> {
        emulator.sandbox.clone().map_err(|reason| {
            let program = emulator.program.display().to_string();
            Unconfinable::Emulator { program, reason }
        })?;
        if !child::kernel_filters_system_calls() {
            return Err(Unconfinable::Kernel);
        }
        let kvm = matches!(pace, Pace::Kvm { .. });
        let groups = if kvm { child::groups_that_may_use(Path::new(KVM)) } else { Some(Vec::new()) };
        let user = groups.filter(|_| child::may_become(USER_ID)).map(|groups| User { id: USER_ID, groups });
        Self::of(landlock::version(), user, kvm)
    }

    fn of(landlock: Option<u32>, user: Option<User>, kvm: bool) -> Result<Self, Unconfinable> {
        match (landlock, &user) {
            (None, None) => Err(Unconfinable::Files),
            _ => Ok(Self::Confined { landlock, user, kvm }),
        }
    }

    /// Applies the confinement to `command`, which starts the session's emulator with `output` as its standard output.
    /// The console must be there. Comes after everything else that is done to the command.
    pub(super) fn apply(
        &self,
        command: &mut Command,
        session: &Session<'_>,
        output: &impl AsFd,
    ) -> io::Result<()> {
        let Self::Confined { landlock, user, kvm } = self else { return Ok(()) };
        let Session { emulator, directory, observer, .. } = *session;
        if let Some(user) = user {
            hand_over(directory, user.id)?;
            // The emulator opens its standard output by name.
            fchown(output, Some(user.id), None)?;
        }
        let files = landlock.map(|_| rules(emulator, directory, *kvm)).transpose()?;
        command.args(SANDBOX).env_clear();
        // With an observer, the guest's memory is a file too.
        let file_bytes_max = observer.map_or(0, Observer::memory_bytes).max(FILE_BYTES_MAX);
        let confined = child::Confinement { user: user.clone(), files, file_bytes_max };
        child::confine(command, confined);
        Ok(())
    }
}

/// The layers, as in "system calls filtered, files restricted (Landlock 7), user 65531".
impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Confined { landlock, user, .. } = self else { return f.write_str("unconfined") };
        f.write_str("confined: system calls filtered")?;
        if let Some(version) = landlock {
            write!(f, ", files restricted (Landlock {version})")?;
        }
        match user {
            Some(user) => write!(f, ", user {}", user.id),
            None => Ok(()),
        }
    }
}

/// The files that the emulator may access.
fn rules(emulator: &Installed, directory: &Path, kvm: bool) -> io::Result<Ruleset> {
    let mut rules = Ruleset::deny_all()?;
    rules.allow(&emulator.program, Access::Execute)?;
    let below = |names: &[&str]| -> Vec<PathBuf> {
        let root = emulator.program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
        names.iter().map(|name| root.join(name)).collect()
    };
    let libraries = LIBRARIES.map(PathBuf::from).into_iter().chain(below(&INSTALLED_LIBRARIES));
    // The kernel executes the loader, which is one of the libraries.
    let libraries = libraries.map(|path| (path, Access::Execute));
    let read = FILES.map(PathBuf::from).into_iter().chain(below(&FIRMWARE)).map(|path| (path, Access::Read));
    let device = kvm.then(|| (KVM.into(), Access::Device));
    let written = [(DISCARDED.into(), Access::Write)];
    for (path, access) in libraries.chain(read).chain(written).chain(device) {
        match rules.allow(&path, access) {
            // No system has all of them.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    rules.allow(directory, Access::Read)?;
    for name in WRITTEN.iter().filter(|name| directory.join(name).exists()) {
        rules.allow(&directory.join(name), Access::Write)?;
    }
    Ok(rules)
}

/// Lets the user `id` read the directory's files and write the console. It can neither create nor rename files, so the
/// names refer to tardy's files also when the emulator has ended.
fn hand_over(directory: &Path, id: u32) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let is_written = WRITTEN.iter().any(|name| entry.file_name() == *name);
        let mode = if is_written { 0o660 } else { 0o640 };
        share(&entry.path(), id, mode)?;
    }
    share(directory, id, 0o750)
}

fn share(path: &Path, group: u32, mode: u32) -> io::Result<()> {
    let file = File::open(path)?;
    fchown(&file, None, Some(group))?;
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filtered_system_calls_alone_do_not_suffice() {
        let user = User { id: USER_ID, groups: Vec::new() };
        assert_eq!(Confinement::of(None, None, false), Err(Unconfinable::Files));
        assert!(Confinement::of(Some(1), None, false).is_ok());
        let all = Confinement::of(Some(7), Some(user.clone()), false).unwrap();
        let shown = "confined: system calls filtered, files restricted (Landlock 7), user 65531";
        assert_eq!(all.to_string(), shown);
        let without_landlock = Confinement::of(None, Some(user), false).unwrap();
        assert_eq!(without_landlock.to_string(), "confined: system calls filtered, user 65531");
    }

    #[test]
    fn an_emulator_without_a_sandbox_is_refused() {
        let sandbox = Err("-sandbox support is not enabled".to_owned());
        let emulator = Installed { program: "/usr/bin/qemu".into(), version: "9".into(), sandbox };
        let error = Confinement::find(&emulator, Pace::default()).unwrap_err();
        assert_eq!(error.to_string(), "/usr/bin/qemu has no sandbox (-sandbox support is not enabled)");
    }
}
