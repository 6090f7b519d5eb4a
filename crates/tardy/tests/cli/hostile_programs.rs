//! Another user's program, which root's tardy watches, has files that are made to mislead it: probes in other files, endless
//! tables, numbers that do not fit.
//!
//! The other user is `nobody`, so these tests need root. They print why they are skipped otherwise.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use crate::attach::can_watch;
use crate::bench::{Bench, Printed, Running, send, wait_until};
use crate::killed::{children, kill};
use crate::places::can_name_places;
use crate::probe_program::is_root;

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/hostile.c");
const NOBODY: u32 = 65_534;
/// A user whose files are neither root's nor the program's.
const THIRD: u32 = 65_533;
/// The time after which a command counts as hanging, for timeout(1), which then exits with 124.
const PATIENCE: &str = "120";

/// A directory with the programs, in which every user may create files; `None` if this machine cannot watch another user's program.
fn shared_bench() -> Option<Bench> {
    let bench = Bench::new();
    if !can_watch(&bench) || !is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("skipped: watching another user's program takes root and setpriv(1)");
        return None;
    }
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-pthread", "-o"])
        .arg(bench.path("hostile.so"))
        .arg(HOSTILE)
        .status();
    assert!(built.unwrap().success(), "{HOSTILE} does not compile");
    fs::set_permissions(bench.path("."), Permissions::from_mode(0o1777)).unwrap();
    Some(bench)
}

