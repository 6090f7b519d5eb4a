//! A kernel module as a recipe names it.

use std::fmt;

/// A module to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRequest {
    /// The module.
    pub module: ModuleSource,
    /// Its parameters, such as `ports=4`; empty for none.
    pub parameters: String,
}

/// Where a module comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleSource {
    /// A module of the kernel, by its name.
    Named(String),
    /// A file, by its path, in which `{release}` stands for the kernel's release.
    File(String),
}

impl ModuleRequest {
    /// Reads a name, or a path that ends in `.ko`, and parameters after a blank, as insmod(8) takes them.
    pub fn parse(text: &str) -> Self {
        let (module, parameters) = text.split_once(' ').unwrap_or((text, ""));
        let module = module.to_owned();
        let is_file = module.ends_with(".ko");
        let module = if is_file { ModuleSource::File(module) } else { ModuleSource::Named(module) };
        Self { module, parameters: parameters.trim().to_owned() }
    }

    /// The name of a module of the kernel; `None` for a file.
    pub fn name(&self) -> Option<&str> {
        match &self.module {
            ModuleSource::Named(name) => Some(name),
            ModuleSource::File(_) => None,
        }
    }
}

impl fmt::Display for ModuleRequest {
    /// The name or the path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.module {
            ModuleSource::Named(name) => f.write_str(name),
            ModuleSource::File(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_have_parameters() {
        let named = ModuleRequest::parse("tardy_disturb how=hog  hold_us=3 ");
        assert_eq!(named.module, ModuleSource::Named("tardy_disturb".into()));
        assert_eq!(named.parameters, "how=hog  hold_us=3");
        let file = ModuleRequest::parse("/tmp/{release}/a.ko");
        assert_eq!(file.module, ModuleSource::File("/tmp/{release}/a.ko".into()));
        assert_eq!((file.parameters.as_str(), file.to_string().as_str()), ("", "/tmp/{release}/a.ko"));
    }
}
