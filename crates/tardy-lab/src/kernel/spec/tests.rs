use std::path::Path;

use proptest::prelude::*;

use super::*;

fn spec(text: &str) -> KernelSpec {
    KernelSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    KernelSpec::parse(text).expect_err(text).to_string()
}

#[test]
fn debian_kernels_are_parsed() {
    let Source::Debian(kernel) = spec("debian:6.12").source else { panic!() };
    assert_eq!(kernel, DebianKernel { series: "6.12".into(), rt: false, exact: None });
    let Source::Debian(kernel) = spec("debian:6.1-rt=6.1.192-2").source else { panic!() };
    assert_eq!(kernel, DebianKernel { series: "6.1".into(), rt: true, exact: Some("6.1.192-2".into()) });
}

#[test]
fn append_may_contain_blanks_quotes_and_commas() {
    for (text, append) in [
        ("debian:6.12,append='preempt=none'", "preempt=none"),
        ("debian:6.12,append=preempt=none", "preempt=none"),
        ("debian:6.12,append=quiet nokaslr", "quiet nokaslr"),
        ("debian:6.12,append=\"isolcpus=1,2 quiet\"", "isolcpus=1,2 quiet"),
        ("debian:6.12,append='a=\"b, c\"'", "a=\"b, c\""),
        ("debian:6.12,append=dyndbg=\"+p\"", "dyndbg=\"+p\""),
        ("debian:6.12,append=''", ""),
    ] {
        assert_eq!(spec(text).append, append, "{text}");
    }
}

#[test]
fn options_may_be_in_any_order() {
    let by_path = |text| match spec(text).source {
        Source::Path(files) => files,
        Source::Debian(_) | Source::Build(_) => panic!(),
    };
    let kernel = by_path("boot/vmlinuz-6.1,dtbs=dtbs,append=quiet,modules='a, b',config=.config");
    assert_eq!(kernel.image, Path::new("boot/vmlinuz-6.1"));
    assert_eq!(kernel.modules.as_deref(), Some(Path::new("a, b")));
    assert_eq!(kernel.config.as_deref(), Some(Path::new(".config")));
    assert_eq!(kernel.device_trees.as_deref(), Some(Path::new("dtbs")));
    assert_eq!(by_path("a=b/Image").image, Path::new("a=b/Image"));
    assert_eq!(by_path("'a,b/Image'").image, Path::new("a,b/Image"));
}

#[test]
fn errors_show_what_is_expected() {
    let texts = [
        "",
        ",append=quiet",
        "debian:",
        "build:",
        "build:../x",
        "build:rt,modules=x",
        "debian:bookworm",
        "debian:6",
        "debian:6.12.117",
        "debian:6.12-RT",
        "debian:6.12=6.1.192-2",
        "debian:6.12=",
        "debian:6.12=6.12/../..",
        "debian:6.12,modules=here",
        "debian:6.12,append=isolcpus=1,2",
        "debian:6.12,append=",
        "debian:6.12,append=a,append=b",
        "debian:6.12,append='a",
        "debian:6.12,append='a'b",
        "vmlinuz,module=here",
        "vmlinuz,",
        "vmlinuz,append=a\nb",
    ];
    let errors: Vec<String> = texts.iter().map(|text| format!("{text:?}\n  {}", error(text))).collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_slug_has_a_hash_only_if_it_needs_one() {
    for (text, slug) in [
        ("debian:6.12", "debian-6.12"),
        ("debian:6.12-rt", "debian-6.12-rt"),
        ("debian:6.12,append='preempt=none'", "debian-6.12-preempt=none"),
        ("debian:6.1=6.1.192-2", "debian-6.1=6.1.192-2"),
    ] {
        assert_eq!(spec(text).slug(), slug);
    }
    let slug = spec("../x/vmlinuz-6.1").slug();
    assert!(slug.starts_with("vmlinuz-6.1-") && slug.len() == 20, "{slug}");
    // Would be debian-6.12-rt without more.
    assert_ne!(spec("debian:6.12,append=rt").slug(), "debian-6.12-rt");
}

fn any_spec() -> impl Strategy<Value = KernelSpec> {
    let append = prop_oneof![Just(String::new()), "[a-c=,. '-]{0,6}", "\\PC{0,8}", Just("rt".to_owned())];
    let debian = ("6\\.(1|12)", any::<bool>(), proptest::option::of("\\.[01]-[1a~]{1,3}")).prop_map(
        |(series, rt, rest)| {
            let exact = rest.map(|rest| format!("{series}{rest}"));
            Source::Debian(DebianKernel { series, rt, exact })
        },
    );
    let path = || proptest::option::of("[a-c/,=. ]{1,6}".prop_map(PathBuf::from));
    let own = ("[a-c/][a-c/,=.]{0,6}", path(), path(), path()).prop_map(
        |(image, modules, config, device_trees)| {
            Source::Path(KernelByPath { image: image.into(), modules, config, device_trees })
        },
    );
    let build = "[a-c0-9][a-c0-9.+_-]{0,6}".prop_map(Source::Build);
    (prop_oneof![debian, own, build], append).prop_map(|(source, append)| KernelSpec { source, append })
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        drop(KernelSpec::parse(&text));
    }

    #[test]
    fn different_kernels_have_different_slugs(a in any_spec(), b in any_spec()) {
        prop_assert!(a.slug().chars().all(is_safe), "{}", a.slug());
        if a.to_string() != b.to_string() {
            prop_assert_ne!(a.slug(), b.slug());
        }
    }

    #[test]
    fn a_displayed_spec_parses_to_the_same_spec(text in "(debian:6\\.12(-rt)?|[a-c/]{1,4})(,append=[a-c=. \"]{1,5}|,append='[a-c,\" ]{1,5}')?") {
        if let Ok(spec) = KernelSpec::parse(&text) {
            prop_assert_eq!(KernelSpec::parse(&spec.to_string()).unwrap(), spec);
        }
    }
}