/// Starts the program of `nobody` with these files as its code, and waits until it has mapped them.
fn start(bench: &Bench, fault: &str, files: &[&str], other: Option<&Path>) -> Running {
    // With a real-time priority, because the machine has other work.
    let mut command = Command::new("chrt");
    command.args(["-f", "50", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(bench.path("control"));
    command.args(["absolute", fault, "2000", "1000000", "0"]).current_dir(bench.path("."));
    let paths: Vec<String> = files.iter().map(|file| bench.path(file).display().to_string()).collect();
    command.env("HOSTILE_FILES", paths.join(":")).env("LD_PRELOAD", bench.path("hostile.so"));
    if let Some(other) = other {
        command.env("HOSTILE_OTHER", other).env("HOSTILE_LOG", bench.path("swapped"));
    }
    let program = Running::of(command);
    wait_until("the program has mapped its files", || {
        let maps = fs::read_to_string(format!("/proc/{}/maps", program.id())).unwrap_or_default();
        let is_control = maps.contains("/control") && paths.iter().all(|path| maps.contains(path.as_str()));
        is_control && tardy_sys::processes::user_of(program.id()) == Some(NOBODY)
    });
    program
}

/// Watches the program for a second. A command that hangs fails the test. No more memory is allowed than a reader has, and a little.
fn attach(bench: &Bench, program: &Running, options: &[&str]) -> Printed {
    let mut command = Command::new("timeout");
    command.args([
        PATIENCE,
        "sh",
        "-c",
        "ulimit -v 4000000; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_tardy"),
    ]);
    command.args(["attach", &program.id().to_string(), "--duration", "1s", "--warmup", "300ms", "--quiet"]);
    command.args(["-o", "a.run.json", "--force"]).args(options).current_dir(bench.path("."));
    let printed = Printed::from(command.env("NO_COLOR", "1").output().unwrap());
    assert_ne!(printed.code, Some(124), "it hangs: {}", printed.err);
    printed
}

/// What a file of a test has in its tables.
struct Decoy {
    segments: u16,
    notes: usize,
    /// Where its last note says that the probe is: that many bytes from its begin.
    probe_at: u64,
}

/// A nop of this processor.
const NOP: &[u8] = if cfg!(target_arch = "aarch64") { &[0x1f, 0x20, 0x03, 0xd5] } else { &[0x90] };

impl Decoy {
    /// Bytes before the tables. All but the header are nops.
    const CODE: usize = 0x8000;

    /// Writes an ELF file, loaded to its offsets, with `notes` notes of probes that are in none of its segments, and one that is.
    fn write(&self, path: &Path) {
        let note = |address: u64| {
            let mut content: Vec<u8> = [address, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
            content.extend(b"tardy\0law__begin\0\0");
            let head = [8, content.len() as u32, 3];
            let mut note: Vec<u8> = head.iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
            note.extend(b"stapsdt\0");
            note.extend(content);
            note.resize(note.len().next_multiple_of(4), 0);
            note
        };
        let notes = [note(self.probe_at), note(u64::MAX / 2).repeat(self.notes)].concat();
        let segment = [segment_head(), 0, 0, 0, Self::CODE as u64, Self::CODE as u64, 4096];
        let segment: Vec<u8> = segment.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let table = segment.repeat(usize::from(self.segments));
        let names = b"\0.shstrtab\0.note.stapsdt\0";
        let names_at = Self::CODE + table.len();
        let notes_at = names_at + names.len();
        let sections_at = (notes_at + notes.len()).next_multiple_of(8);
        let mut file = header(Self::CODE as u64, self.segments, sections_at as u64, 2);
        file.resize(64, 0);
        while file.len() < Self::CODE {
            file.extend(NOP);
        }
        file.extend(table);
        file.extend(names);
        file.extend(&notes);
        file.resize(sections_at, 0);
        file.extend(section(1, 3, 0, names_at as u64, names.len() as u64));
        file.extend(section(11, 7, 0, notes_at as u64, notes.len() as u64));
        fs::write(path, file).unwrap();
    }
}

/// The type of a segment that is loaded, and the flags of code.
fn segment_head() -> u64 {
    if cfg!(target_endian = "little") { 5 << 32 | 1 } else { 1 << 32 | 5 }
}

/// The header of a 64-bit ELF file of this processor. The first section has the names.
fn header(segments_at: u64, segments: u16, sections_at: u64, sections: u16) -> Vec<u8> {
    let order = if cfg!(target_endian = "little") { 1 } else { 2 };
    let mut header = vec![0x7f, b'E', b'L', b'F', 2, order, 1];
    header.resize(64, 0);
    let machine: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    for (at, number) in [(16, 3), (18, machine), (54, 56), (56, segments), (58, 64), (60, sections), (62, 0)]
    {
        header[at..at + 2].copy_from_slice(&number.to_ne_bytes());
    }
    header[32..40].copy_from_slice(&segments_at.to_ne_bytes());
    header[40..48].copy_from_slice(&sections_at.to_ne_bytes());
    header
}

/// A section whose linked one is the first.
fn section(name: u32, kind: u32, address: u64, offset: u64, bytes: u64) -> Vec<u8> {
    let mut section: Vec<u8> = [name, kind].iter().flat_map(|word| word.to_ne_bytes()).collect();
    section.extend([0, address, offset, bytes, 0, 1, 24].iter().flat_map(|word: &u64| word.to_ne_bytes()));
    section
}

/// The byte at `offset` of the first file that a process has mapped, as the process would execute it.
fn code_at(pid: u32, offset: u64) -> u8 {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let begin = u64::from_str_radix(maps.split('-').next().unwrap(), 16).unwrap();
    let mut byte = [0];
    File::open(format!("/proc/{pid}/mem")).unwrap().read_exact_at(&mut byte, begin + offset).unwrap();
    byte[0]
}

#[test]
fn a_program_that_swaps_its_files_moves_no_probe_into_anothers() {
    let Some(bench) = shared_bench() else { return };
    // A program of root, whose first instruction the attacker wants to change.
    let victim = bench.path("victim");
    fs::copy(bench.path("control"), &victim).unwrap();
    let entry = fs::read(&victim).unwrap()[24..32].try_into().map(u64::from_ne_bytes).unwrap();
    assert!(entry < Decoy::CODE as u64, "{entry:#x}");
    let mut command = Command::new(&victim);
    command.args(["absolute", "none", "2000", "1000000", "0"]).current_dir(bench.path("."));
    let root = Running::of(command);
    wait_until("root's program runs", || {
        fs::read_to_string(format!("/proc/{}/maps", root.id())).is_ok_and(|maps| maps.contains("/victim"))
    });
    let before = code_at(root.id(), entry);

    let decoy = bench.path("decoy");
    Decoy { segments: 1, notes: 40_000, probe_at: entry }.write(&decoy);
    chown(&decoy, Some(NOBODY), None).unwrap();
    let attacker = start(&bench, "none", &["decoy"], Some(&victim));
    let pid = attacker.id().to_string();
    let mut tardy = bench.start(&["attach", &pid, "--duration", "2s", "--quiet", "-o", "a.run.json"]);
    let group = format!("tardy_{}/", tardy.id());
    let (mut changed, mut has_event) = (false, false);
    let mut events = String::new();
    wait_until("the end of attach", || {
        changed |= code_at(root.id(), entry) != before;
        let now = fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap_or_default();
        if now.contains(&group) {
            (has_event, events) = (true, now);
        }
        tardy.try_wait().unwrap().is_some()
    });
    assert!(bench.path("swapped").exists(), "the program did not see that its file was opened");
    assert!(!changed, "a breakpoint was in a program of root: {events}");
    assert!(has_event, "the probe of the file that was read has an event");
    tardy.printed().exits(0);
}

#[test]
fn probes_that_may_harm_others_are_refused_and_the_reason_is_shown() {
    let Some(bench) = shared_bench() else { return };
    let path = bench.path("decoy");
    let mut cases = vec![
        (NOBODY, 0o666, 0x1000, "every user can write it"),
        (THIRD, 0o644, 0x1000, "it belongs to user 65533, who is neither root nor user 65534 of the program"),
        (NOBODY, 0o644, 0x12, "is not one that does nothing"),
    ];
    if cfg!(target_arch = "aarch64") {
        cases.push((NOBODY, 0o644, 0x1002, "is not one that does nothing"));
    }
    for (owner, mode, probe_at, reason) in cases {
        let _ = fs::remove_file(&path);
        Decoy { segments: 1, notes: 0, probe_at }.write(&path);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), None).unwrap();
        let program = start(&bench, "none", &["decoy"], None);
        let printed = attach(&bench, &program, &[]).exits(0);
        let text = printed.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("USDT probe of the program marks nothing"), "{text}");
        assert!(text.contains("decoy: ") && text.contains(reason), "{reason}: {text}");
    }
}

