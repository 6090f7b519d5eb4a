//! Guests that run shell scripts of these tests.
//!
//! A boot takes about five seconds, so scenes that need the same kernel share one ([`SharedBoot`]). Each scene is a
//! separate script. It runs even if the scenes before it failed, and a test reads its output.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tardy_init::messages::Message;
use tardy_init::orders::Orders;
use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{self, Kernel, KernelSpec, Request};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_lab::session;

use crate::guests::{self, Turn};
use crate::own_modules;

/// What the driver prints before a scene's name.
const BEGIN: &str = "#### scene ";
/// What the driver prints before a scene's exit status.
const END: &str = "#### status ";
/// A guest that runs longer hangs: the longest takes a quarter of this on two cores.
const TIME_LIMIT: Duration = Duration::from_secs(20 * 60);
/// How many lines of the scenes an error quotes.
const QUOTED_LINES: usize = 20;
/// Functions that every scene may use.
const PRELUDE: &str = include_str!("prelude.sh");
/// Functions that scenes about networks may use as well.
const NETWORK_PRELUDE: &str = include_str!("network.sh");
/// Appended to the kernel's command line for scenes of which no test reads a time as a kernel's cost. Without page-table
/// isolation the emulator keeps what it has translated when a program enters the kernel: these scenes then take two thirds of
/// the CPU time. What it has translated of a program it uses again only at the same addresses.
const CHEAPER: &str = "mitigations=off norandmaps";
const BUSYBOX: Tool = ("busybox-static", "/bin/busybox");

/// A program or library: package and path.
pub(crate) type Tool = (&'static str, &'static str);

/// Where a scene runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the guest as it is. The scene undoes what it changes.
    #[default]
    Guest,
    /// In the guest as it is, with [`NETWORK_PRELUDE`].
    GuestNetwork,
    /// In separate network and mount namespaces, with empty /run and /tmp and [`NETWORK_PRELUDE`].
    OwnNetwork,
}

/// A script, and what it needs in the guest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    /// Unique within a boot.
    pub(crate) name: &'static str,
    /// Runs in busybox's sh. `$FILES` is the directory of the scene's own files.
    pub(crate) script: String,
    /// Where it runs.
    pub(crate) place: Place,
    /// Modules that are loaded while the guest boots.
    pub(crate) modules: Vec<&'static str>,
    /// Whether the script loads tardy's own modules: /lab/tardy_pins.ko and /lab/tardy_disturb.ko.
    pub(crate) own_modules: bool,
    /// Programs, and libraries that these load while they run.
    pub(crate) tools: Vec<Tool>,
    /// Other files of packages.
    pub(crate) data: Vec<Tool>,
    /// Text files in `$FILES`, by name.
    pub(crate) files: Vec<(String, String)>,
    /// Programs in `$FILES`, by name.
    pub(crate) programs: Vec<(String, Vec<u8>)>,
}

impl Scene {
    /// Where its files are in the guest.
    fn directory(&self) -> String {
        format!("lab/{}", self.name)
    }

    /// The script with its preludes.
    fn text(&self) -> String {
        let network = if self.place == Place::Guest { "" } else { NETWORK_PRELUDE };
        let begin = if self.place == Place::OwnNetwork { "own_network\n" } else { "" };
        format!("FILES=/{}\n{PRELUDE}{network}{begin}{}", self.directory(), self.script)
    }

    /// The line of the driver that runs it.
    fn command(&self) -> String {
        let namespaces = if self.place == Place::OwnNetwork { "/bin/busybox unshare -n -m " } else { "" };
        let (name, directory) = (self.name, self.directory());
        format!("echo '{BEGIN}{name}'\n{namespaces}/bin/busybox sh /{directory}/scene.sh\necho \"{END}$?\"\n")
    }

    fn entries(&self) -> Vec<(String, Entry)> {
        let directory = self.directory();
        let file = |name: &str, content: Vec<u8>, executable: bool| {
            (format!("{directory}/{name}"), Entry::File { content, executable })
        };
        let mut entries = vec![file("scene.sh", self.text().into_bytes(), false)];
        entries.extend(self.files.iter().map(|(name, text)| file(name, text.clone().into_bytes(), false)));
        entries.extend(self.programs.iter().map(|(name, content)| file(name, content.clone(), true)));
        for (package, path) in &self.tools {
            entries.extend(libraries::tool(&root_of(package), path).unwrap());
        }
        for (package, path) in &self.data {
            let content = std::fs::read(root_of(package).join(path.trim_start_matches('/'))).unwrap();
            entries.push(((*path).to_owned(), Entry::File { content, executable: false }));
        }
        entries
    }
}

