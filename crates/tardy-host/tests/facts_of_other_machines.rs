//! Facts of machines that are directories under `kernels/`, compared with snapshots.
//!
//! `INSTA_UPDATE=always cargo test -p tardy-host --test all` accepts changed snapshots.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tardy_host::facts::{SystemAnswers, collect, collect_tuning};
use tardy_record::facts::{Facts, Preemption, Tardy};
use tardy_sys::kernel_files::KernelFiles;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

fn facts_of(name: &str) -> Facts {
    let mut facts = collect(&KernelFiles::under(kernels().join(name)), &SystemAnswers::none());
    // The version and build of this test are not facts of the machine.
    facts.tardy = Tardy::default();
    facts
}

/// One snapshot per machine: for a new directory, only its snapshot has to be accepted.
#[test]
fn facts_of_each_machine_match_their_snapshot() {
    let mut names: Vec<String> = fs::read_dir(kernels())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    for name in names {
        let mut facts = facts_of(&name);
        // The options are not repeated in the snapshot, since there may be thousands.
        if let tardy_record::Knowable::Known(config) = &mut facts.kernel.config.value {
            config.clear();
        }
        insta::assert_snapshot!(
            name,
            format!("{}\n{}", facts.headline(), serde_json::to_string_pretty(&facts).unwrap())
        );
    }
}

#[test]
fn only_evidence_makes_a_kernel_real_time() {
    for (name, real_time) in [
        ("rpi3-4.9", Some(false)),
        ("rpi3-4.9-rt", Some(true)),
        ("rpi1-3.2-misnamed", Some(false)),
        ("debian-6.12", Some(false)),
        ("debian-6.12-rt", Some(true)),
        ("firecracker-6.18", Some(false)),
        ("at91-2.6.38-xenomai", Some(false)),
        ("contradicting", None),
        ("bare", None),
    ] {
        assert_eq!(facts_of(name).kernel.real_time.get().copied(), real_time, "{name}");
    }
}

#[test]
fn the_preemption_mode_is_read_from_the_kernel_log() {
    let files = KernelFiles::under(kernels().join("debian-6.12"));
    let log = "[0.1] Dynamic Preempt: voluntary\n[9.0] Dynamic Preempt: full\n[9.1] other\n";
    let answers = SystemAnswers { log: Some(Ok(log.to_owned())), ..SystemAnswers::none() };
    let facts = collect(&files, &answers);
    assert_eq!(facts.kernel.preemption.get(), Some(&Preemption::Full));
    assert!(facts.headline().ends_with("now full (from the kernel's log)"), "{}", facts.headline());
}

#[test]
fn a_mistyped_module_is_distinguished_from_a_similar_one() {
    let facts = facts_of("rpi1-3.2-misnamed");
    let unowned = facts.kernel.unowned_parameters.get().unwrap();
    assert_eq!(unowned.len(), 1, "{unowned:?}");
    assert_eq!(unowned[0].to_string(), "dwg_otg.speed=1 (no module dwg_otg; did you mean dwc_otg.speed=1?)");
}

/// Every file of every machine, by its path under the root.
fn all_paths(directory: &Path, root: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_paths(&path, root, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_owned());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_content_causes_a_panic(
        garbage in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..120).boxed(),
                "[ \n\t:=,.0-9a-zA-Z()#_/-]{0,120}".prop_map(String::into_bytes).boxed(),
            ],
            8,
        ),
        machine in prop_oneof![Just("debian-6.12-rt"), Just("firecracker-6.18"), Just("rpi1-3.2-misnamed")],
        keep in 1usize..9,
    ) {
        let from = kernels().join(machine);
        let root = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        all_paths(&from, &from, &mut paths);
        for (index, path) in paths.iter().enumerate() {
            let target = root.path().join(path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            // Some files keep their content, so that the others are read at all.
            let content = if index % 9 < keep { garbage[index % 8].clone() } else { fs::read(from.join(path)).unwrap() };
            fs::write(target, content).unwrap();
        }
        let files = KernelFiles::under(root.path());
        let facts = collect(&files, &SystemAnswers::none());
        let tuning = serde_json::to_value(collect_tuning(&files, &facts)).unwrap();
        prop_assert!(tuning.is_object());
        prop_assert!(!facts.headline().is_empty());
        prop_assert!(facts.rows().len() > 40);
        let text = serde_json::to_string(&facts).unwrap();
        prop_assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
    }
}
