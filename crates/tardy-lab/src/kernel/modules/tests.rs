use super::compression::tests::pack;
use super::modinfo::tests::module;
use super::*;
use crate::arch::Arch;

const RELEASE: &str = "6.12.1-x";

/// A directory of modules, each given by its path and its `.modinfo`.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(modules: &[(&str, &[&str])]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, info) in modules {
            let file = directory.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let vermagic = format!("vermagic={RELEASE} SMP");
            let info: Vec<&str> = info.iter().copied().chain([vermagic.as_str()]).collect();
            fs::write(file, pack(path, &module(&info))).unwrap();
        }
        Self(directory)
    }

    fn kernel(&self) -> Kernel {
        let config = self.0.path().join("config");
        Kernel {
            spec: "debian:6.12".into(),
            arch: Arch::X86_64,
            release: RELEASE.into(),
            package: None,
            build: None,
            image: crate::kernel::image_file::ImageFile::plain(self.0.path().join("vmlinuz")),
            config: config.exists().then_some(config),
            modules: Some(self.0.path().to_owned()),
            device_trees: None,
            append: String::new(),
        }
    }

    fn resolve(&self, names: &[&str]) -> Result<Vec<String>, String> {
        let wanted: Vec<ModuleRequest> = names.iter().map(|name| ModuleRequest::parse(name)).collect();
        match resolve(&self.kernel(), &wanted, &[]) {
            Ok(modules) => Ok(modules.into_iter().map(|module| module.name).collect()),
            Err(error) => Err(error.to_string().replace(&self.0.path().display().to_string(), "@")),
        }
    }
}

#[test]
fn dependencies_come_first_and_no_module_twice() {
    let tree = Tree::new(&[
        ("kernel/net/bridge/bridge.ko.xz", &["depends=stp,llc"]),
        ("kernel/net/802/stp.ko.gz", &["depends=llc"]),
        ("kernel/net/llc/llc.ko.zst", &["depends="]),
        ("kernel/net/sched/sch-mqprio_lib.ko", &[]),
        ("kernel/net/sched/sch_taprio.ko.xz", &["depends=sch_mqprio-lib"]),
    ]);
    assert_eq!(
        tree.resolve(&["bridge", "sch-taprio", "llc"]).unwrap(),
        ["llc", "stp", "bridge", "sch_mqprio_lib", "sch_taprio"]
    );
    assert_eq!(tree.resolve(&[]).unwrap(), [""; 0]);
    let modules = resolve(&tree.kernel(), &[ModuleRequest::parse("llc")], &[]).unwrap();
    assert!(modules[0].image.starts_with(b"\x7fELF"));
}

#[test]
fn modules_at_rest_come_last_with_their_own_dependencies() {
    let tree = Tree::new(&[
        ("kernel/shared.ko", &["depends="]),
        ("kernel/early.ko", &["depends=shared"]),
        ("kernel/own.ko", &["depends="]),
        ("kernel/late.ko", &["depends=shared,own"]),
    ]);
    let modules =
        resolve(&tree.kernel(), &[ModuleRequest::parse("early")], &[ModuleRequest::parse("late hold_us=3")])
            .unwrap();
    let loaded: Vec<(&str, &str, bool)> = (modules.iter())
        .map(|module| (module.name.as_str(), module.parameters.as_str(), module.at_rest))
        .collect();
    let expected =
        [("shared", "", false), ("early", "", false), ("own", "", true), ("late", "hold_us=3", true)];
    assert_eq!(loaded, expected);
}

#[test]
fn built_in_modules_are_not_loaded() {
    let tree = Tree::new(&[("kernel/a.ko", &["depends=veth,b"])]);
    fs::write(tree.0.path().join("modules.builtin"), "kernel/drivers/b.ko\n").unwrap();
    fs::write(tree.0.path().join("config"), "CONFIG_VETH=y\n").unwrap();
    assert_eq!(tree.resolve(&["a", "b"]).unwrap(), ["a"]);
}

#[test]
fn a_soft_dependency_may_be_an_alias_or_missing() {
    let tree = Tree::new(&[
        ("kernel/lib/libcrc32c.ko.xz", &["softdep=pre: crc32c", "softdep=pre: nothing post: later"]),
        ("kernel/arch/x86/crypto/crc32c-intel.ko.xz", &["alias=crc32c"]),
        ("kernel/crypto/crc32c_generic.ko.xz", &["alias=crc32c"]),
        ("kernel/crypto/crc32c_a.ko.xz", &["alias=other"]),
        ("kernel/later.ko", &[]),
    ]);
    assert_eq!(tree.resolve(&["libcrc32c"]).unwrap(), ["crc32c_generic", "libcrc32c"]);
}

#[test]
fn a_module_in_updates_replaces_the_kernels_own() {
    let tree =
        Tree::new(&[("kernel/a.ko", &["depends=old"]), ("updates/dkms/a.ko.xz", &[]), ("extra/b.ko", &[])]);
    assert_eq!(tree.resolve(&["a"]).unwrap(), ["a"]);
}

#[test]
fn circular_dependencies_end_and_deep_ones_are_refused() {
    let tree = Tree::new(&[("a.ko", &["depends=b"]), ("b.ko", &["depends=a", "softdep=pre: b"])]);
    assert_eq!(tree.resolve(&["a"]).unwrap(), ["b", "a"]);
    let names: Vec<(String, String)> =
        (0..100).map(|n| (format!("m{n}.ko"), format!("depends=m{}", n + 1))).collect();
    let infos: Vec<[&str; 1]> = names.iter().map(|(_, depends)| [depends.as_str()]).collect();
    let files: Vec<(&str, &[&str])> =
        names.iter().zip(&infos).map(|((name, _), info)| (name.as_str(), info.as_slice())).collect();
    assert!(Tree::new(&files).resolve(&["m0"]).unwrap_err().contains("64 deep"));
}

#[test]
fn errors_name_the_kernel_and_the_option() {
    let tree = Tree::new(&[("a.ko", &["depends=sch_taprio"]), ("other.ko", &[]), ("damaged.ko.xz", &[])]);
    fs::write(tree.0.path().join("other.ko"), module(&["vermagic=6.1.0 SMP"])).unwrap();
    fs::write(tree.0.path().join("damaged.ko.xz"), "x").unwrap();
    let mut errors: Vec<String> = ["a", "veth", "nothing", "other", "damaged", "../a"]
        .into_iter()
        .map(|name| tree.resolve(&[name]).unwrap_err())
        .collect();
    fs::write(tree.0.path().join("config"), "# CONFIG_NET_SCH_TAPRIO is not set\nCONFIG_VETH=m\n").unwrap();
    errors.extend(["a", "veth"].map(|name| tree.resolve(&[name]).unwrap_err()));
    let bare = Kernel { modules: None, ..tree.kernel() };
    errors.push(resolve(&bare, &[ModuleRequest::parse("veth")], &[]).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"));
}
