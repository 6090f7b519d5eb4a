//! `tardy lab build`: a kernel of Debian's source. It is built for minutes, so `make kernel-tests` runs this.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tardy_lab::kernel::KernelSpec;

use crate::scripted::{Scene, boot};
use crate::{c_program, guests};

const SOURCE: &str = "debian:6.12";
/// The options of the first kernel, and the change of one of them.
const OPTIONS: &str = "PREEMPT_RT=y,HZ=1000";
const OTHER: &str = "PREEMPT_RT=y,HZ=1000,POSIX_MQUEUE=n";

/// A kernel with its own monitors of real-time programs, which no kernel of Debian has, and its options.
const MONITORED: (&str, &str) = (
    "debian:7.3",
    "PREEMPT_RT=y,FTRACE_SYSCALLS=y,RV=y,RV_PER_TASK_MONITORS=3,RV_MON_RTAPP=y,RV_MON_PAGEFAULT=y,RV_MON_SLEEP=y",
);

/// A program that sleeps for times, one that takes page faults, and one that does neither. What the monitors are afterwards.
const CHECKS: &str = "for program in 'relative none' 'absolute page-fault' 'absolute none'; do\n\
    echo \"program $program\"\n\
    tardy check -- $FILES/control $program 1000 8000 80\n\
    done\n\
    cd /sys/kernel/tracing/rv && cat enabled_monitors && echo end";

/// A cache that keeps the source from one run of the test to the next, and nothing that was built.
struct Cache(PathBuf);

impl Cache {
    fn new() -> Self {
        let place = PathBuf::from(std::env::var_os("TARDY_KERNEL_TESTS").expect("make kernel-tests sets it"));
        for built in ["builds", "trees"] {
            let _ = fs::remove_dir_all(place.join("tardy").join(built));
        }
        Self(place)
    }

    fn use_it<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("XDG_CACHE_HOME", &self.0)
    }

    /// Builds a kernel, and returns what tardy printed.
    fn build(&self, source: &str, options: &str, name: &str) -> String {
        let mut build = Command::new(env!("CARGO_BIN_EXE_tardy"));
        build.args(["lab", "build", "--source", source, "--set", options, "--name", name]);
        let begun = Instant::now();
        self.use_it(&mut build);
        let text = guests::text_of(&guests::expect(build, 0));
        println!("{options}: {} s; {}", begun.elapsed().as_secs(), text.lines().last().unwrap_or_default());
        text
    }

    /// The image of the only kernel that was built.
    fn image(&self) -> PathBuf {
        let entries = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let mut kernels = entries(&self.0.join("tardy/builds/amd64")).filter(|path| path.is_dir());
        let boot = kernels.next().expect("a kernel was built").join("boot");
        let is_image = |path: &PathBuf| path.to_string_lossy().contains("/vmlinux-");
        entries(&boot).find(is_image).expect("an image")
    }

    fn bytes(&self, directory: &str) -> u64 {
        tardy_lab::packages::cache_size::of_directory(&self.0.join("tardy").join(directory))
    }
}

#[test]
#[ignore = "builds a kernel for minutes: make kernel-tests"]
fn builds_a_kernel_that_boots_with_its_options_and_comes_from_the_cache_the_second_time() {
    let guests = guests::directory().expect("make kernel-tests builds the guests");
    let cache = Cache::new();
    let first = cache.build(SOURCE, OPTIONS, "first");
    assert!(first.contains("--kernel build:first: 6.12.") && first.contains("built in"), "{first}");
    let again = cache.build(SOURCE, OPTIONS, "again");
    assert!(again.contains("from the cache"), "{again}");
    assert!(cache.build(SOURCE, OTHER, "other").contains("built in"));
    for directory in ["sources", "trees", "builds"] {
        println!("{directory}: {} MB", cache.bytes(directory) / 1_000_000);
    }

    let results = tempfile::tempdir().unwrap();
    for (name, has_queues) in [("first", true), ("other", false)] {
        let run = run(&cache, &guests, name, results.path());
        let facts = &run.facts.kernel;
        // The kernel has its configuration in itself.
        assert_eq!(facts.config.how, "/proc/config.gz");
        let config = facts.config.value.known().unwrap();
        assert_eq!(config.contains_key("POSIX_MQUEUE"), has_queues, "{name}");
        assert_eq!(facts.hz.value.known().copied(), Some(1000), "{name}");
        assert_eq!(facts.real_time.value.known().copied(), Some(true), "{name}");
    }
    let sweep = sweep(&cache, &guests, results.path());
    assert!(
        sweep.contains("as it is") && sweep.contains("POSIX_MQUEUE=n") && !sweep.contains("building"),
        "{sweep}"
    );
}

fn run(cache: &Cache, guests: &Path, name: &str, results: &Path) -> tardy_record::Run {
    let place = results.join(name);
    let mut lab = guests::lab(guests, "x86_64", "run");
    cache.use_it(&mut lab).args(["lab-quick", "-k", &format!("build:{name}"), "-o"]).arg(&place);
    guests::expect_alone(&lab, 0);
    let files = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    let mut runs = files.filter(|path| path.to_string_lossy().ends_with(".run.json"));
    guests::run(&runs.next().unwrap())
}

/// Both values of the option have been built.
fn sweep(cache: &Cache, guests: &Path, results: &Path) -> String {
    let mut lab = guests::lab(guests, "x86_64", "sweep");
    cache.use_it(&mut lab).args([
        "lab-quick",
        "--loops",
        "100",
        "-k",
        "build:first",
        "--option",
        "POSIX_MQUEUE=n",
    ]);
    lab.args(["--measure", "idle:p50", "-o"]).arg(results.join("sweep"));
    guests::text_of(&guests::expect_alone(&lab, 0))
}

#[test]
#[ignore = "builds a kernel for minutes: make kernel-tests"]
fn builds_a_kernel_with_monitors_of_its_own_which_check_a_program() {
    let guests = guests::directory().expect("make kernel-tests builds the guests");
    let cache = Cache::new();
    let (source, options) = MONITORED;
    cache.build(source, options, "monitored");
    the_kernels_monitors_are_used(&cache.image().to_string_lossy(), &guests);
}

fn the_kernels_monitors_are_used(kernel: &str, guests: &Path) {
    let control = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/control.c");
    let program = c_program::compiled_with(control, &["-pthread"]).expect("a C compiler");
    let programs = vec![("control".to_owned(), program)];
    let scene = Scene { name: "monitors", script: CHECKS.to_owned(), programs, ..Scene::default() };
    let booted = boot(&KernelSpec::parse(kernel).unwrap(), None, &[scene], guests);
    let printed = booted.unwrap_or_else(|error| panic!("{error}"));
    let text = printed.scenes()[0].text();
    let of_program = |name: &str| {
        let from = text.find(&format!("program {name}\n")).unwrap_or_else(|| panic!("{text}"));
        let part = &text[from + 1..];
        &part[..part.find("program ").unwrap_or(part.len())]
    };
    assert!(of_program("relative none").contains("rtapp:sleep reported 'control'"), "{text}");
    assert!(of_program("absolute page-fault").contains("rtapp:pagefault reported 'control'"), "{text}");
    assert!(of_program("absolute none").contains("no report by"), "{text}");
    // They are as they were: none is listed.
    assert!(!text.lines().any(|line| line.starts_with("rtapp")), "{text}");
    assert!(text.trim_end().ends_with("end"), "{text}");
}
