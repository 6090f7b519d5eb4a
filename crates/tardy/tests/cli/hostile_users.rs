//! Another user of the machine plants links, pipes and files where root's tardy reads and writes.
//!
//! The attacker is `nobody`, so these tests need root. They print why they are skipped otherwise.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_sys::shared_map;

use crate::bench::{Bench, Printed, Running, wait_until};
use crate::full_disk::on_a_small_disk;
use crate::killed::{children, counted_in, kill, map_of};

/// The user and group `nobody` of most distributions.
const NOBODY: u32 = 65534;
/// The time after which a command counts as hanging, for timeout(1), which then exits with 124.
const PATIENCE: &str = "60";

/// A directory of root in which the attacker may create files, as in /tmp, or `None` if this user cannot play the attacker.
pub(crate) fn shared_bench() -> Option<Bench> {
    let bench = Bench::new();
    let works = as_attacker(&[env!("CARGO_BIN_EXE_tardy"), "--version"]).output();
    if tardy_sys::files::caller() != 0 || !works.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: playing another user takes root, setpriv(1), and a tardy that this user can execute"
        );
        return None;
    }
    fs::set_permissions(bench.path("."), fs::Permissions::from_mode(0o1777)).unwrap();
    Some(bench)
}

/// A command of the attacker.
pub(crate) fn as_attacker(words: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words).env("NO_COLOR", "1");
    command
}

/// Runs tardy as root. A command that hangs is ended and fails the test.
fn run(bench: &Bench, arguments: &[&str]) -> Printed {
    let mut command = Command::new("timeout");
    command.args([PATIENCE, env!("CARGO_BIN_EXE_tardy")]).args(arguments).current_dir(bench.path("."));
    let printed = Printed::from(command.env("NO_COLOR", "1").output().unwrap());
    assert_ne!(printed.code, Some(124), "{arguments:?} hangs");
    assert!(printed.code.is_some(), "a signal ended {arguments:?}: {}", printed.err);
    printed
}

fn start(bench: &Bench) -> Running {
    bench.start(&["run", "-q", "--duration", "1h", "--warmup", "0s", "--interval", "1ms", "-o", "a.run.json"])
}

fn wait_for_readings(bench: &Bench) -> PathBuf {
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let map = PathBuf::from(map_of(&path));
    let is_open = || shared_map::is_in_use(&map).unwrap_or(false);
    wait_until("readings", || is_open() && counted_in(&map.display().to_string()) > 10);
    map
}

/// A run of root that was killed, with its map. Dropping it removes the map.
struct KilledRun {
    map: PathBuf,
}

impl KilledRun {
    fn of(bench: &Bench) -> Self {
        let mut supervisor = start(bench);
        let map = wait_for_readings(bench);
        let probes = children(supervisor.id());
        kill(supervisor.id());
        supervisor.wait().unwrap();
        probes.iter().for_each(|pid| kill(*pid));
        wait_until("the map's release", || !shared_map::is_in_use(&map).unwrap());
        Self { map }
    }

    /// Replaces the map by something of the attacker's.
    fn plant(&self, plant: &[&str]) {
        let _ = fs::remove_file(&self.map);
        let path = self.map.display().to_string();
        let words: Vec<&str> =
            plant.iter().map(|word| if *word == "MAP" { path.as_str() } else { word }).collect();
        assert!(as_attacker(&words).status().unwrap().success(), "{words:?}");
    }
}

impl Drop for KilledRun {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.map);
    }
}

