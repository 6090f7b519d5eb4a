//! Builds a kernel, unless the cache has one that was made of the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tardy_lab::arch::Arch;
use tardy_lab::checksum::sha256;
use tardy_lab::kernel::built::{self, BuildManifest, BuiltFiles, BuiltKernel};
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_lab::packages::{Notice, PackageStore};
use tardy_sys::{files, programs};

use crate::differences::{self, Difference};
use crate::error::BuildError;
use crate::kconfig::Options;
use crate::make::Make;
use crate::source::{Source, SourceSpec};
use crate::toolchain::Toolchain;
use tardy_search::configuration::{Configuration, OFF, Setting};

/// The configuration for the lab: what guests need, over `allnoconfig`.
const LAB: &str = include_str!("../data/lab.config");
/// Options of [`LAB`] without effect if pahole is not installed, except that everything is compiled for longer.
const TYPES: [&str; 3] = ["DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT", "DEBUG_INFO_BTF", "BPF_SYSCALL"];
/// Options without which no guest of the lab starts or reports.
const NEEDED: [&str; 5] = ["BLK_DEV_INITRD", "DEVTMPFS", "TMPFS", "PROC_FS", "SYSFS"];
/// The same for a PC: the emulator enters the unpacked image, and results leave through a port.
const NEEDED_BY_PC: [&str; 2] = ["PVH", "X86_IOPL_IOPERM"];

/// A kernel that is wanted.
#[derive(Clone, Debug)]
pub struct Request {
    /// The source.
    pub source: SourceSpec,
    /// The configuration that it begins with.
    pub base: Base,
    /// Options that are set in it.
    pub settings: Vec<Setting>,
    /// Whether a setting that Kconfig does not put into effect is an error.
    pub strict: bool,
}

/// The configuration that a build begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// That for the lab.
    Lab,
    /// The text of a configuration. Options that it does not name get their defaults.
    Text(String),
}

impl Base {
    fn text(&self) -> &str {
        match self {
            Self::Lab => LAB,
            Self::Text(text) => text,
        }
    }
}

/// A kernel that was built, or was in the cache.
#[derive(Clone, Debug)]
pub struct Built {
    /// The kernel.
    pub kernel: BuiltKernel,
    /// Whether it was built now.
    pub is_new: bool,
}

/// Builds kernels for one processor.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The cache of kernels, and what fetches sources.
    pub store: &'a PackageStore,
    /// The programs that compile.
    pub tools: Toolchain,
}

impl<'a> Builder<'a> {
    /// With the programs of this machine.
    ///
    /// # Errors
    /// If any is missing.
    pub fn new(store: &'a PackageStore, arch: Arch) -> Result<Self, BuildError> {
        Ok(Self { store, tools: Toolchain::find(arch)? })
    }

    /// Builds a kernel, or returns the one in the cache that was made of the same. `notice` is called before steps that take time.
    ///
    /// # Errors
    /// If the source is not available, an option cannot be set, or make fails. What was compiled stays, so that the next build of
    /// the source continues.
    pub fn build(&self, request: &Request, notice: Notice<'_>) -> Result<Built, BuildError> {
        let (cache, tools) = (&self.store.cache, &self.tools);
        let lock = cache.lock_builds(notice)?;
        let source = request.source.prepare(self.store, notice)?;
        let requested = request.hash(&source, tools);
        let known = built::requests(cache, tools.arch).get(&requested).cloned();
        if let Some(kernel) = known.and_then(|key| built::with_key(cache, tools.arch, &key)) {
            return Ok(Built { kernel, is_new: false });
        }
        let place = cache.build_trees().join(tools.arch.debian_name()).join(&source.place);
        files::make_directories(&place).map_err(BuildError::file("creating", &place))?;
        let make = Make { source: &source.tree, place: &place, tools, lock: &lock };
        let configuration = configure(&make, request)?;
        let key = key(&source, tools, &configuration);
        let (kernel, is_new) = match built::with_key(cache, tools.arch, &key) {
            Some(kernel) => (kernel, false),
            None => (compile(&make, cache, request, &source, key, notice)?, true),
        };
        built::record_request(cache, tools.arch, &requested, &kernel)?;
        Ok(Built { kernel, is_new })
    }
}

impl Request {
    /// What is known before the source is configured.
    fn hash(&self, source: &Source, tools: &Toolchain) -> String {
        let settings: Vec<String> = self.settings.iter().map(ToString::to_string).collect();
        let is_lab = self.base == Base::Lab;
        let parts = [source.identity.as_str(), &tools.identity(), &settings.join("\n"), self.base.text()];
        let head = format!("{} {is_lab} {}", tools.arch.name(), self.strict);
        sha256(format!("{head}\n{}", parts.join("\n\n")).as_bytes())
    }
}

