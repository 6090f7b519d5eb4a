//! The modules that a guest loads, in the order in which they must be loaded.
//!
//! A module's dependencies are in the module itself, in its `.modinfo` section. Alternative not taken: `modules.dep`,
//! which Debian's packages do not contain, because depmod(8) generates it when a package is installed. A guest has no
//! modprobe(8), so modules that the kernel would request at run time (`softdep=pre:`) are loaded beforehand too.

mod compression;
mod modinfo;
mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::module_request::{ModuleRequest, ModuleSource};
use super::{Kernel, config};
use modinfo::Modinfo;

/// The longest chain of dependencies.
const DEPTH_LIMIT: usize = 64;

/// A module, ready for init_module(2).
#[derive(Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name as in `/proc/modules`, with underscores.
    pub name: String,
    /// The uncompressed file.
    pub image: Vec<u8>,
    /// Its parameters, such as `ports=4`; empty for none.
    pub parameters: String,
    /// Whether it is loaded only once the CPUs are idle after the boot. A module that disturbs the CPUs on purpose
    /// would keep them busy.
    pub at_rest: bool,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.image.len())
    }
}

/// Why a kernel's modules cannot be loaded.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// The kernel has no modules.
    #[error(
        "{wanted} is needed, but the kernel {kernel} has no modules: add modules=DIR, the directory of its modules"
    )]
    NoModules {
        /// The kernel's spec.
        kernel: String,
        /// The first module that is needed.
        wanted: String,
    },
    /// A module is neither a file of the kernel nor built into it.
    #[error("the kernel {kernel} ({release}) has no module {module}{}{}",
        needed_by.as_ref().map(|by| format!(", which {by} needs")).unwrap_or_default(),
        option.as_ref().map(|option| format!(": {option}")).unwrap_or_default())]
    Unknown {
        /// The kernel's spec.
        kernel: String,
        /// Its release.
        release: String,
        /// The module.
        module: String,
        /// The module that depends on it; `None` if it was requested itself.
        needed_by: Option<String>,
        /// The module's option in the kernel's configuration, if it is known.
        option: Option<String>,
    },
    /// A file cannot be read.
    #[error("reading {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file is not a module.
    #[error("{} is not a module that can be loaded: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error.
        problem: String,
    },
    /// A module is for another kernel.
    #[error("{} is a module for the kernel {is}, but the kernel is {wanted}: use the modules of the same build", path.display())]
    Release {
        /// The file.
        path: PathBuf,
        /// The module's release.
        is: String,
        /// The kernel's release.
        wanted: String,
    },
}

/// The modules to load: `wanted`, and then `at_rest`, which are loaded once the CPUs are idle. Each module follows its
/// dependencies, and none occurs twice. Modules that are built into the kernel are left out. `-` and `_` in names are
/// the same.
///
/// # Errors
/// If the kernel does not have a module, or a file is missing, damaged or for another kernel.
pub fn resolve(
    kernel: &Kernel,
    wanted: &[ModuleRequest],
    at_rest: &[ModuleRequest],
) -> Result<Vec<Module>, ModuleError> {
    let Some(first) = wanted.iter().chain(at_rest).next() else { return Ok(Vec::new()) };
    let Some(directory) = &kernel.modules else {
        return Err(ModuleError::NoModules { kernel: kernel.spec.clone(), wanted: first.to_string() });
    };
    let mut resolver = Resolver::new(kernel, directory)?;
    for one in wanted {
        resolver.add_requested(one)?;
    }
    let loaded_at_once = resolver.modules.len();
    for one in at_rest {
        resolver.add_requested(one)?;
    }
    for module in &mut resolver.modules[loaded_at_once..] {
        module.at_rest = true;
    }
    Ok(resolver.modules)
}

/// The files of the module `name` of `kernel` and of those that it needs; none if it is built in. The list of the modules that are
/// built in may also be in the directory `kept`.
///
/// # Errors
/// As for [`resolve`].
pub(super) fn files_of(kernel: &Kernel, kept: &Path, name: &str) -> Result<Vec<PathBuf>, ModuleError> {
    let Some(directory) = &kernel.modules else { return Ok(Vec::new()) };
    let mut resolver = Resolver::new(kernel, directory)?;
    resolver.built_in.extend(built_in(kept)?);
    resolver.add_named(&normal(name), None, 0)?;
    Ok(resolver.paths)
}

struct Resolver<'a> {
    kernel: &'a Kernel,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    /// The modules that are in `modules` or are being added, to detect circular dependencies.
    seen: BTreeSet<String>,
    modules: Vec<Module>,
    /// The files of `modules`.
    paths: Vec<PathBuf>,
}

impl<'a> Resolver<'a> {
    fn new(kernel: &'a Kernel, directory: &Path) -> Result<Self, ModuleError> {
        Ok(Self {
            kernel,
            files: files(directory)?,
            built_in: built_in(directory)?,
            seen: BTreeSet::new(),
            modules: Vec::new(),
            paths: Vec::new(),
        })
    }

    /// Adds a requested module and its dependencies.
    fn add_requested(&mut self, one: &ModuleRequest) -> Result<(), ModuleError> {
        let name = match &one.module {
            ModuleSource::File(path) => {
                self.add_file(Path::new(&path.replace("{release}", &self.kernel.release)))?
            }
            ModuleSource::Named(name) => {
                self.add_named(&normal(name), None, 0)?;
                normal(name)
            }
        };
        // A module that is built in is not loaded and takes no parameters.
        if let Some(module) = self.modules.iter_mut().find(|module| module.name == name) {
            module.parameters.clone_from(&one.parameters);
        }
        Ok(())
    }