#[test]
fn endless_notes_and_segments_do_not_keep_attach_busy() {
    let Some(bench) = shared_bench() else { return };
    Decoy { segments: 60_000, notes: 50_000, probe_at: 0x1000 }.write(&bench.path("decoy"));
    let program = start(&bench, "none", &["decoy"], None);
    attach(&bench, &program, &[]).exits(0);
}

/// A file of code with these sections: name, type, address, bytes. Their contents are holes.
fn sparse(path: &Path, sections: &[(&str, u32, u64, u64)]) {
    let mut names = b"\0.shstrtab\0".to_vec();
    let mut table = Vec::new();
    let names_bytes = 11 + sections.iter().map(|(name, ..)| name.len() + 1).sum::<usize>();
    let table_at = (64 + 56 + names_bytes).next_multiple_of(8);
    let mut at = 1 << 20;
    table.extend(section(1, 3, 0, 64 + 56, names_bytes as u64));
    for (name, kind, address, bytes) in sections {
        table.extend(section(names.len() as u32, *kind, *address, at, *bytes));
        names.extend(name.bytes().chain([0]));
        at += bytes;
    }
    let mut file = header(64, 1, table_at as u64, sections.len() as u16 + 1);
    let segment = [segment_head(), 0, 0, 0, 1 << 20, 1 << 20, 4096];
    file.extend(segment.iter().flat_map(|word: &u64| word.to_ne_bytes()));
    file.extend(names);
    file.resize(table_at, 0);
    file.extend(table);
    fs::write(path, file).unwrap();
    File::options().write(true).open(path).unwrap().set_len(at).unwrap();
}

#[test]
fn places_bear_tables_that_are_made_to_fail() {
    let Some(bench) = shared_bench() else { return };
    if !can_name_places(&bench) {
        return;
    }
    const LONG: u64 = 250 << 20;
    let many = [
        (".eh_frame", 1, 0x1000, LONG),
        (".eh_frame_hdr", 1, 0x2000, LONG),
        (".debug_frame", 1, 0, LONG),
        (".symtab", 2, 0x3000, LONG),
    ];
    sparse(&bench.path("address"), &[(".eh_frame", 1, u64::MAX, 16), (".text", 1, u64::MAX - 7, 16)]);
    sparse(&bench.path("symbols"), &[(".symtab", 2, 0x1000, 4 << 30)]);
    let mut files = vec!["address".to_owned(), "symbols".to_owned()];
    for index in 0..6 {
        files.push(format!("many{index}"));
        sparse(&bench.path(&files[files.len() - 1]), &many);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let program = start(&bench, "pipe", &files, None);
    let printed = attach(&bench, &program, &["--places"]).exits(0);
    let text = printed.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("more tables, symbols and debug information than are read"), "{text}");
}

