//! Numbers, names and coordinates as text.

use proptest::prelude::*;
use tardy_plot::numbers::{
    confidence, count, harmless, harmless_lines, microseconds, one_in, per_second, prefixed, ratio, with_unit,
};
use tardy_plot::svg::{escaped, number, polyline};

#[test]
fn latencies_have_three_significant_digits_and_a_unit() {
    for (ns, text) in [
        (970.0, "0.97 us"),
        (41_000.0, "41 us"),
        (41_312.0, "41.3 us"),
        (1_250_400.0, "1,250 us"),
        (12_100_000.0, "12.1 ms"),
        (-350.0, "-0.35 us"),
        (0.0, "0 us"),
        (-1.0, "0 us"),
        (9_999.0, "10 us"),
        (25e9, "25 s"),
    ] {
        assert_eq!(with_unit(ns), text);
    }
}

#[test]
fn shares_are_rounded_up() {
    assert_eq!(one_in(4.993e-5), "1 in 20,000");
    assert_eq!(one_in(2.9957e-6), "1 in 330,000");
    assert_eq!(one_in(0.123), "12.3 %");
    assert_eq!(one_in(0.05), "1 in 20");
    assert_eq!(one_in(1.0), "100 %");
}

#[test]
fn a_confidence_is_never_100_percent() {
    for (share, text) in [
        (0.5, "50 %"),
        (0.95, "95 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9995, "99.95 %"),
        (0.99996, "99.996 %"),
        (0.999_999, "99.9999 %"),
        (1.0 - 1e-12, "99.9999999999 %"),
    ] {
        assert_eq!(confidence(share), text);
    }
    assert!(!confidence(1.0_f64.next_down()).starts_with("100"));
}

#[test]
fn counts_have_thousands_separators() {
    assert_eq!(count(1_234_567), "1,234,567");
    assert_eq!(count(999), "999");
    assert_eq!(microseconds(-1_234_567.0), "-1,235");
    assert_eq!(microseconds(-3.0), "0.00");
    assert_eq!(microseconds(-8.0), "-0.01");
    assert_eq!(ratio(0.012_514), "0.0125");
    assert_eq!(ratio(1.8412), "1.84");
    assert_eq!(prefixed(45_312.0), "45.3k");
    assert_eq!(prefixed(812.0), "812");
    assert_eq!(per_second(3.36e6, "bytes"), "3.36 MB/s");
    assert_eq!(per_second(120.0, "bytes"), "120 B/s");
}

#[test]
fn control_characters_are_replaced() {
    assert_eq!(harmless("a\u{1b}[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    let lines = "cpu,\u{1b}]0;x\u{7}\n1\t\u{9b}\u{7f}\u{202e}\r\n";
    assert_eq!(harmless_lines(lines), "cpu,\u{fffd}]0;x\u{fffd}\n1\t\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n");
}

proptest! {
    #[test]
    fn a_negative_latency_keeps_its_sign(ns in -1_000_000_000_000i64..-5) {
        prop_assert!(with_unit(ns as f64).starts_with('-'));
    }
}

#[test]
fn names_cannot_leave_their_element() {
    assert_eq!(escaped("<script>'\"&\u{1b}"), "&lt;script&gt;&#39;&quot;&amp;\u{fffd}");
}

#[test]
fn level_and_vertical_lines_have_one_coordinate() {
    let points = [(0.0, 1.0), (2.0, 1.0), (4.0, 1.0), (4.0, 1.01), (4.0, 3.0), (5.0, 4.5)];
    let broken = points.into_iter().map(Some).chain([None, Some((6.0, 1.0))]);
    assert_eq!(polyline(broken), "M0 1h4v2l1 1.5M6 1");
}

#[test]
fn sloping_lines_share_a_letter_and_rounding_errors_do_not_add_up() {
    let points = (0..5).map(|at| Some((f64::from(at) * 0.14, -f64::from(at))));
    assert_eq!(polyline(points), "M0 0l.1-1 .2-1 .1-1 .2-1");
}

#[test]
fn coordinates_are_short_and_never_minus_zero() {
    assert_eq!(number(-0.01), "0");
    assert_eq!(number(12.34), "12.3");
    assert_eq!(number(12.0), "12");
}
