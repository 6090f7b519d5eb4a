//! The kernel's lists and masks of CPUs.

use proptest::prelude::*;
use tardy_record::cpu_list::{format, format_mask, parse, parse_mask};

#[test]
fn lists_have_the_kernels_format() {
    assert_eq!(parse("0-3,6\n"), Some(vec![0, 1, 2, 3, 6]));
    assert_eq!(parse(""), Some(vec![]));
    assert_eq!(parse("0-7:1/4"), Some(vec![0, 4]));
    assert_eq!(format(&[0, 1, 2, 3, 6]), "0-3,6");
    for no in ["a", "3-1", "0-4294967295", "1-", "0-7:1/0", "0:1"] {
        assert_eq!(parse(no), None, "{no}");
    }
}

#[test]
fn masks_have_their_lowest_cpus_last() {
    assert_eq!(parse_mask("3"), Some(vec![0, 1]));
    assert_eq!(parse_mask("00000001,80000000"), Some(vec![31, 32]));
    assert_eq!(parse_mask("xyz"), None);
    assert_eq!(parse_mask(""), None);
    assert_eq!(format_mask(&[0, 1]), "3");
    assert_eq!(format_mask(&[0, 33, 63]), "80000002,00000001");
    assert_eq!(format_mask(&[]), "0");
}

proptest! {
    #[test]
    fn written_lists_read_back_the_same(cpus in proptest::collection::btree_set(0u32..300, 0..40)) {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        prop_assert_eq!(parse_mask(&format_mask(&cpus)), Some(cpus.clone()));
        prop_assert_eq!(parse(&format(&cpus)), Some(cpus));
    }

    #[test]
    fn any_text_can_be_parsed(text in ".*") {
        let _ = (parse(&text), parse_mask(&text));
    }
}
