//! A guest that can be a switch: it runs one shell script, and what the script prints are the facts that a test goes by.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::messages::Message;
use tardy_lab::guest::orders::Orders;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;
use tardy_tsn::kernel_modules::KERNEL_MODULES;

use crate::guests::Turn;
use crate::own_modules;

const RT: &str = "debian:6.12-rt";
const SCRIPT: &str = "lab/script.sh";
/// Functions that every script may use.
const PRELUDE: &str = include_str!("prelude.sh");
/// Programs that every script may use, by package and path.
const TOOLS: [(&str, &str); 5] = [
    ("busybox-static", "/bin/busybox"),
    ("iproute2", "/sbin/ip"),
    ("iproute2", "/sbin/tc"),
    ("iproute2", "/sbin/bridge"),
    ("nftables", "/usr/sbin/nft"),
];
/// What sends frames, beside what a switch needs.
const SENDER_MODULE: &str = "pktgen";

/// What goes into a guest, beside what every script may use.
#[derive(Default)]
pub(crate) struct Guest {
    /// Modules.
    pub(crate) modules: Vec<&'static str>,
    /// Programs and what they load while they run, by package and path.
    pub(crate) tools: Vec<(&'static str, &'static str)>,
    /// Files that are no programs, by package and path.
    pub(crate) texts: Vec<(&'static str, &'static str)>,
    /// Files of the test's own, below /lab.
    pub(crate) files: Vec<(String, String)>,
    /// Programs of the test's own, below /lab.
    pub(crate) programs: Vec<(String, Vec<u8>)>,
}

impl Guest {
    /// Boots it and runs `script`: what that printed. A script that fails, fails the test.
    pub(crate) fn run(&self, guests: &Path, script: &str) -> Said {
        let kernel = kernel::find(&KernelSpec::parse(RT).unwrap(), Arch::X86_64, false, &mut tell).unwrap();
        let wanted: Vec<ModuleRequest> = KERNEL_MODULES
            .iter()
            .chain([&SENDER_MODULE])
            .chain(&self.modules)
            .map(|module| ModuleRequest::parse(module))
            .collect();
        let wanted = own_modules::build_wanted(&kernel, &wanted).unwrap();
        let modules = kernel::modules::resolve(&kernel, &wanted, &[]).unwrap();

        let experiment = Experiment {
            machine: Machine::Pc,
            pace: Pace::default(),
            memory_mib: 512,
            patience: Duration::from_secs(300),
            orders: Orders {
                commands: vec![["/bin/busybox", "sh", &format!("/{SCRIPT}")].map(str::to_owned).to_vec()],
                ..Orders::default()
            },
            parts: Parts {
                tardy: std::fs::read(guests.join("tardy-guest-x86_64")).unwrap(),
                files: self.all_files(script),
                ..Parts::default()
            },
        };
        let mut said = Said { lines: Vec::new(), files: Vec::new() };
        let mut receive = |message: &Message| {
            if let Message::Output { text } = message {
                said.lines.push(text.clone());
            }
        };
        let turn = Turn::on_one();
        let host = Host { core: Some(turn.core()), cancel: None };
        let outcome = experiment.run(&kernel, modules, host, &mut receive).unwrap();
        said.files = outcome.files;
        assert_eq!(outcome.status, 0, "the script failed:\n{}", said.text());
        said
    }

    fn all_files(&self, script: &str) -> Vec<(String, Entry)> {
        let plain = |text: &str| Entry::File { content: text.as_bytes().to_vec(), executable: false };
        let mut files = vec![(SCRIPT.to_owned(), plain(&format!("{PRELUDE}{script}")))];
        files.extend(self.files.iter().map(|(name, text)| (format!("lab/{name}"), plain(text))));
        let program = |content: &[u8]| Entry::File { content: content.to_vec(), executable: true };
        files.extend(self.programs.iter().map(|(name, content)| (format!("lab/{name}"), program(content))));
        for (package, path) in TOOLS.iter().chain(&self.tools) {
            files.extend(libraries::tool(&root_of(package), path).unwrap());
        }
        for (package, path) in &self.texts {
            let content = std::fs::read(root_of(package).join(path.trim_start_matches('/'))).unwrap();
            files.push(((*path).to_owned(), Entry::File { content, executable: false }));
        }
        files
    }
}

fn tell(text: &str) {
    eprintln!("{text}");
}

/// Where the package lies unpacked, with all that it depends on.
fn root_of(package: &str) -> PathBuf {
    let store = PackageStore::of_this_user().unwrap();
    store.fetch_tool_root(Arch::X86_64, &[package], &mut tell).unwrap().root
}

/// What a script printed, in parts, and the files that it left in the guest's results.
pub(crate) struct Said {
    lines: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
}

impl Said {
    /// All that it printed.
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

    /// The names of the parts that begin with `word` and a blank, without these.
    pub(crate) fn parts<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.lines.iter().filter_map(|line| line.strip_prefix("== "));
        names.filter_map(move |name| name.strip_prefix(word)?.strip_prefix(' '))
    }

    /// A file.
    pub(crate) fn file(&self, name: &str) -> &[u8] {
        let file = self.files.iter().find(|(given, _)| given == name);
        &file.unwrap_or_else(|| panic!("no file {name}; the script printed\n{}", self.text())).1
    }
}

/// A part of what a script printed.
pub(crate) struct Part<'a> {
    name: String,
    lines: &'a [String],
}

impl Part<'_> {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Its lines that begin with `word` and a blank, without these.
    pub(crate) fn all<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' '))
    }

    /// The number behind `word`, which stands on one line.
    pub(crate) fn number(&self, word: &str) -> u64 {
        let texts: Vec<&str> = self.all(word).collect();
        match &texts[..] {
            [text] => text.parse().unwrap_or_else(|error| panic!("{word} {text}: {error}")),
            _ => panic!("'{word}' stands {} times in part '{}':\n{}", texts.len(), self.name, self.text()),
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

    /// What is written in JSON between its first line that is a bracket or brace and the last.
    pub(crate) fn json(&self) -> serde_json::Value {
        let is_bracket = |line: &String| matches!(line.as_str(), "[" | "]" | "{" | "}" | "[]");
        let begin = self.lines.iter().position(is_bracket);
        let end = self.lines.iter().rposition(is_bracket);
        let lines = begin.zip(end).map(|(begin, end)| self.lines[begin..=end].join("\n"));
        let text = lines.unwrap_or_else(|| panic!("no JSON in part '{}':\n{}", self.name, self.text()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }
}