/// The names in a directory, with each file's inode, time of its last change in ns, and content.
fn state_of(directory: &Path) -> Vec<(PathBuf, u64, i64, Vec<u8>)> {
    let mut all: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let changed = metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec();
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            (path, metadata.ino(), changed, content)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn reading_commands_leave_a_cut_short_run_and_its_directory_unchanged() {
    let Some(bench) = shared_bench() else { return };
    let elsewhere = Bench::new();
    let killed = KilledRun::of(&bench);
    let before = state_of(&bench.path("."));
    let at = |name: &str| elsewhere.path(name).display().to_string();
    for arguments in [
        &["show", "a.run.json"][..],
        &["show", "--json", "a.run.json"],
        &["compare", "a.run.json", "a.run.json"],
        &["report", "a.run.json", "-o", &at("a.html")],
        &["plot", "a.run.json", "-o", &at("a.svg")],
        &["export", "a.run.json", "--to", "csv", "-o", &at("a.csv")],
    ] {
        let printed = run(&bench, arguments);
        let remark = "so no count is lost. The file is unchanged; 'tardy recover a.run.json' seals it";
        assert!(printed.err.contains(remark), "{arguments:?}: {}", printed.err);
        assert!(state_of(&bench.path(".")) == before, "{arguments:?} changed the directory");
    }
    let of_attacker = as_attacker(&[env!("CARGO_BIN_EXE_tardy"), "show", "a.run.json"])
        .current_dir(bench.path("."))
        .output()
        .unwrap();
    let of_attacker = Printed::from(of_attacker).exits(0);
    assert!(of_attacker.err.contains("which belongs to user 0"), "{}", of_attacker.err);
    assert!(of_attacker.err.contains("Only the file's owner, user 0, can seal it"), "{}", of_attacker.err);
    assert!(state_of(&bench.path(".")) == before && killed.map.exists());
}

#[test]
fn a_run_is_sealed_only_by_the_owner_of_its_file_and_directory() {
    let Some(bench) = shared_bench() else { return };
    let _killed = KilledRun::of(&bench);
    let refusal = |what: &str| {
        let before = state_of(&bench.path("."));
        let printed = run(&bench, &["recover", "a.run.json"]).exits(1);
        assert!(printed.err.contains("a.run.json cannot be sealed"), "{what}: {}", printed.err);
        assert!(state_of(&bench.path(".")) == before, "{what}");
        printed.err
    };
    let shared = refusal("a directory that others can write");
    assert!(shared.contains("other users can write into directory"), "{shared}");
    fs::set_permissions(bench.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let path = bench.path("a.run.json");
    fs::hard_link(&path, bench.path("second")).unwrap();
    assert!(refusal("a hard link").contains("it has 2 names"));
    fs::remove_file(bench.path("second")).unwrap();
    fs::rename(&path, bench.path("moved")).unwrap();
    symlink("moved", &path).unwrap();
    assert!(refusal("a link").contains("it is a symbolic link"));
    fs::rename(bench.path("moved"), &path).unwrap();
    chown(&path, Some(NOBODY), None).unwrap();
    assert!(refusal("another owner").contains("it belongs to user 65534, not to user 0"));
    chown(&path, Some(0), None).unwrap();
    chown(bench.path("."), Some(NOBODY), None).unwrap();
    assert!(refusal("a directory of another owner").contains("belongs to user 65534, not to user 0"));
    chown(bench.path("."), Some(0), None).unwrap();
    run(&bench, &["recover", "a.run.json"]).exits(0);
    assert_eq!(bench.json("a.run.json")["progress"]["state"], "cut_short");
}

#[test]
fn a_run_in_progress_is_shown_as_such_also_to_others_and_in_another_pid_namespace() {
    let Some(bench) = shared_bench() else { return };
    let mut supervisor = start(&bench);
    wait_for_readings(&bench);
    let tardy = env!("CARGO_BIN_EXE_tardy");
    let other_namespace = {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", tardy, "show", "a.run.json"]);
        command
    };
    for mut command in [as_attacker(&[tardy, "show", "a.run.json"]), other_namespace] {
        let shown = Printed::from(command.current_dir(bench.path(".")).output().unwrap()).exits(0);
        assert!(shown.err.contains("this run is still in progress"), "{command:?}: {}", shown.err);
    }
    let refused = run(&bench, &["recover", "a.run.json"]).exits(1);
    assert!(
        refused.err.contains("cannot be sealed") || refused.err.contains("in progress"),
        "{}",
        refused.err
    );
    let map = PathBuf::from(map_of(&bench.path("a.run.json")));
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    wait_until("the map's release", || !shared_map::is_in_use(&map).unwrap());
    fs::remove_file(map).unwrap();
}

#[test]
fn a_planted_map_neither_hangs_nor_kills_the_reader_and_is_not_read() {
    let Some(bench) = shared_bench() else { return };
    let killed = KilledRun::of(&bench);
    let root_map = fs::read(&killed.map).unwrap();
    let checkpoint = |what: &str| {
        let shown = run(&bench, &["show", "a.run.json"]).exits(0);
        assert!(shown.err.contains("the numbers of its last checkpoint"), "{what}: {}", shown.err);
    };
    killed.plant(&["mkfifo", "MAP"]);
    checkpoint("a pipe");
    let copy = bench.path("copy");
    fs::write(&copy, &root_map).unwrap();
    killed.plant(&["cp", &copy.display().to_string(), "MAP"]);
    checkpoint("a map of the attacker");
    killed.plant(&["ln", "-s", &copy.display().to_string(), "MAP"]);
    checkpoint("a link to a map of root");
    fs::remove_file(&killed.map).unwrap();
    for length in [0, 100, 4096, root_map.len() / 2, root_map.len() - 1] {
        fs::write(&killed.map, &root_map[..length]).unwrap();
        checkpoint("a truncated map");
    }
    fs::write(&killed.map, &root_map).unwrap();
    let shown = run(&bench, &["show", "a.run.json"]).exits(0);
    assert!(shown.err.contains("no count is lost"), "root's own map is still read: {}", shown.err);
}

#[test]
fn planted_counters_are_not_read() {
    let Some(bench) = shared_bench() else { return };
    let killed = KilledRun::of(&bench);
    let counters = bench.path(".a.run.json.0.counters");
    let _ = fs::remove_file(&counters);
    fs::rename(&killed.map, bench.path("map"))
        .or_else(|_| fs::copy(&killed.map, bench.path("map")).map(drop))
        .unwrap();
    let _ = fs::remove_file(&killed.map);
    let path = counters.display().to_string();
    for plant in [&["mkfifo", &path][..], &["ln", "-s", "map", &path]] {
        assert!(as_attacker(plant).status().unwrap().success());
        let shown = run(&bench, &["show", "a.run.json"]).exits(0);
        assert!(shown.err.contains("the numbers of its last checkpoint"), "{plant:?}: {}", shown.err);
        fs::remove_file(&counters).unwrap();
    }
}

#[test]
fn a_checkpoint_does_not_write_through_planted_links() {
    let Some(bench) = shared_bench() else { return };
    let precious = bench.path("precious");
    fs::write(&precious, "precious").unwrap();
    let supervisor = start(&bench);
    wait_for_readings(&bench);
    let pid = supervisor.id();
    let names = [format!(".a.run.json.{pid}.tmp"), format!("..a.run.json.0.counters.{pid}.tmp")];
    let inode = || fs::metadata(bench.path("a.run.json")).unwrap().ino();
    for name in names.iter().map(String::as_str).chain([".a.run.json.0.counters"]) {
        let words = ["ln", "-sf", "precious", name];
        assert!(as_attacker(&words).current_dir(bench.path(".")).status().unwrap().success());
    }
    let before = inode();
    wait_until("a checkpoint", || inode() != before);
    wait_until("counters", || !bench.path(".a.run.json.0.counters").is_symlink());
    drop(supervisor);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let map = map_of(&bench.path("a.run.json"));
    wait_until("the map's release", || !shared_map::is_in_use(Path::new(&map)).unwrap());
    fs::remove_file(map).unwrap();
}

#[test]
fn a_rescued_run_does_not_replace_the_target_of_a_planted_link() {
    let Some(bench) = shared_bench() else { return };
    let precious = bench.path("precious");
    fs::write(&precious, "precious").unwrap();
    let plant = format!(
        "id=$(tr , \"\\n\" <disk/a.run.json | sed -n \"s/.*\\\"id\\\": *\\\"\\([-0-9a-f]*\\)\\\".*/\\1/p\" | head -n 1); \
         setpriv --reuid=65534 --regid=65534 --clear-groups ln -s {} /dev/shm/tardy-$id.run.json; \
         echo /dev/shm/tardy-$id.run.json >planted",
        precious.display()
    );
    let script = format!(
        "$TARDY run --duration 2s --warmup 0s --load 'cmd:until test -s disk/a.run.json; do :; done; {plant}; \
         dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; sleep 60' -o disk/a.run.json"
    );
    let Some(printed) = on_a_small_disk(&bench, "256k", &script) else { return };
    let planted = fs::read_to_string(bench.path("planted")).unwrap();
    let link = Path::new(planted.trim());
    let is_link = link.is_symlink();
    let _ = fs::remove_file(link);
    assert!(is_link, "{planted} was replaced: {}", printed.err);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.err.contains("could not be written either"), "{}", printed.err);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn a_planted_journal_is_refused() {
    let Some(bench) = shared_bench() else { return };
    let journal = bench.path("run/tardy/journal");
    fs::create_dir_all(&journal).unwrap();
    let pattern = bench.path("proc/sys/kernel/core_pattern");
    fs::create_dir_all(pattern.parent().unwrap()).unwrap();
    fs::write(&pattern, "core").unwrap();
    let entry = r#"{"owner": {"pid": 4294967295, "started_ticks": 1},
        "setting": {"kind": "file", "path": "/proc/sys/kernel/core_pattern", "old": "|/tmp/x"}}"#;
    fs::write(journal.join("4294967295-0.json"), entry).unwrap();
    let root = bench.path(".").display().to_string();
    let restore = || run(&bench, &["restore", "--kernel-root", &root]).exits(1).err;
    let refused = restore();
    assert!(
        refused.contains("/proc/sys/kernel/core_pattern is not a file that tardy changes (entry "),
        "{refused}"
    );
    assert!(refused.contains("4294967295-0.json"), "{refused}");
    chown(journal.join("4294967295-0.json"), Some(NOBODY), None).unwrap();
    let refused = restore();
    assert!(refused.contains("it belongs to user 65534, not to user 0"), "{refused}");
    for foreign in [journal.as_path(), journal.parent().unwrap()] {
        chown(foreign, Some(NOBODY), None).unwrap();
        let refused = restore();
        assert!(refused.contains("is not used as the journal"), "{refused}");
        chown(foreign, Some(0), None).unwrap();
    }
    assert_eq!(fs::read_to_string(&pattern).unwrap(), "core");
}
