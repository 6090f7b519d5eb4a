//! Confines a child before its program starts: another user, no capabilities, limits, and rules about files.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::child::{self, signal};
use crate::landlock::Ruleset;

/// close_range(2), whose number is the same on every processor (Linux 5.9), and its flag for descriptors that close
/// when a program is executed (Linux 5.11).
const CLOSE_RANGE: libc::c_long = 436;
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
/// Resources of prlimit(2): libc's constants have another type for each C library.
const FILE_SIZE: libc::c_int = 1;
pub(crate) const CORE: libc::c_int = 4;
const OPEN_FILES: libc::c_int = 7;
/// The highest limit of descriptors that Linux allows by default (fs.nr_open).
const DESCRIPTORS_MAX: u64 = 1 << 20;
/// A program that root executes gets no capabilities, and this cannot be changed (SECBIT_NOROOT, capabilities(7)).
const NO_PRIVILEGED_ROOT: libc::c_ulong = 0b11;
/// The ids that exist in this process's user namespace (user_namespaces(7)).
const ID_MAPS: [&str; 2] = ["/proc/self/uid_map", "/proc/self/gid_map"];
/// The capabilities to change group and user ids (capabilities(7)).
const CAP_SETGID: u32 = 6;
const CAP_SETUID: u32 = 7;

/// A user without privileges, for a process that root starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id of the user and of its own group.
    pub id: u32,
    /// Its supplementary groups.
    pub groups: Vec<u32>,
}

/// What a child may not do.
#[derive(Debug, Default)]
pub struct Confinement {
    /// The user that the child becomes. `None`: the child stays the same user, but without capabilities.
    pub user: Option<User>,
    /// The only files that it may access.
    pub files: Option<Ruleset>,
    /// The longest file that it may write, in bytes. A write beyond it is fatal (SIGXFSZ).
    pub file_bytes_max: u64,
}

/// Confines the child of `command`: it gets no descriptors but its standard ones, no capabilities, no core dump, and
/// cannot gain privileges by executing a file. SIGKILL ends it when this thread dies.
///
/// To be called last: the kernel forgets the signal when the user changes, so it is set again. Starting the child fails
/// if the user or the rules cannot be applied.
pub fn confine(command: &mut Command, confinement: Confinement) {
    let parent = std::process::id();
    let apply = move || {
        close_inherited_descriptors()?;
        limit(CORE, 0)?;
        limit(FILE_SIZE, confinement.file_bytes_max)?;
        match &confinement.user {
            Some(user) => become_user(user)?,
            None => give_up_capabilities()?,
        }
        set(libc::PR_SET_NO_NEW_PRIVS, 1)?;
        if let Some(files) = &confinement.files {
            files.restrict_self()?;
        }
        child::tie_to_parent(parent, signal::KILL)
    };
    // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
    unsafe { command.pre_exec(apply) };
}

/// Marks descriptors without close-on-exec that this process itself inherited.
fn close_inherited_descriptors() -> io::Result<()> {
    let (first, last) = (3 as libc::c_uint, libc::c_uint::MAX);
    // SAFETY: the call takes integers only, and with this flag closes nothing before exec.
    if unsafe { libc::syscall(CLOSE_RANGE, first, last, CLOSE_RANGE_CLOEXEC) } == 0 {
        return Ok(());
    }
    // Linux before 5.11. A descriptor above the limit exists only if the limit was lowered after it was opened.
    let most = limit_of(OPEN_FILES)?.hard.min(DESCRIPTORS_MAX);
    for descriptor in 3..most as libc::c_int {
        // SAFETY: the call takes integers only. It fails if there is no such descriptor.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// `struct rlimit64` of prlimit(2).
#[repr(C)]
struct Limit {
    soft: u64,
    hard: u64,
}

/// Lowers the soft and the hard limit to `most`.
pub(crate) fn limit(resource: libc::c_int, most: u64) -> io::Result<()> {
    let most = most.min(limit_of(resource)?.hard);
    let (lower, none): (_, *mut Limit) = (Limit { soft: most, hard: most }, std::ptr::null_mut());
    // SAFETY: `lower` is readable; process 0 is this one.
    check_call(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, &raw const lower, none) })
}

fn limit_of(resource: libc::c_int) -> io::Result<Limit> {
    let (mut now, none): (_, *const Limit) = (Limit { soft: 0, hard: 0 }, std::ptr::null());
    // SAFETY: `now` is writable; process 0 is this one.
    check_call(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, none, &raw mut now) })?;
    Ok(now)
}

