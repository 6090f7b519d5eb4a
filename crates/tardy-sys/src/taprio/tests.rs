//! Tests with the kernel's shaper, if it has one. The lab's guests have one.

use super::*;
use crate::links::{make_veth, set_up};
use crate::network::Namespace;
use crate::qdiscs;

/// A list whose gates change slowly enough for an emulated CPU.
fn example(entries: usize) -> Taprio {
    let mut taprio = super::encode::tests::example(entries);
    taprio.schedule.entries.iter_mut().for_each(|entry| entry.interval_ns = INTERVAL_NS);
    taprio
}

const INTERVAL_NS: u32 = 500_000;

/// Runs `test` with a veth pair of two queues, if the kernel has a time-aware shaper.
fn with_a_port(test: impl FnOnce() + Send) {
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(error) => return eprintln!("skipped: no network namespace for this user: {error}"),
    };
    namespace
        .run(|| {
            if let Err(error) = make_veth("p0", "e0", None, Some(2)) {
                return eprintln!("skipped: this kernel cannot create veth pairs: {error}");
            }
            set_up("p0").unwrap();
            set_up("e0").unwrap();
            match replace("p0", &example(2)) {
                Ok(_) => test(),
                Err(TaprioError::Kernel(error)) if error.is_unknown_kind() => {
                    eprintln!(
                        "skipped: this kernel has no time-aware shaper (CONFIG_NET_SCH_TAPRIO): {error}"
                    );
                }
                Err(error) => panic!("{error}"),
            }
        })
        .unwrap();
}

#[test]
fn lists_of_any_length_that_the_kernel_shows_read_back_equal() {
    with_a_port(|| {
        for entries in [2, 31, 32, 800] {
            let taprio = example(entries);
            replace("p0", &taprio).unwrap();
            let shown = shown("p0").unwrap().unwrap();
            // A schedule that replaces a running one waits for its base time if that is in the future, and runs at
            // once otherwise.
            let operating = shown.admin.or(shown.operating).unwrap();
            assert_eq!(operating.entries, taprio.schedule.entries);
            assert_eq!(cycle_ns(&operating), entries as u64 * u64::from(INTERVAL_NS));
            assert_eq!((shown.handle, shown.classes), (0x100, taprio.classes));
        }
    });
}

#[test]
fn a_list_that_the_kernel_cannot_show_is_active() {
    with_a_port(|| {
        qdiscs::delete_root("p0").unwrap();
        replace("p0", &example(2000)).unwrap();
        assert_eq!(shown("p0").unwrap(), None);
        let classes = qdiscs::classes_of("p0").unwrap();
        assert!(classes.iter().any(|(kind, _)| kind == "taprio"), "{classes:?}");
    });
}

#[test]
fn a_refusal_carries_the_kernels_message() {
    with_a_port(|| {
        let mut taprio = example(2);
        taprio.schedule.entries[1].interval_ns = 1;
        let error = replace("p0", &taprio).unwrap_err().to_string();
        assert!(error.contains("Invalid interval for schedule entry"), "{error}");
        let mut taprio = example(2);
        taprio.clock_id = None;
        let error = replace("p0", &taprio).unwrap_err().to_string();
        assert!(error.contains("Specifying a 'clockid' is mandatory"), "{error}");
    });
}
