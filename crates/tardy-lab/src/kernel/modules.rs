//! The modules that a guest loads, in the order in which they must be loaded.
//!
//! What a module depends on stands in the module itself, in its `.modinfo` section: there is one way for all kernels.
//! The road not taken: `modules.dep`, which Debian's packages do not carry, since depmod(8) makes it when a package is
//! installed. A guest has no modprobe(8) either, so what a module would have the kernel ask for at run time
//! (`softdep=pre:`) is loaded beforehand as well.

mod compression;
mod modinfo;
mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Kernel, config};
use modinfo::Modinfo;

/// No chain of dependencies is longer; one that is goes round in files that somebody made up.
const DEPTH_LIMIT: usize = 64;

/// A module, ready for init_module(2).
#[derive(Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name as `/proc/modules` has it, with underscores.
    pub name: String,
    /// The uncompressed file.
    pub image: Vec<u8>,
    /// What it is told, such as `ports=4`; mostly nothing.
    pub parameters: String,
    /// Whether it is loaded only once the boot's work has died down: what disturbs on purpose would never let it.
    pub at_rest: bool,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.image.len())
    }
}

/// Why a kernel's modules cannot be had.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// A kernel without modules.
    #[error(
        "the kernel {kernel} comes without modules, and {wanted} is wanted: add modules=DIR, the directory of its modules"
    )]
    NoModules {
        /// As asked for.
        kernel: String,
        /// The first module that is wanted.
        wanted: String,
    },
    /// Neither a module of this kernel nor built into it.
    #[error("the kernel {kernel} ({release}) has no module {module}{}{}",
        needed_by.as_ref().map(|by| format!(", which {by} needs")).unwrap_or_default(),
        option.as_ref().map(|option| format!(": {option}")).unwrap_or_default())]
    Unknown {
        /// As asked for.
        kernel: String,
        /// Its release.
        release: String,
        /// The module.
        module: String,
        /// The module that depends on it, if it was not asked for itself.
        needed_by: Option<String>,
        /// What the kernel's configuration says of it, where that can be told.
        option: Option<String>,
    },
    /// A file that cannot be read.
    #[error("reading {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that is no module.
    #[error("{} is no module that can be loaded: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A module of another kernel.
    #[error("{} is a module for the kernel {is}, and the kernel is {wanted}: give the modules of the same build", path.display())]
    Release {
        /// The file.
        path: PathBuf,
        /// The release that it was built for.
        is: String,
        /// The kernel's.
        wanted: String,
    },
}

/// The modules to load for `wanted`, each after what it depends on, none twice, and then those for `at_rest`, which wait
/// until the boot's work has died down. What is built into the kernel needs no loading and is left out. `-` and `_` in
/// names are the same.
///
/// Each of them is a name, or the path of a file that ends in `.ko`, in which `{release}` is the kernel's release, so that
/// one recipe does for several kernels; behind it its parameters may stand, as for insmod(8).
///
/// # Errors
/// When the kernel has no such module, and when a file is missing, damaged or another kernel's.
pub fn resolve(kernel: &Kernel, wanted: &[String], at_rest: &[String]) -> Result<Vec<Module>, ModuleError> {
    let Some(first) = wanted.iter().chain(at_rest).next() else { return Ok(Vec::new()) };
    let Some(directory) = &kernel.modules else {
        return Err(ModuleError::NoModules { kernel: kernel.spec.clone(), wanted: first.clone() });
    };
    let mut resolver = Resolver {
        kernel,
        files: files(directory)?,
        built_in: built_in(directory)?,
        seen: BTreeSet::new(),
        modules: Vec::new(),
    };
    for one in wanted {
        resolver.want(one)?;
    }
    let loaded_at_once = resolver.modules.len();
    for one in at_rest {
        resolver.want(one)?;
    }
    for module in &mut resolver.modules[loaded_at_once..] {
        module.at_rest = true;
    }
    Ok(resolver.modules)
}

