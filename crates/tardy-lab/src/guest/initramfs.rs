//! The guest's only file system.
//!
//! [`build`] is a pure function: the same tardy, orders, modules and tools give the same bytes.

use super::cpio::{Archive, Entry};
use crate::kernel::modules::Module;
use tardy_init::orders::{self, LoadedModule, Orders};

/// Mount points, and directories that programs expect to exist.
const DIRECTORIES: [&str; 8] = ["dev", "proc", "root", "run", "sys", "tmp", "var", "etc"];

/// The content of an initramfs except its orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// tardy, statically linked for the guest's processor.
    pub tardy: Vec<u8>,
    /// The kernel's release and configuration, which tardy reads in /boot.
    pub config: Option<(String, Vec<u8>)>,
    /// Modules, in the order in which they are loaded.
    pub modules: Vec<Module>,
    /// The recipe, and tools with their libraries.
    pub files: Vec<(String, Entry)>,
}

impl Parts {
    /// Whether the guest has programs in addition to tardy.
    pub fn has_programs(&self) -> bool {
        self.files.iter().any(|(_, entry)| matches!(entry, Entry::File { executable: true, .. }))
    }
}

/// The initramfs of a guest. The modules of `parts` are added to the orders' own.
pub fn build(parts: &Parts, orders: &Orders) -> Archive {
    let mut archive = Archive::default();
    for directory in DIRECTORIES {
        archive.put(directory, Entry::Directory);
    }
    // The kernel opens the console for the first program. devtmpfs has every other device.
    archive.put("dev/console", Entry::CharacterDevice { major: 5, minor: 1 });
    for (path, entry) in &parts.files {
        archive.put(path, entry.clone());
    }
    if let Some((release, config)) = &parts.config {
        archive.put_file(&format!("boot/config-{release}"), config.clone());
    }
    let mut orders = orders.clone();
    for (number, module) in parts.modules.iter().enumerate() {
        let path = format!("/lab/modules/{number:02}-{}.ko", module.name);
        archive.put_file(&path, module.image.clone());
        orders.modules.push(LoadedModule {
            path,
            parameters: module.parameters.clone(),
            at_rest: module.at_rest,
        });
    }
    archive.put_program(orders::PROGRAM, parts.tardy.clone());
    let text = serde_json::to_vec_pretty(&orders).expect("orders are made of texts and numbers");
    archive.put_file(orders::PATH, text);
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parts_give_the_same_bytes_and_the_order_of_modules_is_kept() {
        let parts = Parts {
            tardy: b"ELF".to_vec(),
            config: Some(("6.12".into(), b"CONFIG_A=y\n".to_vec())),
            modules: [("veth", vec![1, 2, 3]), ("a", vec![4])]
                .map(|(name, image)| Module {
                    name: name.into(),
                    image,
                    parameters: String::new(),
                    at_rest: false,
                })
                .to_vec(),
            files: vec![(
                "lab/recipe.toml".into(),
                Entry::File { content: b"x".to_vec(), executable: false },
            )],
        };
        let archive = build(&parts, &Orders::default());
        insta::assert_snapshot!(archive.paths().collect::<Vec<_>>().join("\n"));
        assert_eq!(archive.to_bytes(), build(&parts, &Orders::default()).to_bytes());
    }
}
