//! Kernels of one's own, by path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::spec::OwnKernel;
use super::{Kernel, KernelError, KernelSpec, image};
use crate::arch::Arch;

/// No image is longer, in bytes: whatever is, is a disk or a mistake, and is not read into memory.
const SIZE_LIMIT: u64 = 2 << 30;

/// Looks at the files that a spec names.
pub(super) fn find(spec: &KernelSpec, own: &OwnKernel, arch: Arch) -> Result<Kernel, KernelError> {
    let facts = image::look(&read_image(&own.image)?)
        .map_err(|error| KernelError::Image { image: own.image.clone(), error })?;
    if facts.arch != arch {
        return Err(KernelError::Arch { image: own.image.clone(), is: facts.arch, wanted: arch });
    }
    let release =
        facts.release.or_else(|| release_of_directory(own.modules.as_deref()?)).ok_or_else(|| {
            let problem = "the image does not say which release it is; name its modules too, as \
                       modules=…/lib/modules/RELEASE";
            wrong("the kernel", &own.image, problem)
        })?;
    let modules = own.modules.as_deref().map(|given| modules_directory(given, &release)).transpose()?;
    let config = match &own.config {
        Some(path) if path.is_file() => Some(path.clone()),
        Some(path) => return Err(wrong("config=", path, "there is no such file")),
        None => config_beside(&own.image, &release),
    };
    if let Some(path) = own.device_trees.as_deref().filter(|path| !path.is_dir()) {
        return Err(wrong(
            "dtbs=",
            path,
            "there is no such directory; it is the one that the .dtb files are under",
        ));
    }
    Ok(Kernel {
        spec: spec.to_string(),
        arch,
        release,
        package: None,
        image: own.image.clone(),
        config,
        modules,
        device_trees: own.device_trees.clone(),
        append: spec.append.clone(),
    })
}

fn wrong(what: &'static str, path: &Path, problem: &str) -> KernelError {
    KernelError::Path { what, path: path.to_owned(), problem: problem.to_owned() }
}

fn read_image(path: &Path) -> Result<Vec<u8>, KernelError> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let problem = "there is no such file. A kernel is named by its image (a vmlinuz, bzImage or Image), or as \
                           debian:6.12";
            wrong("the kernel", path, problem)
        }
        _ => wrong("the kernel", path, &error.to_string()),
    })?;
    if !metadata.is_file() {
        return Err(wrong(
            "the kernel",
            path,
            "it is no file; name the image itself, such as boot/vmlinuz-6.12",
        ));
    }
    if metadata.len() > SIZE_LIMIT {
        return Err(wrong("the kernel", path, "it is longer than any kernel's image"));
    }
    fs::read(path).map_err(|error| wrong("the kernel", path, &error.to_string()))
}

/// `config-RELEASE` beside an installed kernel, or `.config` at the top of the tree that it was built in.
fn config_beside(image: &Path, release: &str) -> Option<PathBuf> {
    let directory = image.parent()?;
    let installed = directory.join(format!("config-{release}"));
    // A build's image is arch/ARCH/boot/Image, or vmlinux at the top.
    let top = if directory.ends_with("boot") { directory.ancestors().nth(3) } else { Some(directory) };
    let built = top.map(|top| top.join(".config")).filter(|path| path.is_file());
    if installed.is_file() { Some(installed) } else { built }
}

/// The modules of that release: the directory itself, or the one below that `make modules_install` made.
fn modules_directory(given: &Path, release: &str) -> Result<PathBuf, KernelError> {
    if !given.is_dir() {
        return Err(wrong("modules=", given, "there is no such directory"));
    }
    let candidates = [
        given.to_owned(),
        given.join("lib/modules").join(release),
        given.join("usr/lib/modules").join(release),
        given.join(release),
    ];
    candidates.into_iter().find(|path| path.join("kernel").is_dir()).ok_or_else(|| {
        let problem = format!(
            "there are no modules of {release} in it: name the directory that has kernel/ in it, or what \
             INSTALL_MOD_PATH was when `make modules_install` ran"
        );
        wrong("modules=", given, &problem)
    })
}

