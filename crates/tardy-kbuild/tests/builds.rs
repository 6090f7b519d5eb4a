//! Building, and the cache.

use std::fs;

use tardy_kbuild::build::{Base, Original, Request};
use tardy_kbuild::source::SourceSpec;
use tardy_lab::arch::Arch;
use tardy_lab::kernel::built;

use crate::fake_source::{FakeSource, image};

#[test]
fn a_kernel_is_built_with_its_options_and_is_taken_from_the_cache_the_second_time() {
    let source = FakeSource::new();
    let first = source.build(&["HZ=1000", "EXPERT=y", "FAST=y"]).unwrap();
    assert!(first.is_new);
    assert_eq!(first.kernel.manifest.release, "6.12.0-fake");
    let config = fs::read_to_string(first.kernel.config()).unwrap();
    for line in ["CONFIG_HZ=1000\n", "CONFIG_FAST=y\n", "CONFIG_PVH=y\n"] {
        assert!(config.contains(line), "{config}");
    }
    assert!(!config.contains("CONFIG_HZ_250=y"), "{config}");
    assert!(image(&first).contains("CONFIG_FAST=y"));
    let second = source.build(&["HZ=1000", "EXPERT=y", "FAST=y"]).unwrap();
    assert_eq!((second.is_new, &second.kernel), (false, &first.kernel));
    // Other words for the same configuration.
    let third = source.build(&["FAST=y", "HZ_1000=y", "EXPERT=y"]).unwrap();
    assert_eq!((third.is_new, &third.kernel), (false, &first.kernel));
    let fourth = source.build(&["HZ=100"]).unwrap();
    assert!(fourth.is_new && fourth.kernel != first.kernel);
    assert_eq!(source.compilations(), 2);
}

#[test]
fn a_change_of_the_source_or_of_the_compiler_is_another_kernel() {
    let source = FakeSource::new();
    let first = source.build(&[]).unwrap();
    source.write("version.c", "int version = 2;\n");
    let second = source.build(&[]).unwrap();
    assert!(second.is_new && second.kernel.manifest.key != first.kernel.manifest.key);
    let mut builder = source.builder();
    builder.tools.compiler = "another compiler".to_owned();
    assert!(builder.build(&source.request(&[]), &mut |_| {}).unwrap().is_new);
    source.write("version.c", "int version = 1;\n");
    assert!(source.build(&[]).is_ok_and(|built| !built.is_new));
}

#[test]
fn the_name_of_a_build_can_be_given_to_another() {
    let source = FakeSource::new();
    let cache = &source.store.cache;
    let [first, second] = ["100", "1000"].map(|hz| source.build(&[&format!("HZ={hz}")]).unwrap().kernel);
    for build in [&first, &second] {
        built::give_name(cache, build, "mine", &mut |_| {}).unwrap();
        assert_eq!(built::find(cache, Arch::X86_64, "mine").as_ref(), Some(build));
    }
    built::remove_all(cache, &mut |_| {}).unwrap();
    assert_eq!(built::find(cache, Arch::X86_64, "mine"), None);
    assert!(source.build(&["HZ=100"]).unwrap().is_new);
}

#[test]
fn options_that_are_not_in_effect_are_named_with_the_reason() {
    let source = FakeSource::new();
    insta::assert_snapshot!(source.error(&["EXPERT=n", "FAST=y", "HZ=17"]));
    insta::assert_snapshot!(source.error(&["PVH=n", "TMPFS=n"]));
    assert_eq!(source.compilations(), 0);
}

#[test]
fn a_build_that_fails_shows_its_last_lines_and_leaves_nothing_in_the_cache() {
    let source = FakeSource::new();
    source.write("version.c", "this is not C;\n");
    let error = source.error(&[]);
    assert!(error.starts_with("building the kernel failed; the log DIR/cache/trees/amd64/linux-"), "{error}");
    assert!(error.contains("version") || error.contains("error"), "{error}");
    assert_eq!(built::list(&source.store.cache, Arch::X86_64), []);
    source.write("version.c", "int version = 1;\n");
    assert!(source.build(&[]).unwrap().is_new);
}