fn become_user(user: &User) -> io::Result<()> {
    // SAFETY: the groups are readable for their number; the other calls take integers only.
    unsafe {
        check(libc::setgroups(user.groups.len() as _, user.groups.as_ptr()))?;
        check(libc::setresgid(user.id, user.id, user.id))?;
        check(libc::setresuid(user.id, user.id, user.id))
    }
}

/// Makes sure that the program to be executed gets no capabilities: neither root's nor ambient ones.
fn give_up_capabilities() -> io::Result<()> {
    // SAFETY: geteuid takes nothing.
    if unsafe { libc::geteuid() } == 0 {
        set(libc::PR_SET_SECUREBITS, NO_PRIVILEGED_ROOT)?;
    }
    // Before Linux 4.3 there are no ambient capabilities, and this fails.
    let _ = set(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong);
    Ok(())
}

fn set(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: prctl with these options takes integers only.
    check(unsafe { libc::prctl(option, value, none, none, none) })
}

fn check(status: libc::c_int) -> io::Result<()> {
    check_call(libc::c_long::from(status))
}

fn check_call(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether this process runs as root and may become the user `id`. In a container root may lack the capabilities, or the
/// user namespace the id.
pub fn may_become(id: u32) -> bool {
    // SAFETY: geteuid takes nothing.
    let is_root = unsafe { libc::geteuid() } == 0;
    let has = |path: &str| std::fs::read_to_string(path).is_ok_and(|map| maps(&map, id));
    let capable = [CAP_SETGID, CAP_SETUID].into_iter().all(crate::privileges::capabilities::is_effective);
    is_root && capable && ID_MAPS.into_iter().all(has)
}

/// Whether a user namespace's map contains `id` (user_namespaces(7): first id inside, first id outside, number).
fn maps(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(id)))
    })
}

/// The supplementary groups with which an unprivileged user may read and write `device`: none if every user may. `None` if
/// there is no such device, or only its owner or root's group may use it.
pub fn groups_that_may_use(device: &Path) -> Option<Vec<u32>> {
    let status = device.metadata().ok()?;
    groups_of_mode(status.mode(), status.gid())
}

fn groups_of_mode(mode: u32, group: u32) -> Option<Vec<u32>> {
    if mode & 0o006 == 0o006 {
        Some(Vec::new())
    } else if mode & 0o060 == 0o060 && group != 0 {
        Some(vec![group])
    } else {
        None
    }
}

/// Whether the kernel filters system calls and can kill the whole process for one (CONFIG_SECCOMP_FILTER, Linux 4.14,
/// seccomp(2)).
pub fn kernel_filters_system_calls() -> bool {
    const GET_ACTION_AVAILABLE: libc::c_uint = 2;
    let kill_process: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the kernel reads the action, a 32-bit number. It changes nothing.
    let status =
        unsafe { libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAILABLE, 0, &raw const kill_process) };
    status == 0
}

