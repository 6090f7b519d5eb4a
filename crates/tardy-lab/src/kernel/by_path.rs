//! Kernels by path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::image_file::ImageFile;
use super::spec::KernelByPath;
use super::{Kernel, KernelError, KernelSpec, image};
use crate::arch::Arch;

/// The longest image in bytes. A longer file is not a kernel (perhaps a disk image) and is not read into memory.
const SIZE_LIMIT: u64 = 2 << 30;

/// Finds the files that `spec` names.
pub(super) fn find(spec: &KernelSpec, files: &KernelByPath, arch: Arch) -> Result<Kernel, KernelError> {
    let facts = image::inspect(&read_image(&files.image)?)
        .map_err(|error| KernelError::Image { image: files.image.clone(), error })?;
    if facts.arch != arch {
        return Err(KernelError::Arch { image: files.image.clone(), is: facts.arch, wanted: arch });
    }
    let release =
        facts.release.or_else(|| release_of_directory(files.modules.as_deref()?)).ok_or_else(|| {
            let problem = "the image does not contain its release; add modules=…/lib/modules/RELEASE";
            wrong("the kernel", &files.image, problem)
        })?;
    let modules = files.modules.as_deref().map(|given| modules_directory(given, &release)).transpose()?;
    let config = match &files.config {
        Some(path) if path.is_file() => Some(path.clone()),
        Some(path) => return Err(wrong("config=", path, "no such file")),
        None => config_beside(&files.image, &release),
    };
    if let Some(path) = files.device_trees.as_deref().filter(|path| !path.is_dir()) {
        return Err(wrong("dtbs=", path, "no such directory; expected the directory of the .dtb files"));
    }
    Ok(Kernel {
        spec: spec.to_string(),
        arch,
        release,
        package: None,
        build: None,
        image: ImageFile::plain(files.image.clone()),
        config,
        modules,
        device_trees: files.device_trees.clone(),
        append: spec.append.clone(),
    })
}

fn wrong(what: &'static str, path: &Path, problem: &str) -> KernelError {
    KernelError::Path { what, path: path.to_owned(), problem: problem.to_owned() }
}

fn read_image(path: &Path) -> Result<Vec<u8>, KernelError> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let problem = "no such file; expected an image (a vmlinuz, bzImage or Image), or a name such as debian:6.12";
            wrong("the kernel", path, problem)
        }
        _ => wrong("the kernel", path, &error.to_string()),
    })?;
    if !metadata.is_file() {
        return Err(wrong("the kernel", path, "not a file; expected the image, such as boot/vmlinuz-6.12"));
    }
    if metadata.len() > SIZE_LIMIT {
        return Err(wrong("the kernel", path, "longer than any kernel's image"));
    }
    fs::read(path).map_err(|error| wrong("the kernel", path, &error.to_string()))
}

/// `config-RELEASE` in the directory of an installed kernel, or `.config` at the top of a build tree.
fn config_beside(image: &Path, release: &str) -> Option<PathBuf> {
    let directory = image.parent()?;
    let installed = directory.join(format!("config-{release}"));
    // In a build tree the image is arch/ARCH/boot/Image, or vmlinux at the top.
    let top = if directory.ends_with("boot") { directory.ancestors().nth(3) } else { Some(directory) };
    let built = top.map(|top| top.join(".config")).filter(|path| path.is_file());
    if installed.is_file() { Some(installed) } else { built }
}

/// The directory of that release's modules: `given` itself, or one below it that `make modules_install` made.
fn modules_directory(given: &Path, release: &str) -> Result<PathBuf, KernelError> {
    if !given.is_dir() {
        return Err(wrong("modules=", given, "no such directory"));
    }
    let candidates = [
        given.to_owned(),
        given.join("lib/modules").join(release),
        given.join("usr/lib/modules").join(release),
        given.join(release),
    ];
    candidates.into_iter().find(|path| path.join("kernel").is_dir()).ok_or_else(|| {
        let problem = format!(
            "no modules of {release}; expected the directory that contains kernel/, or the INSTALL_MOD_PATH of `make \
             modules_install`"
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
    use super::super::Request;
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

        /// Finds a kernel. `@` stands for the tree's directory, also in errors.
        fn find(&self, spec: &str, arch: Arch) -> Result<Kernel, String> {
            let spec = KernelSpec::parse(&spec.replace('@', &self.0.path().display().to_string())).unwrap();
            let found = super::super::find(&spec, Request { arch, refresh: false, keep: &[] }, &mut |_| {});
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
    fn the_release_may_come_from_the_modules() {
        let tree = Tree::new(&[("Image", &arm_image("")), ("lib/modules/6.6.1/kernel/a.ko", b"")]);
        let kernel = tree.find("@/Image,modules=@/lib/modules/6.6.1", Arch::Aarch64).unwrap();
        assert_eq!(kernel.release, "6.6.1");
        insta::assert_snapshot!(tree.find("@/Image", Arch::Aarch64).unwrap_err());
    }

    #[test]
    fn errors_show_what_is_expected() {
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
        let mut errors: Vec<String> =
            specs.iter().map(|spec| tree.find(spec, Arch::X86_64).unwrap_err()).collect();
        errors.push(tree.find("@/vmlinuz", Arch::Aarch64).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