/// The hash of everything that a kernel is made of.
fn key(source: &Source, tools: &Toolchain, configuration: &Configuration) -> String {
    let parts = [source.identity.clone(), tools.identity(), configuration.identity()];
    sha256(format!("{}\n{}", tools.arch.name(), parts.join("\n\n")).as_bytes())
}

/// Writes the configuration, has the source's Kconfig complete it, and checks that it is what was requested.
fn configure(make: &Make<'_>, request: &Request) -> Result<Configuration, BuildError> {
    let path = make.place.join(".config");
    let write = |path: &Path, configuration: &Configuration| {
        files::replace_own(path, 0o644, configuration.text().as_bytes())
            .map_err(BuildError::file("writing", path))
    };
    let mut wanted = Configuration::of(request.base.text());
    if request.base == Base::Lab && make.tools.pahole.is_none() {
        for name in TYPES {
            wanted.set(&Setting { name: name.to_owned(), value: OFF.to_owned() });
        }
    }
    for setting in &request.settings {
        wanted.set(setting);
    }
    match &request.base {
        Base::Lab => {
            let requested = make.place.join("requested.config");
            write(&requested, &wanted)?;
            let variable = format!("KCONFIG_ALLCONFIG={}", requested.display());
            make.run("configuring the source", &[&variable, "allnoconfig"])?;
        }
        Base::Text(_) => {
            write(&path, &wanted)?;
            make.run("configuring the source", &["olddefconfig"])?;
        }
    }
    let text = fs::read(&path).map_err(BuildError::file("reading", &path))?;
    let configuration = Configuration::of(&String::from_utf8_lossy(&text));
    check(&configuration, make, request)?;
    Ok(configuration)
}

fn check(configuration: &Configuration, make: &Make<'_>, request: &Request) -> Result<(), BuildError> {
    let unmet = configuration.unmet(&request.settings);
    if request.strict && !unmet.is_empty() {
        let options = Options::of(make.source);
        let message = |setting: &&Setting| {
            let is = configuration.value(&setting.name);
            let reason = options.reason(&setting.prompted());
            format!("{setting} is not in effect, {} is {is}: {reason}", setting.name)
        };
        return Err(BuildError::Unmet(unmet.iter().map(message).collect()));
    }
    let of_machine: &[&str] = if make.tools.arch == Arch::X86_64 { &NEEDED_BY_PC } else { &[] };
    let needed = NEEDED.iter().chain(of_machine).copied();
    let off: Vec<&str> = needed.filter(|name| configuration.value(name) == OFF).collect();
    if off.is_empty() { Ok(()) } else { Err(BuildError::Needed(off)) }
}

/// Compiles the source and keeps the kernel.
fn compile(
    make: &Make<'_>,
    cache: &CacheDirectory,
    request: &Request,
    source: &Source,
    key: String,
    notice: Notice<'_>,
) -> Result<BuiltKernel, BuildError> {
    let config = make.place.join(".config");
    let text = fs::read(&config).map_err(BuildError::file("reading", &config))?;
    let configuration = Configuration::of(&String::from_utf8_lossy(&text));
    notice(&format!(
        "building {} with {} options; the first build of a source takes minutes, and its log is {}",
        request.source,
        configuration.names().count(),
        make.log().display()
    ));
    if make.tools.pahole.is_none() {
        notice(
            "pahole is not installed, so `tardy lab explain` will not know the structures of this kernel: install dwarves or pahole",
        );
    }
    let begun = Instant::now();
    let target = if make.tools.arch == Arch::X86_64 { "vmlinux" } else { "Image" };
    make.run("building the kernel", &[target])?;
    let modules = modules(make, &configuration)?;
    let release = make.place.join("include/config/kernel.release");
    let release = fs::read_to_string(&release).map_err(BuildError::file("reading", &release))?;
    let release = release.trim().to_owned();
    let image = image(make)?;
    let built_in = fs::read(make.place.join("modules.builtin")).unwrap_or_default();
    let manifest = BuildManifest {
        key,
        arch: make.tools.arch,
        source: source.name.clone(),
        commit: source.commit.clone(),
        source_identity: source.identity.clone(),
        set: request.settings.iter().map(ToString::to_string).collect(),
        compiler: make.tools.compiler.clone(),
        image_sha256: String::new(),
        image_bytes: 0,
        seconds: begun.elapsed().as_secs(),
        release: release.clone(),
    };
    let modules = modules.map(|modules| modules.join("lib/modules").join(&release));
    let files = BuiltFiles { image: &image, config: &text, built_in: &built_in, modules: modules.as_deref() };
    Ok(built::keep(cache, manifest, &files)?)
}