/// A boot that several tests share. The first test that requests one of its scenes starts it.
pub(crate) struct SharedBoot {
    kernel: &'static str,
    append: &'static str,
    pace: Option<Pace>,
    scenes: fn() -> Vec<Scene>,
    booted: OnceLock<Result<Booted, String>>,
}

impl SharedBoot {
    /// A boot of `kernel` with [`CHEAPER`], at the lab's usual pace.
    pub(crate) const fn new(kernel: &'static str, scenes: fn() -> Vec<Scene>) -> Self {
        Self { kernel, append: CHEAPER, pace: None, scenes, booted: OnceLock::new() }
    }

    /// The same at another pace.
    pub(crate) const fn at_pace(pace: Pace, kernel: &'static str, scenes: fn() -> Vec<Scene>) -> Self {
        Self { kernel, append: CHEAPER, pace: Some(pace), scenes, booted: OnceLock::new() }
    }

    /// The same on `cpus` CPUs in the host's time, with `append` on the kernel's command line as well: for what works, not for how long it
    /// takes.
    pub(crate) const fn with_cpus(
        cpus: u32,
        kernel: &'static str,
        append: &'static str,
        scenes: fn() -> Vec<Scene>,
    ) -> Self {
        Self { kernel, append, pace: Some(Pace::Realtime { cpus }), scenes, booted: OnceLock::new() }
    }

    /// A boot of `kernel` as `tardy lab` boots it.
    pub(crate) const fn as_in_the_lab(kernel: &'static str, scenes: fn() -> Vec<Scene>) -> Self {
        Self { kernel, append: "", pace: None, scenes, booted: OnceLock::new() }
    }

    /// What the scene `name` printed and which files the guest handed out. `None`, with the reason printed, if lab tests
    /// are off or this machine lacks what the scene needs. Panics if the scene failed.
    pub(crate) fn scene(&self, name: &str) -> Option<&Printed> {
        let Some(printed) = self.booted()?.scenes.iter().find(|printed| printed.name == name) else {
            println!("skipped: this machine cannot build what '{name}' needs; the reason is printed above");
            return None;
        };
        assert_eq!(printed.status, Some(0), "the scene '{name}' failed:\n{}", printed.text());
        Some(printed)
    }

    /// What all scenes printed. `None` as in [`Self::scene`].
    pub(crate) fn booted(&self) -> Option<&Booted> {
        let guests = guests::directory()?;
        match self.booted.get_or_init(|| self.boot(&guests)) {
            Ok(booted) => Some(booted),
            Err(error) => panic!("the shared boot failed: {error}"),
        }
    }

    fn boot(&self, guests: &Path) -> Result<Booted, String> {
        let spec = KernelSpec { append: self.append.to_owned(), ..KernelSpec::parse(self.kernel).unwrap() };
        let scenes = runnable((self.scenes)());
        boot(&spec, self.pace, &scenes, guests)
    }
}

/// The scenes that this machine can run.
fn runnable(mut scenes: Vec<Scene>) -> Vec<Scene> {
    if scenes.iter().any(|scene| scene.own_modules) && !own_modules::are_there() {
        scenes.retain(|scene| !scene.own_modules);
    }
    scenes
}