    /// Adds a module of the kernel after its dependencies.
    fn add_named(&mut self, name: &str, needed_by: Option<&str>, depth: usize) -> Result<(), ModuleError> {
        if self.seen.contains(name) {
            return Ok(());
        }
        let Some(path) = self.files.get(name).cloned() else {
            return if self.is_built_in(name) { Ok(()) } else { Err(self.unknown(name, needed_by)) };
        };
        if depth > DEPTH_LIMIT {
            let problem = format!("its dependencies are more than {DEPTH_LIMIT} deep");
            return Err(ModuleError::Damaged { path, problem });
        }
        self.add(name, path, depth)
    }

    /// Adds the module in a file after its dependencies, and returns its name.
    fn add_file(&mut self, path: &Path) -> Result<String, ModuleError> {
        let name = normal(&path.file_stem().unwrap_or_default().to_string_lossy());
        if !self.seen.contains(&name) {
            self.add(&name, path.to_owned(), 0)?;
        }
        Ok(name)
    }

    fn add(&mut self, name: &str, path: PathBuf, depth: usize) -> Result<(), ModuleError> {
        self.seen.insert(name.to_owned());
        let (image, info) = read(&path)?;
        if let Some(release) = info.release.as_ref().filter(|release| **release != self.kernel.release) {
            let wanted = self.kernel.release.clone();
            return Err(ModuleError::Release { path, is: release.clone(), wanted });
        }
        for soft in &info.soft_before {
            if let Some(provider) = self.provider(&normal(soft)) {
                self.add_named(&provider, Some(name), depth + 1)?;
            }
        }
        for hard in &info.depends {
            self.add_named(&normal(hard), Some(name), depth + 1)?;
        }
        self.modules.push(Module { name: name.to_owned(), image, parameters: String::new(), at_rest: false });
        self.paths.push(path);
        Ok(())
    }

    /// The module that provides a soft dependency: the module with the name `wanted`, or else a module with that alias
    /// whose name begins with `wanted_`, preferably the generic one. (`crc32c` means `crc32c_generic`.) Other aliases
    /// are not searched, because thousands of modules would have to be read and a soft dependency may be missing.
    fn provider(&self, wanted: &str) -> Option<String> {
        if self.files.contains_key(wanted) {
            return Some(wanted.to_owned());
        }
        if self.is_built_in(wanted) {
            return None;
        }
        let begins = format!("{wanted}_");
        let mut candidates: Vec<(&String, &PathBuf)> =
            self.files.range(begins.clone()..).take_while(|(name, _)| name.starts_with(&begins)).collect();
        candidates.sort_by_key(|(name, _)| !name.ends_with("_generic"));
        let has_alias = |path: &Path| {
            read(path).is_ok_and(|(_, info)| info.aliases.iter().any(|alias| normal(alias) == wanted))
        };
        candidates.into_iter().find(|(_, path)| has_alias(path)).map(|(name, _)| name.clone())
    }

    fn is_built_in(&self, name: &str) -> bool {
        self.built_in.contains(name)
            || self.option(name).is_some_and(|(_, value)| value.as_deref() == Some("y"))
    }

    /// The configuration option of a module and its value in this kernel.
    fn option(&self, name: &str) -> Option<(&'static str, Option<String>)> {
        let option = options::of_module(name)?;
        let options = config::of(self.kernel).ok()??;
        Some((option, options.0.get(option).cloned()))
    }

    fn unknown(&self, name: &str, needed_by: Option<&str>) -> ModuleError {
        let option = match (self.option(name), options::of_module(name)) {
            (Some((option, None)), _) => Some(format!("CONFIG_{option} is not set in its configuration")),
            (Some((option, Some(value))), _) => {
                Some(format!("its configuration has CONFIG_{option}={value}, so the file is missing"))
            }
            (None, Some(option)) => Some(format!("CONFIG_{option}=m builds it")),
            (None, None) => None,
        };
        ModuleError::Unknown {
            kernel: self.kernel.spec.clone(),
            release: self.kernel.release.clone(),
            module: name.to_owned(),
            needed_by: needed_by.map(str::to_owned),
            option,
        }
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, Modinfo), ModuleError> {
    let packed = fs::read(path).map_err(|source| ModuleError::File { path: path.to_owned(), source })?;
    let damaged = |problem: String| ModuleError::Damaged { path: path.to_owned(), problem };
    let image = compression::unpack(path, packed).map_err(|error| damaged(error.to_string()))?;
    let info = Modinfo::of(&image).map_err(|error| damaged(error.to_string()))?;
    Ok((image, info))
}

/// The module files below a directory, by module name. Links are not followed: `build` and `source` lead to whole
/// trees.
fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>, ModuleError> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let failed = |source| ModuleError::File { path: directory.clone(), source };
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                directories.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    // If two files contain a module of the same name, the one in updates/ is used, as with depmod(8).
    let is_update = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "updates");
    files.sort_by_key(|path| (is_update(path), path.clone()));
    Ok(files.into_iter().filter_map(|path| Some((module_name(&path)?, path))).collect())
}

fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, end) = name.split_once(".ko")?;
    matches!(end, "" | ".xz" | ".gz" | ".zst").then(|| normal(stem))
}

/// The modules that are built into the kernel, from `modules.builtin`; empty if that file does not exist.
fn built_in(directory: &Path) -> Result<BTreeSet<String>, ModuleError> {
    let path = directory.join("modules.builtin");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.lines().filter_map(|line| module_name(Path::new(line.trim()))).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(source) => Err(ModuleError::File { path, source }),
    }
}

fn normal(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests;