/// The name of a system call that a sandbox is likely to deny, by its number on this processor.
pub fn system_call_name(number: u32) -> Option<&'static str> {
    // Each constant with its name, which begins with SYS_.
    macro_rules! named {
        ($($(#[$where:meta])* $call:ident),* $(,)?) => { &[$($(#[$where])* (libc::$call, stringify!($call))),*] };
    }
    const CALLS: &[(libc::c_long, &str)] = named![
        SYS_execve,
        SYS_execveat,
        SYS_clone,
        #[cfg(target_arch = "x86_64")]
        SYS_fork,
        #[cfg(target_arch = "x86_64")]
        SYS_vfork,
        SYS_setuid,
        SYS_setgid,
        SYS_setreuid,
        SYS_setregid,
        SYS_setresuid,
        SYS_setresgid,
        SYS_unshare,
        SYS_setns,
        SYS_setpriority,
        SYS_sched_setparam,
        SYS_sched_setscheduler,
        SYS_sched_setaffinity,
    ];
    let (_, name) = CALLS.iter().find(|(known, _)| u32::try_from(*known) == Ok(number))?;
    name.strip_prefix("SYS_")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Output;

    use super::*;
    use crate::landlock::{self, Access};

    /// An id that no user of a common system has.
    const ID: u32 = 65_531;

    fn run(script: &str, directory: &Path, confinement: Confinement) -> Output {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(directory);
        child::prepare(&mut command, &[]);
        confine(&mut command, confinement);
        command.output().unwrap()
    }

    fn text(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The kernel allows what the rules allow, and nothing else.
    #[test]
    fn a_child_accesses_only_the_files_of_its_rules() {
        if landlock::version().is_none() {
            return eprintln!("skipped: this kernel has no Landlock");
        }
        let place = tempfile::tempdir().unwrap();
        let mut files = Ruleset::deny_all().unwrap();
        for directory in ["/bin", "/usr/bin", "/lib", "/lib64", "/usr/lib"] {
            // Not every system has all of them.
            let _ = files.allow(Path::new(directory), Access::Execute);
        }
        for name in ["read", "written", "secret"] {
            std::fs::write(place.path().join(name), name).unwrap();
        }
        files.allow(&place.path().join("read"), Access::Read).unwrap();
        files.allow(&place.path().join("written"), Access::Write).unwrap();
        let script = "cat read; echo more > written; cat secret; echo x > read; mv read gone; rm secret; (: > new); echo end";
        let confinement =
            Confinement { files: Some(files), file_bytes_max: 1 << 20, ..Confinement::default() };
        let output = run(script, place.path(), confinement);
        assert_eq!(text(&output), "readend\n", "{}", String::from_utf8_lossy(&output.stderr));
        let content = |name: &str| std::fs::read_to_string(place.path().join(name)).ok();
        assert_eq!(content("read").as_deref(), Some("read"));
        assert_eq!(content("written").as_deref(), Some("more\n"));
        assert_eq!(content("secret").as_deref(), Some("secret"));
        assert_eq!((content("new"), content("gone")), (None, None));
    }

    #[test]
    fn a_confined_child_has_no_capabilities_and_cannot_gain_any() {
        let script = "grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status; ulimit -c";
        let confinement = Confinement { file_bytes_max: u64::MAX, ..Confinement::default() };
        let shown = text(&run(script, Path::new("/"), confinement));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..2], ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"]);
        assert_eq!(lines[2..], ["NoNewPrivs:\t1", "0"]);
    }

    #[test]
    fn a_confined_child_has_no_descriptors_but_its_standard_ones() {
        // SAFETY: fcntl with F_DUPFD takes integers only. The new descriptor stays open when a program is executed.
        let inherited = unsafe { libc::fcntl(0, libc::F_DUPFD, 100) };
        let script = format!("test -e /proc/$$/fd/{inherited} && echo there; echo end");
        let mut command = Command::new("/bin/sh");
        let unconfined = command.args(["-c", &script]).output().unwrap();
        assert_eq!(text(&unconfined), "there\nend\n");
        let confinement = Confinement { file_bytes_max: u64::MAX, ..Confinement::default() };
        assert_eq!(text(&run(&script, Path::new("/"), confinement)), "end\n");
        // SAFETY: the descriptor is this test's.
        unsafe { libc::close(inherited) };
    }

    #[test]
    fn root_becomes_another_user_with_its_groups_only() {
        if !may_become(ID) {
            return eprintln!("skipped: this process may not become another user");
        }
        let user = User { id: ID, groups: vec![65_530] };
        let confinement =
            Confinement { user: Some(user), file_bytes_max: u64::MAX, ..Confinement::default() };
        let shown = text(&run("id -u; id -g; id -G", Path::new("/"), confinement));
        assert_eq!(shown, "65531\n65531\n65531 65530\n");
    }

    #[test]
    fn a_file_beyond_the_limit_ends_the_child() {
        let place = tempfile::tempdir().unwrap();
        let confinement = Confinement { file_bytes_max: 1000, ..Confinement::default() };
        let output = run("exec head -c 5000 /dev/zero > file", place.path(), confinement);
        assert_eq!(output.status.signal(), Some(libc::SIGXFSZ));
        assert_eq!(std::fs::metadata(place.path().join("file")).unwrap().len(), 1000);
    }

    #[test]
    fn a_device_is_used_through_its_group_unless_that_is_roots() {
        assert_eq!(groups_of_mode(0o20_666, 0), Some(vec![]));
        assert_eq!(groups_of_mode(0o20_660, 104), Some(vec![104]));
        assert_eq!(groups_of_mode(0o20_660, 0), None);
        assert_eq!(groups_of_mode(0o20_640, 104), None);
        assert_eq!(groups_of_mode(0o20_600, 104), None);
    }

    #[test]
    fn a_namespace_maps_the_ids_of_its_ranges() {
        assert!(maps("         0          0 4294967295\n", ID));
        assert!(maps("0 1000 1\n1 100000 65536\n", ID));
        assert!(!maps("0 1000 1\n", ID));
        assert!(!maps("", ID));
    }

    #[test]
    fn denied_system_calls_have_names() {
        assert_eq!(system_call_name(libc::SYS_execve as u32), Some("execve"));
        assert_eq!(system_call_name(u32::MAX), None);
    }
}
