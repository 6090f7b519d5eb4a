//! `tardy lab build`: a kernel of Debian's source. It is built for minutes, so `make kernel-tests` runs this.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::guests;

const SOURCE: &str = "debian:6.12";
/// The options of the first kernel, and the change of one of them.
const OPTIONS: &str = "PREEMPT_RT=y,HZ=1000";
const OTHER: &str = "PREEMPT_RT=y,HZ=1000,POSIX_MQUEUE=n";

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
    fn build(&self, options: &str, name: &str) -> String {
        let mut build = Command::new(env!("CARGO_BIN_EXE_tardy"));
        build.args(["lab", "build", "--source", SOURCE, "--set", options, "--name", name]);
        let begun = Instant::now();
        self.use_it(&mut build);
        let text = guests::text_of(&guests::expect(build, 0));
        println!("{options}: {} s; {}", begun.elapsed().as_secs(), text.lines().last().unwrap_or_default());
        text
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
    let first = cache.build(OPTIONS, "first");
    assert!(first.contains("--kernel build:first: 6.12.") && first.contains("built in"), "{first}");
    let again = cache.build(OPTIONS, "again");
    assert!(again.contains("from the cache"), "{again}");
    assert!(cache.build(OTHER, "other").contains("built in"));
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