struct Resolver<'a> {
    kernel: &'a Kernel,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    /// What is in `modules` or is about to be: a circle ends here.
    seen: BTreeSet<String>,
    modules: Vec<Module>,
}

impl Resolver<'_> {
    /// Adds what a recipe asks for: a name or a file, and parameters behind it.
    fn want(&mut self, one: &str) -> Result<(), ModuleError> {
        let (module, parameters) = one.split_once(' ').unwrap_or((one, ""));
        let name = match module.strip_suffix(".ko") {
            Some(_) => self.need_file(Path::new(&module.replace("{release}", &self.kernel.release)))?,
            None => {
                self.need(&normal(module), None, 0)?;
                normal(module)
            }
        };
        self.tell(&name, parameters.trim());
        Ok(())
    }

    /// Adds a module behind all that it depends on.
    fn need(&mut self, name: &str, needed_by: Option<&str>, depth: usize) -> Result<(), ModuleError> {
        if self.seen.contains(name) {
            return Ok(());
        }
        let Some(path) = self.files.get(name).cloned() else {
            return if self.is_built_in(name) { Ok(()) } else { Err(self.unknown(name, needed_by)) };
        };
        if depth > DEPTH_LIMIT {
            let problem = format!("its dependencies go more than {DEPTH_LIMIT} deep");
            return Err(ModuleError::Damaged { path, problem });
        }
        self.add(name, path, depth)
    }

    /// Adds the module in a person's own file. Gives its name.
    fn need_file(&mut self, path: &Path) -> Result<String, ModuleError> {
        let name = normal(&path.file_stem().unwrap_or_default().to_string_lossy());
        if !self.seen.contains(&name) {
            self.add(&name, path.to_owned(), 0)?;
        }
        Ok(name)
    }

    /// Says what a module is told when it is loaded; of one that is built in, nobody can.
    fn tell(&mut self, name: &str, parameters: &str) {
        if let Some(module) = self.modules.iter_mut().find(|module| module.name == name) {
            parameters.clone_into(&mut module.parameters);
        }
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
                self.need(&provider, Some(name), depth + 1)?;
            }
        }
        for hard in &info.depends {
            self.need(&normal(hard), Some(name), depth + 1)?;
        }
        self.modules.push(Module { name: name.to_owned(), image, parameters: String::new(), at_rest: false });
        Ok(())
    }

    /// The module that a soft dependency means: the one of that name, or the first of those whose name begins so that
    /// has it for an alias, the generic one before those for a special processor. (`crc32c` means `crc32c_generic`.)
    /// Any other alias would take reading thousands of modules to find; a soft dependency may be missing.
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

    /// The option that makes a module and its value in this kernel.
    fn option(&self, name: &str) -> Option<(&'static str, Option<String>)> {
        let option = options::of_module(name)?;
        let options = config::of(self.kernel).ok()??;
        Some((option, options.0.get(option).cloned()))
    }

    fn unknown(&self, name: &str, needed_by: Option<&str>) -> ModuleError {
        let option = match (self.option(name), options::of_module(name)) {
            (Some((option, None)), _) => Some(format!("CONFIG_{option} is not set in its configuration")),
            (Some((option, Some(value))), _) => {
                Some(format!("its configuration says CONFIG_{option}={value}, so the file is missing"))
            }
            (None, Some(option)) => Some(format!("it is made by CONFIG_{option}=m")),
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

/// Every module file below a directory, by name. Links are not followed: `build` and `source` lead to whole trees.
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
    // Of two files of one name the later stays: the one in updates/, as depmod(8) has it.
    let is_update = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "updates");
    files.sort_by_key(|path| (is_update(path), path.clone()));
    Ok(files.into_iter().filter_map(|path| Some((module_name(&path)?, path))).collect())
}

fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, end) = name.split_once(".ko")?;
    matches!(end, "" | ".xz" | ".gz" | ".zst").then(|| normal(stem))
}

/// The modules that are part of the kernel, from `modules.builtin`; none where there is no such file.
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