/// Boots the kernel of `spec` once and runs `scenes` there, one after the other.
pub(crate) fn boot(
    spec: &KernelSpec,
    pace: Option<Pace>,
    scenes: &[Scene],
    guests: &Path,
) -> Result<Booted, String> {
    let modules = scenes.iter().flat_map(|scene| &scene.modules);
    let names: Vec<String> = modules.map(|module| (*module).to_owned()).collect();
    let request = Request { arch: Arch::X86_64, refresh: false, keep: &names };
    let kernel = kernel::find(spec, request, &mut notice).map_err(|error| error.to_string())?;
    let wanted: Vec<ModuleRequest> = names.iter().map(|module| ModuleRequest::parse(module)).collect();
    let store = PackageStore::of_this_user().map_err(|error| error.to_string())?;
    let modules = kernel::modules_of(&store, &kernel, [&wanted, &[]], &mut notice);
    let modules = modules.map_err(|error| error.to_string())?;
    let experiment = experiment(scenes, pace.unwrap_or_default(), &kernel, guests)?;
    let mut lines: Vec<(Instant, String)> = Vec::new();
    let (cancelled, mut cancel) = io::pipe().unwrap();
    let turn = Turn::on_one(scenes.iter().map(|scene| 1 + scene.files.len()).sum());
    // Not before its turn: on a slow machine the last boot waits longer than a guest may take.
    let begin = Instant::now();
    let mut receive = |message: &Message| {
        if let Message::Output { text } = message {
            lines.push((Instant::now(), text.clone()));
        }
        if begin.elapsed() > TIME_LIMIT {
            cancel.write_all(&[0]).unwrap();
        }
    };
    let confinement = session::confinement(experiment.machine, experiment.pace, false);
    let confinement = confinement.map_err(|error| error.to_string())?;
    let host = Host {
        core: Some(turn.core()),
        cancel: Some(cancelled.as_raw_fd()),
        confinement: &confinement,
        keep: None,
    };
    let outcome = experiment.run(&kernel, modules, host, &mut receive);
    let outcome = outcome.map_err(|error| describe(&error, &lines))?;
    let booted = Booted::of(&lines, outcome.files, outcome.lab.identity, begin);
    println!("{}: {}", kernel.release, booted.times);
    Ok(booted)
}

/// The error of a guest, and what its scenes printed last.
fn describe(error: &dyn std::error::Error, lines: &[(Instant, String)]) -> String {
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    let last: String = last.iter().map(|(_, line)| format!("\n    {line}")).collect();
    format!("{error}. The last lines of its scenes:{last}")
}

fn experiment(scenes: &[Scene], pace: Pace, kernel: &Kernel, guests: &Path) -> Result<Experiment, String> {
    let mut files = libraries::tool(&root_of(BUSYBOX.0), BUSYBOX.1).unwrap();
    files.extend(scenes.iter().flat_map(Scene::entries));
    if scenes.iter().any(|scene| scene.own_modules) {
        for (name, content) in own_modules::images(kernel).map_err(|error| error.to_string())? {
            files.push((format!("lab/{name}.ko"), Entry::File { content, executable: false }));
        }
    }
    let driver: String = scenes.iter().map(Scene::command).collect();
    Ok(Experiment {
        machine: Machine::Pc,
        pace,
        memory_mib: 512,
        patience: Duration::from_secs(300),
        orders: Orders {
            commands: vec![["/bin/busybox", "sh", "-c", &driver].map(str::to_owned).to_vec()],
            ..Orders::default()
        },
        parts: Parts {
            // The scenes run commands that the program for guests does not have.
            tardy: std::fs::read(guests.join("tardy-x86_64")).unwrap(),
            files,
            ..Parts::default()
        },
    })
}

fn notice(text: &str) {
    eprintln!("{text}");
}

/// The directory into which the package and its dependencies are unpacked.
fn root_of(package: &str) -> PathBuf {
    let store = PackageStore::of_this_user().unwrap();
    store.fetch_tool_root(Arch::X86_64, &[package], &mut notice).unwrap().root
}

/// The results of a guest that has finished.
pub(crate) struct Booted {
    /// Its scenes, in their order.
    scenes: Vec<Printed>,
    /// The hash of everything that determines the guest's results.
    pub(crate) identity: String,
    /// The real time that the boot and each scene took, as text.
    times: String,
}

impl Booted {
    fn of(
        lines: &[(Instant, String)],
        files: Vec<(String, Vec<u8>)>,
        identity: String,
        begin: Instant,
    ) -> Self {
        let files = Arc::new(files);
        let mut scenes: Vec<Printed> = Vec::new();
        let mut times = String::new();
        let mut since = begin;
        for (at, line) in lines {
            if let Some(name) = line.strip_prefix(BEGIN) {
                if scenes.is_empty() {
                    write!(times, "boot {:.1} s", (*at - since).as_secs_f64()).unwrap();
                }
                since = *at;
                let (name, files) = (name.to_owned(), Arc::clone(&files));
                scenes.push(Printed { name, lines: Vec::new(), status: None, files });
            } else if let Some(scene) = scenes.last_mut() {
                match line.strip_prefix(END) {
                    Some(status) => {
                        scene.status = status.parse().ok();
                        write!(times, ", {} {:.1} s", scene.name, (*at - since).as_secs_f64()).unwrap();
                    }
                    None => scene.lines.push(line.clone()),
                }
            }
        }
        Self { scenes, identity, times }
    }

