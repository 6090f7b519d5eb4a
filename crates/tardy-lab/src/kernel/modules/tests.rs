use super::compression::tests::pack;
use super::modinfo::tests::module;
use super::*;
use crate::arch::Arch;

const RELEASE: &str = "6.12.1-x";

/// A modules directory with the files that are given by path and `.modinfo`.
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
            image: self.0.path().join("vmlinuz"),
            config: config.exists().then_some(config),
            modules: Some(self.0.path().to_owned()),
            device_trees: None,
            append: String::new(),
        }
    }

    fn resolve(&self, names: &[&str]) -> Result<Vec<String>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        match resolve(&self.kernel(), &names, &[]) {
            Ok(modules) => Ok(modules.into_iter().map(|module| module.name).collect()),
            Err(error) => Err(error.to_string().replace(&self.0.path().display().to_string(), "@")),
        }
    }
}

#[test]
fn dependencies_come_first_and_nothing_twice() {
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
    let modules = resolve(&tree.kernel(), &["llc".into()], &[]).unwrap();
    assert!(modules[0].image.starts_with(b"\x7fELF"));
}

#[test]
fn what_waits_until_the_boot_is_over_comes_last_with_what_only_it_needs() {
    let tree = Tree::new(&[
        ("kernel/shared.ko", &["depends="]),
        ("kernel/early.ko", &["depends=shared"]),
        ("kernel/own.ko", &["depends="]),
        ("kernel/late.ko", &["depends=shared,own"]),
    ]);
    let modules = resolve(&tree.kernel(), &["early".into()], &["late hold_us=3".into()]).unwrap();
    let told: Vec<(&str, &str, bool)> = (modules.iter())
        .map(|module| (module.name.as_str(), module.parameters.as_str(), module.at_rest))
        .collect();
    let expected =
        [("shared", "", false), ("early", "", false), ("own", "", true), ("late", "hold_us=3", true)];
    assert_eq!(told, expected);
}

#[test]
fn what_is_built_in_is_not_loaded() {
    let tree = Tree::new(&[("kernel/a.ko", &["depends=veth,b"])]);
    fs::write(tree.0.path().join("modules.builtin"), "kernel/drivers/b.ko\n").unwrap();
    fs::write(tree.0.path().join("config"), "CONFIG_VETH=y\n").unwrap();
    assert_eq!(tree.resolve(&["a", "b"]).unwrap(), ["a"]);
}

#[test]
fn a_soft_dependency_may_be_an_alias_or_nothing() {
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
fn updates_come_before_the_kernels_own() {
    let tree =
        Tree::new(&[("kernel/a.ko", &["depends=old"]), ("updates/dkms/a.ko.xz", &[]), ("extra/b.ko", &[])]);
    assert_eq!(tree.resolve(&["a"]).unwrap(), ["a"]);
}

#[test]
fn circles_end() {
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
fn mistakes_name_kernel_and_option() {
    let tree = Tree::new(&[("a.ko", &["depends=sch_taprio"]), ("other.ko", &[]), ("damaged.ko.xz", &[])]);
    fs::write(tree.0.path().join("other.ko"), module(&["vermagic=6.1.0 SMP"])).unwrap();
    fs::write(tree.0.path().join("damaged.ko.xz"), "x").unwrap();
    let mut said: Vec<String> = ["a", "veth", "nothing", "other", "damaged", "../a"]
        .into_iter()
        .map(|name| tree.resolve(&[name]).unwrap_err())
        .collect();
    fs::write(tree.0.path().join("config"), "# CONFIG_NET_SCH_TAPRIO is not set\nCONFIG_VETH=m\n").unwrap();
    said.extend(["a", "veth"].map(|name| tree.resolve(&[name]).unwrap_err()));
    let bare = Kernel { modules: None, ..tree.kernel() };
    said.push(resolve(&bare, &["veth".into()], &[]).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"));
}
