//! A guest that can be a switch: it runs one shell script, and what the script prints are the facts that a test goes by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tardy_lab::arch::Arch;
use tardy_lab::experiment::{Experiment, Host};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::guest::initramfs::Parts;
use tardy_lab::guest::libraries;
use tardy_lab::guest::orders::Orders;
use tardy_lab::guest::words::Word;
use tardy_lab::kernel::{self, KernelSpec};
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::packages::PackageStore;

const RT: &str = "debian:6.12-rt";
const SCRIPT: &str = "lab/script.sh";
/// What every script may use, beside busybox's own commands.
const TOOLS: [(&str, &str); 5] = [
    ("busybox-static", "/bin/busybox"),
    ("iproute2", "/sbin/ip"),
    ("iproute2", "/sbin/tc"),
    ("iproute2", "/sbin/bridge"),
    ("nftables", "/usr/sbin/nft"),
];
/// What every switch needs; a guest has nothing that would load them when they are asked for.
const MODULES: [&str; 12] = [
    "veth",
    "bridge",
    "8021q",
    "nf_tables",
    "nft_meta_bridge",
    "sch_taprio",
    "sch_tbf",
    "sch_ingress",
    "cls_flower",
    "act_skbedit",
    "tun",
    "pktgen",
];

/// What goes into a guest, beside what every script may use.
#[derive(Default)]
pub(super) struct Machinery {
    /// Modules.
    pub(super) modules: Vec<&'static str>,
    /// Programs, by package and path, with the files of that package that they load while they run.
    pub(super) tools: Vec<(&'static str, &'static str, Vec<&'static str>)>,
    /// Files of the test's own, below /lab.
    pub(super) files: Vec<(String, String)>,
}

impl Machinery {
    /// Boots a guest, runs `script`, and returns what it printed. A script that fails, fails the test.
    pub(super) fn run(&self, guests: &Path, script: &str) -> Said {
        let kernel = kernel::find(&KernelSpec::parse(RT).unwrap(), Arch::X86_64, false, &mut tell).unwrap();
        let wanted = MODULES.iter().chain(&self.modules).map(|name| (*name).to_owned());
        let modules = kernel::modules::resolve(&kernel, &wanted.collect::<Vec<_>>()).unwrap();
        let modules = modules.into_iter().map(|module| (module.name, module.image)).collect();
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
                files: self.files(script),
                ..Parts::default()
            },
        };
        let mut lines = Vec::new();
        let mut hear = |word: &Word| {
            if let Word::Say { text } = word {
                eprintln!("{text}");
                lines.push(text.clone());
            }
        };
        let host = Host { core: Some(0), cancel: None };
        let outcome = experiment.run(&kernel, modules, host, &mut hear).unwrap();
        let said = Said { lines };
        assert_eq!(outcome.status, 0, "the script failed:\n{}", said.text());
        said
    }

    fn files(&self, script: &str) -> Vec<(String, Entry)> {
        let plain = |text: &str| Entry::File { content: text.as_bytes().to_vec(), executable: false };
        let mut files = vec![(SCRIPT.to_owned(), plain(&format!("{PREAMBLE}{script}")))];
        files.extend(self.files.iter().map(|(name, text)| (format!("lab/{name}"), plain(text))));
        for (package, program) in TOOLS {
            files.extend(libraries::tool(&root_of(package), program).unwrap());
        }
        for (package, program, loaded) in &self.tools {
            let root = root_of(package);
            for path in std::iter::once(program).chain(loaded) {
                files.extend(libraries::tool(&root, path).unwrap());
            }
        }
        files
    }
}

fn tell(text: &str) {
    eprintln!("{text}");
}

fn root_of(package: &str) -> PathBuf {
    let store = PackageStore::of_this_user().unwrap();
    store.fetch_tool_root(Arch::X86_64, &[package], &mut tell).unwrap().root
}

/// Before every script: busybox's commands by their names, and where programs lie.
const PREAMBLE: &str = r#"
export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/
/bin/busybox --install -s /bin
"#;

/// What a script printed.
pub(super) struct Said {
    lines: Vec<String>,
}

impl Said {
    /// All of it.
    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }
}