#[test]
fn modules_are_kept_with_a_kernel_that_has_them() {
    let source = FakeSource::new();
    let built = source.build(&["MODULES=y"]).unwrap();
    let modules = built.kernel.directory.join("lib/modules/6.12.0-fake");
    assert!(modules.join("kernel/a.ko").is_file() && modules.join("modules.builtin").is_file());
}

#[test]
fn a_configuration_of_ones_own_is_completed() {
    let source = FakeSource::new();
    let text = "CONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\nCONFIG_TMPFS=y\nCONFIG_PROC_FS=y\nCONFIG_SYSFS=y\nCONFIG_PVH=y\n\
                CONFIG_X86_IOPL_IOPERM=y\nCONFIG_HZ_300=y\n";
    let request = Request { base: Base::Text(text.to_owned()), ..source.request(&["HZ=100"]) };
    let built = source.builder().build(&request, &mut |_| {}).unwrap();
    let config = fs::read_to_string(built.kernel.config()).unwrap();
    assert!(config.contains("CONFIG_HZ=100\n") && !config.contains("CONFIG_NET="), "{config}");
    assert!(config.contains("CONFIG_USUAL=y\n"), "{config}");
}

#[test]
fn a_commit_is_built_whatever_the_files_are() {
    let source = FakeSource::new();
    let first = source.commit("one");
    source.write("version.c", "int version = 2; const char two[] = \"second version\";\n");
    source.commit("two");
    source.write("version.c", "this is not C;\n");
    let build = |revision: &str| {
        let commit = SourceSpec::Commit { directory: source.tree(), revision: revision.to_owned() };
        source.builder().build(&Request { source: commit, ..source.request(&[]) }, &mut |_| {})
    };
    let second = build("HEAD").unwrap();
    assert!(image(&second).contains("second version"));
    assert!(!image(&build(&first).unwrap()).contains("second version"));
    assert!(!build("HEAD").unwrap().is_new);
    assert_eq!(source.git(&["status", "--porcelain"]), "M version.c");
    let error = build("no-such-tag").unwrap_err().to_string();
    assert!(error.contains("\"no-such-tag\" is not a commit of"), "{error}");
}

#[test]
fn a_variant_of_a_build_differs_in_the_options_that_are_set() {
    let source = FakeSource::new();
    let cache = &source.store.cache;
    let first = source.build(&["HZ=100", "EXPERT=y"]).unwrap();
    let original = Original::find(cache, Arch::X86_64, first.kernel.short_key()).unwrap();
    let settings = ["HZ=1000".parse().unwrap()];
    let variant = original.variant(&source.builder(), &settings, true, &mut |_| {}).unwrap();
    let config = fs::read_to_string(variant.kernel.config()).unwrap();
    assert!(config.contains("CONFIG_HZ=1000\n") && config.contains("CONFIG_EXPERT=y\n"), "{config}");
    assert!(config.contains("# CONFIG_USUAL is not set\n"), "what is off stays off: {config}");
    let same = source.build(&["HZ=1000", "EXPERT=y"]).unwrap();
    assert_eq!((same.is_new, same.kernel), (false, variant.kernel));
    source.write("version.c", "int version = 2;\n");
    let error = original.variant(&source.builder(), &settings, true, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("has changed since"), "{error}");
}

/// What make has started outlives a tardy that is killed. It has the lock until it has ended, so that no two builds write one file.
#[test]
fn programs_that_outlive_tardy_keep_the_lock() {
    let source = FakeSource::new();
    let lock = source.store.cache.path().join("lock-builds");
    let makefile = fs::read_to_string(source.tree().join("Makefile")).unwrap();
    let is_held = format!("if flock --nonblock {} true; then exit 1; fi; exec", lock.display());
    source.write("Makefile", &makefile.replace("cc -c", &format!("{is_held} cc -c")));
    assert!(source.build(&[]).unwrap().is_new);
}