fn release_of_directory(directory: &Path) -> Option<String> {
    let name = directory.file_name()?.to_str()?;
    let is_release = directory.join("kernel").is_dir() && name.starts_with(|c: char| c.is_ascii_digit());
    is_release.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::{arm_image, bzimage};
    use super::*;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(files: &[(&str, &[u8])]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            for (path, bytes) in files {
                let path = directory.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            Self(directory)
        }

        /// Finds with `@` for the directory.
        fn find(&self, spec: &str, arch: Arch) -> Result<Kernel, String> {
            let spec = KernelSpec::parse(&spec.replace('@', &self.0.path().display().to_string())).unwrap();
            let found = super::super::find(&spec, arch, false, &mut |_| {});
            found.map_err(|error| error.to_string().replace(&self.0.path().display().to_string(), "@"))
        }

        fn relative(&self, path: Option<PathBuf>) -> Option<String> {
            Some(path?.strip_prefix(self.0.path()).unwrap().display().to_string())
        }
    }

    #[test]
    fn an_installed_kernel_is_found_with_its_configuration() {
        let tree = Tree::new(&[
            ("boot/vmlinuz", &bzimage("6.12.1+x")),
            ("boot/config-6.12.1+x", b""),
            ("root/lib/modules/6.12.1+x/kernel/net/a.ko", b""),
            ("dtbs/a.dtb", b""),
        ]);
        let kernel =
            tree.find("@/boot/vmlinuz,modules=@/root,dtbs=@/dtbs,append=quiet", Arch::X86_64).unwrap();
        assert_eq!(kernel.release, "6.12.1+x");
        assert_eq!(kernel.append, "quiet");
        assert_eq!(kernel.package, None);
        assert_eq!(tree.relative(kernel.config).as_deref(), Some("boot/config-6.12.1+x"));
        assert_eq!(tree.relative(kernel.modules).as_deref(), Some("root/lib/modules/6.12.1+x"));
        assert_eq!(tree.relative(kernel.device_trees).as_deref(), Some("dtbs"));
    }

    #[test]
    fn a_kernel_in_its_build_tree_is_found_with_its_configuration() {
        let tree = Tree::new(&[("arch/arm64/boot/Image", &arm_image("6.1.0")), (".config", b"")]);
        let kernel = tree.find("@/arch/arm64/boot/Image", Arch::Aarch64).unwrap();
        assert_eq!(tree.relative(kernel.config).as_deref(), Some(".config"));
        assert_eq!(kernel.modules, None);
    }

    #[test]
    fn an_image_without_a_release_takes_its_modules() {
        let tree = Tree::new(&[("Image", &arm_image("")), ("lib/modules/6.6.1/kernel/a.ko", b"")]);
        let kernel = tree.find("@/Image,modules=@/lib/modules/6.6.1", Arch::Aarch64).unwrap();
        assert_eq!(kernel.release, "6.6.1");
        insta::assert_snapshot!(tree.find("@/Image", Arch::Aarch64).unwrap_err());
    }

    #[test]
    fn mistakes_say_what_would_be_right() {
        let tree = Tree::new(&[("vmlinuz", &bzimage("6.1")), ("text", b"hello"), ("empty/x", b"")]);
        let specs = [
            "@/nothing",
            "@/empty",
            "@/text",
            "@/vmlinuz,modules=@/nothing",
            "@/vmlinuz,modules=@/empty",
            "@/vmlinuz,config=@/nothing",
            "@/vmlinuz,dtbs=@/text",
        ];
        let mut said: Vec<String> =
            specs.iter().map(|spec| tree.find(spec, Arch::X86_64).unwrap_err()).collect();
        said.push(tree.find("@/vmlinuz", Arch::Aarch64).unwrap_err());
        insta::assert_snapshot!(said.join("\n"));
    }
}