    /// What the scenes printed, one after the other.
    pub(crate) fn scenes(&self) -> &[Printed] {
        &self.scenes
    }
}

/// What a scene printed, in parts, and the files that the guest's scenes left in /lab/results.
pub(crate) struct Printed {
    /// The scene's name.
    pub(crate) name: String,
    lines: Vec<String>,
    /// The script's exit status. `None` if the guest ended before the script did.
    status: Option<u8>,
    /// The files of all scenes of the boot: name and contents.
    pub(crate) files: Arc<Vec<(String, Vec<u8>)>>,
}

impl Printed {
    /// The whole output.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The part called `name`, up to the next.
    pub(crate) fn part(&self, name: &str) -> Part<'_> {
        let begin = self.lines.iter().position(|line| line.strip_prefix("== ") == Some(name));
        let begin = begin.unwrap_or_else(|| panic!("no part '{name}' in\n{}", self.text())) + 1;
        let rest = &self.lines[begin..];
        let end = rest.iter().position(|line| line.starts_with("== ")).unwrap_or(rest.len());
        Part { name: name.to_owned(), lines: &rest[..end] }
    }

    /// The names of the parts that begin with `word` and a blank, without that prefix.
    pub(crate) fn parts<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.lines.iter().filter_map(|line| line.strip_prefix("== "));
        names.filter_map(move |name| name.strip_prefix(word)?.strip_prefix(' '))
    }

    /// The JSON objects that programs printed, one per line.
    pub(crate) fn json_lines<T: serde::de::DeserializeOwned>(&self) -> Vec<T> {
        let objects = self.lines.iter().filter(|line| line.starts_with('{'));
        objects.filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The contents of a file.
    pub(crate) fn file(&self, name: &str) -> &[u8] {
        let file = self.files.iter().find(|(given, _)| given == name);
        &file.unwrap_or_else(|| panic!("no file {name}; the scene printed\n{}", self.text())).1
    }

    /// The contents of a text file.
    pub(crate) fn text_file(&self, name: &str) -> &str {
        std::str::from_utf8(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A run file.
    pub(crate) fn run(&self, name: &str) -> tardy_record::Run {
        tardy_record::file::from_text(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// A part of what a scene printed.
pub(crate) struct Part<'a> {
    name: String,
    lines: &'a [String],
}

impl Part<'_> {
    /// The whole part.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Its lines that begin with `word` and a blank, without that prefix.
    pub(crate) fn all<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' '))
    }

    /// The number after `word`, which must begin exactly one line.
    pub(crate) fn number(&self, word: &str) -> u64 {
        let texts: Vec<&str> = self.all(word).collect();
        match &texts[..] {
            [text] => text.parse().unwrap_or_else(|error| panic!("{word} {text}: {error}")),
            _ => panic!("'{word}' occurs {} times in part '{}':\n{}", texts.len(), self.name, self.text()),
        }
    }

    /// How many frames left by the first queue and by the second, of those that `traced` printed.
    pub(crate) fn by_queue(&self) -> (usize, usize) {
        let of = |queue: &str| self.all("left").filter(|line| line.ends_with(queue)).count();
        (of(" 0"), of(" 1"))
    }

    /// The exit status of its only command.
    pub(crate) fn status(&self) -> u64 {
        self.number("exit status")
    }

    /// The JSON text from the first line that is only a bracket or brace to the last such line, parsed.
    pub(crate) fn json(&self) -> serde_json::Value {
        let is_bracket = |line: &String| matches!(line.as_str(), "[" | "]" | "{" | "}" | "[]");
        let begin = self.lines.iter().position(is_bracket);
        let end = self.lines.iter().rposition(is_bracket);
        let lines = begin.zip(end).map(|(begin, end)| self.lines[begin..=end].join("\n"));
        let text = lines.unwrap_or_else(|| panic!("no JSON in part '{}':\n{}", self.name, self.text()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }
}