/// The modules, installed below a directory of the build; `None` if the configuration has none.
fn modules(make: &Make<'_>, configuration: &Configuration) -> Result<Option<PathBuf>, BuildError> {
    if configuration.value("MODULES") == OFF {
        return Ok(None);
    }
    let place = make.place.join("installed");
    if place.exists() {
        fs::remove_dir_all(&place).map_err(BuildError::file("removing", &place))?;
    }
    make.run("building the modules", &["modules"])?;
    let path = format!("INSTALL_MOD_PATH={}", place.display());
    make.run("installing the modules", &[&path, "INSTALL_MOD_STRIP=1", "modules_install"])?;
    Ok(Some(place))
}

/// The image that the emulator boots: on a PC the ELF file without what only debuggers read.
fn image(make: &Make<'_>) -> Result<Vec<u8>, BuildError> {
    let read = |path: &Path| fs::read(path).map_err(BuildError::file("reading", path));
    if make.tools.arch != Arch::X86_64 {
        return read(&make.place.join("arch/arm64/boot/Image"));
    }
    let (whole, stripped) = (make.place.join("vmlinux"), make.place.join("vmlinux.stripped"));
    let program = format!("{}objcopy", make.tools.prefix);
    let missing = |_| BuildError::Tools(vec![(program.clone(), "binutils".to_owned())]);
    let output = programs::command(&program)
        .map_err(missing)?
        .args(["--strip-all", "--remove-section=.comment"])
        .args([&whole, &stripped])
        .output()
        .map_err(BuildError::file("running objcopy on", &whole))?;
    if !output.status.success() {
        let lines = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(BuildError::Make { what: "removing debugging information", lines, log: make.log() });
    }
    read(&stripped)
}

/// A build whose variants are wanted: the same source with other options.
#[derive(Clone, Debug)]
pub struct Original {
    kernel: BuiltKernel,
    name: String,
    source: SourceSpec,
    text: String,
}

impl Original {
    /// The build that `name` names after `build:`.
    ///
    /// # Errors
    /// If the cache does not have it.
    pub fn find(cache: &CacheDirectory, arch: Arch, name: &str) -> Result<Self, BuildError> {
        let kernel = built::find(cache, arch, name).ok_or_else(|| BuildError::NoBuild(name.to_owned()))?;
        let config = kernel.config();
        let text = fs::read(&config).map_err(BuildError::file("reading", &config))?;
        let source = SourceSpec::parse(&kernel.manifest.source, kernel.manifest.commit.as_deref())
            .map_err(|_| BuildError::NoBuild(name.to_owned()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Self { kernel, name: name.to_owned(), source, text })
    }

    /// Whether it was built of the same source as `other`.
    pub fn has_source_of(&self, other: &Self) -> bool {
        self.kernel.manifest.source_identity == other.kernel.manifest.source_identity
    }

    /// The same kernel with other options. With `strict`, an option that Kconfig does not put into effect is an error.
    ///
    /// # Errors
    /// As for [`Builder::build`], and if the source is no longer the same.
    pub fn variant(
        &self,
        builder: &Builder<'_>,
        settings: &[Setting],
        strict: bool,
        notice: Notice<'_>,
    ) -> Result<Built, BuildError> {
        let request = Request {
            source: self.source.clone(),
            base: Base::Text(self.text.clone()),
            settings: settings.to_vec(),
            strict,
        };
        let built = builder.build(&request, notice)?;
        if built.kernel.manifest.source_identity != self.kernel.manifest.source_identity {
            let source_name = self.kernel.manifest.source.clone();
            return Err(BuildError::SourceChanged { source_name, build: self.name.clone() });
        }
        Ok(built)
    }

    /// The options in which `other` differs, and that a user can set.
    ///
    /// # Errors
    /// If the source is not available.
    pub fn differences(
        &self,
        other: &Self,
        store: &PackageStore,
        notice: Notice<'_>,
    ) -> Result<Vec<Difference>, BuildError> {
        let _lock = store.cache.lock_builds(notice)?;
        let source = self.source.prepare(store, notice)?;
        let options = Options::of(&source.tree);
        let [from, to] = [&self.text, &other.text].map(|text| Configuration::of(text));
        Ok(differences::of(&from, &to, &options))
    }
}
