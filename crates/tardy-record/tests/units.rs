//! How durations are read and written.

use proptest::prelude::*;
use tardy_record::units::{format_duration_ns, format_found_interval_ns, parse_duration_ns};

#[test]
fn durations_are_read_as_people_write_them() {
    for (text, ns) in [
        ("200us", 200_000),
        ("200 us", 200_000),
        ("200µs", 200_000),
        ("1.5s", 1_500_000_000),
        ("5h33m", 19_980_000_000_000),
        ("44h 30min", 160_200_000_000_000),
        ("2d", 172_800_000_000_000),
        ("0s", 0),
        ("0.5us", 500),
    ] {
        assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
    }
}

#[test]
fn an_invalid_duration_is_reported_with_the_reason() {
    for (text, reason) in [
        ("", "empty"),
        ("200", "unit is missing"),
        ("us", "number is missing"),
        ("1.2.3s", "malformed"),
        ("5 parsecs", "not one of"),
        ("0.5ns", "finer"),
        ("999999999999h", "584 years"),
        ("-5us", "number is missing"),
    ] {
        let error = parse_duration_ns(text).unwrap_err();
        assert!(error.reason.contains(reason), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn written_durations_read_back_the_same(ns: u64) {
        prop_assert_eq!(parse_duration_ns(&format_duration_ns(ns)), Ok(ns));
    }
}

#[test]
fn a_found_interval_has_four_digits() {
    let shown = [1_180_734, 3_148_549, 200_000, 16_666_667, 7].map(format_found_interval_ns);
    assert_eq!(shown, ["1.181ms", "3.149ms", "200us", "16.67ms", "7ns"]);
}