/// The process that reads the program's files for the session `pid`.
fn reader_of(pid: u32) -> Option<u32> {
    let name = |pid: &u32| tardy_sys::processes::command_of(*pid).is_some_and(|name| name == "tardy-reader");
    children(pid).into_iter().find(name)
}

#[test]
fn a_signal_ends_attach_while_the_reader_does_not_answer() {
    let Some(bench) = shared_bench() else { return };
    if !can_name_places(&bench) {
        return;
    }
    let program = start(&bench, "pipe", &["control"], None);
    let pid = program.id().to_string();
    for signal in ["-INT", "-TERM"] {
        let tardy = bench.start(&[
            "attach",
            &pid,
            "--places",
            "--duration",
            "1h",
            "--warmup",
            "300ms",
            "--quiet",
            "--force",
            "-o",
            "a.run.json",
        ]);
        let path = bench.path("a.run.json");
        wait_until("a checkpoint with cycles", || {
            path.exists() && bench.json("a.run.json")["series"].as_array().is_some_and(|all| !all.is_empty())
        });
        let reader = reader_of(tardy.id()).expect("a process reads the program's files");
        send("-STOP", reader);
        send(signal, tardy.id());
        let printed = tardy.printed();
        assert!(printed.code.is_some() && printed.out.contains("control"), "{signal}: {printed:?}");
        wait_until("the reader has ended", || tardy_sys::processes::command_of(reader).is_none());
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_reader_that_ends_leaves_the_numbers_and_a_reason() {
    let Some(bench) = shared_bench() else { return };
    if !can_name_places(&bench) {
        return;
    }
    let program = start(&bench, "pipe", &["control"], None);
    let pid = program.id().to_string();
    let tardy = bench.start(&[
        "attach",
        &pid,
        "--places",
        "--duration",
        "3s",
        "--warmup",
        "300ms",
        "--quiet",
        "-o",
        "a.run.json",
    ]);
    wait_until("the reader", || reader_of(tardy.id()).is_some());
    send("-ABRT", reader_of(tardy.id()).unwrap());
    let printed = tardy.printed().exits(0);
    let text = printed.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = format!("files of process {pid} are not read any longer");
    assert!(text.contains(&reason) && text.contains("(SIGABRT)"), "{text}");
}

#[test]
fn the_next_start_removes_what_a_killed_attach_has_left() {
    let Some(bench) = shared_bench() else { return };
    Decoy { segments: 1, notes: 0, probe_at: 0x1000 }.write(&bench.path("decoy"));
    let program = start(&bench, "none", &["decoy"], None);
    let pid = program.id().to_string();
    let arguments = ["attach", &pid, "--duration", "1h", "--warmup", "300ms", "--quiet", "-o", "a.run.json"];
    let mut tardy = Running::of(bench.command_with_own_journal(&arguments));
    let path = bench.path("a.run.json");
    wait_until("a checkpoint with cycles", || {
        path.exists() && bench.json("a.run.json")["series"].as_array().is_some_and(|all| !all.is_empty())
    });
    let id = bench.json("a.run.json")["origin"]["id"].as_str().unwrap().to_owned();
    let group = format!("tardy_{}/", tardy.id());
    let left = || {
        let instances = fs::read_dir("/sys/kernel/tracing/instances").unwrap().flatten();
        let instances = instances.filter(|entry| entry.file_name().to_string_lossy().contains(&id)).count();
        let events = fs::read_to_string("/sys/kernel/tracing/uprobe_events").unwrap();
        (instances, events.matches(&group).count())
    };
    kill(tardy.id());
    tardy.wait().unwrap();
    assert_eq!(left(), (3, 1), "no process was left to remove them");
    let arguments =
        ["attach", &pid, "--duration", "300ms", "--warmup", "300ms", "--quiet", "-o", "b.run.json"];
    let printed = Printed::from(bench.command_with_own_journal(&arguments).output().unwrap()).exits(0);
    assert_eq!(left(), (0, 0), "{}", printed.err);
    for what in [format!("/sys/kernel/tracing/instances/tardy-{id}-program"), format!("{group}mark0")] {
        let message =
            format!("removed: {}", if what.contains("instances") { "trace instance " } else { "event " });
        let line = printed.err.lines().find(|line| line.contains(&what));
        assert!(line.is_some_and(|line| line.contains(&message)), "{what}: {}", printed.err);
    }
}
