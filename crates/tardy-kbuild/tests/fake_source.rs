//! A source that make builds in a moment, and a cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_kbuild::build::{Base, Builder, Built, Request};
use tardy_kbuild::error::BuildError;
use tardy_kbuild::source::SourceSpec;
use tardy_kbuild::toolchain::Toolchain;
use tardy_lab::arch::Arch;
use tardy_lab::packages::PackageStore;
use tardy_lab::packages::apt::{Mirrors, Programs};
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_search::configuration::Setting;

const FILES: [&str; 4] = ["Makefile", "Kconfig", "version.c", "scripts/complete.awk"];

pub(crate) struct FakeSource {
    place: tempfile::TempDir,
    pub(crate) store: PackageStore,
}

impl FakeSource {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_source");
        fs::create_dir_all(place.path().join("linux/scripts")).unwrap();
        for name in FILES {
            fs::copy(from.join(name), place.path().join("linux").join(name)).unwrap();
        }
        let store = PackageStore {
            cache: CacheDirectory::at(place.path().join("cache")),
            programs: Programs::default(),
            mirrors: Mirrors::default(),
        };
        Self { place, store }
    }

    /// The top of the source.
    pub(crate) fn tree(&self) -> PathBuf {
        self.place.path().join("linux")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.tree().join(name), text).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.tree()).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
        let output =
            git.args(["-c", "commit.gpgsign=false"]).args(arguments).output().expect("git is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits the files as they are.
    pub(crate) fn commit(&self, message: &str) -> String {
        if !self.tree().join(".git").exists() {
            self.git(&["init", "--quiet"]);
        }
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A builder with the compiler of this machine, whatever its version is.
    pub(crate) fn builder(&self) -> Builder<'_> {
        let tools = Toolchain {
            arch: Arch::X86_64,
            prefix: String::new(),
            compiler: "a compiler".to_owned(),
            pahole: Some("pahole".to_owned()),
        };
        Builder { store: &self.store, tools }
    }

    pub(crate) fn request(&self, settings: &[&str]) -> Request {
        Request {
            source: SourceSpec::Directory(self.tree()),
            base: Base::Lab,
            settings: settings.iter().map(|text| text.parse::<Setting>().unwrap()).collect(),
            strict: true,
        }
    }

    pub(crate) fn build(&self, settings: &[&str]) -> Result<Built, BuildError> {
        self.builder().build(&self.request(settings), &mut |_| {})
    }

    /// The error of a build, in which DIR stands for the test's directory.
    pub(crate) fn error(&self, settings: &[&str]) -> String {
        let error = self.build(settings).unwrap_err().to_string();
        error.replace(&self.place.path().canonicalize().unwrap().display().to_string(), "DIR")
    }

    /// How often the source was compiled.
    pub(crate) fn compilations(&self) -> usize {
        let trees = self.store.cache.build_trees().join("amd64");
        let trees = fs::read_dir(trees).into_iter().flatten().filter_map(Result::ok);
        let built = trees.filter_map(|tree| fs::read_to_string(tree.path().join("builds")).ok());
        built.map(|text| text.lines().count()).sum()
    }
}

/// The image of a build, as text.
pub(crate) fn image(built: &Built) -> String {
    let spec = built.kernel.exact_name().parse().unwrap();
    String::from_utf8_lossy(&built.kernel.kernel(&spec).image.read().unwrap()).into_owned()
}
